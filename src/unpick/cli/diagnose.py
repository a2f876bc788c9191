"""`unpick diagnose`."""

import zipfile
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
from unpick.names import pick


@dataclass(frozen=True)
class DiagnoseOptions:
    """What to diagnose.

    Attributes:
        data: A data set by name, or a .npy or .npz file of observations.
        factors: A .npy file of generative factors, one row an observation.
        likelihood: The distribution whose mean the decoder returns.
        beta: The weight of the KL in training, beside a loss summed over pixels.
        samples: Number of observations, at most.
        jacobians: Number of observations at which the decoder's Jacobian is taken.
        report: The folder of the page and its pictures.
        device: Where to compute: cpu, cuda, cuda:1, mps. By default a run goes to a GPU if there
            is one, and your own model stays where it is.
        model: FILE.py:function that made a run's networks, if they are your own; it is run.
    """

    data: str = ""
    factors: Path | None = None
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian"
    beta: float | None = None
    samples: int = 5000
    jacobians: int = 500
    report: Path = Path("diagnosis")
    device: str = "auto"
    model: str = ""


@dataclass(frozen=True)
class NoData:
    """Stands for the options of a data set where none is named."""


def diagnose(arguments: Arguments) -> None:
    """Diagnose any model: active latents, alignment, whether beta was right."""
    if not arguments or arguments[0].startswith("-"):
        write(DIAGNOSE_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("diagnose: which model? `unpick diagnose model.py:load --data sprites`")
    from unpick.data import DATASETS
    from unpick.diagnosis import diagnose as examine

    target, rest = arguments[0], arguments[1:]
    name = value_of("--data", rest, "")
    kind = DATASETS.get(name) or NoData
    if kind is NoData and name and not name.endswith((".npy", ".npz")):
        pick(DATASETS, name, "data set")
    whole = make_dataclass("Diagnose", [("options", DiagnoseOptions), ("chosen", kind)])
    default = whole(DiagnoseOptions(), kind())
    parsed = parse(whole, rest, f"unpick diagnose {target}", default=default)
    options = parsed.options
    if options.samples < 2:
        fail(f"samples must be at least 2, got {options.samples}")
    if Path(target).is_dir():
        given = load_run(Path(target), options)
    else:
        given = load_model(target, options.device)
    if name or options.factors is not None:
        if kind is not NoData and options.factors is not None:
            fail("--factors belong to the rows of a file: with a data set by name leave them out")
        for stale in ("factors", "factor_names", "categorical"):  # they belong to other rows
            given.pop(stale, None)
    if kind is not NoData:
        given |= load_test_part(parsed.chosen.load(), options.samples)
    elif name:
        given["x"] = read_array(Path(name))
    if "x" not in given:
        fail(f"{target} gives no observations: pass --data NAME or --data FILE.npy")
    if options.factors is not None:
        given["factors"] = read_array(options.factors, pixels=False)
    settings = {"likelihood": options.likelihood, "beta": options.beta}
    given |= {key: value for key, value in settings.items() if is_given(f"--{key}", rest)}
    examine(**subsample(given, options.samples), points=options.jacobians, report=options.report)


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
    """Call FILE.py:function, which returns encode, decode, perhaps x, perhaps factors."""
    from unpick.devices import find_device
    from unpick.probe.trace import modules_of

    returned = call_user_function(target, load_function(target))
    if not isinstance(returned, tuple) or not 2 <= len(returned) <= 4:
        fail(f"{target} must return (encode, decode), or with x, or x and factors after them")
    if device != "auto":
        for network in modules_of(returned[:2]):
            network.to(find_device(device))
    return dict(zip(("encode", "decode", "x", "factors"), returned, strict=False))


def load_run(folder: Path, options: DiagnoseOptions) -> dict[str, Any]:
    """Model, observations and factors of a finished run."""
    from unpick.probe import probe_run
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
    names = ("encode", "decode", "x", "likelihood", "beta")
    given = {name: getattr(probe, name) for name in names if getattr(probe, name) is not None}
    if probe.factors is not None:
        given |= {
            "factors": probe.factors,
            "factor_names": probe.factor_names,
            "categorical": probe.categorical,
        }
    return given


def load_test_part(dataset: Any, samples: int) -> dict[str, Any]:  # noqa: ANN401
    """Observations of the test part, and their factors if the data set has any."""
    from unpick.data import split

    test = split(dataset).test[:samples]
    given = {"x": dataset.observe(test)}
    if dataset.factors:
        given |= {
            "factors": dataset.factor_values(test),
            "factor_names": [factor.name for factor in dataset.factors],
            "categorical": [factor.categorical for factor in dataset.factors],
        }
    return given


def read_array(file: Path, pixels: bool = True) -> Any:  # noqa: ANN401
    """Read the array in a .npy file, or the only one in a .npz, as float32."""
    import numpy as np
    import torch

    if not file.is_file():
        fail(f"{file} is not there")
    try:
        with file.open("rb") as opened:
            loaded = np.load(opened, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                if len(loaded.files) != 1:
                    fail(f"{file} must hold one array, got {', '.join(loaded.files)}")
                loaded = loaded[loaded.files[0]]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        fail(f"{file} cannot be read: {error}")
    if loaded.ndim == 0 or not np.issubdtype(loaded.dtype, np.number):
        fail(f"{file} must hold numbers, one row an observation, got {loaded.dtype}")
    if pixels and loaded.dtype == np.uint8 and loaded.max(initial=0) > 1:
        loaded = loaded / np.float32(255)  # pixels
    return torch.from_numpy(loaded.astype(np.float32))


DIAGNOSE_HELP = """usage: unpick diagnose FILE.py:function --data DATA [OPTIONS]
       unpick diagnose RUN [OPTIONS]

The function takes no arguments and returns (encode, decode), or (encode, decode, x), or
(encode, decode, x, factors). encode maps observations to a mean, (mean, log-variance), (mean,
Cholesky factor) or a torch distribution; decode maps latents to mean observations. Prints the
findings and writes a page with pictures. The model is not changed.

  --data DATA        a data set (`unpick data list`) with its own options, or a .npy or .npz file
  --factors FILE     generative factors, .npy, one row an observation
  --likelihood L     gaussian (squared error) or bernoulli (cross-entropy)
  --beta B           weight of the KL in training, beside a loss summed over pixels
  --samples N        number of observations, at most (5000)
  --jacobians N      number of those at which the decoder's Jacobian is taken (500)
  --report FOLDER    the folder of the page (diagnosis)
  --device D         cpu, cuda, cuda:1, mps; by default your model stays where it is
  --model FILE.py:function
                     made the networks of RUN, if they are your own; this file is run

  unpick diagnose my_model.py:load --data sprites --size 32 --likelihood bernoulli
  unpick diagnose my_model.py:load --data images.npy --factors labels.npy
  unpick diagnose runs/NAME"""
