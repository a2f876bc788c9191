"""What theorem 1 of Bhowal et al. (2024) holds fixed: lemmas 2 and 3 (section A.3)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.theory.checks import Order
from unpick.theory.claims.bhowal_losses import kl_by_quadrature
from unpick.theory.entry import Correction, Entry, Evidence, Mutation

Array = np.ndarray


@dataclass(frozen=True)
class Determined:
    """A reading of what goes with the deterministic loss.

    Attributes:
        part: What of a decoder's matrix the loss depends on, and fixes.
        by: Whether every value of the loss fixes it, or only the least one.
    """

    part: Callable[[Float[Array, "n d"]], Float[Array, "n n"]]
    by_every_value: bool


def _projection(m: Float[Array, "n d"]) -> Float[Array, "n n"]:
    """U U^T of the thin SVD."""
    return m @ np.linalg.pinv(m)


def _best_loss(m: Float[Array, "n d"], x: Float[Array, "k n"]) -> float:
    """Squared error of the best codes."""
    codes = np.linalg.lstsq(m, x.T)[0]
    return float(np.square(x.T - m @ codes).sum())


def _determined_check(reading: Determined) -> Evidence:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(50, 3)) * (3.0, 2.0, 1.0)
    m = draw.normal(size=(3, 2))
    stretched = m @ draw.normal(size=(2, 2))
    same = np.allclose(reading.part(m), reading.part(stretched))
    if same and not np.isclose(_best_loss(m, x), _best_loss(stretched, x)):
        return Evidence(False, "the loss changes although what it is said to depend on does not")
    if reading.by_every_value:
        up, down, point = np.array([[3.0], [4.0]]), np.array([[3.0], [-4.0]]), np.eye(2)[:1]
        losses = _best_loss(up / 5, point), _best_loss(down / 5, point)
        equal = np.allclose(reading.part(up), reading.part(down))
        return Evidence(
            bool(equal or not np.isclose(*losses)),
            "one latent, $x = (1, 0)$: decoders along $(3, 4)$ and $(3, -4)$ have the same loss, "
            f"{losses[0]:.2f} and {losses[1]:.2f}, but span different lines",
        )
    ends = [
        minimize(lambda p: _best_loss(p.reshape(3, 2), x), draw.normal(size=6)).x.reshape(3, 2)
        for _ in range(5)
    ]
    parts = np.array([reading.part(m) for m in ends])
    apart = float(np.abs(parts - parts[0]).max())
    return Evidence(
        apart < 1e-3,
        "five searches for the decoder (3 outputs, 2 latents, 50 points of distinct variances): "
        f"at their ends what is said to be fixed differs by {apart:.0e} at most",
    )


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
    printed=Determined(_projection, by_every_value=True),
    check=_determined_check,
    mutation=Mutation(
        "$M_D M_D^\\top$, singular values included, at the least loss",
        Determined(lambda m: m @ m.T, by_every_value=False),
    ),
    correction=Correction(
        "With the best codes the loss does not change with $V_D$ and $\\Sigma_D$. Its value does "
        "not fix $U_D$; its minimum fixes the span of $U_D$ if the decoder is linear and the "
        "$d$ largest variances of the data stand apart from the rest.",
        r"\min_z \|x - M_D z\|^2 = \|x - U_D U_D^\top x\|^2",
        Determined(_projection, by_every_value=False),
        changes="claim",
    ),
    remark="Nor does it fix the nonlinearity: with as many latents as outputs every invertible "
    "$g_D$ has the loss 0. What theorem 1 needs, that $V_D$ is free, holds.",
)


@dataclass(frozen=True)
class Budget:
    """A reading of what the KL comes to.

    Attributes:
        share: Of sum_j -log sigma_j^2 that is in the KL.
        stretch: Whether the singular values of the decoder may change as well as V.
    """

    share: float
    stretch: bool


def _budget_error(reading: Budget, scale: float) -> float:
    """Of the change in KL from one noise to another while the codes turn."""
    mean, turned = np.array([2.0, -1.0]), np.array([1.0, 2.0])
    before, after = scale**2 * np.array([1.0, 2.0]), scale**2 * np.array([0.5, 3.0])
    change = kl_by_quadrature(turned, after) - kl_by_quadrature(mean, before)
    said = -reading.share * float(np.log(after / before).sum())
    return (said - change) / change


def _budget_check(reading: Budget) -> Evidence:
    if reading.stretch:
        two, one, noise = np.array([2.0]), np.array([1.0]), np.array([0.01])
        gap = kl_by_quadrature(two, noise) - kl_by_quadrature(one, noise)
        return Evidence(
            abs(gap) < 1e-9,
            "decoder $z$ with code 2 and decoder $2z$ with code 1, variance 0.01 for both: same "
            f"reconstruction, same $-\\log\\sigma^2$, but their KL differs by {gap:.3g} nats",
        )
    return Order(_budget_error, 2.0, "change of KL as two codes turn and their noise changes")(
        reading
    )


KL_OF_NOISE = Entry(
    id="B-L3",
    source="Bhowal et al. (2024), lemma 3",
    title="Fixing the KL fixes the precision",
    statement="With the deterministic loss fixed and noise small, the KL is the sum of "
    "$-\\log\\sigma_j^2$ over active latents. We read this up to the factor 1/2 and a constant, "
    "which the budget $C_{KL}$ absorbs.",
    formula=r"L_{KL} = \sum_x \sum_{j \in V_a} -\log\sigma_j^2",
    assumptions="Polarized regime; $L_{rec}^{\\mu}$ fixed, which by lemma 2 leaves $V_D$ and "
    "$\\Sigma_D$ free.",
    printed=Budget(share=0.5, stretch=True),
    check=_budget_check,
    mutation=Mutation("without the factor 1/2", Budget(share=1.0, stretch=False)),
    correction=Correction(
        "True if $\\Sigma_D$ is kept as well, so that codes turn and do not change length: then "
        "changes of the KL are those of $\\frac{1}{2}\\sum_j -\\log\\sigma_j^2$, to order "
        "$\\sigma^2$.",
        r"L_{KL} = const + \frac{1}{2}\sum_j -\log\sigma_j^2",
        Budget(share=0.5, stretch=False),
        changes="claim",
    ),
    remark="The proof says that only $V_D$ acts on $\\mu$, and $V_D$ keeps its length; but "
    "stretching the decoder shrinks the codes. Theorem 1 varies $V_D$ only, so its use is sound.",
)
ENTRIES = (DETERMINISTIC_LOSS, KL_OF_NOISE)
