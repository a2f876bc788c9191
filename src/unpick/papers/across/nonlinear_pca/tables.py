"""Tables with known factors, and real ones."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from unpick.data.bent import Bent
from unpick.data.dataset import Dataset
from unpick.data.synthetic import LinearGaussian, SynthNonlin

NOISE = 0.05  # of roll and spiral
TURNS = 1.25
WORTHLESS = 7  # columns without structure


@dataclass(frozen=True, eq=False)
class Planted:
    """A table whose factors are known.

    Attributes:
        x: Rows.
        factors: Their generative factors.
        noise: Variance of the noise in each column; None if there is none or it differs.
    """

    x: Float[np.ndarray, "n p"]
    factors: Float[np.ndarray, "n k"]
    noise: float | None


def planted(name: str, rows: int, seed: int) -> Planted:
    """Draw a table by name."""
    match name:
        case "linear-gaussian":
            return of_dataset(LinearGaussian(noise=0.3, points=rows, data_seed=seed).load(), 0.3)
        case "bent":
            data = Bent(points=rows, data_seed=seed)
            return of_dataset(data.load(), data.noise)
        case "synth-nonlin":
            return of_dataset(SynthNonlin(points=rows, data_seed=seed + 6).load(), None)
        case "roll":
            return roll(rows, seed)
        case "spiral":
            whole = roll(rows, seed)
            return Planted(whole.x[:, [0, 2]], whole.factors[:, :1], whole.noise)
        case "bent, irrelevant columns":
            own = planted("bent", rows, seed)
            other = np.random.default_rng(seed).normal(0, 0.2, size=(rows, WORTHLESS))
            return Planted(np.concatenate([own.x, other], 1), own.factors, None)
    raise ValueError(f"unknown table {name!r}; there are {', '.join(PLANTED)}")


PLANTED = (
    "linear-gaussian",
    "bent",
    "roll",
    "spiral",
    "synth-nonlin",
    "bent, irrelevant columns",
)
CURVED = PLANTED[1:]


def of_dataset(data: Dataset, deviation: float | None) -> Planted:
    """All rows of one of our data sets."""
    rows = torch.arange(len(data))
    x, factors = data.observe(rows).double().numpy(), data.factor_values(rows).double().numpy()
    return Planted(x, factors, None if deviation is None else deviation**2)


def roll(rows: int, seed: int) -> Planted:
    """A sheet rolled up along a spiral: its factors are arc length and height, uniform on it."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi * TURNS, 2000)
    radius = 0.5 + angle / (2 * np.pi)
    curve = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    along, height = rng.uniform(0, length[-1], rows), rng.uniform(-0.75, 0.75, rows)
    flat = [np.interp(along, length, column) for column in curve.T]
    x = np.stack([flat[0], height, flat[1]], 1) + NOISE * rng.normal(size=(rows, 3))
    return Planted(x, np.stack([along, height], 1), NOISE**2)


@dataclass(frozen=True, eq=False)
class Real:
    """A real table, standardised, with a target that nobody who fits components sees."""

    x: Float[np.ndarray, "n p"]
    target: Shaped[np.ndarray, "n"]
    classes: bool


REAL = {
    "wine": (load_wine, True),
    "diabetes": (load_diabetes, False),
    "breast cancer": (load_breast_cancer, True),
    "digits": (load_digits, True),
}


def real(name: str) -> Real:
    """A table that scikit-learn ships."""
    load, classes = REAL[name]
    found = load()
    return Real(StandardScaler().fit_transform(found.data), found.target, classes)


def halves(rows: int) -> tuple[Int[np.ndarray, "a"], Int[np.ndarray, "b"]]:
    """Two halves of the rows, drawn once."""
    order = np.random.default_rng(0).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]
