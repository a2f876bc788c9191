"""`unpick study` and `unpick studies`."""

import csv
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from unpick.papers import STUDIES
from unpick.study import Cell, Drawing, Study
from unpick.training import preset


@pytest.mark.slow
def test_studies_are_listed_with_what_is_on_disk(run_cli, tmp_path):
    code, out, _ = run_cli("studies", "--runs", str(tmp_path))
    assert code == 0
    assert all(name in out for name in STUDIES)
    assert "0 of 30" in out  # thesis-3.4, ten seeds at three ratios


@pytest.mark.slow
def test_a_study_prints_table_verdicts_and_the_command(run_cli, tmp_path, monkeypatch):
    study = STUDIES["thesis-3.4"]
    short = [replace(c, config=replace(c.config, steps=20), seeds=2) for c in study.cells("quick")]
    monkeypatch.setitem(STUDIES, "thesis-3.4", replace(study, cells=lambda scale: short))
    options = ("--runs", str(tmp_path), "--jobs", "1", "--no-progress")
    first = run_cli("study", "thesis-3.4", *options)
    assert run_cli("study", "thesis-3.4", *options) == first
    code, out, _ = first
    assert code == 0
    assert "0.49 ± 0.32" in out  # published
    assert "in SE" in out
    assert "DtO falls and DS rises with the ratio." in out
    assert "again: unpick study thesis-3.4 --scale quick" in out


def draw_dots(results):
    figure = Figure((3, 2))
    figure.subplots().plot([outcome.mean("DtO") for outcome in results.outcomes], "o")
    return figure


def draw_damaged(results):
    raise ValueError("runs/x: log.jsonl cannot be read")


DRAWINGS = (
    Drawing("dots", "Dots", "A dot a cell.", draw_dots),
    Drawing("damaged", "Damaged", "Its run is damaged.", draw_damaged),
    Drawing("line", "Line", "The same.", draw_dots),
    Drawing("nothing", "Nothing", "Its runs are missing.", lambda results: None),
)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The arguments of a study of one untrained model, with figures in `drawn`."""
    cell = Cell("row", "column", replace(preset("synth-lin"), steps=0), seeds=1)
    study = Study("toy", "A toy", "Nobody", "", lambda scale: [cell], ("DtO",), drawings=DRAWINGS)
    monkeypatch.setitem(STUDIES, "toy", study)
    monkeypatch.chdir(tmp_path)
    return ("study", "toy", "--jobs", "1", "--no-progress", "--figures", "drawn")


@pytest.mark.slow
def test_a_study_draws_one_figure(run_cli, toy, tmp_path):
    code, out, _ = run_cli(*toy, "--figure", "dots")
    assert code == 0
    assert out.splitlines()[-2:] == ["figure: drawn/toy-dots.svg", "figure: drawn/toy-dots.pdf"]
    assert "again: unpick study toy" in out  # the table is printed, too
    assert (tmp_path / "drawn" / "toy-dots.svg").read_text().startswith("<?xml")
    assert (tmp_path / "drawn" / "toy-dots.pdf").read_bytes().startswith(b"%PDF")
    assert len([*(tmp_path / "drawn").iterdir()]) == 2


@pytest.mark.slow
def test_a_figure_that_fails_does_not_cost_the_others(run_cli, toy, tmp_path):
    code, out, err = run_cli(*toy)
    assert code == 2
    assert err == "unpick: damaged could not be drawn: runs/x: log.jsonl cannot be read\n"
    assert out.splitlines()[-1] == "figure: nothing needs runs that are missing"
    names = {file.name for file in (tmp_path / "drawn").iterdir()}
    assert names == {f"toy-{name}.{kind}" for name in ("dots", "line") for kind in ("svg", "pdf")}


def test_a_study_is_written_as_csv_and_as_a_table(run_cli, toy, tmp_path):
    code, out, _ = run_cli(*toy[:-2], "--csv", "out/toy.csv", "--table", "out/toy.tex")
    assert code == 0
    assert out.splitlines()[-2:] == ["csv: out/toy.csv", "table: out/toy.tex"]
    with (tmp_path / "out" / "toy.csv").open(newline="") as file:
        lines = {line["measure"]: line for line in csv.DictReader(file)}
    (run,) = [path for path in (tmp_path / "runs").iterdir() if (path / "config.json").exists()]
    assert (lines["DtO"]["study"], lines["DtO"]["run"]) == ("toy", run.name)
    assert (
        f"\\quad column & {float(lines['DtO']['value']):.2f}"
        in (tmp_path / "out" / "toy.tex").read_text()
    )


def test_a_table_that_cannot_be_is_refused_before_anything_is_trained(run_cli, toy, tmp_path):
    code, _, err = run_cli(*toy[:-2], "--table", "toy.pdf")
    assert (code, err) == (2, "unpick: table must end in .tex or .md, got toy.pdf\n")
    code, _, err = run_cli("study", "budget", "--csv", "budget.csv")
    assert code == 2
    assert "budget measures no runs, so there is no table" in err
    assert not [*tmp_path.iterdir()]


def test_an_unknown_figure_is_refused_before_anything_is_trained(run_cli, toy, tmp_path):
    code, _, err = run_cli(*toy, "--figure", "dotz")
    assert code == 2
    assert "must be one of dots, damaged, line, nothing; got 'dotz'" in err
    assert not [*tmp_path.iterdir()]
    code, _, err = run_cli(*toy[:-2], "--figure", "dots")
    assert code == 2
    assert "--figures DIR" in err
