"""What Bhowal et al. say of MIG and the OD-Score, judged from planted results."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

from unpick.data.files import FileConfig
from unpick.papers.bhowal2024.scores import claims, orders
from unpick.papers.bhowal2024.scores.figures import (
    Cloud,
    draw_active,
    draw_relation,
    score_relation,
)
from unpick.papers.bhowal2024.scores.readings import SCORES
from unpick.papers.bhowal2024.scores.study import STUDY
from unpick.runs import Run
from unpick.study import Outcome, Results

CELLS = [c for c in STUDY.cells("standard") if not isinstance(c.config.data, FileConfig)]
NAMES = claims.NAMES
WORST = {name: k for k, name in enumerate(NAMES)}  # the paper's order, but on rooms


def planted(values, cells=CELLS, scale="standard"):
    """Results where `values(cell)` gives the readings of a cell, or None."""
    found = [(cell, values(cell)) for cell in cells]
    outcomes = [
        Outcome(
            cell,
            tuple(Run(Path(), cell.with_seed(k), {}) for k in range(len(next(iter(v.values()))))),
            {name: np.asarray(each, dtype=float) for name, each in v.items()},
        )
        for cell, v in found
        if v is not None
    ]
    return Results(STUDY, scale, tuple(outcomes))


def as_printed(cell, seeds=5, spread=0.001):
    """The paper's own means, all ways to compute a score in agreement, and some spread."""
    wobble = spread * np.linspace(-1, 1, seeds)
    means = {m: printed.mean for m, printed in cell.published.items()}
    score = means["OD-Score"] - wobble  # the lower, the higher MIG: over restarts, too
    values = {"MIG": means["MIG"] + wobble, "MIG-sup": means["MIG-sup"] + wobble}
    values |= dict.fromkeys((*SCORES, "OD-Score, V", "DtO / chance"), score)
    values |= {f"term, {name}": 0.9 + 0.01 * k + wobble for k, name in enumerate(NAMES)}
    values |= {"active": [5, 6, 7, 6, 5][:seeds], "passive share": np.full(seeds, 0.2)}
    return values


def verdicts(results):
    return [claim.check(results).holds for claim in STUDY.claims]


def test_the_papers_own_numbers_satisfy_every_claim():
    assert all(holds is True for holds in verdicts(planted(as_printed)))


def test_nothing_but_what_needs_no_training_is_known_without_it():
    untrained = [claim.check is claims.falls_in_print for claim in STUDY.claims]
    assert [holds is True for holds in verdicts(Results(STUDY, "standard"))] == untrained
    any_model = [claim.check is orders.term_makes_no_order for claim in STUDY.claims]
    short = verdicts(planted(as_printed, STUDY.cells("quick"), "quick"))
    assert [holds is True for holds in short] == np.logical_or(untrained, any_model).tolist()
    assert False not in short


def test_a_data_set_or_a_model_that_is_not_there_leaves_claims_open():
    two = planted(lambda cell: None if cell.row == "heads" else as_printed(cell))
    assert orders.in_printed_order("MIG", two).holds is None
    assert claims.falls_over_runs("OD-Score", "", two).holds is None
    lone = planted(lambda cell: None if cell.column == "VAE" else as_printed(cell))
    assert (
        orders.in_printed_order("MIG", lone)
        == orders.falls_over_models(lone)
        == claims.active_latents_dominate(lone)
    )
    assert orders.in_printed_order("MIG", lone).holds is None
    # One that speaks against it is enough.
    wrong = planted(
        lambda cell: (
            as_printed(cell) | ({"MIG": [0.9] * 5} if cell.column == "VAE" else {})
            if cell.row == "sprites"
            else None
        )
    )
    assert orders.in_printed_order("MIG", wrong).holds is False
    text = orders.in_printed_order("MIG", wrong).evidence
    assert "decided the other way (difference, 95 % interval): sprites, beta-VAE above VAE" in text
    assert orders.falls_over_models(wrong).holds is False


def test_a_score_that_ranks_otherwise_breaks_what_is_said_of_it():
    def other(measure):
        def values(cell):
            found = as_printed(cell)
            return found | {measure: -found[measure]}

        return planted(values)

    assert orders.in_printed_order("OD-Score", other("OD-Score")).holds is False
    assert orders.falls_over_models(other("OD-Score")).holds is False
    assert orders.variants_agree(other("OD-Score, released")).holds is False
    assert (
        "released beta-VAE"
        not in orders.variants_agree(planted(as_printed)).evidence.split(";")[0]
    )


