"""Numbers about the precision budget, each found by a search, by quadrature or by drawing noise.

Rolinek et al. 2019, section 4; Zietlow 2022, sections 3.2.4 and 3.2.5.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import sqrt
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.papers.zietlow2022.ledger.budget import EXAMPLE, cheapest_noise, example_costs
from unpick.study.study import Scale
from unpick.theory.columns import column_product, largest_cosine, turned
from unpick.theory.quadrature import kl_by_quadrature

Array = np.ndarray
Family = Literal["diagonal", "full"]

SHOWN = 4.0  # the budget C that is drawn


def vae_loss(m: Float[Array, "p 2"], family: Family, beta: float) -> float:
    r"""The least loss over the posteriors of a family, by a search.

    .. math:: \min_L \|M L\|_F^2 + \beta/2 \, (\|L\|_F^2 - \log\det L L^\top - d)

    Mean codes are fixed, so that the rest of the loss is the same for all posteriors.
    """

    def loss(p: Float[Array, "k"]) -> float:
        factor = np.diag(np.exp(p[:2])) + np.diag(p[2:], k=-1)  # lower triangular
        kl = 0.5 * (np.square(factor).sum() - 2 * p[:2].sum() - 2)
        return float(np.square(m @ factor).sum() + beta * kl)

    if family == "full":
        return float(minimize(loss, np.zeros(3), options={"gtol": 1e-8}).fun)
    return float(minimize(lambda p: loss(np.append(p, 0.0)), np.zeros(2)).fun)


def random_decoders(count: int = 50, seed: int = 0) -> list[Float[Array, "p d"]]:
    """Decoders of two to five latents, whose columns have different scales."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 6, count)
    return [draw.normal(size=(d + 3, d)) * draw.uniform(0.3, 3.0, d) for d in sizes]


def noise_costs(scale: Scale) -> dict[str, list[float]]:
    """`ratios`: the cost of drawn noise over 50 sigma_x^2 + 3 sigma_y^2, at three settings."""
    draw = np.random.default_rng(0)
    ratios = []
    for sx, sy in ((0.1, 0.1), (0.1, 0.5), (0.02, 0.3)):
        noise = draw.normal(size=(200_000, 2)) * (sx, sy)
        cost = np.square(noise @ EXAMPLE.T).sum(1).mean()
        ratios.append(float(cost / (50 * sx**2 + 3 * sy**2)))
    return {"ratios": ratios}


def least_costs(scale: Scale) -> dict[str, Any]:
    """`example`: column product, C and least cost, of both decoders of the example.

    `shown`: least costs of the example, as it is and turned by 45 degrees, at the drawn budget.
    """
    shown = [cheapest_noise(turned(EXAMPLE, angle), SHOWN)[1] for angle in (0.0, 45.0)]
    return {"example": [list(each) for each in example_costs()], "shown": shown}


def cheapest_variances(scale: Scale) -> dict[str, float]:
    """`ratio` of the example's variances; `spread` of variance times squared column length."""
    first, second = cheapest_noise(EXAMPLE, SHOWN)[0]
    spread = 0.0
    for m in random_decoders():
        shares = cheapest_noise(m, 3.0)[0] * np.square(m).sum(0)
        spread = max(spread, float(np.ptp(shares) / shares.mean()))
    return {"ratio": float(first / second), "spread": spread}


def volumes(scale: Scale) -> dict[str, list[float]]:
    """`excess` of column products of random decoders over their volumes.

    `difference`: of the same with orthogonal columns, and of the product of singular values.
    """
    excess, difference = [], []
    for m in random_decoders():
        _, values, vt = np.linalg.svd(m)
        volume = sqrt(np.linalg.det(m.T @ m))  # not from the singular values
        excess.append(column_product(m) / volume - 1)
        difference.append(abs(column_product(m @ vt.T) / volume - 1))
        difference.append(abs(float(values.prod()) / volume - 1))
    return {"excess": excess, "difference": difference}


def best_turn(scale: Scale) -> dict[str, float]:
    """The `angle` with the least column `product`, the largest `cosine` there, the `volume`."""
    grid = np.arange(-45, 45, 0.01)
    products = np.array([column_product(turned(EXAMPLE, angle)) for angle in grid])
    angle = float(grid[products.argmin()])
    return {
        "angle": angle,
        "product": float(products.min()),
        "cosine": largest_cosine(turned(EXAMPLE, angle)),
        "volume": float(np.linalg.svd(EXAMPLE, compute_uv=False).prod()),
    }


def least_kl(scale: Scale) -> dict[str, float]:
    """How far searches end from mean 0 and log variance 0 (`off`), and the `kl` there."""
    draw = np.random.default_rng(0)
    starts = [draw.uniform(-2, 2, 2) for _ in range(10)]  # mean and log variance
    ends = [minimize(lambda p: kl_by_quadrature(p[:1], np.exp(p[1:])), s).x for s in starts]
    return {
        "off": float(np.abs(ends).max()),
        "kl": float(kl_by_quadrature(np.zeros(1), np.ones(1))),
    }


def kl_of_precision(scale: Scale) -> dict[str, float]:
    """`difference` of the KL and half the log precision, where codes fill the prior."""
    precisions = np.linspace(0, 6, 13)[:, None]
    gaps = [kl_by_quadrature(np.sqrt(1 - np.exp(-p)), np.exp(-p)) - p[0] / 2 for p in precisions]
    return {"difference": float(np.abs(gaps).max())}


def losses_by_angle(family: Family, scale: Scale) -> dict[str, list[float]]:
    """The best `losses` of the turned example at some `angles`, singular directions first."""
    best = np.degrees(np.arctan(8 / 47)) / 2  # where the columns of M R^T are orthogonal
    angles = [float(best), *np.arange(-40.0, 45.0, 10.0).tolist()]
    losses = [vae_loss(turned(EXAMPLE, angle), family, beta=1.0) for angle in angles]
    return {"angles": angles, "losses": losses}


COMPUTED: Mapping[str, Callable[[Scale], Mapping[str, Any]]] = {
    "noise costs": noise_costs,
    "least costs": least_costs,
    "cheapest variances": cheapest_variances,
    "volumes": volumes,
    "best turn": best_turn,
    "least kl": least_kl,
    "kl of precision": kl_of_precision,
    "diagonal": partial(losses_by_angle, "diagonal"),
    "full": partial(losses_by_angle, "full"),
}
