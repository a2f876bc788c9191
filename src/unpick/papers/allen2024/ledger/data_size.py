"""Posteriors of ever more observations (Allen 2024, appendix A.2, point 3)."""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.stats import norm

from unpick.papers.allen2024.ledger.elbo import SMOOTH, expansion
from unpick.study.ledger.entry import Entry, Evidence, Mutation

Array = np.ndarray
GRID = np.linspace(-4, 4, 401)  # of the latent
SIZES = (8, 16, 32)
SHARE = 0.2  # the likelihood's deviation, of the spacing of the data
FIXED = 0.3  # the likelihood's deviation, whatever the spacing


@cache
def best_posteriors(size: int, deviation: float) -> tuple[float, float]:
    """Mean posterior variance and root mean squared error of the best VAE with one latent.

    The data lie evenly on half a circle of radius 1. Every observation has a mean and a variance
    of its own. Encoder and decoder are not networks: the decoder gives the average of the data,
    weighted by their posteriors, which no other decoder improves on.
    """
    t = (np.arange(size) + 0.5) / size
    x = torch.from_numpy(np.stack([np.cos(np.pi * t), np.sin(np.pi * t)], 1))
    z = torch.from_numpy(GRID)

    def parts(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, log_variance = flat[:size, None], flat[size:, None]
        log_q = -((z - mean).square() / log_variance.exp() + log_variance) / 2
        q = log_q.softmax(1)
        decoded = log_q.softmax(0).T @ x
        error = 1 - 2 * (x * (q @ decoded)).sum(1) + q @ decoded.square().sum(1)  # |x| = 1
        kl = (mean.square() + log_variance.exp() - log_variance - 1).sum(1) / 2
        return error, kl, log_variance

    def loss(flat: Float[Array, "k"]) -> tuple[float, Float[Array, "k"]]:
        values = torch.from_numpy(flat).requires_grad_()
        error, kl, _ = parts(values)
        total = (error / (2 * deviation**2) + kl).mean()
        (gradient,) = torch.autograd.grad(total, values)
        return total.item(), gradient.numpy()

    start = np.concatenate([norm.ppf(t), np.full(size, -2 * np.log(size))])
    options = {"maxiter": 1000, "ftol": 1e-10, "gtol": 1e-7}  # 32 points need 500 iterations
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    error, _, log_variance = parts(torch.from_numpy(found.x))
    return float(log_variance.exp().mean()), float(error.mean().sqrt())


def _beyond(variance: float) -> float:
    """What the second-order expansion of a smooth decoder leaves out, at a posterior variance."""
    parts = expansion(SMOOTH, variance**0.5)
    return float(np.abs(parts.at_mean + parts.bend * variance / 2 - parts.expected).mean())


def _size_check(fall: Callable[[float], float]) -> Evidence:
    """Variances must fall with the number of data, and what is left out as the claim says."""
    spacing = [2 * np.sin(np.pi / (2 * size)) for size in SIZES]
    fits = [best_posteriors(n, SHARE * gap) for n, gap in zip(SIZES, spacing, strict=True)]
    variances = np.array([variance for variance, _ in fits])
    errors = np.array([error for _, error in fits]) / spacing
    wide = [best_posteriors(n, FIXED)[0] for n in (SIZES[0], SIZES[-1])]
    left = np.array([_beyond(float(variance)) for variance in variances])
    apart = abs(fall(float(variances[-1] / variances[0])) * left[0] / left[-1] - 1)
    powers = np.diff(np.log2(variances[-2:])).item()
    listed = ", ".join(f"{v:.2g}" for v in variances)
    text = f"best posteriors of {', '.join(map(str, SIZES))} points on a curve, one latent: with "
    text += f"errors of at most {errors.max():.2f} of the spacing mean variances are {listed} "
    text += f"(falling like size^{powers:.1f}); what the expansion leaves out there is "
    text += f"{', '.join(f'{each:.1g}' for each in left)}, which is as claimed to within "
    text += f"{apart:.1%}; with a likelihood of fixed deviation {FIXED} variances are "
    text += f"{wide[0]:.2g} for {SIZES[0]} points and {wide[1]:.2g} for {SIZES[-1]}"
    holds = errors.max() < 0.5 and (np.diff(variances) < 0).all() and apart < 0.1
    return Evidence(bool(holds), text)


MORE_DATA: Entry[Callable[[float], float]] = Entry(
    id="A-SA.2.3",
    source="Allen (2024), appendix A.2, point 3",
    title="More data, narrower posteriors, better expansion",
    statement="If reconstructions are to stay nearer to their own observation than to the next "
    "one, posterior variances must fall as observations are added. What the second-order "
    "expansion leaves out falls exponentially in its order: the term of order $2k$ as the $k$-th "
    "power of the variance, the first one as its square.",
    formula=r"\Sigma_x \to 0, \quad O(\epsilon^{2k}) \propto \Sigma_x^k",
    assumptions="Data on a curve; reconstructions accurate to a share of the distance between "
    "neighbours. Both are our reading, the most charitable one that we found.",
    printed=lambda ratio: ratio**2,
    check=_size_check,
    mutation=Mutation("as the variance itself", lambda ratio: ratio),
    remark="In the number of observations the fall is by powers, not exponential. And it needs a "
    "likelihood whose variance is made smaller as data are added: with a fixed one posteriors "
    "come to overlap, and more data do not narrow them (last numbers).",
)
ENTRIES = (MORE_DATA,)
