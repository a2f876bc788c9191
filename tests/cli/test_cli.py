import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.cli import main
from unpick.data import DATASETS, load
from unpick.data.shapes3d import Shapes3D
from unpick.models import MLP, ModelConfig
from unpick.objectives import PCL, BetaTCVAE, BetaVAE
from unpick.papers import STUDIES
from unpick.probe import STANDARD, measure_run
from unpick.runs import Run, Runner, make, read
from unpick.training import Adam, RunConfig, preset


def run(capsys, *arguments):
    """Exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean train?"),
        (["theory", "show"], "which claim?"),
        (["theory", "show", "Z-L99"], "unknown claim 'Z-L99'; did you mean Z-L"),
        (["theory", "Q"], "unknown paper 'Q'; did you mean Z or B or A?"),
        (["train", "synth-ln"], "unknown data set 'synth-ln'; did you mean synth-lin"),
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
        (["diagnose", "model.py:load"], "model.py is not there"),
        (["diagnose", "model"], "model is no folder, and no function named as FILE.py:function"),
        (["diagnose", "model.py:load", "--data", "sprits"], "did you mean sprites"),
        (["study"], "the study comes first"),
        (["study", "--scale", "quick", "thesis-3.4"], "the study comes first"),
        (["study", "thesis-3.5"], "unknown study 'thesis-3.5'; did you mean thesis-3"),
        (["study", "surfaces", "--scale", "paper"], "it has quick and standard"),
        (["report"], "no finished runs of a study in runs; first `unpick study NAME`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_exit_2_with_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *arguments)
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
        (["train", "synth-lin", "--beta", "nan"], "beta must be finite and not negative, got nan"),
        (
            ["train", "synth-lin", "--learning-rate", "inf"],
            "learning_rate must be positive and finite, got inf",
        ),
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
    capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert not out
    assert message in " ".join(re.sub("[╭╮╰╯─│]|-{3,}", " ", err).split())  # without the frame
    assert f"unpick {arguments[0]}" in err  # whose help to read
    assert "Traceback" not in err


def test_train_reads_what_it_trained(capsys, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "50", "--batch", "16"]
    arguments += ["--runs", str(tmp_path), "--beta", "0.01", "--seeds", "2", "--jobs", "1"]
    first = run(capsys, *arguments)
    second = run(capsys, *arguments)
    assert first[0] == 0
    assert first[1] == second[1]
    assert first[1].count("synth-lin-beta-vae-seed") == 2
    assert "loss" in first[1]


def test_another_objective_starts_from_the_beta_of_the_data(capsys, tmp_path):
    """And its own defaults for the rest; what is given counts."""
    arguments = ["train", "synth-lin", "beta-tcvae", "--steps", "1", "--points", "500"]
    arguments += ["--runs", str(tmp_path), "--jobs", "1", "--no-progress"]
    for given, beta in (([], 1e-4), (["--beta", "6"], 6.0)):
        code, out, err = run(capsys, *arguments, *given)
        assert code == 0
        assert err == f"objective: {BetaTCVAE(beta)}\n"
        assert read(Path(out.split()[0])).config.objective == BetaTCVAE(beta)


@pytest.mark.slow
def test_studies_are_listed_with_what_is_on_disk(capsys, tmp_path):
    code, out, _ = run(capsys, "studies", "--runs", str(tmp_path))
    assert code == 0
    assert all(name in out for name in STUDIES)
    assert "0 of 30" in out  # thesis-3.4, ten seeds at three ratios


@pytest.mark.slow
def test_a_study_prints_table_verdicts_and_the_command(capsys, tmp_path, monkeypatch):
    study = STUDIES["thesis-3.4"]
    short = [
        replace(c, config=replace(c.config, steps=600), seeds=2) for c in study.cells("quick")
    ]
    monkeypatch.setitem(STUDIES, "thesis-3.4", replace(study, cells=lambda scale: short))
    options = ("--runs", str(tmp_path), "--jobs", "1", "--no-progress")
    first = run(capsys, "study", "thesis-3.4", *options)
    assert run(capsys, "study", "thesis-3.4", *options) == first
    code, out, _ = first
    assert code == 0
    assert "0.49 ± 0.32" in out  # published
    assert "in SE" in out
    assert "DtO falls and DS rises with the ratio." in out
    assert "again: unpick study thesis-3.4 --scale quick" in out


def test_every_field_reaches_the_configuration(capsys, tmp_path):
    code, out, _ = run(
        capsys,
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


def test_a_damaged_run_is_named_in_one_line(capsys, tmp_path):
    arguments = ["train", "synth-lin", "--points", "500", "--steps", "5", "--runs", str(tmp_path)]
    run(capsys, *arguments)
    (folder,) = tmp_path.iterdir()
    (folder / "weights.safetensors").write_bytes(b"")
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert f"{folder}: weights.safetensors does not match its checksum" in err
    assert err.count("\n") == 1


def test_a_training_that_diverges_does_not_pass_for_a_success(capsys, tmp_path):
    code, out, err = run(
        capsys,
        *("train", "synth-lin", "--points", "500", "--runs", str(tmp_path)),
        *("--learning-rate", "1e30", "--no-progress"),
    )
    assert code == 2
    assert "loss not finite" in out
    assert "every member diverged" in err


@pytest.mark.parametrize("verb", ["list", "check", "render", "get"])
def test_every_verb_explains_itself(capsys, verb):
    code, out, _ = run(capsys, "data", verb, "--help")
    assert code == 0
    assert "usage: unpick data" in out


def test_render_draws_a_contact_sheet(capsys, tmp_path):
    file = tmp_path / "sheet.png"
    code, out, _ = run(capsys, "data", "render", "circles", "--points", "200", "--out", str(file))
    assert (code, out) == (0, f"wrote {file}\n")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_list_tells_what_is_here(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    code, out, _ = run(capsys, "data", "list")
    assert code == 0
    assert "synth-lin" in out
    assert "not here" in out


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


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two seeds of a small beta-VAE."""
    root = tmp_path_factory.mktemp("trained")
    config = replace(preset("synth-lin"), objective=BetaVAE(0.05), optimiser=Adam(1e-2), steps=300)
    return make([replace(config, seed=s) for s in range(2)], Runner(root, jobs=1, progress=False))


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_measure_prints_keeps_and_reads_again(capsys, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    names = [str(run.path) for run in trained]
    options = ("--samples", "600", "--draws", "2")
    code, out, _ = run(capsys, "measure", *names, *options)
    assert code == 0
    for word in ("DtO", "chance 0.55", "MIG, sampled", "DCI completeness", "±", "UDR", "2 runs"):
        assert word in out, word
    assert out.count("learner: unpick's fast boosting, a proxy") == 3 * len(names) + 1
    with monkeypatch.context() as patched:  # measured once, read ever after
        patched.setattr(Run, "model", None)
        code, out, _ = run(capsys, "measure", names[0], *options, "--json")
    kept = json.loads(out)[names[0]]
    scores = {score["name"]: score for score in kept["scores"]}
    assert kept["factors"] == [factor.name for factor in load("synth-lin").factors]
    assert kept["options"] == {"samples": 600, "learner": "fast", "draws": 2}
    assert len(scores["MIG"]["matrix"]) == 2
    assert len(scores["MIG"]["per_factor"]) == 2
    assert scores["MIG"]["interval"]["draws"] == 2
    assert scores["DCI completeness"]["interval"]["draws"] == 10
    assert 0 <= scores["DtO"]["value"] < 1.1
    (file,) = (trained[0].path / "measures").glob("IRS-*.json")
    for damage in ("", "[]", file.read_text().replace('"value": ', '"value": 1')):
        file.write_text(damage)  # not believed: measured again
        with monkeypatch.context() as patched:
            patched.setattr(Run, "model", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                main(["measure", names[0], *options])
        capsys.readouterr()
    code, _, err = run(capsys, "measure", names[0], "--samples", "3")
    assert (code, "samples must be at least 30" in err) == (2, True)


@pytest.mark.slow
def test_diagnose_a_run(capsys, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "diagnose", str(trained[0].path), "--jacobians", "50")
    assert code == 0
    assert "you gave 0.05" in out  # from its configuration
    assert (tmp_path / "diagnosis" / "index.html").exists()


@pytest.mark.slow
def test_a_run_without_a_decoder_is_scored_and_not_diagnosed(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    model = ModelConfig(2, "delta", network=MLP((4,), "tanh", (4,), "tanh"))
    config = RunConfig(Shapes3D(8), model, PCL(), steps=2, batch=16)
    (trained,) = make([config], Runner(tmp_path, jobs=1, progress=False))
    code, out, _ = run(capsys, "measure", str(trained.path), "--samples", "500", "--draws", "0")
    assert code == 0
    assert "MIG" in out
    assert "DtO" not in out
    assert measure_run(trained, STANDARD, samples=500).keys() == {"DS"}
    code, _, err = run(capsys, "diagnose", str(trained.path))
    told = "diagnose needs a decoder, and pcl has none; unpick measure scores its codes"
    assert (code, err) == (2, f"unpick: {told}\n")


@pytest.mark.parametrize("data", DATASETS)
def test_options_of_diagnose_and_of_data_sets_have_different_names(capsys, data):
    code, out, _ = run(capsys, "diagnose", "model.py:load", "--data", data, "--help")
    assert code == 0
    assert "--jacobians" in out


MODEL = """
import torch
def load():
    torch.manual_seed(0)
    decode = torch.nn.Linear(2, 3)
    return lambda x: (x[:, :2], torch.zeros(len(x), 2) - 3), decode
def with_data():
    return *load(), torch.randn(300, 3)
def one():
    return 1
def broken():
    raise KeyError("weights")
"""


@pytest.mark.slow
def test_diagnose_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange.py").write_text(MODEL)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.normal(size=(300, 3)))
    np.save("factors.npy", rng.integers(3, size=(300, 2)))
    np.savez("two.npz", a=np.zeros(3), b=np.zeros(3))
    (tmp_path / "empty.npy").touch()
    np.save("words.npy", np.array(["a", "b"]))
    common = ("--jacobians", "50", "--report", "page")
    code, out, _ = run(
        capsys,
        "diagnose",
        "strange.py:load",
        "--data",
        "x.npy",
        "--factors",
        "factors.npy",
        *common,
    )
    assert code == 0
    assert "FactorVAE" in out
    code, out, _ = run(capsys, "diagnose", "strange.py:load", "--data", "synth-lin", *common)
    assert code == 0
    code, out, _ = run(capsys, "diagnose", "strange.py:with_data", *common)
    assert code == 0
    assert "FactorVAE" not in out
    for target, rest, message in (
        ("load", (), "gives no observations"),
        ("lod", (), "has no function 'lod'"),
        ("one", (), "must return (encode, decode)"),
        ("broken", (), "KeyError: 'weights'"),
        ("load", ("--data", "two.npz"), "must hold one array, got a, b"),
        ("load", ("--data", "no.npy"), "no.npy is not there"),
        ("load", ("--data", "empty.npy"), "empty.npy cannot be read"),
        ("load", ("--data", "words.npy"), "words.npy must hold numbers"),
        ("load", ("--data", "synth-lin", "--factors", "factors.npy"), "leave them out"),
        ("load", ("--data", "x.npy", "--samples", "-5"), "samples must be at least 2, got -5"),
    ):
        code, _, err = run(capsys, "diagnose", f"strange.py:{target}", *rest)
        assert code == 2
        assert message in err


@pytest.mark.slow
def test_the_example_of_a_plain_vae(capsys, tmp_path, monkeypatch):
    """A model written by hand, trained by the example: aligned, and its beta is found."""
    example = Path(__file__).parents[2] / "examples" / "plain_vae.py"
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "diagnose", f"{example}:load")
    said = " ".join(out.split())
    assert code == 0
    assert "axes are aligned" in said
    assert "They match the Jacobian" in said
    found = float(re.search(r"They speak of beta = ([\d.]+)", said)[1])
    assert found == pytest.approx(0.02, rel=0.1)
