"""What principal axes of sprites hold (Bhowal et al. 2024, appendix A.8.6)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.sprites import FACTORS, Size, render
from unpick.models.linear import LinearModel, from_axes, pca
from unpick.study.study import Results, Scale

Array = np.ndarray
# The sets of axes of table 7, of the 4096 that images of 64 x 64 pixels have.
SETS = {
    "first 1500": slice(0, 1500),
    "first 2000": slice(0, 2000),
    "first 2500": slice(0, 2500),
    "first 3000": slice(0, 3000),
    "2000 to 3000": slice(2000, 3000),
    "2500 to 3000": slice(2500, 3000),
}
PICTURED = ("first 1500", "first 2000", "first 2500", "first 3000", "2500 to 3000")
HEART = np.array([[2, 5, 0, 15, 19]])  # the sprite in the pictures: large, below the middle


@dataclass(frozen=True, eq=False)
class Survey:
    """What was measured with principal axes of sprites.

    Axes are taken in order of falling variance, in order of rising variance, or replaced by
    pixels in reading order.

    Attributes:
        total: Variance of the images, summed over pixels.
        errors: Of each set of axes in `SETS`, by order: squared error, summed over pixels, mean
            over images.
        held: Share of the variance along sets of axes.
        predicted: How well factors are predicted from the same sets, by set, then by factor: 0
            for a guess, 1 for certainty.
        alone: Share of the images' variance that each factor accounts for by itself.
        pictures: A heart, then its reconstruction from each set in `PICTURED`, by order.
    """

    total: float
    errors: Mapping[str, Float[Array, "k"]]
    held: Mapping[str, float]
    predicted: Mapping[str, Mapping[str, float]]
    alone: Mapping[str, float]
    pictures: Mapping[str, Float[Array, "m h w"]]

    def to_json(self) -> dict[str, Any]:
        """Arrays as lists."""
        lists = {
            name: {order: each.tolist() for order, each in getattr(self, name).items()}
            for name in ("errors", "pictures")
        }
        return asdict(self) | lists


def survey_from_json(values: Mapping[str, Any]) -> Survey:
    """The survey that `to_json` wrote."""
    arrays = {
        name: {order: np.array(each) for order, each in values[name].items()}
        for name in ("errors", "pictures")
    }
    return Survey(**{**values, **arrays})


def compute_survey(scale: Scale) -> dict[str, Any]:
    """The survey of 5000 sprites of 64 x 64 pixels, the same at every scale."""
    return survey().to_json()


def survey_of(results: Results) -> Survey:
    """The survey among a study's computed values."""
    return survey_from_json(results.computed["survey"])


def survey(size: Size = 64, count: int = 5000) -> Survey:
    """Measure the axes of randomly drawn sprites; sets of axes shrink with the pixel count."""
    images, positions = draw_sprites(size, count)
    model, codes = principal_axes(images)
    variances = codes.square().mean(0).numpy()
    energies = {
        "falling variance": variances,
        "rising variance": variances[::-1],
        "pixels": images.var(0, correction=0).numpy(),
    }
    sets = [scale_axes(axes, size) for axes in SETS.values()]
    tried = {
        "the images": slice(None),
        "first 10": slice(0, 10),
        "first 1500": scale_axes(SETS["first 1500"], size),
        "1500 to 2500": scale_axes(slice(1500, 2500), size),
        "2500 to 3000": scale_axes(SETS["2500 to 3000"], size),
    }
    return Survey(
        total=float(variances.sum()),
        errors={order: projection_errors(each, sets) for order, each in energies.items()},
        held={name: float(variances[a].sum() / variances.sum()) for name, a in tried.items()},
        predicted={
            name: predict_factors(codes[:, axes], model.weights[:, axes], positions)
            for name, axes in tried.items()
        },
        alone={f.name: variance_share(images, positions[:, k]) for k, f in enumerate(FACTORS)},
        pictures=reconstruct_heart(model, size),
    )


def draw_sprites(size: Size, count: int) -> tuple[Float[Tensor, "n p"], Int[Array, "n 5"]]:
    """Sprites, and their positions on the grid of factors."""
    draw = np.random.default_rng(0)
    positions = np.stack([draw.integers(factor.size, size=count) for factor in FACTORS], 1)
    parts = [render(part, size) for part in np.array_split(positions, 20)]  # to spare memory
    return torch.from_numpy(np.concatenate(parts)).flatten(1).double(), positions


def principal_axes(images: Float[Tensor, "n p"]) -> tuple[LinearModel, Float[Tensor, "n p"]]:
    """All principal axes, and coordinates on them; a pixel that never changes is an axis itself.

    Leaving such pixels out of PCA saves most of the time: they are a third of all, at 64 x 64.
    """
    changes = images.var(0) > 0
    count = int(changes.sum())
    some = pca(images[:, changes], count)
    weights = torch.zeros(2 * images.shape[1:], dtype=images.dtype)
    weights[changes, :count] = some.weights
    weights[~changes, count:] = torch.eye(images.shape[1] - count).to(weights)
    codes = torch.zeros_like(images)
    codes[:, :count] = (images[:, changes] - some.mean) @ some.weights
    # Rounding turns zeros into numbers up to 1e-8, which would reveal where a sprite is.
    return LinearModel(images.mean(0), weights, 0.0), codes.round(decimals=6)


