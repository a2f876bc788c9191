"""Planted results, shown: every number stands in its place and leads to its runs."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from pages import Page
from unpick import papers, study
from unpick.cli.report import report
from unpick.data.idx import MNIST
from unpick.pages.page import Link, Table, write_page
from unpick.pages.terminal import print_table
from unpick.papers import ledger as ledgers
from unpick.report import ledger_page
from unpick.report.markdown import write_markdown
from unpick.report.site import write_site, write_study
from unpick.report.study import (
    claim_notes,
    command,
    distinct,
    own_studies,
    show_results,
    study_table,
)
from unpick.runs import Run, Runner, folder, make
from unpick.study import Cell, Claim, Drawing, Outcome, Printed, Results, Study, Verdict
from unpick.study.running import judge
from unpick.training import preset

pytestmark = pytest.mark.slow

BASE = preset("synth-lin")
PUBLISHED = {"DtO": Printed(0.77, 0.11), "DS": Printed(0.66, 0.1)}
CLAIMS = (
    Claim("a < b", lambda results: Verdict(True, "0.1 < 0.2 [bold]")),
    Claim("c", lambda results: Verdict(False, "no")),
    Claim("d", lambda results: Verdict(None, "")),
    Claim("e", lambda results: Verdict(None, "0.1 to 0.2", undecided=True)),
)


def cells(scale):
    """Two rows of two; the last cell is the same at every scale."""
    steps = {"quick": 100, "standard": 1000, "paper": BASE.steps}[scale]
    return [
        Cell("line & <co>", "A", replace(BASE, steps=steps), 3, PUBLISHED),
        Cell("line & <co>", "B", replace(BASE, steps=steps, batch=64), 3),
        Cell("other", "A", replace(BASE, steps=steps, batch=32), 3, PUBLISHED),
        Cell("other", "nothing learned", replace(BASE, steps=0), 3, PUBLISHED),
    ]


def draw(results):
    figure = Figure((3, 2))
    figure.subplots().plot([outcome.mean("DtO") for outcome in results.outcomes])
    return figure


def fail(results):
    raise ValueError("runs/x: log.jsonl cannot be read")


STUDY = Study(
    "toy",
    "A toy",
    "Nobody (1900), table 1",
    "First.\n\nSecond <i> `code`.",
    cells,
    ("DtO", "DS"),
    CLAIMS,
    (
        Drawing("dots", "Dots", "Some dots.", draw),
        Drawing("none", "Nothing", "Not run.", lambda results: None),
    ),
)


def planted(root, scale="quick", seeds=3, study=STUDY, lacks_ds=("B",)):
    """Cell k has DtO k + 0.1, + 0.2, ... and DS 10 + k; both easily told from the published."""
    outcomes = []
    for k, cell in enumerate(study.cells(scale)):
        runs = []
        for config in cell.configs(seeds):
            path = folder(config, root)
            path.mkdir(parents=True, exist_ok=True)
            (path / "environment.json").write_text('{"unpick": "9.9", "torch": "8", "cores": 4}')
            runs.append(Run(path, config, {"seconds": 60.0}))
        values = {"DtO": k + np.arange(1, seeds + 1) / 10, "chance": np.full(seeds, 0.31)}
        if cell.column not in lacks_ds:
            values["DS"] = np.full(seeds, 10.0 + k)
        outcomes.append(Outcome(cell, tuple(runs), values, study.departures(cell)))
    return judge(Results(study, scale, tuple(outcomes)))


def printed(results, width=100):
    stream = io.StringIO()
    show_results(results, Console(file=stream, width=width))
    return stream.getvalue()


def test_numbers_stand_in_their_columns(tmp_path):
    results = planted(tmp_path)
    table = study_table(results)
    assert table.columns == (
        *("", "DtO", "chance", "published", "in SE", "DS", "published", "in SE"),
    )
    assert table.caption.startswith("Scale quick: mean ± standard deviation over 3 seeds.")
    heads = [row[0] for row in table.rows if not any(map(str, row[1:]))]
    assert heads == ["line & <co>", "other"]
    first, second, third, last = [
        tuple(map(str, row)) for row in table.rows if any(map(str, row[1:]))
    ]
    # ours 0.2 +- 0.1 of 3 seeds, published 0.77 +- 0.11 of 10, printed to 0.01
    differs = (0.2 - 0.77) / np.sqrt(0.1**2 / 3 + 0.11**2 / 10 + 0.01**2 / 12)
    assert first[:5] == ("A (1)", "0.20 ± 0.10", "0.31", "0.77 ± 0.11", f"{differs:+.1f}")
    assert first[5:8] == ("10.00 ± 0.00", "0.66 ± 0.10", f"+{first[7][1:]}")
    assert second == ("B (1)", "1.20 ± 0.10", "0.31", *[""] * 5)
    assert third[1] == "2.20 ± 0.10"
    assert last[0] == "nothing learned"
    assert table.footnotes == (
        "(1) steps 100 instead of 187200",
        "without a mark: as published",
    )


def test_numbers_of_seeds_have_a_column_where_they_differ(tmp_path):
    """And a value that only some seeds have says how many."""
    results = planted(tmp_path)
    one, two, *rest = results.outcomes
    fewer = replace(one, runs=one.runs[:2], values={"DtO": np.array([0.1, 0.2])})
    values = {"DtO": np.array([0.1, np.nan, 0.3]), "DS": np.full(3, np.nan)}
    table = study_table(replace(results, outcomes=(fewer, replace(two, values=values), *rest)))
    assert table.columns[-1] == "seeds"
    rows = [tuple(map(str, row)) for row in table.rows]
    assert [row[-1] for row in rows] == ["", "2", "3", "", "3", "3"]
    assert rows[2][1] == "0.20 ± 0.14 (2 of 3 seeds)"
    assert rows[2][table.columns.index("DS")] == "\N{EN DASH}"


def test_published_values_never_stand_as_ours(tmp_path):
    """Cells that lack a measure stay empty, though the paper has it."""
    results = planted(tmp_path, lacks_ds=("A", "B"))
    table = study_table(results)
    ours, beside = table.columns.index("DS"), table.columns.index("DS") + 1
    row = table.rows[1]
    assert row[ours : beside + 1] == ("", "0.66 ± 0.10")
    for row in table.rows:
        for name, cell in zip(table.columns, row, strict=True):
            assert ("0.66" in str(cell) or "0.77" in str(cell)) <= (name == "published")
            assert isinstance(cell, Link) == (name in results.study.measures and cell != "")


def test_formats_follow_the_measure(tmp_path):
    cell = Cell("r", "c", BASE, published={"settled": Printed(97.8)})
    study = replace(STUDY, cells=lambda scale: [cell], measures=("settled", "Delta_KL", "DtO"))
    run = Run(tmp_path / "x", BASE, {"seconds": 1.0})
    values = {"settled": np.array([98.44]), "Delta_KL": np.array([0.0123]), "DtO": np.array([0.5])}
    table = study_table(Results(study, "paper", (Outcome(cell, (run,), values),)))
    assert table.columns == ("", "settled", "published", "Delta_KL", "DtO")
    shown = tuple(map(str, table.rows[1]))
    assert shown == ("c", "98.4 %", "97.8 %", "0.0123", "0.50")
    assert table.caption.startswith("Scale paper: one seed.")


def test_the_site_leads_from_every_number_to_its_runs(tmp_path):
    results = planted(tmp_path / "runs")
    index = write_site([results, judge(Results(STUDY, "standard"))], tmp_path / "report")
    page = Page(tmp_path / "report" / "toy-quick.html")
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert len(inner) == 4
    assert inner == {*page.ids}
    assert len(page.ids) == len({*page.ids})
    for link in (*page.links, *page.images, *Page(index).links):
        assert link.startswith("#") or (tmp_path / "report" / link).is_file()
    assert page.images == ["figures/toy-quick-dots.svg"]
    assert "figures/toy-quick-dots.pdf" in page.links
    text = (tmp_path / "report" / "toy-quick.html").read_text()
    for outcome in results.outcomes:
        for run in outcome.runs:
            assert run.path.name in text
    assert "&#34;steps&#34;: 100" in text  # the configuration
    assert "&#34;torch&#34;: &#34;8&#34;" in text  # the environment
    readings = [row for row in page.rows if len(row) == 5 and row[0] in "012"]
    assert ["1", "0.2", "0.31", "10", "60"] in readings
    assert command(results) == "unpick study toy --scale quick"
    assert command(results) in text
    assert "Second &lt;i&gt; <code>code</code>." in text
    assert "line &amp; &lt;co&gt;" in text
    assert "http" not in text + index.read_text()


def test_the_index_counts(tmp_path):
    computed = Study("sum", "Sums", "Somebody (1950), 3", "", claims=CLAIMS[:1])
    both = [planted(tmp_path / "runs"), planted(tmp_path / "runs", "standard", 2)]
    index = write_site([*both, judge(Results(computed, "quick"))], tmp_path)
    rows = [row for row in Page(index).rows if any(row[1:]) and row[0]]
    assert rows == [
        ["quick", "1", "1", "1", "1", "12 min"],
        ["standard", "1", "1", "1", "1", "8 min"],
        ["quick", "1", "0", "0", "0", "none"],
    ]
    text = index.read_text()
    assert text.index("Nobody (1900)<") < text.index("toy: A toy") < text.index("Somebody (1950)<")
    assert "sum-quick.html" in Page(index).links


def test_a_site_is_the_same_bytes_twice(tmp_path):
    for name in ("one", "two"):
        write_site([planted(tmp_path / "runs")], tmp_path / name)
    files = [f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*.*")]
    assert len(files) == 4
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_damaged_environments_cost_nothing_else(tmp_path):
    results = planted(tmp_path / "runs")
    for k, content in enumerate((b"{", b"\xff", b"null")):
        (results.outcomes[k].runs[0].path / "environment.json").write_bytes(content)
    write_site([results], tmp_path)
    text = (tmp_path / "toy-quick.html").read_text()
    assert text.count("&#34;environment.json&#34;: &#34;cannot be read&#34;") == 3
    markdown = write_markdown(results, tmp_path).read_text()
    assert "- unpick 9.9\n- torch 8\n- environment.json cannot be read" in markdown


def test_runs_are_told_without_places_of_this_machine(tmp_path):
    """And a seed without a value has none."""
    results = planted(tmp_path / "runs")
    first, *rest = results.outcomes
    config = replace(first.runs[0].config, data=MNIST(path="/home/somebody/mnist"))
    runs = (replace(first.runs[0], config=config), *first.runs[1:])
    first = replace(first, runs=runs, values={"DtO": np.array([0.125, np.nan, 0.5])})
    write_site([replace(results, outcomes=(first, *rest))], tmp_path)
    assert "somebody" not in (tmp_path / "toy-quick.html").read_text()
    rows = Page(tmp_path / "toy-quick.html").rows
    assert rows[rows.index(["seed", "DtO", "seconds"]) + 2] == ["1", "\N{EN DASH}", "60"]


def test_a_figure_that_fails_costs_only_itself(tmp_path):
    broken = replace(STUDY, drawings=(Drawing("bad", "Bad", "", fail), *STUDY.drawings))
    write_site([planted(tmp_path / "runs", study=broken)], tmp_path)
    text = (tmp_path / "toy-quick.html").read_text()
    assert "Bad: could not be drawn" in text
    assert "log.jsonl cannot be read" in text
    assert Page(tmp_path / "toy-quick.html").images == ["figures/toy-quick-dots.svg"]
    assert text.rstrip().endswith("</html>")


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A disk that fills up leaves the page before as it was."""

    def full(descriptor):
        raise OSError("no space left")

    write_page(tmp_path, "old", [], [], [], "x")
    before = (tmp_path / "index.html").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_page(tmp_path, "new", [], [], [], "x")
    assert (tmp_path / "index.html").read_bytes() == before


