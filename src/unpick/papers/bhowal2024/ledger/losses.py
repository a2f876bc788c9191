"""The loss and its parts in Bhowal et al. (2024), sections 3.1, A.2 and A.3."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import NUMBERS, Kind
from unpick.theory.quadrature import gaussian_grid, kl_by_quadrature

Array = np.ndarray
MeansVariances = tuple[Float[Array, "d"], Float[Array, "d"]]  # means and variances


def _posterior(draw: np.random.Generator, kind: Kind) -> MeansVariances:
    """Of 1 to 4 latents; `equal` is the prior, `close` almost."""
    d = int(draw.integers(1, 5))
    if kind == "equal":
        return np.zeros(d), np.ones(d)
    if kind == "close":
        return 1e-6 * draw.normal(size=d), 1 + 1e-6 * draw.normal(size=d)
    spread = 4 if kind == "scaled" else 1
    return spread * draw.normal(size=d), np.exp(spread * draw.normal(size=d))


def _kl_violation(reading: Callable[[Array, Array], float], posterior: MeansVariances) -> float:
    """Relative to the size of the terms, which cancel near the prior."""
    mean, variance = posterior
    size = 1 + np.sum(mean**2 + variance + np.abs(np.log(variance)))
    return abs(reading(mean, variance) - kl_by_quadrature(mean, variance)) / float(size)


def _kl(mean: Float[Array, "d"], variance: Float[Array, "d"]) -> float:
    return 0.5 * float(np.sum(mean**2 + variance - np.log(variance) - 1))


_KL_CHECK = Everywhere(
    _kl_violation,
    _posterior,
    "posteriors, KL by quadrature",
    NUMBERS,
    names=("mean", "variance"),
)
_KL_FORMULA = r"\frac{1}{2}\sum_j \left(\mu_j^2 + \sigma_j^2 - \log\sigma_j^2 - 1\right)"

GAUSSIAN_KL = Entry(
    id="B-P2",
    source="Bhowal et al. (2024), proposition 2 (eq. 14, 15)",
    title="KL of a diagonal Gaussian to the prior",
    statement="The KL of a diagonal Gaussian posterior to the standard normal prior is half the "
    "sum of $\\mu_j^2 + \\sigma_j^2 - \\log\\sigma_j^2 - 1$.",
    formula="L_{KL} = " + _KL_FORMULA,
    assumptions="Posterior and prior are Gaussian, the prior standard, the posterior diagonal.",
    printed=_kl,
    check=_KL_CHECK,
    mutation=Mutation("the -1 dropped", lambda mean, var: _kl(mean, var) + len(mean) / 2),
    remark="In the proof eq. 17 needs the outer product $(z-\\mu)(z-\\mu)^\\top$ where the inner "
    "one is printed, and the value in eq. 18 is $j/2$, not $j$. The result has both right.",
)
LOSS_TO_MAXIMISE = Entry(
    id="B-E4",
    source="Bhowal et al. (2024), eq. 4",
    title="KL inside the objective to maximise",
    statement="The objective is minus the squared error minus $\\beta$ times the KL, and the KL "
    "is written out.",
    formula=r"L = \sum_x \left[-E\|\tilde{x}-x\|^2 - \frac{\beta}{2}\sum_j"
    r" (\mu_j^2 + \sigma_j^2 + \log\sigma_j^2 + 1)\right]",
    assumptions="As for proposition 2.",
    printed=lambda mean, var: 0.5 * float(np.sum(mean**2 + var + np.log(var) + 1)),
    check=_KL_CHECK,
    mutation=Mutation(
        "the logarithm's sign put right, the +1 left",
        lambda mean, var: 0.5 * float(np.sum(mean**2 + var - np.log(var) + 1)),
    ),
    correction=Correction(
        "Both signs of proposition 2: $-\\log\\sigma_j^2 - 1$.",
        r"L = \sum_x \left[-E\|\tilde{x}-x\|^2 - \frac{\beta}{2}\sum_j"
        r" (\mu_j^2 + \sigma_j^2 - \log\sigma_j^2 - 1)\right]",
        _kl,
    ),
    remark="At $\\mu = 0$, $\\sigma = 1$ the posterior is the prior and the KL is 0; the printed "
    "bracket gives 1. With the printed sign the best noise would be none, for any $\\beta$.",
)
LOSS_TO_MINIMISE = Entry(
    id="B-E5",
    source="Bhowal et al. (2024), eq. 5",
    title="KL inside the loss to minimise",
    statement="The loss is the squared error plus $\\beta$ times the KL, and the KL is written "
    "out. The printed index $j$ is read as summed.",
    formula=r"L_{KL} = \mu_j^2 + \sigma_j^2 - \log\sigma_j^2 + 1",
    assumptions="As for proposition 2.",
    printed=lambda mean, var: float(np.sum(mean**2 + var - np.log(var) + 1)),
    check=_KL_CHECK,
    mutation=Mutation(
        "-1 put right, the factor 1/2 still missing", lambda mean, var: 2 * _kl(mean, var)
    ),
    correction=Correction(
        "Half the sum over $j$, with $-1$, as in proposition 2.", "L_{KL} = " + _KL_FORMULA, _kl
    ),
    remark="At the prior the KL is 0 and the printed term 2. The constant moves no minimum; the "
    "missing half makes $\\beta$ of eq. 5 half of that in eq. 2.",
)


def _odd_decoder(draw: np.random.Generator, kind: Kind) -> tuple[Array, ...]:
    """Matrix, noise, image of the mean code, observation; `equal` reconstructs perfectly."""
    d, n = int(draw.integers(1, 3)), int(draw.integers(1, 4))
    centre = draw.normal(size=n)
    off = {"equal": 0.0, "close": 1e-4, "scaled": 10 ** draw.uniform(-3, 3)}.get(kind, 1.0)
    noise = np.exp(draw.normal(size=d))
    return draw.normal(size=(n, d)), noise, centre, centre + off * draw.normal(size=n)


def _split_violation(
    reading: Callable[[Array, Array, Array, Array], float], instance: tuple[Array, ...]
) -> float:
    """The decoder is odd about the mean code, so it is unbiased under a symmetric grid."""
    matrix, noise, centre, x = instance
    nodes, weights = gaussian_grid(len(noise), 6)
    decoded = centre + np.sinh(0.5 * (nodes * noise) @ matrix.T)
    loss = float(weights @ np.square(decoded - x).sum(1))
    return abs(reading(decoded, weights, centre, x) - loss) / loss


def _split(decoded: Array, weights: Array, centre: Array, x: Array) -> float:
    stochastic = weights @ np.square(decoded - centre).sum(1)
    return float(np.square(centre - x).sum() + stochastic)


def _split_with_norms(decoded: Array, weights: Array, centre: Array, x: Array) -> float:
    moved = weights @ np.linalg.norm(decoded - centre, axis=1)
    both = 2 * np.linalg.norm(centre - x) * moved
    return _split(decoded, weights, centre, x) + float(both)


DECOMPOSITION = Entry(
    id="B-P1",
    source="Bhowal et al. (2024), proposition 1 (eq. 7)",
    title="Reconstruction loss in two parts",
    statement="If noise does not move the mean of the decoder's output, the reconstruction loss "
    "is that of the mean code plus the mean squared change which noise makes.",
    formula=r"E\|Dec(\mu+\epsilon)-x\|^2 = \|Dec(\mu)-x\|^2 + E\|Dec(\mu+\epsilon)-Dec(\mu)\|^2",
    assumptions="$E\\,Dec(\\mu+\\epsilon) = Dec(\\mu)$.",
    printed=_split,
    check=Everywhere(
        _split_violation,
        _odd_decoder,
        "decoders that are odd about the mean code, means by quadrature",
        NUMBERS,
        names=("M", "sigma", "Dec(mu)", "x"),
    ),
    mutation=Mutation(
        "cross term of norms, as eq. 21 prints it, in place of the inner product",
        _split_with_norms,
    ),
    remark="Eq. 23 sets a mean of norms to zero, which it is not; the mean of the inner product "
    "is zero, and the result stands. A decoder that bends has a bias: what is left over, "
    "$2\\langle E\\,Dec(\\mu+\\epsilon)-Dec(\\mu),\\, Dec(\\mu)-x\\rangle$, is of second order in "
    "the noise as the stochastic part itself is.",
)


def _likelihood(draw: np.random.Generator, kind: Kind) -> tuple[Array, Array, Array]:
    """Observation, and a and b of a decoder with mean a z and variance 1 + (b z)^2 (elementwise).

    b is zero for `close` and `equal`; `equal` has a = 0 as well, and two outputs.
    """
    if kind == "equal":
        return np.zeros(2), np.zeros(2), np.zeros(2)
    n = int(draw.integers(3, 6))
    changes = 0.0 if kind == "close" else 1.0
    size = 10.0 if kind == "scaled" else 1.0
    return size * draw.normal(size=n), draw.normal(size=n), changes * draw.normal(size=n)


def _likelihood_violation(
    reading: Callable[[Array, Array, Array], float], instance: tuple[Array, Array, Array]
) -> float:
    x, slope, bend = instance
    z, weights = gaussian_grid(1, 15)
    variance = 1 + (z * bend) ** 2
    density = norm.logpdf(x, z * slope, np.sqrt(variance)).sum(1)
    return abs(reading(x - z * slope, variance, weights) / float(weights @ density) - 1)


def _gaussian_log_likelihood(error: Array, variance: Array, weights: Array) -> float:
    terms = np.log(2 * np.pi * variance) + error**2 / variance
    return -0.5 * float(weights @ terms.sum(1))


def _outside(error: Array, variance: Array, weights: Array, constants: int) -> float:
    """With the determinant outside of the expectation, at the mean code."""
    at_mean = constants * np.log(2 * np.pi) + np.log(variance[len(variance) // 2]).sum()
    return -0.5 * float(at_mean + weights @ (error**2 / variance).sum(1))


LOG_LIKELIHOOD = Entry(
    id="B-P3",
    source="Bhowal et al. (2024), proposition 3",
    title="Gaussian log-likelihood",
    statement="The expected log-likelihood of a Gaussian decoder is a constant, minus half the "
    "logarithm of the determinant, minus half the expected squared error in units of $\\Sigma$.",
    formula=r"L_{MLE} = -\frac{\log 2\pi}{2} - \frac{\log|\Sigma_\theta|}{2}"
    r" - E\left[\frac{\|x-\tilde{x}\|^2\Sigma_\theta^{-1}}{2}\right]",
    assumptions="$p(x|z)$ is Gaussian with covariance $\\Sigma_\\theta$, diagonal, which may "
    "depend on $z$.",
    printed=lambda error, variance, weights: _outside(error, variance, weights, 1),
    check=Everywhere(
        _likelihood_violation,
        _likelihood,
        "decoders with mean $a z$ and variance $1 + (b z)^2$, against scipy's density",
        NUMBERS,
        names=("x", "a", "b"),
    ),
    mutation=Mutation(
        "the constant put right, the determinant left outside of the expectation",
        lambda error, variance, weights: _outside(error, variance, weights, error.shape[1]),
    ),
    correction=Correction(
        "The constant is $-\\frac{n}{2}\\log 2\\pi$ for $n$ outputs, as the proof has it, and "
        "$\\log|\\Sigma_\\theta|$ belongs under the expectation if it depends on $z$.",
        r"L_{MLE} = -\frac{n}{2}\log 2\pi"
        r" - \frac{1}{2}E\left[\log|\Sigma_\theta|"
        r" + (x-\tilde{x})^\top\Sigma_\theta^{-1}(x-\tilde{x})\right]",
        _gaussian_log_likelihood,
    ),
    remark="Two outputs of unit variance, reconstructed perfectly: $-\\log 2\\pi = -1.84$, while "
    "the printed constant gives $-0.92$. For a fixed variance the constant moves no minimum.",
)
ENTRIES = (
    GAUSSIAN_KL,
    LOSS_TO_MAXIMISE,
    LOSS_TO_MINIMISE,
    DECOMPOSITION,
    LOG_LIKELIHOOD,
)
