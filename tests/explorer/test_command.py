import json
import re

import pytest

from unpick.cli import main

pytestmark = pytest.mark.slow
MODEL = """
import torch

class Model(torch.nn.Module):
    def encode(self, x):
        return x[:, :2], torch.full((len(x), 2), -4.0)

    def decode(self, z):
        return torch.cat([z, z.sum(1, keepdim=True)], 1)

def load():
    x = Model().decode(torch.randn(200, 2, generator=torch.Generator().manual_seed(0)))
    return Model(), x, (x[:, :1] > 0).float()

def bare():
    return Model()
"""


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["explore", *map(str, arguments)])
    return stop.value.code, capsys.readouterr()


def test_your_own_model_becomes_a_page(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MODEL)
    code, said = run(capsys, f"{tmp_path}/mine.py:load", "--static", tmp_path / "page")
    assert code == 0
    assert "as the log-variance" in said.err  # what was assumed
    page = (tmp_path / "page" / "index.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    (model,) = data["models"].values()
    assert model["describe"]["kind"] == "cloud"
    assert model["describe"]["factors"] == ["factor 0"]
    assert len(model["rows"]) == 6


def test_a_page_of_few_rows_says_why_it_has_no_information(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MODEL.replace("randn(200, 2", "randn(20, 2"))
    code, _ = run(capsys, f"{tmp_path}/mine.py:load", "--static", tmp_path / "page")
    assert code == 0
    page = (tmp_path / "page" / "index.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    (model,) = data["models"].values()
    assert "needs 30 observations and two latents, here are 20" in model["information"]["error"]


def test_runs_become_a_page(tmp_path, capsys, runs):
    code, said = run(capsys, runs[0].path, runs[2].path, "--static", tmp_path)
    assert code == 0
    assert said.out == f"wrote {tmp_path}/index.html\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "neither a folder of runs nor FILE.py:function"),
        (["mine.py:bare"], "gives no observations: pass --data"),
        ([".", "--port", "70000"], "cannot listen on 127.0.0.1:70000"),
        ([".", "--static", "out"], "no finished model to write a page about"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODEL)
    code, said = run(capsys, *arguments, "--no-browser")
    assert code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
