"""`unpick train`."""

import json
import re
import sys
from pathlib import Path

import pytest

from unpick.objectives import BetaTCVAE
from unpick.runs import executor, read


def test_train_reads_what_it_trained(run_cli, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "50", "--batch", "16"]
    arguments += ["--runs", str(tmp_path), "--beta", "0.01", "--seeds", "2", "--jobs", "1"]
    first = run_cli(*arguments)
    second = run_cli(*arguments)
    assert first[0] == 0
    assert first[1] == second[1]
    assert first[1].count("synth-lin-beta-vae-seed") == 2
    assert "loss" in first[1]


def test_another_objective_starts_from_the_beta_of_the_data(run_cli, tmp_path):
    """And its own defaults for the rest; what is given counts."""
    arguments = ["train", "synth-lin", "beta-tcvae", "--steps", "1", "--points", "500"]
    arguments += ["--runs", str(tmp_path), "--jobs", "1", "--no-progress"]
    for given, beta in (([], 1e-4), (["--beta", "6"], 6.0)):
        code, out, err = run_cli(*arguments, *given)
        assert code == 0
        assert err == f"objective: {BetaTCVAE(beta)}\n"
        assert read(Path(out.split()[0])).config.objective == BetaTCVAE(beta)


def test_several_betas_train_as_one_ensemble_with_all_seeds(run_cli, tmp_path, monkeypatch):
    groups, plan = [], executor.plan
    monkeypatch.setattr(executor, "plan", lambda *a: groups.extend(found := plan(*a)) or found)
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "3", "--jobs", "1"]
    arguments += ["--runs", str(tmp_path), "--seeds", "2", "--beta", "0.01", "0.1", "1"]
    code, out, err = run_cli(*arguments)
    assert code == 0
    assert "sweep: beta 0.01, 0.1, 1" in err
    lines = [re.match(r"(\S+)  beta (\S+)  loss", line) for line in out.splitlines()]
    found = [(read(Path(line[1])).config, float(line[2])) for line in lines]
    assert [(config.objective.beta, config.seed) for config, _ in found] == [
        *((beta, seed) for beta in (0.01, 0.1, 1.0) for seed in (0, 1))
    ]
    assert all(config.objective.beta == beta for config, beta in found)  # what the line says
    assert [len(group) for group in groups] == [6]


def test_the_names_that_people_type_are_those_of_the_configuration(run_cli, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--runs", str(tmp_path), "--jobs", "1"]
    code, out, err = run_cli(*arguments, "--lr", "0.02", "--batch-size=150", "--epochs", "3")
    assert code == 0
    config = read(Path(out.split()[0])).config
    assert (config.optimiser.learning_rate, config.batch, config.steps) == (0.02, 150, 6)
    assert "3 epochs: steps = 3 x floor(400 training rows / batch 150) = 6" in err


def test_every_field_reaches_the_configuration(run_cli, tmp_path):
    code, out, _ = run_cli(
        *(
            "train",
            "circles",
            "factor-vae",
            "--runs",
            str(tmp_path),
            "--jobs",
            "1",
            "--steps",
            "3",
        ),
        *("--optimiser", "adagrad", "--learning-rate", "0.02", "--network", "mlp"),
        *("--encoder", "5", "--decoder", "6", "7", "--decoder-activation", "tanh"),
        *("--latents", "3", "--gamma", "2", "--critic-width", "8", "--groups", "2", "--seed", "4"),
        *("--points", "400", "--batch", "8", "--steps", "3"),
    )
    assert code == 0
    (folder,) = tmp_path.iterdir()
    assert str(folder) in out
    config = json.loads((folder / "config.json").read_text())
    assert config["optimiser"] == {"type": "Adagrad", "learning_rate": 0.02}
    assert config["model"]["network"]["decoder"] == [6, 7]
    assert config["model"]["latents"] == 3
    assert config["objective"]["gamma"] == 2.0
    assert config["data"]["groups"] == 2
    assert (config["seed"], config["batch"]) == (4, 8)


def test_event_files_lie_in_the_folder_of_the_run(run_cli, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "5", "--runs", str(tmp_path)]
    assert run_cli(*arguments, "--no-progress", "--log", "tensorboard")[0] == 0
    (folder,) = tmp_path.iterdir()
    (file,) = (folder / "tensorboard").iterdir()
    assert b"terms/loss" in file.read_bytes()


@pytest.mark.parametrize("what", [("train", "synth-lin"), ("study", "thesis-3.4")])
def test_without_tensorboard_one_line_says_what_to_install(run_cli, tmp_path, monkeypatch, what):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    runs = tmp_path / "runs"
    code, out, err = run_cli(*what, "--runs", str(runs), "--log", "tensorboard")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "pip install tensorboard" in err
    assert not runs.exists()


def test_a_damaged_run_is_named_in_one_line(run_cli, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "5", "--runs", str(tmp_path)]
    run_cli(*arguments)
    (folder,) = tmp_path.iterdir()
    (folder / "weights.safetensors").write_bytes(b"")
    code, _, err = run_cli(*arguments)
    assert code == 2
    assert f"{folder}: weights.safetensors does not match its checksum" in err
    assert err.count("\n") == 1


def test_a_training_that_diverges_does_not_pass_for_a_success(run_cli, tmp_path):
    code, out, err = run_cli(
        *("train", "synth-lin", "--points", "500", "--runs", str(tmp_path)),
        *("--learning-rate", "1e30", "--no-progress"),
    )
    assert code == 2
    assert "loss not finite" in out
    assert "every member diverged" in err
