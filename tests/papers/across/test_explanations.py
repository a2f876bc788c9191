"""What is said of the four explanations, judged from planted results, and how it is drawn."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from unpick.geometry import distance_to_orthogonality
from unpick.papers.across.explanations import claims
from unpick.papers.across.explanations.claims import FOUR, RANKED
from unpick.papers.across.explanations.figures import (
    PANELS,
    Line,
    Panel,
    quantities,
    rank_table,
    two_columns,
)
from unpick.papers.across.explanations.readings import columns
from unpick.papers.across.explanations.study import STUDY
from unpick.papers.zietlow2022.beta_search import study as beta_search
from unpick.runs import Run
from unpick.study import Outcome, Results
from unpick.study.running import compute


def test_snapshots_are_of_one_training():
    for scale in ("quick", "standard"):
        cells = STUDY.cells(scale)
        for data in {cell.row.split(",")[0] for cell in cells}:
            timed = [c.config for c in cells if c.row == f"{data}, steps"]
            assert len({replace(config, steps=1) for config in timed}) == 1
            assert [config.steps for config in timed] == sorted({c.steps for c in timed})
            over_beta = [c.config for c in cells if c.row == f"{data}, beta"]
            assert timed[-1] in over_beta
            searched = {c.config for c in beta_search.cells(scale)}
            assert len(searched & {*over_beta}) >= len(over_beta) - 1
    assert STUDY.cells("paper") == []


SHARES = {"DtO": 0.3, "IMA": 0.1, "OD-Score": 0.1, "off-diagonal": 0.2}
MANY = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]  # how far along a planted series is


def level(at, **changes):
    """Readings of two seeds whose alignment improves as `at` goes from 0 to 5."""
    share = {name: least + (5 - at) / 10 for name, least in SHARES.items()}
    values = {FOUR[name]: 0.8 for name in FOUR}
    values |= {name: 0.8 * each for name, each in share.items()}
    values |= {"price": 0.1, "price, turned": 0.5 - at / 20, "scatter": 0.5 - at / 20}
    values |= {"MIG": at / 10, "error": 0.5 - at / 20, "compared": 2.0}
    return {name: np.array([v, v * 1.001]) for name, v in (values | changes).items()}


def planted(kind, readings, data="synth-nonlin", whole=True):
    """Results of a series with these readings, by step or by beta."""
    base, outcomes = STUDY.cells("quick")[0].config, []
    for k, values in enumerate(readings):
        config = (
            replace(base, steps=100 * k)
            if kind == "steps"
            else replace(base, objective=replace(base.objective, beta=10.0 ** (k - 5)))
        )
        cell = replace(STUDY.cells("quick")[0], row=f"{data}, {kind}", column=f"{k}")
        cell = replace(cell, config=config)
        arrays = {name: np.array(v, dtype=float) for name, v in values.items()}
        seeds = len(next(iter(arrays.values())))
        runs = tuple(Run(Path(), cell.with_seed(s), {}) for s in range(seeds))
        outcomes.append(Outcome(cell, runs, arrays))
    cells = [o.cell for o in outcomes] if whole else STUDY.cells("standard")
    return Results(replace(STUDY, cells=lambda _: cells), "quick", tuple(outcomes))


def several(*parts):
    outcomes = tuple(o for part in parts for o in part.outcomes)
    study = replace(STUDY, cells=lambda _: [o.cell for o in outcomes])
    return Results(study, "quick", outcomes)


def verdict(check, *args, **kwargs):
    return check(planted(*args, **kwargs)).holds


RISING = [level(at) for at in MANY]


def test_alignment_is_asked_at_the_end_and_of_every_seed():
    check = claims.below_chance
    assert verdict(check, "steps", RISING) is True
    assert verdict(check, "steps", RISING, whole=False) is None
    worse = [*RISING[:-1], level(5.0) | {"IMA": np.array([0.1, 0.9])}]
    assert verdict(check, "steps", worse) is False
    assert verdict(check, "steps", [*worse[::-1], RISING[-1]]) is True  # only the end counts
    assert "IMA 0.12 to 1.12" in check(planted("steps", worse)).evidence
    assert verdict(check, "beta", RISING) is None
    bare = {"MIG": [0.1, 0.2]}
    assert verdict(check, "steps", [*RISING, bare]) is None
    assert (
        check(several(planted("steps", RISING), planted("steps", worse, "sprites"))).holds is False
    )


def test_columns_become_orthogonal_or_do_not():
    check = claims.becomes_orthogonal
    assert verdict(check, "steps", RISING) is True
    assert verdict(check, "steps", RISING[::-1]) is False
    assert "IMA 0.480 to 0.080" in check(planted("steps", RISING)).evidence
    one = [level(0.0), level(5.0) | {"off-diagonal": np.array([0.9, 0.9])}]
    assert verdict(check, "steps", one) is False
    wide = [level(0.0) | {"IMA": np.array([0.1, 0.9])}, level(5.0)]
    assert check(planted("steps", wide)).undecided
    late = planted("steps", RISING)
    late = replace(late, outcomes=late.outcomes[1:])  # nothing from before training
    assert check(late).holds is None


@pytest.mark.parametrize("kind", ["steps", "beta"])
def test_quantities_agree_if_they_rank_alike(kind):
    check = partial(claims.ranks_agree, kind)
    assert verdict(check, kind, RISING) is True
    # It falls like the others, but what random turns give falls faster.
    against = [level(at, **{"IMA, turned": 0.01 * 3 ** (5 - at)}) for at in MANY]
    found = check(planted(kind, against))
    assert found.holds is False
    assert found.evidence.startswith("synth-nonlin: -")
    assert verdict(check, kind, RISING[:1]) is None  # two runs rank nothing


def test_ranks_leave_out_runs_that_lack_something():
    holes = [*RISING, {"MIG": np.array([9.0, 9.0]), "error": np.array([9.0, 9.0])}]
    found = claims.select(planted("beta", holes), "synth-nonlin", "beta")
    full = claims.select(planted("beta", RISING), "synth-nonlin", "beta")
    np.testing.assert_allclose(claims.ranks(found), claims.ranks(full))
    assert list(found) == sorted(found)
    rank = claims.ranks(full)[RANKED.index("DtO"), RANKED.index("MIG")]
    assert rank < -0.9


def test_the_smallest_beta_has_the_best_error_and_the_worst_axes():
    check = claims.needs_pressure
    upwards = [level(at, error=0.1 + at) for at in MANY]
    assert verdict(check, "beta", upwards) is True
    assert verdict(check, "beta", RISING) is False  # its error is the largest
    turned_round = [level(5 - at, error=0.1 + at) for at in MANY]
    assert verdict(check, "beta", turned_round) is False  # its DtO is the smallest
    near = [upwards[0], level(1.0, error=0.1)]
    assert check(planted("beta", near)).undecided  # its error is no larger
    lost = [*upwards, {"error": np.array([9.0, 9.0])}]  # no axes left to compare
    assert verdict(check, "beta", lost) is True
    assert verdict(check, "beta", upwards[:1]) is None


def test_variances_that_fit_come_with_aligned_axes_or_not():
    check = claims.fit_means_aligned
    good, loose = level(5.0, scatter=0.1), level(0.0, scatter=0.3)
    assert verdict(check, "steps", [good, loose]) is True
    assert verdict(check, "steps", [loose]) is None
    bad = level(0.0, scatter=0.2)
    found = check(planted("steps", [good, loose, bad]))
    assert found.holds is False
    assert "2 of 4 that fit; most 0.80 where scatter is 0.20 (2)" in found.evidence
    # A run that stands in both series counts once.
    both = several(planted("steps", [good, bad]), planted("steps", [good, bad]))
    assert "2 of 4" in check(both).evidence


def test_the_price_is_compared_with_the_contrast_at_the_smallest_beta():
    check, contrasts = claims.price_is_contrast, {"IMA, likelihood": 0.105}
    assert verdict(check, "beta", [level(0.0, **contrasts), level(1.0, price=9.0)]) is True
    assert verdict(check, "beta", [level(0.0, price=0.09, **contrasts)]) is False
    assert verdict(check, "beta", [{"error": [0.1]}]) is None


def test_the_metric_is_asked_at_every_beta_of_sprites():
    check = partial(verdict, claims.likelihood_metric, "beta", data="sprites")
    ours, theirs = {"IMA, likelihood": 0.01}, {"IMA, likelihood": 0.9}
    assert check([level(0.0, **ours), level(1.0, **ours)]) is True
    assert check([level(0.0, **ours), level(1.0, **theirs)]) is False
    assert verdict(claims.likelihood_metric, "beta", [level(0.0, **ours)]) is None
    wide = level(0.0) | {"IMA": np.array([0.4, 0.5]), "IMA, likelihood": np.array([0.1, 0.6])}
    assert claims.likelihood_metric(planted("beta", [wide], data="sprites")).undecided


def test_aligned_axes_and_mig_go_together_or_not():
    check = claims.disentangles
    assert verdict(check, "beta", RISING) is True
    assert verdict(check, "beta", [level(at, MIG=1 - at / 10) for at in MANY]) is False
    assert verdict(check, "steps", RISING) is None
    assert "MIG is best at beta 1 (0.50), the axes at 1" in check(planted("beta", RISING)).evidence


@pytest.mark.parametrize("claim", STUDY.claims, ids=lambda claim: claim.text[:40])
def test_nothing_is_said_without_runs(claim):
    assert claim.check(Results(STUDY, "standard")).holds is None


@pytest.mark.slow
def test_figures_show_every_seed_and_the_turned_one(tmp_path):
    computed = compute(STUDY, "quick", tmp_path)
    some = several(planted("steps", RISING), planted("steps", RISING[:3], "sprites"))
    some = replace(some, computed=computed)
    over_training, over_beta, ranks, closed = (drawing.draw(some) for drawing in STUDY.drawings)
    assert over_beta is None
    first = over_training.axes[0]
    lines = [line for line in first.lines if line.get_linestyle() == "-"]
    assert len(lines) == 4  # two data sets, two seeds
    np.testing.assert_allclose(lines[0].get_ydata(), [values["DtO"][0] for values in RISING])
    assert lines[0].get_xdata()[0] == pytest.approx(100 / 3)  # stands for 0
    assert sum(line.get_linestyle() == "--" for line in first.lines) == 2
    scatter = list(PANELS).index("scatter")
    assert not any(line.get_linestyle() == "--" for line in over_training.axes[scatter].lines)
    assert len([axes for axes in ranks.axes if axes.get_title(loc="left")]) == 2
    assert [axes.get_title(loc="left") for axes in closed.axes] == [
        "columns at 85 degrees",
        "columns at 60 degrees",
    ]
    dto = next(line for line in closed.axes[1].lines if line.get_label() == "DtO")
    planted_dto = distance_to_orthogonality(columns(1.0, 0.5)).mean
    assert dto.get_ydata()[-1] == pytest.approx(planted_dto)  # of columns of equal length
    empty = Results(STUDY, "quick", computed=computed)
    assert [drawing.draw(empty) is None for drawing in STUDY.drawings] == [True] * 3 + [False]


def test_figures_refuse_nothing_and_draw_gaps():
    with pytest.raises(ValueError, match="at least one"):
        quantities([], "x")
    with pytest.raises(ValueError, match="at least one"):
        rank_table(("a", "b"), {})
    gap = Line(np.array([1.0, 2.0]), np.array([[1.0], [np.nan]]))
    figure = quantities([Panel("p", {"m": gap}, log=True)], "x")
    assert figure.axes[0].get_yscale() == "log"
    assert not figure.axes[1].axison  # three in a row, two of them empty
    curve = {"q": np.array([1.0, 2.0])}
    assert len(two_columns(np.array([0.1, 1.0]), {"a": curve, "b": curve}, "y").axes) == 2
