"""Beta as the variance of the likelihood in Allen (2024), section 3.3."""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import nnls

from unpick.theory.claims.allen_linear import searched_linear_vae
from unpick.theory.dispersion import train_twins
from unpick.theory.entry import Correction, Entry, Evidence, Mutation
from unpick.theory.instances import rotation

Array = np.ndarray
Function = Callable[[Array], Array]

# log p(x|theta) = x theta - A(theta): A, its second derivative, some parameters, and where x is.
FAMILIES: dict[str, tuple[Function, Function, Array, Callable[[float], Array]]] = {
    "Gaussian": (
        lambda t: t**2 / 2,
        np.ones_like,
        np.linspace(-2, 2, 21),
        lambda beta: np.arange(-48, 49) / 4,
    ),
    "Poisson": (np.exp, np.exp, np.linspace(-2, 1, 21), lambda beta: beta * np.arange(40)),
    "Bernoulli": (
        lambda t: np.logaddexp(0, t),
        lambda t: 1 / (2 + np.exp(t) + np.exp(-t)),
        np.linspace(-8, 8, 41),
        lambda beta: np.arange(61) / 60,  # all of [0, 1]: grey values
    ),
}
CASES = [
    *[("Gaussian", beta) for beta in (0.5, 2.0, 4.0)],
    *[("Poisson", beta) for beta in (0.5, 2.0, 4.0)],
    *[("Bernoulli", beta) for beta in (1 / 4, 1 / 3, 0.4, 0.5, 0.8, 1.0, 2.0, 4.0)],
]


@cache
def scaled_likelihood(family: str, beta: float) -> tuple[float, float]:
    r"""Is there a distribution whose log-likelihood is this family's, divided by beta?

    It would have masses h(x) >= 0 with \sum_x h(x) e^{x \theta / \beta} = e^{A(\theta) / \beta}
    for all theta; they are searched for by least squares.

    Returns:
        Largest error of those sums, relative, and of the claim that the variance is beta times
        the family's, absolute.
    """
    partition, variance, theta, support = FAMILIES[family]
    x = support(beta)
    terms = np.exp((np.outer(theta, x) - partition(theta)[:, None]) / beta)
    terms /= terms.max(0)  # units of h
    masses, _ = nnls(terms, np.ones(len(theta)), maxiter=10_000)
    chances = terms * masses
    spread = chances @ x**2 - (chances @ x) ** 2
    return (
        float(np.abs(chances.sum(1) - 1).max()),
        float(np.abs(spread - beta * variance(theta)).max()),
    )


@cache
def _twins(beta: float) -> float:
    """How far a beta-VAE and its twin are apart after training with SGD."""
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    return train_twins(x, beta, variance=0.5, hidden=4, steps=40).difference


def _equivalent_check(exists: Callable[[str, float], bool]) -> Evidence:
    """Where the claim says so, and nowhere else, must there be a likelihood of that variance."""
    wrong, sums = [], {True: 0.0, False: np.inf}
    for family, beta in CASES:
        error, spread = scaled_likelihood(family, beta)
        found = error < 1e-9 and spread < 1e-4
        sums[found] = max(sums[True], error) if found else min(sums[False], error)
        if exists(family, beta) != found:
            wrong.append(f"{family} at beta = {beta:g} (probabilities off by {error:.2g})")
    apart = max(_twins(0.3), _twins(4.0))
    text = f"likelihoods searched for in {len(CASES)} cases; Gaussian VAEs trained with and "
    text += f"without beta differ by {apart:.0e}"
    if wrong:
        return Evidence(False, f"{text}; wrong: {', '.join(wrong)}")
    kept = f"; probabilities add up to {sums[True]:.0e} where there is one, else {sums[False]:.0e}"
    return Evidence(apart < 1e-9, text + kept + " at best")


def _divisible(family: str, beta: float) -> bool:
    """Whether beta is the inverse of a number of observations, where that matters."""
    return family != "Bernoulli" or (abs(1 / beta - round(1 / beta)) < 1e-9 and beta <= 1)


EIGENVALUES = (4.0, 1.0, 0.25)
NOISE = 0.5
BETAS = (0.2, 1.0, 3.0, 10.0)


@cache
def _active(beta: float) -> int:
    """Latents in use of the best linear VAE with two, by a search."""
    turn = rotation(np.random.default_rng(0), 3)
    w = searched_linear_vae(turn @ np.diag(EIGENVALUES) @ turn.T, 2, NOISE, beta)
    return int((np.linalg.norm(w, axis=0) > 1e-3).sum())


def _collapse_check(active: Callable[[Float[Array, "k"], float, float], int]) -> Evidence:
    """Number of latents in use, against searches."""
    said = [min(2, active(np.array(EIGENVALUES), NOISE, beta)) for beta in BETAS]
    found = [_active(beta) for beta in BETAS]
    text = f"linear VAEs with two latents, noise variance {NOISE}, eigenvalues {EIGENVALUES}: "
    text += f"active at beta = {BETAS}: {found}, claimed {said}"
    return Evidence(said == found, text)


EQUIVALENT = Entry(
    id="A-T3",
    source="Allen (2024), theorem 3",
    title="Beta scales the variance of the likelihood",
    statement="For any exponential family, a $\\beta$-VAE with likelihood variance $\\sigma^2$ is "
    "a VAE with likelihood variance $\\beta \\sigma^2$.",
    formula=r"\mathrm{VAE}(\beta,\ \sigma^2) \equiv \mathrm{VAE}(1,\ \beta \sigma^2)",
    assumptions="Exponential family; the variance is fixed, not learned.",
    printed=lambda family, beta: True,
    check=_equivalent_check,
    mutation=Mutation(
        "Bernoulli for every beta up to 1",
        lambda family, beta: family != "Bernoulli" or beta <= 1,
    ),
    correction=Correction(
        "It holds where dividing the log-likelihood by $\\beta$ leaves a likelihood: Gaussian for "
        "any $\\beta$; Poisson too, with counts in multiples of $\\beta$; Bernoulli for "
        "$\\beta = 1/k$ only, the mean of $k$ observations.",
        r"\sum_x h(x) e^{x \theta / \beta} = e^{A(\theta) / \beta}, \quad h \geq 0",
        _divisible,
        changes="claim",
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
ENTRIES = (EQUIVALENT, COLLAPSE)
