"""What README, tables and pages say must be what the results say; what runs is in `test_docs`."""

import json
import re
import shutil
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from unpick.papers import STUDIES
from unpick.papers.ledger import LEDGER
from unpick.report.stored import judge_page
from unpick.report.study import DIGITS

HOUSE = Path(__file__).parent.parent
README = (HOUSE / "README.md").read_text()
RESULTS = HOUSE / "docs" / "results"
TABLES = (RESULTS / "tables.md").read_text()


def spread(cell, measure):
    """As the tables print it."""
    values, digits = [run["values"][measure] for run in cell["runs"]], DIGITS.get(measure, 2)
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def table(*measures, page=TABLES):
    """By data set and model: the numbers of the table with these columns and published ones."""
    columns = [column for measure in measures for column in (measure, "published")]
    header = f"| data | model | {' | '.join(columns)} |\n"
    body = page.split(header)[1].split("\n\n")[0]
    lines = [line.strip("|").split("|") for line in body.splitlines()[1:]]
    return {
        (data.strip("` "), model.strip()): [number.strip() for number in numbers]
        for data, model, *numbers in lines
    }


def beside(cell, measures):
    """What such a line should say: ours and the published number, each measure."""
    pairs = [(spread(cell, name), cell["published"][name]) for name in measures]
    return [text for pair in pairs for text in pair]


def cells_of(*studies):
    documents = [json.loads((RESULTS / f"{study}.json").read_text()) for study in studies]
    return {
        (cell["row"], cell["column"]): cell for document in documents for cell in document["cells"]
    }


def test_numbers_of_chapter_4_are_those_of_the_results():
    found = cells_of("thesis-4")
    told = table("original", "perturbed", "noisy")
    assert len(told) > 5
    for (data, method), numbers in told.items():
        rows = [f"{data}, {twin}" for twin in ("original", "perturbed", "noisy")]
        cells = [found[row, method] for row in rows]
        assert numbers == [text for cell in cells for text in beside(cell, ["MIG"])]


@pytest.mark.parametrize(("page", "least"), [(TABLES, 19), (README, 8)])
def test_numbers_of_chapter_3_are_those_of_the_results(page, least):
    told, found = table("DtO", "DS", page=page), cells_of("thesis-3.3", "thesis-3.4")
    assert len(told) >= least
    for key, numbers in told.items():
        measures = ["DtO", "DS"] if all(numbers) else ["DtO"]  # digits and clothes have no factors
        assert [number for number in numbers if number] == beside(found[key], measures)


def test_numbers_of_bhowal_are_those_of_the_results():
    measures = ["MIG", "MIG-sup", "OD-Score"]
    told, found = table(*measures), cells_of("bhowal-scores")
    assert told.keys() == found.keys()
    for key, numbers in told.items():
        assert numbers == beside(found[key], measures)


@pytest.mark.parametrize(
    "study",
    [s for s in STUDIES.values() if s.stores_computed or not s.computed],
    ids=lambda s: s.name,
)
def test_stored_verdicts_are_those_of_the_code(study, tmp_path):
    for suffix in (".md", ".json"):
        shutil.copy(RESULTS / f"{study.name}{suffix}", tmp_path)
    judge_page(study, tmp_path, tmp_path)
    for suffix in (".md", ".json"):
        file = f"{study.name}{suffix}"
        assert (tmp_path / file).read_text() == (RESULTS / file).read_text()


def test_a_page_is_told_in_the_words_of_today(tmp_path):
    """Its table and notes, too; the numbers of its runs, their seeds and figures stay."""
    study = STUDIES["thesis-3.4"]
    for suffix in (".md", ".json"):
        shutil.copy(RESULTS / f"{study.name}{suffix}", tmp_path)

    def noted(scale):
        return [replace(cell, note="another note") for cell in study.cells(scale)]

    before = json.loads((tmp_path / "thesis-3.4.json").read_text())
    judge_page(replace(study, about="Other words.", cells=noted), tmp_path, tmp_path)
    page, after = ((tmp_path / f"thesis-3.4.{suffix}").read_text() for suffix in ("md", "json"))
    assert "Other words." in page
    assert "another note" in page
    assert (
        page.split("## Figures")[1]
        == (RESULTS / "thesis-3.4.md").read_text().split("## Figures")[1]
    )
    runs = [
        [cell["runs"] for cell in document["cells"]] for document in (before, json.loads(after))
    ]
    assert runs[0] == runs[1]


def test_verdicts_are_those_of_the_results():
    """And what was measured is told in the same words."""
    line = r"^\| \[([\w-]+)\]\(\1\.md\) \| [^|]+ \| ([a-z]+) \| ([^|]+) \|$"
    told = re.findall(line, TABLES, re.MULTILINE)
    assert len(told) > 10
    for study, verdict, measured in told:
        claims = json.loads((RESULTS / f"{study}.json").read_text())["claims"]
        assert any(c["verdict"] == verdict and measured in c["evidence"] for c in claims), measured


def test_numbers_of_the_explanations_are_those_of_the_results():
    page = (HOUSE / "docs" / "explanations.md").read_text()
    header, body = re.search(r"^(\| data, beta \|.*)\n\|---.*\n((?:\|.*\n)+)", page, re.M).groups()
    measures = header.strip("| ").split(" | ")[1:-1]
    kept = json.loads((RESULTS / "explanations.json").read_text())["cells"]
    cells = [c for c in kept if c["row"].endswith(", beta") and "DtO" in c["runs"][0]["values"]]
    lines = body.splitlines()
    for cell, line in zip(cells, lines, strict=True):
        for measure, text in zip(measures, line.strip("| ").split(" | ")[1:], strict=False):
            values = [run["values"].get(measure) for run in cell["runs"]]
            mean = statistics.mean(value for value in values if value is not None)
            told = text.split()[0]
            assert told == f"{mean:.{len(told.split('.')[1])}f}", (cell["column"], measure)


def test_results_have_no_places_of_a_machine_in_them():
    for file in RESULTS.glob("*"):
        if file.suffix in (".md", ".json"):
            assert "/tmp" not in file.read_text()
            assert "/home" not in file.read_text()


def test_the_ledger_is_counted_right():
    kept = json.loads((RESULTS / "ledger.json").read_text())
    counts = Counter(entry["verdict"] for entry in kept)
    told = (
        f"{len(kept)} claims](ledger.md), of which {counts['holds']} hold, "
        f"{counts['holds after correction']} hold after correction, "
        f"{counts['approximate']} hold approximately with their error measured, "
        f"{counts['does not follow as printed']} do not follow as printed"
    )
    assert told in " ".join(TABLES.split())
    short = (
        f"{len(kept)} claims](docs/results/ledger.md): {counts['holds']} hold, "
        f"{counts['holds after correction']} hold after correction, "
        f"{counts['approximate']} hold approximately, "
        f"{counts['does not follow as printed']} do not follow as printed"
    )
    assert short in " ".join(README.split())
    assert sum(counts.values()) == len(kept) == len(LEDGER)
    for name in re.findall(r"^\| ([ABZ]-[A-Z][\d.]+) \|", TABLES, re.MULTILINE):
        assert LEDGER[name].correction.changes == "claim"


def test_the_theory_page_runs(capsys):
    page = (HOUSE / "docs" / "theory.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    assert "3.31" in capsys.readouterr().out  # 2 sqrt(150) e^-2
