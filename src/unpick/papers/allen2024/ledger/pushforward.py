"""Decoders with orthogonal columns in Allen (2024), section 3.2.2: what is independent."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.geometry.columns import column_cosines
from unpick.papers.allen2024.surfaces import (
    SURFACES,
    Map,
    arc_lengths,
    box_muller,
    helicoid,
    plane,
    polar,
    strip,
    turn_latents,
)
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind
from unpick.theory.pushforward import log_normal, push_forward

Array = np.ndarray
Drawn = tuple[str, float, float, Float[Array, "2"]]  # surface, its sizes, a point
# Of log N(z_i), speeds along the curves at a point, and after a step along the other latent.
LogFactor = Callable[[Tensor, Tensor, Tensor], Tensor]
# Of a point, speeds and lengths along the curves.
LogDensity = Callable[[Tensor, Tensor, Tensor], Tensor]
POINTS = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, size=(30, 2)))
STEP = 1e-5


def _drawn(draw: np.random.Generator, kind: Kind) -> Drawn:
    """Any surface; `close`: almost one whose speeds are those of its own latents."""
    name = str(draw.choice(list(SURFACES)))
    a, b = draw.uniform(0.2, 1, 2).round(2).tolist()
    return name, 1e-3 if kind == "close" else a, b, draw.uniform(-2, 2, 2).round(2)


def _jacobians(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n p 2"]:
    """In reverse mode, the faster one for so few outputs and points."""
    of_sums = torch.autograd.functional.jacobian(lambda z: decode(z).sum(0), z)
    return of_sums.transpose(0, 1)


def _speeds(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    return _jacobians(decode, z).norm(dim=1)


def _differences(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n p 2"]:
    """Jacobians by central differences."""
    axes = STEP * torch.eye(2).double()
    return torch.stack([decode(z + a) - decode(z - a) for a in axes], 2) / (2 * STEP)


def _by_length(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """Log of probability by length of a short piece of each latent's curve."""
    chance = torch.special.ndtr(z + STEP) - torch.special.ndtr(z - STEP)
    return (chance / (2 * STEP)).log() - _differences(decode, z).norm(dim=1).log()


def _components_violation(said: LogFactor, instance: Drawn) -> float:
    """Error of the product of factors, and of each factor after a step along the other latent."""
    name, a, b, at = instance
    decode, z = partial(SURFACES[name], a=a, b=b), torch.from_numpy(at)
    moved = z + 1 - torch.eye(2).double()  # in row i latent i is held
    here, *there = _speeds(decode, torch.stack([z, *moved]))
    log_prior = log_normal(z[None])[0]
    jacobian = _differences(decode, z[None])[0]
    area = torch.linalg.slogdet(jacobian.T @ jacobian).logabsdet / 2
    product = said(log_prior, here, torch.stack([here, here])).sum() - (log_prior.sum() - area)
    factors = said(log_prior, here, torch.stack(there)) - _by_length(decode, moved).diagonal()
    return float(torch.stack([product, *factors]).abs().max())


def _curve_violation(log_density: LogDensity, instance: Drawn) -> float:
    """Error of the log-density against probability by length of a short piece of curve."""
    name, a, b, at = instance
    decode, z = partial(SURFACES[name], a=a, b=b), torch.from_numpy(at)[None]
    said = log_density(z, _speeds(decode, z), arc_lengths(decode, z))
    return float((said - _by_length(decode, z)).abs().max())


# Orthogonal columns, and singular values that differ at some point, but for the plane's.
TRUTHS: dict[str, Map] = {
    "plane": plane,
    "stretched plane": partial(plane, b=2.0),
    "strip": strip,
    "helicoid": helicoid,
    "polar plane": box_muller,
}
CHANGES: dict[str, dict[str, Map]] = {
    "rotation": {f"turned by {a} degrees": turn_latents(float(a)) for a in (45, 15, 30, 60, 75)},
    "nonlinear change": {"in polar latents": box_muller, "in Cartesian latents": polar},
}


@cache
def has_own_speeds(decode: Map) -> bool:
    """Whether each s_i depends on z_i alone."""
    others = POINTS.flip(0)
    mixed = torch.stack([POINTS[:, 0], others[:, 1]], 1)
    own = torch.stack([_speeds(decode, POINTS)[:, 0], _speeds(decode, others)[:, 1]], 1)
    return bool(torch.allclose(_speeds(decode, mixed), own))


