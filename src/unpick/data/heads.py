"""Rendered heads, in place of the Basel face model renders, which may not be distributed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample, normalize

from unpick.data.cache import cached_array
from unpick.data.dataset import Dataset, Factor

FACTORS = (
    Factor("identity", tuple(map(float, range(50))), categorical=True),
    Factor("azimuth", tuple(np.linspace(-90, 90, 21).tolist())),  # degrees; + turns to our right
    Factor("elevation", tuple(np.linspace(-30, 30, 11).tolist())),  # degrees; + looks up
    Factor("lighting", tuple(np.linspace(-75, 75, 11).tolist())),  # degrees; + from our right
)
HALF = FACTORS[1].size // 2 + 1  # azimuths rendered; heads are symmetric, the others mirror them
TILT = math.radians(25)  # elevation of the lamp
AMBIENT, LAMP = 0.16, 0.84  # shares of the light; they sum to one

# A head is a distance field sampled on a grid of voxels, x to our right, y up, z towards us.
REACH = 1.28  # the grid spans -REACH..REACH
VOXELS = 88
FRAME = 1.2  # half the width of the picture
NEAR = 1.1  # rays start this far in front of the middle of the head
STEPS = 40  # of a ray, at most
SAMPLES = 2  # a pixel is the mean of 2 x 2 rays
SEED = 2009  # of the traits
TRAITS = 14  # of a head, each uniform in -1..1

Point: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True)
class Heads:
    """Heads on the grid of the 3D Faces renders (after Paysan et al. 2009): 127050 grey images.

    The lamp is fixed to the camera, so turning the head to the other side and moving the lamp
    there mirrors the image. The cache on disk holds normals and albedo of half the views (99 MB at
    64 pixels); `read` applies the light.
    """

    name: ClassVar[str] = "heads"
    size: int = 64  # height and width

    def __post_init__(self) -> None:
        if not 8 <= self.size <= 512:
            raise ValueError(f"size must lie in 8..512, got {self.size}")

    def load(self) -> Dataset:
        """Render the views, or map them if they were rendered before."""
        people, _, elevations, _ = (factor.size for factor in FACTORS)
        shape = (people * HALF * elevations, 4, self.size, self.size)
        views = cached_array(f"heads-{self.size}-v1", shape, self._blocks())
        return Dataset(self.name, LitStore(views), FACTORS)

    def _blocks(self) -> Iterator[UInt8[np.ndarray, "rows 4 h w"]]:
        angles = torch.cartesian_prod(
            torch.tensor(FACTORS[1].values[HALF - 1 :]), torch.tensor(FACTORS[2].values)
        )
        for person in range(FACTORS[0].size):
            for some in angles.split(FACTORS[2].size):
                yield render(person, some, self.size).mul(127).add(128).round().byte().numpy()


@dataclass(frozen=True, eq=False)
class LitStore:
    """Images shaded when read, from stored views.

    A view has four channels: albedo times normal (three), and albedo times the visible share of
    the sky. A stored byte means (byte - 128) / 127.
    """

    views: UInt8[np.ndarray, "views 4 h w"]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return (1, *self.views.shape[2:])

    def __len__(self) -> int:
        return math.prod(factor.size for factor in FACTORS)

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n 1 h w"]:
        """Images as float32 in [0, 1]."""
        sizes = tuple(factor.size for factor in FACTORS)
        person, azimuth, elevation, lighting = torch.unravel_index(indices, sizes)
        turn = azimuth - (HALF - 1)
        view = (person * HALF + turn.abs()) * sizes[2] + elevation
        coded = torch.from_numpy(self.views[view.numpy()]).float().sub_(128).div_(127)
        angle = torch.deg2rad(torch.tensor(FACTORS[3].values)[lighting])
        # A head turned to the left is the mirror image of one turned to the right and lit from the
        # other side.
        left = turn < 0
        images = shade(coded, torch.where(left, -angle, angle))
        return torch.where(left[:, None, None, None], images.flip(3), images)


def shade(views: Float[Tensor, "n 4 h w"], angle: Float[Tensor, "n"]) -> Float[Tensor, "n 1 h w"]:
    """Shade views by Lambert's law: a distant lamp at `angle` to our right, and ambient light."""
    level = math.cos(TILT)
    height = torch.full_like(angle, math.sin(TILT))
    lamp = torch.stack([level * angle.sin(), height, level * angle.cos()], dim=1)
    direct = (views[:, :3] * lamp[:, :, None, None]).sum(1, keepdim=True).clamp_(min=0)
    return AMBIENT * views[:, 3:] + LAMP * direct


