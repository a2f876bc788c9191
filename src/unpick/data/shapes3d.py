"""An object in a coloured room: a rendered look-alike of 3D Shapes."""

import colorsys
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, normalize, one_hot

from unpick.data.cache import cached_array
from unpick.data.dataset import Dataset, Factor

HUES = tuple(k / 10 for k in range(10))
FACTORS = (
    Factor("floor hue", HUES),
    Factor("wall hue", HUES),
    Factor("object hue", HUES),
    Factor("scale", tuple(np.linspace(0.75, 1.25, 8).tolist())),
    Factor("shape", (0.0, 1.0, 2.0, 3.0), categorical=True),  # cube, cylinder, sphere, capsule
    Factor("orientation", tuple(np.linspace(-30, 30, 15).tolist())),
)
VIEWS = tuple(factor.size for factor in FACTORS[3:])  # sizes of the factors that are no colour

# A pixel is a mixture of layers: three surfaces whose colour is a factor, and two fixed colours.
LAYERS = ("floor", "wall", "object", "sky", "white")
FIXED = torch.tensor([[0.40, 0.80, 0.95], [1.0, 1.0, 1.0]])

# The scene, in units of the sphere's radius at scale 1. The floor is z = 0; z points up.
ROOM = 5.0  # half the side of the square room
WALL = 3.0  # height of the walls; the room is open to the sky
DISTANCE, HEIGHT, AIM = 6.0, 3.2, 1.5  # of the camera: from the axis, above the floor, its aim
OPENING = math.tan(math.radians(23))  # half the angle of view
UP = torch.tensor([0.0, 0.0, 1.0])
LAMP = normalize(torch.tensor([-0.5, -0.6, 1.0]), dim=0)  # direction of the light
SAMPLES = 3  # a pixel is the mean of 3 x 3 rays

Hit: TypeAlias = tuple[Float[Tensor, "n p 1"], Float[Tensor, "n p 3"]]  # distance, outward normal
Interval: TypeAlias = tuple[Float[Tensor, "n p 1"], Float[Tensor, "n p 1"]]  # enters, leaves


@dataclass(frozen=True)
class Shapes3D:
    """Rooms on the grid of 3D Shapes (Burgess and Kim 2018): 480000 images in RGB.

    Orientation is the azimuth of the camera; the lamp is fixed in the room. Only 480 views are
    rendered. A pixel is linear in the colours, so `read` mixes the colours into a view.
    """

    name: ClassVar[str] = "shapes3d"
    size: int = 64  # height and width

    def __post_init__(self) -> None:
        if not 8 <= self.size <= 512:
            raise ValueError(f"size must lie in 8..512, got {self.size}")

    def load(self) -> Dataset:
        """Render the views, or read them if they were rendered before."""
        shape = (math.prod(VIEWS), len(LAYERS), self.size, self.size)
        views = cached_array(f"shapes3d-{self.size}-v1", shape, self._blocks())
        return Dataset(self.name, ColouredStore(torch.from_numpy(np.array(views))), FACTORS)

    def _blocks(self) -> Iterator[UInt8[np.ndarray, "rows layers h w"]]:
        every = torch.cartesian_prod(*(torch.arange(size) for size in VIEWS))
        for views in every.split(VIEWS[2]):
            # Truncated, not rounded: the layers of a pixel must sum to at most one.
            yield render(views, self.size).mul(255).byte().numpy()


@dataclass(frozen=True, eq=False)
class ColouredStore:
    """Images composed when read: the share of every layer in a pixel, times the layer's colour."""

    views: UInt8[Tensor, "views layers h w"]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return (3, *self.views.shape[2:])

    def __len__(self) -> int:
        return len(HUES) ** 3 * len(self.views)

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n 3 h w"]:
        """Images as float32 in [0, 1]."""
        palette = torch.tensor([colorsys.hsv_to_rgb(hue, 1.0, 1.0) for hue in HUES])
        floor, wall, thing, view = torch.unravel_index(
            indices, (len(HUES), len(HUES), len(HUES), len(self.views))
        )
        hues = torch.stack([floor, wall, thing], dim=1)
        colours = torch.cat([palette[hues], FIXED.expand(len(indices), -1, -1)], dim=1) / 255
        layers = self.views[view].flatten(2).float()
        return torch.bmm(colours.mT, layers).reshape(-1, *self.shape)


