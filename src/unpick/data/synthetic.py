"""Point clouds with known generative factors, for which the optimal model is known."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data.dataset import ArrayStore, Dataset, Factor

SQUARE = (Factor("first"), Factor("second"))
MOST_VALUES = 10**8  # coordinates of a point cloud, or points of three and six coordinates


def unit_square(points: int, seed: int) -> tuple[Float[Tensor, "n 2"], torch.Generator]:
    """Uniform points on [0, 1]^2, and the generator that drew them, for further draws."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(points, 2, generator=generator), generator


def check_points(points: int, dimensions: int = 1) -> None:
    """Raise unless `split` can make three parts of so many points, and memory can hold them."""
    if points < 10:
        raise ValueError(f"points must be at least 10, got {points}")
    if points * dimensions > MOST_VALUES:
        most = MOST_VALUES // dimensions
        raise ValueError(f"points must be at most {most} here, got {points}")


def check_noise(noise: float) -> None:
    """Raise unless this is a standard deviation."""
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise must be finite and not negative, got {noise}")


@dataclass(frozen=True)
class SynthLin:
    """The unit square, stretched along one side and rotated in 3D (Zietlow 2022, section 3.3.1).

    The stretch is the ratio of the two singular values of the embedding. At 1 they coincide, and
    the axes cannot be identified (section 3.3.4).
    """

    name: ClassVar[str] = "synth-lin"
    ratio: float = 2.0  # length of the stretched side
    centred: bool = False  # subtract the mean; training then rotates the latents faster
    points: int = 50_000
    data_seed: int = 0

    def __post_init__(self) -> None:
        check_points(self.points)
        if not 0 < self.ratio < math.inf:
            raise ValueError(f"ratio must be positive and finite, got {self.ratio}")

    def load(self) -> Dataset:
        """Draw the points."""
        square, _ = unit_square(self.points, self.data_seed)
        flat = torch.cat(
            [square * torch.tensor([self.ratio, 1.0]), torch.zeros(self.points, 1)], 1
        )
        x = flat @ rotation((1.0, -1.0, 1.0), torch.pi / 4).T
        return Dataset(self.name, ArrayStore(x - x.mean(0) if self.centred else x), SQUARE, square)


def rotation(axis: tuple[float, float, float], angle: float) -> Float[Tensor, "3 3"]:
    """The rotation by `angle` about `axis`, as the exponential of its generator."""
    x, y, z = (torch.tensor(axis) / torch.tensor(axis).norm()).tolist()
    return torch.linalg.matrix_exp(angle * torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]]))


@dataclass(frozen=True)
class SynthNonlin:
    """The unit square mapped by a random tanh network 2-10-6 (Zietlow 2022, section 3.3.1).

    The thesis does not give the distribution of the weights; see docs/decisions.md.
    """

    name: ClassVar[str] = "synth-nonlin"
    points: int = 50_000
    data_seed: int = 0  # also draws the network

    def __post_init__(self) -> None:
        check_points(self.points)

    def sheet(self, square: Float[Tensor, "n 2"]) -> Float[Tensor, "n 6"]:
        """Map points of the unit square by the network, which is drawn after the data's points."""
        _, generator = unit_square(self.points, self.data_seed)
        x = square
        for inputs, outputs in ((2, 10), (10, 6)):
            # Uniform, with the variance of Glorot & Bengio (2010).
            draws = torch.rand(inputs + 1, outputs, generator=generator)
            layer = (2 * draws - 1) * math.sqrt(6 / (inputs + outputs))
            x = torch.tanh(x @ layer[:-1] + layer[-1])
        return x

    def load(self) -> Dataset:
        """Draw the points and the network."""
        square, _ = unit_square(self.points, self.data_seed)
        return Dataset(self.name, ArrayStore(self.sheet(square)), SQUARE, square)


@dataclass(frozen=True)
class Circles:
    """Points on small circles whose centres lie on larger ones (after Allen 2024, figure 2).

    As beta grows, neighbours on a small circle merge first, then each small circle, then all.
    """

    name: ClassVar[str] = "circles"
    points: int = 10_000
    groups: int = 3  # clusters of small circles
    circles: int = 4  # small circles in a cluster
    data_seed: int = 0

    def __post_init__(self) -> None:
        check_points(self.points)
        got = f"{self.groups} and {self.circles}"
        if min(self.groups, self.circles) < 1:
            raise ValueError(f"groups and circles must be at least 1, got {got}")
        if max(self.groups, self.circles) > self.points:
            raise ValueError(f"groups and circles must be at most the points, got {got}")

    def load(self) -> Dataset:
        """Draw the points."""
        generator = torch.Generator().manual_seed(self.data_seed)
        group = torch.randint(self.groups, (self.points,), generator=generator)
        circle = torch.randint(self.circles, (self.points,), generator=generator)
        angle = 2 * torch.pi * torch.rand(self.points, generator=generator)

        def on_circle(turn: Float[Tensor, "n"]) -> Float[Tensor, "n 2"]:
            return torch.stack([turn.cos(), turn.sin()], dim=1)

        x = (
            3.0 * on_circle(2 * torch.pi * group / self.groups)
            + 1.0 * on_circle(2 * torch.pi * circle / self.circles)
            + 0.3 * on_circle(angle)
        )
        factors = (
            Factor("group", tuple(map(float, range(self.groups))), categorical=True),
            Factor("circle", tuple(map(float, range(self.circles))), categorical=True),
            Factor("angle"),
        )
        values = torch.stack([group.float(), circle.float(), angle], dim=1)
        return Dataset(self.name, ArrayStore(x), factors, values)


@dataclass(frozen=True)
class LinearGaussian:
    """x = W z + noise with chosen singular values, which PPCA recovers (Allen 2024, section 2)."""

    name: ClassVar[str] = "linear-gaussian"
    singular_values: tuple[float, ...] = (3.0, 2.0, 1.0)
    dimensions: int = 10
    noise: float = 0.1  # standard deviation
    points: int = 50_000
    data_seed: int = 0

    def __post_init__(self) -> None:
        check_points(self.points, max(1, self.dimensions))
        if not 0 < len(self.singular_values) <= self.dimensions:
            raise ValueError(
                f"singular_values must have 1 to {self.dimensions} entries (dimensions), "
                f"got {len(self.singular_values)}"
            )
        if not all(0 <= value < math.inf for value in self.singular_values):
            raise ValueError(
                f"singular_values must be finite and not negative, got {self.singular_values}"
            )
        check_noise(self.noise)

    def mixing(self) -> Float[Tensor, "p d"]:
        """W: random orthonormal columns, scaled by the singular values in the given order."""
        generator = torch.Generator().manual_seed(self.data_seed)
        d = len(self.singular_values)
        basis, _ = torch.linalg.qr(torch.randn(self.dimensions, d, generator=generator))
        return basis * torch.tensor(self.singular_values)

    def load(self) -> Dataset:
        """Draw the sources and the noise."""
        generator = torch.Generator().manual_seed(self.data_seed + 1)
        z = torch.randn(self.points, len(self.singular_values), generator=generator)
        noise = torch.randn(self.points, self.dimensions, generator=generator)
        factors = tuple(Factor(f"source {k}") for k in range(z.shape[1]))
        return Dataset(self.name, ArrayStore(z @ self.mixing().T + self.noise * noise), factors, z)
