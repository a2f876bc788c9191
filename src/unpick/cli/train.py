"""`unpick train`."""

import sys
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from unpick.arguments import (
    ALIASES,
    Arguments,
    call_user_function,
    expand_sweep,
    fail,
    load_function,
    parse,
    take_option,
    use_full_names,
    value_of,
    write,
)
from unpick.cli.place import Place
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.runs import Run
    from unpick.training import RunConfig

Source = Literal["default", "thesis", "bhowal", "locatello"]


def train(arguments: Arguments) -> None:
    """Train a model, or read it if it is trained already."""
    from unpick.cli.own import describe_data, describe_set_up
    from unpick.data import DATASETS, OwnData, select_twin
    from unpick.objectives import OBJECTIVES
    from unpick.runs import Runner, keep_memory, make

    if not arguments or arguments[0].startswith("-"):
        write(TRAIN_HELP.format(data=", ".join(DATASETS), objectives=", ".join(OBJECTIVES)))
        if {"-h", "--help"} & {*arguments}:
            return
        fail("train: which data set? `unpick train synth-lin`, for example")
    members, options = train_options(arguments)
    data = select_twin(members[0].data, options.perturbed, options.noisy)
    config = replace(members[0], data=data)
    if isinstance(config.data, OwnData):
        write("; ".join(describe_data(config.data)), sys.stderr)
        write(f"training with {describe_set_up(config)}; each is an option", sys.stderr)
    if arguments[1:] and not arguments[1].startswith("-"):  # an objective is named
        write(f"objective: {config.objective}", sys.stderr)
    keep_memory()
    configs = [
        replace(each, data=data, seed=each.seed + k)
        for each in members
        for k in range(options.seeds)
    ]
    numbers = [config.scalars() for config in configs]
    swept = {name: {each[name]: None for each in numbers} for name in numbers[0]}
    swept = {name: values for name, values in swept.items() if len(values) > 1}
    for name, values in swept.items():
        write(f"sweep: {name} {', '.join(f'{value:g}' for value in values)}", sys.stderr)
    runner = Runner(
        options.runs,
        options.jobs,
        options.progress,
        device=options.device,
        checkpoint_seconds=options.checkpoint_seconds,
        precision=options.precision,
        network=options.model,
        log=options.log,
        **vars(options.place),
    )
    if options.model:  # networks of your own may raise anything
        ours = (ValueError, OSError)
        runs: list[Run] = call_user_function(options.model, make, configs, runner, ours=ours)
    else:
        runs = make(configs, runner)
    for run, own in zip(runs, numbers, strict=True):
        chosen = [f"{name} {own[name]:g}" for name in swept]
        terms = [
            f"{name} {'not finite' if value is None else f'{value:.5g}'}"
            for name, value in run.results["terms"].items()
        ]
        write("  ".join([str(run.path), *chosen, *terms]))
    stopped = [run for run in runs if run.results["stopped"] is not None]
    for run in stopped:
        write(f"{run.path.name}: diverged at step {run.results['stopped']}", sys.stderr)
    for run in runs:
        if rose := run.loss_rose():
            write(
                f"{run.path.name}: the loss rose from {rose[0]:.4g} to {rose[1]:.4g}; a smaller "
                "learning rate may help",
                sys.stderr,
            )
    if len(stopped) == len(runs):
        fail("every member diverged; a smaller learning rate may help")


