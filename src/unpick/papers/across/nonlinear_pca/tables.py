"""Tables with known factors, and real ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from unpick.data.bent import Bent
from unpick.data.dataset import Dataset
from unpick.data.idx import MNIST
from unpick.data.synthetic import LinearGaussian, SynthNonlin
from unpick.geometry import decoder_jacobians

NOISE = 0.05  # of roll and spiral
TURNS = 1.25
WORTHLESS = 7  # columns without structure
MNIST_ROWS = 4000


@dataclass(frozen=True, eq=False)
class Planted:
    """A table whose factors are known.

    Attributes:
        x: Rows.
        factors: Their generative factors.
        directions: How each row moves with each factor, without noise.
        noise: Variance of the noise in each column; None if there is none or it differs.
    """

    x: Float[np.ndarray, "n p"]
    factors: Float[np.ndarray, "n k"]
    directions: Float[np.ndarray, "n p k"]
    noise: float | None


def planted(name: str, rows: int, seed: int) -> Planted:
    """Draw a table by name."""
    match name:
        case "linear-gaussian":
            linear = LinearGaussian(noise=0.3, points=rows, data_seed=seed)
            return of_dataset(linear.load(), lambda z: z @ linear.mixing().T, 0.3)
        case "bent":
            bent = Bent(points=rows, data_seed=seed)
            return of_dataset(bent.load(), bent.sheet, bent.noise)
        case "synth-nonlin":
            made = SynthNonlin(points=rows, data_seed=seed + 6)
            return of_dataset(made.load(), made.sheet, None)
        case "roll":
            return roll(rows, seed)
        case "spiral":
            whole, flat = roll(rows, seed), [0, 2]
            directions = whole.directions[:, flat, :1]
            return Planted(whole.x[:, flat], whole.factors[:, :1], directions, whole.noise)
        case "bent, irrelevant columns":
            own = planted("bent", rows, seed)
            other = np.random.default_rng(seed).normal(0, 0.2, size=(rows, WORTHLESS))
            still = np.zeros((rows, WORTHLESS, own.factors.shape[1]))
            return Planted(
                np.concatenate([own.x, other], 1),
                own.factors,
                np.concatenate([own.directions, still], 1),
                None,
            )
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


def of_dataset(
    data: Dataset, sheet: Callable[[Tensor], Tensor], deviation: float | None
) -> Planted:
    """All rows of one of our data sets.

    Args:
        data: The data set.
        sheet: Maps its factors to rows without noise.
        deviation: Of the noise.
    """
    rows = torch.arange(len(data))
    factors = data.factor_values(rows)
    return Planted(
        data.observe(rows).double().numpy(),
        factors.double().numpy(),
        decoder_jacobians(sheet, factors).double().numpy(),
        None if deviation is None else deviation**2,
    )


def roll(rows: int, seed: int) -> Planted:
    """A sheet rolled up along a spiral: its factors are arc length and height, uniform on it."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi * TURNS, 2000)
    radius = 0.5 + angle / (2 * np.pi)
    curve = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    steps = np.diff(curve, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    length = np.concatenate([[0], np.cumsum(lengths)])
    along, height = rng.uniform(0, length[-1], rows), rng.uniform(-0.75, 0.75, rows)
    flat = [np.interp(along, length, column) for column in curve.T]
    x = np.stack([flat[0], height, flat[1]], 1) + NOISE * rng.normal(size=(rows, 3))
    directions = np.zeros((rows, 3, 2))
    directions[:, [0, 2], 0] = (steps / lengths[:, None])[np.searchsorted(length[1:-1], along)]
    directions[:, 1, 1] = 1.0
    return Planted(x, np.stack([along, height], 1), directions, NOISE**2)


@dataclass(frozen=True, eq=False)
class Real:
    """A real table, centred, with a target that nobody who fits components sees."""

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
    """A table that scikit-learn ships, standardised; or MNIST, whose pixels share a unit."""
    if name == "MNIST":
        data, rows = MNIST().load(), torch.arange(MNIST_ROWS)
        x = data.observe(rows).flatten(1).double().numpy()
        return Real(x - x.mean(0), data.factor_values(rows)[:, 0].numpy(), True)
    load, classes = REAL[name]
    found = load()
    return Real(StandardScaler().fit_transform(found.data), found.target, classes)


def halves(rows: int) -> tuple[Int[np.ndarray, "a"], Int[np.ndarray, "b"]]:
    """Two halves of the rows, drawn once."""
    order = np.random.default_rng(0).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]
