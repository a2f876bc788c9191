"""What a fitted model says in the grammar of PCA: order, signs, explained variance, warnings."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.estimator.fitting import MOST_LATENTS, Fit
from unpick.estimator.linear import is_linear
from unpick.estimator.selection import FOUND_AGAIN
from unpick.geometry import decoder_jacobians
from unpick.models import Model

NEAR = 0.9  # ratio of lengths from which two components may be interchangeable,
TURNS = 0.1  # if so few rows leave their angle open by as many radians
POINTS = 200  # rows at which lengths are measured


@dataclass(frozen=True, eq=False)
class Axes:
    """How latents become components.

    Attributes:
        order: The latent of each component.
        signs: 1 or -1 for each component.
        centre: Mean code of each latent; a latent that is no component stays there.
    """

    order: Int[np.ndarray, "k"]
    signs: Float[np.ndarray, "k"]
    centre: Float[np.ndarray, "d"]

    def components(self, codes: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """From codes to components of mean 0."""
        return (codes - self.centre)[:, self.order] * self.signs

    def codes(self, components: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n d"]:
        """From components to codes."""
        codes = np.repeat(self.centre[None], len(components), axis=0)
        codes[:, self.order] += components * self.signs
        return codes


def encode(model: Model, x: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n d"]:
    """Posterior means of scaled rows, in the precision of the model's weights."""
    weight = next(model.parameters())
    with torch.no_grad():
        return model.encode(torch.from_numpy(x).to(weight)[None]).mean[0].double().numpy()


