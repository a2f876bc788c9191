"""What principal axes of sprites hold (Bhowal et al. 2024, appendix A.8.6)."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.sprites import FACTORS, Size, render
from unpick.models.linear import LinearModel, pca

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


@dataclass(frozen=True, eq=False)
class Survey:
    """Principal axes of sprites, and what was measured with them.

    Attributes:
        model: All axes, largest variance first.
        variances: Along each.
        errors: Of each set of axes in `SETS`, by how axes are taken: squared error, summed over
            pixels, mean over images.
        held: Share of the variance along sets of axes.
        predicted: How well factors are predicted from the same sets, by set, then by factor: 0
            for a guess, 1 for certainty.
        alone: Share of the images' variance that each factor accounts for by itself.
    """

    model: LinearModel
    variances: Float[Array, "p"]
    errors: dict[str, Float[Array, "k"]]
    held: dict[str, float]
    predicted: dict[str, dict[str, float]]
    alone: dict[str, float]


@cache
def survey(size: Size = 64, count: int = 5000) -> Survey:
    """Of sprites drawn at random; sets of axes shrink with the number of pixels."""
    images, positions = drawn(size, count)
    model, codes = axes_of(images)
    variances = codes.square().mean(0).numpy()
    energies = {
        "falling variance": variances,
        "rising variance": variances[::-1],
        "pixels": images.var(0, correction=0).numpy(),
    }
    sets = [scaled(axes, size) for axes in SETS.values()]
    tried = {
        "the images": slice(None),
        "first 10": slice(0, 10),
        "first 1500": scaled(SETS["first 1500"], size),
        "1500 to 2500": scaled(slice(1500, 2500), size),
        "2500 to 3000": scaled(SETS["2500 to 3000"], size),
    }
    return Survey(
        model,
        variances,
        errors={way: left_out(each, sets) for way, each in energies.items()},
        held={name: variances[axes].sum() / variances.sum() for name, axes in tried.items()},
        predicted={
            name: predicted(codes[:, axes], model.weights[:, axes], positions)
            for name, axes in tried.items()
        },
        alone={f.name: share(images, positions[:, k]) for k, f in enumerate(FACTORS)},
    )


def drawn(size: Size, count: int) -> tuple[Float[Tensor, "n p"], Int[Array, "n 5"]]:
    """Sprites, and their places on the grid of factors."""
    draw = np.random.default_rng(0)
    positions = np.stack([draw.integers(factor.size, size=count) for factor in FACTORS], 1)
    parts = [render(part, size) for part in np.array_split(positions, 20)]  # to spare memory
    return torch.from_numpy(np.concatenate(parts)).flatten(1).double(), positions


def axes_of(images: Float[Tensor, "n p"]) -> tuple[LinearModel, Float[Tensor, "n p"]]:
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
    # Rounding makes numbers as large as 1e-8 of zeros; they would tell where a sprite is.
    return LinearModel(images.mean(0), weights, 0.0), codes.round(decimals=6)


def scaled(axes: slice, size: int) -> slice:
    """The same part of the axes of smaller images."""
    return slice(axes.start * size**2 // 4096, axes.stop * size**2 // 4096)


def left_out(energies: Float[Array, "p"], sets: list[slice]) -> Float[Array, "k"]:
    """The squared error of a projection: the variance along all axes but some."""
    return np.array([np.delete(energies, axes).sum() for axes in sets])


def share(images: Float[Tensor, "n p"], values: Int[Array, "n"]) -> float:
    """Of the variance: that of the mean images of a factor's values."""
    found, counts = np.unique(values, return_counts=True)
    means = torch.stack([images[values == value].mean(0) for value in found])
    weights = torch.from_numpy(counts / len(values))
    between = (weights[:, None] * (means - images.mean(0)).square()).sum()
    noise = (len(means) - 1) / (len(images) - 1)  # what as many random groups would have
    total = images.var(0, correction=0).sum()
    return float((between / total - noise) / (1 - noise))


def predicted(
    codes: Float[Tensor, "n d"], axes: Float[Tensor, "p d"], positions: Int[Array, "n 5"]
) -> dict[str, float]:
    """How well axes tell factors, by neighbours, or by the place where they change the image.

    The last fifth of the images is predicted from the others: R^2, for the shape accuracy beyond
    a guess. The orientation is left out, as it is an angle, and for a square known only up to a
    quarter turn.
    """
    near, seen = by_neighbours(codes, positions), by_place(codes, axes, positions)
    return {name: max(value, seen.get(name, value)) for name, value in near.items()}


def by_neighbours(codes: Float[Tensor, "n d"], positions: Int[Array, "n 5"]) -> dict[str, float]:
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
            found[factor.name] = explained(known.mean(1), wanted)
    return found


def by_place(
    codes: Float[Tensor, "n d"], axes: Float[Tensor, "p d"], positions: Int[Array, "n 5"]
) -> dict[str, float]:
    """Position from the centre of the squared difference to the mean image, by a line.

    Axes of little variance hold edges of either sign, which neighbours do not see, but an eye.
    """
    side, fit = int(len(axes) ** 0.5), len(codes) * 4 // 5
    energy = (codes @ axes.T).square().reshape(-1, side, side)
    rim, none = torch.arange(side).to(energy), 1e-12  # in the middle, if nothing is changed
    total = energy.sum((1, 2)) + none
    found = {}
    for name, k, along in (("x", 3, 1), ("y", 4, 2)):
        centre = ((energy.sum(along) @ rim + none * rim.mean()) / total).numpy()
        line = np.polyfit(centre[:fit], positions[:fit, k], 1) if np.ptp(centre[:fit]) else [0, 0]
        found[name] = explained(np.polyval(line, centre[fit:]), positions[fit:, k])
    return found


def explained(guess: Float[Array, "n"], wanted: Int[Array, "n"]) -> float:
    """R^2."""
    return float(1 - np.square(guess - wanted).mean() / wanted.var())
