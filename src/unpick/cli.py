"""The command line: parse, call, print. Heavy imports live inside the verbs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from unpick.arguments import Arguments, fail, parse, value_of, write
from unpick.names import pick

Source = Literal["default", "thesis", "bhowal", "locatello"]


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `unpick`; exits 2 with one line if something is wrong with what was asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in ([], ["-h"], ["--help"], ["help"]):
        write(HELP)
        sys.exit(0)
    if arguments == ["--version"]:
        from unpick import __version__

        write(__version__)
        sys.exit(0)
    try:
        pick(VERBS, arguments.pop(0), "command")(arguments)
    except (ValueError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        write("interrupted; run the same command again to go on", sys.stderr)
        sys.exit(130)
    sys.exit(0)


def train(arguments: Arguments) -> None:
    """Train a model, or read it if it is trained already."""
    from unpick.data import DATASETS
    from unpick.objectives import OBJECTIVES
    from unpick.runs import keep_memory, make

    if not arguments or arguments[0].startswith("-"):
        write(TRAIN_HELP.format(data=", ".join(DATASETS), objectives=", ".join(OBJECTIVES)))
        if {"-h", "--help"} & {*arguments}:
            return
        fail("train: which data set? `unpick train synth-lin`, for example")
    config, options = train_options(arguments)
    keep_memory()
    configs = [replace(config, seed=config.seed + k) for k in range(options.seeds)]
    runs = make(
        configs,
        options.runs,
        jobs=options.jobs or None,
        progress=options.progress,
        checkpoint_seconds=options.checkpoint_seconds,
    )
    for run in runs:
        terms = [
            f"{name} {'not finite' if value is None else f'{value:.5g}'}"
            for name, value in run.results["terms"].items()
        ]
        write("  ".join([str(run.path), *terms]))
    stopped = [run for run in runs if run.results["stopped"] is not None]
    for run in stopped:
        write(f"{run.path.name}: loss not finite at step {run.results['stopped']}", sys.stderr)
    if len(stopped) == len(runs):
        fail("every member diverged; a smaller learning rate may help")


@dataclass(frozen=True)
class TrainOptions:
    """How to train, as against what.

    Attributes:
        seeds: Train this many seeds, counted from --seed.
        preset: Whose set-up to start from: of the thesis where it has the data set, by default.
        network: Another kind of network than the preset's, with its own defaults.
        optimiser: Another optimiser than the preset's, with its own defaults.
        jobs: Worker processes; 0 is one a core.
        runs: The folder of run folders.
        checkpoint_seconds: Time between checkpoints.
        progress: Show progress bars.
    """

    seeds: int = 1
    preset: Source = "default"
    network: Literal["preset", "mlp", "conv"] = "preset"
    optimiser: Literal["preset", "adam", "adagrad"] = "preset"
    jobs: int = 0
    runs: Path = Path("runs")
    checkpoint_seconds: float = 20.0
    progress: bool = True

    def __post_init__(self) -> None:
        for name, least in (("seeds", 1), ("jobs", 0), ("checkpoint_seconds", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")


def train_options(arguments: Arguments) -> tuple[Any, TrainOptions]:
    """The configuration that the arguments describe: a data set, perhaps an objective, fields."""
    from unpick.data import DATASETS
    from unpick.models import MLP, Conv
    from unpick.objectives import OBJECTIVES
    from unpick.training import Adagrad, Adam, RunConfig, preset

    data, rest = arguments[0], arguments[1:]
    pick(DATASETS, data, "data set")
    # Which fields there are depends on these, so they are looked at first.
    sources: dict[str, Source] = {source: source for source in get_args(Source)}
    config = preset(data, pick(sources, value_of("--preset", rest, "default"), "preset"))
    if rest and not rest[0].startswith("-"):
        objective = pick(OBJECTIVES, rest.pop(0), "objective")
        if objective is not type(config.objective):
            posterior = replace(config.model, posterior=objective.posteriors[0])
            config = replace(config, objective=objective(), model=posterior)
    if late := [word for word in rest if word in OBJECTIVES]:
        fail(f"the objective comes before the options: unpick train {data} {late[0]} ...")
    kinds = {"mlp": MLP, "conv": Conv, "adam": Adam, "adagrad": Adagrad}
    if network := kinds.get(value_of("--network", rest, "preset")):
        config = replace(config, model=replace(config.model, network=network()))
    if optimiser := kinds.get(value_of("--optimiser", rest, "preset")):
        config = replace(config, optimiser=optimiser())
    whole = make_dataclass("Train", [("command", TrainOptions), ("run", RunConfig)])
    parsed = parse(whole, rest, f"unpick train {data}", default=whole(TrainOptions(), config))
    return parsed.run, parsed.command


def data(arguments: Arguments) -> None:
    """List, check, draw or fetch data sets."""
    if not arguments or {"-h", "--help"} & {*arguments[:2]}:
        write(DATA_HELP)
        return
    pick(DATA_VERBS, arguments.pop(0), "data command")(arguments)


def data_list(arguments: Arguments) -> None:
    """All data sets, and which of them are here."""
    from rich.console import Console
    from rich.table import Table

    from unpick.data import DATASETS, DataDamaged, DataMissing
    from unpick.data.files import FileConfig

    if arguments:
        fail(f"data list takes no arguments, got {' '.join(arguments)}")
    table = Table("name", "what", "where")
    for name, kind in DATASETS.items():
        config, where = kind(), "embedded"
        if isinstance(config, FileConfig):
            try:
                config.files()
                where = "on disk"
            except DataMissing:
                where = "not here"
            except DataDamaged:
                where = "damaged"
        table.add_row(name, (kind.__doc__ or "").splitlines()[0], where)
    Console().print(table)


def data_check(arguments: Arguments) -> None:
    """Verify the files of a data set: checksums, then structure."""
    from unpick.data import DATASETS
    from unpick.data.files import FileConfig, check

    if not arguments or arguments[0].startswith("-"):
        fail("data check: which data set? `unpick data check mnist [--path FOLDER]`")
    name, rest = arguments[0], arguments[1:]
    config = parse(pick(DATASETS, name, "data set"), rest, f"unpick data check {name}")
    if not isinstance(config, FileConfig):
        dataset = config.load()
        write(f"{name} is made here: {len(dataset)} observations of shape {dataset.shape}")
        return
    write(check(config))


def data_render(arguments: Arguments) -> None:
    """Draw a contact sheet of a data set."""
    from unpick.data import DATASETS
    from unpick.report import contact_sheet

    if not arguments or arguments[0].startswith("-"):
        fail("data render: which data set? `unpick data render sprites`")
    name, rest = arguments[0], arguments[1:]
    kind = pick(DATASETS, name, "data set")
    whole = make_dataclass("Render", [("data", kind), ("out", Path)])
    default = whole(kind(), Path(f"{name}.png"))
    options = parse(whole, rest, f"unpick data render {name}", default=default)
    contact_sheet(options.data.load()).savefig(options.out, dpi=110)
    write(f"wrote {options.out}")


def data_get(arguments: Arguments) -> None:
    """Fetch the files of a data set; goes on where it broke off."""
    from unpick.data.download import REMOTE, get

    if len(arguments) != 1 or arguments[0].startswith("-"):
        fail(f"data get: name one of {', '.join(REMOTE)}")
    for path in get(arguments[0]):
        write(f"{path} is right")


@dataclass(frozen=True)
class DemoOptions:
    """Where the demo puts what it makes.

    Attributes:
        report: The folder of the report.
        runs: The folder of run folders; a second demo reads them.
    """

    report: Path = Path("demo-report")
    runs: Path = Path("runs")


def demo(arguments: Arguments) -> None:
    """Show the main result on embedded data in about three minutes."""
    options = parse(DemoOptions, arguments, "unpick demo")
    from unpick.demo import demo as show
    from unpick.runs import keep_memory

    keep_memory()
    show(options.report, options.runs)


VERBS: dict[str, Callable[[Arguments], None]] = {"train": train, "data": data, "demo": demo}
DATA_VERBS: dict[str, Callable[[Arguments], None]] = {
    "list": data_list,
    "check": data_check,
    "render": data_render,
    "get": data_get,
}


def listed(verbs: Mapping[str, Callable[[Arguments], None]]) -> str:
    """One line a verb, from its docstring."""
    return "\n".join(f"  {name:<8}{verb.__doc__}" for name, verb in verbs.items())


HELP = f"""unpick shows why a variational autoencoder disentangles, and when it will not.

usage: unpick COMMAND [OPTIONS]

{listed(VERBS)}

`unpick COMMAND --help` tells more; `unpick --version` tells the version."""

DATA_HELP = f"""usage: unpick data COMMAND [NAME] [OPTIONS]

{listed(DATA_VERBS)}

  unpick data check mnist --path FOLDER
  unpick data render sprites --size 32 --out sprites.png
  unpick data get dsprites"""

TRAIN_HELP = """usage: unpick train DATA [OBJECTIVE] [OPTIONS]

Starts from the set-up of a paper for that data set; every field of the configuration is an option:
`unpick train DATA OBJECTIVE --help` lists them. The run goes to runs/, in a folder named by its
configuration; the same command again reads it, and goes on with it if it was interrupted.

  DATA       {data}
  OBJECTIVE  {objectives}

  unpick train synth-lin --seeds 10
  unpick train synth-lin beta-vae --posterior full --beta 0.01 --learning-rate 0.01 --steps 5000
  unpick train sprites beta-tcvae --size 32 --preset bhowal --beta 6"""
