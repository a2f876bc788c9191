"""Tutorials run and print what they show; the commands exist; the site builds."""

import linecache
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unpick.cli import HELP, main
from unpick.cli.train import train_options
from unpick.metrics import dci

HOUSE = Path(__file__).parent.parent
DOCS = HOUSE / "docs"
TUTORIALS = [
    DOCS / "getting-started.md",
    DOCS / "devices.md",
    *sorted((DOCS / "tutorials").glob("*.md")),
]
RUN = [HOUSE / "README.md", *TUTORIALS]
PROSE = [p for p in sorted(DOCS.rglob("*.md")) if p.parent.name != "results"] + [RUN[0]]
BLOCK = r"(?:<!-- quick: (.*?) -->\n)?```python\n(.*?)```(?:\n\n```text\n(.*?)```)?"
NUMBER = r"-?\d+(?:\.\d*)?(?:e-?\d+)?"


def name(page):
    return str(page.relative_to(HOUSE))


def alike(printed, shown):
    """The same words, and numbers to about the digits that another machine gives, too."""
    if re.sub(NUMBER, "#", printed).split() != re.sub(NUMBER, "#", shown).split():
        return False
    numbers = ([float(n) for n in re.findall(NUMBER, text)] for text in (printed, shown))
    return all(a == pytest.approx(b, rel=0.1, abs=0.03) for a, b in zip(*numbers, strict=True))


def words(text):
    return [word for word in re.findall(r"[a-zA-Z]{2,}", text) if word != "nan"]


def run_page(page, out, quick=True):
    """Run the blocks of a page one after the other: what each printed and what it shows."""
    space = {"__name__": "__main__"}
    blocks = re.findall(BLOCK, page.read_text(), re.DOTALL)
    for number, (shorter, code, shown) in enumerate(blocks):
        for change in shorter.split("; ") if shorter and quick else []:
            long, short = change.split(" -> ")
            assert long in code, f"{name(page)}: nothing to make quicker at {long!r}"
            code = code.replace(long, short)
        cell = f"<{name(page)}, block {number}>"  # with its source at hand, as in a notebook
        linecache.cache[cell] = (len(code), None, code.splitlines(keepends=True), cell)
        exec(compile(code, cell, "exec", dont_inherit=True), space)
        yield out(), shown, bool(shorter) and quick


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("page", RUN, ids=name)
def test_python_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    # Only on a page that is shortened: fewer images, and fewer trees of DCI.
    monkeypatch.setattr("unpick.perturb.stress.SAMPLES", 1000)
    monkeypatch.setattr("unpick.probe.measures.dci", partial(dci, rounds=5))
    if page.stem == "no-model-yet":  # it reads files of its own, and renders nothing
        monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "cache"))
    shortened = False  # from then on numbers are others
    for printed, shown, quick in run_page(page, lambda: capsys.readouterr().out):
        shortened |= quick
        if shortened:
            assert words(printed) == words(shown)
        else:
            assert alike(printed, shown), f"{name(page)} shows\n{shown}\nand printed\n{printed}"


def test_shown_and_printed_are_compared():
    assert alike("DtO 0.46\n", "DtO  0.45")
    assert not alike("DtO 0.55", "DtO 0.45")
    assert not alike("DS 0.45", "DtO 0.45")


def commands(page):
    text = page.read_text().replace("\\\n", " ")
    lines = re.findall(r"^    unpick (.*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def make_own_files():
    """The files that pages call by name as the reader's own."""
    x = np.random.default_rng(0).integers(256, size=(20, 1, 8, 8)).astype(np.uint8)
    np.save("images.npy", x)
    rows = [f"{k},{k % 3},{k % 5},{'ab'[k % 2]}" for k in range(20)]
    for table in ("wine.csv", "table.csv"):
        Path(table).write_text("\n".join(["id,acid,sugar,class", *rows]))
    Path("photos").mkdir()
    for k, image in enumerate(x):
        Image.fromarray(image[0]).save(f"photos/{k}.png")
    example = HOUSE / "examples" / "residual_vae.py"
    Path("examples").mkdir()
    for place in ("examples/residual_vae.py", "my_nets.py"):
        Path(place).write_text(example.read_text())


@pytest.mark.parametrize("page", [page for page in PROSE if commands(page)], ids=name)
def test_commands_exist_with_their_options(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "cache"))
    make_own_files()
    for verb, *arguments in commands(page):
        assert f"\n  {verb}" in HELP
        if verb == "train":
            train_options([a for a in arguments if a != "..."])
            continue
        target = [] if verb in ("perturb", "data") else arguments[:1]
        with pytest.raises(SystemExit) as left:
            main([verb, *(arguments[:1] if verb == "perturb" else target), "--help"])
        assert left.value.code == 0
        help_ = capsys.readouterr().out
        for option in arguments:
            if option.startswith("--"):
                assert option in help_, f"unpick {verb} has no {option}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    """Without the network: names are looked up at an address where nothing answers."""
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://127.0.0.1:9"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", tmp_path / "s"]
    done = subprocess.run(build, cwd=HOUSE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "s").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=\"?(https?:)", text)
        assert not loaded, f"{page.name} loads from elsewhere"
        assert "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}" not in text  # a formula left over
