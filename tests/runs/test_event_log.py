"""Event files hold what the logs of a run hold, once, and pictures of its latents."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from unpick.data.shapes3d import Shapes3D
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, ModelConfig, build
from unpick.objectives import AE, BetaVAE
from unpick.runs import Runner, folder, make
from unpick.runs.checkpoint import checkpoints
from unpick.runs.event_log import open_events, traversals, write_record
from unpick.runs.executor import train_group
from unpick.training import Adam, RunConfig

SMALL = RunConfig(
    SynthLin(points=500),
    ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
    BetaVAE(0.01),
    steps=60,
    batch=16,
)
SEEDS = [replace(SMALL, seed=s) for s in range(3)]
IMAGES = replace(SMALL, data=Shapes3D(8), steps=25)


def quiet(configs, root, log="tensorboard"):
    return make(configs, Runner(root, jobs=1, progress=False, log=log))


def events(run):
    """What TensorBoard reads: values by tag and step; a repeated step would fail."""
    read = EventAccumulator(str(run.path / "tensorboard"), {"scalars": 0, "images": 0}).Reload()
    found = {}
    for tag in read.Tags()["scalars"]:
        steps = [event.step for event in read.Scalars(tag)]
        assert steps == sorted({*steps}), tag
        found[tag] = {event.step: event.value for event in read.Scalars(tag)}
    for tag in read.Tags()["images"]:
        pictures = [(e.step, e.encoded_image_string) for e in read.Images(tag)]
        found[tag] = {step: np.asarray(Image.open(io.BytesIO(png))) for step, png in pictures}
        assert len(pictures) == len(found[tag])
    return found


def same_as_logs(run):
    found = events(run)
    for name in run.log()[0].keys() - {"step"}:
        logged = {record["step"]: record[name] for record in run.log()}
        assert found[f"terms/{name}"] == pytest.approx(logged, rel=1e-6), name
    latents = run.latents()
    for k, step in enumerate(latents["step"].tolist() if latents else []):
        own = [found[f"kl/latent-{j}"][step] for j in (1, 2)]
        assert own == pytest.approx(latents["kl"][k].tolist(), rel=1e-5)
        active = int((latents["deviation"][k] > 0.5).sum())
        assert found["latents/active"][step] == active
    return found


def test_event_files_hold_the_logs_and_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("unpick.training.loop.LATENTS_EVERY", 20)
    fast = [replace(config, optimiser=Adam(0.03)) for config in SEEDS]
    plain = quiet(fast, tmp_path / "plain", "none")
    assert not (plain[0].path / "tensorboard").exists()
    runs = quiet(fast, tmp_path / "logged")
    for a, b in zip(plain, runs, strict=True):
        assert a.path.name == b.path.name
        assert a.results["weights_sha256"] == b.results["weights_sha256"]
        found = same_as_logs(b)
        assert [*found["latents/active"]] == [20, 40, 60]
        assert found["latents/active"][60] > 0
        assert "traversals" not in found  # points are no images


def interrupt(root, log):
    """Train half of a run, up to a checkpoint."""

    def press(report):
        if report.step >= 20:
            raise KeyboardInterrupt

    runner = Runner(root, checkpoint_seconds=1e9, log=log)
    with pytest.raises(KeyboardInterrupt):
        train_group(SEEDS, runner, SMALL.data.load(), press)


def age(path):
    """Rename event files as if time had passed; TensorBoard reads them in order of their names."""
    for file in (path / "tensorboard").iterdir():
        *words, second, host, pid, number = file.name.split(".")
        file.rename(file.with_name(".".join([*words, str(int(second) - 9), host, pid, number])))


def test_a_resumed_run_repeats_no_step(tmp_path):
    interrupt(tmp_path, "tensorboard")
    for config in SEEDS:
        path = folder(config, tmp_path)
        (step,) = checkpoints(path)
        age(path)
        with open_events(path, step) as writer:  # what a kill after the checkpoint leaves
            for later in range(step + 1, step + 10):
                write_record(writer, later, {"loss": -1.0})
        age(path)
    for run in quiet(SEEDS, tmp_path):
        assert [*same_as_logs(run)["terms/loss"]] == [*range(1, 61)]


def test_a_run_begun_without_event_files_has_them_from_its_logs(tmp_path):
    interrupt(tmp_path, "none")
    for run in quiet(SEEDS, tmp_path):
        assert [*same_as_logs(run)["terms/loss"]] == [*range(1, 61)]


def test_a_finished_run_gets_event_files_without_training(tmp_path):
    diverges = replace(SMALL, optimiser=Adam(1e30))
    configs = [SMALL, replace(IMAGES, steps=3), replace(SMALL, steps=0), diverges]
    runs = quiet(configs, tmp_path, "none")
    stamps = [(run.path / "weights.safetensors").stat().st_mtime_ns for run in runs]
    again = quiet(configs, tmp_path)
    assert [(run.path / "weights.safetensors").stat().st_mtime_ns for run in again] == stamps
    same_as_logs(again[0])
    assert [*same_as_logs(again[1])["traversals"]] == [3]
    assert events(again[2]) == {}
    assert np.isnan(events(again[3])["terms/loss"][again[3].results["stopped"] + 1])


@pytest.mark.parametrize("posterior", ["diagonal", "delta"])
def test_images_are_drawn_ten_times_a_run(tmp_path, posterior):
    objective = AE() if posterior == "delta" else IMAGES.objective
    config = replace(IMAGES, model=replace(IMAGES.model, posterior=posterior), objective=objective)
    for run in quiet([config, replace(config, seed=1)], tmp_path):
        found = same_as_logs(run)
        assert [*found["traversals"]] == [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]
        assert found["traversals"][25].shape == (2 * 10, 9 * 10, 3)
        assert ("latents/active" in found) == (posterior == "diagonal")


def test_a_row_of_a_traversal_moves_its_latent_alone():
    """Planted: latent j of member s lights pixel j by 0.1 + 0.02 s for each unit."""
    network = MLP((), "tanh", (), "tanh")
    model = build(ModelConfig(2, network=network), (1, 2, 2), [0, 1])
    slope = torch.tensor([0.1, 0.12])
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        matrix, bias = model.decoder.parameters()
        matrix[:, :, :2] = slope[:, None, None] * torch.eye(2)
        bias += 0.5
    pictures = traversals(model, torch.rand(5, 1, 2, 2))
    assert pictures.shape == (2, 1, 2 * 4, 9 * 4)
    inner = pictures[:, 0].unflatten(1, (2, 4)).unflatten(3, (9, 4))[:, :, 1:3, :, 1:3]
    pixels = inner.permute(0, 1, 3, 2, 4).flatten(3)  # member, row, column, pixel
    for s in range(2):
        for row in range(2):
            expected = torch.full((9, 4), 0.5)
            expected[:, row] += torch.linspace(-2, 2, 9) * slope[s]
            assert pixels[s, row].numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_without_the_package_nothing_starts(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ValueError, match="pip install tensorboard"):
        Runner(tmp_path, log="tensorboard")
    assert Runner(tmp_path).log == "none"


def test_a_diverged_member_is_drawn_grey():
    """What is no number is no pixel: TensorBoard would warn, and draw anything."""
    model = build(ModelConfig(2, network=MLP((), "tanh", (), "tanh")), (1, 2, 2), [0, 1])
    with torch.no_grad():
        for weight in model.parameters():
            weight[1] = torch.nan
    pictures = traversals(model, torch.rand(5, 1, 2, 2))
    assert pictures.isfinite().all()
    assert (pictures[1] == 0.5).all()
