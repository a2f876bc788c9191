"""What turning the latent space leaves unchanged (Zietlow 2022, sections 3.2.1 and 5.1).

All integrals are sums over a square grid, which knows no rotation.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind
from unpick.theory.columns import plane_turn
from unpick.theory.quadrature import kl_by_quadrature

Array = np.ndarray
Prior = Callable[[Array], Array]
STEP = 0.1
GRID = np.stack(np.meshgrid(*[np.arange(-8, 8 + STEP / 2, STEP)] * 2), -1).reshape(-1, 2)


class TurnedModel(NamedTuple):
    """A nonlinear decoder of two latents, a posterior, some data, and a turn of the latents."""

    inner: Float[Array, "3 2"]
    outer: Float[Array, "2 3"]
    x: Float[Array, "n 2"]
    mean: Float[Array, "2"]
    variances: Float[Array, "2"]
    angle: float
    mirrored: bool


def draw_model(draw: np.random.Generator, kind: Kind) -> TurnedModel:
    """At random; `scaled`: the posterior is ten times as wide in one direction as in the other."""
    inner, outer = draw.uniform(-1, 1, (3, 2)), draw.uniform(-1, 1, (2, 3))
    wide = draw.uniform(0.3, 0.6)
    narrow = wide / 10 if kind == "scaled" else draw.uniform(0.2, 0.8) * wide
    variances = np.square([wide, narrow])
    x, mean = draw.uniform(-1.5, 1.5, (3, 2)), draw.normal(size=2)
    angle = float(draw.uniform(0.3, 1.2))  # away from the right angles, which the grid knows
    return TurnedModel(inner, outer, x, mean, variances, angle, bool(draw.random() < 0.5))


def orthogonal(angle: float, mirrored: bool) -> Float[Array, "2 2"]:
    """A rotation, or a reflection: both texts call either a rotation."""
    return plane_turn(2, 0, 1, angle) * np.array([1.0, -1.0 if mirrored else 1.0])


def normal(z: Float[Array, "n 2"]) -> Float[Array, "n"]:
    """Logarithm of the standard normal density."""
    return -0.5 * np.square(z).sum(1) - np.log(2 * np.pi)


def ring(z: Float[Array, "n 2"]) -> Float[Array, "n"]:
    """A symmetric prior that is not Gaussian; up to a constant."""
    return -np.square(np.square(z).sum(1) - 4) / 4


def stretched(z: Float[Array, "n 2"]) -> Float[Array, "n"]:
    """A prior without the symmetry, of variances 1 and 2; up to a constant."""
    return -0.5 * np.square(z) @ np.array([1.0, 0.5])


def log_likelihood(
    model: TurnedModel, z: Float[Array, "m 2"], x: Float[Array, "2"]
) -> Float[Array, "m"]:
    """Of x at each z: Gaussian with variance 1/2 around outer tanh(inner z)."""
    output = np.tanh(z @ model.inner.T) @ model.outer.T
    return -np.square(x - output).sum(1) - np.log(np.pi)


def log_marginal(
    model: TurnedModel, turn: Float[Array, "2 2"], x: Float[Array, "2"], prior: Prior = normal
) -> float:
    r"""The logarithm of \int p(z) p(x | U^T z) dz."""
    density = np.exp(prior(GRID) + log_likelihood(model, GRID @ turn, x))
    return float(np.log(density.sum() * STEP**2))


def elbo(model: TurnedModel, turn: Array, mean: Array, cov: Array, x: Float[Array, "2"]) -> float:
    """E_q log p(x | U^T z) - KL(q || p), eq. 2.4, for q = N(mean, cov)."""
    factor = np.linalg.cholesky(cov)
    z = mean + GRID @ factor.T
    log_q = normal(GRID) - np.log(np.diag(factor)).sum()
    inside = log_likelihood(model, z @ turn, x) + normal(z) - log_q
    return float((np.exp(normal(GRID)) * inside).sum() * STEP**2)


def _marginal_violation(turn: Callable[[float, bool], Array], model: TurnedModel) -> float:
    """Of p_U(x) = p(x) at each x."""
    u = turn(model.angle, model.mirrored)
    gaps = [log_marginal(model, u, x) - log_marginal(model, np.eye(2), x) for x in model.x]
    return float(np.abs(gaps).max())


def _objective_violation(priors: tuple[Prior, ...], model: TurnedModel) -> float:
    """Of the sum of log p(x), for several priors."""
    gaps = []
    for prior in priors:
        before, after = (
            sum(log_marginal(model, u, x, prior) for x in model.x)
            for u in (np.eye(2), orthogonal(model.angle, model.mirrored))
        )
        gaps.append(abs(after - before))
    return max(gaps)


def _elbo_violation(
    encoder: Callable[[Array, Array, Array], tuple[Array, Array]], model: TurnedModel
) -> float:
    """Of the ELBO of the turned pair against that of the plain one."""
    turn = orthogonal(model.angle, model.mirrored)
    mean, cov = encoder(turn, model.mean, model.variances)
    plain = elbo(model, np.eye(2), model.mean, np.diag(model.variances), model.x[0])
    return abs(elbo(model, turn, mean, cov, model.x[0]) - plain)


def _identity(bound: Callable[[float, float], float]) -> Evidence:
    """Of ELBO = bound(KL(q || p(z|x)), log p(x)), for one latent and x = z + b tanh(z) + noise.

    The first instance is b = 0, x = 0 and q = prior; the others are drawn.
    """
    draw, step = np.random.default_rng(0), 0.02
    z = np.arange(-12, 12, step)
    rows = []
    for bend, x, mean, deviation in [(0.0, 0.0, 0.0, 1.0), *draw.uniform(0.3, 1.5, (20, 4))]:
        log_q, likelihood = norm.logpdf(z, mean, deviation), norm.logpdf(x, z + bend * np.tanh(z))
        joint, q = norm.logpdf(z) + likelihood, np.exp(log_q)
        evidence = np.log(np.exp(joint).sum() * step)
        kl = (q * (log_q - (joint - evidence))).sum() * step
        to_prior = kl_by_quadrature(np.array([mean]), np.array([deviation**2]))
        found = (q * likelihood).sum() * step - to_prior
        rows.append((found, float(bound(kl, evidence)), kl, evidence))
    found, said, kl, evidence = rows[0]
    off = max(abs(row[0] - row[1]) for row in rows)
    text = (
        f"x = z + noise at x = 0, with the prior as posterior: ELBO {found:.4f}, claimed "
        f"{said:.4f} from the divergence {kl:.4f} and log p(x) = {evidence:.4f}; with 20 "
        f"nonlinear decoders at most {off:.1g} off"
    )
    return Evidence(bool(off < 1e-9), text)


MARGINAL = Entry(
    id="Z-L6",
    source="Zietlow (2022), lemma 6",
    title="Turned decoders give every observation the same density",
    statement=r"If the decoder reads $U^\top z$ in place of $z$, with $U$ orthogonal and $z$ "
    r"standard normal, every observation keeps its density.",
    formula=r"\int p(z)\, p(x \mid U^\top z)\, dz = p(x)",
    assumptions="Prior with rotational symmetry.",
    printed=orthogonal,
    check=Everywhere(
        _marginal_violation,
        draw_model,
        "nonlinear decoders, three observations each",
        ("plain",),
        count=8,
    ),
    mutation=Mutation(
        "U a shear: its determinant is 1, which alone does not help",
        lambda angle, mirrored: np.array([[1.0, np.sin(angle)], [0.0, 1.0]]),
    ),
)

LIKELIHOOD = Entry(
    id="Z-P2",
    source="Zietlow (2022), proposition 2; Rolinek et al. (2019), proposition 2",
    title="The likelihood does not see rotations",
    statement=r"Turning the latent space by an orthogonal $U$, in encoder and decoder, does not "
    r"change $\sum_i \log p(x_i)$ if the prior has rotational symmetry.",
    formula=r"\sum_i \log p_U(x_i) = \sum_i \log p(x_i)",
    assumptions="Prior with rotational symmetry.",
    printed=(normal, ring),
    check=Everywhere(
        _objective_violation,
        draw_model,
        "nonlinear decoders, normal and ring-shaped prior",
        ("plain",),
        count=5,
    ),
    mutation=Mutation("a prior without the symmetry: variances 1 and 2", (normal, stretched)),
)

ELBO = Entry(
    id="Z-P3",
    source="Zietlow (2022), proposition 3; Rolinek et al. (2019), proposition 3",
    title="The ELBO does not see rotations",
    statement=r"The same holds for the ELBO, if the posterior is turned along: "
    r"$N(\mu, S)$ becomes $N(U \mu, U S U^\top)$.",
    formula=r"\mathrm{ELBO}_U(x) = \mathrm{ELBO}(x)",
    assumptions="Prior with rotational symmetry; a posterior family that rotations do not leave.",
    printed=lambda turn, mean, variances: (turn @ mean, turn * variances @ turn.T),
    check=Everywhere(
        _elbo_violation,
        draw_model,
        "nonlinear decoders and posteriors",
        ("plain", "scaled"),
        count=8,
    ),
    mutation=Mutation(
        "the posterior stays diagonal: only its mean is turned",
        lambda turn, mean, variances: (turn @ mean, np.diag(variances)),
    ),
    remark="A turned diagonal covariance is not diagonal: a VAE with diagonal posterior cannot "
    "follow, which is what the rest of both texts builds on.",
)

IDENTITY = Entry(
    id="Z-E5.30",
    source="Zietlow (2022), eq. 5.30",
    title="ELBO, evidence, and what separates them",
    statement=r"The ELBO is $\log p(x)$ plus the divergence of the posterior from the true one.",
    formula=r"\mathrm{ELBO} = \mathrm{KL}(q(z|x) \,\|\, p(z|x)) + \log p(x)",
    assumptions="None.",
    printed=lambda kl, evidence: kl + evidence,
    check=_identity,
    mutation=Mutation("the divergence left out", lambda kl, evidence: evidence),
    correction=Correction(
        "The divergence is subtracted.",
        r"\mathrm{ELBO} = \log p(x) - \mathrm{KL}(q(z|x) \,\|\, p(z|x))",
        lambda kl, evidence: evidence - kl,
    ),
    remark="The proof of proposition 3, where it stands, does not suffer: it shows that both "
    "terms are invariant.",
)

ENTRIES = (MARGINAL, LIKELIHOOD, ELBO, IDENTITY)
