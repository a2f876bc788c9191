"""What a run is: data, model, objective, optimiser, length and seed, and its form as JSON."""

import dataclasses
import hashlib
import itertools
import json
import math
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from unpick.data import DataConfig
from unpick.models import ModelConfig
from unpick.models.posterior import family_of
from unpick.objectives import BetaVAE, ObjectiveConfig, Paired


@dataclass(frozen=True)
class Adam:
    """Kingma & Ba (2015), with PyTorch's defaults."""

    learning_rate: float = 1e-3
    beta1: float = 0.9  # decay of the mean gradient
    beta2: float = 0.999  # decay of the mean squared gradient

    def __post_init__(self) -> None:
        check_rate(self.learning_rate)
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {getattr(self, name)}")


@dataclass(frozen=True)
class Adagrad:
    """Duchi et al. (2011), with PyTorch's defaults."""

    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        check_rate(self.learning_rate)


def check_rate(rate: float, name: str = "learning_rate") -> None:
    """Raise unless a learning rate makes sense."""
    if not 0 < rate < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {rate}")


@dataclass(frozen=True)
class RunConfig:
    """The training of one member: two equal configs give the same weights.

    Attributes:
        data: The data set and its options.
        model: Latents, posterior, likelihood, networks.
        objective: What is minimised.
        optimiser: Adam or Adagrad.
        steps: Optimiser steps; 0 leaves the first weights, a random decoder.
        batch: Observations a step.
        seed: Initial weights, order of the data, noise.
    """

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=BetaVAE)
    optimiser: Adam | Adagrad = field(default_factory=Adam)
    steps: int = 10_000
    batch: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 0), ("batch", 2), ("seed", 0)):
            value = getattr(self, name)
            if not least <= value < 2**40:
                bound = f"at least {least}" if value < least else "below 2**40"
                raise ValueError(f"{name} must be {bound}, got {value}")
        for entry in dataclasses.fields(self.objective):
            value = getattr(self.objective, entry.name)
            if entry.type is float and not 0 <= value < math.inf:
                raise ValueError(f"{entry.name} must be finite and not negative, got {value}")
        if isinstance(self.objective, Paired) and self.batch % 2:
            raise ValueError(f"batch must be even for {self.objective.name}, got {self.batch}")
        if self.model.posterior not in self.objective.posteriors:
            allowed = " or ".join(self.objective.posteriors)
            raise ValueError(
                f"{self.objective.name} needs the posterior {allowed}, got {self.model.posterior}"
            )

    def label(self) -> str:
        """Data set, objective and posterior, for people."""
        suffix = family_of(self.model.posterior).suffix
        return f"{self.data.name}-{self.objective.name}{suffix}"

    def identity(self) -> str:
        """Twelve hexadecimal digits that name this run; where its data lie does not matter."""
        return identity(self)

    def family(self) -> str:
        """Equal for runs that can train together.

        They differ in seed, learning rate and the objective's scalars only.
        """
        document = to_json(self)
        document["seed"] = document["optimiser"]["learning_rate"] = 0
        hints = get_type_hints(type(self.objective))
        for name in document["objective"]:
            if hints.get(name) is float:
                document["objective"][name] = 0
        return json.dumps(document, sort_keys=True)


def identity(config: Any) -> str:  # noqa: ANN401
    """Twelve hexadecimal digits of a configuration; where on disk its data lie does not matter."""
    document = without_paths(to_json(config))
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:12]


def without_paths(document: Any) -> Any:  # noqa: ANN401
    """The same JSON without fields named `path`, so that moving data does not rename runs."""
    if not isinstance(document, dict):
        return document
    return {name: without_paths(value) for name, value in document.items() if name != "path"}


def dumps(config: RunConfig) -> str:
    """Canonical JSON: sorted keys, every dataclass tagged with its type."""
    return json.dumps(to_json(config), sort_keys=True, indent=2)


def to_json(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """A dataclass as plain JSON values, each of the type its field says, however it was given."""
    hints = get_type_hints(type(value))
    names = [entry.name for entry in dataclasses.fields(value)]
    fields = {name: _encode(getattr(value, name), hints[name]) for name in names}
    return {"type": type(value).__name__, **fields}


def _encode(value: Any, hint: Any) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_encode(item, each) for item, each in zip(value, _each(hint, value), strict=True)]
    return hint(value) if hint in (int, float, str) else value


def _each(hint: Any, items: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401
    """The type of every item of a tuple of that type."""
    inner = get_args(hint)
    return itertools.repeat(inner[0], len(items)) if inner[-1] is Ellipsis else iter(inner)


T = TypeVar("T")


def from_json(document: dict[str, Any], kind: type[T]) -> T:
    """The inverse of `to_json`; an unknown type or field is an error, never ignored."""
    tag, hints = document.get("type"), get_type_hints(kind)
    if tag != kind.__name__:
        raise ValueError(f"expected a {kind.__name__}, got {tag!r}")
    names = {entry.name for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown, missing = document.keys() - names - {"type"}, names - document.keys()
    if unknown or missing:
        raise ValueError(f"{tag}: unknown fields {sorted(unknown)}, missing {sorted(missing)}")
    return kind(**{name: _decode(document[name], hints[name]) for name in names})


def _decode(value: Any, hint: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        members = get_args(hint) if get_origin(hint) in (types.UnionType,) else (hint,)
        for member in members:
            if member.__name__ == value.get("type"):
                return from_json(value, member)
        raise ValueError(f"unknown type {value.get('type')!r}")
    if isinstance(value, list):
        return tuple(_decode(v, each) for v, each in zip(value, _each(hint, value), strict=True))
    return value
