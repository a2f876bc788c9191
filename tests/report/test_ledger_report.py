"""The ledger as people see it: on the terminal, as a page, as Markdown."""

import json
import re

import pytest

from pages import Page
from unpick.cli import main
from unpick.papers import ledger as ledgers
from unpick.report import ledger_page
from unpick.report.ledger_page import write_ledger_markdown
from unpick.report.site import write_site


def run(capsys, *arguments):
    """Exit code and standard output."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code, capsys.readouterr().out


@pytest.fixture
def few(monkeypatch):
    """Two claims, and a picture that is quick to draw."""
    monkeypatch.setattr(
        ledger_page, "DRAWINGS", [d for d in ledger_page.DRAWINGS if d.name == "spectrum"]
    )
    return ledgers.ledger(["Z-L1", "B-P7"])


def test_the_ledger_on_the_terminal(capsys, monkeypatch):
    monkeypatch.setattr(
        ledgers, "LEDGER", {name: ledgers.LEDGER[name] for name in ("Z-L1", "B-P7", "A-SA.2")}
    )
    monkeypatch.setenv("COLUMNS", "100")
    code, out = run(capsys, "theory")
    assert code == 0
    assert re.search(r"B-P7 +Nearest matrix with orthonormal columns +holds after correction", out)
    assert re.search(r"A-SA.2 .* approximate: relative error ~ noise\^4.0", out)
    assert "3 claims: 1 hold, 1 hold after correction, 1 hold approximately" in out
    assert out.index("Z-L1") < out.index("Bhowal") < out.index("B-P7") < out.index("Allen")
    code, out = run(capsys, "theory", "b")
    assert "B-P7" in out
    assert "Z-L1" not in out


def test_one_claim_on_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, out = run(capsys, "theory", "show", "b-p7")
    entry = ledgers.LEDGER["B-P7"]
    assert code == 0
    for text in (entry.title, entry.source, "holds after correction", "fails", "passes"):
        assert text in out
    assert "M (M^T M)^(-1/2)" in out
    code, out = run(capsys, "theory", "show", "B-P7", "Z-L1", "--json")
    first, second = json.loads(out)
    assert first["corrected formula"] == entry.correction.formula
    assert (second["id"], second["verdict"], second["correction"]) == ("Z-L1", "holds", None)


@pytest.mark.slow
def test_the_page_of_the_ledger(tmp_path, few):
    write_site([], tmp_path, few)
    assert Page(tmp_path / "index.html").links == ["ledger.html"]
    page = Page(tmp_path / "ledger.html")
    assert page.links[:3] == ["index.html", "#Z-L1", "#B-P7"]
    assert ["B-P7", few[1].entry.title, "holds after correction"] in page.rows
    text = (tmp_path / "ledger.html").read_text()
    assert text.count('id="B-P7"') == 1
    assert text.count('display="block"') == 3  # two formulas and a correction
    assert few[1].entry.mutation.text in text
    assert page.images == ["figures/ledger-spectrum.svg"]
    assert (tmp_path / page.images[0]).exists()


def test_the_ledger_as_markdown(tmp_path, few):
    write_ledger_markdown(few, tmp_path)
    markdown = (tmp_path / "ledger.md").read_text()
    for judgement in few:
        assert f"```math\n{judgement.entry.formula}\n```" in markdown
        assert f"## {judgement.entry.id}: {judgement.entry.title}" in markdown
    first, second = json.loads((tmp_path / "ledger.json").read_text())
    assert (first["id"], second["verdict"]) == ("Z-L1", "holds after correction")
