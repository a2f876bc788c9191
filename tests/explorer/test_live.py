from dataclasses import replace
from itertools import islice

import pytest
import torch

from unpick.data import split
from unpick.explorer import live
from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.runs.checkpoint import save_checkpoint
from unpick.runs.disk import create, write
from unpick.training import Training, ticks

pytestmark = pytest.mark.slow


@pytest.fixture
def begun(runs, tmp_path):
    """A run with a checkpoint on the way, and the training behind it."""
    config = replace(runs[0].config, seed=23)
    training = Training([config], config.data.load(), "cpu")
    for _ in islice(ticks(training), 3):
        pass
    path = create(config, tmp_path)
    state = {**training.state(0), "seconds": torch.tensor(10.0)}
    save_checkpoint(path, training.step, state)
    return path, training


def test_a_snapshot_is_that_of_the_checkpoint(begun):
    path, training = begun
    found = live.snapshot(path)
    model, data = training.model.eval(), training.dataset
    with torch.no_grad():
        z = model.encode(data.observe(split(data).test[: live.POINTS])[None]).mean[0]
    jacobians = decoder_jacobians(lambda points: model.decode_mean(points[None])[0], z)
    dto = distance_to_orthogonality(jacobians)
    assert found["step"] == training.step
    assert found["dto"] == pytest.approx(dto.mean, rel=1e-5)
    assert len(found["square"]["codes"]) == len(found["square"]["at"]) > 100


def test_progress_and_time_left(begun):
    path, training = begun
    at = training.step
    lines = [f'{{"step": {at}, "loss": 2.0}}', "{half a li"]
    write(path / "log.jsonl", "\n".join(lines).encode())
    found = live.status(path)
    assert (found["state"], found["step"], found["steps"]) == ("training", at, 60)
    assert found["terms"]["loss"][-1] == 2.0
    assert found["left"] == pytest.approx(10.0 / at * (60 - at), abs=0.1)


def test_runs_are_found_in_folders_and_by_themselves(begun):
    path, _ = begun
    (path.parent / "notes").mkdir()
    assert live.find_runs([path.parent]) == live.find_runs([path]) == [path]
    assert live.find_runs([path.parent / "notes", path.parent / "missing"]) == []


def test_a_damaged_checkpoint_is_no_snapshot(begun):
    path, _ = begun
    next(path.glob("checkpoint-*")).write_bytes(b"nothing")
    assert live.snapshot(path) == {}
