"""Your own files on the command line, from training to measuring."""

import json
import re

import numpy as np
import pytest
from PIL import Image

SMALL = ("--encoder", "8", "--decoder", "8", "--steps", "20", "--jobs", "1", "--no-progress")


@pytest.fixture
def place(tmp_path, monkeypatch, rng):
    """A folder with a table, an array, an npz and images; runs and the cache go there, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "cache"))
    z = rng.normal(size=(400, 2))
    x = z @ rng.normal(size=(2, 3))
    kind = np.where(z[:, 0] > 0, "red", "white")
    rows = [f"{k},{a},{b},{c},{s}" for k, ((a, b, c), s) in enumerate(zip(x, kind, strict=True))]
    (tmp_path / "my wine.csv").write_text("\n".join(["id,a,b,c,kind", *rows]))
    np.save("x.npy", x)
    np.savez("two.npz", a=x, b=z)
    for k in range(24):
        (tmp_path / "photos" / "ab"[k % 2]).mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(256, size=(20, 24, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photos" / "ab"[k % 2] / f"{k}.png")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.usefixtures("cheap_scorecard")
@pytest.mark.slow
def test_a_table_is_trained_measured_and_used_again(run_cli, place):
    table = ("my wine.csv", "--factors", "kind", "--drop=id")
    code, out, err = run_cli("train", *table, *SMALL)
    assert code == 0
    run = out.split("  ")[0]
    assert re.fullmatch("runs/my-wine-beta-vae-seed0-[0-9a-f]{12}", run)
    said, chosen = err.splitlines()
    assert "400 observations of shape (3,)" in said
    assert "each column is standardised to mean 0 and variance 1" in said
    assert "factor kind, 2 categories: red, white" in said
    assert "likelihood gaussian" in chosen
    assert "beta 1, 3 latents, dense layers 8 and 8" in chosen
    (place / "my wine.csv").rename(place / "elsewhere.csv")  # the cache is enough
    code, out, _ = run_cli("measure", run, "--draws", "0", "--json")
    assert code == 0
    card = json.loads(out)[run]
    assert card["factors"] == ["kind"]
    assert "MIG" in {score["name"] for score in card["scores"]}
    code, out, _ = run_cli("train", run, "--steps", "10", "--jobs", "1", "--no-progress")
    assert code == 0
    assert out.startswith(str(place / "runs" / "my-wine-beta-vae-seed0"))


@pytest.mark.slow
def test_a_folder_of_images_is_resized_and_trained(run_cli, place):
    code, out, err = run_cli(
        "train", "photos", "beta-vae", "--size", "16", "--grey", *SMALL[4:], "--network", "mlp"
    )
    assert code == 0
    assert "shape (1, 16, 16)" in err
    assert "resized to 16 x 16 pixels from 24 x 20; the 2 sub-folders are the factor" in err
    assert "likelihood bernoulli (as for images in [0, 1]), beta-vae with beta 4" in err
    code, out, _ = run_cli("measure", out.split("  ")[0])
    assert code == 0
    assert "need 30 test observations" in " ".join(out.split())


def test_arrays_are_trained(run_cli, place):
    code, _, err = run_cli("train", "./x.npy", *SMALL)
    assert code == 0
    assert "values are used as they are; no factors" in err
    code, _, err = run_cli("train", "two.npz", "--key", "a", "--factors", "b", *SMALL)
    assert code == 0
    assert "factor b 0, 400 values; factor b 1, 400 values" in err


def test_check_describes_and_render_draws(run_cli, place):
    code, out, _ = run_cli("data", "check", "my wine.csv", "--factors", "kind", "--drop", "id")
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "my-wine is a table with 3 columns of observations"
    assert "factor kind, 2 categories: red, white" in lines
    assert lines[-1].startswith("a training would use likelihood gaussian")
    for name in ("photos", "x.npy"):
        code, out, _ = run_cli("data", "render", name, "--out", "sheet.png")
        assert (code, out) == (0, "wrote sheet.png\n")


def test_help_shows_the_options_of_the_data_and_hides_the_rest(run_cli, place):
    code, out, _ = run_cli("train", "my wine.csv", "--help")  # its text column is no obstacle
    assert code == 0
    for option in ("--factors", "--drop", "--size", "--grey", "--key", "--beta"):
        assert option in out
    for hidden in ("sha256", "--path", "--kind", "--name"):
        assert hidden not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "no.csv"], "no.csv is not there"),
        (["train", "my wine"], "data set, file or folder 'my wine'; did you mean my wine.csv?"),
        (["data", "check", "my-wine"], "did you mean my wine.csv"),
        (["train", "no/where"], "no/where is not there"),
        (["train", "my wine.csv"], "column 'kind' of"),
        (["train", "my wine.csv", "--factors", "knd"], "did you mean kind?"),
        (["train", "my wine.csv", "--preset", "thesis"], "thesis has no set-up for it"),
        (["train", "two.npz"], "two.npz has the arrays a, b: name the observations with key"),
        (["train", "empty"], "holds no images"),
        (["train", "x.npy", "--noisy", "0.1"], "twins are of data sets by name"),
        (["train", "x.npy", "--batch", "321"], "batch must be at most the 320"),
        (["train", "x.npy", "--likelihood", "bernoulli"], "needs x to lie in [0, 1]"),
        (["train", "x.npy", "slow-vae"], "slow-vae needs pairs, and x is no full grid"),
        (["perturb", "x.npy"], "x.npy is neither a data set nor the folder of a run"),
        (["data", "check", "no.npy"], "no.npy is not there"),
        (["diagnose", "m.py:load", "--data", "no.csv"], "no.csv is not there"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line(run_cli, place, arguments, message):
    code, _, err = run_cli(*arguments)
    assert code == 2
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


MODEL = """
import torch
def load():
    torch.manual_seed(0)
    return lambda x: (x[:, :2], torch.zeros(len(x), 2) - 3), torch.nn.Linear(2, 3)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_diagnose_takes_the_same_files(run_cli, place):
    (place / "m.py").write_text(MODEL)
    common = ("--jacobians", "20", "--samples", "100", "--report", "page")
    code, out, err = run_cli(
        "diagnose",
        "m.py:load",
        "--data",
        "my wine.csv",
        "--factors",
        "kind",
        "--drop",
        "id",
        *common,
    )
    assert code == 0
    assert "standardised" in err
    assert "FactorVAE" in out
    np.save("z.npy", np.load("two.npz")["b"])
    code, out, _ = run_cli("diagnose", "m.py:load", "--data=x.npy", "--factors=z.npy", *common)
    assert code == 0
    assert "FactorVAE" in out
    np.save("z.npy", np.zeros((3, 1)))
    code, _, err = run_cli("diagnose", "m.py:load", "--data=x.npy", "--factors=z.npy", *common)
    assert code == 2
    assert "z.npy must have 400 rows, one an observation, got 3" in err