@dataclass(frozen=True)
class TrainOptions:
    """How to train; the fields of the configuration say what.

    Attributes:
        seeds: Train this many seeds, counted from --seed.
        preset: The paper whose set-up to start from; by default the thesis, if it has one.
        network: Another kind of network than the preset's, with its own defaults.
        optimiser: Another optimiser than the preset's, with its own defaults.
        pairs: How the second of a pair is drawn, for objectives of pairs.
        perturbed: Train on the perturbed twin of the data set in this folder.
        noisy: Train on the noisy twin, whose pixels have fixed noise of at most this size.
        model: FILE.py:function that makes networks of your own; this file is run.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        precision: Of matrix products: fp32, tf32 (CUDA only) or bf16.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        place: Worker processes here, or a cluster.
        runs: The folder of run folders.
        checkpoint_seconds: Time between checkpoints.
        progress: Show progress bars.
        log: tensorboard writes event files into the run folders: `tensorboard --logdir runs`.
    """

    seeds: int = 1
    preset: Source = "default"
    network: Literal["preset", "mlp", "conv"] = "preset"
    optimiser: Literal["preset", "adam", "adagrad", "sgd"] = "preset"
    pairs: Literal["preset", "laplace", "uniform", "share"] = "preset"
    perturbed: str = ""
    noisy: float = 0.0
    model: str = ""
    device: str = "auto"
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    jobs: int = 0
    place: Place = field(default_factory=Place)
    runs: Path = Path("runs")
    checkpoint_seconds: float = 20.0
    progress: bool = True
    log: Literal["none", "tensorboard"] = "none"

    def __post_init__(self) -> None:
        for name, least in (("seeds", 1), ("jobs", 0), ("checkpoint_seconds", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")


def train_options(
    arguments: Arguments, kind: type = TrainOptions, verb: str = "train"
) -> tuple[list[Any], Any]:
    """Parse a data set, perhaps an objective, and fields into configurations.

    There are several if the learning rate or a scalar of the objective has several values. In
    place of data set and objective, the folder of a run may be given: its configuration is then
    the default. A file or another folder is your own data.

    Args:
        arguments: What follows the command.
        kind: The command's own options, besides the fields of the configuration; `preset`,
            `network` and `optimiser` are among them.
        verb: The command.
    """
    from unpick.cli.own import own_config, pick_dataset
    from unpick.data import DATASETS, PAIRS
    from unpick.data.own import is_own
    from unpick.models import MLP, Conv, OwnNetwork
    from unpick.objectives import OBJECTIVES, Paired
    from unpick.training import SGD, Adagrad, Adam, RunConfig, preset
    from unpick.training.presets import same_beta, with_network, with_objective

    data, command = arguments[0], kind()
    epochs, rest = take_option("--epochs", use_full_names(arguments[1:]))
    if epochs and value_of("--steps", rest, ""):
        fail("--epochs and --steps exclude each other: both say how long to train")
    # These decide which fields there are, so they are read first.
    sources: dict[str, Source] = {source: source for source in get_args(Source)}
    source = pick(sources, value_of("--preset", rest, "default"), "preset")
    if data not in DATASETS and (Path(data) / "config.json").is_file():
        if "--preset" in rest or (rest and rest[0] in OBJECTIVES):
            fail(f"{data} is a folder: a run has its own set-up and objective")
        config: RunConfig = read_run_config(Path(data))
        command = replace(command, runs=Path(data).resolve().parent)
    elif data not in DATASETS and is_own(data):
        if source != "default":
            fail(f"{data} is your own: {source} has no set-up for it")
        if verb == "perturb":
            fail(f"{data} is neither a data set nor the folder of a run; twins are of those alone")
        config = own_config(data, rest, f"unpick {verb} {data}")
    else:
        pick_dataset(data)
        config = preset(data, source)
    if rest and not rest[0].startswith("-"):
        objective = pick(OBJECTIVES, rest.pop(0), "objective")
        if objective is not type(config.objective):
            config = with_objective(config, same_beta(objective, config.objective))
    if late := [word for word in rest if word in OBJECTIVES]:
        fail(f"the objective comes before the options: unpick {verb} {data} {late[0]} ...")
    # An unknown name is left to the parser, which refuses it.
    networks = {"mlp": MLP, "conv": Conv}
    optimisers = {"adam": Adam, "adagrad": Adagrad, "sgd": SGD}
    if network := networks.get(value_of("--network", rest, "preset")):
        config = with_network(config, network())
    if target := value_of("--model", rest, ""):
        config = with_network(config, OwnNetwork.of(load_function(target)))
    if optimiser := optimisers.get(value_of("--optimiser", rest, "preset")):
        config = replace(config, optimiser=optimiser())
    if chosen := PAIRS.get(value_of("--pairs", rest, "preset")):
        if not isinstance(config.objective, Paired):
            fail(f"{config.objective.name} knows no pairs; slow-vae and pcl do")
        config = replace(config, objective=replace(config.objective, pairs=chosen()))
    whole = make_dataclass("Whole", [("command", kind), ("run", RunConfig)])
    default, program = whole(command, config), f"unpick {verb} {data}"
    swept = [f"--{name.replace('_', '-')}" for name in config.scalars()]
    parsed = [
        parse(whole, each, program, default=default, description=ALSO)
        for each in expand_sweep(rest, swept)
    ]
    if epochs:
        steps = steps_of(parsed[0].run, epochs)
        return [replace(each.run, steps=steps) for each in parsed], parsed[0].command
    return [each.run for each in parsed], parsed[0].command


def steps_of(config: "RunConfig", epochs: str) -> int:
    """The number of steps in these epochs; prints how they are counted."""
    from unpick.data import split

    if not epochs.isdecimal():
        fail(f"epochs must be a whole number, got {epochs!r}")
    rows = len(split(config.data.load()).train)
    steps = int(epochs) * (rows // config.batch)
    how = f"{epochs} x floor({rows} training rows / batch {config.batch})"
    write(f"{epochs} epochs: steps = {how} = {steps}", sys.stderr)
    return steps


ALSO = (
    "Also: "
    + ", ".join(f"{alias} for {name}" for alias, name in ALIASES.items())
    + "; --epochs N in place of --steps, for N x floor(training rows / batch) steps."
)


def read_run_config(folder: Path) -> "RunConfig":
    """Read the configuration of a run on an original data set, or on your own."""
    from unpick.data import DATASETS, OwnData
    from unpick.runs.disk import read_config

    folder = folder.resolve()  # "." has no name to check
    config = read_config(folder)
    if type(config.data) not in (*DATASETS.values(), OwnData):
        fail(f"{folder.name} is of a twin; start from a run on the original")
    return config


TRAIN_HELP = """usage: unpick train DATA|RUN [OBJECTIVE] [OPTIONS]

Starts from the set-up of a paper for that data set; every field of the configuration is an option:
`unpick train DATA OBJECTIVE --help` lists them. The run goes to runs/, in a folder named by its
configuration; the same command again reads a finished run and resumes an interrupted one.

Another OBJECTIVE keeps the beta of the set-up if it has one, and its own defaults for the rest.
The values in use are printed first.

Several values of --beta, of another scalar of the objective or of --learning-rate train as one
ensemble, each with all seeds. Also: --lr for --learning-rate, --batch-size for --batch, --epochs N
for as many steps as N passes over the training part have.

--log tensorboard writes event files into the run's folder: `tensorboard --logdir runs`.
--on ray trains on the cluster of RAY_ADDRESS, or on one that is started here; --on ray://HOST:PORT
connects to one. There --cpus-per-run (1) and --gpus-per-run (0) say what a group of members takes.

  DATA       {data};
             or your own: a .npy, .npz, .csv or .parquet file, or a folder of images
  RUN        the folder of a run on one of them, to start from its set-up; new runs go beside it
  OBJECTIVE  {objectives}

  unpick train synth-lin --seeds 10
  unpick train synth-lin --beta 0.0001 0.001 0.01 --epochs 20
  unpick train synth-lin beta-vae --posterior full --beta 0.01 --learning-rate 0.01 --steps 5000
  unpick train sprites beta-tcvae --size 32 --preset bhowal --beta 6
  unpick train sprites --size 32 --noisy 0.1
  unpick train wine.csv --factors class --drop id
  unpick train photos/ --size 64 --grey --seeds 5
  unpick train photos/ --size 64 --model my_nets.py:make --device cuda    (runs my_nets.py)"""