def decode(model: Model, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
    """Scaled rows of codes."""
    weight = next(model.parameters())
    with torch.no_grad():
        return model.decode_mean(torch.from_numpy(z).to(weight)[None])[0].double().numpy()


def jacobians(model: Model, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p d"]:
    """Of the decoder at codes."""
    at = torch.from_numpy(z).to(next(model.parameters()))

    def decoder(z: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        return model.decode_mean(z[None])[0]

    return decoder_jacobians(decoder, at).double().numpy()


def order_components(
    model: Model, x: Float[np.ndarray, "n p"], latents: Int[np.ndarray, "k"]
) -> tuple[Axes, Float[np.ndarray, "k"]]:
    """Order components by what each adds to the explained variance; find their signs.

    The first component is the latent from which alone, the others at their mean, most variance is
    explained. The next one adds most to it, and so on. What they add sums to what all explain.

    The sign makes a component grow with the principal component that it goes with most closely.
    That one has a positive sign in the first column of those that weigh nearly most, so signs
    depend on the rows and not on the fit.

    Returns:
        The axes, and what each component adds, as a share of the variance of x.
    """
    codes = encode(model, x)
    centre = codes.mean(0)
    total = np.square(x - x.mean(0)).sum()
    known = np.repeat(centre[None], len(x), axis=0)
    left, order, errors = list(latents), list[int](), [float(np.square(x - x.mean(0)).sum())]
    while left:
        found = {}
        for j in left:
            trial = known.copy()
            trial[:, j] = codes[:, j]
            found[j] = float(np.square(decode(model, trial) - x).sum())
        best = min(found, key=lambda j: found[j])
        known[:, best] = codes[:, best]
        left.remove(best)
        order.append(int(best))
        errors.append(found[best])
    signs = signs_of((codes - centre)[:, order], x - x.mean(0))
    return Axes(np.array(order), signs, centre), -np.diff(errors) / total


def components_for(fit: Fit, x: Float[np.ndarray, "n p"], share: float) -> int:
    """How many components of the model that was kept explain a share of the variance."""
    model, active = fit.finished.model.member(fit.kept), np.flatnonzero(fit.member.active)
    added = order_components(model.eval(), x, active)[1] if active.size else np.zeros(1)
    return int((np.cumsum(added)[:-1] < share).sum()) + 1


def signs_of(
    codes: Float[np.ndarray, "n k"], x: Float[np.ndarray, "n p"]
) -> Float[np.ndarray, "k"]:
    """The sign of each component, from centred codes and rows."""
    scores, _, axes = np.linalg.svd(x, full_matrices=False)
    weighty = np.abs(axes) >= 0.9 * np.abs(axes).max(1, keepdims=True)
    first = np.take_along_axis(axes, weighty.argmax(1)[:, None], 1)[:, 0]
    along = codes.T @ (scores * np.sign(first))
    closest = np.take_along_axis(along, np.abs(along).argmax(1)[:, None], 1)[:, 0]
    return np.where(closest < 0, -1.0, 1.0)


def find_doubts(
    fit: Fit,
    axes: Axes,
    lengths: Float[np.ndarray, "k"],
    rows: int,
    wanted: int | float | None,
    explained: float,
    shift: float,
) -> list[str]:
    """Say in words why the result should not be trusted, as far as it should not.

    Args:
        fit: What was found.
        axes: Its components.
        lengths: Root mean square length of each component's decoder direction.
        rows: Of the table.
        wanted: As `n_components` of the estimator.
        explained: Share of the variance that the components explain.
        shift: What the evidence of a scaled row has more than that of a row, in nats.
    """
    doubts, member = list[str](), fit.member
    if not fit.finished.converged:
        doubts.append(
            f"Not converged: evidence or axes still moved at the last learning rate, after "
            f"{fit.finished.steps} steps. Each rate has a share of max_steps: raise it before you "
            "interpret single components."
        )
    if fit.silent or not member.active.any():
        doubts.append("No component stands out from the noise: the data look like pure noise.")
    elif not member.active[axes.order].all():
        dead = [k for k, j in enumerate(axes.order) if not member.active[j]]
        doubts.append(f"{name_list(dead)} carry nothing: fewer components were found than wanted.")
    if isinstance(wanted, float) and explained < wanted:
        doubts.append(
            f"All active components explain {explained:.1%} of the variance, {wanted:.1%} were "
            "wanted: the rest looks like noise, or max_steps is too small."
        )
    again = dict(zip(np.flatnonzero(member.active).tolist(), fit.again, strict=True))
    weak = [k for k, j in enumerate(axes.order) if again.get(int(j), 1.0) < 0.5]
    if weak:
        doubts.append(
            f"{name_list(weak)}: fewer than half of the other restarts find the same (rank "
            f"correlation {FOUND_AGAIN:g} or more). Do not interpret them one by one."
        )
    for group in interchangeable(lengths, rows):
        doubts.append(
            f"{name_list(group)} are equally strong: they are interchangeable, and any rotation "
            "of them fits as well."
        )
    if wanted is None and len(axes.order) == fit.wanted == MOST_LATENTS:
        doubts.append(
            f"All {fit.wanted} latents of the search stay active: there may be more components. "
            "Set n_components to ask for them."
        )
    evidence = float(member.evidence.mean())
    if fit.linear >= evidence and not is_linear(fit.finished.model.config.network):
        doubts.append(
            f"Linear PCA is as good: its held-out log-density is {fit.linear - shift:.2f} nats a "
            f"row, that of this model {evidence - shift:.2f} or more."
        )
    if rows < 50:
        doubts.append(f"Only {rows} rows: beta and the number of components are rough guesses.")
    return doubts


def interchangeable(lengths: Float[np.ndarray, "k"], rows: int) -> list[list[int]]:
    r"""Groups of components that no fit tells apart.

    Sampling n rows turns two principal directions against each other by about
    \sqrt{\lambda_1 \lambda_2 / n} / |\lambda_1 - \lambda_2| radians (Anderson 1963).

    Example:
        >>> interchangeable(np.array([3.0, 1.0, 0.99, 0.98]), 1000)
        [[1, 2, 3]]
        >>> interchangeable(np.array([1.05, 1.0]), 20_000)
        []
    """
    groups = [[k] for k in range(len(lengths))]
    squares = lengths**2
    for j, k in combinations(range(len(lengths)), 2):
        gap = abs(squares[j] - squares[k])
        ratio = min(lengths[j], lengths[k]) / max(lengths[j], lengths[k], 1e-300)
        if ratio > NEAR and np.sqrt(squares[j] * squares[k] / rows) > TURNS * gap:
            one, other = (next(g for g in groups if m in g) for m in (j, k))
            if one is not other:
                groups.remove(other)
                one += other
    return [sorted(group) for group in groups if len(group) > 1]


def name_list(numbers: list[int]) -> str:
    """Components by number, in words.

    Example:
        >>> name_list([0, 2, 3])
        'Components 0, 2 and 3'
    """
    *most, last = map(str, numbers)
    return f"Components {', '.join(most)} and {last}" if most else f"Component {last}"
