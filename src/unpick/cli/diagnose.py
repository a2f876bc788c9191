"""`unpick diagnose`."""

import ast
import shlex
import sys
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, Literal

from unpick.arguments import (
    Arguments,
    call_user_function,
    fail,
    load_function,
    parse,
    value_of,
    write,
)

WEIGHTS = {".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".onnx", ".pkl"}


@dataclass(frozen=True)
class DiagnoseOptions:
    """What to diagnose.

    Attributes:
        data: A data set by name, or your own file or folder of observations.
        likelihood: The distribution whose mean the decoder returns.
        beta: The weight of the KL in training, beside a loss summed over pixels.
        samples: Number of observations, at most.
        jacobians: Number of observations at which the decoder's Jacobian is taken; 500 by default,
            fewer for more than 32 latents.
        memory: Gigabytes to work in, beside the model and the data.
        report: The folder of the page and its pictures.
        device: Where to compute: cpu, cuda, cuda:1, mps. By default a run goes to a GPU if there
            is one, and your own model stays where it is.
        model: FILE.py:function that made a run's networks, if they are your own; it is run.
    """

    data: str = ""
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian"
    beta: float | None = None
    samples: int = 5000
    jacobians: int | None = None
    memory: float = 1.0
    report: Path = Path("diagnosis")
    device: str = "auto"
    model: str = ""


@dataclass(frozen=True)
class NoData:
    """Stands for the options of a data set where none is named.

    Attributes:
        factors: A .npy file of generative factors, one row an observation.
    """

    factors: str = ""


def diagnose(arguments: Arguments) -> None:
    """Diagnose any model: active latents, alignment, whether beta was right."""
    if not arguments or arguments[0].startswith("-"):
        write(DIAGNOSE_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("diagnose: which model? `unpick diagnose model.py:load --data sprites`")
    from unpick.cli.own import describe_data
    from unpick.data import OwnData
    from unpick.diagnosis import diagnose as examine

    target, rest = arguments[0], arguments[1:]
    refuse_files(target)
    chosen = find_data(value_of("--data", rest, ""), is_given("--factors", rest))
    labels = value_of("--factors", rest, "")
    if labels.endswith(".npy"):  # a file, and no names of columns
        rest = without_option("--factors", rest)
    whole = make_dataclass("Diagnose", [("options", DiagnoseOptions), ("chosen", type(chosen))])
    default = whole(DiagnoseOptions(), chosen)
    parsed = parse(whole, rest, f"unpick diagnose {target}", default=default)
    options, chosen = parsed.options, parsed.chosen
    if options.samples < 2:
        fail(f"samples must be at least 2, got {options.samples}")
    if Path(target).is_dir():
        given = load_run(Path(target), options)
    else:
        given = load_model(target, options.device)
    if options.data or labels:
        for stale in ("factors", "factor_names", "categorical"):  # they belong to other rows
            given.pop(stale, None)
    if isinstance(chosen, OwnData):
        write("; ".join(describe_data(chosen)), sys.stderr)
        given |= load_rows(chosen.load(), labels, options.samples)
    elif options.data:
        given |= load_test_part(chosen.load(), options.samples)
    if "x" not in given:
        fail(f"{target} gives no observations: pass --data NAME or --data FILE")
    if labels and not isinstance(chosen, OwnData):
        given["factors"] = read_factors(Path(labels))
    settings = {"likelihood": options.likelihood, "beta": options.beta}
    given |= {key: value for key, value in settings.items() if is_given(f"--{key}", rest)}
    examine(
        **subsample(given, options.samples),
        points=options.jacobians,
        memory=options.memory,
        report=options.report,
        about={
            "model": target,
            "data": options.data or f"as {target} gives them",
            "command": shlex.join(["unpick", "diagnose", *arguments]),
        },
    )


def refuse_files(target: str) -> None:
    """Say what to write instead of a file without a function, or of a file of weights."""
    path = Path(target)
    if path.suffix in WEIGHTS and not path.is_dir():
        fail(
            f"{target} holds weights, not the code of a model. Write load.py with `def load(): "
            f"model = MyVAE(); model.load_state_dict(torch.load({path.name!r})); return model` "
            "and run `unpick diagnose load.py:load --data DATA`"
        )
    if path.suffix == ".py" and not path.is_file():
        fail(f"{target} is not there")
    if path.suffix == ".py":
        names = [
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        ]
        has = f"it has {', '.join(names)}" if names else "it has none: `def load(): return model`"
        name = "load" if "load" in names or not names else names[0]
        fail(f"which function of {target}? {has}. `unpick diagnose {target}:{name} --data DATA`")


def find_data(name: str, factors: bool) -> Any:  # noqa: ANN401
    """The configuration of a data set by name or of your own; `NoData` without a name."""
    from unpick.cli.own import pick_dataset
    from unpick.data import DATASETS, own_data
    from unpick.data.own import is_own

    if not name:
        return NoData()
    if name not in DATASETS and is_own(name):
        return own_data(name)
    if name in DATASETS and factors:
        fail("--factors belong to the rows of a file: with a data set by name leave them out")
    return pick_dataset(name)()


def without_option(option: str, arguments: Arguments) -> Arguments:
    """The arguments without an option and its value."""
    for k, word in enumerate(arguments):
        if word == option:
            return arguments[:k] + arguments[k + 2 :]
        if word.startswith(f"{option}="):
            return arguments[:k] + arguments[k + 1 :]
    return arguments


def is_given(option: str, arguments: Arguments) -> bool:
    """Whether an option is among the arguments."""
    return any(word == option or word.startswith(f"{option}=") for word in arguments)


def subsample(given: dict[str, Any], samples: int) -> dict[str, Any]:
    """Draw at most `samples` observations at random, with their factors: files may be sorted."""
    import torch

    n = len(given["x"])
    if n <= samples or len(given.get("factors", given["x"])) != n:
        return given
    rows = torch.randperm(n, generator=torch.Generator().manual_seed(0))[:samples]
    return given | {key: given[key][rows] for key in ("x", "factors") if key in given}


def load_model(target: str, device: str = "auto") -> dict[str, Any]:
    """Call FILE.py:function, which returns a model, or encode and decode, and perhaps data."""
    from unpick.devices import find_device
    from unpick.probe.trace import modules_of

    returned = call_user_function(target, load_function(target))
    parts = returned if isinstance(returned, tuple) else (returned,)
    names: tuple[str, ...] = ("model", "decode", "x", "factors")
    if len(parts) < 2 or not callable(parts[1]):
        names = ("model", "x", "factors")
    if not 1 <= len(parts) <= len(names) or not (
        callable(parts[0]) or hasattr(parts[0], "encode")
    ):
        fail(f"{target} must return a model or (encode, decode), perhaps with x and factors after")
    if device != "auto":
        for network in modules_of(parts[:2]):
            network.to(find_device(device))
    return dict(zip(names, parts, strict=False))


def load_run(folder: Path, options: DiagnoseOptions) -> dict[str, Any]:
    """Model, observations and factors of a finished run."""
    from unpick.probe import probe_run
    from unpick.probe.card import LEAST
    from unpick.runs import read

    factory = load_function(options.model) if options.model else None
    run = read(folder, options.device, factory)
    if run is None:
        fail(f"{folder} is not a finished run")
    objective = run.config.objective
    if not objective.decodes:
        fail(
            f"diagnose needs a decoder, and {objective.name} has none; unpick measure scores its "
            "codes"
        )
    probe = probe_run(run, samples=options.samples)
    names = ("decode", "x", "likelihood", "beta")
    given = {name: getattr(probe, name) for name in names if getattr(probe, name) is not None}
    given["model"] = probe.encode
    if probe.factors is not None and len(probe.x) < LEAST:
        few = f"{len(probe.x)} of {folder.name}"
        write(f"metrics of factors need {LEAST} test observations, got {few}", sys.stderr)
    elif probe.factors is not None:
        given |= {
            "factors": probe.factors,
            "factor_names": probe.factor_names,
            "categorical": probe.categorical,
        }
    return given


def load_test_part(dataset: Any, samples: int) -> dict[str, Any]:  # noqa: ANN401
    """Observations of the test part, and their factors if the data set has any."""
    from unpick.data import split

    return observe(dataset, split(dataset).test[:samples])


def observe(dataset: Any, rows: Any) -> dict[str, Any]:  # noqa: ANN401
    """Observations and factors in these rows."""
    given = {"x": dataset.observe(rows)}
    if dataset.factors:
        given |= {
            "factors": dataset.factor_values(rows),
            "factor_names": [factor.name for factor in dataset.factors],
            "categorical": [factor.categorical for factor in dataset.factors],
        }
    return given


def load_rows(dataset: Any, labels: str, samples: int) -> dict[str, Any]:  # noqa: ANN401
    """At most `samples` random observations of your own, with factors of theirs or of a file."""
    import torch

    n = len(dataset)
    rows = torch.arange(n)
    if n > samples:
        rows = torch.randperm(n, generator=torch.Generator().manual_seed(0))[:samples]
    given = observe(dataset, rows)
    if labels.endswith(".npy"):
        factors = read_factors(Path(labels))
        if len(factors) != n:
            fail(f"{labels} must have {n} rows, one an observation, got {len(factors)}")
        given["factors"] = factors[rows]
    return given


def read_factors(path: Path) -> Any:  # noqa: ANN401
    """The numbers in a .npy file, as float32."""
    import numpy as np
    import torch

    from unpick.data.array_file import open_npy

    if not path.is_file():
        fail(f"{path} is not there")
    loaded = open_npy(path)
    if loaded.ndim == 0 or loaded.dtype.kind not in "biuf":
        fail(f"{path} must hold an array of numbers, one row an observation")
    return torch.from_numpy(loaded.astype(np.float32))


DIAGNOSE_HELP = """usage: unpick diagnose FILE.py:function --data DATA [OPTIONS]
       unpick diagnose RUN [OPTIONS]

The function takes no arguments and returns a model with encode and decode (or a forward that
gives the posterior beside a decoder), or a pair of functions (encode, decode); x, or x and
factors, may follow. encode gives a mean, (mean, log-variance), (mean, Cholesky factor) or a
distribution; decode gives mean observations. Prints the findings and what was assumed, and
writes a page with pictures. The model is not changed. FILE.py is run, as by python.

  --data DATA        a data set (`unpick data list`) with its own options, or your own data with
                     the options of `unpick train`: .npy, .npz, .csv, .parquet, folder of images
  --factors FACTORS  columns of a table, or a .npy file with one row an observation
  --likelihood L     gaussian (squared error) or bernoulli (cross-entropy)
  --beta B           weight of the KL in training, beside a loss summed over pixels
  --samples N        number of observations, at most (5000)
  --jacobians N      number of those at which the decoder's Jacobian is taken (500, and fewer
                     for more than 32 latents)
  --memory GB        to work in, beside the model and the data (1)
  --report FOLDER    the folder of the page (diagnosis)
  --device D         cpu, cuda, cuda:1, mps; by default your model stays where it is
  --model FILE.py:function
                     made the networks of RUN, if they are your own; this file is run

  unpick diagnose my_model.py:load --data sprites --size 32 --likelihood bernoulli
  unpick diagnose my_model.py:load --data images.npy --factors labels.npy
  unpick diagnose my_model.py:load --data wine.csv --factors class
  unpick diagnose runs/NAME"""
