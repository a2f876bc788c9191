"""The quantities of four papers, on planted decoders and on trained models."""

import math
from dataclasses import replace

import pytest
import torch

from planted_weights import finish
from unpick.data.synthetic import SynthNonlin
from unpick.geometry.singular import gram
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.papers.across.explanations.claims import FOUR
from unpick.papers.across.explanations.readings import (
    READINGS,
    columns,
    contrast,
    explanations,
    in_use,
    off_diagonal,
    root,
    rotate_randomly,
)
from unpick.probe import Codes, Probe, measure_run
from unpick.runs import Runner, make, read
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
    mean, variances = torch.zeros(n, len(variance)).double(), variance.double().expand(n, -1)
    probe = Probe(
        lambda x: Codes(mean[: len(x)], variances[: len(x)]),
        lambda z: model.decode_mean(z[None])[0],
        torch.full((n, model.shape[0]), x).double(),
        likelihood=model.config.likelihood,
        beta=beta,
        logits=lambda z: model.decode(z[None])[0],
    )
    return explanations(probe)


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
    found = rotate_randomly(matrices)
    assert len(found) == 40
    for k in range(4):
        same = torch.linalg.svdvals(matrices[k]).expand(10, 3)
        torch.testing.assert_close(torch.linalg.svdvals(found[10 * k : 10 * k + 10]), same)
    torch.testing.assert_close(rotate_randomly(matrices), found)  # the same turns for all


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


def test_measures_are_cached_and_a_dead_model_is_read_as_far_as_it_goes(tmp_path):
    (run,) = make([TINY], Runner(tmp_path, progress=False, jobs=1))
    taken = measure_run(run, READINGS, TINY.data.load)
    assert {"MIG", "error", "KL", "compared"} <= {*taken}

    def never():
        raise AssertionError("the data were loaded")

    assert measure_run(run, READINGS, never) == taken
    nothing = {name: torch.zeros_like(w[0]) for name, w in run.model().state_dict().items()}
    finish(run.path, nothing, run.results)
    dead = measure_run(read(run.path), READINGS, TINY.data.load)
    assert dead["compared"] == dead["active"] == dead["KL"] == dead["MIG"] == 0
