"""Run folders: what is trained, read, resumed and refused."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unpick.data.synthetic import SynthLin
from unpick.devices import threads
from unpick.models import MLP, Conv, ModelConfig
from unpick.objectives import AE, BetaTCVAE, BetaVAE
from unpick.runs import DamagedRun, Runner, folder, load_together, make
from unpick.runs.checkpoint import checkpoints, save_checkpoint
from unpick.runs.disk import create
from unpick.runs.executor import _common_step, _n_threads, plan, train_group
from unpick.training import Adam, RunConfig, Training, train

SMALL = RunConfig(
    SynthLin(points=500),
    ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
    BetaVAE(0.01),
    steps=60,
    batch=16,
)
SEEDS = [replace(SMALL, seed=s) for s in range(3)]
POINT = replace(SMALL.model, posterior="delta")


def quiet(configs, root, **options):
    return make(configs, Runner(root, jobs=1, progress=False, **options))


def test_a_run_is_what_training_in_memory_gives(tmp_path):
    runs = quiet(SEEDS, tmp_path)
    ensemble = train(SEEDS, progress=False)
    together = load_together(runs)
    for mine, theirs in zip(together.parameters(), ensemble.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert runs[1].results["terms"]["loss"] == pytest.approx(ensemble.log[-1]["loss"][1])
    assert [record["step"] for record in runs[1].log()] == list(range(1, 61))


def test_a_finished_run_is_read_not_trained(tmp_path):
    first = quiet(SEEDS, tmp_path)
    stamps = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    second = quiet(SEEDS[::-1], tmp_path)
    assert [run.path for run in second] == [run.path for run in first][::-1]
    assert stamps == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}


def test_asking_for_more_seeds_trains_only_those(tmp_path):
    (first,) = quiet(SEEDS[:1], tmp_path)
    stamp = (first.path / "weights.safetensors").stat().st_mtime_ns
    runs = quiet(SEEDS, tmp_path)
    assert (runs[0].path / "weights.safetensors").stat().st_mtime_ns == stamp
    assert len({run.path for run in runs}) == 3


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_member_that_diverged_says_so_in_real_json(tmp_path):
    wild, tame = quiet([replace(SMALL, optimiser=Adam(1e30)), SMALL], tmp_path)
    assert wild.results["stopped"] >= 1
    assert wild.results["terms"]["loss"] is None
    assert tame.results["stopped"] is None
    for run in (wild, tame):
        strict((run.path / "results.json").read_text())
        records = [strict(line) for line in (run.path / "log.jsonl").read_text().splitlines()]
        assert records == run.log()
    assert tame.log()[-1]["step"] == 60
    assert wild.log()[-1]["step"] == wild.results["stopped"] + 1


def without_seconds(run):
    return {name: value for name, value in run.results.items() if name not in OF_TIME}


OF_TIME = ("seconds", "digest", "files")  # environment.json, too, depends on the machine


def test_a_run_that_diverges_is_the_same_alone_and_in_company(tmp_path):
    wild = replace(SMALL, optimiser=Adam(1e30))
    company = quiet([SMALL, wild, *SEEDS[1:]], tmp_path / "company")[1]
    (alone,) = quiet([wild], tmp_path / "alone")
    assert without_seconds(alone) == without_seconds(company)
    assert alone.log() == company.log()


def test_weights_that_are_not_finite_after_the_last_step_count_as_diverged(tmp_path):
    """The loss of a step is of the weights before it."""
    fast = replace(SMALL, optimiser=Adam(3e38), steps=1)
    steady, wild = quiet([replace(SMALL, steps=1), fast], tmp_path)
    assert not all(weight.isfinite().all() for weight in wild.model().parameters())
    assert (steady.results["stopped"], wild.results["stopped"]) == (None, 0)


def test_training_ends_when_nobody_is_left(tmp_path):
    (wild,) = quiet([replace(SMALL, optimiser=Adam(1e30), steps=10**9)], tmp_path)
    assert wild.log()[-1]["step"] < 10**6


def test_stray_files_are_no_checkpoints(tmp_path):
    (tmp_path / "checkpoint-x.safetensors").touch()
    assert checkpoints(tmp_path) == {}


def damage_weights(path):
    file = path / "weights.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def test_a_run_from_before_digests_is_read(tmp_path):
    (run,) = quiet(SEEDS[:1], tmp_path)
    file = run.path / "results.json"
    results = json.loads(file.read_text())
    for name in ("digest", "files"):
        file.write_text(json.dumps({key: v for key, v in results.items() if key != name}))
        with pytest.raises(DamagedRun, match=f"{name} is missing"):
            quiet(SEEDS[:1], tmp_path)
    old = {key: v for key, v in results.items() if key not in ("digest", "files")}
    file.write_text(json.dumps(old))
    (again,) = quiet(SEEDS[:1], tmp_path)
    assert again.results == old
    assert again.log() == run.log()


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    half_done(tmp_path)
    one, two = (folder(config, tmp_path) for config in SEEDS[:2])
    (own,), (others,) = (checkpoints(path).values() for path in (two, one))
    own.unlink()
    shutil.move(others, two)
    with pytest.raises(DamagedRun, match=r"seed1.*is of another run"):
        quiet(SEEDS[1:2], tmp_path)


def edit_terms(path):
    text = (path / "results.json").read_text()
    digit = text.index('"loss": ') + len('"loss": ')
    (path / "results.json").write_text(text[:digit] + "9" + text[digit + 1 :])


def edit_log(path):
    text = (path / "log.jsonl").read_text()
    (path / "log.jsonl").write_text(text.replace('"step": 7,', '"step": 8,'))


def damage_config(path):
    document = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**document, "steps": 61}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_weights, "weights.safetensors does not match its checksum"),
        (lambda p: (p / "weights.safetensors").unlink(), "weights.safetensors is missing"),
        (lambda p: (p / "results.json").write_text("{"), "results.json cannot be read"),
        (edit_terms, "results.json does not match its digest"),
        (edit_log, "log.jsonl does not match its checksum"),
        (lambda p: (p / "latents.jsonl").unlink(), "latents.jsonl is missing"),
        (lambda p: (p / "config.json").write_text("[]"), "config.json cannot be read"),
        (lambda p: (p / "config.json").unlink(), "there is no config.json"),
        (damage_config, "does not match the hash in the folder's name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_folder_is_named_and_refused(tmp_path, damage, message):
    (run,) = quiet(SEEDS[:1], tmp_path)
    damage(run.path)
    with pytest.raises(DamagedRun, match=message) as caught:
        quiet(SEEDS[:1], tmp_path)
    assert str(run.path) in str(caught.value)


@pytest.mark.slow
def test_damage_found_by_a_worker_is_told_like_any_other(tmp_path):
    half_done(tmp_path)
    (file,) = checkpoints(folder(SEEDS[2], tmp_path)).values()
    file.write_bytes(b"")
    with pytest.raises(DamagedRun, match=r"seed2.*does not match its checksum"):
        make(SEEDS, Runner(tmp_path, jobs=2, progress=False))


def half_done(root, steps=30):
    training = Training(SEEDS, SMALL.data.load())
    training.advance(steps)
    for k, config in enumerate(SEEDS):
        state = {**training.state(k), "seconds": torch.tensor(1.0)}
        save_checkpoint(create(config, root), training.step, state)


def test_a_half_done_run_goes_on_and_ends_like_an_uninterrupted_one(tmp_path):
    whole = quiet(SEEDS, tmp_path / "whole")
    half_done(tmp_path / "half")
    path = folder(SEEDS[0], tmp_path / "half")
    with (path / "log.jsonl").open("a") as log:  # of a version that had no logs in checkpoints
        log.write('{"step": 30, "loss": 0.0}\n{"step": 31, "loss": 0.0}\n{"step": 3')
    runs = quiet(SEEDS, tmp_path / "half")
    for a, b in zip(whole, runs, strict=True):
        assert a.results["weights_sha256"] == b.results["weights_sha256"]
        assert not checkpoints(b.path)
    assert [record["step"] for record in runs[1].log()] == list(range(31, 61))


def test_ctrl_c_leaves_a_checkpoint_of_the_step_at_which_it_came(tmp_path):
    whole = quiet(SEEDS, tmp_path / "whole")

    def press(report):
        if report.step >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_group(SEEDS, Runner(tmp_path, checkpoint_seconds=1e9), SMALL.data.load(), press)
    (step,) = checkpoints(folder(SEEDS[0], tmp_path))
    assert 20 <= step < 60
    runs = quiet(SEEDS, tmp_path)
    for a, b in zip(whole, runs, strict=True):
        assert a.results["weights_sha256"] == b.results["weights_sha256"]
        assert a.log() == b.log()


@pytest.mark.slow
def test_latents_are_looked_at_every_500_steps(tmp_path):
    config = replace(SMALL, steps=1001)
    (run,) = quiet([config], tmp_path)
    latents = run.latents()
    assert latents["step"].tolist() == [500, 1000]
    training = Training([config], config.data.load())
    training.advance(500)
    for name, values in training.latent_statistics().items():
        assert latents[name][0].tolist() == pytest.approx(values[0].tolist(), rel=1e-5)
    x = training.validation
    q = training.model.encode(x[None])
    assert latents["kl"][0].sum() == pytest.approx(float(q.kl().mean().detach()), rel=1e-5)
    (point,) = quiet([replace(config, objective=AE(), model=POINT, steps=501)], tmp_path)
    assert point.latents() == {}


def test_no_steps_leave_the_first_weights(tmp_path):
    (run,) = quiet([replace(SMALL, steps=0)], tmp_path)
    first = Training([SMALL], SMALL.data.load()).model.state_dict()
    for name, weight in run.model().state_dict().items():
        assert torch.equal(weight, first[name])


@pytest.mark.parametrize("damage", [lambda c: c[:-20], lambda c: c[:-1] + bytes([c[-1] ^ 1])])
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    half_done(tmp_path)
    (file,) = checkpoints(folder(SEEDS[1], tmp_path)).values()
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DamagedRun, match=r"seed1.*checkpoint.*does not match its checksum"):
        quiet(SEEDS, tmp_path)


def test_training_goes_on_with_as_many_threads_as_before():
    """Their number changes the last bits of a convolution."""
    assert _n_threads([{"threads": torch.tensor(1)}], small=False) == 1
    with threads(2):
        assert (
            _n_threads([], small=False) == _n_threads([{}], small=False) == min(2, os.cpu_count())
        )
        assert _n_threads([], small=True) == 1


def test_members_go_on_from_a_step_they_share():
    one, two, three = SEEDS
    early, late = {100: Path("a")}, {200: Path("b")}
    cut = {one: early | late, two: early, three: early}  # killed while the new ones were written
    assert _common_step(cut) == (100, SEEDS)
    deleting = {one: late, two: early | late, three: late}
    assert _common_step(deleting) == (200, SEEDS)
    assert _common_step({one: late, two: {}, three: {}}) == (0, [two, three])


def test_what_a_kill_left_is_swept_up(tmp_path):
    path = create(SMALL, tmp_path)
    half = path / ".checkpoint-000000030.safetensors.123"
    half.write_bytes(b"half")
    (path / ".hidden").mkdir()  # not ours
    assert create(SMALL, tmp_path) == path
    assert not half.exists()
    assert (path / ".hidden").exists()


def test_small_families_are_shared_out_and_big_networks_train_alone():
    seeds = [replace(SMALL, seed=s) for s in range(10)]
    image = {SMALL.data: (1, 16, 16)}
    assert [len(group) for group in plan(seeds, image, Runner(jobs=2))] == [5, 5]
    assert [len(group) for group in plan(seeds, image, Runner(jobs=1))] == [10]
    other = [replace(SMALL, steps=100 * SMALL.steps), *seeds[:2]]
    assert plan(other, image, Runner(jobs=1))[0][0].steps == 100 * SMALL.steps  # the longest first
    conv = replace(SMALL.model, network=Conv(decoder=((32, 4, 2, 1),), start_channels=8))
    alone = plan([replace(config, model=conv) for config in seeds[:3]], image, Runner(jobs=2))
    assert [len(group) for group in alone] == [1, 1, 1]
    by_autograd = [replace(config, objective=BetaTCVAE()) for config in seeds[:3]]
    assert [len(group) for group in plan(by_autograd, image, Runner(jobs=1))] == [1, 1, 1]


def test_different_architectures_do_not_load_together(tmp_path):
    other = replace(SMALL, model=replace(SMALL.model, latents=3))
    runs = quiet([SMALL, other], tmp_path)
    with pytest.raises(ValueError, match="different architectures"):
        load_together(runs)
