"""The precision budget: what noise costs, and the least it can cost (Zietlow 2022, 3.2, 5.1)."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from math import exp, log

import numpy as np
from jaxtyping import Float
from scipy.linalg import expm
from scipy.optimize import LinearConstraint, minimize

from unpick.papers.zietlow2022.ledger.inequalities import short_of
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind, decoder, orthonormal
from unpick.theory.columns import largest_cosine, plane_turn

Array = np.ndarray
EXAMPLE = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])  # M_1, eq. 3.20


def mean_square(m: Float[Array, "p d"], variances: Float[Array, "d"]) -> float:
    """E|M eps|^2 as the mean over all signs of eps = +-sigma, which is exact for squares."""
    d = len(variances)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1)
    return float(np.square(m @ (np.sqrt(variances)[:, None] * signs)).sum(0).mean())


def cheapest_noise(m: Float[Array, "p d"], budget: float) -> tuple[Float[Array, "d"], float]:
    r"""Variances that cost least, and their cost, by a search (Zietlow 2022, eq. 3.18, 3.19).

    .. math:: \min_\sigma E\|M\epsilon\|^2 \quad s.t. \quad \sum_j -\log\sigma_j^2 = C
    """
    d = m.shape[1]
    found = minimize(
        lambda precision: mean_square(m, np.exp(-precision)),
        np.full(d, budget / d),
        method="SLSQP",
        constraints=LinearConstraint(np.ones(d), budget, budget),
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.exp(-found.x), float(found.fun)


def _bound_violation(
    bound: Callable[[Array, Array], float], drawn: tuple[Float[Array, "p d"], Float[Array, "d"]]
) -> float:
    """Of E|M eps|^2 >= bound; the spread is that of the columns' shares in it."""
    m, variances = drawn
    d = len(variances)
    shares = np.square(m).sum(0) * variances
    mean = mean_square(m, variances) / d
    return short_of(bound(m, variances) / d, mean, shares.min(), shares.max(), d)


def _noisy(draw: np.random.Generator, kind: Kind) -> tuple[Float[Array, "p d"], Float[Array, "d"]]:
    """A decoder and variances; `equal` and `orthogonal`: every column costs the same."""
    m = decoder(draw, kind)
    if kind in ("equal", "orthogonal"):
        return m, draw.uniform(0.1, 2) / np.square(m).sum(0)
    return m, np.exp(2 * draw.normal(size=m.shape[1]))


def rotation_by(d: int, angles: Float[Array, "*n k"]) -> Float[Array, "*n d d"]:
    """All planes turned at once: the exponential of a skew matrix, for searches."""
    below = np.zeros((*angles.shape[:-1], d, d))
    below[..., np.tri(d, k=-1, dtype=bool)] = angles
    return np.asarray(expm(below - below.mT))


def descend(
    js: Float[Array, "n p d"],
    budget: float,
    start: tuple[Float[Array, "n k"], Float[Array, "n d"]],
    logarithm: bool,
) -> tuple[float, float]:
    r"""A descent over turns and variances; its end, and the largest cosine of columns there.

    .. math:: \min \sum_i f(E\|J_i\epsilon_i\|^2) \quad s.t. \quad \sum_{ij} -\log\sigma_{ij}^2 = C

    Args:
        js: Jacobians, to be turned on the side of the latents.
        budget: C.
        start: Angles of the turns; precisions, up to a constant.
        logarithm: Whether f is the logarithm or nothing.
    """
    n, _, d = js.shape
    angles, precisions = start

    def parts(x: Float[Array, "m"]) -> tuple[Float[Array, "n p d"], Float[Array, "n d"]]:
        precision = x[angles.size :].reshape(n, d)
        columns = js @ rotation_by(d, x[: angles.size].reshape(n, -1))
        return columns, precision - precision.mean() + budget / (n * d)

    def cost(x: Float[Array, "m"]) -> float:
        columns, precision = parts(x)
        costs = np.logaddexp.reduce(np.log(np.square(columns).sum(1)) - precision, axis=1)
        return float((costs if logarithm else np.exp(costs)).sum())

    found = minimize(cost, np.concatenate([angles.ravel(), precisions.ravel()]))
    if not found.success:  # a line search has failed for want of digits
        found = minimize(cost, found.x)
    return float(found.fun), max(largest_cosine(columns) for columns in parts(found.x)[0])


