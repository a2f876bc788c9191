"""Taylor expansions of the local decoder in Bhowal et al. (2024), sections A.2 to A.4.

Orders are measured on f = softplus, for which no derivative that matters vanishes at 0 and f(0) is
not 0. Expectations are Gauss-Hermite quadrature.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere, Order
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import Kind, decoder
from unpick.theory.quadrature import gaussian_grid

Array = np.ndarray

F0, F1, F2 = float(np.log(2)), 0.5, 0.25  # softplus and its derivatives at 0
ROW_PARTS = ("M_j", "mu", "sigma")
ROWS = np.array([[1.0, 0.5], [-0.3, 0.8], [0.2, -0.4]])  # the matrix orders are measured on


def softplus(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 + e^t)."""
    return np.logaddexp(0, t)


def noisy_moments(scale: float) -> tuple[Float[Array, "n"], Float[Array, "n"], Float[Array, "n"]]:
    """Mean and variance of f(M_j eps), and variance of M_j eps; the noise has that scale."""
    nodes, weights = gaussian_grid(2, 20)
    image = scale * nodes @ ROWS.T
    values = softplus(image) - F0  # without the constant, which would cost digits
    mean = weights @ values
    return F0 + mean, weights @ (values - mean) ** 2, weights @ image**2


def _local(draw: np.random.Generator, kind: Kind) -> tuple[Array, Array, Array]:
    """Matrix, mean code and noise, such that M eps stays below 3."""
    matrix = decoder(draw, kind)
    matrix = matrix / np.linalg.norm(matrix, axis=1).max()
    noise = draw.normal(size=matrix.shape[1])
    return (
        matrix,
        2 * draw.normal(size=len(noise)),
        3 * draw.random() * noise / np.sqrt(noise @ noise),
    )


def _sine_series(t: Array, at: Array) -> Array:
    """Sum of g^(k)(a) t^k / k! for k >= 1, where g = sin."""
    term, total = np.ones_like(t), np.zeros_like(t)
    for k in range(1, 40):
        term = term * t / k
        total = total + np.sin(at + k * np.pi / 2) * term
    return total


def _local_violation(
    reading: Callable[[Array, Array], Array], instance: tuple[Array, Array, Array]
) -> float:
    matrix, mean, noise = instance
    at, t = matrix @ mean, matrix @ noise
    return float(np.abs(np.sin(at) + reading(t, at) - np.sin(at + t)).max())


LOCAL_DECODER = Entry(
    id="B-P4",
    source="Bhowal et al. (2024), proposition 4 (eq. 8)",
    title="Local decoder as a shift and a nonlinearity",
    statement="A decoder $g(Mz)$ with an elementwise $g$ is, around a mean code, its value there "
    "plus a nonlinear function $f$ of $M\\epsilon$: the Taylor series of $g$ without its "
    "constant.",
    formula=r"g(Mz) \approx Dec(\mu) + f(M\epsilon), \quad"
    r" f(t) = \sum_{k \geq 1} g^{(k)}(M\mu)\, t^k / k!",
    assumptions="$Dec(z) = g(Mz)$, $g$ elementwise and equal to its Taylor series near $M\\mu$.",
    printed=_sine_series,
    check=Everywhere(
        _local_violation,
        _local,
        "decoders sin(Mz), against 39 terms of the series",
        names=("M", "mu", "noise"),
    ),
    mutation=Mutation(
        "derivatives at 0 in place of $M\\mu$, hence one $f$ for all outputs",
        lambda t, at: _sine_series(t, np.zeros_like(at)),
    ),
    remark="With the whole series this is an identity: $f(t) = g(M\\mu + t) - g(M\\mu)$. So "
    "$f(0) = 0$ always, and $f$ differs from output to output even though $g$ does not, because "
    "outputs sit at different points $(M\\mu)_j$. Lemma 1 and theorem 1 do not use either.",
)


def _expectation_error(reading: Callable[[Array], Array], scale: float) -> float:
    """Relative to the change that noise makes."""
    mean, _, variance = noisy_moments(scale)
    return float(np.abs((reading(variance) - mean) / (mean - F0)).max())


EXPECTATION = Entry(
    id="B-L6",
    source="Bhowal et al. (2024), lemma 6",
    title="Mean of f to second order",
    statement="Noise of variance $v$ around $m$ changes the mean of $f$ by $f''(m)\\,v/2$.",
    formula=r"E[f(M_j\epsilon)] = f(E[M_j\epsilon])"
    r" + \frac{1}{2} f''(E[M_j\epsilon])\, E[(M_j\epsilon - E[M_j\epsilon])^2]",
    assumptions="$f$ smooth, noise small.",
    printed=lambda variance: F0 + F2 / 2 * variance,
    check=Order(_expectation_error, 2.0, "mean of softplus, error over its change", noise="sigma"),
    mutation=Mutation("without the factor 1/2", lambda variance: F0 + F2 * variance),
    approximation=True,
    remark="The error measured is relative to the change, which is itself of second order in "
    "$\\sigma$. Taken absolutely it is of fourth order: for Gaussian noise the third-order "
    "remainder of the proof vanishes. The tail may be dropped only if $E|f|$ is finite: "
    "$f(t) = \\exp(t^2)$ has no mean once $v \\geq 1/2$.",
)


def _variance_error(reading: Callable[[Array], Array], scale: float) -> float:
    _, varied, variance = noisy_moments(scale)
    return float(np.abs(reading(variance) / varied - 1).max())


