"""The study `forecast`: its claims on planted outcomes, its readings on planted codes."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import unpick
from unpick.data import from_arrays
from unpick.papers.across.forecast import claims
from unpick.papers.across.forecast.cells import DATA, LENGTHENED, MAIN, SWEPT, TIMES, foretold
from unpick.papers.across.forecast.figures import draw_order, draw_scores, tables
from unpick.papers.across.forecast.ranks import kendall_within, rank, share_interval, spearman
from unpick.papers.across.forecast.readings import alignment, gap, holding, predictability, sharing
from unpick.papers.across.forecast.study import STUDY
from unpick.probe import Probe
from unpick.runs import Run
from unpick.study import Outcome, Results


def planted(values_of):
    """Results of every cell; `values_of(row, column)` gives its measures."""
    outcomes = []
    for cell in STUDY.cells("standard"):
        values = {k: np.array(v, dtype=float) for k, v in values_of(cell.row, cell.column).items()}
        runs = tuple(Run(Path(), cell.with_seed(s), {}) for s in range(2))
        outcomes.append(Outcome(cell, runs, values))
    return Results(STUDY, "standard", tuple(outcomes))


def right(row, column):
    """What a perfect forecast finds: ideal scores, foretold confusions, a beta that ends each."""
    made = foretold()[row]
    ahead = made["prediction"]
    spread = np.array([0.995, 1.005])
    values = {"DtO share": ahead["ideal_dto"] * spread, "MIG": ahead["ideal_mig"] * spread}
    for pair in made["pairs"]:
        values[f"confusion: {pair['first']} | {pair['second']}"] = pair["confusion"] * spread
    for factor in made["factors"]:
        held = factor["saving"] / (factor["saving"] + 1e3)
        times = float(column.split()[0]) if column.endswith("that") else 1.0
        values[f"held: {factor['name']}"] = np.array([held, held]) if times > 1 else np.ones(2)
    if column != MAIN:
        values["MIG"] = 0.5 * values["MIG"]
    return values


def wrong(row, column):
    """The opposite."""
    values = right(row, column)
    flipped = {name: 1.2 - 0.5 * v for name, v in values.items() if "held" not in name}
    return flipped | {
        name: 1 - v if column.startswith(("4", "16")) else v
        for name, v in values.items()
        if "held" in name
    }


CHECKS = {
    "dto": claims.dto_ranks,
    "mig": claims.mig_ranks,
    "confusion": claims.confusion_ranks,
    "dto, clouds": partial(claims.dto_ranks, kind="clouds"),
    "mig, images": partial(claims.mig_ranks, kind="images"),
    "fates": claims.fates_come_true,
    "order": claims.order_comes_true,
    "dto range": partial(claims.falls_within, measure="DtO share", key="dto"),
    "mig range": partial(claims.falls_within, measure="MIG", key="mig"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_claims_hold_if_forecasts_come_true_and_fail_if_not(name):
    assert CHECKS[name](planted(right)).holds is True
    assert CHECKS[name](planted(wrong)).holds is False
    part = planted(right)
    assert CHECKS[name](replace(part, outcomes=part.outcomes[:-1])).holds is not True


def test_twins_mislead_if_mig_falls_on_both():
    def values(row, column, perturbed=0.1):
        level = perturbed if row.endswith("perturbed") else 0.3
        return {"MIG": np.array([level, level + 0.01])}

    assert claims.twin_misleads(planted(values)).holds is True
    assert claims.twin_misleads(planted(partial(values, perturbed=0.5))).holds is False
    assert claims.twin_misleads(planted(partial(values, perturbed=0.3))).undecided


def test_betas_are_judged_by_the_best_inside_and_outside():
    def values(row, column, inside=0.5):
        return {"MIG": np.array([1.0, 1.01]) * (inside if column == MAIN else 0.3)}

    assert claims.betas_are_good(planted(values)).holds is True
    assert claims.betas_are_good(planted(partial(values, inside=0.1))).holds in (False, None)


def test_ranks_of_planted_pairs():
    up = {f"{k}": ([float(k)], [2.0 * k]) for k in range(8)}
    found = rank(up, spearman)
    assert found.value == pytest.approx(1)
    assert found.p < 0.001
    assert found.low > 0.9
    down = {name: (a, [-b[0]]) for name, (a, b) in up.items()}
    assert rank(down, spearman).p > 0.99
    # Data sets of different levels, against the order within each: tau sees the inside only.
    levels = {
        "one": ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
        "two": ([11.0, 12.0, 13.0], [13.0, 12.0, 11.0]),
    }
    assert spearman(levels) > 0
    assert kendall_within(levels) == pytest.approx(-1)
    low, high = share_interval(10, 10)
    assert low == pytest.approx(0.025 ** (1 / 10))
    assert high == 1


def probe_of(codes, factors, variance, categorical):
    data = from_arrays(codes, factors, categorical=categorical)
    fields = {
        "factors": factors,
        "factor_names": [f.name for f in data.factors],
        "categorical": categorical,
        "dataset": data,
    }

    def encode(x):
        return x, torch.full_like(x, float(np.log(variance)))

    return Probe(encode, lambda z: z * torch.tensor([2.0, 1.0]), torch.from_numpy(codes), **fields)


def test_readings_of_planted_codes():
    rng = np.random.default_rng(0)
    w = rng.random((3000, 2)).astype(np.float32)
    apart = probe_of((w - 0.5) * 3, w, 0.01, [False, False])
    turn = np.array([[1, -1], [1, 1]], dtype=np.float32) / np.sqrt(2)
    mixed = probe_of((w - 0.5) @ turn * 3, w, 0.01, [False, False])
    key = "confusion: factor 0 | factor 1"
    assert sharing(apart)[key] < 0.1
    assert sharing(mixed)[key] > 0.9
    assert gap(apart)["MIG"] > 0.6 > 0.2 > gap(mixed)["MIG"]
    for probe in (apart, mixed):
        assert min(holding(probe).values()) > 0.99
        assert alignment(probe)["active"] == 2
        assert alignment(probe)["DtO share"] < 0.01
    asleep = probe_of((w - 0.5) * 3, w, 0.99, [False, False])
    assert holding(asleep) == {"held: factor 0": 0.0, "held: factor 1": 0.0}
    assert alignment(asleep) == {"active": 0.0}


def test_classes_are_predicted_above_the_commonest():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 3000).astype(float)
    assert predictability(labels[:, None], labels, True) == 1
    assert predictability(rng.random((3000, 1)), labels, True) < 0.1


def test_foretold_is_what_the_code_foretells():
    for row in ("synth-lin, ratio 1.5", "synth-nonlin, draw 2"):
        found = json.loads(json.dumps(unpick.forecast(DATA[row].load(), show=False).to_dict()))
        made = foretold()[row]
        assert found["prediction"]["beta"] == pytest.approx(made["prediction"]["beta"], rel=1e-3)
        pair, kept = found["pairs"][0], made["pairs"][0]
        assert pair["confusion"] == pytest.approx(kept["confusion"], abs=0.01)


def test_every_data_set_has_a_dated_forecast():
    assert set(foretold()) == set(DATA)
    assert all(made["date"].startswith("20") for made in foretold().values())
    assert set(SWEPT) <= set(DATA)
    cells = len(DATA) + len(SWEPT) * len(TIMES) + len(LENGTHENED)
    assert len(STUDY.cells("standard")) == cells
    assert STUDY.cells("paper") == []


def test_tables_and_figures_are_drawn():
    results = planted(right)
    assert draw_scores(results) is not None
    assert draw_order(results) is not None
    whole, pairs = tables(results)
    assert len(whole.rows) == len(DATA)
    assert ("sprites", "x, y", "open") in {row[:3] for row in pairs.rows}
