"""`unpick stress`."""

from dataclasses import dataclass, make_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpick.arguments import Arguments, fail, parse, value_of, write
from unpick.cli.diagnose import attempt, function_of
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.data import Perturbed
    from unpick.perturb.stress import Stress


@dataclass(frozen=True)
class StressOptions:
    """How to stress it.

    Attributes:
        perturbed: The folder of a perturbed twin, as `unpick perturb` makes it.
        seeds: Trainings on each of the three data sets.
        jobs: Worker processes; 0 is one a core.
        runs: The folder of run folders.
        progress: Show progress bars.
    """

    perturbed: Path
    seeds: int = 3
    jobs: int = 0
    runs: Path = Path("runs")
    progress: bool = True


@dataclass(frozen=True)
class FitOptions:
    """How to stress anybody's model.

    Attributes:
        perturbed: The folder of a perturbed twin, as `unpick perturb` makes it.
        seeds: Trainings on each of the three data sets.
        path: Where the files of the original are, if it is made of files.
    """

    perturbed: Path
    seeds: int = 3
    path: str = ""


def stress(arguments: Arguments) -> None:
    """How much of its score a method owes to local variance structure."""
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
    found = of_file(target, rest, twin) if ".py" in target else of_objective(target, rest, twin)
    tell(target, twin, found)


def of_file(target: str, rest: Arguments, twin: "Perturbed") -> "Stress":
    """Anybody's model: FILE.py:function trains it on a data set, for a seed."""
    from rich.console import Console

    from unpick.perturb.stress import check, stress_model

    options = parse(FitOptions, rest, f"unpick stress {target}")
    check(twin, options.seeds)
    fit = function_of(target)
    with Console(stderr=True).status("") as status:
        run = partial(stress_model, fit, twin, seeds=options.seeds, on_progress=status.update)
        found: Stress = attempt(target, run)
    return found


def of_objective(target: str, rest: Arguments, twin: "Perturbed") -> "Stress":
    """One of ours, trained like the models that the twin was made against."""
    from unpick.objectives import OBJECTIVES
    from unpick.perturb.stress import base_of
    from unpick.perturb.stress import stress as run
    from unpick.runs import Runner, keep_memory
    from unpick.training import RunConfig
    from unpick.training.presets import same_beta, with_objective

    base, objective = base_of(twin), pick(OBJECTIVES, target, "objective")
    if objective is not type(base.objective):
        base = with_objective(base, same_beta(objective, base.objective))
    whole = make_dataclass("Whole", [("command", StressOptions), ("run", RunConfig)])
    default = whole(StressOptions(twin.folder), base)
    parsed: Any = parse(whole, rest, f"unpick stress {target}", default=default)
    if parsed.run.data != twin.original:
        fail(f"the data follow from the twin: leave the options of {twin.original.name} out")
    keep_memory()
    return run(
        parsed.run,
        twin,
        Runner(parsed.command.runs, parsed.command.jobs, parsed.command.progress),
        seeds=parsed.command.seeds,
    )


def tell(target: str, twin: "Perturbed", found: "Stress") -> None:
    """The table, and the answer in a sentence."""
    from rich.console import Console

    from unpick.metrics.importance import LEARNERS
    from unpick.pages import Table, show
    from unpick.perturb.stress import TWINS

    def cell(values: Any) -> str:  # noqa: ANN401
        spread = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
        return f"{values.mean():.3f}{spread}"

    rows = []
    for measure in found.measures:
        owed = found.owed(measure)
        share = f"{owed.share:.0%}" if owed.share == owed.share else "–"
        between = f" ({owed.low:.0%} to {owed.high:.0%})" if owed.low == owed.low else ""
        scores = [cell(found.values[name][measure]) for name in TWINS]
        rows.append((measure, f"{found.chance[measure]:.3f}", *scores, share + between))
    several = found.seeds > 1
    how = f"mean ± standard deviation over {found.seeds} seeds" if several else "one seed"
    caption = (
        f"{target} on {twin.original.name} and its twins, {how}. chance: random linear "
        "projections. owed: (noisy - perturbed) / original, what the structure of the change "
        "takes away and noise with the same largest change does not"
        f"{'; in brackets 95 % over seeds' if several else ''}."
    )
    left = {name: found.seeds - len(found.values[name]["MIG"]) for name in TWINS}
    notes = (
        "Root mean square of the change on test images: "
        f"noisy {found.change['noisy']:.3f}, perturbed {found.change['perturbed']:.3f}.",
        *(
            f"DCI: disentanglement; learner: {LEARNERS['fast']}."
            for m in found.measures
            if m == "DCI"
        ),
        *(f"Diverged and left out: {left[name]} on {name}." for name in TWINS if left[name]),
    )
    show(Table(caption, ("score", "chance", *TWINS, "owed"), tuple(rows), notes), Console())
    write(sentence(target, found))


def sentence(target: str, found: "Stress") -> str:
    """What the MIG says."""
    owed, chance = found.owed("MIG"), found.chance["MIG"]
    if owed.share != owed.share:
        return (
            f"{target} has learnt nothing to lose: on the original its MIG, "
            f"{found.values['original']['MIG'].mean():.3f}, is not above chance, {chance:.3f}."
        )
    if owed.high < 0:
        return (
            f"{target} owes nothing of its MIG to local variance structure: the change helps it."
        )
    doubt = ", of one seed" if owed.low != owed.low else ""
    if owed.low <= 0 <= owed.high:
        doubt = ", which may be chance"
    return f"{target} owes {owed.share:.0%} of its MIG to local variance structure{doubt}."


STRESS_HELP = """usage: unpick stress MODEL --perturbed FOLDER [OPTIONS]

Trains a method on a data set, on its twin with noise and on its perturbed twin, and prints how
much of each score the method owes to the local variance structure of the data (Zietlow 2022,
chapter 4). `unpick perturb DATA` makes the twin; the original follows from it.

  MODEL        an objective, such as beta-tcvae, trained like the models the twin was made against
               (every field of the configuration is an option: unpick stress MODEL --perturbed
               FOLDER --help), or FILE.py:function: called with a data set and a seed, it trains
               a model of its own and returns its encoder
  --seeds N    trainings on each of the three (3)
  --path PATH  where the files of the original are, if it is made of files
  --runs DIR   of an objective: the folder of run folders; what is there is read (runs)
  --jobs N     of an objective: worker processes; 0, the default, is one a core

  unpick stress slow-vae --perturbed twin/ --seeds 5
  unpick stress my_model.py:fit --perturbed twin/"""
