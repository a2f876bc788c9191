"""Mistakes on the command line: one line, exit code 2. And the help."""

import re
import subprocess
import sys

import pytest

import unpick


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean train?"),
        (["theory", "show"], "which claim?"),
        (["theory", "show", "Z-L99"], "unknown claim 'Z-L99'; did you mean Z-L"),
        (["theory", "Q"], "unknown paper 'Q'; there are Z, B, A"),
        (["train", "synth-ln"], "file or folder 'synth-ln'; did you mean synth-lin"),
        (
            ["train", "synth-lin", "beta-vea"],
            "'beta-vea'; did you mean beta-vae",
        ),
        (["train", "synth-lin", "--preset", "bhowal"], "bhowal has no set-up for 'synth-lin'"),
        (
            ["train", "synth-lin", "--preset", "thesys"],
            "unknown preset 'thesys'; did you mean thesis",
        ),
        (["train", "synth-lin", "--network", "conv"], "Conv needs square images, got shape (3,)"),
        (["train", "synth-lin", "--batch", "50000"], "batch must be at most the 40000"),
        (["train", "synth-lin", "--likelihood", "bernoulli"], "synth-lin to lie in [0, 1]"),
        (
            ["train", "synth-lin", "--steps", "9", "ae"],
            "before the options: unpick train synth-lin ae",
        ),
        (["train"], "which data set?"),
        (["train", "synth-lin", "--steps", "9", "--epochs", "2"], "--epochs and --steps exclude"),
        (["train", "synth-lin", "--epochs", "half"], "epochs must be a whole number, got 'half'"),
        (["perturb", "sprites", "--beta", "1", "2"], "a twin is made against one set-up, got 2"),
        (["perturb", "--recipe", "sprits"], "unknown recipe 'sprits'; did you mean sprites"),
        (["completion"], "for which shell? bash or zsh"),
        (["completion", "bsh"], "unknown shell 'bsh'; did you mean bash"),
        (["data", "lst"], "unknown data command 'lst'; did you mean list?"),
        (["data", "get", "celeba"], "'celeba' cannot be fetched: get img_align_celeba.zip"),
        (["data", "check", "mnist", "--path", "/nowhere"], "mnist: no train-images-idx3-ubyte"),
        (["data", "list", "all"], "data list takes no arguments, got all"),
        (["train", "mnist", "--path", "/nowhere"], "no train-images-idx3-ubyte"),
        (["measure"], "which run?"),
        (["measure", "--json"], "the runs come before the options"),
        (["measure", "nowhere"], "nowhere is not a run folder"),
        (["measure", "."], ". is not a finished run"),
        (["diagnose"], "which model?"),
        (["diagnose", "weights.pt"], "weights.pt holds weights, not the code of a model. Write"),
        (["diagnose", "nets.py"], "nets.py is not there"),
        (["diagnose", "model.py:load"], "model.py is not there"),
        (["diagnose", "model"], "model is no folder, and no function named as FILE.py:function"),
        (["diagnose", "model.py:load", "--data", "sprits"], "did you mean sprites"),
        (["study"], "the study comes first"),
        (["study", "--scale", "quick", "thesis-3.4"], "the study comes first"),
        (["study", "thesis-3.5"], "unknown study 'thesis-3.5'; did you mean thesis-3"),
        (["study", "surfaces", "--scale", "paper"], "it has quick and standard"),
        (["report"], "no finished runs of a study in runs; first `unpick study NAME`"),
        (["report", "surfaces"], "no finished runs of surfaces in runs; first `unpick study surf"),
        (["report", "surface"], "unknown study 'surface'; did you mean surfaces"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_exit_2_with_one_line(run_cli, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run_cli(*arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["theory", "--jsn"], "Unrecognized options: --jsn Perhaps you meant: --json"),
        (
            ["train", "synth-lin", "--bta", "3"],
            "Unrecognized options: --bta, 3 Perhaps you meant: --beta",
        ),
        (
            ["train", "synth-lin", "--beta", "much"],
            "--beta: could not convert string to float: 'much'",
        ),
        (["train", "synth-lin", "--steps", "-1"], "steps must be at least 0, got -1"),
        (["train", "synth-lin", "--ratio", "-1"], "ratio must be positive and finite, got -1.0"),
        (
            ["train", "synth-lin", "ae", "--posterior", "full"],
            "ae needs the posterior delta, got full",
        ),
        (
            ["train", "synth-lin", "--likelihood", "poisson"],
            "invalid choice 'poisson' for argument '--likelihood'. Expected one of ('gaussian',",
        ),
        (
            ["train", "synth-lin", "--network", "adam"],
            "invalid choice 'adam' for argument '--network'. Expected one of ('preset', 'mlp',",
        ),
        (["train", "synth-lin", "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["train", "synth-lin", "--encoder", "0"], "encoder: widths must be positive, got (0,)"),
        (["train", "synth-lin", "--beta", "nan"], "beta must be finite, got nan"),
        (
            ["train", "synth-lin", "--learning-rate", "inf"],
            "learning_rate must be positive and finite, got inf",
        ),
        (["train", "synth-lin", "--latents", "2", "3"], "Unrecognized options: 3"),
        (["train", "synth-lin", "--epochs"], "Unrecognized options: --epochs"),
        (["demo", "--reprt", "x"], "--reprt, x Perhaps you meant: --report"),
        (
            ["diagnose", "model.py:load", "--jcobians", "3"],
            "--jcobians, 3 Perhaps you meant: --jacobians",
        ),
        (["perturb", "sprites", "--change-stps", "2"], "Perhaps you meant: --change-steps"),
        (["perturb", "sprites", "--jobs", "-1"], "jobs must be at least 0, got -1"),
        (["study", "thesis-3.4", "--seeds", "-1"], "seeds must be at least 0, got -1"),
        (
            ["study", "thesis-3.4", "--scale", "huge"],
            "invalid choice 'huge' for argument '--scale'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_parser_explains_mistakes_and_exits_2(
    run_cli, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli(*arguments)
    assert code == 2
    assert not out
    assert message in " ".join(re.sub("[╭╮╰╯─│]|-{3,}", " ", err).split())  # without the frame
    assert f"unpick {arguments[0]}" in err  # whose help to read
    assert "Traceback" not in err


def test_python_m_unpick_is_unpick():
    command = [sys.executable, "-m", "unpick", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{unpick.__version__}\n"


def test_help_needs_no_heavy_import():
    """What makes `unpick --help` slow is torch and its like: none may be loaded."""
    heavy = ["torch", "numpy", "scipy", "sklearn", "matplotlib", "tyro", "rich", "h5py"]
    code = f"""
import sys
from unpick.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "usage: unpick COMMAND" in done.stdout
    assert done.stderr.strip() == "[]"
