"""The constraints of theorem 1 of Bhowal et al. (2024): lemmas 2 and 3 (section A.3)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import Kind, rotation
from unpick.theory.quadrature import kl_by_quadrature

Array = np.ndarray
Pair = tuple[Float[Array, "k n"], Float[Array, "n d"], Float[Array, "n d"]]  # data, two decoders
Posteriors = tuple[Array, Array, Array, Array]  # means and variances before, and after


@dataclass(frozen=True)
class Determined:
    """A reading of what the deterministic loss determines.

    Attributes:
        part: The part of a decoder's matrix that the loss depends on.
        fixed: Whether a value of the loss fixes that part; from the value and the least value.
    """

    part: Callable[[Float[Array, "n d"]], Float[Array, "n n"]]
    fixed: Callable[[float, float], bool]


def _projection(m: Float[Array, "n d"]) -> Float[Array, "n n"]:
    """U U^T of the thin SVD."""
    return m @ np.linalg.pinv(m)


def _codes(m: Float[Array, "n d"], x: Float[Array, "k n"]) -> Float[Array, "d k"]:
    """The best codes, by least squares."""
    return np.linalg.lstsq(m, x.T)[0]


def _loss(m: Float[Array, "n d"], x: Float[Array, "k n"]) -> float:
    """Squared error with the best codes, as a share of the squares of the data."""
    return float(np.square(x.T - m @ _codes(m, x)).sum() / np.square(x).sum())


def _descend(m: Float[Array, "n d"], x: Float[Array, "k n"]) -> Float[Array, "n d"]:
    """Descend to the least loss by alternating least squares."""
    for _ in range(40):
        m = np.linalg.lstsq(_codes(m, x).T, x)[0].T
    return m


def two_decoders(draw: np.random.Generator, kind: Kind) -> Pair:
    """Two decoders of the same data with the same loss.

    plain: two ends of descents to the least loss. scaled: latents turned and stretched.
    orthogonal: mirrored at a principal plane of the data. equal: the smallest such mirror.
    """
    if kind == "equal":
        return np.eye(2)[:1], np.array([[3.0], [4.0]]), np.array([[3.0], [-4.0]])
    x = draw.normal(size=(20, 3)) * (9.0, 3.0, 1.0)
    m, second = draw.normal(size=(2, 3, 2))
    if kind == "plain":
        return x, _descend(m, x), _descend(second, x)
    if kind == "scaled":
        return x, m, m @ (rotation(draw, 2) * np.exp(draw.normal(size=2)))
    axis = np.linalg.svd(x)[2][1]
    return x, m, m - 2 * np.outer(axis, axis @ m)


def _determined_violation(reading: Determined, pair: Pair) -> float:
    """Broken by the same part with another loss, or another part at a loss said to fix it."""
    x, *decoders = pair
    losses = [_loss(m, x) for m in decoders]
    parts = [reading.part(m) for m in decoders]
    apart = float(np.abs(parts[0] - parts[1]).max())
    differ = abs(losses[0] - losses[1])
    if apart < 1e-9:
        return differ
    squares = np.square(np.linalg.svd(x, compute_uv=False))
    least = float(squares[decoders[0].shape[1] :].sum() / squares.sum())  # Eckart and Young
    return apart if differ < 1e-9 and reading.fixed(losses[0], least) else 0.0


def _is_least(loss: float, least: float) -> bool:
    return loss < least + 1e-9


DETERMINISTIC_LOSS = Entry(
    id="B-L2",
    source="Bhowal et al. (2024), lemma 2",
    title="What the deterministic loss depends on",
    statement="The deterministic loss depends on the left singular vectors $U_D$ and the "
    "nonlinearity of the decoder only (or on $V_E$ of the encoder), and fixing its value fixes "
    "them. Since $U_D U_D^\\top$ is all that enters, we ask for no more.",
    formula=r"L_{rec}^{\mu} = \|x - g_D(U_D U_D^\top g_D^{-1}(x))\|^2",
    assumptions="The proof takes encoder and decoder to be pseudo-inverse to each other, so that "
    "codes are the best ones if the decoder is linear, and nonlinearities to be invertible.",
    printed=Determined(_projection, fixed=lambda loss, least: True),
    check=Everywhere(
        _determined_violation,
        two_decoders,
        "pairs of linear decoders with the same loss (stretched, mirrored, or ends of two "
        "descents to the least)",
        ("plain", "scaled", "orthogonal", "equal"),
        count=5,
        tolerance=1e-6,
        names=("x", "M", "M'"),
    ),
    mutation=Mutation(
        "the least loss fixes $M_D M_D^\\top$, singular values included",
        Determined(lambda m: m @ m.T, _is_least),
    ),
    correction=Correction(
        "With the best codes the loss does not change with $V_D$ and $\\Sigma_D$. Its value does "
        "not fix $U_D$; its minimum fixes the span of $U_D$ if the decoder is linear and the "
        "$d$ largest variances of the data stand apart from the rest.",
        r"\min_z \|x - M_D z\|^2 = \|x - U_D U_D^\top x\|^2",
        Determined(_projection, _is_least),
        changes="claim",
        charitable="Theorem 1 needs only that the loss does not depend on $V_D$ and $\\Sigma_D$. "
        "That holds.",
    ),
    remark="One latent, $x = (1, 0)$: decoders along $(3, 4)$ and $(3, -4)$ both have the loss "
    "0.64, on different lines. Nor is the nonlinearity fixed: with as many latents as outputs "
    "every invertible $g_D$ has the loss 0.",
)


def _same_reconstruction(draw: np.random.Generator, kind: Kind) -> Posteriors:
    """Posteriors under decoders that differ in V, if `scaled` in Sigma; `equal`: z and 2z."""
    if kind == "equal":
        return np.array([2.0]), np.array([0.01]), np.array([1.0]), np.array([0.01])
    d = int(draw.integers(2, 5))
    image, stretches = draw.normal(size=d), np.exp(draw.normal(size=(2, d)))
    if kind == "plain":
        stretches[1] = stretches[0]
    before, after = [rotation(draw, d) @ (image / stretch) for stretch in stretches]
    variances = 10 ** draw.uniform(-6, -1, (2, d))
    return before, variances[0], after, variances[1]


def _kl_change_violation(
    reading: Callable[[Array, Array], float], posteriors: Posteriors
) -> float:
    """Error of the change in KL, less half the variances, which the polarized regime ignores."""
    before, after = posteriors[:2], posteriors[2:]
    change = kl_by_quadrature(*after) - kl_by_quadrature(*before)
    off = abs(reading(*after) - reading(*before) - change)
    return float(off - (before[1] + after[1]).sum() / 2) / (1 + abs(change))


KL_OF_NOISE = Entry(
    id="B-L3",
    source="Bhowal et al. (2024), lemma 3",
    title="Fixing the KL fixes the precision",
    statement="With the deterministic loss fixed and noise small, the KL is the sum of "
    "$-\\log\\sigma_j^2$ over active latents. We read this up to a constant, and to order "
    "$\\sigma^2$.",
    formula=r"L_{KL} = \sum_x \sum_{j \in V_a} -\log\sigma_j^2",
    assumptions="Polarized regime; $L_{rec}^{\\mu}$ fixed, which by lemma 2 leaves $V_D$ and "
    "$\\Sigma_D$ free.",
    printed=lambda mean, variance: -float(np.log(variance).sum()),
    check=Everywhere(
        _kl_change_violation,
        _same_reconstruction,
        "pairs of posteriors that decoders turn or stretch to the same output, change of KL by "
        "quadrature, half the variances allowed for",
        ("plain", "scaled", "equal"),
        names=("mu", "variance", "mu'", "variance'"),
    ),
    mutation=Mutation(
        "the half put right, the length of the codes left out",
        lambda mean, variance: -float(np.log(variance).sum()) / 2,
    ),
    correction=Correction(
        "Half of this sum, and half the squared length of the codes. That one is constant if "
        "$\\Sigma_D$ is kept as well, so that codes turn and do not change length.",
        r"L_{KL} = const + \frac{1}{2}\sum_j \left(\mu_j^2 - \log\sigma_j^2\right)",
        lambda mean, variance: float((mean**2 - np.log(variance)).sum()) / 2,
    ),
    remark="The proof says that only $V_D$ acts on $\\mu$, and $V_D$ keeps its length; but "
    "stretching the decoder shrinks the codes. Decoder $z$ with code 2 and decoder $2z$ with code "
    "1 give the same, and at equal noise their KL differs by 3/2 nats. Theorem 1 varies $V_D$ "
    "only, so its use is sound, and the half is a matter of what $C_{KL}$ counts.",
)
ENTRIES = (DETERMINISTIC_LOSS, KL_OF_NOISE)