def reconstruct_heart(model: LinearModel, size: Size) -> dict[str, Float[Array, "m h w"]]:
    """A heart, then what each set in `PICTURED` makes of it, by the order of axes.

    Args:
        model: All axes, largest variance first.
        size: Pixels a side.
    """
    image = torch.from_numpy(render(HEART, size)).flatten(1).double()
    rising = LinearModel(model.mean, model.weights.flip(1), 0.0)
    pixels = LinearModel(model.mean, torch.eye(size**2).double(), 0.0)
    orders = {"falling variance": model, "rising variance": rising, "pixels": pixels}
    return {
        order: torch.cat(
            [image, *(from_axes(each, image, scale_axes(SETS[name], size)) for name in PICTURED)]
        )
        .reshape(-1, size, size)
        .numpy()
        for order, each in orders.items()
    }


def scale_axes(axes: slice, size: int) -> slice:
    """The same part of the axes of smaller images."""
    return slice(axes.start * size**2 // 4096, axes.stop * size**2 // 4096)


def projection_errors(energies: Float[Array, "p"], sets: list[slice]) -> Float[Array, "k"]:
    """Squared error of the projection onto each set: the variance along all other axes."""
    return np.array([np.delete(energies, axes).sum() for axes in sets])


def variance_share(images: Float[Tensor, "n p"], values: Int[Array, "n"]) -> float:
    """Share of the images' variance between the mean images of a factor's values."""
    found, counts = np.unique(values, return_counts=True)
    means = torch.stack([images[values == value].mean(0) for value in found])
    weights = torch.from_numpy(counts / len(values))
    between = (weights[:, None] * (means - images.mean(0)).square()).sum()
    noise = (len(means) - 1) / (len(images) - 1)  # what as many random groups would have
    total = images.var(0, correction=0).sum()
    return float((between / total - noise) / (1 - noise))


def predict_factors(
    codes: Float[Tensor, "n d"], axes: Float[Tensor, "p d"], positions: Int[Array, "n 5"]
) -> dict[str, float]:
    """How well coordinates predict factors: by neighbours or by location, whichever is better.

    The last fifth of the images is predicted from the others: R^2, for the shape accuracy beyond
    a guess. The orientation is left out: it is an angle, and for a square known only up to a
    quarter turn.
    """
    near = predict_by_neighbours(codes, positions)
    located = predict_by_location(codes, axes, positions)
    return {name: max(value, located.get(name, value)) for name, value in near.items()}


def predict_by_neighbours(
    codes: Float[Tensor, "n d"], positions: Int[Array, "n 5"]
) -> dict[str, float]:
    """From the five nearest of the other images."""
    fit = len(codes) * 4 // 5
    nearest = torch.cdist(codes[fit:], codes[:fit]).topk(5, largest=False).indices.numpy()
    found = {}
    for k, factor in enumerate(FACTORS):
        known, wanted = positions[:fit, k][nearest], positions[fit:, k]
        if factor.categorical:
            votes = np.stack([(known == value).sum(1) for value in range(factor.size)])
            right, guess = float((votes.argmax(0) == wanted).mean()), 1 / factor.size
            found[factor.name] = (right - guess) / (1 - guess)
        elif factor.name != "orientation":
            found[factor.name] = r_squared(known.mean(1), wanted)
    return found


def predict_by_location(
    codes: Float[Tensor, "n d"], axes: Float[Tensor, "p d"], positions: Int[Array, "n 5"]
) -> dict[str, float]:
    """Predict x and y by a line from the centre of the squared difference to the mean image.

    Axes of little variance hold edges of either sign. Neighbours do not find them, an eye does.
    """
    side, fit = int(len(axes) ** 0.5), len(codes) * 4 // 5
    energy = (codes @ axes.T).square().reshape(-1, side, side)
    rim, none = torch.arange(side).to(energy), 1e-12  # in the middle, if nothing is changed
    total = energy.sum((1, 2)) + none
    found = {}
    for name, k, along in (("x", 3, 1), ("y", 4, 2)):
        centre = ((energy.sum(along) @ rim + none * rim.mean()) / total).numpy()
        line = np.polyfit(centre[:fit], positions[:fit, k], 1) if np.ptp(centre[:fit]) else [0, 0]
        found[name] = r_squared(np.polyval(line, centre[fit:]), positions[fit:, k])
    return found


def r_squared(guess: Float[Array, "n"], wanted: Int[Array, "n"]) -> float:
    """The share of the variance of `wanted` that a guess explains."""
    return float(1 - np.square(guess - wanted).mean() / wanted.var())
