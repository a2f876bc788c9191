"""A study: a table or figure of a paper as data, and its results."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.notebook import html_table
from unpick.pages.page import Table
from unpick.perturb import PerturbConfig
from unpick.probe import STANDARD, Measure
from unpick.runs import Run
from unpick.study.comparison import Comparison, above
from unpick.study.published import Printed
from unpick.study.records import Record, make_frame, make_records
from unpick.study.verdict import Verdict
from unpick.training import RunConfig
from unpick.training.config import to_json

Scale: TypeAlias = Literal["quick", "standard", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
# Fields of models that say nothing of one without a decoder.
DECODER = (
    "likelihood",
    "decoder",
    "decoder_activation",
    "decoder_dense",
    "decoder_norm",
    "start_channels",
)
# Weights of terms that compete with reconstruction, which is a sum over pixels.
WEIGHTS = ("alpha", "beta", "gamma", "lambda_d", "lambda_od")


@dataclass(frozen=True)
class Cell:
    """Runs that differ in their seed only: one entry of a table, or one point of a figure.

    Attributes:
        row: Heading of a group of entries, usually the data set.
        column: The entry within the group, usually the method.
        config: The configuration that is run for every seed.
        seeds: The number of seeds by default.
        published: The printed value of each measure, where there is one.
        note: Choices that the paper leaves open, and stand-ins for its data.
        first: The first seed. Set it when shorter runs must not share seeds with longer ones.
        paper_column: Its column at scale `paper`, where it has another name there, as it has when
            beta goes with the number of pixels.
    """

    row: str
    column: str
    config: RunConfig
    seeds: int = 10
    published: Mapping[str, Printed] = field(default_factory=dict)
    note: str = ""
    first: int = 0
    paper_column: str = ""

    def configs(self, seeds: int | None = None) -> list[RunConfig]:
        """One configuration a seed."""
        return [self.with_seed(k) for k in range(seeds or self.seeds)]

    def with_seed(self, k: int) -> RunConfig:
        """The configuration of the k-th run."""
        return replace(self.config, seed=self.first + k)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A cell, its runs, and what was measured on each of them.

    Attributes:
        cell: The cell that was run.
        runs: Its finished runs, by seed.
        values: For each measure one value a run; nan where a run has none.
        departs: How the setting differs from the published one, and what the paper leaves open.
    """

    cell: Cell
    runs: tuple[Run, ...]
    values: Mapping[str, Float[np.ndarray, "s"]]
    departs: str = ""

    def mean(self, measure: str) -> float:
        """Over seeds."""
        return float(np.nanmean(self.values[measure]))

    def deviation(self, measure: str) -> float:
        """Over seeds; nan for a single one."""
        return (
            float(np.nanstd(self.values[measure], ddof=1)) if self.count(measure) > 1 else math.nan
        )

    def count(self, measure: str) -> int:
        """How many seeds have a value."""
        return int(np.isfinite(self.values[measure]).sum())

    def differs(self, measure: str) -> float | None:
        """Difference to the published value, in standard errors.

        None if nothing is published, or its error is not known. The standard error combines ours,
        the published one (for the paper's number of restarts) and rounding of the last digit.
        """
        printed = self.cell.published.get(measure)
        if printed is None or math.isnan(printed.error) or self.count(measure) < 2:
            return None
        variance = self.deviation(measure) ** 2 / self.count(measure) + printed.error**2
        return (self.mean(measure) - printed.mean) / math.sqrt(variance)

    def above(self, other: "Outcome", measure: str) -> Comparison:
        """Decide whether the mean is above another's; the power is at the printed difference."""
        printed = [outcome.cell.published.get(measure) for outcome in (self, other)]
        means = [math.nan if each is None else each.mean for each in printed]
        return above(self.values[measure], other.values[measure], expected=means[0] - means[1])


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study at one scale.

    Attributes:
        study: Which.
        scale: At which.
        outcomes: The cells that have runs.
        missing: Why others have none, a sentence each.
        computed: What the study computes without runs, by name.
        verdicts: One a claim of the study, once they are judged.
    """

    study: "Study"
    scale: Scale
    outcomes: tuple[Outcome, ...] = ()
    missing: tuple[str, ...] = ()
    computed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()

    def __repr__(self) -> str:
        runs = sum(len(outcome.runs) for outcome in self.outcomes)
        count = Counter(verdict.word for verdict in self.verdicts)
        claims = "".join(f", {number} {word}" for word, number in count.items())
        cells = f"{len(self.outcomes)} cells, {runs} runs"
        return f"Results({self.study.name} at scale {self.scale}: {cells}; claims: {claims[2:]})"

    def _repr_html_(self) -> str:
        """Means over seeds, then the verdict on each claim."""
        measures = self.study.measures
        rows = [
            (
                outcome.cell.row,
                outcome.cell.column,
                len(outcome.runs),
                *(f"{outcome.mean(m):.3g}" if m in outcome.values else "" for m in measures),
            )
            for outcome in self.outcomes
        ]
        judged = zip(self.study.claims, self.verdicts, strict=False)
        claims = [(verdict.word, claim.text, verdict.evidence) for claim, verdict in judged]
        return html_table(repr(self), ("", "", "seeds", *measures), rows) + html_table(
            self.study.source, ("verdict", "claim", "evidence"), claims
        )

    def rows(self) -> dict[str, dict[str, Outcome]]:
        """Outcomes by row, then by column."""
        rows: dict[str, dict[str, Outcome]] = {}
        for outcome in self.outcomes:
            rows.setdefault(outcome.cell.row, {})[outcome.cell.column] = outcome
        return rows

    def records(self) -> list[Record]:
        """One record a run and measure, tidy: the fields are those of `unpick study --csv`.

        `published_mean` and `published_std` are the printed values of the cell. None stands where
        there is no number.
        """
        return make_records(self)

    def frame(self) -> Any:  # noqa: ANN401
        """The records as a pandas frame, with nan where there is no number."""
        return make_frame(self.records())

    def all_hold(self, checks: Mapping[str, bool]) -> "bool | None":
        """True if all checks hold and every cell has runs; None if cells are missing."""
        if not all(checks.values()):
            return False
        return True if checks and self.complete else None

    @property
    def complete(self) -> bool:
        """Whether every cell has runs."""
        return len(self.outcomes) == len(self.study.cells(self.scale))


Check: TypeAlias = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """A claim of the source in our words, and its check."""

    text: str
    check: Check


def trained(check: Check) -> Check:
    """The same check, without a verdict at scale `quick`, where training stops early."""

    def careful(results: Results) -> Verdict:
        verdict = check(results)
        return Verdict(None, verdict.evidence) if results.scale == "quick" else verdict

    return careful


@dataclass(frozen=True)
class Drawing:
    """A figure of a study, drawn from its results; None if what it needs was not run."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any], Figure | None]


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper.

    Attributes:
        name: As on the command line.
        title: What it is about.
        source: Paper, table, figure.
        about: What was done and what is open, in a paragraph or more, separated by empty lines.
        cells: What is run at a scale; nothing if all is computed on the spot.
        measures: What the table shows of each cell; keys of what `read` gives.
        claims: What the source says.
        drawings: Its figures.
        read: Measures of a finished run, cached in its folder.
        twins: Perturbed twins that cells are trained on; made before.
        together: Adds measures that compare runs, such as a score normalised over models.
        computed: Numbers that need no run, by name: from a scale to what JSON can hold. They are
            computed once, cached beside the runs, and found in `Results.computed`.
        tables: Tables of what is computed; the table of the cells is made from `measures`.
        stores_computed: Whether the page's JSON holds what was computed, because it takes long: a
            page is then judged again from these numbers.
    """

    name: str
    title: str
    source: str
    about: str
    cells: Callable[[Scale], Sequence[Cell]] = lambda scale: ()
    measures: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    read: tuple[Measure, ...] = STANDARD
    twins: Callable[[Scale], Sequence[PerturbConfig]] = lambda scale: ()
    together: Callable[[Results], Results] = lambda results: results
    computed: Mapping[str, Callable[[Scale], Mapping[str, Any]]] = field(default_factory=dict)
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()
    stores_computed: bool = False

    @property
    def paragraphs(self) -> list[str]:
        """Of `about`, each on one line."""
        return [" ".join(text.split()) for text in self.about.split("\n\n") if text.strip()]

    def departures(self, cell: Cell) -> str:
        """How a cell departs from the same cell at the scale of the paper, and its note."""
        place = (cell.row, cell.paper_column or cell.column)
        for paper in self.cells("paper"):
            if (paper.row, paper.column) == place:
                told = departures(cell.config, paper.config)
                return "; ".join(text for text in (told, cell.note) if text)
        return cell.note or "the paper gives no setting"


def departures(config: RunConfig | PerturbConfig, paper: RunConfig | PerturbConfig) -> str:
    """The differences between two configurations, in words.

    Weights of an objective are compared per pixel: beta 1 at 32 pixels a side is beta 4 at 64.

    Example:
        >>> from unpick.training import preset
        >>> departures(replace(preset("synth-lin"), steps=500), preset("synth-lin"))
        'steps 500 instead of 187200'
    """
    hidden: tuple[str, ...] = ("seed", "path", "recipe")
    if isinstance(config, RunConfig) and not config.objective.decodes:
        hidden += DECODER
    ours, theirs = to_json(config, whole=True), to_json(paper, whole=True)
    leaves, other = _leaves(ours), _leaves(theirs)
    other |= _for_as_many_pixels(leaves, other)
    told = {
        # Fields that only one of two kinds has go with the kind, which is named.
        key: f"{key[1]} {value} instead of {other[key]}"
        for key, value in leaves.items()
        if value != other.get(key, value) and key[1] not in hidden
    }
    # The data and the model stand apart, so that methods share them.
    same = {name: ours[name] for name in ours if name in ("data", "model")}
    first = [told.pop(key) for key in _leaves(same) if key in told]
    return "; ".join(", ".join(part) for part in (first, told.values()) if part)


def _for_as_many_pixels(
    ours: dict[tuple[str, str], str], theirs: dict[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """Published weights, scaled to images of our size; as ours are written where they agree."""
    side = ("", "size")
    if ours.get(side, "") == theirs.get(side, "") or side not in ours or side not in theirs:
        return {}
    share = (float(ours[side]) / float(theirs[side])) ** 2
    scaled = {}
    for key in (("", name) for name in WEIGHTS):
        if key in ours and key in theirs:
            weight = share * float(theirs[key])
            same = math.isclose(float(ours[key]), weight)
            told = f"{weight:g} ({theirs[key]} at {theirs[side]} pixels)"
            scaled[key] = ours[key] if same else told
    return scaled


def _leaves(document: dict[str, Any]) -> dict[tuple[str, str], str]:
    """The fields that have a value of their own, as text; layers by the kind of network, too."""
    leaves: dict[tuple[str, str], str] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            leaves |= {("", name): value["type"]} | _leaves(value)
        elif isinstance(value, list):  # nothing beside the layers of another kind
            leaves[document["type"], name] = " ".join(map(str, value))
        elif name != "type":
            leaves["", name] = f"{value}"
    return leaves
