"""Save and load a fitted NonlinearPCA: one safetensors file with JSON in its header, no pickle."""

import json
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from unpick.estimator.reading import Axes
from unpick.estimator.rows import Scale
from unpick.models import Autoencoder, Model, ModelConfig, NetworkFactory, build
from unpick.runs.disk import environment, write
from unpick.training.config import from_json, to_json

T = TypeVar("T")
KIND = "unpick.NonlinearPCA"


def for_inference(model: Model) -> Model:
    """The model on the CPU, in doubles if it is ours: then no result depends on its company."""
    model = model.to(torch.device("cpu")).eval()
    return model.double() if isinstance(model, Autoencoder) else model


def save(model: Any, path: str | PathLike[str]) -> None:  # noqa: ANN401
    """Write a fitted model; the file is whole or is not there."""
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    tensors = {f"model.{k}": v.contiguous() for k, v in model._model.state_dict().items()}
    arrays = {name: v for name, v in fitted.items() if is_numeric(v)}
    arrays |= {
        "axes.order": model._axes.order,
        "axes.signs": model._axes.signs,
        "axes.centre": model._axes.centre,
        "scale.mean": model._scale.mean,
    }
    tensors |= {name: torch.from_numpy(np.array(v)) for name, v in arrays.items()}
    parameters = model.get_params(deep=False)
    if callable(parameters["network"]):
        parameters["network"] = None
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = None  # a generator has moved on
    document = {
        "kind": KIND,
        "version": environment()["unpick"],
        "parameters": {name: plain(value) for name, value in parameters.items()},
        "fitted": {name: plain(v) for name, v in fitted.items() if name not in arrays},
        "spread": model._scale.spread,
        "output": getattr(model, "_sklearn_output_config", {}),  # of `set_output`
        "config": to_json(model._model.config),
    }
    header = {"unpick": json.dumps(document)}
    write(Path(path), safetensors.torch.save(tensors, metadata=header))


def load(kind: type[T], path: str | PathLike[str], network: NetworkFactory | None) -> T:
    """The inverse of `save`; a file of another kind raises."""
    try:
        with safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {})["unpick"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if document["kind"] != KIND:
            raise KeyError(document["kind"])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a saved NonlinearPCA ({error})") from None
    config = from_json(document["config"], ModelConfig)
    columns = int(document["fitted"]["n_features_in_"])
    built = for_inference(build(config, (columns,), [0], network=network))
    parameters = document["parameters"]
    widths = parameters["network"]
    parameters["network"] = tuple(widths) if isinstance(widths, list) else widths or network
    model: Any = kind(**parameters)
    if document.get("output"):
        model._sklearn_output_config = document["output"]
    for name, value in document["fitted"].items():
        setattr(model, name, restored(name, value))
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    arrays = {n: t.numpy() for n, t in tensors.items() if not n.startswith("model.")}
    model._axes = Axes(*(arrays.pop(f"axes.{name}") for name in ("order", "signs", "centre")))
    model._scale = Scale(arrays.pop("scale.mean"), document["spread"])
    for name, value in arrays.items():
        setattr(model, name, value)
    model._model = built
    model._model.load_state_dict(weights)
    return model


def is_numeric(value: Any) -> bool:  # noqa: ANN401
    """Whether this is an array of numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu"


def plain(value: Any) -> Any:  # noqa: ANN401
    """As JSON takes it; nan becomes null."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return None if isinstance(value, float) and not np.isfinite(value) else value


def restored(name: str, value: Any) -> Any:  # noqa: ANN401
    """The inverse of `plain` for a fitted attribute."""
    if name == "restarts_":
        return {column: column_array(rows) for column, rows in value.items()}
    if name == "feature_names_in_":
        return np.array(value, dtype=object)
    if name == "network_":
        return None if value is None else tuple(value)
    return np.nan if value is None else value


def column_array(rows: list[Any]) -> np.ndarray:
    """A column of a table; null is nan."""
    return np.array([np.nan if value is None else value for value in rows])
