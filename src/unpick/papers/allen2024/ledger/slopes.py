"""Which slopes of the decoder the deterministic ELBO of Allen (2024) prefers, section 4."""

from collections.abc import Callable
from functools import cache
from typing import get_args

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import NUMBERS, Kind, positive
from unpick.theory.plateaus import Cost, searched_slopes, slope_cost

Array = np.ndarray


def _slopes(draw: np.random.Generator, kind: Kind) -> tuple[Float[Array, "k"], float]:
    """Singular values and beta; plain ones are a small integer each."""
    if kind == "plain":
        return draw.integers(1, 4, 1).astype(float), float(draw.integers(1, 4))
    return positive(draw, kind), float(positive(draw, kind)[0])


def _cost_violation(
    cost: Callable[[float, float], float], instance: tuple[Float[Array, "k"], float]
) -> float:
    """Error of what slopes cost beyond slope 0, against a search for the best variances."""
    slopes, beta = instance
    worst = 0.0
    for s in slopes.tolist():
        found = minimize_scalar(
            lambda log_variance, s=s: (
                (s**2 + beta) * np.exp(log_variance) - beta * (log_variance + 1)
            ),
            bounds=(-90, 1),
            method="bounded",
            options={"xatol": 1e-8},
        )
        said = cost(s, beta) - cost(0.0, beta)
        worst = max(worst, abs(said - found.fun) / (found.fun + 1e-5 * beta))
    return float(worst)


Part = tuple[float, float]  # slope, share of the way
Parts = Callable[[float, float], tuple[Part, ...]]  # from mean slope and bound
BOUNDS = (3.0, 10.0, 30.0, 100.0)


@cache
def _least(bound: float, cost: Cost) -> float:
    return searched_slopes(1.0, bound, 1.0, cost).cost


def _plateau_check(parts: Parts) -> Evidence:
    """What slopes between two points cost beyond the least of a linear program."""
    texts, powers, errors = [], [], []
    for cost in get_args(Cost):
        straight = float(slope_cost(np.ones(1), 1.0, cost)[0])
        excess = []
        for bound in BOUNDS:
            slopes, shares = np.array(parts(1.0, bound)).T
            spent = float(shares @ slope_cost(slopes, 1.0, cost))
            excess.append((spent - _least(bound, cost)) / straight)
        errors.append(excess)
        powers.append(np.log(excess[-1] / excess[-2]) / np.log(BOUNDS[-1] / BOUNDS[-2]))
        listed = ", ".join(f"{e:.1%} at {b:g}" for b, e in zip(BOUNDS, excess, strict=True))
        texts.append(f"{cost} cost {listed}")
    worst = np.max(errors, axis=0)
    text = "cost beyond the least, as a share of the straight line's, by the bound on slopes: "
    return Evidence(
        holds=bool(max(powers) < -1 and worst[-1] < 0.01),
        text=text + "; ".join(texts),
        size=f"excess cost ~ bound^{max(powers):.1f}, {worst[1]:.1g} at bound {BOUNDS[1]:g}",
        errors=tuple((1 / bound, float(e)) for bound, e in zip(BOUNDS, worst, strict=True)),
    )


SLOPE_COST = Entry(
    id="A-E14",
    source="Allen (2024), eq. 14",
    title="What a slope of the decoder costs",
    statement="With the best posterior variances and orthogonal columns, what the det-ELBO loses "
    "by the decoder's singular values is $s^2 / (1 + s^2/\\beta)$ each.",
    formula=r"-S^2 (I + \frac{1}{\beta} S^2)^{-1}",
    assumptions="Gaussian likelihood of unit variance, $\\Sigma = (I + S^2/\\beta)^{-1}$; terms "
    "that do not depend on $S$ and a factor 2 aside.",
    printed=lambda s, beta: s**2 / (1 + s**2 / beta),
    check=Everywhere(
        _cost_violation,
        _slopes,
        "sets of slopes with a $\\beta$ (best variances by searches)",
        NUMBERS,
        count=20,
        names=("$s$", "$\\beta$"),
    ),
    mutation=Mutation("$\\beta \\log(1 + s^2)$", lambda s, beta: float(beta * np.log1p(s**2))),
    correction=Correction(
        "Trace and entropy of $\\Sigma$ depend on $S$ too. Together the terms are "
        "$-\\beta \\log(1 + s^2/\\beta)$ each, as in eq. 19.",
        r"-\beta \log \det(I + \frac{1}{\beta} S^2)",
        lambda s, beta: float(beta * np.log1p(s**2 / beta)),
    ),
    remark="At $s = \\beta = 1$ the loss is $\\log 2 = 0.69$, not $1/2$. What the paper concludes "
    "from eq. 14 stands (a steeper slope costs more, but less than in proportion); only the bound "
    "$\\beta$ on the cost does not.",
)
PLATEAUS: Entry[Parts] = Entry(
    id="A-S4",
    source="Allen (2024), section 4, optimal S",
    title="Plateaus at the data, jumps between",
    statement="Between two data points it costs least to have slope 0 all the way but for a sharp "
    "jump, in the limit of unbounded slopes.",
    formula=r"\min_u \int \phi\left(\frac{du}{dv}\right) dv, "
    r"\quad \int \frac{du}{dv} dv = u^{(2)} - u^{(1)}",
    assumptions="The cost $\\phi$ of eq. 14, or the corrected one, is integrated along the way.",
    printed=lambda rise, bound: ((0.0, 1 - rise / bound), (bound, rise / bound)),
    check=_plateau_check,
    mutation=Mutation("a straight line", lambda rise, bound: ((rise, 1.0),)),
    approximation=True,
    remark="With slopes of at most $L$ the best ones are $L$ and $t$, where the line from "
    "$(L, \\phi(L))$ touches $\\phi$; a straight line is best if the mean slope is at most $t$, "
    "always for $L \\leq \\sqrt{\\beta}$ ($\\sqrt{\\beta/3}$ with the printed cost, where "
    "$t = \\sqrt{L^2 + \\beta} - L$). The det-ELBO supposes a narrow posterior, which the paper's "
    "$\\Sigma \\to I$ is not. In the ELBO itself, for points at $\\pm 1$ and noise variance 0.1, "
    "the best decoder is $\\mathrm{tanh}(6.1 z)$: plateaus at the data, a step of finite slope, "
    "and posterior variances of 0.15.",
)
ENTRIES = (SLOPE_COST, PLATEAUS)
