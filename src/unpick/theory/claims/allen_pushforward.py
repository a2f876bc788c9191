"""Decoders with orthogonal columns in Allen (2024), section 3.2.2: what is independent."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.geometry.columns import column_cosines
from unpick.geometry.jacobian import decoder_jacobians
from unpick.theory.entry import Correction, Entry, Evidence, Mutation
from unpick.theory.pushforward import push_forward
from unpick.theory.surfaces import (
    SURFACES,
    Map,
    arc_lengths,
    box_muller,
    dependence,
    polar,
    turned,
)

POINTS = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, size=(30, 2)))


def _speeds(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    return decoder_jacobians(decode, z).norm(dim=1)


def _differences(decode: Map, z: Float[Tensor, "n 2"], step: float = 1e-5) -> Tensor:
    """Jacobians by central differences."""
    axes = step * torch.eye(2).double()
    return torch.stack([decode(z + a) - decode(z - a) for a in axes], 2) / (2 * step)


@dataclass(frozen=True)
class Components:
    """What is said of the density's factors.

    Attributes:
        log_factor: From log N(z_i) and the speed along the curve.
        independent: Whether lengths along the curves are independent, for a decoder.
    """

    log_factor: Callable[[Tensor, Tensor], Tensor]
    independent: Callable[[Map], bool]


def _components_check(said: Components) -> Evidence:
    """Product of the factors against the area; independence against correlations."""
    off, found, wrong = 0.0, [], []
    log_prior = -0.5 * (POINTS.square() + np.log(2 * pi))
    for name, decode in SURFACES.items():
        jacobians = _differences(decode, POINTS)
        area = torch.linalg.slogdet(jacobians.mT @ jacobians).logabsdet / 2
        product = said.log_factor(log_prior, _speeds(decode, POINTS)).sum(1)
        off = max(off, float((product - (log_prior.sum(1) - area)).abs().max()))
        found.append(f"{name} {dependence(decode):.2f}")
        if said.independent(decode) != (dependence(decode) < 1e-9):
            wrong.append(name)
    text = f"product of factors off the density by {off:.0e} on {len(SURFACES)} surfaces; "
    text += f"correlation of lengths along the curves: {', '.join(found)}"
    if wrong:
        text += f"; otherwise than claimed: {', '.join(wrong)}"
    return Evidence(not wrong and off < 1e-6, text)


def _own_factors(decode: Map) -> bool:
    """Whether each factor ignores the other latent."""
    mixed = torch.stack([POINTS[:, 0], POINTS[:, 1].flip(0)], 1)
    here, there = (push_forward(decode, z).along_latents for z in (POINTS, mixed))
    moved = torch.stack([there[:, 0] - here[:, 0], there[:, 1].flip(0) - here[:, 1]])
    return float(moved.abs().max()) < 1e-9


def _curve_check(log_density: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Evidence:
    """Against probability by length of a short piece of the curve."""
    off, step = 0.0, 1e-4
    for decode in SURFACES.values():
        said = log_density(POINTS, _speeds(decode, POINTS), arc_lengths(decode, POINTS))
        chords = _differences(decode, POINTS, step).norm(dim=1) * 2 * step
        chance = torch.special.ndtr(POINTS + step) - torch.special.ndtr(POINTS - step)
        off = max(off, float((said - (chance / chords).log()).abs().max()))
    text = f"60 points on curves of {len(SURFACES)} surfaces: log-density off by {off:.0e} at most"
    return Evidence(off < 1e-6, text)


@dataclass(frozen=True)
class Identifiability:
    """What is said to be found.

    Attributes:
        condition: On the true decoder.
        rivals: Kinds of change to the latents that are excluded then.
    """

    condition: Callable[[Map], bool]
    rivals: tuple[str, ...]


RIVALS: dict[str, dict[str, Map]] = {
    "rotation": {f"turned by {a} degrees": turned(float(a)) for a in (15, 30, 60, 75, 45)},
    "nonlinear": {"in polar latents": box_muller, "in Cartesian latents": polar},
}


def is_rival(decode: Map, change: Map, tolerance: float = 1e-6) -> bool:
    """Whether decode(change(z)) has orthogonal columns and the same density everywhere."""
    jacobians = decoder_jacobians(lambda z: decode(change(z)), POINTS)
    cosine = float(column_cosines(jacobians).per_sample.max())
    before, after = push_forward(decode, change(POINTS)), push_forward(jacobians, POINTS)
    off = float((before.log_density - after.log_density).abs().max())
    return cosine < tolerance and off < tolerance


def _identified_check(said: Identifiability) -> Evidence:
    """Look for rivals that the claim excludes."""
    found, tried = [], 0
    for name, decode in SURFACES.items():
        for kind in said.rivals if said.condition(decode) else ():
            tried += len(RIVALS[kind])
            equals = [how for how, change in RIVALS[kind].items() if is_rival(decode, change)]
            found += [f"the {name} {equals[-1]} ({len(equals)} of its kind)"] if equals else []
    text = f"{tried} other decoders of {len(SURFACES)} surfaces"
    if not found:
        return Evidence(tried > 0, f"{text}: none has orthogonal columns and the same density")
    return Evidence(False, f"{text}: as good as the true one is {', '.join(found)}")


def _unique_functions(decode: Map) -> bool:
    """Whether the two singular values, each along its own curve, are different functions."""
    t, held = torch.linspace(-2, 2, 9).double(), torch.full((9,), 0.5).double()
    first = _speeds(decode, torch.stack([t, held], 1))[:, 0]
    second = _speeds(decode, torch.stack([held, t], 1))[:, 1]
    return bool((first - second).abs().max() > 1e-9)


def _distinct(decode: Map) -> bool:
    """Whether the two singular values differ at some point."""
    return float(_speeds(decode, POINTS).diff(dim=1).abs().max()) > 1e-9


ORTHOGONAL = (
    "$z \\sim N(0, I)$; $f$ injective and differentiable, with orthogonal columns (A#1-3)."
)
COMPONENTS = Entry(
    id="A-T2",
    source="Allen (2024), theorem 2 (eq. 12, 13)",
    title="Orthogonal columns: independent components",
    statement="The density at a point is the product of densities along the curves of the latents "
    "through it, and these are independent components of the data: going along one curve leaves "
    "the factors of the others as they are.",
    formula=r"p(f(z)) = \prod_i \|\partial x / \partial z_i\|^{-1} N(z_i)",
    assumptions=ORTHOGONAL,
    printed=Components(lambda log_prior, speed: log_prior - speed.log(), lambda decode: True),
    check=_components_check,
    mutation=Mutation(
        "factors $s_i N(z_i)$",
        Components(lambda log_prior, speed: log_prior + speed.log(), _own_factors),
    ),
    correction=Correction(
        "The densities multiply at every point. They are independent components, in that each "
        "factor ignores the other latents and lengths along the curves are independent, if and "
        "only if each $s_i$ depends on $z_i$ alone.",
        r"s_i(z) = s_i(z_i)",
        Components(lambda log_prior, speed: log_prior - speed.log(), _own_factors),
        changes="claim",
    ),
    remark="On the helicoid $(z_1 \\cos z_2, z_1 \\sin z_2, z_2)$ the second factor is "
    "$N(z_2) / \\sqrt{1 + z_1^2}$: going along $z_1$ changes it. The latents, read back from $x$, "
    "are independent for any injective decoder. What orthogonal columns add is the "
    "product at each point; without them it falls short of the density by the IMA contrast.",
)
ALONG_CURVES = Entry(
    id="A-R5",
    source="Allen (2024), remark 5",
    title="Density along the curve of a latent",
    statement="Along the curve of one latent the density by length is $N(z_i) / s_i$, which is "
    "not Gaussian unless $s_i$ is constant along the curve.",
    formula=r"p^{(i)}(x) = s_i^{-1} N(f^{-1}(x)_i)",
    assumptions=ORTHOGONAL,
    printed=lambda z, speed, length: -0.5 * (z**2 + np.log(2 * pi)) - speed.log(),
    check=_curve_check,
    mutation=Mutation(
        "a Gaussian of variance $s_i^2$ in the length, as for a linear decoder",
        lambda z, speed, length: -0.5 * ((length / speed) ** 2 + np.log(2 * pi)) - speed.log(),
    ),
)
IDENTIFIED = Entry(
    id="A-C2.1",
    source="Allen (2024), corollary 2.1",
    title="Orthogonal columns: the decoder is identified",
    statement="A VAE that fits the density with orthogonal columns has the true decoder, up to "
    "signs and order of latents, if the singular values are different functions along their "
    "curves.",
    formula=r"p_g = p_f \;\Rightarrow\; g = f \circ P",
    assumptions=ORTHOGONAL + " The VAE's optimum has the density of the data and orthogonal "
    "columns.",
    printed=Identifiability(_unique_functions, ("rotation", "nonlinear")),
    check=_identified_check,
    mutation=Mutation(
        "against rotations, whatever the singular values",
        Identifiability(lambda decode: True, ("rotation",)),
    ),
    correction=Correction(
        "No rotation of the latents but signed permutations keeps the columns orthogonal if the "
        "singular values are distinct at some point. Other changes of the latents are not "
        "excluded.",
        r"Q^\top S^2 Q = \mathrm{diag},\ s_i \neq s_j \;\Rightarrow\; Q = P",
        Identifiability(_distinct, ("rotation",)),
        changes="claim",
    ),
    remark="Two counterexamples. The conformal helicoid $(\\sinh z_1 \\cos z_2, \\sinh z_1 \\sin "
    "z_2, z_2)$ has $s_1 = s_2 = \\cosh z_1$: along their own curves one varies and one does not, "
    "yet any rotation of its latents is as good. Radius and angle from two latents (Box and "
    "Muller) have orthogonal columns and the density $N(0, I)$, as the plane has. Equal densities "
    "on $X$ do not make the curves equal, which the proof takes for granted.",
)
ENTRIES = (COMPONENTS, ALONG_CURVES, IDENTIFIED)
