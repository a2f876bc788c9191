"""`unpick diagnose`."""

import re
from pathlib import Path

import numpy as np
import pytest

from unpick.data import DATASETS


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_diagnose_a_run(run_cli, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_cli(
        "diagnose", str(trained[0].path), "--jacobians", "50", "--samples", "500"
    )
    assert code == 0
    assert "you gave 0.05" in out  # from its configuration
    assert (tmp_path / "diagnosis" / "index.html").exists()


@pytest.mark.parametrize("data", DATASETS)
def test_options_of_diagnose_and_of_data_sets_have_different_names(run_cli, data):
    code, out, _ = run_cli("diagnose", "model.py:load", "--data", data, "--help")
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
class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.decode = load()[1]
    def encode(self, x):
        return load()[0](x)
def module():
    return Whole(), torch.randn(300, 3)
def one():
    return 1
def broken():
    raise KeyError("weights")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_diagnose_a_file(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange.py").write_text(MODEL)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.normal(size=(300, 3)))
    np.save("factors.npy", rng.integers(3, size=(300, 2)))
    np.savez("two.npz", a=np.zeros(3), b=np.zeros(3))
    (tmp_path / "empty.npy").touch()
    np.save("words.npy", np.array(["a", "b"]))
    common = ("--jacobians", "50", "--samples", "400", "--report", "page")
    given = ("--data", "x.npy", "--factors", "factors.npy")
    code, out, _ = run_cli("diagnose", "strange.py:load", *given, *common)
    assert code == 0
    assert "FactorVAE" in out
    code, out, _ = run_cli("diagnose", "strange.py:load", "--data", "synth-lin", *common)
    assert code == 0
    code, out, _ = run_cli("diagnose", "strange.py:module", *common)
    assert code == 0
    page = (tmp_path / "page" / "index.html").read_text()
    for told in (
        "unpick diagnose strange.py:module --jacobians 50",
        "gaussian, assumed",
        "torch 2",
    ):
        assert told in page
    code, out, _ = run_cli("diagnose", "strange.py:with_data", *common)
    assert code == 0
    assert "FactorVAE" not in out
    for target, rest, message in (
        ("load", (), "gives no observations"),
        ("lod", (), "has no function 'lod'"),
        ("one", (), "must return a model or (encode, decode)"),
        ("broken", (), "KeyError: 'weights'"),
        ("load", ("--data", "two.npz"), "two.npz has the arrays a, b: name the observations"),
        ("load", ("--data", "no.npy"), "no.npy is not there"),
        ("load", ("--data", "empty.npy"), "empty.npy cannot be read"),
        ("load", ("--data", "words.npy"), "words.npy must hold real numbers"),
        ("load", ("--data", "synth-lin", "--factors", "factors.npy"), "leave them out"),
        ("load", ("--data", "x.npy", "--samples", "-5"), "samples must be at least 2, got -5"),
    ):
        code, _, err = run_cli("diagnose", f"strange.py:{target}", *rest)
        assert code == 2
        assert message in err
    code, _, err = run_cli("diagnose", "strange.py")
    assert code == 2
    assert "which function of strange.py? it has load, with_data, module, one, broken." in err


@pytest.mark.slow
def test_the_example_of_a_plain_vae(run_cli, tmp_path, monkeypatch):
    """A model written by hand, trained by the example: aligned, and its beta is found."""
    example = Path(__file__).parents[2] / "examples" / "plain_vae.py"
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_cli("diagnose", f"{example}:load")
    text = " ".join(out.split())
    assert code == 0
    assert "axes are aligned" in text
    assert "They match the Jacobian" in text
    found = float(re.search(r"They imply beta = ([\d.]+)", text)[1])
    assert found == pytest.approx(0.02, rel=0.1)
