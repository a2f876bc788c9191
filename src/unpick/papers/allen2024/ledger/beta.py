"""Beta as the variance of the likelihood in Allen (2024), section 3.3."""

from collections.abc import Callable
from functools import cache
from itertools import permutations, product

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import softmax

from unpick.papers.allen2024.ledger.linear import searched_linear_vae
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import NUMBERS, Kind, positive, rotation
from unpick.theory.dispersion import train_twins

Array = np.ndarray
# log p(x|theta) = x theta - A(theta): A and its second derivative.
PARTITIONS: dict[str, tuple[Callable[[Array], Array], Callable[[float], float]]] = {
    "Gaussian": (lambda t: t**2 / 2, lambda t: 1.0),
    "Poisson": (np.exp, np.exp),
    "Bernoulli": (lambda t: np.log1p(np.exp(t)), lambda t: 1 / (2 + np.exp(t) + np.exp(-t))),
}
# A family and values that are to be modelled, by beta.
DATA: dict[str, tuple[str, Callable[[float], tuple[float, ...]]]] = {
    "real numbers": ("Gaussian", lambda beta: (-1.5, -1.0, -0.5)),
    "counts": ("Poisson", lambda beta: (0.0, 1.0, 2.0)),
    "counts in units of beta": ("Poisson", lambda beta: (0.0, beta, 2 * beta)),
    "black and white": ("Bernoulli", lambda beta: (0.0, 1.0)),
    "grey values in tenths": ("Bernoulli", lambda beta: tuple(np.arange(11) / 10)),
}
BETAS = (2.0, 4.0, 1.0, 0.8, 0.5, 0.4, 0.2, 0.1)
PARAMETER = -1.0  # theta; if it is negative, A is analytic for all imaginary parts
STEP, POINTS = 0.1, 800


@cache
def scaled_likelihood(family: str, beta: float) -> Float[Array, "n"]:
    r"""The probabilities whose log-likelihood is this family's, divided by beta.

    They have the characteristic function e^{(A(\theta + i \beta t) - A(\theta)) / \beta}, which
    leaves no choice (Fourier). Some may be negative: then there is no such distribution.

    Returns:
        At 0, 0.1, ..., 39.9, -40, ..., -0.1.
    """
    partition, _ = PARTITIONS[family]
    t = 2 * np.pi * np.fft.fftfreq(POINTS, STEP)
    log_characteristic = partition(PARAMETER + 1j * beta * t) - partition(np.array(PARAMETER))
    return np.asarray(np.fft.fft(np.exp(log_characteristic / beta)).real / POINTS)


def _objection(family: str, beta: float, data: tuple[float, ...]) -> str:
    """Why that is no likelihood of variance beta times the family's for the data, if so."""
    chances, values = scaled_likelihood(family, beta), np.fft.fftfreq(POINTS, 1 / POINTS) * STEP
    least = int(chances.argmin())
    if chances[least] < -1e-9:
        return f"probability of {values[least]:g} is {chances[least]:.2g}"
    spread = chances @ values**2 - (chances @ values) ** 2
    if abs(spread - beta * PARTITIONS[family][1](PARAMETER)) > 1e-6:
        return f"variance {spread:.2g}"
    missed = [x for x in data if chances[round(x / STEP)] < 1e-9]
    return f"probability of {missed[0]:g} is 0" if missed else ""


@cache
def _twins(beta: float) -> float:
    """How far a beta-VAE and its twin are apart after training with SGD."""
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    return train_twins(x, beta, variance=0.5, hidden=4, steps=40).difference


