"""Claims of the study `explicit` on planted outcomes, and what it reads and draws."""

from pathlib import Path

import numpy as np
import pytest
import torch

from unpick.papers.across.explicit import claims
from unpick.papers.across.explicit.cells import TRAINED, cells
from unpick.papers.across.explicit.courses import CLOUDS, DEGENERATE, compute_course
from unpick.papers.across.explicit.figures import draw_courses, draw_twins
from unpick.papers.across.explicit.methods import ALIGNING, EXACT, METHODS
from unpick.papers.across.explicit.pressure import PRESSED
from unpick.papers.across.explicit.readings import alignment_in_use
from unpick.papers.across.explicit.study import ON_IMAGES, STUDY
from unpick.papers.across.explicit.tables import tabulate_clouds
from unpick.probe import Probe
from unpick.runs import Run
from unpick.study import Outcome, Results

SPREAD = np.linspace(-1, 1, 10)
# DtO at three marks, DS and error of methods that do what the study hopes for.
GOOD = {
    "AE": ((0.6, 0.6, 0.6), 0.4, 0.01),
    "beta-VAE": ((0.6, 0.5, 0.1), 0.9, 0.02),
    "deterministic, full": ((0.6, 0.6, 0.6), 0.4, 0.01),
    "IMA AE": ((0.5, 0.1, 0.1), 0.4, 0.01),
    **dict.fromkeys((*ALIGNING, EXACT), ((0.5, 0.1, 0.1), 0.9, 0.012)),
}


def planted(method="AE", planting=GOOD["AE"]):
    """Results of all clouds, with one method planted in another way."""
    methods = GOOD | {method: planting}
    own = {}
    for method, (course, ds, error) in methods.items():
        wide = 0.08 if method == "beta-VAE" else 0.01
        own[method] = {
            "steps": [10, 100, 1000],
            "DtO": [[dto + 0.02 * s for s in SPREAD] for dto in course],
            "DS": (ds + wide * SPREAD).tolist(),
            "MIG": (ds + wide * SPREAD).tolist(),
            "error": (error + 0.001 * SPREAD).tolist(),
        }
    equal = {m: {**v, "DS": (np.array(v["DS"]) - 0.3).tolist()} for m, v in own.items()}
    clouds = dict.fromkeys((*CLOUDS, PRESSED), own) | {DEGENERATE: equal}
    return Results(STUDY, "standard", computed=clouds)


def test_all_claims_on_clouds_hold_where_they_should():
    on_clouds = STUDY.claims[: -2 - len(ALIGNING) * len(ON_IMAGES)]
    assert len(on_clouds) == 5 * 3 + 4 + 4
    for claim in on_clouds:
        assert claim.check(planted()).holds, claim.text
        assert claim.check(Results(STUDY, "standard")).holds is None


@pytest.mark.parametrize(
    ("check", "method", "planting"),
    [
        (claims.aligns, "budget AE", ((0.9, 0.9, 0.9), 0.9, 0.01)),
        (claims.disentangles, "deterministic", ((0.5, 0.1, 0.1), 0.6, 0.01)),
        (claims.cheap, "full, penalised", ((0.5, 0.1, 0.1), 0.9, 0.05)),
    ],
)
def test_each_of_them_can_fail(check, method, planting):
    results = planted(method, planting)
    assert check(results, method).holds is False
    others = [each for each in ALIGNING if each != method]
    assert all(check(results, each).holds for each in others)


def test_claims_on_single_methods_can_fail():
    worse = (0.1, 0.1, 0.0), 0.9, 0.01
    assert claims.diagonal_is_the_cause(planted("deterministic, full", worse)).holds is False
    assert claims.exact_hessian(planted(EXACT, ((0.1, 0.1, 0.1), 0.9, 3.0))).holds is False
    assert claims.contrast_alone(planted("IMA AE", ((0.1, 0.1, 0.1), 0.99, 0.01))).holds is False


def test_alignment_that_is_late_or_lost_is_not_faster():
    quick = planted("beta-VAE", ((0.1, 0.1, 0.1), 0.9, 0.02))
    for course in ((0.6, 0.6, 0.6), (0.1, 0.1, 0.5)):
        quick.computed["synth-lin"]["deterministic"]["DtO"] = [
            [dto + 0.02 * s for s in SPREAD] for dto in course
        ]
        assert claims.faster(quick, "deterministic").holds is False


def test_scatter_and_rescue_can_fail():
    results = planted()
    results.computed["synth-lin"]["deterministic"]["DS"] = (0.5 + 0.4 * SPREAD).tolist()
    assert claims.steadier(results, "deterministic").holds is False
    results.computed[DEGENERATE]["budget AE"]["DS"] = (0.99 + 0.001 * SPREAD).tolist()
    assert claims.not_rescued(results, "budget AE").holds is False


