"""Precision as a budget: the noise that costs least reconstruction at a given KL."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, log
from typing import Literal, get_args

import torch
from jaxtyping import Float
from scipy.optimize import brentq
from torch import Tensor

from unpick.arrays import Array, to_tensor

Objective = Literal["log", "plain"]
Form = Literal["polarized", "exact"]
LIMIT = 300.0  # nats per latent: a variance of 1e-260, still within a double's range


@dataclass(frozen=True, eq=False)
class PrecisionBudget:
    r"""The variances that cost least.

    Attributes:
        variance: \sigma_{ij}^2 of sample i and latent j.
        cost: E\|J_i \epsilon_i\|^2 = \sum_j c_{ij}^2 \sigma_{ij}^2, c the columns' lengths.
        budget: Nats spent on each sample.
        beta: The beta of the beta-VAE with squared error that has the same best variances at this
            sample. For `plain` it is one number, the cost that one more nat would save; for `log`
            it is proportional to the sample's cost. Infinite for an exact KL of 0.
    """

    variance: Float[Tensor, "n d"]
    cost: Float[Tensor, "n"]
    budget: Float[Tensor, "n"]
    beta: Float[Tensor, "n"]


def precision_budget(
    jacobians: Array,
    budget: float,
    *,
    objective: Objective = "log",
    kl: Form = "polarized",
) -> PrecisionBudget:
    r"""Spend a budget of KL so that the noise costs least (Zietlow 2022, eq. 3.14 to 3.19).

    .. math:: \min_\sigma \sum_i \log E\|J_i \epsilon_i\|^2 \quad s.t. \quad
              \frac1n \sum_i KL_i = budget, \qquad
              E\|J_i \epsilon_i\|^2 = \sum_j c_{ij}^2 \sigma_{ij}^2

    At a given product of variances a sample's cost is least where all c_j^2 \sigma_j^2 are equal,
    and then d (\prod_j c_j^2 \sigma_j^2)^{1/d} (proposition 5). For one matrix, as in the example
    of Rolinek et al. (2019), section 4, both objectives agree.

    The best variances, by objective and form of the KL:

    - `log`, `polarized`: c_{ij}^2 \sigma_{ij}^2 the same for all j. A nat lowers the logarithm by
      2/d wherever it is spent, so only the total matters (eq. 5.11) and the division between
      samples is free. It is divided evenly here.
    - `plain`, `polarized`: c_{ij}^2 \sigma_{ij}^2 the same for all i and j: the water level,
      beta / 2.
    - `plain`, `exact`: \sigma_{ij}^2 = 1 / (1 + 2 c_{ij}^2 / \beta), as in
      `geometry.optimal_variance`.
    - `log`, `exact`: the same with \beta_i in proportion to the cost of sample i. Logarithms are
      strictly convex in the budget now, and the division is no longer free.

    Args:
        jacobians: Of the decoder at n codes; one matrix is `matrix[None]`.
        budget: Nats a sample, the mean over samples.
        objective: `log` is the sum of logarithms of theorem 1, `plain` the sum of the costs.
        kl: `polarized` is \frac12 \sum_j -\log \sigma_j^2, so that C = 2 budget in eq. 3.19 and
            C_1 = 2 n budget in eq. 5.5. It lets a variance exceed 1, and that of a zero column has
            no bound. `exact` is \frac12 \sum_j (\sigma_j^2 - \log\sigma_j^2 - 1), which is all of
            the KL but \|\mu\|^2 / 2; a zero column gets variance 1 and no budget.

    Example:
        >>> matrix = torch.tensor([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])  # eq. 3.20
        >>> found = precision_budget(matrix[None], 2.0)
        >>> round(float(found.cost), 4), round(2 * 150**0.5 * torch.tensor(-2.0).exp().item(), 4)
        (3.315, 3.315)
    """
    if objective not in get_args(Objective):
        raise ValueError(f"objective must be one of {get_args(Objective)}, got {objective!r}")
    if kl not in get_args(Form):
        raise ValueError(f"kl must be one of {get_args(Form)}, got {kl!r}")
    if not (isfinite(budget) and budget >= 0):
        raise ValueError(f"budget must be at least 0 nats and finite, got {budget}")
    squares = _log_squares(jacobians, budget, objective, kl)
    if kl == "polarized":
        level = squares.mean(1, keepdim=True) if objective == "log" else squares.mean()
        log_beta = log(2) + level - 2 * budget / squares.shape[1]
    else:
        scale = squares[squares.isfinite()].mean()
        exact = _exact_log if objective == "log" else _exact_plain
        log_beta = scale + exact(squares - scale, budget * len(squares))
    log_ratio = log(2) + squares - log_beta  # of 2 c^2 / beta
    if kl == "polarized":
        log_variance, nats = -log_ratio, log_ratio / 2
    else:
        log_variance, nats = -_softplus(log_ratio), _exact_nats(log_ratio)
    variance = log_variance.exp()
    cost = (squares + log_variance).exp().sum(1)
    beta = log_beta.exp().expand(len(squares), 1)[:, 0].clone()
    return PrecisionBudget(variance, cost, nats.sum(1), beta)


def _log_squares(
    jacobians: Array, budget: float, objective: Objective, kl: Form
) -> Float[Tensor, "n d"]:
    r"""\log c_{ij}^2; raises where the problem has no solution."""
    jacobians = to_tensor("jacobians", jacobians, "samples, outputs, latents")
    norms = torch.linalg.vector_norm(jacobians.double(), dim=1)
    used = (norms > 0).sum(1)
    if kl == "polarized" and used.min() < norms.shape[1]:
        raise ValueError(
            f"jacobians have columns of zeros in {int((used < norms.shape[1]).sum())} of "
            f"{len(used)} samples, whose variance the polarized KL does not bound: leave passive "
            "latents out, or set kl='exact'"
        )
    if used.max() == 0:
        raise ValueError("jacobians must have columns that are not zero, got zeros only")
    if objective == "log" and used.min() < used.max():
        raise ValueError(
            "jacobians must have equally many non-zero columns in all samples for "
            f"objective='log', got {int(used.min())} to {int(used.max())}: those with the fewest "
            "would take almost all of the budget"
        )
    if budget > LIMIT * float(used.double().mean()):
        raise ValueError(f"budget must be at most {LIMIT:g} nats a latent in use, got {budget}")
    return 2 * norms.log()


def _exact_plain(squares: Float[Tensor, "n d"], total: float) -> Float[Tensor, ""]:
    """The log of the one beta at which all samples together spend the total."""

    def spent(log_beta: float) -> float:
        return float(_exact_nats(log(2) + squares - log_beta).sum())

    return torch.tensor(_falling_root(spent, total), dtype=torch.float64)


def _exact_log(squares: Float[Tensor, "n d"], total: float) -> Float[Tensor, "n 1"]:
    r"""The log of each sample's beta.

    What a nat saves of the log cost, \beta_i / E_i, is the same for all samples. It is more than
    2 / d, if d columns are not zero; by how much is searched for.
    """

    def spent(log_excess: float) -> float:
        log_beta = _betas_at(squares, exp(log_excess)).log()
        return float(_exact_nats(log(2) + squares - log_beta).sum())

    return _betas_at(squares, exp(_falling_root(spent, total))).log()


def _betas_at(squares: Float[Tensor, "n d"], excess: float) -> Float[Tensor, "n 1"]:
    r"""Solve \beta / E(\beta) = 2 / d + excess for beta, sample by sample.

    With g = \sum_j c_j^2 / (\beta + 2 c_j^2) = E / \beta the left side 1 / g is concave, so that
    Newton's method rises from 0 to the root. 1 / g - 2 / d = \sum_j \sigma_j^2 / (d g) is written
    as it stands on the right, so that nothing cancels where beta is small.
    """
    used, a = squares.isfinite(), squares.exp()
    d = int(used[0].sum())
    beta = a.new_zeros(len(a), 1)
    for _ in range(200):
        part = torch.where(used, 1 / (beta + 2 * a), 0)
        g = (a * part).sum(1, keepdim=True)
        missing = excess - beta * part.sum(1, keepdim=True) / (d * g)
        step = missing * g.square() / (a * part.square()).sum(1, keepdim=True)
        beta = beta + step
        if (step <= 1e-12 * beta).all():
            break
    return beta


def _exact_nats(log_ratio: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    r"""(\sigma^2 - \log\sigma^2 - 1) / 2 at \sigma^2 = 1 / (1 + ratio)."""
    return (_softplus(log_ratio) - log_ratio.sigmoid()) / 2


def _softplus(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """log(1 + e^x) to the last digit: torch switches to x at 20, where e^-20 is still seen."""
    return torch.nn.functional.softplus(x, threshold=40)


def _falling_root(falling: Callable[[float], float], target: float) -> float:
    """Solve f(x) = target for an f that falls from infinity to 0; inf if the target is 0."""
    if target == 0:
        return inf
    low, high = -20.0, 20.0
    while falling(low) < target:
        low -= 20
    while falling(high) > target:
        high += 20
    return float(brentq(lambda x: falling(x) - target, low, high, xtol=1e-14, rtol=1e-15))
