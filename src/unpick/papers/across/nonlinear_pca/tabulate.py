"""Tables of what is computed: recovery, directions, what was found, choices, real tables."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unpick.pages import Table
from unpick.papers.across.nonlinear_pca.claims import choices, searches, tables_of
from unpick.study.study import Results


def tabulate(results: Results) -> list[Table]:
    """All tables for which there are numbers."""
    planted = results.computed.get("planted", {})
    real = tables_of(results)
    found = [
        _by_method("Recovery of planted factors (MCC). Higher is better.", planted, "scores", 2),
        _by_method(
            "Mean angle between local directions and those of the factors, in degrees, for "
            "methods that have a decoder. Lower is better.",
            planted,
            "angles",
            1,
        ),
        _found(planted),
        _choices(results),
        _real(real),
    ]
    return [table for table in found if table.rows]


def spread(values: Any, digits: int) -> str:  # noqa: ANN401
    """Mean and standard deviation.

    Example:
        >>> spread([1.0, 2.0], 1)
        '1.5 ± 0.7'
    """
    values = np.asarray(values, dtype=float)
    deviation = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{deviation}"


def _by_method(caption: str, planted: Mapping[str, Any], key: str, digits: int) -> Table:
    methods = tuple(next(iter(planted.values()))[0][key]) if planted else ()
    rows = tuple(
        (name, *(spread([row[key][m] for row in rows], digits) for m in methods))
        for name, rows in planted.items()
    )
    return Table(caption, ("table", *methods), rows)


def _found(planted: Mapping[str, Any]) -> Table:
    def each(rows: list[dict[str, Any]], show: Callable[[dict[str, Any]], str]) -> str:
        return ", ".join(show(row) for row in rows)

    lines = tuple(
        (
            name,
            str(rows[0]["factors"]),
            each(rows, lambda row: str(row["components"])),
            spread([row["explained"] for row in rows], 3),
            spread([row["explained by PCA"] for row in rows], 3),
            f"{rows[0]['planted noise'] or np.nan:.2g}",
            each(rows, lambda row: f"{row['noise']:.2g}"),
        )
        for name, rows in planted.items()
    )
    columns = ("table", "factors", "found", "explained", "by PCA", "noise", "noise found")
    caption = "What NonlinearPCA finds, seed by seed, and the variance that as many components as "
    caption += "there are factors explain. nan: the noise is none, or differs between columns."
    return Table(caption, columns, lines)


def _choices(results: Results) -> Table:
    rows = list[tuple[str, ...]]()
    for title, found in (
        ("in the estimator's own search", searches(results)),
        ("among plain runs (`unpick select`)", choices(results)),
    ):
        shares = {
            name: [
                c.kept / c.best,
                c.fitted / c.best,
                c.chosen / c.best,
                c.udr / c.best,
                *(each / c.best for each in c.fixed.values()),
            ]
            for name, c in found.items()
        }
        if shares:
            rows.append((title, *[""] * 7))
            rows += [
                (name, f"{found[name].best:.2f}", *(f"{share:.2f}" for share in each))
                for name, each in shares.items()
            ]
            counted = np.minimum([*shares.values()], 1)  # a nan stays one
            rows.append(("mean", "", *(f"{m:.2f}" for m in counted.mean(0))))
    caption = "Share of the best DS in hindsight that ways to choose reach. `kept`: the restart "
    caption += "that is kept; `fitted`: the components of the fitted estimator; the others: mean "
    caption += "over restarts at a beta. In the last rows a share above 1 counts as 1."
    columns = ("data", "best DS", "kept", "fitted", "chosen beta", "UDR alone", "beta 1", "beta 4")
    return Table(caption, columns, tuple(rows))


def _real(real: Mapping[str, Any]) -> Table:
    rows = []
    for name, methods in real.items():
        cells = [
            spread(methods[method][quantity], 2)
            for quantity in ("explained", "accuracy", "stability")
            for method in ("NonlinearPCA", "PCA")
        ]
        rows.append((name, *cells))
    caption = "Real tables, 5 components: share of held-out rows explained, accuracy (diabetes: "
    caption += "R^2) of a linear model on the components, agreement of the components of two "
    caption += "halves; of each, NonlinearPCA first."
    pairs = [(q, f"{q}, PCA") for q in ("explained", "accuracy", "stability")]
    return Table(caption, ("table", *(c for pair in pairs for c in pair)), tuple(rows))