def test_what_is_missing_is_told(tmp_path):
    whole = planted(tmp_path / "runs")
    part = replace(whole, outcomes=whole.outcomes[:2], missing=("other: no file at /x",))
    write_site([part], tmp_path)
    text = (tmp_path / "toy-quick.html").read_text()
    for shown in (text, printed(part)):
        assert "other: no file at /x" in shown
        assert "No runs of other, A; other, nothing learned." in shown
    markdown = write_markdown(part, tmp_path).read_text()
    assert "No runs of other, A; other, nothing learned." in markdown
    assert "/x" not in markdown  # a path of this machine
    diverged = replace(whole, missing=("other, A, seed 2: left out.",))
    assert "- other, A, seed 2: left out." in write_markdown(diverged, tmp_path).read_text()
    assert "No runs" not in printed(whole)


def test_the_terminal_shows_table_and_verdicts(tmp_path):
    long = replace(BASE, steps=7, batch=8, model=replace(BASE.model, latents=9))
    results = planted(tmp_path)
    cell = replace(results.outcomes[0].cell, config=long)
    odd = replace(results.outcomes[0], cell=cell, departs="size 32 instead of 64, " * 5 + "end")
    shown = printed(replace(results, outcomes=(odd, *results.outcomes[1:])))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100
    assert "…" not in shown
    assert any(re.match(r"^ *A \(1\) +0\.20 ± 0\.10 .*10\.00 ± 0\.00", line) for line in lines)
    assert any(re.match(r"^ *nothing learned +3\.20", line) for line in lines)
    assert "over 3 seeds" in " ".join(shown.split())
    assert "(1) size 32 instead of 64" in shown
    assert "without a mark: as published" in shown
    assert "holds a < b\n  0.1 < 0.2 [bold]" in shown  # markup is text
    assert "fails c" in shown
    assert "not measured d" in shown
    assert "undecided e\n  0.1 to 0.2" in shown
    assert shown.endswith("again: unpick study toy --scale quick\n")