VARIANCE = Entry(
    id="B-L7",
    source="Bhowal et al. (2024), lemma 7",
    title="Variance of f to first order",
    statement="The variance of $f$ is that of its argument times the squared slope.",
    formula=r"var[f(M_j\epsilon)] = (f'(E[M_j\epsilon]))^2\, var[M_j\epsilon]",
    assumptions="$f$ smooth, noise small.",
    printed=lambda variance: F1**2 * variance,
    check=Order(_variance_error, 2.0, "variance of softplus, error over it", noise="sigma"),
    mutation=Mutation("slope not squared", lambda variance: F1 * variance),
    approximation=True,
    remark="The proof prints the next term as $\\frac{1}{4} f''\\, var^2$. For Gaussian noise it "
    "is $(\\frac{1}{2} (f'')^2 + f' f''')\\, var^2$; the lemma does not use it.",
)


def _stochastic_error(reading: Callable[[Array, Array], float], scale: float) -> float:
    """Relative to what noise adds."""
    mean, varied, variance = noisy_moments(scale)
    added = float(np.sum(varied + (mean - F0) * (mean + F0)))  # E f^2 - f(0)^2
    return (reading(varied, variance) - added - len(mean) * F0**2) / added


STOCHASTIC_LOSS = Entry(
    id="B-L1",
    source="Bhowal et al. (2024), lemma 1 (eq. 9)",
    title="Stochastic loss in three terms",
    statement="The mean of $\\|f(M\\epsilon)\\|^2$ is the sum over outputs of the variance of "
    "$f$, of $f(0)^2$, and of $f(0) f''(0)$ times the variance of $M_j\\epsilon$.",
    formula=r"L_{rec}^{stoch} = \sum_j \left\{ var[f(M_j\epsilon)] + f(0)^2"
    r" + f(0) f''(0)\, var[M_j\epsilon] \right\}",
    assumptions="Local decoder $f(M\\epsilon)$, noise small.",
    printed=lambda varied, variance: float(np.sum(varied + F0**2 + F0 * F2 * variance)),
    check=Order(
        _stochastic_error, 2.0, "mean of softplus squared, error over its change", noise="sigma"
    ),
    mutation=Mutation(
        "without the term of $f''$", lambda varied, variance: float(np.sum(varied + F0**2))
    ),
    approximation=True,
    remark="The $f$ of proposition 4 has $f(0) = 0$: two of the three terms vanish, and the lemma "
    "says that the loss is the sum of variances, to second order.",
)


def _row(draw: np.random.Generator, kind: Kind) -> tuple[Array, Array, Array]:
    """A row of a decoder, a mean code and standard deviations."""
    row = decoder(draw, kind)[0]
    return row, draw.normal(size=len(row)), np.exp(draw.normal(size=len(row)))


def _row_variance_violation(
    reading: Callable[[Array, Array], float], instance: tuple[Array, Array, Array]
) -> float:
    row, _, sigma = instance
    nodes, weights = gaussian_grid(len(row), 3)
    image = nodes * sigma @ row
    found = float(weights @ image**2 - (weights @ image) ** 2)
    return abs(reading(row, sigma) / found - 1)


ROW_VARIANCE = Entry(
    id="B-L8",
    source="Bhowal et al. (2024), lemma 8",
    title="Variance of a row times noise",
    statement="Independent noise of variances $\\sigma_k^2$ gives $M_j\\epsilon$ the variance "
    "$\\sum_k a_{jk}^2 \\sigma_k^2$.",
    formula=r"var[M_j\epsilon] = \sum_{k=1}^{d} a_{jk}^2 \sigma_k^2",
    assumptions="$\\epsilon_k \\sim N(0, \\sigma_k^2)$, independent.",
    printed=lambda row, sigma: float(np.sum(row**2 * sigma**2)),
    check=Everywhere(
        _row_variance_violation, _row, "rows of decoders, variance by quadrature", names=ROW_PARTS
    ),
    mutation=Mutation(
        "square of the sum", lambda row, sigma: float(np.sum(np.abs(row) * sigma) ** 2)
    ),
    remark="It is the diagonal posterior that makes the terms independent.",
)


def _row_mean_violation(
    reading: Callable[[Array, Array], float], instance: tuple[Array, Array, Array]
) -> float:
    row, mean, sigma = instance
    nodes, weights = gaussian_grid(len(row), 3)
    found = float(weights @ (nodes * sigma @ row))
    return abs(reading(row, mean) - found) / float(np.linalg.norm(row * sigma))


ROW_MEAN = Entry(
    id="B-L9",
    source="Bhowal et al. (2024), lemma 9",
    title="Mean of a row times noise",
    statement="Noise of mean zero gives $M_j\\epsilon$ the mean zero.",
    formula=r"E[M_j\epsilon] = 0",
    assumptions="$\\epsilon_k \\sim N(0, \\sigma_k^2)$.",
    printed=lambda row, mean: 0.0,
    check=Everywhere(
        _row_mean_violation, _row, "rows of decoders, mean by quadrature", names=ROW_PARTS
    ),
    mutation=Mutation(
        "of the code $z = \\mu + \\epsilon$ in place of the noise",
        lambda row, mean: float(row @ mean),
    ),
)
ENTRIES = (
    STOCHASTIC_LOSS,
    EXPECTATION,
    VARIANCE,
    ROW_VARIANCE,
    ROW_MEAN,
    LOCAL_DECODER,
)
