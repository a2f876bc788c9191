"""`unpick study` and `unpick studies`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unpick.arguments import Arguments, fail, parse, write
from unpick.cli.place import Place
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.study import Results

Scale = Literal["quick", "standard", "paper"]


@dataclass(frozen=True)
class StudyOptions:
    """How to run a study.

    Attributes:
        scale: quick (minutes on two cores), standard (an hour or so) or paper (as published).
        seeds: Runs of each cell; 0 is as many as the study says.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        precision: Of matrix products: fp32, tf32 (CUDA only) or bf16.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        place: Worker processes here, or a cluster.
        runs: The folder of run folders.
        progress: Show progress bars.
        log: tensorboard writes event files into the run folders: `tensorboard --logdir runs`.
        csv: Write one line a run and measure to this file.
        table: Write the table to this file, as LaTeX (.tex) or Markdown (.md).
        figures: Draw the study's figures into this folder, as SVG and PDF.
        figure: Draw only the figure of this name.
    """

    scale: Scale = "quick"
    seeds: int = 0
    device: str = "auto"
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    jobs: int = 0
    place: Place = field(default_factory=Place)
    runs: Path = Path("runs")
    progress: bool = True
    log: Literal["none", "tensorboard"] = "none"
    csv: Path | None = None
    table: Path | None = None
    figures: Path | None = None
    figure: str = ""

    def __post_init__(self) -> None:
        for name in ("seeds", "jobs"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        if self.figure and self.figures is None:
            raise ValueError("figure needs a folder: --figures DIR")


def study(arguments: Arguments) -> None:
    """Reproduce a paper's table: train what is missing, measure, compare, judge its claims."""
    if {"-h", "--help"} & {*arguments}:
        write(STUDY_HELP)
        return
    if not arguments or arguments[0].startswith("-"):
        fail("the study comes first: unpick study NAME ...; `unpick studies` lists them")
    name, rest = arguments[0], arguments[1:]
    options = parse(StudyOptions, rest, f"unpick study {name}")
    from rich.console import Console

    from unpick.pages.table_file import check_suffix, write_csv, write_table
    from unpick.papers import STUDIES
    from unpick.report import show_results, study_table
    from unpick.runs import Runner, keep_memory
    from unpick.study import SCALES, run
    from unpick.study.records import FIELDS
    from unpick.training.progress import status_line

    chosen = pick(STUDIES, name, "study")
    scales = [scale for scale in SCALES if chosen.cells(scale)]
    if scales and options.scale not in scales:
        fail(f"{name} has nothing to run at scale {options.scale}; it has {' and '.join(scales)}")
    names = [drawing.name for drawing in chosen.drawings]
    if options.figure and options.figure not in names:
        listed = ", ".join(names) or "none, it has no figures"
        fail(f"figure of {name} must be one of {listed}; got {options.figure!r}")
    if options.table is not None:
        check_suffix(options.table)
    if (options.csv or options.table) and not chosen.measures:
        fail(f"{name} measures no runs, so there is no table; unpick report writes its page")
    keep_memory()
    with status_line() as show:
        runner = Runner(
            options.runs,
            options.jobs,
            options.progress,
            device=options.device,
            precision=options.precision,
            log=options.log,
            **vars(options.place),
        )
        seeds = options.seeds or None
        results = run(
            chosen,
            options.scale,
            runner,
            seeds=seeds,
            on_progress=lambda text: show(f"measuring {text}"),
        )
    show_results(results, Console())
    if options.csv is not None:
        write_csv(results.records(), FIELDS, options.csv)
        write(f"csv: {options.csv}")
    if options.table is not None:
        write_table(study_table(results), options.table)
        write(f"table: {options.table}")
    if options.figures is not None:
        draw_figures(results, options.figures, options.figure)


def draw_figures(results: "Results", folder: Path, only: str = "") -> None:
    """Draw the figures of a study, or one of them, and print where they are."""
    from unpick.report.drawings import draw_one

    failed = []
    for drawing in results.study.drawings:
        if only not in ("", drawing.name):
            continue
        try:
            files = draw_one(drawing, results, folder, results.study.name)
        except (OSError, ValueError) as error:  # a damaged run costs one figure, not all
            failed.append(f"{drawing.name} could not be drawn: {error}")
            continue
        for file in files:
            write(f"figure: {file}")
        if not files:
            write(f"figure: {drawing.name} needs runs that are missing")
    if failed:
        fail("; ".join(failed))


@dataclass(frozen=True)
class StudiesOptions:
    """Where to look for runs.

    Attributes:
        runs: The folder of run folders.
    """

    runs: Path = Path("runs")


def studies(arguments: Arguments) -> None:
    """List the studies: source, cost at each scale, what is on disk."""
    options = parse(StudiesOptions, arguments, "unpick studies")
    from rich.console import Console

    from unpick.pages import Table, print_table
    from unpick.papers import STUDIES
    from unpick.papers.costs import cost, on_disk
    from unpick.study import SCALES

    rows = []
    for name, each in STUDIES.items():
        rows.append((name, "", "", each.source))
        for scale in SCALES:
            done, whole = on_disk(each, scale, options.runs)
            if whole:
                rows.append((f"  {scale}", cost(each, scale), f"{done} of {whole}", ""))
    caption = (
        "Time: of training on two cores, from the measured speed of each network. Runs: finished "
        "ones in the folder of runs. `unpick study NAME --scale SCALE`"
    )
    print_table(Table(caption, ("study", "time", "runs", "source"), tuple(rows)), Console())


STUDY_HELP = """usage: unpick study NAME [OPTIONS]

Trains what is missing (the rest is read), measures it, and prints the table: ours, published, the
difference in standard errors; then each claim of the source with its verdict. It can be stopped at
any moment; the same command resumes. `unpick studies` lists the names, `unpick report` makes pages
with the figures of all that was run.

  --scale S    quick (minutes on two cores; the default), standard (an hour or so) or paper (as
               published)
  --seeds N    runs of each cell; 0, the default, is as many as the study says
  --device D   auto (a GPU if there is one; the default), cpu, cuda, cuda:1, mps
  --precision P
               of matrix products: fp32 (the default), tf32 (CUDA only) or bf16
  --jobs N     worker processes; 0, the default, is one a core, or one on a GPU
  --on PLACE   processes (of this machine; the default), ray (the cluster of RAY_ADDRESS, or one
               that is started here) or ray://HOST:PORT; --cpus-per-run (1) and --gpus-per-run (0)
               say what a group of members takes there
  --runs DIR   the folder of run folders (runs)
  --log tensorboard
               write event files into the run folders: `tensorboard --logdir runs`
  --csv FILE   write the numbers, one line a run and measure
  --table FILE write the table, as LaTeX (FILE.tex, for booktabs and graphicx) or Markdown
               (FILE.md)
  --figures DIR
               draw the study's figures into this folder, as SVG and PDF
  --figure F   only the figure of this name; a wrong name prints those there are

  unpick study thesis-3.3
  unpick study thesis-3.3 --figures figures/
  unpick study thesis-3.3 --csv scores.csv --table scores.tex
  unpick study thesis-3.4 --scale standard --seeds 10"""
