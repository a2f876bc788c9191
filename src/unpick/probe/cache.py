"""Cache measurements in files; a file falls when the weights, the settings or the code change."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import DataConfig, DataDamaged, DataMissing, Dataset, Perturbed, split
from unpick.data.twins import read_document
from unpick.models import Model
from unpick.probe.code import digest
from unpick.probe.codes import Codes
from unpick.probe.probe import Probe
from unpick.runs import Run
from unpick.runs.disk import write

# From a probe to named numbers, or lists of numbers. Its name is the name of the cached file.
Measure: TypeAlias = Callable[[Probe], Mapping[str, Any]]

SAMPLES = 10_000  # test observations that a run is measured on, at most
BATCH = 1000  # observations at a time
FOLDER = "measures"


def encoder_of(model: Model) -> Callable[[Tensor], Codes]:
    """The encoder of a single model, from observations (n, ...) to codes on the CPU."""
    device = next(model.parameters()).device

    def encode(x: Float[Tensor, "n ..."]) -> Codes:
        q = model.encode(x.to(device)[None])
        parts = (None if v is None else v[0].cpu() for v in (q.mean, q.variance, q.factor))
        return Codes(*parts)  # type: ignore[arg-type]

    return encode


def decoder_of(model: Model, decode: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A decoder of a single model, from latents (n, d), to where the latents are.

    The model computes on its own device. What follows is double precision, which not every GPU
    has, of numbers that are few, so it is left to the CPU.
    """
    device = next(model.parameters()).device
    return lambda z: decode(z.to(device)[None])[0].to(z.device)


def probe_run(run: Run, dataset: Dataset | None = None, samples: int | None = SAMPLES) -> Probe:
    """A finished run, looked at with the first observations of its test part.

    Args:
        run: A finished run.
        dataset: Its data set; loaded if it is not given.
        samples: How many observations, at most; None takes the whole test part.
    """
    dataset = run.config.data.load() if dataset is None else dataset
    model, objective = run.model(), run.config.objective
    test = split(dataset).test[:samples]
    # In other objectives beta is the weight of something else.
    beta = getattr(objective, "beta", None) if objective.name == "beta-vae" else None
    return Probe(
        encoder_of(model),
        decoder_of(model, model.decode_mean) if model.decodes else None,
        dataset.observe(test),
        dataset.factor_values(test).numpy() if dataset.factors else None,
        tuple(factor.name for factor in dataset.factors),
        tuple(factor.categorical for factor in dataset.factors),
        run.config.model.likelihood,
        beta,
        decoder_of(model, model.decode) if model.decodes else None,
        dataset,
        run.latents,
        BATCH,
    )


def latent_means(runs: Sequence[Run], dataset: Dataset) -> Float[Tensor, "s n d"]:
    """The codes that each of several runs gives to all observations of a data set."""
    x = dataset.observe(torch.arange(len(dataset)))
    probes = [Probe(encoder_of(run.model()), None, x, batch=BATCH) for run in runs]
    return torch.stack([probe.mean for probe in probes])


def measure_run(
    run: Run,
    measures: Sequence[Measure],
    load: Callable[[], Dataset] | None = None,
    samples: int | None = SAMPLES,
    on_progress: Callable[[str], object] = lambda name: None,
) -> dict[str, Any]:
    """The numbers that these measures give for a run, read from its folder where they are there.

    Args:
        run: A finished run.
        measures: Functions of a probe.
        load: Gives the run's data set; called only if something has to be measured.
        samples: Test observations, at most.
        on_progress: Called with the name of each measure before it is taken.
    """
    values: dict[str, Any] = {}
    probes: list[Probe] = []
    for measure in measures:
        file = file_of(run, measure, samples)
        content = read_values(file)
        if content is None:
            on_progress(name_of(measure))
            if not probes:
                probes.append(probe_run(run, (load or run.config.data.load)(), samples))
            content = dict(measure(probes[0]))
            with suppress(OSError):  # a run that one may only read is measured each time
                save_values(file, content)
        values |= content
    return values


def is_measured(run: Run, measures: Sequence[Measure], samples: int | None = SAMPLES) -> bool:
    """Whether all these numbers can be read from the run's folder."""
    return all(read_values(file_of(run, each, samples)) is not None for each in measures)


def file_of(run: Run, measure: Measure, samples: int | None = SAMPLES) -> Path:
    """Where the numbers of a measure lie.

    The file's name has a hash of the weights, of the measure's settings and of all code that
    makes the number: the measure's own, the probe's, the model's and the data set's.
    """
    stamp = {
        "measure": settings_of(measure),
        "code": digest(measure, probe_run, Run.model, Run.latents, *data_classes(run.config.data)),
        "twin": twin_checksum(run.config.data),
        "samples": samples,
        "weights": run.results["weights_sha256"],
    }
    key = hashlib.sha256(json.dumps(stamp, sort_keys=True).encode()).hexdigest()[:16]
    return run.path / FOLDER / f"{name_of(measure)}-{key}.json"


def data_classes(data: DataConfig) -> list[type]:
    """The classes whose code makes a data set: of a twin also its original's."""
    original = getattr(data, "original", None)
    return [type(data)] if original is None else [type(data), *data_classes(original)]


def twin_checksum(data: DataConfig) -> str | None:
    """The checksum of a perturbed twin's file, since a twin may be made again; else None."""
    if not isinstance(data, Perturbed):
        return None
    try:
        return str(read_document(data.folder)["sha256"])
    except (DataMissing, DataDamaged):
        return None


def name_of(measure: Measure) -> str:
    """The name of a measure: of a function its own, else its field `name`."""
    if isinstance(measure, partial):
        return name_of(measure.func)
    return getattr(measure, "__name__", None) or str(getattr(measure, "name"))  # noqa: B009


def settings_of(measure: Measure) -> str:
    """A measure's settings, as text: the arguments of a partial, or the fields of a dataclass."""
    if isinstance(measure, partial):
        return f"{settings_of(measure.func)} {measure.args} {sorted(measure.keywords.items())}"
    module = getattr(measure, "__module__", "")
    return f"{module} {getattr(measure, '__qualname__', None) or repr(measure)}"


def read_values(file: Path) -> dict[str, Any] | None:
    """What `save_values` wrote; None if there is no such file, or it was damaged or edited."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(file.read_text())
        if content["checksum"] == _checksum(content["values"]):
            return content["values"]
    return None


def save_values(file: Path, values: Mapping[str, Any]) -> None:
    """Write numbers with a checksum, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"checksum": _checksum(values), "values": values}
    write(file, json.dumps(content, indent=1, allow_nan=False).encode())


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