def test_tables_of_computed_numbers_stand_on_every_page(tmp_path):
    """Beside the table of the cells, and alone if there are none."""
    table = Table("Counted.", ("", "ours", "printed"), (("a", "1.5", "1.6"),))
    whole = replace(STUDY, drawings=(), tables=lambda results: [table])
    alone = replace(whole, cells=lambda scale: ())
    for results in (planted(tmp_path / "runs", study=whole), judge(Results(alone, "quick"))):
        assert "| a | 1.5 | 1.6 |" in write_markdown(results, tmp_path / "md").read_text()
        assert re.search(r"a +1.5 +1.6", printed(results))
        page = Page(write_study(results, claim_notes(results), tmp_path))
        assert ["a", "1.5", "1.6"] in page.rows


def test_a_narrow_terminal_gets_as_many_tables_as_it_needs(tmp_path):
    results = planted(tmp_path)
    captions = [printed(results, width).count("Scale quick: mean") for width in (100, 70)]
    assert captions == [1, 2]
    shown = printed(results, 70)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 70
    distance, score = shown.split("10.00 ± 0.00")
    assert "1.20 ± 0.10" in distance
    assert not re.search(r"^ *B \(", score, re.M)  # it has no DS
    assert shown.count("(1) steps 100 instead of 187200") == 1