def test_a_fit_that_gives_all_models_the_same_score_tells_nothing_apart():
    alike = planted(lambda cell: as_printed(cell) | {"OD-Score, released fit": np.full(5, 0.995)})
    found = claims.released_fit_separates(alike)
    assert found.holds is False
    assert "0.0000 apart (printed: 0.0168)" in found.evidence  # MPI3D: 0.9254 - 0.9086


def test_a_term_that_makes_the_order_by_itself_is_found_out():
    printed = {"term, VAE": [0.97], "term, beta-VAE": [0.94], "term, beta-TCVAE": [0.91]}
    found = orders.term_makes_no_order(planted(lambda cell: printed))
    assert found.holds is False
    assert (
        "sprites, 3 runs: as VAE 0.970, as beta-VAE 0.940, as beta-TCVAE 0.910" in found.evidence
    )
    other = printed | {"term, VAE": [0.92]}
    assert orders.term_makes_no_order(planted(lambda cell: other)).holds is True
    assert (
        "as beta-TCVAE 0.910 (another order)"
        in orders.term_makes_no_order(planted(lambda cell: other)).evidence
    )
    wide = {
        "term, VAE": [0.9, 1.1, 0.8],
        "term, beta-VAE": [0.9] * 3,
        "term, beta-TCVAE": [0.8] * 3,
    }
    assert orders.term_makes_no_order(planted(lambda cell: wide)).undecided


def noisy(cell, height, spread=0.05, seeds=3):
    """The printed means times a height, with the same spread for all."""
    values = spread * np.array([-1.0, 0.0, 1.0])[:seeds]
    return {m: height * printed.mean + values for m, printed in cell.published.items()}


def test_an_order_within_the_spread_is_undecided_and_its_power_is_told():
    low = orders.in_printed_order("MIG", planted(lambda cell: noisy(cell, 0.1)))
    assert low.word == "undecided"
    assert "power at the printed means, all pairs together: " in low.evidence
    assert "sprites, beta-VAE above VAE (+0.009" in low.evidence  # a tenth of 0.25 - 0.16
    high = orders.in_printed_order("MIG", planted(lambda cell: noisy(cell, 100.0)))
    assert high.word == "holds"
    turned = orders.in_printed_order("MIG", planted(lambda cell: noisy(cell, -100.0)))
    assert turned.word == "fails"
    single = orders.in_printed_order("MIG", planted(lambda cell: noisy(cell, 1.0, seeds=1)))
    assert single.word == "undecided"
    assert "too few seeds" in single.evidence


def test_scores_conflict_only_where_both_are_decided():
    def scores(factor, spread):
        def values(cell):
            found = as_printed(cell, spread=spread)
            return found | {"OD-Score, released": factor * found["OD-Score"]}

        return orders.variants_agree(planted(values))

    assert scores(1.0, 1e-6).word == "holds"
    assert scores(-1.0, 1e-6).word == "fails"
    assert "in opposite ways: sprites, VAE and beta-VAE (matched," in scores(-1.0, 1e-6).evidence
    assert scores(-1.0, 1.0).word == "undecided"
    assert scores(1.0, 1.0).word == "undecided"


def test_passive_latents_may_not_make_most_of_the_score():
    found = planted(
        lambda cell: (
            as_printed(cell)
            | {"passive share": np.full(5, 0.7 if cell.column == "beta-TCVAE" else 0.1)}
        )
    )
    assert claims.active_latents_dominate(found).holds is False
    assert "beta-TCVAE 70%" in claims.active_latents_dominate(found).evidence


def test_three_printed_points_are_told_for_what_they_are():
    found = claims.falls_in_print(Results(STUDY, "quick"))
    assert found.holds is True
    assert "8 of 8 panels" in found.evidence
    assert "1 of 8 reach p < 0.05" in found.evidence


def scattered(slope, shift, seeds=40):
    """MIG with noise, and a score that follows it within models by `slope`, between by `shift`."""
    rng = np.random.default_rng(0)

    def values(cell):
        gap = rng.normal(size=seeds)
        score = slope * gap + shift * WORST[cell.column] + rng.normal(size=seeds)
        level = gap + WORST[cell.column]
        return {"MIG": level, "MIG-sup": level, "OD-Score": score, "active": level.round()}

    return planted(values)