def _equivalent_check(exists: Callable[[str, float], bool]) -> Evidence:
    """A likelihood of that variance must exist where the claim says so, and nowhere else."""
    wrong: dict[str, str] = {}
    for name, (family, data) in DATA.items():
        for beta in BETAS:
            objection = _objection(family, beta, data(beta))
            if exists(name, beta) != (not objection):
                wrong.setdefault(
                    name, f"{name} at $\\beta = {beta:g}$: {objection or 'there is one'}"
                )
    apart = max(_twins(0.3), _twins(4.0))
    text = f"likelihoods by Fourier inversion at {len(BETAS)} values of $\\beta$, for "
    text += f"{', '.join(DATA)}: "
    text += (
        f"not so for {'; '.join(wrong.values())}"
        if wrong
        else "found where claimed and nowhere else"
    )
    text += f". Gaussian VAEs trained with and without $\\beta$ differ by {apart:.0e}"
    return Evidence(apart < 1e-9 and not wrong, text)


def _divisible(data: str, beta: float) -> bool:
    """Whether beta is 1/k, where that matters, and tenths are multiples of 1/k."""
    observations = 1 / beta
    whole = abs(observations - round(observations)) < 1e-9
    if data == "grey values in tenths":
        return whole and round(observations) % 10 == 0
    return whole or data in ("real numbers", "counts in units of beta")


EIGENVALUES = (4.0, 1.0, 0.25)
NOISE = 0.5
SWEEP = (0.2, 1.0, 3.0, 10.0)


@cache
def _active(beta: float) -> int:
    """Latents in use of the best linear VAE with two, by a search."""
    turn = rotation(np.random.default_rng(0), 3)
    w = searched_linear_vae(turn @ np.diag(EIGENVALUES) @ turn.T, 2, NOISE, beta)
    return int((np.linalg.norm(w, axis=0) > 1e-3).sum())


def _collapse_check(active: Callable[[Float[Array, "k"], float, float], int]) -> Evidence:
    """Number of latents in use, against searches."""
    said = [min(2, active(np.array(EIGENVALUES), NOISE, beta)) for beta in SWEEP]
    found = [_active(beta) for beta in SWEEP]
    text = f"linear VAEs with two latents, noise variance {NOISE}, eigenvalues {EIGENVALUES}: "
    text += f"active at beta = {SWEEP}: {found}, claimed {said}"
    return Evidence(said == found, text)


States = tuple[Float[Array, "k"], Float[Array, "k"], float]  # log p(x|z), log p(z), beta


def _states(draw: np.random.Generator, kind: Kind) -> States:
    """A latent with a few values; `equal`: the likelihood is the same at all of them."""
    log_likelihood = np.log(positive(draw, "equal" if kind == "equal" else "plain"))
    log_likelihood *= 5 if kind == "scaled" else 1
    prior = softmax(draw.normal(size=len(log_likelihood)))
    return log_likelihood, np.log(prior), float(10 ** draw.uniform(-0.7, 0.7))


def _moved_violation(log_posterior: Callable[[Array, Array, float], Array], at: States) -> float:
    """What the beta-ELBO gains by moving probability from one value to another.

    It is concave, so that a posterior is best if and only if no such move gains.
    """
    log_likelihood, log_prior, beta = at
    q = softmax(log_posterior(*at))

    def elbo(q: Float[Array, "k"]) -> float:
        return float(q @ (log_likelihood - beta * (np.log(q) - log_prior)))

    here, gains = elbo(q), []
    for (i, j), share in product(permutations(range(len(q)), 2), (0.5, 0.1, 0.01)):
        moved = q.copy()
        moved[i] -= share * q[i]
        moved[j] += share * q[i]
        gains.append(elbo(moved) - here)
    return max(gains) / (1 + abs(here))


