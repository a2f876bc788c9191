"""`unpick measure`."""

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, make_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpick.arguments import Arguments, fail, load_function, parse, write
from unpick.cli.place import Place

if TYPE_CHECKING:
    from rich.console import Console

    from unpick.data import DataConfig, Dataset
    from unpick.metrics import Scorecard
    from unpick.probe.card import CardOptions
    from unpick.runs import Run

FIELDS = ("run", "seed", "measure", "value", "low", "high", "how")  # of a line of CSV
WIDE = 130  # characters from which a terminal has room for a column a factor


@dataclass(frozen=True)
class MeasureOptions:
    """What to print.

    Attributes:
        json: Print JSON, with matrices and values per factor, in place of tables.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        model: FILE.py:function that made the networks, if they are your own; this file is run.
        csv: Write one line a run and measure to this file, too.
        place: This process, or a cluster.
    """

    json: bool = False
    device: str = "auto"
    model: str = ""
    csv: Path | None = None
    place: Place = field(default_factory=partial(Place, "here"))


def measure(arguments: Arguments) -> None:
    """Measure finished runs: geometry of the decoder, and all metrics with intervals."""
    if not arguments or {"-h", "--help"} & {*arguments}:
        write(MEASURE_HELP)
        if arguments:
            return
        fail("measure: which run? `unpick measure runs/NAME`")
    cut = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    folders = [Path(word) for word in dict.fromkeys(arguments[:cut])]
    rest = arguments[cut:]
    if not folders:
        fail("measure: the runs come before the options: unpick measure runs/NAME ...")
    import json as notation

    from rich.console import Console

    from unpick.pages import print_table, score_table
    from unpick.pages.table_file import write_csv
    from unpick.probe.card import CardOptions, measure_card, measure_on_cluster
    from unpick.runs import Runner, read
    from unpick.training.progress import status_line

    whole = make_dataclass("Measure", [("options", MeasureOptions), ("card", CardOptions)])
    parsed = parse(whole, rest, "unpick measure", default=whole(MeasureOptions(), CardOptions()))
    factory = load_function(parsed.options.model) if parsed.options.model else None
    runs: list[Run] = []
    for folder in folders:
        if not folder.is_dir():
            fail(f"{folder} is not a run folder")
        run = read(folder, parsed.options.device, factory)
        if run is None:
            fail(f"{folder} is not a finished run; train it to the end, or leave it out")
        runs.append(run)
    console, cards = Console(), {}
    datasets = {data: data.load() for data in {run.config.data for run in runs}}
    runner = Runner(
        device=parsed.options.device, network=parsed.options.model, **vars(parsed.options.place)
    )
    with status_line() as show:
        if runner.on_cluster:
            measure_on_cluster(runs, datasets, parsed.card, runner, show)
        for run in runs:
            dataset = datasets[run.config.data]
            on_progress = partial(_show_progress, show, run.path.name)
            cards[str(run.path)] = measure_card(run, dataset, parsed.card, on_progress)
            show("")
            if not parsed.options.json:
                write(str(run.path))
                wide = console.width >= WIDE
                names = [factor.name for factor in dataset.factors] if wide else ()
                print_table(score_table(cards[str(run.path)], names), console)
    if parsed.options.csv is not None:
        write_csv(_records(runs, cards), FIELDS, parsed.options.csv)
    if parsed.options.json:
        write(notation.dumps(_to_json(runs, datasets, cards, parsed.card), indent=1))
    elif len(runs) > 1:
        _print_summary(runs, [*datasets.values()], cards, console)


def _show_progress(show: Callable[[str], None], run: str, what: str) -> None:
    show(f"{run}: {what}")


def _to_json(
    runs: "list[Run]",
    datasets: "Mapping[DataConfig, Dataset]",
    cards: "Mapping[str, Scorecard]",
    options: "CardOptions",
) -> dict[str, Any]:
    """The options and all scores of each run, as JSON takes them."""
    from unpick.probe.card import scores_to_json

    return {
        str(run.path): {
            "options": asdict(options),
            "weights_sha256": run.results["weights_sha256"],
            "factors": [factor.name for factor in datasets[run.config.data].factors],
            "note": cards[str(run.path)].note,
            "scores": scores_to_json(cards[str(run.path)].scores),
        }
        for run in runs
    }


def _records(runs: "list[Run]", cards: "Mapping[str, Scorecard]") -> list[dict[str, Any]]:
    """One record a run and measure; None where there is no number."""
    records = []
    for run in runs:
        for score in cards[str(run.path)].scores:
            at = score.interval
            low, high = (None, None) if at is None else (at.low, at.high)
            number = None if math.isnan(score.value) else score.value
            fields = (run.path.name, run.config.seed, score.name, number, low, high, score.note)
            records.append(dict(zip(FIELDS, fields, strict=True)))
    return records


def _print_summary(
    runs: "list[Run]",
    datasets: "list[Dataset]",
    cards: "Mapping[str, Scorecard]",
    console: "Console",
) -> None:
    """Print mean and deviation over runs, and how well the runs agree (UDR)."""
    from unpick.pages import Table, print_table
    from unpick.probe.card import agreement

    values: dict[str, list[float]] = {}
    for card in cards.values():
        for score in card.scores:
            values.setdefault(score.name, []).append(score.value)
    rows = [
        (
            name,
            f"{statistics.mean(v):.3f} ± {statistics.stdev(v):.3f}",
            f"{min(v):.3f}",
            f"{max(v):.3f}",
        )
        for name, v in values.items()
        if len(v) == len(runs)
    ]
    caption = f"Mean and standard deviation over {len(runs)} runs"
    caption += "." if len(datasets) == 1 else f" on {len(datasets)} data sets."
    notes = {
        score.note
        for card in cards.values()
        for score in card.scores
        if score.name.startswith("DCI")
    }
    footnotes = [f"DCI: {note}" for note in sorted(notes)]
    columns = ("measure", "mean", "least", "most")
    print_table(Table(caption, columns, tuple(rows), tuple(footnotes)), console)
    if len(datasets) > 1:
        return
    found = agreement(runs, datasets[0])
    if found is not None:
        named = [
            (run.path.name, f"{value:.3f}")
            for run, value in zip(runs, found.per_model, strict=True)
        ]
        title = "UDR (lasso): agreement of a run's latents with the other runs'."
        print_table(Table(title, ("run", "UDR"), tuple(named)), console)


MEASURE_HELP = """usage: unpick measure RUN [RUN ...] [OPTIONS]

Prints distance to orthogonality, active latents and, where the data set has factors, every metric
with its 95 % interval over the choice of test observations. Every measure is cached in the run's
folder and taken again only if its code or settings change. Several runs add a summary and UDR.

  --samples N   observations of the test part, at most (15000)
  --learner L   of DCI: fast (a proxy, seconds) or gradient-boosting (the usual one, minutes)
  --draws N     resamples for the intervals (100); 0 leaves them out
  --json        JSON, with matrices and values per factor
  --csv FILE    write one line a run and measure, with the ends of its interval
  --device D    auto (a GPU if there is one; the default), cpu, cuda, cuda:1, mps
  --on PLACE    here (the default), ray (the cluster of RAY_ADDRESS, or one that is started on this
                machine) or ray://HOST:PORT: the runs are measured side by side
  --model FILE.py:function
                made the networks of the runs, if they are your own; this file is run

  unpick measure runs/synth-lin-*
  unpick measure runs/NAME --learner gradient-boosting --draws 0 --json > scores.json"""
