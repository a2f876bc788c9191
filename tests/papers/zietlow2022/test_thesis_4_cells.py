"""What is trained for chapter 4 of the thesis, and what departs from the published setting."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.data import Noisy
from unpick.models import MLP
from unpick.objectives import AE, BetaTCVAE, BetaVAE, FactorVAE, SlowVAE
from unpick.papers import STUDIES
from unpick.papers.zietlow2022.thesis_4 import cells as thesis_4_cells
from unpick.papers.zietlow2022.thesis_4.cells import change, config
from unpick.papers.zietlow2022.thesis_4.settings import NAMES, SETTINGS, VARIATIONAL
from unpick.report.study import study_table
from unpick.runs import Run
from unpick.study import Outcome, Results
from unpick.study.study import departures
from unpick.training import preset

STUDY = STUDIES["thesis-4"]


def outcome(cell, **values):
    """What would have come out, without runs."""
    arrays = {name.replace("_", " "): np.array(v, dtype=float) for name, v in values.items()}
    runs = tuple(Run(Path(), cell.config, {}) for _ in next(iter(arrays.values())))
    return Outcome(cell, runs, arrays)


def test_hyperparameters_are_those_of_table_4_1():
    aims = {
        (data, method): config(data, method, "original", "paper").objective
        for data in SETTINGS["paper"]
        for method in VARIATIONAL
    }
    assert list(aims.values()) == [
        *(BetaVAE(8.0), FactorVAE(35.0), BetaTCVAE(6.0), SlowVAE(1.0)),
        *(BetaVAE(32.0), FactorVAE(7.0), BetaTCVAE(32.0), SlowVAE(1.0)),
    ]
    for data, epsilon, ensemble in (("sprites", 0.1, 1), ("shapes3d", 0.175, 4)):
        twin = change(data, "paper")
        assert (twin.epsilon, twin.ensemble, twin.samples, twin.decoder_batches) == (
            *(epsilon, ensemble, 5, 3),
        )
        noisy = config(data, "ae", "noisy", "paper")
        assert noisy.data == Noisy(SETTINGS["paper"][data].data, epsilon)
        assert noisy.model.latents == {"sprites": 5, "shapes3d": 6}[data]
        assert isinstance(noisy.objective, AE)


@pytest.mark.parametrize("scale", SETTINGS)
def test_nothing_is_trained_twice(scale):
    """Restarts of the change are the first runs of a cell, and no two cells share a run."""
    cells = STUDY.cells(scale)
    configs = [config for cell in cells for config in cell.configs()]
    assert len({*configs}) == len(configs)
    for twin in STUDY.twins(scale):
        assert {*twin.candidates()} <= {*configs}
        assert any(cell.config.data == twin.data() for cell in cells)
    searched = [cell for cell in cells if cell.row.endswith("search")]
    expected = [
        (len(chosen.search) - 1) * len({*chosen.methods} & {*chosen.searched})
        for chosen in SETTINGS[scale].values()
    ]
    assert len(searched) == sum(expected)
    twice = next(cell for cell in searched if cell.column == "beta-VAE x 2")
    once = next(c for c in cells if c.row == "sprites, perturbed" and c.column == "beta-VAE")
    assert twice.config.objective.beta == 2 * once.config.objective.beta
    assert replace(twice.config, objective=once.config.objective) == once.config


def test_over_pruned_runs_are_those_with_fewer_latents_than_factors():
    (cell, *_) = STUDY.cells("standard")
    full, few = (outcome(cell, active=a) for a in ([5, 5, 4], [3, 3, 2]))
    assert thesis_4_cells.latents_needed(full, "sprites") == 5
    assert thesis_4_cells.latents_needed(few, "sprites") == 3  # it never had more
    assert thesis_4_cells.not_over_pruned(full, 5.0).tolist() == [True, True, False]


def test_an_encoder_alone_departs_in_its_encoder_only():
    on_rooms = {c.column: c for c in STUDY.cells("standard") if c.row == "shapes3d, original"}
    assert "decoder" in STUDY.departures(on_rooms["beta-VAE"])
    dense, network = on_rooms["PCL"], on_rooms["beta-VAE"].config.model.network
    model = replace(dense.config.model, network=network)
    alone = replace(dense, config=replace(dense.config, model=model))
    assert "decoder" not in STUDY.departures(alone)
    assert "encoder [32, 4, 2, 1]" in STUDY.departures(alone)


def test_marks_that_a_group_shares_stand_at_its_head():
    cells = [c for c in STUDY.cells("standard") if c.row == "sprites, perturbed"]
    found = [replace(outcome(c, MIG=[0.1, 0.2]), departs=STUDY.departures(c)) for c in cells]
    table = study_table(Results(STUDY, "standard", tuple(found)))
    head, *lines = [str(row[0]) for row in table.rows]
    footnotes = dict(text.split(" ", 1) for text in table.footnotes if text.startswith("("))
    shared = head.removeprefix("sprites, perturbed (").removesuffix(")").split(", ")
    assert "rendered sprites stand for dSprites" in [footnotes[f"({mark})"] for mark in shared]
    own = {line.split(" (")[0]: line.split(" (")[1][:-1].split(", ") for line in lines}
    assert not {mark for marks in own.values() for mark in marks} & {*shared}
    assert "beta 4.0 instead of 2 (8.0 at 64 pixels)" in footnotes[f"({own['beta-VAE'][0]})"]
    assert table.footnotes[-1].startswith("DCI: disentanglement; learner: unpick's fast boosting")


def test_layers_of_another_kind_of_network_are_not_compared():
    ours = replace(preset("shapes3d", "locatello"), objective=BetaVAE(2.0), steps=5)
    ours = replace(ours, model=replace(ours.model, network=MLP()))
    told = departures(ours, preset("shapes3d", "locatello"))
    assert (
        told == "network MLP instead of Conv; beta 2.0 instead of 4.0, steps 5 instead of 300000"
    )


def test_the_weak_gan_is_batch_normalised_as_published_at_paper_scale_only():
    found = {s: config("shapes3d", "weak-gan", "noisy", s).model for s in ("standard", "paper")}
    assert {s: model.network.decoder_norm for s, model in found.items()} == {
        "standard": 0,
        "paper": len(found["paper"].network.decoder),
    }


def test_methods_share_their_network_on_small_rooms():
    networks = [config("shapes3d", method, "noisy", "standard").model.network for method in NAMES]
    assert len({replace(network, activation="relu") for network in networks}) == 1


def test_weights_on_small_rooms_go_with_the_pixels():
    for method in VARIATIONAL:
        ours, paper = (config("shapes3d", method, "noisy", s) for s in ("standard", "paper"))
        told = departures(ours, paper)
        assert "size 32 instead of 64" in told
        assert not {"beta", "gamma", "alpha"} & {*told.replace(",", "").split()}


def test_our_additions_to_the_change_are_told():
    perturbed = {c.column: c for c in STUDY.cells("standard") if c.row == "shapes3d, perturbed"}
    told = STUDY.departures(perturbed["beta-VAE"])
    assert "not in the thesis: the neuron is batch-normalised" in told
    assert "the change has" in told
    (literal,) = [c for c in STUDY.cells("standard") if c.row == "shapes3d, literal"]
    assert "batch-normalised" not in STUDY.departures(literal)
