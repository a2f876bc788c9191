"""The two checks that most claims need: on drawn instances, and of an order in the noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from unpick.study.ledger.entry import Evidence
from unpick.study.ledger.instances import KINDS, Kind

DEGENERATE: set[Kind] = {"parallel", "flat", "close"}
Reading = TypeVar("Reading")
Instance = TypeVar("Instance")


@dataclass(frozen=True)
class Everywhere(Generic[Reading, Instance]):
    """Check a universal claim on drawn instances of every kind.

    Attributes:
        violation: Relative error of a reading at an instance; 0 or less if it holds there.
        draw: Draws an instance of a kind.
        what: The instances in words, in the plural.
        kinds: The kinds of instances; almost degenerate ones too.
        count: Instances a kind.
        tolerance: Relative error allowed for rounding and the precision of searches.
        names: Names of the parts of an instance, to print a counterexample.
    """

    violation: Callable[[Reading, Instance], float]
    draw: Callable[[np.random.Generator, Kind], Instance]
    what: str
    kinds: tuple[Kind, ...] = KINDS
    count: int = 30
    tolerance: float = 1e-9
    names: tuple[str, ...] = ()

    def __call__(self, reading: Reading) -> Evidence:
        """Try all instances; the counterexample printed is the one with the fewest numbers."""
        draw = np.random.default_rng(0)
        instances = [self.draw(draw, kind) for kind in self.kinds for _ in range(self.count)]
        violations = np.array([self.violation(reading, instance) for instance in instances])
        odd = ", nearly degenerate ones among them" if DEGENERATE & {*self.kinds} else ""
        text = f"{len(instances)} {self.what}{odd}"
        # `not <=` and not `>`: nan counts as broken
        broken = [k for k, size in enumerate(violations) if not size <= self.tolerance]
        if not broken:
            worst = violations.max()
            off = f"off by {worst:.0e} at most" if worst > 0 else "none is off"
            return Evidence(True, f"{text}: {off} ({self.tolerance:.0e} allowed)")
        smallest = min(broken, key=lambda k: (_numbers(instances[k]), -violations[k]))
        example = self._describe(instances[smallest])
        return Evidence(
            False,
            f"{text}: {len(broken)} break it, such as {example}, which is off by "
            f"{violations[smallest]:.2g}",
        )

    def _describe(self, instance: Instance) -> str:
        """An instance as text, in few digits."""
        parts = instance if isinstance(instance, tuple) else (instance,)
        names = self.names or ("",) * len(parts)
        with np.printoptions(precision=3, suppress=True):
            words = [
                f"{part:.3g}" if isinstance(part, float) else " ".join(str(part).split())
                for part in parts
            ]
        return " and ".join(f"{n} = {w}" if n else w for n, w in zip(names, words, strict=True))


@dataclass(frozen=True)
class Order(Generic[Reading]):
    """Check that the error of an approximation vanishes with the noise at some order at least.

    Attributes:
        error: Relative error of a reading at a scale of the noise.
        order: The power of the scale that is claimed; half a power less passes.
        what: The error in words, and what it is relative to.
        scales: Scales of the noise, falling.
        noise: The noise in words.
    """

    error: Callable[[Reading, float], float]
    order: float
    what: str
    scales: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01)
    noise: str = "noise"

    def __call__(self, reading: Reading) -> Evidence:
        """Measure the power between the two smallest scales."""
        errors = [abs(self.error(reading, scale)) for scale in self.scales]
        pairs = tuple(zip(self.scales, errors, strict=True))
        if max(errors[-2:]) < 1e-12:
            return Evidence(True, f"{self.what}: equal to rounding", "exact", pairs)
        with np.errstate(divide="ignore"):
            powers = np.diff(np.log(errors)) / np.diff(np.log(self.scales))
        size = (
            f"relative error ~ {self.noise}^{powers[-1]:.1f}, "
            f"{errors[1]:.1g} at {self.noise} {self.scales[1]:g}"
        )
        holds = bool(powers[-1] > self.order - 0.5 and errors[-1] < 0.1)
        listed = ", ".join(f"{error:.1e} at {scale:g}" for scale, error in pairs)
        return Evidence(holds, f"{self.what}: {listed}", size, pairs)


def _numbers(instance: object) -> int:
    """How many numbers an instance consists of."""
    parts = instance if isinstance(instance, tuple) else (instance,)
    return sum(np.size(np.asarray(part)) for part in parts)
