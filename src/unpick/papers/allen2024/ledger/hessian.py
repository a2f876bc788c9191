"""The likelihood's Hessian in Allen (2024): its form, the best posterior, the best axes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind, decoder

Array = np.ndarray
Square = Float[Array, "d d"]


def posterior_cost(hessian: Square, covariance: Square, beta: float) -> float:
    """The det-ELBO's loss by a posterior: -1/2 tr(H S) + beta KL, codes at 0."""
    kl = np.trace(covariance) - np.linalg.slogdet(covariance)[1] - len(covariance)
    return float(-np.trace(hessian @ covariance) / 2 + beta / 2 * kl)


def searched_covariance(hessian: Square, beta: float, diagonal: bool = False) -> Square:
    """The covariance of least cost, by a search over Cholesky factors or standard deviations."""
    d = len(hessian)
    below = np.tril_indices(d, -1)

    def covariance(flat: Float[Array, "k"]) -> Square:
        factor = np.diag(np.exp(flat[:d]))
        factor[below] = 0.0 if diagonal else flat[d:]
        return factor @ factor.T

    start = np.zeros(d if diagonal else d + len(below[0]))
    found = minimize(lambda flat: posterior_cost(hessian, covariance(flat), beta), start)
    return covariance(found.x)


# log p(x|theta) = x theta - A(theta): A, its mean and variance.
EXPONENTIAL: dict[str, tuple[Callable[[Tensor], Tensor], ...]] = {
    "gaussian": (lambda t: t.square() / 4, lambda t: t / 2, lambda t: torch.full_like(t, 0.5)),
    "bernoulli": (
        torch.nn.functional.softplus,
        torch.sigmoid,
        lambda t: torch.sigmoid(t) * torch.sigmoid(-t),
    ),
    "poisson": (torch.exp, torch.exp, torch.exp),
}
Bent = tuple[str, Float[Array, "p d"], Float[Array, "p d d"], Float[Array, "d"], Float[Array, "p"]]
Form = Callable[[Array, Array, Array, Array], Square]  # of Jacobian, bend, residual, variance


def _bent(draw: np.random.Generator, kind: Kind) -> Bent:
    """A family, a quadratic decoder of its parameter, a code and an observation."""
    b = decoder(draw, kind)
    p, d = b.shape
    c = draw.normal(size=(p, d, d)) / 2
    family = str(draw.choice(list(EXPONENTIAL)))
    return family, b, c + c.swapaxes(1, 2), draw.normal(size=(d,)) / 2, draw.normal(size=(p,))


def _form_violation(form: Form, instance: Bent) -> float:
    """Error of the Hessian against automatic differentiation."""
    family, *arrays = instance
    b, c, z, x = map(torch.from_numpy, arrays)
    partition, mean, variance = EXPONENTIAL[family]

    def parameter(z: Tensor) -> Tensor:
        return b @ z + torch.einsum("pij,i,j->p", c, z, z) / 2

    exact = torch.autograd.functional.hessian(
        lambda z: x @ parameter(z) - partition(parameter(z)).sum(), z
    )
    theta = parameter(z)
    said = form((b + c @ z).numpy(), c.numpy(), (x - mean(theta)).numpy(), variance(theta).numpy())
    return float(np.abs(said - exact.numpy()).max() / np.abs(exact.numpy()).max())


def _form(sign: float) -> Form:
    return lambda d, bend, residual, variance: (
        -d.T @ (variance[:, None] * d) + sign * np.einsum("p,pij->ij", residual, bend)
    )


@dataclass(frozen=True)
class BestPosterior:
    """The covariance said to be best, of all and of diagonal ones."""

    full: Callable[[Square, float], Square]
    diagonal: Callable[[Square, float], Float[Array, "d"]]


def _best_check(best: BestPosterior) -> Evidence:
    """Against searches."""
    draw, off = np.random.default_rng(0), {"full": 0.0, "diagonal": 0.0}
    hessians = [-np.array([[3.0, 1.0], [1.0, 3.0]])]
    hessians += [-w.T @ w for w in (decoder(draw, "plain") for _ in range(6))]
    for hessian, beta in zip(hessians, (1.0, 0.3, 1.0, 4.0, 0.3, 1.0, 4.0), strict=True):
        full = searched_covariance(hessian, beta) - best.full(hessian, beta)
        alone = np.diag(searched_covariance(hessian, beta, diagonal=True))
        apart = np.abs(alone - best.diagonal(hessian, beta)).max()
        off["full"] = max(off["full"], float(np.abs(full).max()))
        off["diagonal"] = max(off["diagonal"], float(apart))
    text = f"searches for {len(hessians)} Hessians: full covariances off by {off['full']:.0e}, "
    return Evidence(max(off.values()) < 1e-4, f"{text}diagonal ones by {off['diagonal']:.0e}")


def precision(hessian: Square, beta: float) -> Square:
    """I - H / beta, the inverse of the best covariance."""
    return np.eye(len(hessian)) - hessian / beta


FORM = Entry(
    id="A-E6",
    source="Allen (2024), eq. 6",
    title="Hessian of an exponential family in latent space",
    statement="If the decoder gives the natural parameter, the log-likelihood's Hessian is the "
    "decoder's Jacobian around the variance of $x$, and the decoder's bend along the residual.",
    formula=r"H = -D^\top A^2 D + (x - \hat x)^\top \nabla^2 d, "
    r"\quad A^2 = \mathrm{Var}[x|\theta]",
    assumptions="Exponential family with natural parameter $\\theta = d(z)$, smooth decoder.",
    printed=_form(1.0),
    check=Everywhere(
        _form_violation,
        _bent,
        "quadratic decoders of Gaussian, Bernoulli and Poisson parameters (automatic "
        "differentiation)",
        ("plain", "parallel", "close", "orthogonal"),
        count=12,
        names=("family", "linear part", "quadratic part", "$z$", "$x$"),
    ),
    mutation=Mutation("residual $\\hat x - x$", _form(-1.0)),
    remark="After eq. 7 the paper takes $A = I / \\sigma$ for a Gaussian: right if the decoder "
    "gives the mean, which is $\\sigma^2$ times the natural parameter. $A^2$ is then not the "
    "variance, and the residual term too is divided by $\\sigma^2$.",
)
BEST_POSTERIOR = Entry(
    id="A-E7",
    source="Allen (2024), eq. 7 and proof of theorem 5",
    title="The best posterior covariance",
    statement="The det-ELBO is largest at $\\Sigma = (I - H/\\beta)^{-1}$ among all covariances, "
    "and at the inverse of the diagonal of $I - H/\\beta$ among diagonal ones.",
    formula=r"\Sigma^{-1} = I + \frac{1}{\beta} D^\top A^2 D = I - \frac{1}{\beta} H",
    assumptions="$I - H/\\beta$ positive definite, as it is without the residual term.",
    printed=BestPosterior(
        lambda h, beta: np.linalg.inv(precision(h, beta)),
        lambda h, beta: 1 / np.diag(precision(h, beta)),
    ),
    check=_best_check,
    mutation=Mutation(
        "diagonal posterior: the diagonal of the inverse",
        BestPosterior(
            lambda h, beta: np.linalg.inv(precision(h, beta)),
            lambda h, beta: np.diag(np.linalg.inv(precision(h, beta))),
        ),
    ),
    remark="For a diagonal posterior the boxed formula is not to be read entry by entry: for "
    "$-H = (3, 1; 1, 3)$ and $\\beta = 1$ the best variances are $1/4$, while the inverse has "
    "$4/15$ on its diagonal.",
)
ENTRIES = (FORM, BEST_POSTERIOR)
