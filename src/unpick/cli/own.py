"""Your own data on the command line: their options, and what is said about them."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpick.arguments import Arguments, parse_known
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.data import OwnData
    from unpick.training import RunConfig

SHOWN = 8  # words of a categorical factor that are printed


def parse_own(path: str, arguments: Arguments, program: str) -> "OwnData":
    """The data at a path, with those of their options that are among the arguments."""
    from unpick.data import OwnData, own_data

    return parse_known(OwnData, arguments, program, own_data(path))


def pick_dataset(name: str) -> Any:  # noqa: ANN401
    """The data set of that name; an unknown one raises and suggests data sets and files here."""
    from unpick.data import DATASETS

    near = get_close_matches(name, [place.name for place in Path().iterdir()])
    return pick({**DATASETS, **dict.fromkeys(near)}, name, "data set, file or folder")


def own_config(path: str, arguments: Arguments, program: str) -> "RunConfig":
    """A set-up that fits the data at a path; for help, also of data that cannot be read."""
    from unpick.training import RunConfig
    from unpick.training.presets import fit_shape

    data = parse_own(path, arguments, program)
    try:
        return fit_shape(data, data.load())
    except ValueError:
        if {"-h", "--help"} & {*arguments}:
            return RunConfig(data)
        raise


def describe_data(data: "OwnData") -> list[str]:
    """What was read, what was done to it, and which factors it has; a part of a sentence each."""
    notes = data.notes()
    low, high = notes["range"]
    observations = f"{notes['shape'][0]} observations of shape {tuple(notes['shape'][1:])}"
    factors = []
    for name, n, words in zip(notes["factors"], count_values(data), notes["words"], strict=True):
        more = ", ..." if len(words) > SHOWN else ""
        kind = f"categories: {', '.join(words[:SHOWN])}{more}" if words else "values"
        factors.append(f"factor {name}, {n} {kind}")
    return [
        f"{data.name} is {notes['what']}",
        f"{observations} from {low:.3g} to {high:.3g}",
        *notes["remarks"],
        *(factors or ["no factors"]),
    ]


def describe_set_up(config: "RunConfig") -> str:
    """One line: likelihood, beta, latents, network and optimiser."""
    from unpick.data import OwnData
    from unpick.models import MLP, Conv, fitting_network
    from unpick.training.presets import are_pixels

    assert isinstance(config.data, OwnData)
    model, network = config.model, config.model.network
    pixels = are_pixels(config.data, config.data.load())
    usual = "bernoulli" if pixels else "gaussian"
    why = "images in [0, 1]" if pixels else "all data but images in [0, 1]"
    likelihood = f"likelihood {model.likelihood}"
    if model.likelihood == usual:
        likelihood += f" (as for {why})"
    if isinstance(network, MLP):
        widths = ["-".join(map(str, w)) or "none" for w in (network.encoder, network.decoder)]
        layers = f"dense layers {widths[0]} and {widths[1]}"
        if pixels and isinstance(fitting_network(config.data.load().shape), MLP):
            layers += " (convolutions need a side of 16, 32, 64, ...)"
    elif isinstance(network, Conv):
        layers = f"{len(network.encoder)} convolutions and dense layers"
    else:
        layers = f"your own networks of {network.function}"
    beta = getattr(config.objective, "beta", None)
    objective = config.objective.name + ("" if beta is None else f" with beta {beta:g}")
    optimiser = config.optimiser
    descent = f"{type(optimiser).__name__} at {optimiser.learning_rate:g}"
    parts = [likelihood, objective, f"{model.latents} latents", layers, descent]
    parts.append(f"{config.steps} steps of {config.batch} observations")
    return ", ".join(parts)


def count_values(data: "OwnData") -> list[int]:
    """How many different values each factor has."""
    import torch

    dataset = data.load()
    if not dataset.factors:
        return []
    values = dataset.factor_values(torch.arange(len(dataset)))
    return [len(column.unique()) for column in values.T]
