"""`unpick stress`."""

import math
from dataclasses import dataclass, field, make_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unpick.arguments import (
    Arguments,
    call_user_function,
    fail,
    load_function,
    parse,
    take_option,
    use_full_names,
    value_of,
    write,
)
from unpick.cli.place import Place
from unpick.cli.train import ALSO, steps_of
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.data import Perturbed
    from unpick.perturb.lost_share import LostShare, Stress

NONE = "\N{EN DASH}"  # shown where there is no share


@dataclass(frozen=True)
class StressOptions:
    """How to stress one of our objectives.

    Attributes:
        perturbed: The folder of a perturbed twin, as `unpick perturb` makes it.
        seeds: Trainings on each of the four data sets.
        model: FILE.py:function that makes networks of your own; this file is run.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        precision: Of matrix products: fp32, tf32 (CUDA only) or bf16.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        place: Worker processes here, or a cluster.
        runs: The folder of run folders.
        progress: Show progress bars.
    """

    perturbed: Path
    seeds: int = 3
    model: str = ""
    device: str = "auto"
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    jobs: int = 0
    place: Place = field(default_factory=Place)
    runs: Path = Path("runs")
    progress: bool = True


@dataclass(frozen=True)
class FitOptions:
    """How to stress a model of your own.

    Attributes:
        perturbed: The folder of a perturbed twin, as `unpick perturb` makes it.
        seeds: Trainings on each of the four data sets.
        path: Where the files of the original are, if it is read from files.
        runs: The folder of run folders; finished trainings are kept there, and read.
    """

    perturbed: Path
    seeds: int = 3
    path: str = ""
    runs: Path = Path("runs")