def test_verdicts_have_words_and_marks(tmp_path):
    notes = claim_notes(planted(tmp_path))
    assert [(note.word, note.mark) for note in notes] == [
        ("holds", "good"),
        ("fails", "bad"),
        ("not measured", "note"),
        ("undecided", "note"),
    ]


def test_markdown_is_the_same_twice_and_traces_every_number(tmp_path):
    results = planted(tmp_path / "runs")
    for name in ("one", "two"):
        write_markdown(results, tmp_path / name)
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*.*"))
    assert list(map(str, files)) == ["figures/toy-dots.svg", "toy.json", "toy.md"]
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    text = (tmp_path / "one" / "toy.md").read_text()
    assert "| A (1) | 0.20 ± 0.10 | 0.31 | 0.77 ± 0.11 |" in text
    assert "![Dots](figures/toy-dots.svg)" in text
    assert "- **fails**: c" in text
    assert "unpick 9.9" in text
    assert "training: 12 min in total" in text
    assert "<i>" not in text
    document = json.loads((tmp_path / "one" / "toy.json").read_text())
    for entry, outcome in zip(document["cells"], results.outcomes, strict=True):
        assert entry["departs"] == outcome.departs
        assert [run["folder"] for run in entry["runs"]] == [run.path.name for run in outcome.runs]
        for measure, values in outcome.values.items():
            assert [run["values"][measure] for run in entry["runs"]] == values.tolist()


def test_text_of_cells_is_never_markup():
    stream = io.StringIO()
    rows = (("[red]x", Link("[b]", "#y")),)
    print_table(Table("[i]cap", ("[u]", "v"), rows), Console(file=stream, width=40))
    assert all(text in stream.getvalue() for text in ("[red]x", "[b]", "[i]cap", "[u]"))


def test_scales_without_runs_of_their_own_are_left_out(tmp_path):
    quick, paper = planted(tmp_path), planted(tmp_path, "paper")
    shared = replace(paper, outcomes=paper.outcomes[-1:])
    none = Results(STUDY, "standard")
    assert distinct([quick, none, shared]) == [quick]
    assert distinct([quick, none, paper]) == [quick, paper]
    assert distinct([replace(quick, outcomes=quick.outcomes[-1:]), none, paper]) == [paper]


def test_the_command_names_seeds_only_where_it_must(tmp_path):
    usual, four = planted(tmp_path), planted(tmp_path, seeds=4)
    mixed = replace(usual, outcomes=(*four.outcomes[:1], *usual.outcomes[1:]))
    assert command(usual) == command(mixed) == "unpick study toy --scale quick"
    assert command(four) == "unpick study toy --scale quick --seeds 4"
    assert command(Results(STUDY, "paper")) == "unpick study toy --scale paper"