EQUIVALENT = Entry(
    id="A-T3",
    source="Allen (2024), theorem 3",
    title="Beta scales the variance of the likelihood",
    statement="For any exponential family, a $\\beta$-VAE with likelihood variance $\\sigma^2$ is "
    "a VAE with likelihood variance $\\beta \\sigma^2$.",
    formula=r"\mathrm{VAE}(\beta,\ \sigma^2) \equiv \mathrm{VAE}(1,\ \beta \sigma^2)",
    assumptions="Exponential family; the variance is fixed, not learned.",
    printed=lambda data, beta: True,
    check=_equivalent_check,
    mutation=Mutation(
        "for every $\\beta$ up to 1", lambda data, beta: beta <= 1 or _divisible(data, beta)
    ),
    correction=Correction(
        "It holds where dividing the log-likelihood by $\\beta$ leaves a likelihood that gives "
        "the data a positive probability. Gaussian: for any $\\beta$. Poisson: for integer counts "
        "only $\\beta = 1/k$; otherwise the support moves to multiples of $\\beta$. Bernoulli: "
        "only $\\beta = 1/k$, the mean of $k$ observations, with grey values in steps of $1/k$.",
        r"\sum_x h(x) e^{x \theta / \beta} = e^{A(\theta) / \beta}, \quad h \geq 0",
        _divisible,
        changes="claim",
        charitable="Of Gaussian likelihoods, which the paper uses it for, it holds at every "
        "$\\beta$.",
    ),
    remark="$\\beta > 1$ asks for a fraction of an observation: values in $[0, 1]$ of mean $1/2$ "
    "have a variance of at most $1/4$, and $\\beta = 2$ would make it $1/2$. As an objective the "
    "tempered likelihood $p^{1/\\beta}$ is well defined all the same, but it is then no "
    "log-likelihood; renormalised it is another Bernoulli, whose variance is not $\\beta p(1-p)$. "
    "A variance that is learned breaks the Gaussian case: its $\\log \\sigma^2$ is not scaled.",
)
COLLAPSE = Entry(
    id="A-C3.1",
    source="Allen (2024), corollary 3.1; Lucas et al. (2019)",
    title="Small beta against posterior collapse",
    statement="A smaller $\\beta$ lowers the variance of the likelihood and keeps more latents "
    "from collapse; read for the linear VAE: those with eigenvalues above $\\beta \\sigma^2$.",
    formula=r"\lambda_i > \beta \sigma^2",
    assumptions="The statement is an expectation; the linear VAE with Gaussian likelihood is our "
    "reading, $\\lambda_i$ eigenvalues of the data's covariance.",
    printed=lambda eigenvalues, noise, beta: int((eigenvalues > beta * noise).sum()),
    check=_collapse_check,
    mutation=Mutation(
        "$\\lambda_i > \\sigma^2 / \\beta$",
        lambda eigenvalues, noise, beta: int((eigenvalues > noise / beta).sum()),
    ),
    remark="The proof shows that a collapsed model cannot have the data's density if "
    "$\\beta \\sigma^2$ is below their variance. That the ELBO's optimum is then not collapsed is "
    "what the searches add.",
)
TEMPERED: Entry[Callable[[Array, Array, float], Array]] = Entry(
    id="A-S3.3",
    source="Allen (2024), section 3.3, after theorem 3",
    title="The best posterior of a beta-VAE tempers the likelihood",
    statement="Of all posteriors the one that maximises the $\\beta$-ELBO is the prior times the "
    "likelihood to the power $1/\\beta$, normalised: $\\beta$ is a temperature.",
    formula=r"q(z|x) \propto p(x|z)^{1/\beta}\, p(z)",
    assumptions="Any likelihood; $q$ may be any distribution.",
    printed=lambda log_likelihood, log_prior, beta: log_likelihood / beta + log_prior,
    check=Everywhere(
        _moved_violation,
        _states,
        "latents with 2 to 6 values (probability moved from each value to each other one)",
        NUMBERS,
        tolerance=1e-12,
        names=("log-likelihood", "log prior", "$\\beta$"),
    ),
    mutation=Mutation(
        "the whole posterior to the power $1/\\beta$",
        lambda log_likelihood, log_prior, beta: (log_likelihood + log_prior) / beta,
    ),
    remark="A diagonal Gaussian $q$, as a VAE has, reaches this for linear decoders with "
    "orthogonal columns. It is a statement about $z$ at one $x$: as a density of $x$ the tempered "
    "likelihood is another matter (A-T3).",
)
ENTRIES = (EQUIVALENT, COLLAPSE, TEMPERED)