def stress(arguments: Arguments) -> None:
    """Print how much score a method loses when local variance no longer follows the factors."""
    if not arguments or arguments[0].startswith("-"):
        write(STRESS_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("stress: which model? `unpick stress beta-vae --perturbed FOLDER`, for example")
    target, rest = arguments[0], arguments[1:]
    folder = value_of("--perturbed", rest, "")
    if not folder:
        if {"-h", "--help"} & {*rest}:
            write(STRESS_HELP)
            return
        fail("stress: on which twin? Make one with `unpick perturb`, then --perturbed FOLDER")
    from unpick.data.twins import read_twin

    twin = read_twin(Path(folder), value_of("--path", rest, ""))
    start = stress_function if ".py" in target else stress_objective
    found = start(target, rest, twin)
    print_stress(target, twin, found)


def stress_function(target: str, rest: Arguments, twin: "Perturbed") -> "Stress":
    """Stress a user's model: FILE.py:function trains it on a data set, for a seed."""
    from unpick.perturb.stress import check_twin, stress_model
    from unpick.runs import DamagedRun
    from unpick.training.progress import status_line

    options = parse(FitOptions, rest, f"unpick stress {target}")
    check_twin(twin, options.seeds)
    fit = load_function(target)
    with status_line() as show:
        run = partial(
            stress_model, fit, twin, seeds=options.seeds, root=options.runs, on_progress=show
        )
        found: Stress = call_user_function(target, run, ours=(DamagedRun,))
    return found


def stress_objective(target: str, rest: Arguments, twin: "Perturbed") -> "Stress":
    """Stress one of our objectives, trained like the models that the twin was made against."""
    from unpick.models import OwnNetwork
    from unpick.objectives import OBJECTIVES
    from unpick.perturb.stress import read_base
    from unpick.perturb.stress import stress as run
    from unpick.runs import Runner, keep_memory
    from unpick.training import RunConfig
    from unpick.training.presets import same_beta, with_network, with_objective

    epochs, rest = take_option("--epochs", use_full_names(rest))
    if epochs and value_of("--steps", rest, ""):
        fail("--epochs and --steps exclude each other: both say how long to train")
    base, objective = read_base(twin), pick(OBJECTIVES, target, "objective")
    if objective is not type(base.objective):
        base = with_objective(base, same_beta(objective, base.objective))
    if own := value_of("--model", rest, ""):
        base = with_network(base, OwnNetwork.of(load_function(own)))
    whole = make_dataclass("Whole", [("command", StressOptions), ("run", RunConfig)])
    default = whole(StressOptions(twin.folder), base)
    program = f"unpick stress {target}"
    parsed: Any = parse(whole, rest, program, default=default, description=ALSO)
    if parsed.run.data != twin.original:
        fail(f"the data follow from the twin: leave the options of {twin.original.name} out")
    config = replace(parsed.run, steps=steps_of(parsed.run, epochs)) if epochs else parsed.run
    keep_memory()
    options: StressOptions = parsed.command
    runner = Runner(
        options.runs,
        options.jobs,
        options.progress,
        device=options.device,
        precision=options.precision,
        network=options.model,
        **vars(options.place),
    )
    return run(config, twin, runner, seeds=options.seeds)


def print_stress(target: str, twin: "Perturbed", found: "Stress") -> None:
    """Print the table, and the result in one sentence."""
    from rich.console import Console

    from unpick.metrics.importance import LEARNERS
    from unpick.pages import Table, print_table
    from unpick.perturb.lost_share import CONTROLS, TWINS

    def cell(values: Any) -> str:  # noqa: ANN401
        spread = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
        return f"{values.mean():.3f}{spread}"

    several = found.seeds > 1
    rows = [("chance", *(cell(found.chance[name]) for name in found.measures))]
    rows += [(name, *(cell(found.values[name][m]) for m in found.measures)) for name in TWINS]
    for control in CONTROLS:
        shares = [found.lost_share(measure, control) for measure in found.measures]
        rows.append((f"lost beyond {control}", *(share_text(share) for share in shares)))
        if several:
            between = (f"{each.low:.0%} to {each.high:.0%}" for each in shares)
            cells = (NONE if "nan" in text else text for text in between)
            rows.append(("  95 % over seeds", *cells))
    how = f"mean ± standard deviation over {found.seeds} seeds" if several else "one seed"
    caption = (
        f"{target} on {twin.original.name} and its twins, {how}. chance: random linear "
        "projections. lost: (control - perturbed) / original, the share of the score that the "
        "perturbation takes away and noise does not. The control is noise with the same largest "
        "change (noisy) or with the same variance of the change (matched)."
    )
    left = {name: found.seeds - len(found.values[name][found.measures[0]]) for name in TWINS}
    sizes = ", ".join(f"{name} {found.change[name]:.3f}" for name in TWINS[1:])
    notes = (
        f"Root mean square of the change on test images: {sizes}.",
        f"{NONE}: the score on the original is not clearly above chance. undecided: the interval "
        "is wider than the whole score.",
        *(
            f"DCI: disentanglement; learner: {LEARNERS['fast']}."
            for m in found.measures
            if m == "DCI"
        ),
        *(f"Diverged and left out: {left[name]} on {name}." for name in TWINS if left[name]),
    )
    print_table(Table(caption, ("", *found.measures), tuple(rows), notes), Console())
    write(summarise(target, found))


def share_text(share: "LostShare") -> str:
    """A share in per cent; a dash if there is none, 'undecided' if seeds do not tell."""
    if math.isnan(share.value):
        return NONE
    return "undecided" if share.undecided else f"{share.value:.0%}"


def summarise(target: str, found: "Stress") -> str:
    """The result for the MIG, in one sentence."""
    lost, matched = found.lost_share("MIG"), found.lost_share("MIG", "matched")
    if math.isnan(lost.value):
        return (
            f"There is no telling what {target} loses: on the original its MIG, "
            f"{found.values['original']['MIG'].mean():.3f}, is not clearly above chance, "
            f"{found.chance['MIG'].mean():.3f}."
        )
    when = "when local variance no longer follows the factors"
    if lost.undecided or matched.undecided:
        wide = lost if lost.undecided else matched
        return (
            f"{found.seeds} seeds do not tell how much of its MIG {target} loses {when}: between "
            f"{wide.low:.0%} and {wide.high:.0%}. More --seeds may tell."
        )
    if max(lost.high, matched.high) < 0:
        return f"{target} loses none of its MIG {when}: it gains."
    doubt = " (one seed)" if math.isnan(lost.low) else ""
    if min(lost.low, matched.low) <= 0:
        doubt = " (which may be chance)"
    return (
        f"{target} loses {lost.value:.0%} of its MIG {when}, beyond noise of the same maximum, "
        f"and {matched.value:.0%} beyond noise of the same variance{doubt}."
    )


STRESS_HELP = """usage: unpick stress MODEL --perturbed FOLDER [OPTIONS]

Trains a method on a data set, on its perturbed twin and on two noisy ones, and prints how much of
each score the method loses when local variance no longer follows the factors (Zietlow 2022,
chapter 4), beyond what noise of the same maximum and of the same variance takes away. `unpick
perturb --recipe sprites` makes a twin, which also names its original. Finished trainings are kept.

  MODEL        an objective, such as beta-tcvae, trained like the models the twin was made against
               (every field of the configuration is an option: unpick stress MODEL --perturbed
               FOLDER --help), or FILE.py:function: called with a data set and a seed, it trains
               a model of its own and returns its encoder; FILE.py is run, as by
               python. What it returns is kept under the content of its
               file, so an edited file trains again (files that it imports do not count)
  --seeds N    trainings on each of the four data sets (3)
  --path PATH  where the files of the original are, if it is read from files
  --runs DIR   the folder of run folders; finished trainings are read (runs)
  --model FILE.py:function
               for an objective: networks of your own; this file is run
  --device D   for an objective: auto (a GPU if there is one; the default), cpu, cuda, cuda:1, mps
  --jobs N     for an objective: worker processes; 0, the default, is one a core
  --on PLACE   for an objective: processes (of this machine; the default), ray or ray://HOST:PORT

  unpick stress slow-vae --perturbed twin/ --seeds 5
  unpick stress my_model.py:fit --perturbed twin/"""