def render(
    person: int, angles: Float[Tensor, "n 2"], size: int = 64
) -> Float[Tensor, "n 4 {size} {size}"]:
    """Render one head at these azimuths and elevations, with the channels of `LitStore`.

    Rays are parallel. Each advances by the value of the distance field (sphere tracing) until it
    reaches the surface or has passed the head.
    """
    field, surface = head(person)
    turn = to_camera(angles)  # its rows are the camera's axes in the frame of the head
    fine = size * SAMPLES
    ticks = ((torch.arange(fine) + 0.5) / fine * 2 - 1) * FRAME
    down, across = torch.meshgrid(ticks, ticks, indexing="ij")
    plane = torch.stack([across, -down, torch.full_like(down, NEAR)], dim=2).reshape(-1, 3)
    place = (plane @ turn).flatten(0, 1)
    ahead = -turn[:, 2].repeat_interleave(len(plane), dim=0)
    walking = torch.arange(len(place))
    gone = torch.zeros(len(place))
    for _ in range(STEPS):
        here = place[walking]
        free = look_up(field, here)[:, 0].clamp(min=0.002)
        place[walking] = here + free[:, None] * ahead[walking]
        gone[walking] += free
        walking = walking[(free > 0.01) & (gone[walking] < 2 * NEAR)]
    found = look_up(surface, place) * (look_up(field, place) < 0.02)
    image = found.reshape(len(angles), -1, 4)
    image = torch.cat([image[..., :3] @ turn.mT, image[..., 3:]], dim=2)
    return avg_pool2d(image.mT.reshape(-1, 4, fine, fine), SAMPLES)


