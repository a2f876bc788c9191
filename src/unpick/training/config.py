"""What a run is: data, model, objective, optimiser, length and seed, and its form as JSON."""

import dataclasses
import hashlib
import itertools
import json
import math
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

from unpick.data import DataConfig
from unpick.models import MLP, Conv, ModelConfig
from unpick.models.posterior import family_of
from unpick.names import LATER, is_later
from unpick.objectives import BetaVAE, ObjectiveConfig, Paired

MOST_WEIGHTS = 2**28  # a gigabyte, four with gradients and the moments of Adam


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


@dataclass(frozen=True)
class SGD:
    """Plain stochastic gradient descent.

    A turn of the latent space turns its steps, too; Adam and Adagrad scale every weight by itself
    and know the axes.
    """

    learning_rate: float = 1e-1

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
        optimiser: Adam, Adagrad or SGD.
        steps: Optimiser steps; 0 leaves the first weights, a random decoder.
        batch: Observations a step.
        seed: Initial weights, order of the data, noise.
        orthogonality: Weight of a penalty on the cosines between the decoder's columns
            (`objectives.squared_cosines`), in the unit of the objective; 0 for none.
    """

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=BetaVAE)
    optimiser: Adam | Adagrad | SGD = field(default_factory=Adam)
    steps: int = 10_000
    batch: int = 128
    seed: int = 0
    orthogonality: float = field(default=0.0, metadata=LATER)

    def __post_init__(self) -> None:
        for name, least in (("steps", 0), ("batch", 2), ("seed", 0)):
            value = getattr(self, name)
            if not least <= value < 2**40:
                bound = f"at least {least}" if value < least else "below 2**40"
                raise ValueError(f"{name} must be {bound}, got {value}")
        check_numbers(self)
        check_size(self.model, self.batch)
        for entry in dataclasses.fields(self.objective):
            value = getattr(self.objective, entry.name)
            if entry.type is float and not 0 <= value < math.inf:
                raise ValueError(f"{entry.name} must be finite and not negative, got {value}")
        if not 0 <= self.orthogonality < math.inf:
            raise ValueError(
                f"orthogonality must be finite and not negative, got {self.orthogonality}"
            )
        if self.orthogonality and not self.objective.decodes:
            raise ValueError(f"orthogonality must be 0 for {self.objective.name}: no decoder")
        differentiates = self.orthogonality or hasattr(self.objective, "jacobians")
        norm = getattr(self.model.network, "decoder_norm", 0)
        if differentiates and norm:
            what = "orthogonality" if self.orthogonality else self.objective.name
            raise ValueError(
                f"{what} differentiates the decoder's Jacobian, which batch normalisation makes "
                f"wrong in training: decoder_norm must be 0, got {norm}"
            )
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
        document["objective"] |= dict.fromkeys(scalar_fields(type(self.objective)), 0)
        return json.dumps(document, sort_keys=True)

    def scalars(self) -> dict[str, float]:
        """Learning rate and the objective's scalars: what members of one ensemble may differ in.

        Example:
            >>> from unpick.training import preset
            >>> preset("synth-lin").scalars()
            {'learning_rate': 0.001, 'beta': 0.0001}
        """
        own = {n: getattr(self.objective, n) for n in scalar_fields(type(self.objective))}
        return {"learning_rate": self.optimiser.learning_rate, **own}


def scalar_fields(objective: type[ObjectiveConfig]) -> list[str]:
    """The fields of an objective that are numbers, such as beta."""
    hints = get_type_hints(objective)
    return [entry.name for entry in dataclasses.fields(objective) if hints[entry.name] is float]


def check_numbers(config: Any) -> None:  # noqa: ANN401
    """Raise unless all numbers in a configuration are finite, and whole ones below 2**40."""
    for entry in dataclasses.fields(config):
        value = getattr(config, entry.name)
        if dataclasses.is_dataclass(value):
            check_numbers(value)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, float) and not math.isfinite(each):
                raise ValueError(f"{entry.name} must be finite, got {each}")
            if isinstance(each, int) and abs(each) >= 2**40:
                raise ValueError(f"{entry.name} must be below 2**40, got {each}")


def check_size(model: ModelConfig, batch: int) -> None:
    """Raise if the dense layers of a network, or its posteriors, are beyond a machine's memory.

    The layers to and from data are left out: how many pixels there are is not known yet.
    """
    d, network = model.latents, model.network
    outputs = family_of(model.posterior).n_parameters(d)
    into, out_of = {
        MLP: lambda net: (net.encoder, net.decoder),
        Conv: lambda net: (net.encoder_dense, net.decoder_dense),
    }.get(type(network), lambda net: ((), ()))(network)
    layers = [*itertools.pairwise((*into, outputs)), *itertools.pairwise((d, *out_of))]
    weights = sum(i * o for i, o in layers)
    if weights > MOST_WEIGHTS:
        raise ValueError(
            f"latents and widths must leave at most {MOST_WEIGHTS} weights, got {weights} with "
            f"{d} latents"
        )
    correlated = family_of(model.posterior).correlated
    if (numbers := batch * max(outputs, d * d * correlated)) > MOST_WEIGHTS:
        raise ValueError(
            f"batch and latents must leave at most {MOST_WEIGHTS} numbers of posteriors, got "
            f"{numbers} with {d} latents in a batch of {batch}"
        )


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


def to_json(value: Any, *, whole: bool = False) -> dict[str, Any]:  # noqa: ANN401
    """A dataclass as plain JSON values, each of the type its field says, however it was given.

    Args:
        value: The dataclass.
        whole: Whether to name fields that a class got later (`names.LATER`) and that have their
            default. If not, runs from before keep their names.
    """
    hints = get_type_hints(type(value))
    names = [
        entry.name
        for entry in dataclasses.fields(value)
        if whole or not is_later(entry) or getattr(value, entry.name) != entry.default
    ]
    fields = {name: _encode(getattr(value, name), hints[name], whole) for name in names}
    return {"type": type(value).__name__, **fields}


def _encode(value: Any, hint: Any, whole: bool) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(value):
        return to_json(value, whole=whole)
    if isinstance(value, tuple):
        hints = _each(hint, value)
        return [_encode(item, each, whole) for item, each in zip(value, hints, strict=True)]
    return hint(value) if hint in (int, float, str) else value


def _each(hint: Any, items: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401
    """The type of every item of a tuple of that type."""
    inner = get_args(hint)
    return itertools.repeat(inner[0], len(items)) if inner[-1] is Ellipsis else iter(inner)


T = TypeVar("T")


def from_json(document: Any, kind: type[T]) -> T:  # noqa: ANN401
    """The inverse of `to_json`; an unknown type or field is an error, never ignored."""
    if not isinstance(document, dict):
        raise ValueError(f"expected a {kind.__name__}, got {_short(document)}")
    tag, hints = document.get("type"), get_type_hints(kind)
    if tag != kind.__name__:
        raise ValueError(f"expected a {kind.__name__}, got {_short(tag)}")
    entries = {entry.name: entry for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = document.keys() - entries.keys() - {"type"}
    missing = {name for name, entry in entries.items() if not is_later(entry)} - document.keys()
    if unknown or missing:
        raise ValueError(f"{tag}: unknown fields {sorted(unknown)}, missing {sorted(missing)}")
    given = {name: value for name, value in document.items() if name in entries}
    return kind(**{name: _decode(value, hints[name], name) for name, value in given.items()})


def _decode(value: Any, hint: Any, name: str) -> Any:  # noqa: ANN401
    """The value of a field; raises unless it is of the field's type."""
    members = get_args(hint) if get_origin(hint) is types.UnionType else (hint,)
    classes = {each.__name__: each for each in members if _is_config(each)}
    if classes:
        tag = value.get("type") if isinstance(value, dict) else value
        if not isinstance(tag, str) or tag not in classes:
            raise ValueError(f"{name}: unknown type {_short(tag)}")
        return from_json(value, classes[tag])
    if get_origin(hint) is tuple and isinstance(value, list):
        each = _each(hint, value)
        return tuple(_decode(v, h, name) for v, h in zip(value, each, strict=True))
    if get_origin(hint) is Literal and isinstance(value, str | int):
        return value  # the class checks its choices
    if hint is float and type(value) is int and abs(value) < 2**53:
        return value
    if hint not in (int, float, str, bool) or type(value) is not hint:
        raise ValueError(
            f"{name} must be of type {getattr(hint, '__name__', hint)}, got {_short(value)}"
        )
    return value


def _is_config(kind: Any) -> TypeGuard[type]:  # noqa: ANN401
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _short(value: Any) -> str:  # noqa: ANN401
    """The beginning of a value that may be anything."""
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    return (
        repr(value)[:50] if not isinstance(value, int) or abs(value) < 2**53 else "a huge number"
    )
