"""Measures of a run are cached, and fall with the weights, the settings and the code."""

import json
import math
from dataclasses import replace
from functools import partial

import pytest
import torch

from planted_weights import finish
from unpick.data import Noisy
from unpick.data.synthetic import SynthLin
from unpick.geometry import orthogonality
from unpick.models import networks
from unpick.probe import STANDARD, Probe, is_measured, measure_run, probe_run
from unpick.probe import measures as named
from unpick.probe.cache import data_classes, file_of
from unpick.probe.code import reachable
from unpick.runs import Runner, make, read
from unpick.training import preset

CONFIG = replace(preset("synth-lin"), data=SynthLin(points=400), steps=0)


@pytest.fixture
def trained(tmp_path):
    (run,) = make([CONFIG], Runner(tmp_path, jobs=1, progress=False))
    return run


def never():
    raise AssertionError("the data were loaded")


@pytest.mark.slow
def test_measures_are_read_again_unless_a_file_changed(trained):
    values = measure_run(trained, STANDARD)
    assert values.keys() >= {"DtO", "chance", "active", "Delta_KL", "DS"}
    assert measure_run(trained, STANDARD, never) == values
    file = file_of(trained, named.alignment)
    content = json.loads(file.read_text())
    content["values"]["DtO"] = 0.0  # somebody improves it
    file.write_text(json.dumps(content))
    assert measure_run(trained, STANDARD) == values
    file.write_text(file.read_text()[:30])  # a file that was cut
    assert not is_measured(trained, STANDARD)
    assert measure_run(trained, STANDARD) == values
    assert is_measured(trained, STANDARD)


def test_a_new_measure_alone_is_taken(trained):
    def largest_code(probe: Probe) -> dict[str, float]:
        return {"largest code": float(probe.mean.abs().max())}

    measure_run(trained, STANDARD)
    taken = []
    found = measure_run(trained, (*STANDARD, largest_code), on_progress=taken.append)
    assert taken == ["largest_code"]
    assert found["largest code"] == probe_run(trained).mean.abs().max()


def test_settings_are_part_of_the_key(trained):
    def farthest(probe: Probe, power: float) -> dict[str, float]:
        return {"farthest": float(probe.mean.norm(dim=1).max() ** power)}

    one, two = partial(farthest, power=1.0), partial(farthest, power=2.0)
    first = measure_run(trained, (one,))["farthest"]
    assert measure_run(trained, (two,))["farthest"] == pytest.approx(first**2)
    assert file_of(trained, one, 100) != file_of(trained, one, 200)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (orthogonality, "signed_permutation_distance", lambda v: torch.full(v.shape[:1], 7.0)),
        (orthogonality, "NEAR", 0.5),
        (named, "JACOBIANS", 10),
        (networks.Dense, "forward", lambda self, x: x),
        (SynthLin, "load", lambda self: never()),
    ],
    ids=["callee", "constant", "setting", "model", "data"],
)
def test_changed_code_never_serves_an_old_value(trained, monkeypatch, module, name, value):
    """Of the measure, of what it calls, of the model and of the data set."""
    measure_run(trained, STANDARD)
    monkeypatch.setattr(module, name, value)
    assert not is_measured(trained, (named.alignment,))


def test_code_that_a_measure_does_not_use_leaves_it_alone(trained, monkeypatch):
    measure_run(trained, STANDARD)
    monkeypatch.setattr(named, "disentanglement_score", lambda *_: None)
    assert is_measured(trained, (named.alignment, named.polarization))
    assert not is_measured(trained, (named.disentanglement,))


def test_a_twin_falls_with_the_code_of_its_original():
    classes = data_classes(Noisy(SynthLin(points=400), 0.1))
    assert classes == [Noisy, SynthLin]
    assert any("SynthLin.load" in name for name in reachable(*classes))


def test_a_changed_dto_is_measured_again(trained, monkeypatch):
    assert measure_run(trained, (named.alignment,))["DtO"] != 7
    monkeypatch.setattr(
        orthogonality,
        "signed_permutation_distance",
        lambda v: torch.full(v.shape[:1], 7.0, dtype=v.dtype),
    )
    assert measure_run(trained, (named.alignment,))["DtO"] == 7


def test_measures_of_a_known_model(trained):
    """A linear VAE with planted weights: aligned, turned, and with a dead latent."""
    data = CONFIG.data.load()
    x = data.observe(torch.arange(len(data)))
    centre, (_, s, v) = x.mean(0), torch.linalg.svd(x - x.mean(0), full_matrices=False)
    deviation = s[:2] / math.sqrt(len(x))
    state = trained.model().state_dict()

    def plant(turn, log_variance):
        into = (v[:2] / deviation[:, None]).T @ turn  # (3, 2): whitened, then turned
        state["encoder.layers.0.weight"][0] = torch.cat([into, torch.zeros(3, 2)], 1)
        bias = torch.cat([-centre @ into, torch.tensor(log_variance)])
        state["encoder.layers.0.bias"][0, 0] = bias
        state["decoder.layers.0.weight"][0] = turn.T @ (v[:2] * deviation[:, None])
        state["decoder.layers.0.bias"][0, 0] = centre
        finish(trained.path, {name: tensor[0] for name, tensor in state.items()}, trained.results)
        return measure_run(read(trained.path), STANDARD)

    straight = plant(torch.eye(2), [-4.0, -4.0])
    assert straight["DtO"] == pytest.approx(0, abs=1e-3)
    assert straight["active"] == 2
    assert straight["largest variance"] == pytest.approx(math.exp(-4))
    angle = math.pi / 8
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turned = plant(turn, [-4.0, 0.0])
    assert turned["DtO"] == pytest.approx(math.sqrt(8) * math.sin(angle / 2), abs=1e-3)
    assert turned["DS"] < straight["DS"] - 0.2
    assert turned["largest variance"] == pytest.approx(1.0)