def shorten_the_ledger(monkeypatch):
    """The whole takes a quarter of a minute; its page has tests of its own."""
    few = ledgers.ledger(["Z-L1"])
    monkeypatch.setattr(ledgers, "ledger", lambda on_progress: few)
    monkeypatch.setattr(ledger_page, "DRAWINGS", ())


@pytest.mark.slow
def test_report_reads_what_is_on_disk(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shorten_the_ledger(monkeypatch)
    tiny = replace(BASE, data=replace(BASE.data, points=2000), steps=2)
    small = replace(
        STUDY,
        cells=lambda scale: [Cell("r", "c", replace(tiny, steps=0 if scale == "quick" else 2))],
    )
    monkeypatch.setattr(papers, "STUDIES", {"toy": small}, raising=False)
    with pytest.raises(SystemExit) as stop:
        report([])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "no finished runs" in error
    assert "unpick study" in error
    assert not Path("report").exists()
    make(small.cells("quick")[0].configs(2), Runner(Path("runs"), jobs=1, progress=False))
    report(["--markdown", "docs"])
    assert "report/index.html" in capsys.readouterr().out
    assert Path("report/toy-quick.html").exists()
    assert not Path("report/toy-paper.html").exists()
    document = json.loads(Path("docs/toy.json").read_text())
    assert [run["seed"] for run in document["cells"][0]["runs"]] == [0, 1]
    assert document["cells"][0]["departs"] == "steps 0 instead of 2"
    make(small.cells("quick")[0].configs(1), Runner(Path("fewer"), jobs=1, progress=False))
    page = Path("docs/toy.md").read_bytes()
    Path("docs/toy.md").write_bytes(page.replace(b"**holds**", b"**fails**"))
    report(["--runs", "fewer", "--markdown", "docs"])
    assert "judged again, made of more runs than are in fewer: toy.md" in capsys.readouterr().out
    assert Path("docs/toy.md").read_bytes() == page
    report(["--runs", "runs", "--markdown", "docs"])
    assert "judged again" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "pages"),
    [
        ([], ["toy-quick.html"]),
        (["sum"], ["sum-quick.html"]),
        (["ledger", "toy"], ["toy-quick.html", "ledger.html"]),
        (["all"], ["sum-quick.html", "toy-quick.html", "ledger.html"]),
    ],
)
def test_the_report_shows_what_was_asked_for(names, pages, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    computed = Study("sum", "Sums", "Somebody (1950), 3", "", claims=CLAIMS[:1])
    monkeypatch.setattr(papers, "STUDIES", {"sum": computed, "toy": STUDY}, raising=False)
    with pytest.raises(SystemExit) as stop:
        report([])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("no finished runs of a study in runs") == 1
    found = planted(Path("runs"))

    def planted_or_judged(study, scale):
        return judge(Results(study, scale)) if study is computed else replace(found, scale=scale)

    monkeypatch.setattr(
        study, "collect", lambda study, scale, root, on_progress: planted_or_judged(study, scale)
    )
    monkeypatch.setattr("unpick.study.running.finished", lambda cell, root: found.outcomes[0].runs)
    shorten_the_ledger(monkeypatch)
    report([*names, "--markdown", "markdown"])
    assert Page(Path("report/index.html")).links == pages
    assert Path("report/ledger.html").exists() == ("ledger.html" in pages)
    assert Path("markdown/ledger.md").exists() == ("ledger.html" in pages)


def test_a_study_that_only_shares_runs_was_not_run():
    a, b, c = map(Path, "abc")
    whole, borrows, more, both = [{a}, {b}], [{a}, set(), set()], [{a}, {c}, set()], [{a}, {b}]
    found = {
        ("whole", "quick"): whole,
        ("borrows", "quick"): borrows,
        ("more", "standard"): more,  # has a run of its own
        ("both", "quick"): both,  # is complete
    }
    assert [name for name, _ in own_studies(found)] == ["whole", "more", "both"]
    scales = {
        ("one", "quick"): borrows,
        ("one", "standard"): whole,
    }  # `distinct` tells scales apart
    assert own_studies(scales) == list(scales)


def test_the_verb_imports_nothing_heavy():
    code = "import sys, unpick.cli.report; print({'torch', 'jinja2', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
