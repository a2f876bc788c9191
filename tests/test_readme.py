"""What the README shows must run, and what it says must be true."""

import json
import re
import statistics
from collections import Counter
from pathlib import Path

from unpick.cli import HELP
from unpick.cli.train import train_options
from unpick.theory import LEDGER

HOUSE = Path(__file__).parent.parent
README = (HOUSE / "README.md").read_text()
RESULTS = HOUSE / "docs" / "results"


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shortened = code.replace("steps=5000", "steps=20")
    assert shortened != code
    exec(shortened, {})
    assert "by chance" in capsys.readouterr().out


def test_the_commands_exist():
    commands = re.findall(r"^    unpick (\w+) ([^#\n]*)", README, re.MULTILINE)
    assert len(commands) >= 5
    for verb, arguments in commands:
        assert f"\n  {verb}" in HELP
        if verb == "train":
            train_options(arguments.split())


def spread(cell, measure):
    """As the tables print it."""
    values = [run["values"][measure] for run in cell["runs"]]
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def lines_of_tables(columns):
    """The numbers behind data set and method, of tables with so many columns of them."""
    lines = [line.strip("| ").split(" | ") for line in README.splitlines() if " ± " in line]
    return {
        (data.strip("`"), method): [number.strip("* ") for number in numbers]
        for data, method, *numbers in lines
        if len(numbers) in columns
    }


def cells_of(*studies):
    documents = [json.loads((RESULTS / f"{study}.json").read_text()) for study in studies]
    return {
        (cell["row"], cell["column"]): cell for document in documents for cell in document["cells"]
    }


def test_numbers_of_chapter_4_are_those_of_the_results():
    told, found = lines_of_tables({6}), cells_of("thesis-4")
    assert len(told) > 5
    for (data, method), numbers in told.items():
        cells = [found[f"{data}, {twin}", method] for twin in ("original", "modified", "noise")]
        expected = [(spread(cell, "MIG"), cell["published"]["MIG"]) for cell in cells]
        assert numbers == [text for pair in expected for text in pair]


def test_reproduced_numbers_are_those_of_the_results():
    """Every line of the tables of chapter 3, against the readings that were kept."""
    told, found = lines_of_tables({2, 3, 4}), cells_of("thesis-3.3", "thesis-3.4")
    assert len(told) > 15
    for key, (dto, dto_published, *rest) in told.items():
        cell = found[key]
        assert dto == spread(cell, "DtO")
        assert dto_published == cell["published"]["DtO"]
        if any(rest):
            assert rest == [spread(cell, "DS"), cell["published"]["DS"]]


def test_results_have_no_places_of_a_machine_in_them():
    for file in RESULTS.glob("*"):
        if file.suffix in (".md", ".json"):
            assert "/tmp" not in file.read_text()
            assert "/home" not in file.read_text()


def test_the_ledger_is_counted_right():
    kept = json.loads((RESULTS / "ledger.json").read_text())
    counts = Counter(entry["verdict"] for entry in kept)
    told = (
        f"{len(kept)} claims](docs/results/ledger.md), of which {counts['holds']} hold, "
        f"{counts['holds after correction']} hold after correction, "
        f"{counts['approximate']} hold approximately with their error measured, "
        f"{counts['does not follow as printed']} do not follow as printed"
    )
    assert told in " ".join(README.split())
    assert sum(counts.values()) == len(kept) == len(LEDGER)
    for name in re.findall(r"^\| ([ABZ]-[A-Z][\d.]+) \|", README, re.MULTILINE):
        assert LEDGER[name].correction.changes == "claim"


def test_the_theory_page_runs(capsys):
    page = (HOUSE / "docs" / "theory.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    assert "3.31" in capsys.readouterr().out  # 2 sqrt(150) e^-2
