"""Checks of the precision budget, each by a search, quadrature or drawn noise.

Rolinek et al. 2019, section 4; Zietlow 2022, sections 3.2.4 and 3.2.5.
"""

from math import exp, sqrt
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.papers.zietlow2022.ledger.budget import EXAMPLE, EXAMPLE_VALUE, cheapest_noise
from unpick.study.study import Results, Verdict
from unpick.theory.columns import column_product, largest_cosine, turned
from unpick.theory.quadrature import kl_by_quadrature

Array = np.ndarray

SHOWN = 4.0  # the budget C that is drawn


def vae_loss(m: Float[Array, "p 2"], family: Literal["diagonal", "full"], beta: float) -> float:
    r"""What the best posterior of a family leaves of the loss, by a search.

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
    """Of two to five latents, each column of its own scale."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 6, count)
    return [draw.normal(size=(d + 3, d)) * draw.uniform(0.3, 3.0, d) for d in sizes]


def expected_cost(results: Results) -> Verdict:
    """By drawing noise."""
    draw = np.random.default_rng(0)
    ratios = []
    for sx, sy in ((0.1, 0.1), (0.1, 0.5), (0.02, 0.3)):
        noise = draw.normal(size=(200_000, 2)) * (sx, sy)
        ratios.append(np.square(noise @ EXAMPLE.T).sum(1).mean() / (50 * sx**2 + 3 * sy**2))
    ratio = max(ratios, key=lambda r: abs(r - 1))
    evidence = f"200 000 draws at three settings: at most {abs(ratio - 1):.1%} off"
    return Verdict(bool(abs(ratio - 1) < 0.02), evidence)


def minimum(exponent: float, results: Results) -> Verdict:
    """Whether the least cost of both decoders is 2 prod |column| e^(-exponent C)."""
    found = EXAMPLE_VALUE.check(lambda product, c: 2 * product * exp(-exponent * c))
    return Verdict(found.holds, found.text)


def twice_as_high(results: Results) -> Verdict:
    """M_2 against M_1."""
    first, second = (cheapest_noise(turned(EXAMPLE, a), SHOWN)[1] for a in (0.0, 45.0))
    evidence = f"searched minima at C = {SHOWN:g}: {second:.3f} / {first:.3f} = "
    return Verdict(second > 2 * first, f"{evidence}{second / first:.2f}")


def inverse_to_columns(results: Results) -> Verdict:
    """Variance times squared length of the column is the same for all columns."""
    ratio = cheapest_noise(EXAMPLE, SHOWN)[0]
    spread = 0.0
    for m in random_decoders():
        shares = cheapest_noise(m, 3.0)[0] * np.square(m).sum(0)
        spread = max(spread, float(np.ptp(shares) / shares.mean()))
    evidence = f"the example's ratio of variances {ratio[0] / ratio[1]:.4f}, 3/50 = 0.06; "
    evidence += f"50 random decoders: variance x squared length differs by {spread:.1%} at most"
    return Verdict(spread < 0.01, evidence)


def columns_exceed_volume(results: Results) -> Verdict:
    """Random decoders, as they are and turned to their singular directions."""
    gaps, equal = [], []
    for m in random_decoders():
        _, values, vt = np.linalg.svd(m)
        volume = sqrt(np.linalg.det(m.T @ m))  # not from the singular values
        gaps.append(column_product(m) / volume - 1)
        equal.append(abs(column_product(m @ vt.T) / volume - 1))
        equal.append(abs(values.prod() / volume - 1))
    evidence = f"50 random decoders exceed it by {min(gaps):.2%} to {max(gaps):.0%}; turned to "
    evidence += f"orthogonal columns they differ from it by {max(equal):.0e}"
    return Verdict(bool(min(gaps) > 0 and max(equal) < 1e-9), evidence)


def best_angle(results: Results) -> Verdict:
    """Grid search over the angle."""
    grid = np.arange(-45, 45, 0.01)
    products = np.array([column_product(turned(EXAMPLE, angle)) for angle in grid])
    best = float(grid[products.argmin()])
    cosine = largest_cosine(turned(EXAMPLE, best))
    volume = float(np.linalg.svd(EXAMPLE, compute_uv=False).prod())
    evidence = f"least product {products.min():.3f} at {best:.2f} degrees, where columns have the "
    evidence += f"cosine {cosine:.0e}; singular values multiply to {volume:.3f}; "
    evidence += f"as printed, at 0 degrees, it is {column_product(EXAMPLE):.3f}"
    return Verdict(bool(abs(products.min() / volume - 1) < 1e-4 and cosine < 1e-3), evidence)


def kl_minimum(results: Results) -> Verdict:
    """Searches from random starts."""
    draw = np.random.default_rng(0)
    starts = [draw.uniform(-2, 2, 2) for _ in range(10)]  # mean and log variance
    ends = [minimize(lambda p: kl_by_quadrature(p[:1], np.exp(p[1:])), s).x for s in starts]
    off, left = float(np.abs(ends).max()), kl_by_quadrature(np.zeros(1), np.ones(1))
    evidence = (
        f"ten searches end within {off:.0e} of mean 0 and log variance 0; KL there {left:.0e}"
    )
    return Verdict(off < 1e-3 and abs(left) < 1e-12, evidence)


def price_of_information(results: Results) -> Verdict:
    """KL where the codes as a whole fill the prior, against half the logarithm of precision."""
    precisions = np.linspace(0, 6, 13)[:, None]
    gaps = [kl_by_quadrature(np.sqrt(1 - np.exp(-p)), np.exp(-p)) - p[0] / 2 for p in precisions]
    evidence = f"largest difference {np.abs(gaps).max():.0e} nats over variances from 1 to "
    return Verdict(bool(np.abs(gaps).max() < 1e-9), f"{evidence}{exp(-6):.4f}")


def symmetry(family: Literal["diagonal", "full"], results: Results) -> Verdict:
    """Best loss over angles: constant for `full`; least at the singular directions otherwise."""
    best = np.degrees(np.arctan(8 / 47)) / 2  # where the columns of M R^T are orthogonal
    angles = np.array([best, *np.arange(-40.0, 45.0, 10.0)])
    losses = np.array([vae_loss(turned(EXAMPLE, angle), family, beta=1.0) for angle in angles])
    varies = float(np.ptp(losses) / losses.mean())
    evidence = f"searched best loss at {len(angles)} angles: {losses.min():.4f} to "
    evidence += f"{losses.max():.4f}, least at {angles[losses.argmin()]:.1f} degrees"
    if family == "full":
        return Verdict(varies < 1e-5, evidence.split(", least")[0])
    return Verdict(bool(losses.argmin() == 0 and varies > 0.01), evidence)
