"""The quantities of four papers on planted decoders, and claims judged from planted results."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from unpick.data.synthetic import SynthNonlin
from unpick.geometry.singular import gram
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.papers.across.explanations import claims as claims
from unpick.papers.across.explanations import study as explanations
from unpick.papers.across.explanations.claims import FOUR, RANKED
from unpick.papers.across.explanations.figures import (
    Line,
    Panel,
    quantities,
    rank_table,
    two_columns,
)
from unpick.papers.across.explanations.readings import (
    axes,
    contrast,
    in_use,
    off_diagonal,
    readings,
    root,
    turned,
)
from unpick.papers.across.explanations.study import STUDY, columns
from unpick.papers.zietlow2022.beta_search import study as beta_search
from unpick.runs import Run, Runner, make, read
from unpick.runs.disk import finish
from unpick.study import Outcome, Results
from unpick.training import preset

RATIO, COSINE = 0.5, 0.6  # of two columns, the first of length 1


def linear(weight, bias=None, likelihood="gaussian"):
    """A model with this linear decoder (outputs, latents), in double precision."""
    config = ModelConfig(weight.shape[1], likelihood=likelihood, network=MLP((), "tanh", ()))
    model = Autoencoder(config, (weight.shape[0],), [0]).double()
    (layer,) = model.decoder.layers
    layer.weight.data[0] = weight.T
    layer.bias.data[0, 0] = torch.zeros(len(weight)) if bias is None else bias
    return model


def measured(model, variance, beta, n=300, x=0.5):
    """At n times the same point, so that what is turned is turned many ways."""
    size = model.shape[0]
    mean = torch.zeros(n, len(variance)).double()
    return axes(
        model, torch.full((n, size), x).double(), mean, variance.double().expand(n, -1), beta
    )


def best(weight, beta):
    """The best variances for a linear decoder and the squared error."""
    return 1 / (1 + 2 * weight.square().sum(0) / beta)


@pytest.fixture(scope="module")
def two():
    """What is found for two columns, with variances half of the best ones."""
    weight = columns(RATIO, COSINE)[0]
    return measured(linear(weight), best(weight, 1e-5) / 2, 1e-5)


def test_two_columns_have_what_pencil_and_paper_give(two):
    angle = math.atan2(2 * RATIO * COSINE, 1 - RATIO**2) / 2  # of the longer singular direction
    dto = math.sqrt(8) * math.sin(angle / 2)
    half, spread = (1 + RATIO**2) / 2, math.hypot((1 - RATIO**2) / 2, RATIO * COSINE)
    singular = math.sqrt(half + spread), math.sqrt(half - spread)
    of_sigma = (singular[0] - 1) ** 2 + (singular[1] - RATIO) ** 2
    off = math.sqrt(2) * RATIO * COSINE / math.hypot(1, RATIO**2)
    assert two["compared"] == 2
    assert two["DtO"] == pytest.approx(dto)
    assert two["IMA"] == pytest.approx(-math.log(0.8))
    for name in ("DtO", "IMA"):  # a squared error counts pixels alike
        assert two[f"{name}, likelihood"] == pytest.approx(two[name])
    assert two["OD-Score, Sigma"] == pytest.approx(of_sigma, rel=1e-3)
    assert two["OD-Score"] == pytest.approx((2 * dto**2 + of_sigma) / 3, rel=1e-3)
    assert two["off-diagonal"] == pytest.approx(off)
    assert two["off-diagonal, exact"] == pytest.approx(off)
    assert two["local residual"] < 1e-6
    assert two["degenerate"] == 0


def test_a_linear_decoder_tells_the_encoders_variances_for_what_they_are(two):
    assert two["ratio"] == pytest.approx(0.5)
    assert two["scatter"] == pytest.approx(math.log(2))
    assert two["expansion gap"] == pytest.approx(0, abs=1e-6)


def test_random_turns_have_their_closed_forms(two):
    """For singular values a > b: 2 log of (a + b) / 2 over sqrt(a b); 2/pi asinh(..)."""
    a, b = torch.linalg.svdvals(columns(RATIO, COSINE)[0]).tolist()
    assert two["IMA, turned"] == pytest.approx(2 * math.log((a + b) / 2 / math.sqrt(a * b)), 0.05)
    skew = (a**2 - b**2) / (a**2 + b**2)
    assert two["off-diagonal, turned"] == pytest.approx(2 / math.pi * math.asinh(skew), 0.05)
    assert two["DtO, likelihood, turned"] == pytest.approx(two["chance"], 0.05)


def test_turns_keep_what_all_rotations_share(generator):
    matrices = torch.randn(4, 6, 3, generator=generator).double()
    found = turned(matrices)
    assert len(found) == 40
    for k in range(4):
        same = torch.linalg.svdvals(matrices[k]).expand(10, 3)
        torch.testing.assert_close(torch.linalg.svdvals(found[10 * k : 10 * k + 10]), same)
    torch.testing.assert_close(turned(matrices), found)  # the same turns for all


@pytest.mark.parametrize("beta", [1e-4, 0.3, 10.0])
def test_the_price_is_what_a_diagonal_loses_to_a_full_covariance(beta):
    weight = columns(RATIO, COSINE)[0]
    found = measured(linear(weight), torch.full((2,), 0.1), beta, n=2)
    precision = torch.eye(2) + 2 / beta * weight.T @ weight
    full = torch.distributions.MultivariateNormal(torch.zeros(2).double(), None, precision)
    diagonal = torch.distributions.MultivariateNormal(
        torch.zeros(2).double(), None, precision.diagonal().diag()
    )
    expected = float(torch.distributions.kl_divergence(diagonal, full))
    assert found["price"] == pytest.approx(expected)
    assert found["price"] < found["IMA"]
    if beta == 1e-4:
        assert found["price"] == pytest.approx(found["IMA"], rel=0.01)


def test_equal_columns_at_nearly_right_angles_part_the_four():
    found = measured(linear(columns(1.0, 0.01)[0]), torch.full((2,), 1e-8), 1e-3, n=5)
    assert found["DtO"] == pytest.approx(math.sqrt(8) * math.sin(math.pi / 8))  # its largest
    assert found["degenerate"] == 1
    assert found["OD-Score"] == pytest.approx(2 * found["DtO"] ** 2 / 3, rel=1e-3)
    assert found["IMA"] == pytest.approx(-math.log(1 - 1e-4) / 2)
    assert found["off-diagonal"] == pytest.approx(0.01)


def test_a_short_column_hides_from_all_but_the_contrast():
    found = measured(linear(columns(0.01, 0.6)[0]), torch.full((2,), 0.01), 1e-6, n=5)
    assert found["IMA"] == pytest.approx(-math.log(0.8))
    for name in ("DtO", "OD-Score", "off-diagonal"):
        assert found[name] < 0.01
    # At a beta that drowns it, it costs nothing either.
    assert (
        measured(linear(columns(0.01, 0.6)[0]), torch.full((2,), 0.01), 0.1, n=5)["price"] < 1e-3
    )


def test_a_bernoulli_weighs_pixels_by_their_variance():
    """Columns that are orthogonal to the likelihood, and not in pixels."""
    bias = torch.tensor([0.0, 2.0]).double()
    a, b = (bias.sigmoid() * (-bias).sigmoid()).tolist()
    weight = torch.tensor([[1.0, 1.0], [1.0, -a / b]], dtype=torch.float64)
    found = measured(linear(weight, bias, "bernoulli"), torch.full((2,), 0.01), 0.01, n=3)
    assert found["IMA, likelihood"] == pytest.approx(0, abs=1e-9)
    assert found["off-diagonal"] == pytest.approx(0, abs=1e-9)
    assert found["price"] == pytest.approx(0, abs=1e-9)
    squared = (a**2 - a * b) ** 2 / (2 * a**2 * (a**2 + b**2))
    assert found["IMA"] == pytest.approx(-math.log(1 - squared) / 2)


def test_latents_that_nobody_uses_are_not_compared(two):
    weight = columns(RATIO, COSINE)[0]
    variance = best(weight, 1e-5) / 2
    wide = torch.cat([weight, torch.full((2, 1), 1e-9)], 1)
    found = measured(linear(wide), torch.cat([variance, torch.ones(1)]), 1e-5)
    assert found["compared"] == 2
    for name in (*FOUR, "price", "scatter", "chance"):
        assert found[name] == pytest.approx(two[name], rel=1e-3)


def test_either_the_encoder_or_the_decoder_can_say_that_a_latent_is_used():
    beta, ones = 1.0, torch.ones(1, 3).double()
    flat, bent = torch.zeros(1, 3, 3), -torch.diag(torch.tensor([9.0, 0.1, 0.1]))[None]
    assert in_use(ones, flat.double(), beta).tolist() == [False] * 3
    assert in_use(ones, bent.double(), beta).tolist() == [True, False, False]
    sure = torch.tensor([[1.0, 0.5, 1.0]]).double()
    assert in_use(sure, bent.double(), beta).tolist() == [True, True, False]


def test_fewer_than_two_latents_have_no_axes():
    none = measured(linear(torch.zeros(2, 2).double()), torch.ones(2), 1.0, n=3)
    assert none == {"compared": 0.0}
    one = measured(linear(torch.eye(2).double()), torch.tensor([0.1, 1.0]), 10.0, n=3)
    assert one["compared"] == 1
    assert one["scatter"] > 1
    assert not {*FOUR, "price"} & {*one}


def test_a_root_has_the_gram_matrix_and_quantities_ignore_scale(generator):
    matrices = torch.randn(5, 8, 3, generator=generator).double()
    torch.testing.assert_close(gram(root(gram(matrices))), gram(matrices))
    for measure in (contrast, lambda m: off_diagonal(gram(m))):
        assert measure(7 * matrices) == pytest.approx(measure(matrices))
        assert measure(root(gram(matrices))) == pytest.approx(measure(matrices))
    lengths = torch.tensor([1.0, 9.0, 0.1]).double()
    assert contrast(matrices * lengths) == pytest.approx(contrast(matrices))


TINY = replace(
    preset("synth-nonlin"),
    data=SynthNonlin(points=400),
    model=replace(preset("synth-nonlin").model, network=MLP((8,), "tanh", (8,), "tanh")),
    steps=3,
)


def test_readings_are_kept_and_a_dead_model_is_read_as_far_as_it_goes(tmp_path):
    (run,) = make([TINY], Runner(tmp_path, progress=False, jobs=1))
    taken = readings(run, TINY.data.load)
    assert {"MIG", "error", "KL", "compared"} <= {*taken}

    def never():
        raise AssertionError("the data were loaded")

    assert readings(run, never) == taken
    nothing = {name: torch.zeros_like(w[0]) for name, w in run.model().state_dict().items()}
    finish(run.path, nothing, run.results)
    dead = readings(read(run.path), TINY.data.load)
    assert dead["compared"] == dead["active"] == dead["KL"] == dead["MIG"] == 0


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
    check = claims.orthogonal
    assert verdict(check, "steps", RISING) is True
    assert verdict(check, "steps", RISING[::-1]) is False
    assert "IMA 0.480 to 0.080" in check(planted("steps", RISING)).evidence
    one = [level(0.0), level(5.0) | {"off-diagonal": np.array([0.9, 0.9])}]
    assert verdict(check, "steps", one) is False
    late = planted("steps", RISING)
    late = replace(late, outcomes=late.outcomes[1:])  # nothing from before training
    assert check(late).holds is None


@pytest.mark.parametrize("kind", ["steps", "beta"])
def test_quantities_agree_if_they_rank_alike(kind):
    check = partial(claims.agree, kind)
    assert verdict(check, kind, RISING) is True
    # It falls like the others, but what random turns give falls faster.
    against = [level(at, **{"IMA, turned": 0.01 * 3 ** (5 - at)}) for at in MANY]
    found = check(planted(kind, against))
    assert found.holds is False
    assert found.evidence.startswith("synth-nonlin: -")
    assert verdict(check, kind, RISING[:1]) is None  # two runs rank nothing


def test_ranks_leave_out_runs_that_lack_something():
    holes = [*RISING, {"MIG": np.array([9.0, 9.0]), "error": np.array([9.0, 9.0])}]
    found = claims.found(planted("beta", holes), "synth-nonlin", "beta")
    full = claims.found(planted("beta", RISING), "synth-nonlin", "beta")
    np.testing.assert_allclose(claims.ranks(found), claims.ranks(full))
    assert list(found) == sorted(found)
    rank = claims.ranks(full)[RANKED.index("DtO"), RANKED.index("MIG")]
    assert rank < -0.9


def test_the_smallest_beta_has_the_best_error_and_the_worst_axes():
    check = claims.without_pressure
    upwards = [level(at, error=0.1 + at) for at in MANY]
    assert verdict(check, "beta", upwards) is True
    assert verdict(check, "beta", RISING) is False  # its error is the largest
    turned_round = [level(5 - at, error=0.1 + at) for at in MANY]
    assert verdict(check, "beta", turned_round) is False  # its DtO is the smallest
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


def test_aligned_axes_and_mig_go_together_or_not():
    check = claims.disentangles
    assert verdict(check, "beta", RISING) is True
    assert verdict(check, "beta", [level(at, MIG=1 - at / 10) for at in MANY]) is False
    assert verdict(check, "steps", RISING) is None
    assert "MIG is best at beta 1 (0.50), the axes at 1" in check(planted("beta", RISING)).evidence


@pytest.mark.parametrize("claim", STUDY.claims, ids=lambda claim: claim.text[:40])
def test_nothing_is_said_without_runs(claim):
    assert claim.check(Results(STUDY, "standard")).holds is None


def test_figures_show_every_seed_and_the_turned_one():
    some = several(planted("steps", RISING), planted("steps", RISING[:3], "sprites"))
    over_training, over_beta, ranks, closed = (drawing.draw(some) for drawing in STUDY.drawings)
    assert over_beta is None
    first = over_training.axes[0]
    lines = [line for line in first.lines if line.get_linestyle() == "-"]
    assert len(lines) == 4  # two data sets, two seeds
    np.testing.assert_allclose(lines[0].get_ydata(), [values["DtO"][0] for values in RISING])
    assert lines[0].get_xdata()[0] == pytest.approx(100 / 3)  # stands for 0
    assert sum(line.get_linestyle() == "--" for line in first.lines) == 2
    scatter = list(explanations.PANELS).index("scatter")
    assert not any(line.get_linestyle() == "--" for line in over_training.axes[scatter].lines)
    assert len([axes for axes in ranks.axes if axes.get_title(loc="left")]) == 2
    assert len(closed.axes) == 2
    empty = Results(STUDY, "quick")
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