def can_turn_lengths(decode: Map, tolerance: float = 1e-6) -> bool:
    """Whether lengths along the curves, turned in their plane, are independent as well.

    A rival whose s_i, too, depend on its own latents alone has such lengths: both measure the
    same flat surface. The log-density of lengths is l_1(y_1) + l_2(y_2); turned by an angle, it
    is a sum again if and only if l_1''(y_1) = l_2''(y_2) everywhere.
    """
    z = POINTS.clone().requires_grad_()

    def along(values: Tensor) -> Tensor:  # derivatives by length
        (slope,) = torch.autograd.grad(values.sum(), z, create_graph=True)
        return slope / speed

    jacobian = torch.autograd.functional.jacobian(lambda z: decode(z).sum(0), z, create_graph=True)
    speed = jacobian.norm(dim=0)
    bend = along(along(log_normal(z) - speed.log()))
    return bool((bend[:, :1] - bend[:, 1]).abs().max() < tolerance)


@cache
def is_rival(decode: Map, change: Map, tolerance: float = 1e-6) -> bool:
    """Whether decode(change(z)) has orthogonal columns and the same density everywhere."""
    moved, jacobians = change(POINTS), _jacobians(lambda z: decode(change(z)), POINTS)
    cosine = float(column_cosines(jacobians).per_sample.max())
    before, after = push_forward(_jacobians(decode, moved), moved), push_forward(jacobians, POINTS)
    off = float((before.log_density - after.log_density).abs().max())
    return cosine < tolerance and off < tolerance


def _identified_check(excluded: Callable[[Map, str], bool]) -> Evidence:
    """Look for rivals that the claim excludes, for a decoder and a kind of change."""
    found, tried = [], 0
    for name, decode in TRUTHS.items():
        for kind, changes in CHANGES.items():
            if not excluded(decode, kind):
                continue
            tried += len(changes)
            equals = [how for how, change in changes.items() if is_rival(decode, change)]
            more = f" (and {len(equals) - 1} other {kind}s)" if len(equals) > 1 else ""
            found += [f"the {name} {equals[0]}{more}"] if equals else []
        if has_own_speeds(decode) and excluded(decode, "turned lengths"):
            tried += 1
            found += [f"the {name} with lengths turned"] if can_turn_lengths(decode) else []
    text = f"{tried} decoders that the claim excludes, for {len(TRUTHS)} surfaces"
    if not found:
        return Evidence(tried > 0, f"{text}: none has orthogonal columns and the same density")
    return Evidence(False, f"{text}: as good as the true one are {', '.join(found)}")


def _unique_functions(decode: Map) -> bool:
    """Whether the two singular values, each along its own curve, are different functions."""
    t, held = torch.linspace(-2, 2, 9).double(), torch.full((9,), 0.5).double()
    first = _speeds(decode, torch.stack([t, held], 1))[:, 0]
    second = _speeds(decode, torch.stack([held, t], 1))[:, 1]
    return bool((first - second).abs().max() > 1e-9)


def _distinct(decode: Map) -> bool:
    """Whether the two singular values differ at some point."""
    return float(_speeds(decode, POINTS).diff(dim=1).abs().max()) > 1e-9


def _equal_gaussians(decode: Map) -> bool:
    """Whether lengths along both curves are Gaussian of the same variance."""
    return float(_speeds(decode, POINTS).std()) < 1e-9