def to_camera(angles: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3 3"]:
    """Rotations that turn a head to our right by its azimuth, then raise it by its elevation."""
    (sa, se), (ca, ce) = torch.deg2rad(angles).sin().T, torch.deg2rad(angles).cos().T
    zero = torch.zeros_like(sa)
    rows = [ca, zero, sa, -se * sa, ce, se * ca, -ce * sa, -se, ce * ca]
    return torch.stack(rows, dim=1).reshape(-1, 3, 3)


def look_up(volume: Float[Tensor, "c d h w"], place: Float[Tensor, "n 3"]) -> Float[Tensor, "n c"]:
    """Interpolate between voxels; beyond the grid its border continues, which extends the neck."""
    grid = (place / REACH)[None, :, None, None]
    values = grid_sample(volume[None], grid, padding_mode="border", align_corners=True)
    return values[0, :, :, 0, 0].T


@lru_cache(maxsize=1)
def head(person: int) -> tuple[Float[Tensor, "1 d h w"], Float[Tensor, "4 d h w"]]:
    """Distance field of a head, and the channels of `LitStore` in the head's frame."""
    generator = torch.Generator().manual_seed(SEED)
    traits = (2 * torch.rand(FACTORS[0].size, TRAITS, generator=generator) - 1)[person].tolist()
    axis = torch.linspace(-REACH, REACH, VOXELS)
    grid = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij")[::-1], dim=3)
    field, albedo = (
        torch.cat([half.flip(2), half], dim=2)[None]
        for half in head_surface(grid[:, :, VOXELS // 2 :], traits)
    )
    slope = torch.gradient(field[0], spacing=2 * REACH / (VOXELS - 1))
    normal = normalize(torch.stack(slope[::-1]), dim=0)
    # Ambient occlusion: the distance field along the normal says how much sky a point sees.
    out = normal.movedim(0, 3)
    free = [look_up(field, (grid + far * out).reshape(-1, 3)) / far for far in (0.1, 0.3)]
    openness = (0.6 * (free[0] + free[1])).clamp(0, 1).reshape(field.shape)
    return field, albedo * torch.cat([normal * (0.6 + 0.4 * openness), openness])


def head_surface(
    p: Float[Tensor, "d h w 3"], traits: list[float]
) -> tuple[Float[Tensor, "d h w"], Float[Tensor, "d h w"]]:
    """Approximate signed distance and albedo at points with x >= 0; the head is symmetric.

    The head is about 2 high and the eyes are at its middle, y = 0.
    """
    width, tall, jaw, chin, cheek, brow, long, broad, apart, smile, lip, ear, neck, tone = traits
    side = 0.06 * width
    eye = (0.27 + 0.03 * apart, 0.0, 0.555)
    nose = -0.37 - 0.07 * long  # its height, as that of the mouth
    mouth, wide, thick = nose - 0.22, 0.25 + 0.035 * smile, 1 + 0.3 * lip
    throat = 0.36 + 0.05 * neck

    body = ball(p, (0.0, 0.22, -0.14), (0.66 + side, 0.72 + 0.05 * tall, 0.82))  # cranium
    for part, blend in (
        (ball(p, (0.0, -0.32, 0.14), (0.56 + side, 0.64, 0.60)), 0.25),  # face
        (ball(p, (0.30 + 0.07 * jaw, -0.56, 0.14), (0.16, 0.20, 0.26)), 0.3),  # jaw
        (ball(p, (0.0, -0.85 - 0.05 * chin, 0.52), (0.20 + 0.05 * jaw, 0.14, 0.18)), 0.22),  # chin
        (ball(p, (0.34, -0.24, 0.46), (0.18, 0.17, 0.16 + 0.06 * cheek)), 0.25),  # cheek
        (ball(p, (0.20, 0.15, 0.58), (0.20, 0.06, 0.10 + 0.03 * brow)), 0.15),  # brow
        (ball(p, (0.0, mouth - 0.02, 0.56), (0.30, 0.22, 0.20)), 0.18),  # what carries the lips
    ):
        body = merge(body, part, blend)
    body = carve(body, ball(p, (eye[0], 0.01, 0.80), (0.17, 0.10, 0.15)), 0.12)  # socket
    for part, blend in (
        (ball(p, eye, (0.13, 0.115, 0.125)), 0.03),
        (rod(p, (0.0, 0.12, 0.64), (0.0, nose, 0.82), 0.05, 0.085 + 0.015 * broad), 0.12),  # nose
        (ball(p, (0.095 + 0.025 * broad, nose - 0.02, 0.75), (0.07, 0.06, 0.08)), 0.06),  # nostril
        (ball(p, (0.0, mouth + 0.035, 0.765), (wide, 0.04 * thick, 0.055)), 0.06),  # upper lip
        (ball(p, (0.0, mouth - 0.045, 0.755), (0.8 * wide, 0.045 * thick, 0.06)), 0.06),  # lower
        (ball(p, (0.68 + side, -0.06, -0.14), (0.055, 0.19 + 0.03 * ear, 0.11)), 0.09),  # ear
        (rod(p, (0.0, -0.6, -0.22), (0.0, -2.0, -0.4), throat, throat), 0.15),  # neck
    ):
        body = merge(body, part, blend)
    body = carve(body, ball(p, (0.0, mouth, 0.84), (wide, 0.012, 0.08)), 0.03)  # between the lips
    body = carve(
        body, ball(p, (0.76 + side, -0.05, -0.09), (0.05, 0.10, 0.05)), 0.06
    )  # in the ear

    x, y, z = p.unbind(3)
    u = x - eye[0]
    front = torch.sigmoid((z - 0.3) / 0.05)
    lips = torch.exp(-((x / wide) ** 4) - ((y - mouth) / (0.08 * thick)) ** 2)
    hair = torch.exp(-((u / 0.16) ** 4) - ((y - 0.17 + 0.8 * u**2) / 0.035) ** 2)  # eyebrow
    skin = (0.82 + 0.15 * tone) * (1 - front * (0.4 * lips + 0.55 * hair))
    white = 0.12 + 0.8 * torch.sigmoid(((u**2 + y**2).sqrt() - 0.055) / 0.01)  # with a dark iris
    on_eye = front * torch.sigmoid((0.14 - (p - torch.tensor(eye)).norm(dim=3)) / 0.01)
    return body, torch.lerp(skin, white, on_eye)


def ball(p: Float[Tensor, "d h w 3"], centre: Point, radii: Point) -> Float[Tensor, "d h w"]:
    """Distance to an ellipsoid, exact to first order at its surface."""
    q = (p - torch.tensor(centre)) / torch.tensor(radii)
    size = q.norm(dim=3)
    return size * (size - 1) / (q / torch.tensor(radii)).norm(dim=3).clamp(min=1e-6)


def rod(
    p: Float[Tensor, "d h w 3"], start: Point, end: Point, thin: float, thick: float
) -> Float[Tensor, "d h w"]:
    """Distance to a rod with round ends whose radius grows from `thin` to `thick`."""
    along = torch.tensor(end) - torch.tensor(start)
    q = p - torch.tensor(start)
    share = ((q @ along) / along.dot(along)).clamp(0, 1)
    radius = thin + (thick - thin) * share
    return (q - share[..., None] * along).norm(dim=3) - radius


def merge(
    a: Float[Tensor, "d h w"], b: Float[Tensor, "d h w"], blend: float
) -> Float[Tensor, "d h w"]:
    """The union of two bodies, its crease filled within `blend`."""
    return torch.minimum(a, b) - (blend - (a - b).abs()).clamp(min=0) ** 2 / (4 * blend)


def carve(
    a: Float[Tensor, "d h w"], b: Float[Tensor, "d h w"], blend: float
) -> Float[Tensor, "d h w"]:
    """The first body without the second, its edge rounded within `blend`."""
    return -merge(-a, b, blend)
