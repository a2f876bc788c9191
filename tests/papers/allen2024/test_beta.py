"""What Allen (2024) says of beta, judged from planted results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.papers.allen2024.beta import claims, computed, figures
from unpick.papers.allen2024.beta.cells import GRID
from unpick.papers.allen2024.beta.study import STUDY
from unpick.runs import Run
from unpick.study import Outcome, Results
from unpick.study.sweep import beta_of, sweep_table

CELLS = STUDY.cells("quick")
with pytest.MonkeyPatch.context() as patched:
    patched.setattr(computed, "CURVE", 40)
    COMPUTED = {name: computed.COMPUTED[name]("quick") for name in ("limits", "linear")}
LIMITS = {"points": 0.09, "circles": 1.09, "groups": 10.09}  # twice radius^2 / 2, added up


def ideal(beta):
    """Every level is lost at once, at a third of its threshold."""
    values = {"off average": 0.02, "off point": 0.5, "active": 2.0 * (beta < LIMITS["groups"])}
    for level in ("circles", "groups"):
        values |= {f"off centre, {level}": 0.05, f"most off centre, {level}": 0.4}
    for level, limit in LIMITS.items():
        lost = beta > limit / 3
        values |= {level: 0.0 if lost else 0.97, f"overlap, {level}": 0.96 if lost else 0.03}
    return values


def closed_form(beta):
    """What the best linear VAE has."""
    variance = computed.expected_variances(COMPUTED["linear"], beta)
    return {f"variance {k}": v for k, v in enumerate(variance, 1)} | {
        "active": (variance < 0.95).sum()
    }


def planted(change=lambda beta, values: {}, seeds=1, cells=CELLS):
    """Results as they should be, but for what `change` says."""
    outcomes = []
    for cell in cells:
        beta = beta_of(cell.config)
        values = (ideal if cell.row == "circles" else closed_form)(beta)
        values |= change(beta, values)
        arrays = {name: np.full(seeds, value, dtype=float) for name, value in values.items()}
        runs = tuple(Run(Path(), cell.with_seed(k), {}) for k in range(seeds))
        outcomes.append(Outcome(cell, runs, arrays))
    return Results(STUDY, "quick", tuple(outcomes), computed=COMPUTED)


def at(where, **changes):
    """Changes at one beta only; `__` stands for a comma, `_` for a space."""
    named = {k.replace("__", ", ").replace("_", " "): v for k, v in changes.items()}
    return planted(lambda beta, values: named if beta == where else {})


OF_CIRCLES = (
    claims.reconstructs_closely,
    claims.merges_in_order,
    claims.merges_level_by_level,
    claims.decodes_centroids,
    claims.decodes_near_centroids,
    claims.decodes_mean_only,
    claims.merges_at_thresholds,
    claims.overlap_grows,
    claims.merges_where_overlapping,
    claims.decodes_averages,
)
OF_LINEAR = (claims.smaller_keeps_more, claims.follows_linear_rule, claims.collapses_above)


@pytest.mark.parametrize("claim", OF_CIRCLES + OF_LINEAR)
def test_what_the_source_says_holds_where_it_is_so_and_is_open_where_a_beta_is_missing(claim):
    whole = planted()
    assert claim(whole).holds is True
    row = "circles" if claim in OF_CIRCLES else "linear-gaussian"
    gone = next(o for o in whole.outcomes if o.cell.row == row)
    rest = tuple(o for o in whole.outcomes if o is not gone)
    assert claim(replace(whole, outcomes=rest)).holds is None


@pytest.mark.parametrize(
    ("claim", "results", "told"),
    [
        (
            claims.reconstructs_closely,
            at(0.01, circles=0.7),
            "at beta 0.01: points 97%, circles 70%",
        ),
        (
            claims.merges_in_order,
            at(0.01, circles=0.4),
            "points from beta 0.1, circles from beta 0.01",
        ),
        (
            claims.merges_in_order,
            planted(lambda beta, values: {"groups": 0.9}),
            "circles from beta 0.4, groups never",
        ),
        (
            claims.merges_level_by_level,
            planted(lambda beta, values: {"points": values.get("circles")}),
            "circles without points nowhere; groups without circles at beta 0.4, 1, 2 (",
        ),
        (
            claims.decodes_centroids,
            planted(lambda beta, values: {"off centre, circles": 0.13 / 0.3}),
            "circles at beta 0.1: 0.43 (at most 0.40)",
        ),
        (
            claims.decodes_centroids,
            planted(lambda beta, values: {"points": values.get("circles")}),
            "is lost: groups at beta 0.4: 0.05 (at most 0.40)",
        ),
        (
            claims.decodes_near_centroids,
            planted(lambda beta, values: {"most off centre, groups": 1.2}),
            "groups at beta 2: 0.05 (at most 1.20)",
        ),
        (claims.decodes_mean_only, at(24.0, groups=0.02), "groups 2%; 0 latents active"),
        (claims.decodes_mean_only, at(24.0, active=1.0), "groups 0%; 1 latents active"),
        (
            claims.merges_at_thresholds,
            at(0.2, points=0.3),
            "points (predicted 0.09): above it 30%",
        ),
        (
            claims.merges_at_thresholds,
            at(0.2, circles=0.4),
            "circles (predicted 1.1): above it 0% at most, below a quarter of it 40% at least",
        ),
        (claims.overlap_grows, at(8.0, overlap__groups=0.9), "largest step back 0.060"),
        (claims.overlap_grows, at(0.01, overlap__points=0.6), "points 0.60 to 0.96, circles 0.03"),
        (claims.merges_where_overlapping, at(1.0, circles=0.6), "above 0.75: 60% or less"),
        (claims.merges_where_overlapping, at(0.1, groups=0.4), "below 0.25: 40% or more"),
        (
            claims.decodes_averages,
            at(0.01, off_average=0.2),
            "by 20.0% of the data's deviation at most",
        ),
        (
            claims.decodes_averages,
            at(1.0, off_point=0.01),
            "8 of 9 betas where points overlap; the point is",
        ),
        (
            claims.decodes_averages,
            planted(lambda beta, values: {"overlap, points": 0.1}),
            "0 of 0 betas",
        ),
        (claims.smaller_keeps_more, at(0.15, active=4.0), "3 at 0.1, 4 at 0.15, 2 at 0.3"),
        (claims.collapses_above, at(8.0, active=0.0), "(beta 10.1): 0 or more in use up to 8"),
        (
            claims.collapses_above,
            at(24.0, active=1.0),
            "(beta 18.3): 1 or more in use up to 14, 1",
        ),
        (claims.follows_linear_rule, at(6.0, active=2.0), "as the rule says at 9 of 10 betas"),
        (claims.follows_linear_rule, at(0.03, active=4.0), "off the closed form by 0.000 at most"),
    ],
)
def test_what_is_not_so_is_found_out(claim, results, told):
    verdict = claim(results)
    assert verdict.holds is False
    assert told in verdict.evidence


def test_a_beta_that_changes_nothing_keeps_nothing():
    assert claims.smaller_keeps_more(planted(lambda beta, values: {"active": 2.0})).holds is False


def test_figures_show_every_beta_and_restart():
    results = planted(seeds=3)
    kept, overlap = figures.draw_merging(results).axes
    for axes, name in ((kept, "points"), (overlap, "overlap, points")):
        line, *dots = [each for each in axes.lines if each.get_linestyle() != ":"][:4]
        said = [ideal(beta)[name] for beta in GRID["circles"]]
        for each in (line, *dots):
            assert each.get_ydata() == pytest.approx(said)
    dotted = [each.get_xdata()[0] for each in kept.lines if each.get_linestyle() == ":"]
    assert dotted == pytest.approx([*LIMITS.values()], rel=0.03)
    variances, active = figures.draw_collapse(results).axes
    assert len(variances.lines) == 4 * (1 + 3) + 3  # latents: a curve and seeds; directions
    exact, *seeds = active.lines[:4]
    for line in seeds:
        steps = np.interp(line.get_xdata(), exact.get_xdata(), exact.get_ydata())
        assert line.get_ydata() == pytest.approx(steps)
    for draw in (figures.draw_merging, figures.draw_collapse):
        assert draw(Results(STUDY, "quick")) is None


def test_a_restart_that_is_missing_leaves_a_gap():
    first, second = planted(seeds=2).outcomes[:2]
    short = replace(second, values={"points": second.values["points"][:1]})
    table = sweep_table({0.01: first, 0.03: short}, "points")
    assert table[0].tolist() == first.values["points"].tolist()
    assert np.isnan(table[1]).tolist() == [False, True]