ORTHOGONAL = (
    "$z \\sim N(0, I)$; $f$ injective and differentiable, with orthogonal columns (A#1-3)."
)
COMPONENTS: Entry[LogFactor] = Entry(
    id="A-T2",
    source="Allen (2024), theorem 2 (eq. 12, 13)",
    title="Orthogonal columns: independent components",
    statement="The density at a point is the product of densities along the curves of the latents "
    "through it, and these are independent components of the data: going along one curve leaves "
    "the factors of the others as they are.",
    formula=r"p(f(z)) = \prod_i \|\partial x / \partial z_i\|^{-1} N(z_i)",
    assumptions=ORTHOGONAL,
    printed=lambda log_prior, here, there: log_prior - here.log(),
    check=Everywhere(
        _components_violation,
        _drawn,
        "planes, strips, helicoids and spheres of sizes a and b (factors at a point and after a "
        "step along the other latent)",
        ("plain", "close"),
        tolerance=1e-8,
        names=("surface", "a", "b", "z"),
    ),
    mutation=Mutation(
        "going along $z_j$ the factor of $z_i$ follows $s_j$",
        lambda log_prior, here, there: log_prior - there.flip(1).diagonal().log(),
    ),
    correction=Correction(
        "The densities multiply at every point. Going along $z_j$ leaves the factor "
        "$N(z_i) / s_i(z)$ of another latent as it is if and only if $s_i$ does not depend on "
        "$z_j$. If each $s_i$ depends on $z_i$ alone, lengths along the curves are independent.",
        r"s_i(z) = s_i(z_i)",
        lambda log_prior, here, there: log_prior - there.diagonal().log(),
        changes="claim",
        charitable="The latents are independent, and at each point the density is the product of "
        "densities along the curves that meet there. In this sense it holds.",
    ),
    remark="On the helicoid $(z_1 \\cos z_2, z_1 \\sin z_2, z_2)$ the second factor is "
    "$N(z_2) / \\sqrt{1 + z_1^2}$: going along $z_1$ changes it. The density by area is still a "
    "function of $z_1$ times one of $z_2$ there; on a sphere, by stereographic projection, not "
    "even that. The latents, read back from $x$, are independent for any injective decoder: what "
    "orthogonal columns add is the product at each point, which otherwise falls short by the IMA "
    "contrast. After A#2 the paper infers a Jacobian of full rank from injectivity; $z^3$ at 0 "
    "has none, so full rank is assumed here.",
)
ALONG_CURVES: Entry[LogDensity] = Entry(
    id="A-R5",
    source="Allen (2024), remark 5",
    title="Density along the curve of a latent",
    statement="Along the curve of one latent the density by length is $N(z_i) / s_i$, which is "
    "not Gaussian unless $s_i$ is constant along the curve.",
    formula=r"p^{(i)}(x) = s_i^{-1} N(f^{-1}(x)_i)",
    assumptions=ORTHOGONAL,
    printed=lambda z, speed, length: log_normal(z) - speed.log(),
    check=Everywhere(
        _curve_violation,
        _drawn,
        "planes, strips, helicoids and spheres of sizes a and b (probability by length of a "
        "short piece of curve)",
        ("plain", "close"),
        tolerance=1e-8,
        names=("surface", "a", "b", "z"),
    ),
    mutation=Mutation(
        "a Gaussian of variance $s_i^2$ in the length, as for a linear decoder",
        lambda z, speed, length: log_normal(length / speed) - speed.log(),
    ),
)
IDENTIFIED: Entry[Callable[[Map, str], bool]] = Entry(
    id="A-C2.1",
    source="Allen (2024), corollary 2.1",
    title="Orthogonal columns: the decoder is identified",
    statement="A VAE that fits the density with orthogonal columns has the true decoder, up to "
    "signs and order of latents, if the singular values are different functions along their "
    "curves.",
    formula=r"p_g = p_f \;\Rightarrow\; g = f \circ P",
    assumptions=ORTHOGONAL + " The VAE's optimum has the density of the data and orthogonal "
    "columns.",
    printed=lambda decode, kind: _unique_functions(decode) and _distinct(decode),
    check=_identified_check,
    mutation=Mutation(
        "against rotations, whatever the singular values",
        lambda decode, kind: kind == "rotation",
    ),
    correction=Correction(
        "If each $s_i$ depends on $z_i$ alone, in the truth and in the model, the latents are the "
        "true ones up to signs and order, unless two components are Gaussian of equal variance. "
        "Without this condition only rotations are excluded, where singular values differ.",
        r"s_i(z) = s_i(z_i),\ \ s_i'(z') = s_i'(z_i') \;\Rightarrow\; z' = P z",
        lambda decode, kind: (
            (kind == "rotation" and _distinct(decode))
            or (kind == "turned lengths" and not _equal_gaussians(decode))
        ),
        changes="claim",
        charitable="With the condition that $s_i$ depends on $z_i$ alone it holds. Later versions "
        "of the paper add conditions to this corollary.",
    ),
    remark="The counterexample: radius and angle from two latents (Box and Muller) have "
    "orthogonal columns, different singular values and the density $N(0, I)$, as the plane has. "
    "Equal densities on $X$ do not make the curves equal, which the proof takes for granted. Why "
    "the condition is enough: lengths along the curves are then Cartesian coordinates of a flat "
    "surface, in the truth and in the model, so one is the other turned and shifted. Both have "
    "independent components, which by the theorem of Darmois and Skitovich mixes none but "
    "Gaussian ones, and of these none of different variances.",
)
ENTRIES = (COMPONENTS, ALONG_CURVES, IDENTIFIED)
