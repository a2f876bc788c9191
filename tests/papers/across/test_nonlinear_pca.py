"""What is said of NonlinearPCA, judged from planted results, and the tables it is tried on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.estimator.rows import hold_out
from unpick.papers.across.nonlinear_pca import claims
from unpick.papers.across.nonlinear_pca.cells import BETAS
from unpick.papers.across.nonlinear_pca.choice import active_ds, add_choices, held_rows
from unpick.papers.across.nonlinear_pca.figures import draw_choice, draw_recovery
from unpick.papers.across.nonlinear_pca.study import STUDY
from unpick.papers.across.nonlinear_pca.tables import CURVED, NOISE, PLANTED, planted, real
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
    assert claims.choice_is_good(outcomes(DS, chosen=3)).holds
    assert claims.choice_is_good(outcomes(DS, chosen=1)).holds is False


def searched(kept, chosen="0.1"):
    table = {"0.01": [0.2, 0.4], "0.1": [0.8, 0.9], "1": [0.5, 0.5], "4": [0.0, 0.0]}
    own = {"DS": table, "chosen": chosen, "kept": kept, "found again": 2.0}
    return Results(STUDY, "standard", computed={"choice": {"bent": own}})


def test_the_search_is_compared_with_hindsight():
    assert claims.search_is_good(searched(0.8)).holds
    verdict = claims.search_is_good(searched(0.3))
    assert verdict.holds is False
    assert "bent 0.35 (0.1, best 0.1; 0.59 at 1, 0.00 at 4)" in verdict.evidence
    assert claims.search_is_good(Results(STUDY, "standard")).holds is None


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
    assert claims.choice_is_good(outcomes([0.05] * 10, chosen=3)).holds is None


@pytest.mark.parametrize("other", ["UDR", "beta 1", "beta 4"])
def test_the_choice_can_lose_and_win(other):
    late = [0.0] * 9 + [1.0]  # UDR likes the last beta
    assert claims.choice_beats(outcomes(DS, chosen=4, udr=late), other).holds
    good_late = [0.1] * 8 + [0.9, 0.95]
    assert claims.choice_beats(outcomes(good_late, chosen=0, udr=late), other).holds is False


def tables(ours, theirs, components=2, noise=1.0):
    """Computed results of all planted tables with three seeds."""
    scores = {"NonlinearPCA": ours, "PCA": theirs}
    row = {
        "explained": ours,
        "explained by PCA": theirs,
        "components": components,
        "factors": 2,
        "noise": noise,
        "planted noise": 1.0,
    }
    rows = [row | {"scores": {k: v + 0.001 * s for k, v in scores.items()}} for s in range(3)]
    return Results(STUDY, "standard", computed={"planted": dict.fromkeys(PLANTED, rows)})


def test_recovery_number_and_noise_can_fail():
    assert claims.recovers_more(tables(0.9, 0.5), "PCA").holds
    assert claims.recovers_more(tables(0.5, 0.9), "PCA").holds is False
    assert claims.recovers_more(tables(0.5, 0.5), "PCA").undecided
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