def saddle(js: Float[Array, "n p d"]) -> tuple[Float[Array, "n k"], Float[Array, "n d"]]:
    """Where a descent of orthogonal columns finds no slope, and is not at a minimum (lemma 5).

    Two columns are turned by 45 degrees, to equal lengths; all columns cost the same.
    """
    n, _, d = js.shape
    angles = np.tile(np.eye(1, d * (d - 1) // 2) * np.pi / 4, (n, 1))
    return angles, np.log(np.square(js @ rotation_by(d, angles)).sum(1))


@cache
def descents(
    samples: int, logarithm: bool
) -> list[tuple[Float[Array, "n d"], float, float, float]]:
    """Singular values, budget, end and largest cosine of descents, one in five beside a saddle."""
    draw, ends = np.random.default_rng(0), []
    for n, d in product(range(1, samples + 1), (2, 3)):
        values, budget = np.exp(draw.normal(size=(n, d))), float(draw.uniform(1, 6))
        js = np.stack([orthonormal(draw, d + 1, d) * row for row in values])
        angles, precisions = saddle(js)
        starts = [(angles + 1e-3, precisions)] + [
            (draw.uniform(-3, 3, angles.shape), draw.normal(size=(n, d))) for _ in range(4)
        ]
        ends += [(values, budget, *descend(js, budget, start, logarithm)) for start in starts]
    return ends


def _minimum(claimed: Callable[[Array, float], float], samples: int, logarithm: bool) -> Evidence:
    """Whether all descents end at the claimed value, with orthogonal columns."""
    ends = descents(samples, logarithm)
    pairs = [(end, claimed(values, budget)) for values, budget, end, _ in ends]
    found, said = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
    off, largest = abs(found - said), max(end[-1] for end in ends)
    number = "one sample" if samples == 1 else f"up to {samples} samples"
    text = (
        f"{len(ends)} descents for {number} of 2 or 3 latents, one in five from 0.001 beside a "
        f"saddle point: at most {off:.1g} from the claimed value "
        f"(there {found:.4f}, claimed {said:.4f}); largest cosine of two columns {largest:.0e}"
    )
    return Evidence(bool(off < 1e-6 and largest < 1e-3), text)


def example_costs() -> list[tuple[float, float, float]]:
    """The column product of both decoders of the example, C, and the least cost by a search."""
    decoders = (EXAMPLE, EXAMPLE @ plane_turn(2, 0, 1, -np.pi / 4))
    return [
        (float(np.linalg.norm(m, axis=0).prod()), budget, cheapest_noise(m, budget)[1])
        for m in decoders
        for budget in (1.0, 2.0, 4.0)
    ]


def compare_costs(
    costs: Sequence[tuple[float, float, float]], least: Callable[[float, float], float]
) -> Evidence:
    """Compare `example_costs` with a formula: `least` takes the column product and C."""
    words, worst = [], 0.0
    for columns, budget, found in costs:
        said = least(columns, budget)
        worst = max(worst, abs(found / said - 1))
        words.append(f"{found:.2f} ({said:.2f})")
    text = f"least cost found by a search (and claimed) at C = 1, 2, 4: {', '.join(words[:3])}; "
    return Evidence(bool(worst < 1e-6), f"{text}turned by 45 degrees: {', '.join(words[3:])}")


NOISE_BOUND = Entry(
    id="Z-P5",
    source="Zietlow (2022), proposition 5 (eq. 5.6)",
    title="Noise costs at least d times the mean column's share",
    statement=r"Noise of variances $\sigma_j^2$ moves the output of a linear decoder with columns "
    r"$c_j$ by at least $d$ times the geometric mean of $\|c_j\|^2 \sigma_j^2$ in mean square, "
    "with equality if and only if these are all equal.",
    formula=r"E\|J \varepsilon\|^2 \geq d \left(\prod_j \|c_j\|^2 \sigma_j^2\right)^{1/d}",
    assumptions="Noise uncorrelated, of mean zero.",
    printed=lambda m, v: len(v) * float((np.square(m).sum(0) * v).prod()) ** (1 / len(v)),
    check=Everywhere(
        _bound_violation,
        _noisy,
        "decoders with noise",
        tolerance=1e-12,
        names=("J", "variances"),
    ),
    mutation=Mutation(
        "standard deviations in place of variances",
        lambda m, v: len(v) * float((np.square(m).sum(0) * np.sqrt(v)).prod()) ** (1 / len(v)),
    ),
)

MAIN_RESULT = Entry(
    id="Z-T1",
    source="Zietlow (2022), theorem 1 (eq. 3.14, 3.15, 5.11); Rolinek et al. (2019), theorem 2",
    title="The least noise is at orthogonal columns, and there is no other minimum",
    statement=r"Minimise $\sum_i \log E\|J_i \varepsilon_i\|^2$ over turns $V_i$ of the latents "
    r"and variances of total precision $C$. Every local minimum is global, and there the columns "
    r"of every $J_i$ are orthogonal.",
    formula=r"\min \sum_i \log E\|J_i \varepsilon_i\|^2 = "
    r"N \log d - \frac{C}{d} + \frac{2}{d} \sum_i \log \prod_j s_{ij}",
    assumptions=r"Polarized regime, passive latents left out, singular values $s_{ij}$ not zero; "
    r"$C = \sum_{ij} -\log \sigma_{ij}^2$.",
    printed=lambda s, c: s.shape[0] * log(s.shape[1]) - (c - 2 * np.log(s).sum()) / s.shape[1],
    check=lambda claimed: _minimum(claimed, samples=2, logarithm=True),
    mutation=Mutation(
        "the precision C is not shared among the d latents",
        lambda s, c: s.shape[0] * log(s.shape[1]) - c + 2 * np.log(s).sum() / s.shape[1],
    ),
    remark="The minima form a continuum: precision may be moved freely from one sample to "
    "another. The proof improves one inequality at a time. If all columns of a sample cost the "
    "same, the turn of lemma 5 alone lowers the cost at first order, unless the two columns are "
    "equally long: then it changes nothing until the variances follow.",
)

COROLLARY = Entry(
    id="Z-C1",
    source="Zietlow (2022), corollary 1 (eq. 3.16, 3.17); Rolinek et al. (2019), corollary 1",
    title="The same without the logarithm, for one sample",
    statement=r"Minimise $E\|J_i \varepsilon_i\|^2$ for one sample under its own precision. "
    "Every local minimum is global, and there the columns are orthogonal.",
    formula=r"\min E\|J_i \varepsilon_i\|^2 = d \left(e^{-C_i} \prod_j s_j^2\right)^{1/d}",
    assumptions=r"As theorem 1; $C_i = \sum_j -\log \sigma_{ij}^2$.",
    printed=lambda s, c: s.shape[1] * (exp(-c) * float(np.square(s).prod())) ** (1 / s.shape[1]),
    check=lambda claimed: _minimum(claimed, samples=1, logarithm=False),
    mutation=Mutation(
        "singular values without their square",
        lambda s, c: s.shape[1] * (exp(-c) * float(s.prod())) ** (1 / s.shape[1]),
    ),
    remark="The value is ours, from eq. 5.8. The logarithm is not needed for several samples "
    r"either: the sum of their costs has the least value $N d (e^{-C} \prod_{ij} "
    r"s_{ij}^2)^{1/(N d)}$ at orthogonal columns, with all samples costing the same.",
)

EXAMPLE_VALUE = Entry(
    id="Z-E3.21",
    source="Zietlow (2022), eq. 3.21 and 3.22; Rolinek et al. (2019), eq. 25 and 26",
    title="Least cost of the worked example",
    statement=r"With $-\log \sigma_x^2 - \log \sigma_y^2 = C$ the decoder with columns of squared "
    r"lengths 50 and 3 costs at least $2 \sqrt{150}\, e^{-C}$, and turned by 45 degrees "
    r"$2 \sqrt{61 \cdot 45 / 4}\, e^{-C}$.",
    formula=r"50 \sigma_x^2 + 3 \sigma_y^2 \geq 2 \sqrt{50 \cdot 3}\; e^{-C}",
    assumptions=r"$\sum_j -\log \sigma_j^2 = C$.",
    printed=lambda product, c: 2 * product * exp(-c),
    check=lambda least: compare_costs(example_costs(), least),
    mutation=Mutation("the factor 2 left out", lambda product, c: product * exp(-c / 2)),
    correction=Correction(
        r"The exponent is $-C/2$; the ratio of the two decoders, 2.14, is as printed.",
        r"50 \sigma_x^2 + 3 \sigma_y^2 \geq 2 \sqrt{50 \cdot 3}\; e^{-C/2}",
        lambda product, c: 2 * product * exp(-c / 2),
    ),
    remark=r"The budget fixes $\sigma_x^2 \sigma_y^2 = e^{-C}$, and its root enters. For $C > 0$ "
    "the printed bound is true but never reached.",
)

ENTRIES = (NOISE_BOUND, MAIN_RESULT, COROLLARY, EXAMPLE_VALUE)