def test_a_seed_has_settled_when_it_stays():
    course = np.array([[0.1, 0.1, 0.9, np.nan], [0.5, 0.1, 0.9, 0.1], [0.1, 0.1, 0.9, 0.1]])
    assert claims.settled([10, 100, 1000], course).tolist() == [1000, 10, 1000, 100]


def images(original, perturbed):
    """MIG by method on the original and on the twin, the same for both data sets."""
    found = []
    for one in cells("standard"):
        values = {"original": original, "perturbed": perturbed}[one.row.split(", ")[1]]
        level = values[one.column] + np.array([-0.01, 0.0, 0.01])
        runs = tuple(Run(Path(), one.with_seed(k), {}) for k in range(3))
        found.append(Outcome(one, runs, {"MIG": level, "DtO / chance": 1 - level}))
    return Results(STUDY, "standard", tuple(found))


WELL = dict.fromkeys(TRAINED, 0.5) | {"AE": 0.1, "full covariance": 0.2}
TWIN = dict.fromkeys(TRAINED, 0.4) | {"AE": 0.1, "beta-VAE": 0.2}


def test_claims_on_images():
    on_images = [*STUDY.claims[-2 - len(ALIGNING) * len(ON_IMAGES) :]]
    for claim in on_images:
        assert claim.check(images(WELL, TWIN)).holds, claim.text
        assert claim.check(Results(STUDY, "standard")).holds is None


@pytest.mark.parametrize("method", ALIGNING)
def test_each_claim_on_images_can_fail(method):
    for text, check in ON_IMAGES.items():
        bad = images(WELL | {method: 0.05}, TWIN | {method: 0.05})
        if "loses less" in text:
            bad = images(WELL | {method: 0.9}, TWIN | {method: 0.05})
        assert check(bad, method).holds is False, text
        others = [each for each in ALIGNING if each != method]
        assert all(check(bad, each).holds for each in others), text
    turned = images(TWIN | {"full covariance": 0.9}, WELL)
    assert claims.misled(turned).holds is False
    assert claims.diagonal_aligns_images(turned).holds is False


def test_figures_and_the_table_are_drawn_from_what_is_there():
    results = planted()
    (table,) = tabulate_clouds(results)
    assert next(row for row in table.rows if row[0] == "budget AE")[:5] == (
        "budget AE",
        "0.100 ± 0.013",
        "100",
        "0.900 ± 0.007",
        "0.900 ± 0.007",
    )
    assert len(draw_courses(results).axes) == 4
    assert draw_twins(results) is None
    assert len(draw_twins(images(WELL, TWIN)).axes) == 2
    assert draw_courses(Results(STUDY, "standard")) is None


def test_a_latent_without_signal_is_not_in_use(generator):
    """Neither by a short column nor by a code that hardly moves; scales of codes do not matter."""
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator)).Q
    codes = torch.randn(400, 4, generator=generator) * torch.tensor([1.0, 100.0, 1.0, 1e-3])
    mixing = torch.zeros(4, 8)
    mixing[:3, :3] = turn * torch.tensor([[1.0], [0.01], [0.02]])
    mixing[3, 3] = 1.0
    found, without = (
        alignment_in_use(Probe(lambda x: x, lambda z: z @ mixing, codes, codes[:, held].numpy()))
        for held in ([0, 1], [0, 3])
    )
    assert found["in use"] == 2  # the third column is short, the fourth code still
    assert found["DtO / chance"] == pytest.approx(0, abs=1e-5)
    assert found["DS"] > 0.9 > 0.7 > without["DS"]


@pytest.mark.slow
def test_a_course_has_every_method_and_repeats():
    first, again = (compute_course("synth-lin, ratio 1", "quick") for _ in range(2))
    assert first == again
    assert [*first] == ["AE", "beta-VAE", *ALIGNING]
    for found in first.values():
        assert found["steps"] == [30, 100]
        assert np.isfinite(np.array(found["DtO"])).all()
        assert len(found["DS"]) == len(found["error"]) == 2
    assert compute_course("synth-lin", "paper") == {}


def test_methods_differ_in_what_they_minimise_only():
    base = CLOUDS["synth-lin"].base
    configs = {name: m.config(base, 0.3, 0.2, 8) for name, m in METHODS.items()}
    assert len({config.identity() for config in configs.values()}) == len(METHODS)
    for name, config in configs.items():
        assert config.data == base.data
        assert config.model.network == base.model.network
        assert config.steps == base.steps
        assert getattr(config.objective, "beta", 0.3) == 0.3
        assert getattr(config.objective, "gamma", 0.2) == 0.2
        assert getattr(config.objective, "jacobians", 8) == 8
        assert config.orthogonality == (0.2 if name == "full, penalised" else 0)
