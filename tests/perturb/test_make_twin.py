"""Making a twin: its recipe, resuming, what is reported, and the command."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from perturb.recipes import BASE, CONFIG, MODEL, contest, weights
from unpick.cli import main
from unpick.cli.train import read_run_config
from unpick.data import ArrayStore, Noisy, load
from unpick.objectives import AE
from unpick.papers.zietlow2022.thesis_4.cells import change
from unpick.perturb import perturb
from unpick.perturb.contest import Contest
from unpick.perturb.cost import estimate_seconds, seconds_a_step
from unpick.perturb.make_twin import refit_losses, varying_share
from unpick.perturb.recipes import (
    RECIPES,
    compare_with_shipped,
    describe_effect,
    record,
    shipped,
)
from unpick.perturb.verdict import find_weaknesses
from unpick.runs import Runner, folder, make

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_a_constant_change_does_not_vary_and_a_flipped_sign_does_on_grey_images():
    pattern = torch.full((1, 4, 4), 0.1)
    same, flipped = torch.stack([pattern, pattern]), torch.stack([pattern, -pattern])
    grey, black = ArrayStore(torch.full((4, 1, 4, 4), 0.5)), ArrayStore(torch.zeros(4, 1, 4, 4))
    often, seldom = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 0, 1])
    assert varying_share(grey, same, often) == 0
    assert varying_share(grey, flipped, often) == pytest.approx(1, abs=0.05)  # of 2000 pairs
    assert varying_share(grey, flipped, seldom) == pytest.approx(0.75, abs=0.05)
    assert varying_share(black, flipped, often) == 0  # what leaves [0, 1] is reflected
    assert varying_share(black, same * torch.tensor([0.0, 1.0])[:, None, None, None], often) > 0.3


def test_decoders_that_start_over_are_judged_after_as_much_training_with_and_without_change():
    running = contest(replace(CONFIG, batch=8, decoder_rate=1e-2))
    first, reports = weights(running.model.decoder), []
    running.advance(12)
    running.reset_decoders()
    assert all(torch.equal(first[k], v) for k, v in running.model.decoder.state_dict().items())
    untrained = running.losses(changed=False)
    before = refit_losses(running, reports.append, changed=False)
    after = refit_losses(running, reports.append, changed=True)
    assert max(before) < min(untrained)
    assert before != after
    assert len(reports) == 2 * 36  # batches of the contest itself, where it is short
    running.change.epsilon = 0.0
    assert refit_losses(running, reports.append, changed=True) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon must lie in \(0, 1\], got 0.0"),
        ({"restarts": 3, "ensemble": 2}, "restarts must be at least 4, got 3"),
        ({"levels": 1}, "levels must be at least 2, got 1"),
        ({"learning_rate": -1.0}, "learning_rate of the change must be positive"),
        ({"base": replace(BASE, data=Noisy(BASE.data, 0.1))}, "base must be of an original"),
        (
            {"base": replace(BASE, objective=AE(), model=replace(MODEL, posterior="delta"))},
            "base must be a beta-vae, got ae",
        ),
    ],
)
def test_bad_recipes_say_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)


def test_a_recipe_names_its_twin():
    others = replace(CONFIG, seed=1), replace(CONFIG, base=replace(BASE, seed=1))
    literal = replace(CONFIG, literal=True)
    assert len({config.identity() for config in (CONFIG, literal, *others)}) == 4
    assert CONFIG.identity() == "14ef62204eb4"  # as before there was `literal`
    assert CONFIG.data().recipe == CONFIG.identity()
    assert [config.seed for config in others[1].candidates()] == [1, 2, 3]


@pytest.mark.slow
def test_a_twin_is_made_once_and_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "data"))
    runs, killed = tmp_path / "runs", []
    whole = perturb(CONFIG, Runner(runs, progress=False, jobs=1))
    assert whole.folder == tmp_path / "data" / "twins" / f"shapes3d-{CONFIG.identity()}"

    def kill(self, until, advance=Contest.advance):
        if self.step >= 6 and not killed:
            killed.append(self.step)
            raise KeyboardInterrupt
        return advance(self, until)

    monkeypatch.setattr(Contest, "advance", kill)
    runner = Runner(runs, progress=False, checkpoint_seconds=0.0)
    again = str(tmp_path / "again")
    with pytest.raises(KeyboardInterrupt):
        perturb(CONFIG, runner, path=again)
    assert killed
    assert len(list(runs.glob("*-change-*/checkpoint-*"))) == 1
    second = perturb(CONFIG, runner, path=again)
    documents = [json.loads((t.folder / "twin.json").read_text()) for t in (whole, second)]
    assert documents[0] == documents[1]  # the checksum of the change among them
    assert not list(runs.glob("*-change-*"))
    names = {file.name for file in second.folder.iterdir()}
    pictures = {"images.png", "family.png", "losses.png"}
    assert names == {"twin.json", "change.safetensors", *pictures}
    report = documents[0]["report"]
    scores = {each["seed"]: each["score"] for each in report["candidates"]}
    assert scores[report["disentangled"][0]] == max(scores.values())
    assert scores[report["entangled"][0]] == min(scores.values())
    monkeypatch.setattr(Contest, "__init__", None)  # read, not made
    assert perturb(CONFIG, runner, path=again) == second
    with pytest.raises(ValueError, match="holds a twin made in another way"):
        perturb(replace(CONFIG, seed=5), runner, path=again)
    on_twin = replace(BASE, data=second, steps=2)
    assert make([on_twin], Runner(runs, progress=False))[0].path.name.startswith(
        "shapes3d-perturbed"
    )


@pytest.mark.slow
def test_the_command_makes_a_twin_that_train_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    options = ["--size", "8", "--network", "mlp", "--encoder", "8", "--decoder", "8"]
    of_change = ["--change-steps", "5", "--restarts", "2", "--out", "twin", "--epsilon", "0.2"]
    with pytest.raises(SystemExit) as stop:
        main(["perturb", "shapes3d", *options, *of_change, "--steps", "5", "--jobs", "1"])
    out, err = capsys.readouterr()
    weak = find_weaknesses(json.loads(Path("twin", "twin.json").read_text())["report"])
    assert weak  # after five steps
    assert stop.value.code == 1
    assert [line.split(": ", 2)[2] for line in err.splitlines() if "not known" in line] == weak
    assert f'load("shapes3d", size=8, perturbed="{tmp_path / "twin"}")' in out
    assert "allowed 0.2" in out
    change = load("shapes3d", size=8, perturbed="twin").observe(torch.arange(99))
    change = change - load("shapes3d", size=8).observe(torch.arange(99))
    assert 0 < change.abs().max() <= 0.2 + 1e-6
    command = out.splitlines()[-1].split()
    assert command[:4] == ["unpick", "train", "shapes3d", "--size"]
    with pytest.raises(SystemExit) as stop:
        main([*command[1:], *options[2:], "--steps", "3", "--jobs", "1"])
    assert stop.value.code == 0
    assert "shapes3d-perturbed-beta-vae-seed0" in capsys.readouterr().out
    (run,) = Path("runs").glob("shapes3d-beta-vae-seed0-*")
    trained = len([*Path("runs").iterdir()])
    of_change[of_change.index("twin")] = "again"
    with pytest.raises(SystemExit) as stop:  # its set-up, and its other seeds beside it
        main(["perturb", str(run), *of_change])
    assert stop.value.code == 1
    assert len([*Path("runs").iterdir()]) == trained
    documents = [json.loads(Path(name, "twin.json").read_text()) for name in ("twin", "again")]
    assert documents[0] == documents[1]
    monkeypatch.chdir(run)  # whose folder has its name here, too
    assert read_run_config(Path()).identity() == run.name[-12:]
    (misled,) = Path("..").glob("shapes3d-perturbed-beta-vae-seed0-*")
    with pytest.raises(SystemExit) as stop:
        main(["perturb", str(misled), "--restarts", "2"])
    assert stop.value.code == 2
    assert "is of a twin; start from a run on the original" in capsys.readouterr().err


def report(before=0.0, after=1.0, varying=0.5, pruned=(False, False)):
    """Of a twin: by how much the entangled models are ahead, before and after the change."""
    losses = {"before": before, "after": after}
    return {
        **{when: {"entangled": 5.0 - by, "disentangled": 5.0} for when, by in losses.items()},
        "varying": varying,
        "candidates": [{"over_pruned": each} for each in pruned],
    }


@pytest.mark.parametrize(
    ("planted", "reasons"),
    [
        ({}, []),
        ({"before": -3.0, "after": 0.5, "pruned": (True, False)}, []),
        ({"before": 2.0}, ["ahead by 2 on original images and are by 1 on changed ones"]),
        ({"before": 1.0}, ["does not favour the entangled models"]),
        ({"before": -3.0, "after": -0.5}, []),  # it helps, if not enough: told, no failure
        ({"varying": 0.002}, ["only 0.2% of the change differs"]),
        ({"pruned": (True, True)}, ["all 2 restarts are over-pruned"]),
        ({"after": -1.0, "pruned": (True, True)}, ["does not favour", "over-pruned"]),
    ],
)
def test_a_twin_that_misleads_nobody_is_found_out(planted, reasons):
    found = find_weaknesses(report(**planted))
    assert len(found) == len(reasons)
    assert all(reason in text for reason, text in zip(reasons, found, strict=True))
    seen = find_weaknesses(report(**planted), measured=True)
    assert seen == [text for text in found if "over-pruned" not in text]


def test_the_time_of_a_step_is_that_of_many_without_the_first(monkeypatch):
    now, steps = [0.0], []

    def advance(until, cost=0.01):
        now[0] += 2.0 if not steps else cost * (until - steps[-1])
        steps.append(until)

    monkeypatch.setattr("unpick.perturb.cost.time.perf_counter", lambda: now[0])
    assert seconds_a_step(advance) == pytest.approx(0.01)
    assert sorted(steps) == steps
    steps.clear()
    now[0] = -98.0  # a first step that takes 100 s is enough
    monkeypatch.setattr("unpick.perturb.cost.time.perf_counter", iter([0.0, 100.0]).__next__)
    assert seconds_a_step(steps.append) == 100.0
    assert steps == [1]


def test_the_estimate_counts_steps_restarts_and_what_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr("unpick.perturb.cost.seconds_a_step", lambda advance: 2.0)
    monkeypatch.setattr("unpick.perturb.cost.Training", lambda *a: contest())
    monkeypatch.setattr("unpick.perturb.cost.Contest", lambda *a: contest())
    runner = Runner(tmp_path, jobs=1, progress=False)
    refits = 2 * 36 / 4
    change = 2.0 * (12 + refits)
    all_three = estimate_seconds(CONFIG, BASE.data.load(), runner)
    assert all_three == pytest.approx(2.0 * BASE.steps + change)  # one ensemble of three
    there = folder(CONFIG.candidates()[0], tmp_path)
    there.mkdir()
    (there / "results.json").touch()
    assert estimate_seconds(CONFIG, BASE.data.load(), runner) == pytest.approx(all_three)
    lone = Runner(tmp_path, jobs=3, progress=False)  # a worker for each of the other two
    assert estimate_seconds(CONFIG, BASE.data.load(), lone) == pytest.approx(all_three)


@pytest.mark.parametrize(
    ("seconds", "more", "message"),
    [
        (3e5, [], "this takes about 3.5 days on this machine: --yes starts it"),
        (3e5, ["--yes"], "this takes about 3.5 days on this machine; it can be interrupted"),
        (1200.0, [], "this takes about 20 min on this machine; it can be interrupted"),
        (500.0, [], ""),
    ],
)
def test_a_long_time_is_told_before_and_days_need_a_yes(
    seconds, more, message, monkeypatch, capsys, tmp_path
):
    made = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unpick.perturb.cost.estimate_seconds", lambda *a: seconds)
    monkeypatch.setattr("unpick.perturb.perturb", lambda *a, path: made.append(path))
    monkeypatch.setattr(sys.modules["unpick.cli.perturb"], "judge_twin", lambda *a: None)
    with pytest.raises(SystemExit) as stop:
        main(["perturb", "shapes3d", "--size", "8", "--network", "mlp", "--out", "twin", *more])
    refused = seconds > 86_400 and not more
    assert stop.value.code == (2 if refused else 0)
    assert made == ([] if refused else ["twin"])
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == bool(message)


@pytest.mark.parametrize(("name", "data"), [("sprites", "sprites")])  # rooms: of 16 pixels
def test_recipes_are_the_twins_of_the_study_that_measured_them(name, data):
    study, recipe = change(data, "standard"), RECIPES[name]
    cells = json.loads((RESULTS / "thesis-4.json").read_text())["cells"]
    migs = {
        cell["row"].split(", ")[1]: {run["seed"]: run["values"]["MIG"] for run in cell["runs"]}
        for cell in cells
        if cell["row"].startswith(data) and cell["column"] == "beta-VAE"
    }
    assert recipe == study
    assert shipped()[name]["measured"] == {"seeds": len(migs["original"])} | {
        twin: pytest.approx(np.mean([*migs[twin].values()]), abs=6e-5)
        for twin in ("original", "noisy", "perturbed")
    }
    assert f"{np.mean([*migs['perturbed'].values()]):.2f} on the twin" in describe_effect(name)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_on_record_are_what_they_were(name):
    found = shipped()[name]
    assert found["identity"] == RECIPES[name].identity()  # a changed recipe needs a new record
    assert found["MIG"]["disentangled"] > found["MIG"]["entangled"]
    assert found["ahead"]["after"] > found["ahead"]["before"]


def test_a_recipe_computes_with_one_thread_however_many_cores_there_are(monkeypatch, tmp_path):
    used = []

    def make(config, runner, *, path):
        used.append(torch.get_num_threads())
        return config.data(path)

    command = sys.modules["unpick.cli.perturb"]
    monkeypatch.setattr("unpick.perturb.perturb", make)
    monkeypatch.setattr("unpick.data.twins.read_document", lambda folder: {})
    monkeypatch.setattr("unpick.perturb.recipes.compare_with_shipped", lambda *a: "")
    monkeypatch.setattr(command, "announce_cost", lambda *a, **k: None)
    monkeypatch.setattr(command, "judge_twin", lambda *a: None)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(SystemExit, match="0"):
        main(["perturb", "--recipe", "rooms", "--out", str(tmp_path / "twin")])
    used.append(torch.get_num_threads())
    torch.set_num_threads(before)
    assert used == [1, 2]


def test_a_twin_is_compared_with_the_one_on_record(monkeypatch):
    document = {
        "identity": "0123456789ab",
        "sha256": "f" * 64,
        "report": {
            "candidates": [{"seed": 3, "score": 0.25}, {"seed": 4, "score": 0.125}],
            "disentangled": [3],
            "entangled": [4],
            "before": {"entangled": 9.0, "disentangled": 8.0},
            "after": {"entangled": 8.0, "disentangled": 11.5},
            "environment": {"torch": "9.9", "processor": "SSE", "threads": 4},
        },
    }
    found = {"toy": record(document)}
    monkeypatch.setattr("unpick.perturb.recipes.shipped", lambda: found)
    assert "to the bit" in compare_with_shipped("toy", document)
    other = compare_with_shipped("toy", document | {"sha256": "0" * 64})
    assert "differs by rounding (torch 9.9, SSE, threads 4 here" in other
    assert "ahead by 3.5, there by 3.5" in other
    assert "MIG of the two restarts 0.25 and 0.12, there 0.25 and 0.12" in other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which data set?"),
        (["sprits"], "did you mean sprites"),
        (["sprites", "--epsilon", "2"], "epsilon must lie in (0, 1], got 2.0"),
        (["sprites", "ae"], "base must be a beta-vae, got ae"),
        (["synth-lin"], "twins are of data in [0, 1], and synth-lin leaves it"),
        (["sprites", "--decoder-rate", "0"], "decoder_rate must be positive"),
        (["sprites", "--change-rate", "0"], "learning_rate of the change must be positive"),
        (["sprites", "--change-steps", "0"], "steps of the change must be at least 1, got 0"),
        (["sprites", "--choose", "udr", "--restarts", "2"], "restarts must be at least 3, got 2"),
        (["sprites", "--latents", "1"], "latents must be at least 2 to be entangled, got 1"),
        ([".", "--restarts", "2"], "is neither a data set nor the folder of a run"),
        ([".", "beta-vae"], "is neither a data set nor the folder of a run"),
        (["run", "--preset", "thesis"], "run is a folder: a run has its own set-up and objective"),
        (["run", "beta-vae"], "run is a folder: a run has its own set-up and objective"),
    ],
)
def test_mistakes_exit_2_with_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    with pytest.raises(SystemExit) as stop:
        main(["perturb", *arguments])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert message in error
    assert error.count("\n") == 1
