"""What a fitted model says in the grammar of PCA: order, signs, explained variance, warnings."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.estimator.fitting import Fit
from unpick.estimator.linear import is_linear
from unpick.estimator.selection import FOUND_AGAIN
from unpick.geometry import decoder_jacobians
from unpick.models import Model

NEAR = 0.9  # ratio of lengths from which two components count as interchangeable
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

    def first(self, count: int) -> "Axes":
        """The first components only."""
        return Axes(self.order[:count], self.signs[:count], self.centre)

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

    The sign makes the covariance with the columns positive where it is large: the sum of its
    cubes is positive. It does not depend on the fit unless positive and negative columns balance.

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
    covariance = (codes - centre)[:, order].T @ (x - x.mean(0))
    signs = np.where((covariance**3).sum(1) < 0, -1.0, 1.0)
    return Axes(np.array(order), signs, centre), -np.diff(errors) / total


def find_doubts(
    fit: Fit,
    axes: Axes,
    lengths: Float[np.ndarray, "k"],
    rows: int,
    wanted: int | float | None,
    explained: float,
) -> list[str]:
    """Say in words why the result should not be trusted, as far as it should not.

    Args:
        fit: What was found.
        axes: Its components.
        lengths: Root mean square length of each component's decoder direction.
        rows: Of the table.
        wanted: As `n_components` of the estimator.
        explained: Share of the variance that the components explain.
    """
    doubts, member = list[str](), fit.member
    if not fit.finished.converged:
        doubts.append(
            f"Not converged after {fit.finished.steps} steps: evidence or axes still move. "
            "Raise max_steps before you interpret single components."
        )
    if not member.active.any():
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
    for j, k in combinations(range(len(lengths)), 2):
        ratio = min(lengths[j], lengths[k]) / max(lengths[j], lengths[k], 1e-300)
        if ratio > NEAR:
            doubts.append(
                f"Components {j} and {k} are equally strong (ratio {ratio:.2f}): they are "
                "interchangeable, and any rotation of the two fits as well."
            )
    if wanted is None and len(axes.order) >= fit.wanted and fit.wanted > 1:
        doubts.append(
            f"All {fit.wanted} latents of the search stay active: there may be more components. "
            "Set n_components to ask for them."
        )
    evidence = float(member.evidence.mean())
    if fit.linear is not None and fit.linear >= evidence and not is_linear(fit.finished.model):
        doubts.append(
            f"Linear PCA is as good: its held-out log-density is {fit.linear:.2f} nats a row, "
            f"that of this model {evidence:.2f} or more."
        )
    if rows < 50:
        doubts.append(f"Only {rows} rows: beta and the number of components are rough guesses.")
    return doubts


def name_list(numbers: list[int]) -> str:
    """Components by number, in words."""
    word = "Component" if len(numbers) == 1 else "Components"
    return f"{word} {', '.join(map(str, numbers))}"
