"""Controls of table 3.3: verdicts on planted outcomes, and laws of what is computed."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from unpick.geometry import distance_to_orthogonality, haar_distance
from unpick.models import ModelConfig, build
from unpick.models.networks import MLP
from unpick.papers.zietlow2022.controls import claims
from unpick.papers.zietlow2022.controls.cells import DIAGONAL, FULL, cells
from unpick.papers.zietlow2022.controls.descent import descend, make_triangular
from unpick.papers.zietlow2022.controls.figures import draw_angles, draw_factors
from unpick.papers.zietlow2022.controls.readings import (
    alignment_of_logits,
    angle,
    degrees_of,
    dto_of_members,
)
from unpick.papers.zietlow2022.controls.study import STUDY
from unpick.papers.zietlow2022.open_axes import leaves_open
from unpick.probe import Probe
from unpick.runs import Run
from unpick.study import Outcome, Results

SPREAD = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
NULLS = {"untrained": {"synth-lin, uniform": [0.6, 0.3], "synth-nonlin, uniform": [0.6, 0.3]}}


def planted(values, spread=0.02, **measures):
    """Outcomes of the study's own cells, by row and column, from the mean of DtO (or others)."""
    outcomes = []
    for cell in cells("standard"):
        if (cell.row, cell.column) in values:
            mean = values[cell.row, cell.column]
            runs = tuple(Run(Path(), cell.config, {}) for _ in SPREAD)
            found = {"DtO": mean + spread * SPREAD, "angle, degrees": 40 * mean + SPREAD}
            found |= {name: each + spread * SPREAD for name, each in measures.items()}
            outcomes.append(Outcome(cell, runs, found))
    return Results(STUDY, "standard", tuple(outcomes), computed=NULLS)


@pytest.mark.parametrize(
    ("mean", "spread", "word"),
    [(0.6, 0.05, "holds"), (0.9, 0.05, "holds"), (0.5, 0.05, "fails"), (0.55, 0.2, "undecided")],
)
def test_the_ablation_is_judged_against_untrained_networks(mean, spread, word):
    found = planted({("synth-lin", FULL): mean}, spread)
    assert claims.ablation("synth-lin")(found).word == word
    assert claims.ablation("synth-nonlin")(found).word == "not measured"
    without = replace(found, computed={})
    assert claims.ablation("synth-lin")(without).word == "not measured"


def test_axes_are_open_unless_dto_is_below_every_null():
    values = 1.0 + 0.01 * SPREAD

    def word(*nulls, complete=True, more=None):
        groups = {"a": (values, nulls)} | (more or {})
        return leaves_open(groups, "", complete=complete).word

    assert word(1.1, 1.2) == "fails"
    assert word(0.95, 1.2) == "holds"  # above one of them, and near the other
    assert word(0.95, 2.0) == "undecided"  # nothing decides which of the two is right
    assert word(1.1 + SPREAD, 1.2) == "holds"  # a null that is itself not known well
    assert word(0.95, complete=False) == "not measured"
    assert word(1.1, complete=False) == "fails"
    assert word(1.0, more={"b": (values, [1.1])}) == "fails"


def test_controls_are_compared_one_change_at_a_time():
    row = "synth-lin"

    def words(adam, adam_gaussian, sgd, sgd_gaussian):
        found = planted(
            {
                (row, FULL): adam,
                (row, f"{FULL}, Gaussian"): adam_gaussian,
                (row, f"{FULL}, SGD"): sgd,
                (row, f"{FULL}, SGD, Gaussian"): sgd_gaussian,
            }
        )
        return claims.adam_turns(found).word, claims.uniform_turns(found).word

    assert words(0.8, 0.8, 0.5, 0.5) == ("holds", "undecided")
    assert words(0.8, 0.5, 0.8, 0.5) == ("undecided", "holds")
    assert words(0.5, 0.5, 0.8, 0.8) == ("fails", "undecided")
    assert claims.adam_turns(planted({(row, FULL): 0.8})).word == "not measured"


def test_both_point_clouds_decide_what_is_said_of_both():
    def words(lin, nonlin):
        found = planted(
            {
                ("synth-lin", DIAGONAL): 0.1,
                ("synth-lin", FULL): lin,
                ("synth-nonlin", DIAGONAL): 0.1,
                ("synth-nonlin", FULL): nonlin,
            },
            DS=0.5,
        )
        return claims.diagonal_aligns(found).word, claims.diagonal_disentangles(found).word

    assert words(0.7, 0.3) == ("holds", "undecided")
    assert words(0.7, 0.05) == ("fails", "undecided")
    column = f"{FULL}, SGD, Gaussian"
    chance = haar_distance(2)
    for mean, word in ((chance, "holds"), (0.5 * chance, "fails"), (1.5 * chance, "fails")):
        found = planted({("synth-lin", column): chance, ("synth-nonlin", column): mean})
        assert claims.invariant(found).word == word
    assert claims.invariant(planted({("synth-lin", column): chance})).word == "not measured"


def test_logits_are_compared_seed_by_seed():
    found = planted({("sprites", DIAGONAL): 0.9}, 0.3, **{"DtO of logits": 0.8})
    assert claims.sigmoid_matters(found).word == "holds"
    turned = planted({("sprites", DIAGONAL): 0.7}, 0.3, **{"DtO of logits": 0.8})
    assert claims.sigmoid_matters(turned).word == "fails"
    assert claims.sigmoid_matters(planted({("sprites", DIAGONAL): 0.9})).word == "not measured"


