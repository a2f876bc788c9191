"""`unpick perturb`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unpick.arguments import Arguments, fail, write
from unpick.cli.train import Source, train_options

if TYPE_CHECKING:
    from unpick.data import Perturbed


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
        runs: The folder of run folders.
        checkpoint_seconds: Time between checkpoints.
        progress: Show progress bars.
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
    runs: Path = Path("runs")
    checkpoint_seconds: float = 20.0
    progress: bool = True

    def __post_init__(self) -> None:
        for name in ("jobs", "checkpoint_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")


def perturb(arguments: Arguments) -> None:
    """Make a perturbed twin of a data set, on which beta-VAEs entangle."""
    if not arguments or arguments[0].startswith("-"):
        write(PERTURB_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("perturb: which data set? `unpick perturb sprites --size 32`, for example")
    base, options = train_options(arguments, PerturbOptions, "perturb")
    from unpick.perturb import PerturbConfig
    from unpick.perturb import perturb as make_twin
    from unpick.runs import Runner, keep_memory

    keep_memory()
    config = PerturbConfig(
        base,
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
    )
    twin = make_twin(config, runner, path=options.out)
    print_twin(twin, config.choose.upper())


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

Trains restarts of a beta-VAE on a data set and chooses the most and the least disentangled. Then
it trains a small additive change of the images, under which the entangled model reconstructs
better than the disentangled one (Zietlow 2022, chapter 4). No pixel changes by more than
--epsilon, and factors stay as they are: the twin is a data set like any other. With RUN, the
restarts have the set-up of that run and lie beside it. The same command again reads a finished
twin and resumes an interrupted one. `unpick perturb DATA --help` lists all options, those of the
models included.

  unpick perturb sprites --size 32 --epsilon 0.1
  unpick perturb shapes3d --size 32 --epsilon 0.175 --ensemble 4 --latents 6 --beta 32
  unpick perturb runs/sprites-beta-vae-seed0-0123456789ab --restarts 8

It starts from the set-ups of the papers, which take days; docs/twins.md has a short one.

  unpick train sprites --size 32 --perturbed FOLDER     train on the twin
  unpick train sprites --size 32 --noisy 0.1            on the control: noise of that size"""