def render(views: Int[Tensor, "n 3"], size: int = 64) -> Float[Tensor, "n layers {size} {size}"]:
    """Share of every layer in each pixel, at these grid positions of scale, shape, orientation.

    The shares of a pixel sum to at most one, so colours stay in [0, 1].
    """
    fine = size * SAMPLES
    image = torch.empty(len(views), len(LAYERS), fine, fine)
    for kind, solid in enumerate((cube, cylinder, sphere, capsule)):
        chosen = views[:, 1] == kind
        scale = torch.tensor(FACTORS[3].values)[views[chosen, 0], None, None]
        degrees = torch.tensor(FACTORS[5].values)[views[chosen, 2], None, None]
        origin, rays = camera(degrees, fine)
        distance, normal = solid(origin / scale, rays)  # a nearer camera makes a larger object
        on_object = torch.isfinite(distance)
        seen = torch.where(on_object, object_light(normal, rays), room_light(origin, rays, scale))
        image[chosen] = seen.mT.reshape(-1, *image.shape[1:])
    return avg_pool2d(image, SAMPLES)


def camera(
    degrees: Float[Tensor, "n 1 1"], pixels: int
) -> tuple[Float[Tensor, "n 1 3"], Float[Tensor, "n p 3"]]:
    """Position of the camera and unit directions of its rays, rows from the top."""
    sin, cos = torch.deg2rad(degrees).sin(), torch.deg2rad(degrees).cos()
    right = torch.cat([cos, sin, 0 * sin], dim=2)
    origin = DISTANCE * torch.cat([sin, -cos, 0 * sin], dim=2) + HEIGHT * UP
    ahead = normalize(AIM * UP - origin, dim=2)
    ticks = ((torch.arange(pixels) + 0.5) / pixels * 2 - 1) * OPENING
    down, across = (t.reshape(1, -1, 1) for t in torch.meshgrid(ticks, ticks, indexing="ij"))
    rays = ahead + across * right - down * torch.linalg.cross(right, ahead, dim=2)
    return origin, normalize(rays, dim=2)


# The solids, at scale 1 and standing on the floor. A ray is inside a convex body on an interval of
# its length. For an intersection of bodies it is the intersection of their intervals.


def cube(origin: Float[Tensor, "n 1 3"], rays: Float[Tensor, "n p 3"]) -> Hit:
    """An upright cube."""
    half = 0.8
    start = origin - half * UP
    distance = entry_distance(slab_interval(start, rays, half))
    place = start + distance * rays
    return distance, one_hot(place.abs().argmax(2), 3) * place.sign()


def cylinder(origin: Float[Tensor, "n 1 3"], rays: Float[Tensor, "n p 3"]) -> Hit:
    """An upright cylinder."""
    half, radius = 0.85, 0.85
    start = origin - half * UP
    tube = ball_interval(start[..., :2], rays[..., :2], radius)
    layer = slab_interval(start[..., 2:], rays[..., 2:], half)
    distance = entry_distance(intersect(tube, layer))
    place = start + distance * rays
    return distance, torch.where(layer[0] > tube[0], UP, place * (1 - UP) / radius)


def sphere(origin: Float[Tensor, "n 1 3"], rays: Float[Tensor, "n p 3"]) -> Hit:
    """A ball of radius 1."""
    start = origin - UP
    distance = entry_distance(ball_interval(start, rays, 1.0))
    return distance, start + distance * rays


def capsule(origin: Float[Tensor, "n 1 3"], rays: Float[Tensor, "n p 3"]) -> Hit:
    """An upright cylinder with a ball at either end."""
    half, radius = 0.55, 0.65
    start = origin - (half + radius) * UP
    tube = ball_interval(start[..., :2], rays[..., :2], radius)
    distance = entry_distance(intersect(tube, slab_interval(start[..., 2:], rays[..., 2:], half)))
    for end in (-half * UP, half * UP):
        distance = torch.minimum(
            distance, entry_distance(ball_interval(start - end, rays, radius))
        )
    place = start + distance * rays
    return distance, (place - (place * UP).clamp(-half, half)) / radius


