"""Which restarts are chosen: planted scores and rotations."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from perturb.recipes import BASE
from unpick.data import ArrayStore, Dataset, Factor, split
from unpick.perturb.select_restarts import Candidate, score_restarts, select_restarts
from unpick.probe import Probe
from unpick.runs import Run


def test_the_highest_and_the_lowest_are_chosen():
    scores = [0.3, 0.9, 0.1, 0.5, 0.8]
    choice = select_restarts(
        [Candidate(10 + k, s, over_pruned=False) for k, s in enumerate(scores)], 2
    )
    assert choice.entangled == (2, 0)
    assert choice.disentangled == (1, 4)


def test_over_pruned_restarts_are_chosen_only_where_they_are_the_rule():
    def chosen(pruned):
        scores = [0.1, 0.2, 0.3, 0.4]
        each = [Candidate(k, s, k in pruned) for k, s in enumerate(scores)]
        return select_restarts(each, 1)

    assert chosen({3}).disentangled == (2,)
    assert chosen({0, 3}).entangled == (1,)
    assert chosen({0, 2, 3}) == chosen(set())
    with pytest.raises(ValueError, match="4 restarts are needed, got 3"):
        select_restarts([Candidate(0, 0.0, over_pruned=False)] * 3, 2)


@dataclass
class Turned:
    """A model of data that are two factors: its codes are those, turned by an angle."""

    angle: float
    deviation: float = 0.1

    def encode(self, x):
        sin, cos = math.sin(self.angle), math.cos(self.angle)
        mean = x @ torch.tensor([[cos, -sin], [sin, cos]])
        return mean, torch.full_like(mean, 2 * math.log(self.deviation))


@pytest.mark.parametrize(
    ("by", "angles", "order"),
    [
        ("mig", (0.4, 0.0, math.pi / 4, 0.2), [2, 0, 3, 1]),
        ("udr", (0.0, 0.0, math.pi / 4, 0.0), [2, 0, 1, 3]),  # who is unlike the others
    ],
)
def test_planted_rotations_are_ranked(by, angles, order, monkeypatch):
    factors = tuple(Factor(name, tuple(map(float, range(40)))) for name in "ab")
    square = torch.cartesian_prod(torch.linspace(-2, 2, 40), torch.linspace(-2, 2, 40))
    dataset = Dataset("square", ArrayStore(square), factors)
    models = [Turned(angle) for angle in angles]

    def probe(run, dataset, samples):
        test = split(dataset).test[:samples]
        factors = dataset.factor_values(test).numpy()
        return Probe(models[run.config.seed].encode, None, dataset.observe(test), factors)

    monkeypatch.setattr("unpick.perturb.select_restarts.probe_run", probe)
    runs = [Run(Path(), replace(BASE, seed=seed), {}) for seed in range(4)]
    found = score_restarts(runs, dataset, by)
    assert [each.seed for each in sorted(found, key=lambda each: each.score)] == order
    assert not any(each.over_pruned for each in found)
    models[0].deviation = 0.95
    assert [each.over_pruned for each in score_restarts(runs, dataset, by)] == [
        True,
        False,
        False,
        False,
    ]


def test_mig_needs_a_grid():
    with pytest.raises(ValueError, match="choose must be 'udr' for cloud"):
        score_restarts([], Dataset("cloud", ArrayStore(torch.rand(10, 2))), "mig")