def test_what_models_share_is_not_taken_for_what_restarts_share():
    between = scattered(0.0, -3.0)
    assert claims.falls_over_runs("OD-Score", "", between).holds is True
    assert claims.falls_over_runs("OD-Score", "model", between).undecided
    both = scattered(-1.0, -3.0)
    assert claims.falls_over_runs("OD-Score", "model", both).holds is True
    rising = scattered(1.0, 0.0)
    assert claims.falls_over_runs("OD-Score", "model", rising).holds is False


def test_a_score_that_only_counts_latents_says_nothing_beyond_their_number():
    rng = np.random.default_rng(1)

    def values(cell):
        active = rng.integers(2, 9, size=40).astype(float)
        gap, score = -active + rng.normal(size=40), active + rng.normal(size=40)
        return {"MIG": gap, "MIG-sup": gap, "OD-Score": score, "active": active}

    counted = planted(values)
    assert claims.falls_over_runs("OD-Score", "", counted).holds is True
    assert claims.falls_over_runs("OD-Score", "active", counted).undecided


def test_links_are_correlations_with_the_freedom_that_is_left():
    one = planted(lambda cell: scattered_cell(cell) if cell.row == "sprites" else None)
    models = claims.complete_rows(one, "MIG")["sprites"].values()
    gap, score = (np.concatenate([o.values[m] for o in models]) for m in ("MIG", "OD-Score"))
    plain, expected = claims.correlate(one, "MIG", "OD-Score"), pearsonr(gap, score)
    assert plain.r == pytest.approx(expected.statistic)
    assert plain.p == pytest.approx(expected.pvalue)
    assert plain.rows == {"sprites": pytest.approx(expected.statistic)}
    assert plain.free == len(gap) - 2
    within = claims.correlate(one, "MIG", "OD-Score", "model")
    gap, score = (
        np.concatenate([o.values[m] - o.mean(m) for o in models]) for m in ("MIG", "OD-Score")
    )
    assert within.r == pytest.approx(pearsonr(gap, score).statistic)
    assert within.p > pearsonr(gap, score).pvalue  # which forgets that means were taken off


def test_the_power_of_a_correlation_is_how_often_it_is_found():
    x, noise = np.random.default_rng(3).normal(size=(2, 4000, 27))
    y = -0.5 * x + math.sqrt(0.75) * noise
    found = pearsonr(x, y, axis=1)
    share = ((found.pvalue < 0.05) & (found.statistic < 0)).mean()
    told = claims.ScoreCorrelation(0.0, 1.0, 27, {}, 25).power
    assert told == pytest.approx(share, abs=0.03)


def scattered_cell(cell, seeds=6):
    rng = np.random.default_rng(WORST[cell.column])
    return {"MIG": rng.normal(size=seeds), "OD-Score": rng.normal(size=seeds)}


def test_few_seeds_do_not_refute_and_constants_do_not_count():
    few = planted(
        lambda cell: as_printed(cell, 2) | {"OD-Score": [0.5, 0.5 + 1e-3 * len(cell.row)]}
    )
    assert claims.falls_over_runs("OD-Score", "", few).holds is None
    still = planted(lambda cell: as_printed(cell) | {"OD-Score": np.ones(5)})
    assert claims.falls_over_runs("OD-Score", "", still).holds is None
    single = planted(lambda cell: as_printed(cell, 1))
    assert claims.falls_over_runs("OD-Score", "", single).holds is None


def test_figures_show_every_run_and_hollow_what_is_published():
    figure = draw_relation(planted(as_printed))
    assert len(figure.axes) == 2 * 3  # two gaps, three data sets
    filled, hollow = [], []
    for line in figure.axes[0].lines:
        if line.get_marker() != "None":
            (hollow if line.get_markerfacecolor() == "white" else filled).append(line)
    assert sorted(len(line.get_xdata()) for line in filled) == [5, 5, 5]
    entries = [cell.published for cell in CELLS if cell.row == "sprites"]
    points = [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow]
    assert points == [(e["MIG"].mean, e["OD-Score"].mean) for e in entries]
    assert draw_relation(Results(STUDY, "standard")) is None
    assert len(draw_active(planted(as_printed)).axes) == 3
    with pytest.raises(ValueError, match="at least one cloud"):
        score_relation({"x": {}}, "y")
    many = {str(k): Cloud(np.ones(1), np.ones(1)) for k in range(6)}
    with pytest.raises(ValueError, match="5 at most"):
        score_relation({"x": {"panel": many}}, "y")