def ball_interval(
    start: Float[Tensor, "n 1 d"], rays: Float[Tensor, "n p d"], radius: float
) -> Interval:
    """Interval of a ray in the ball around 0 or, in two coordinates, in an upright tube."""
    a = (rays**2).sum(2, keepdim=True)
    b = (rays * start).sum(2, keepdim=True)
    c = (start**2).sum(2, keepdim=True) - radius**2
    root = (b**2 - a * c).sqrt()  # nan for a miss, so comparisons with it are False
    return (-b - root) / a, (-b + root) / a


def slab_interval(
    start: Float[Tensor, "n 1 d"], rays: Float[Tensor, "n p d"], half: float
) -> Interval:
    """Interval of a ray where every coordinate is within `half` of 0: a cube, or a layer."""
    a, b = (-half - start) / rays, (half - start) / rays
    return torch.minimum(a, b).amax(2, keepdim=True), torch.maximum(a, b).amin(2, keepdim=True)


def intersect(one: Interval, other: Interval) -> Interval:
    """Intersection of two intervals of a ray."""
    return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])


def entry_distance(interval: Interval) -> Float[Tensor, "n p 1"]:
    """Distance at which a ray enters the body; infinite for a miss."""
    return torch.where(interval[0] < interval[1], interval[0], torch.inf)


def object_light(
    normal: Float[Tensor, "n p 3"], rays: Float[Tensor, "n p 3"]
) -> Float[Tensor, "n p layers"]:
    """Layers of the object: light from the sky and the lamp, and a white specular highlight."""
    lamp = (normal * LAMP).sum(2, keepdim=True).clamp(min=0)
    gloss = (normal * normalize(LAMP - rays, dim=2)).sum(2, keepdim=True).clamp(min=0)
    white = 0.3 * gloss**30
    colour = (0.54 + 0.08 * normal[..., 2:] + 0.38 * lamp) * (1 - white)
    zero = torch.zeros_like(white)
    return torch.cat([zero, zero, colour, zero, white], dim=2)


def room_light(
    origin: Float[Tensor, "n 1 3"], rays: Float[Tensor, "n p 3"], scale: Float[Tensor, "n 1 1"]
) -> Float[Tensor, "n p layers"]:
    """Layers of the floor with the object's soft shadow, of the walls and of the sky.

    The shadow treats the object as a ball. It depends on the part of the sky that the ball hides
    from a point of the floor, and on how close the line from that point to the lamp passes by.
    """
    walls = (ROOM * rays[..., :2].sign() - origin[..., :2]) / rays[..., :2]
    to_wall, side = walls.min(2, keepdim=True)
    to_floor = torch.where(rays[..., 2:] < 0, -origin[..., 2:] / rays[..., 2:], torch.inf)
    on_floor = to_floor < to_wall
    place = origin + torch.minimum(to_floor, to_wall) * rays
    height = place[..., 2:]

    to_ball = 0.9 * scale * UP - place
    far = to_ball.norm(dim=2, keepdim=True)
    hidden = 0.9 * scale * (0.9 * scale / far) ** 2 / far
    along = (to_ball * LAMP).sum(2, keepdim=True)
    passing = (to_ball - along * LAMP).norm(dim=2, keepdim=True) / scale
    shadow = ((1.15 - passing) / 0.5).clamp(0, 1)
    floor = on_floor * (1 - 0.5 * hidden.clamp(0, 1)) * (1 - 0.3 * shadow)

    on_wall = ~on_floor & (height < WALL)
    facing = torch.where(side == 0, torch.where(rays[..., :1] > 0, 0.9, 0.78), 0.98)
    wall = on_wall * facing * (0.9 + 0.1 * height / WALL)
    sky = (~on_floor & ~on_wall).float()
    haze = (0.25 - rays[..., 2:]).clamp(0, 1)  # the sky pales towards the horizon
    return torch.cat([floor, wall, 0 * sky, sky * (1 - haze), sky * haze], dim=2)
