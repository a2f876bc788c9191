"""What is said of NonlinearPCA, judged from planted results, and the tables it is tried on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from unpick.estimator.rows import hold_out
from unpick.papers.across.nonlinear_pca import claims
from unpick.papers.across.nonlinear_pca.cells import BETAS
from unpick.papers.across.nonlinear_pca.choice import add_choices, held_rows
from unpick.papers.across.nonlinear_pca.figures import draw_choice, draw_recovery
from unpick.papers.across.nonlinear_pca.study import STUDY
from unpick.papers.across.nonlinear_pca.tables import CURVED, NOISE, PLANTED, planted, real
from unpick.papers.across.nonlinear_pca.tabulate import tabulate
from unpick.papers.across.scores import active_ds
from unpick.runs import Run, Runner, make
from unpick.study import Outcome, Results
from unpick.study.running import collect


def outcomes(ds, chosen, udr=None, rows=("a", "b", "c")):
    """Results with this mean DS at each beta; the rule takes beta number `chosen`."""
    cells, found = STUDY.cells("quick"), []
    for row in rows:
        for k, cell in enumerate(cells[: len(BETAS)]):
            own = replace(cell, row=row)
            values = {
                "DS": np.array([ds[k] - 0.01, ds[k] + 0.01]),
                "UDR": np.full(2, (udr or ds)[k]),
                "chosen": np.array([2.0, 1.0]) * (k == chosen),
            }
            runs = tuple(Run(Path(), own.with_seed(s), {}) for s in range(2))
            found.append(Outcome(own, runs, values))
    study = replace(STUDY, cells=lambda _: [o.cell for o in found])
    return Results(study, "standard", tuple(found))


DS = [0.1, 0.2, 0.3, 0.9, 0.95, 0.8, 0.4, 0.3, 0.2, 0.1]


def test_the_choice_is_compared_with_hindsight():
    found = claims.choices(outcomes(DS, chosen=3))["a"]
    assert (found.best, found.best_beta, found.chosen_beta) == (0.95, "beta 0.01", "beta 0.0032")
    assert found.kept == pytest.approx(0.89)  # the first restart
    assert found.fixed == {"beta 1": 0.2, "beta 4": 0.1}
    assert claims.choice_is_good(outcomes(DS, chosen=3), "runs", "kept").holds
    assert claims.choice_is_good(outcomes(DS, chosen=1), "runs", "kept").holds is False


def test_a_linear_network_is_held_to_ppca():
    def judge(**change):
        right = {"components": 3, "noise": 1.01, "cosine": 0.9999}
        rows = {"0.1": [right, right | change], "1": [right]}
        results = Results(STUDY, "standard", (), computed={"linear": rows})
        return claims.linear_is_ppca(results).holds

    assert judge() is True
    for change in ({"components": 10}, {"noise": 0.6}, {"cosine": 0.9}):
        assert judge(**change) is False


def searched(kept, fitted=0.8, chosen="0.1"):
    """Two seeds whose grids differ a little."""
    study = replace(STUDY, cells=lambda _: [])
    seeds = [
        {
            "DS": {
                f"0.01{k}": [0.2, 0.4],
                "0.1": [0.8, 0.9],
                "fixed 1": [0.5, 0.5],
                "fixed 4": [0.0, 0.0],
            },
            "chosen": chosen,
            "kept": kept,
            "UDR": f"0.01{k}",
            "fitted": fitted,
        }
        for k in range(2)
    ]
    found = {name: seeds for name in ("bent", "sprites", "rooms")}
    return Results(study, "standard", computed={"choice": found})


def test_the_search_is_compared_with_hindsight():
    assert claims.choice_is_good(searched(0.8), "search", "kept").holds
    assert claims.choice_is_good(searched(0.3), "search", "fitted").holds
    assert claims.choice_is_good(searched(0.8, 0.3), "search", "fitted").holds is False
    verdict = claims.choice_is_good(searched(0.3), "search", "kept")
    assert verdict.holds is False
    assert "bent 0.35 (0.1, best 0.1)" in verdict.evidence
    assert claims.choice_is_good(Results(STUDY, "standard"), "search", "kept").holds is None
    found = claims.searches(searched(0.8))["bent"]
    assert (found.udr, found.fixed) == (pytest.approx(0.3), {"beta 1": 0.5, "beta 4": 0.0})


def test_an_average_that_data_sets_do_not_decide_is_undecided():
    results = searched(0.8)
    few = [{**seed, "kept": 0.6} for seed in results.computed["choice"]["bent"]]
    results.computed["choice"]["bent"] = few
    verdict = claims.choice_is_good(results, "search", "kept")
    assert verdict.undecided
    assert "mean 0.86" in verdict.evidence


def test_tables_show_every_way_to_choose():
    (table,) = tabulate(searched(0.8))
    assert table.rows[1] == ("bent", "0.85", "0.94", "0.94", "1.00", "0.35", "0.59", "0.00")
    assert table.rows[-1][0] == "mean"


def test_latents_that_are_not_in_use_do_not_score(rng):
    factors = rng.uniform(size=(300, 2))
    codes = np.concatenate([factors, factors], 1)  # copies spoil DS, unless they are not in use
    used = np.array([True, True, False, False])
    assert active_ds(codes, used, factors) > 0.9 > 0.2 > active_ds(codes, ~used | used, factors)
    assert active_ds(codes, used & ~used, factors) == 0


def test_held_rows_are_found_in_the_table(rng):
    x = rng.normal(size=(50, 3))
    parts = hold_out(x, seed=3)
    held = held_rows(parts, x)
    assert len({*held}) == 10
    np.testing.assert_allclose(parts.scale.undo(parts.held.double().numpy()), x[held], atol=1e-6)


def test_a_data_set_that_no_beta_disentangles_says_nothing():
    nothing = outcomes([0.05] * 10, chosen=3)
    assert claims.choice_is_good(nothing, "runs", "kept").holds is None


@pytest.mark.parametrize("other", ["UDR", "beta 1", "beta 4"])
def test_the_choice_can_lose_and_win(other):
    late = [0.0] * 9 + [1.0]  # UDR likes the last beta
    assert claims.choice_beats(outcomes(DS, chosen=4, udr=late), "runs", other).holds
    good_late = [0.1] * 8 + [0.9, 0.95]
    lost = claims.choice_beats(outcomes(good_late, chosen=0, udr=late), "runs", other)
    assert lost.holds is False


def tables(ours, theirs, components=2, noise=1.0):
    """Computed results of all planted tables with three seeds."""
    scores = {"NonlinearPCA": ours, "PCA": theirs}
    row = {
        "scores": scores,
        "angles": {"NonlinearPCA": 90 * (1 - ours), "PCA": 90 * (1 - theirs)},
        "explained": ours,
        "explained by PCA": theirs,
        "components": components,
        "factors": 2,
        "noise": noise,
        "planted noise": 1.0,
    }
    rows = [
        row
        | {key: {k: v + 0.001 * s for k, v in row[key].items()} for key in ("scores", "angles")}
        for s in range(3)
    ]
    return Results(STUDY, "standard", computed={"planted": dict.fromkeys(PLANTED, rows)})


def test_recovery_number_and_noise_can_fail():
    assert claims.recovers_more(tables(0.9, 0.5), "PCA").holds
    assert claims.recovers_more(tables(0.5, 0.9), "PCA").holds is False
    assert claims.recovers_more(tables(0.5, 0.5), "PCA").undecided
    assert claims.points_closer(tables(0.9, 0.5), "PCA").holds
    assert claims.points_closer(tables(0.5, 0.9), "PCA").holds is False
    assert claims.explains_more(tables(0.9, 0.5)).holds
    assert claims.explains_more(tables(0.5, 0.9)).holds is False
    assert claims.finds_the_number(tables(0.9, 0.5)).holds
    assert claims.finds_the_number(tables(0.9, 0.5, components=3)).holds is False
    assert claims.finds_the_noise(tables(0.9, 0.5, noise=1.1)).holds
    assert claims.finds_the_noise(tables(0.9, 0.5, noise=1.3)).holds is False
    nothing = Results(STUDY, "standard")
    assert claims.recovers_more(nothing, "PCA").holds is None
    assert claims.finds_the_number(nothing).holds is None


def test_real_tables_can_go_either_way():
    def found(ours, theirs):
        each = {
            m: {"explained": [v, v + 0.01]}
            for m, v in zip(("NonlinearPCA", "PCA"), (ours, theirs), strict=True)
        }
        return Results(STUDY, "standard", computed={"real": {"wine": each}})

    assert claims.on_real(found(0.9, 0.5), "explained").holds
    assert claims.on_real(found(0.5, 0.9), "explained").holds is False


def test_figures_show_what_was_found():
    figure = draw_recovery(tables(0.9, 0.5))
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == pytest.approx([0.901] * len(PLANTED) + [0.501] * len(PLANTED))
    first = draw_choice(outcomes(DS, chosen=3)).axes[0]
    assert [line.get_xdata()[0] for line in first.lines if line.get_color() == "#d55e00"] == [
        3.2e-3
    ]
    assert draw_recovery(Results(STUDY, "standard")) is None
    assert draw_choice(Results(STUDY, "standard")) is None


def test_factors_of_the_roll_are_lengths_on_it():
    """Neighbours along the arc, at the same height, are as far apart as their arc lengths."""
    table = planted("roll", 4000, 0)
    along, height = table.factors.T
    order = along.argsort()
    steps = np.linalg.norm(np.diff(table.x[order][:, [0, 2]], axis=0), axis=1)
    # Noise of two points in two coordinates adds 4 NOISE^2 to the square of a step.
    expected = np.diff(along[order]) ** 2 + 4 * NOISE**2
    assert np.mean(steps**2) == pytest.approx(expected.mean(), rel=0.1)
    np.testing.assert_allclose(table.x[:, 1], height, atol=5 * NOISE)


@pytest.mark.parametrize("name", PLANTED)
def test_directions_are_those_of_neighbours(name):
    """Rows move along the directions when factors move: so do the differences of close rows."""
    table = planted(name, 1000, 1)
    factors = table.factors / table.factors.std(0)
    near = cKDTree(factors).query(factors, 10)[1][:, -1]
    moved = np.einsum("npk,nk->np", table.directions, table.factors[near] - table.factors)
    other = np.roll(moved, 1, axis=0)
    change = table.x[near] - table.x
    assert np.square(change - moved).sum() < np.square(change - other).sum()
    sums = (change * moved).sum(), np.square(moved).sum()
    assert sums[0] / sums[1] == pytest.approx(1, abs=0.1)


def test_every_table_can_be_drawn():
    for name in PLANTED:
        table = planted(name, 50, 1)
        assert table.x.shape[0] == len(table.factors) == 50
        assert np.isfinite(table.x).all()
        again = planted(name, 50, 1)
        np.testing.assert_array_equal(table.x, again.x)
    assert set(CURVED) < set(PLANTED)
    np.testing.assert_allclose(real("wine").x.std(0), 1)
    with pytest.raises(ValueError, match="unknown table"):
        planted("cheese", 10, 0)


@pytest.mark.slow
def test_the_choice_is_made_from_runs(tmp_path):
    picked = [c for c in STUDY.cells("quick") if c.row == "bent"][-3:]
    cells = [replace(c, config=replace(c.config, steps=5), seeds=2) for c in picked]
    make(
        [config for cell in cells for config in cell.configs()],
        Runner(tmp_path, jobs=1, progress=False),
    )
    study = replace(STUDY, cells=lambda _: cells, computed={}, claims=(), together=add_choices)
    found = collect(study, "quick", tmp_path)
    marks = np.concatenate([o.values["chosen"] for o in found.outcomes])
    assert (marks == 2).sum() == 1
    assert (marks > 0).sum() == 2
    assert all(np.isfinite(o.values["evidence"]).all() for o in found.outcomes)
