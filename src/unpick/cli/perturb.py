"""`unpick perturb`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unpick.arguments import Arguments, fail, parse, take_option, write
from unpick.cli.place import Place
from unpick.cli.train import Source, train_options
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.data import Perturbed
    from unpick.perturb import PerturbConfig
    from unpick.runs import Runner

TOLD, ASKED = 600.0, 86_400.0  # seconds from which the cost is told, and must be agreed to


@dataclass(frozen=True)
class PerturbOptions:
    """How to make the twin; all other options describe the models it is made against.

    Attributes:
        epsilon: Largest change of a pixel.
        restarts: Train this many models, seeds counted from --seed, and choose among them.
        choose: Score that picks the most and the least disentangled; udr needs no factors.
        ensemble: Number of models on each side.
        change_steps: Batches on which the change is trained.
        change_batch: Observations in each of these batches.
        change_rate: Learning rate of the change.
        decoder_rate: Learning rate of the decoders, which adapt to the change.
        change_seed: Seed of the change's first weights, batches and noise.
        samples: Latents drawn for each observation.
        decoder_batches: Batches that train the decoders before each batch for the change.
        levels: Number of values of the neuron at which the change is tabulated.
        literal: Train the change by the printed objective, without the additions of docs/twins.md.
        preset: The paper whose set-up to start from; by default the thesis, if it has one.
        network: Another kind of network than the preset's, with its own defaults.
        optimiser: Another optimiser than the preset's, with its own defaults.
        out: The folder of the twin; by default one in the folder of rendered data.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        precision: Of matrix products: fp32, tf32 (CUDA only) or bf16.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        place: Worker processes here, or a cluster.
        runs: The folder of run folders.
        checkpoint_seconds: Time between checkpoints.
        progress: Show progress bars.
        yes: Start even if it takes days.
    """

    epsilon: float = 0.1
    restarts: int = 10
    choose: Literal["mig", "udr"] = "mig"
    ensemble: int = 1
    change_steps: int = 20_000
    change_batch: int = 64
    change_rate: float = 1e-4
    decoder_rate: float = 1e-4
    change_seed: int = 0
    samples: int = 5
    decoder_batches: int = 3
    levels: int = 512
    literal: bool = False
    preset: Source = "default"
    network: Literal["preset", "mlp", "conv"] = "preset"
    optimiser: Literal["preset", "adam", "adagrad"] = "preset"
    out: str = ""
    device: str = "auto"
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    jobs: int = 0
    place: Place = field(default_factory=Place)
    runs: Path = Path("runs")
    checkpoint_seconds: float = 20.0
    progress: bool = True
    yes: bool = False

    def __post_init__(self) -> None:
        for name in ("jobs", "checkpoint_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")


@dataclass(frozen=True)
class RecipeOptions:
    """Where to make a ready-made twin; its recipe says the rest.

    Attributes:
        out: The folder of the twin; by default one in the folder of rendered data.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        place: Worker processes here, or a cluster.
        runs: The folder of run folders.
        progress: Show progress bars.
    """

    out: str = ""
    device: str = "auto"
    jobs: int = 0
    place: Place = field(default_factory=Place)
    runs: Path = Path("runs")
    progress: bool = True


def perturb(arguments: Arguments) -> None:
    """Make a perturbed twin of a data set, on which beta-VAEs entangle."""
    name, rest = take_option("--recipe", arguments)
    if name and not name.startswith("-"):
        make_recipe(name, rest)
        return
    if not arguments or arguments[0].startswith("-"):
        write(PERTURB_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("perturb: which data set? `unpick perturb --recipe sprites`, for example")
    bases, options = train_options(arguments, PerturbOptions, "perturb")
    if len(bases) > 1:
        fail(f"a twin is made against one set-up, got {len(bases)}: give each option one value")
    from unpick.perturb import PerturbConfig
    from unpick.perturb import perturb as make_twin
    from unpick.runs import Runner, keep_memory

    keep_memory()
    config = PerturbConfig(
        bases[0],
        epsilon=options.epsilon,
        restarts=options.restarts,
        choose=options.choose,
        ensemble=options.ensemble,
        steps=options.change_steps,
        batch=options.change_batch,
        samples=options.samples,
        decoder_batches=options.decoder_batches,
        learning_rate=options.change_rate,
        decoder_rate=options.decoder_rate,
        levels=options.levels,
        seed=options.change_seed,
        literal=options.literal,
    )
    runner = Runner(
        options.runs,
        options.jobs,
        options.progress,
        device=options.device,
        checkpoint_seconds=options.checkpoint_seconds,
        precision=options.precision,
        **vars(options.place),
    )
    announce_cost(config, runner, options.out, agreed=options.yes)
    judge_twin(make_twin(config, runner, path=options.out), config.choose.upper())


def make_recipe(name: str, arguments: Arguments) -> None:
    """Make a ready-made twin, and compare it with the shipped one."""
    options = parse(RecipeOptions, arguments, f"unpick perturb --recipe {name}")
    from unpick.data.twins import read_document
    from unpick.devices import threads
    from unpick.perturb import perturb as make_twin
    from unpick.perturb.recipes import RECIPES, compare_with_shipped, describe_effect
    from unpick.runs import Runner, keep_memory

    config = pick(RECIPES, name, "recipe")
    keep_memory()
    runner = Runner(
        options.runs,
        options.jobs,
        options.progress,
        device=options.device,
        **vars(options.place),
    )
    with threads(1):  # the number of threads changes last bits, and with them the checksum
        announce_cost(config, runner, options.out, agreed=True)
        twin = make_twin(config, runner, path=options.out)
    remarks = (compare_with_shipped(name, read_document(twin.folder)), describe_effect(name))
    judge_twin(twin, "MIG", remarks)


def announce_cost(config: "PerturbConfig", runner: "Runner", out: str, *, agreed: bool) -> None:
    """Say how long a twin takes if it is long; stop if it is days and nobody has agreed."""
    from unpick.papers.costs import duration
    from unpick.perturb.cost import estimate_seconds
    from unpick.perturb.make_twin import load_original
    from unpick.training.progress import status_line

    twin = config.data(out)
    if (twin.folder / twin.file).exists():
        return
    dataset = load_original(config)
    with status_line("estimating the time"):
        seconds = estimate_seconds(config, dataset, runner)
    took = f"this takes about {duration(seconds)} on this machine"
    if seconds > ASKED and not agreed:
        fail(
            f"{took}: --yes starts it; `unpick perturb --recipe sprites` makes a twin in minutes, "
            "and fewer --steps, --restarts and --change-steps make this one sooner"
        )
    if seconds > TOLD:
        write(f"{took}; it can be interrupted, and the same command goes on", sys.stderr)


def judge_twin(twin: "Perturbed", score: str, remarks: Sequence[str] = ()) -> None:
    """Print the twin, and whether it misleads; exit 1 if it does not.

    Args:
        twin: The twin.
        score: By which its restarts were chosen.
        remarks: Of a recipe: how close the twin is to the shipped one, and what that did.
    """
    from unpick.data.twins import read_document
    from unpick.perturb.verdict import find_weaknesses

    report = read_document(twin.folder)["report"]
    weaknesses = find_weaknesses(report, measured=bool(remarks))
    print_twin(twin, score)
    for remark in remarks:
        write(remark)
    for reason in weaknesses:
        write(f"unpick: this twin is not known to mislead: {reason}", sys.stderr)
    if weaknesses:
        sys.exit(1)


def print_twin(twin: "Perturbed", score: str) -> None:
    """Print which restarts were chosen, how large the change is, and how to use the twin."""
    from rich.console import Console

    from unpick.data.twins import describe, read_document
    from unpick.pages import Table, print_table

    document = read_document(twin.folder)
    report: dict[str, Any] = document["report"]
    rows = []
    for each in sorted(report["candidates"], key=lambda each: -each["score"]):
        sides = [side for side in ("disentangled", "entangled") if each["seed"] in report[side]]
        pruned = "over-pruned" if each["over_pruned"] else ""
        rows.append((str(each["seed"]), f"{each['score']:.3f}", "".join(sides), pruned))
    table = Table(f"Restarts by {score}.", ("seed", score, "chosen as", ""), tuple(rows))
    print_table(table, Console())
    for when, images in {"before": "original", "after": "changed"}.items():
        losses = report[when]
        gap = losses["entangled"] - losses["disentangled"]
        write(
            f"decoders refitted to {images} images lose {losses['entangled']:.5g} entangled, "
            f"{losses['disentangled']:.5g} disentangled: difference {gap:.4g}"
        )
    write(
        f"change: at most {report['largest change']:.4g} (allowed {document['epsilon']:g}), "
        f"on average {report['mean change']:.4g}"
    )
    write(
        f"  {report['varying']:.0%} of it differs between images, the rest is one pattern on all"
    )
    if report["after"]["entangled"] >= report["after"]["disentangled"]:
        write("entangled models do not have the lower loss yet: more --change-steps may help")
    options = describe(twin.original)
    name, folder = options.pop("name"), str(twin.folder)
    plain = describe(type(twin.original)())
    given = {key: value for key, value in options.items() if value != plain[key]}
    if path := getattr(twin.original, "path", ""):
        given["path"] = path
    python = "".join(f", {key}={value!r}" for key, value in given.items())
    shell = "".join(f" --{key.replace('_', '-')} {value}" for key, value in given.items())
    write(f"twin: {folder}")
    for picture in sorted(twin.folder.glob("*.png")):
        write(f"  {picture}")
    write(f'load("{name}"{python}, perturbed="{folder}")')
    write(f"unpick train {name}{shell} --perturbed {folder}")


PERTURB_HELP = """usage: unpick perturb DATA|RUN [OPTIONS]
       unpick perturb --recipe sprites|rooms [--out DIR]