def test_figures_and_factors_of_planted_outcomes():
    noise = np.linspace(-0.1, 0.1, 40)
    course = {"triangular": [noise + 0.5, noise + 0.7], "square": [noise + 0.5, noise + 0.55]}
    found = replace(planted({("synth-lin", FULL): 0.6}), computed={"factors": course})
    assert claims.factor_turns(found).word == "holds"
    swapped = {"triangular": course["square"], "square": course["triangular"]}
    assert claims.factor_turns(replace(found, computed={"factors": swapped})).word == "fails"
    assert claims.factor_turns(planted({})).word == "not measured"
    assert draw_angles(found) is not None
    assert draw_angles(planted({})) is None
    assert draw_factors(planted({})) is None


def test_a_square_factor_descends_alike_in_every_rotation_and_a_triangular_one_does_not():
    generator = np.random.default_rng(1)
    a, w = generator.normal(size=(4, 2, 3)), generator.normal(size=(4, 3, 2))
    factor, c = make_triangular(generator.normal(size=(4, 3)) / 3), np.diag([0.4, 0.2, 0.1])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])

    def decoders(factor, turned, triangular):
        start = (turn @ a, w @ turn.T) if turned else (a, w)
        return descend(*start, factor, c, 0.1, triangular, steps=(40,), rate=0.1)[0]

    plain = decoders(factor, False, False)
    np.testing.assert_allclose(decoders(turn @ factor, True, False), plain @ turn.T, atol=1e-10)
    # The same covariance, turned, as a triangular factor.
    covariance = turn @ factor @ factor.swapaxes(1, 2) @ turn.T
    turned = decoders(np.linalg.cholesky(covariance), True, True)
    assert np.abs(turned - decoders(factor, False, True) @ turn.T).max() > 1e-3


@pytest.mark.parametrize("triangular", [True, False])
def test_exact_descent_is_that_of_the_loss(triangular):
    """One step beside autograd, on the loss as it is written."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 2, 3), (1, 3, 2), (1, 3))
    a, w, logs = (torch.randn(s, generator=generator, dtype=torch.float64) / 2 for s in shapes)
    c, beta, rate = torch.diag(torch.tensor([0.4, 0.2, 0.1], dtype=torch.float64)), 0.3, 0.1
    start = torch.from_numpy(make_triangular(logs.numpy()))
    found = descend(
        *(x.numpy() for x in (a, w, start, c)), beta, triangular, steps=(0, 1, 2), rate=rate
    )
    for step in (1, 2):
        for x in (a, w, logs, start):
            x.requires_grad_()
        factor = start
        if triangular:
            first, second = (logs[:, :2] / 2).exp().unbind(1)
            rows = (first, torch.zeros_like(first), logs[:, 2], second)
            factor = torch.stack(rows, 1).reshape(1, 2, 2)
        covariance, rest = factor @ factor.mT, torch.eye(3, dtype=c.dtype) - w @ a
        kl = (a @ c @ a.mT + covariance)[0].trace() - covariance[0].logdet()
        loss = (rest @ c @ rest.mT + w @ covariance @ w.mT)[0].trace() + beta / 2 * kl
        moved = [a, w, logs if triangular else start]
        slopes = torch.autograd.grad(loss, moved)
        a, w, last = (x.detach() - rate * g for x, g in zip(moved, slopes, strict=True))
        logs, start = (last, start.detach()) if triangular else (logs.detach(), last)
        np.testing.assert_allclose(found[step], w.numpy(), atol=1e-12)


def test_dto_of_members_is_that_of_each_alone():
    config = ModelConfig(2, "full", network=MLP((5,), "tanh", (5,), "tanh"))
    model = build(config, (4,), [3, 4, 5]).eval()
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    alone = model.member(1)
    z = alone.encode(x[None]).mean[0].detach()
    jacobians = torch.stack(
        [
            torch.autograd.functional.jacobian(
                lambda t: alone.decode_mean(t[None, None])[0, 0], each
            )
            for each in z
        ]
    )
    expected = distance_to_orthogonality(jacobians).mean
    assert float(dto_of_members(model, x)[1]) == pytest.approx(expected, abs=1e-5)


def test_the_angle_of_a_turned_decoder_and_logits():
    turn = math.radians(30)
    v = torch.tensor([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    mixing = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]) @ v.T

    def logits(z):
        return z @ mixing.T

    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    found = Probe(lambda x: x, logits, x)
    assert angle(found)["angle, degrees"] == pytest.approx(30, abs=1e-3)
    assert alignment_of_logits(found) == {}  # there is no sigmoid
    sharp = Probe(
        lambda x: x, lambda z: logits(z).sigmoid(), x, likelihood="bernoulli", logits=logits
    )
    expected = 8**0.5 * math.sin(turn / 2)
    assert alignment_of_logits(sharp)["DtO of logits"] == pytest.approx(expected, abs=1e-4)
    assert float(degrees_of(torch.tensor([expected]))[0]) == pytest.approx(30, abs=1e-3)
