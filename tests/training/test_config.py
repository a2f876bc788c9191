"""What a run is, in Python and as JSON."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np
import pytest
import torch

from unpick.data import DATASETS, from_arrays
from unpick.data.idx import MNIST
from unpick.data.synthetic import Circles, LinearGaussian
from unpick.models import MLP, Conv, ModelConfig, build
from unpick.objectives import AE, AnnealedVAE, BetaTCVAE, BetaVAE, FactorVAE, SlowVAE
from unpick.study.study import departures
from unpick.training import SGD, Adagrad, Adam, RunConfig, Training, preset
from unpick.training.config import dumps, from_json, to_json
from unpick.training.presets import (
    IMAGES,
    TABLES,
    WITHOUT_PAPER,
    fit_shape,
    fitting_network,
    same_beta,
)

BASE = preset("synth-lin")


@pytest.mark.parametrize("source", TABLES)
def test_presets_survive_json(source):
    for name in TABLES[source]:
        config = preset(name, source)
        document = to_json(config)
        assert from_json(document, RunConfig) == config
        assert from_json(document, RunConfig).identity() == config.identity()


def test_identity_tells_configs_apart_but_not_ways_of_writing_them():
    whole = replace(BASE, objective=BetaVAE(1.0))
    object.__setattr__(sloppy := BetaVAE(2.0), "beta", 1)  # a float field given a whole number
    assert replace(BASE, objective=sloppy).identity() == whole.identity()
    others = BASE, replace(BASE, seed=1), replace(BASE, steps=61)
    assert len({config.identity() for config in others}) == 3
    assert '"type": "BetaVAE"' in dumps(BASE)


def test_identity_does_not_depend_on_how_numbers_are_given():
    object.__setattr__(sloppy := LinearGaussian(), "singular_values", (3, 2, 1))
    config = preset("linear-gaussian")
    assert replace(config, data=sloppy).identity() == config.identity()
    object.__setattr__(numpy := replace(BASE), "seed", np.int64(3))
    assert numpy.identity() == replace(BASE, seed=3).identity()


def test_a_field_that_came_later_renames_no_older_run():
    """The name of this run is from before there were other first weights."""
    assert BASE.identity() == "1c905733e7d7"
    document = to_json(BASE)
    assert "weights" not in document["model"]["network"]
    network = replace(BASE.model.network, weights="gaussian")
    other = replace(BASE, model=replace(BASE.model, network=network))
    assert from_json(to_json(other), RunConfig) == other
    assert other.identity() != BASE.identity()
    assert departures(other, BASE) == "weights gaussian instead of uniform"
    assert departures(BASE, BASE) == ""


def test_where_the_data_lie_does_not_name_a_run():
    here, there = (replace(preset("mnist"), data=MNIST(path)) for path in ("here", "there"))
    assert here.identity() == there.identity() != preset("fmnist").identity()


def test_another_objective_keeps_the_beta_of_the_data():
    assert same_beta(BetaTCVAE, BetaVAE(0.02)) == BetaTCVAE(beta=0.02)
    assert same_beta(SlowVAE, BetaVAE(0.02)) == SlowVAE(beta=0.02)
    assert same_beta(BetaVAE, AE()) == BetaVAE()
    assert same_beta(FactorVAE, BetaVAE(0.02)) == FactorVAE()  # has no beta


def test_data_sets_of_the_catalogue_have_a_set_up_that_needs_no_loading():
    """The others are loaded, which those without their files could not be."""
    assert {*TABLES["thesis"], *WITHOUT_PAPER, *IMAGES} == DATASETS.keys()


@dataclass(frozen=True)
class Own:
    """Somebody's own data set, here for its shape."""

    name: ClassVar[str] = "own"
    shape: tuple[int, ...] = (1, 8, 8)
    scale: float = 1.0

    def load(self):
        pixels = torch.rand(80, *self.shape, generator=torch.Generator().manual_seed(0))
        return from_arrays(self.scale * pixels)


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        ((1, 8, 8), 0),
        ((3, 16, 16), 2),
        ((1, 32, 32), 3),
        ((1, 28, 28), 0),
        ((1, 16, 8), 0),
        ((5,), 0),
    ],
)
def test_new_data_get_a_network_that_fits_their_shape(shape, layers):
    network = fitting_network(shape)
    if layers:
        assert (len(network.encoder), len(network.decoder)) == (layers, layers - 1)
    else:
        assert network == MLP()
    model = build(ModelConfig(2, network=network), shape, [0]).eval()
    z = model.encode(torch.rand(1, 3, *shape)).mean
    assert model.decode(z).shape == (1, 3, *shape)
    config = fit_shape(BASE.data, Own(shape).load())
    assert config.model.network == network
    assert config.model.likelihood == ("bernoulli" if len(shape) == 3 else "gaussian")
    assert config.model.latents == min(10, prod(shape))
    training = Training([replace(config, steps=1)], Own(shape).load())
    assert training.advance(1)["loss"].isfinite().all()


def test_images_beyond_the_unit_range_get_the_squared_error():
    assert fit_shape(BASE.data, Own(scale=2.0).load()).model.likelihood == "gaussian"


def test_unknown_fields_and_types_are_errors():
    document = to_json(BASE)
    with pytest.raises(ValueError, match=r"unknown fields \['bta'\]"):
        from_json({**document, "bta": 1}, RunConfig)
    with pytest.raises(ValueError, match="unknown type 'Cat'"):
        from_json({**document, "objective": {"type": "Cat"}}, RunConfig)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": -1}, "steps must be at least 0, got -1"),
        ({"objective": BetaVAE(-1.0)}, "beta must be finite and not negative, got -1.0"),
        ({"objective": BetaVAE(float("nan"))}, "beta must be finite"),
        ({"objective": AE()}, "ae needs the posterior delta, got diagonal"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_configs_say_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        replace(BASE, **change)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Adam(-1.0), "learning_rate must be positive and finite, got -1.0"),
        (lambda: Adagrad(float("inf")), "learning_rate must be positive and finite"),
        (lambda: SGD(0.0), "learning_rate must be positive and finite, got 0.0"),
        (lambda: Adam(1e-3, 1.5), r"beta1 must lie in \[0, 1\), got 1.5"),
        (lambda: MLP((0,)), r"encoder: widths must be positive, got \(0,\)"),
        (lambda: Conv(encoder=((4, 4, 0, 1),)), "encoder: channels, kernel and stride"),
        (lambda: Conv(encoder_norm=9), r"encoder_norm must lie in 0\.\.4, got 9"),
        (lambda: AnnealedVAE(anneal_steps=0), "anneal_steps must be at least 1, got 0"),
        (lambda: FactorVAE(critic_width=0), "critic_width must be at least 1"),
        (lambda: Circles(groups=0), "groups and circles must be at least 1"),
        (lambda: LinearGaussian(points=5), "points must be at least 10, got 5"),
    ],
)
def test_bad_parts_say_what_is_wrong(build, message):
    with pytest.raises(ValueError, match=message):
        build()