Trains restarts of a beta-VAE on a data set and chooses the most and the least disentangled. Then
it trains a small additive change of the images, under which the entangled model reconstructs
better than the disentangled one (Zietlow 2022, chapter 4). No pixel changes by more than
--epsilon, and factors stay as they are: the twin is a data set like any other. With RUN, the
restarts have the set-up of that run and lie beside it. The same command again reads a finished
twin and resumes an interrupted one. `unpick perturb DATA --help` lists all options, those of the
models included.

A recipe is a ready-made twin, of sprites or of rooms (shapes3d), made in minutes and compared
with the shipped one. Without a recipe, the set-up is that of the papers, which takes days: what
takes more than ten minutes is told, and days need --yes. If the twin should mislead nobody, the
reasons are printed and the exit code is 1.

  unpick perturb --recipe sprites --out twin
  unpick perturb shapes3d --size 8 --network mlp --encoder 128 --decoder 128 --beta 2 \\
      --optimiser adam --lr 2e-3 --steps 2000 --restarts 4 --epsilon 0.175 \\
      --change-steps 600 --change-batch 32 --decoder-rate 1e-3
  unpick perturb runs/sprites-beta-vae-seed0-0123456789ab --restarts 4 --change-steps 600

  unpick train sprites --size 32 --perturbed FOLDER     train on the twin
  unpick train sprites --size 32 --noisy 0.1            on the control: noise of that size"""
