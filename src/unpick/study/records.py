"""A study's results as tidy records: one a run and measure, for CSV files and pandas."""

import importlib.util
import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from unpick.study.study import Results

Record: TypeAlias = dict[str, str | int | float | None]
NUMBERS = ("value", "published_mean", "published_std")  # None where there is none
FIELDS = (
    *("study", "scale", "row", "column", "seed", "run", "measure"),
    *NUMBERS,
    "departures",
)


def make_records(results: "Results") -> list[Record]:
    """One record a run and measure; None where there is no finite value or nothing published."""
    records: list[Record] = []
    for outcome in results.outcomes:
        cell = outcome.cell
        for k, run in enumerate(outcome.runs):
            for measure, values in outcome.values.items():
                printed = cell.published.get(measure)
                fields = (
                    *(results.study.name, results.scale, cell.row, cell.column),
                    *(run.config.seed, run.path.name, measure, _number(values[k])),
                    _number(printed.mean if printed else math.nan),
                    _number(printed.std if printed else math.nan),
                    outcome.departs,
                )
                records.append(dict(zip(FIELDS, fields, strict=True)))
    return records


def make_frame(records: list[Record]) -> Any:  # noqa: ANN401
    """The records as a pandas frame, nan for None; pandas is not among unpick's dependencies."""
    if importlib.util.find_spec("pandas") is None:
        raise ModuleNotFoundError(
            "frame needs pandas, which is not installed: pip install pandas, or take records()"
        )
    import pandas

    return pandas.DataFrame(records, columns=list(FIELDS)).astype(dict.fromkeys(NUMBERS, float))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
