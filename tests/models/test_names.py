"""Unknown names are errors where they are written."""

from dataclasses import fields, is_dataclass
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from unpick.data import DATASETS
from unpick.diagnosis import Finding
from unpick.geometry import likelihood_hessian
from unpick.geometry.curvature import observations
from unpick.models import MLP, Conv, Diagonal, ModelConfig, likelihood
from unpick.models.posterior import family_of
from unpick.objectives import OBJECTIVES
from unpick.objectives.tcvae import aggregate_log_density
from unpick.pages import Note
from unpick.pages.formula import mathml
from unpick.pages.page import Marked
from unpick.perturb.config import PerturbConfig
from unpick.perturb.select_restarts import check_score
from unpick.probe import Probe
from unpick.probe.card import CardOptions
from unpick.training import SGD, Adagrad, Adam, RunConfig

CONFIGS = [
    *DATASETS.values(),
    *OBJECTIVES.values(),
    *(ModelConfig, MLP, Conv, Adam, Adagrad, SGD, RunConfig, PerturbConfig),
    *(Probe, CardOptions, Finding, Marked, Note),
]
CHOICES = [
    (config, field.name)
    for config in CONFIGS
    for field in fields(config)
    if get_origin(get_type_hints(config)[field.name]) is Literal
]


def test_there_are_choices_to_check():
    assert {(ModelConfig, "likelihood"), (MLP, "encoder_activation")} <= {*CHOICES}
    assert {(Probe, "likelihood"), (CardOptions, "learner"), (Note, "mark")} <= {*CHOICES}
    assert all(map(is_dataclass, CONFIGS))


@pytest.mark.parametrize(
    ("config", "name"), CHOICES, ids=lambda each: getattr(each, "__name__", each)
)
def test_every_config_refuses_an_unknown_choice(config, name):
    """Past the type checks of the tests, which users do not have."""
    allowed = get_args(get_type_hints(config)[name])
    made = object.__new__(config)
    for field in fields(config):
        object.__setattr__(made, field.name, field.default)
    object.__setattr__(made, name, "Gaussian")
    with pytest.raises(ValueError, match=f"{name} must be one of .*{allowed[0]}.* got 'Gaussian'"):
        made.__post_init__()


def unchecked(function):
    """A function without the type checks of the tests."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


@pytest.mark.parametrize(
    ("function", "arguments", "what"),
    [
        (
            likelihood.distortion,
            ("Gaussian", torch.zeros(1, 1, 1), torch.zeros(1, 1, 1)),
            "likeli",
        ),
        (likelihood.mean, ("Gaussian", torch.zeros(1)), "likelihood"),
        (likelihood.slope_factor, ("Gaussian",), "likelihood"),
        (likelihood.curvature, ("Gaussian", torch.zeros(1)), "likelihood"),
        (family_of, ("Gaussian",), "posterior"),
        (mathml, ("x", "Gaussian"), "display"),
        (check_score, (None, "Gaussian"), "choose"),
        (observations, (torch.zeros(1, 1), 1, "Gaussian"), "likelihood"),
        (
            aggregate_log_density,
            (
                Diagonal(torch.zeros(1, 2, 1), torch.zeros(1, 2, 1)),
                torch.zeros(1, 2, 1),
                9,
                "Gaussian",
            ),
            "estimator",
        ),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_no_function_takes_an_unknown_name_for_the_other_one(function, arguments, what):
    with pytest.raises(ValueError, match=rf"{what}.* must be one of .* got 'Gaussian'"):
        unchecked(function)(*arguments)


def test_hessians_know_their_forms():
    with pytest.raises(ValueError, match=r"form must be one of .* got 'Exact'"):
        unchecked(likelihood_hessian)(
            lambda z: z, torch.ones(1, 2), torch.zeros(1, 2), form="Exact"
        )
