"""Imports go along the arrows of the design only, and papers stand apart from the library."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import unpick

SOURCE = Path(unpick.__file__).parent
ORDER = [
    {"data"},
    {"models"},
    {"objectives"},
    {"training"},
    {"geometry", "metrics", "plots"},
    {"runs"},
    {"theory", "probe", "pages"},
    {"perturb", "diagnosis", "forecasting", "estimator"},
    {"study"},
    {"papers"},
    {"report", "explorer"},
    {"demo", "arguments"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
# geometry, metrics and theory know arrays and callables, never a run folder or a trained model.
NEVER = {name: {"runs", "training"} for name in ("geometry", "metrics", "theory", "plots")}
PAPERS = sorted(
    folder.name for folder in (SOURCE / "papers").iterdir() if (folder / "__init__.py").exists()
)
# Claims and readings are numbers; they never import what draws.
NUMBERS = {"claims", "readings", "cells", "settings"}
FILES = sorted(SOURCE.rglob("*.py"))


def imports(file: Path) -> set[str]:
    """The full names of what a file imports, `unpick.` taken off."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("unpick.") for name in found if name.startswith("unpick.")}


def name_of(file: Path) -> str:
    return str(file.relative_to(SOURCE))


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_imports_flow_one_way(file):
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        return
    for other in {name.split(".")[0] for name in imports(file)} & RANK.keys() - {own}:
        assert RANK[other] < RANK[own], f"{file.name} of {own} imports {other}"
        assert other not in NEVER.get(own, ()), f"{own} must not know {other}"


def test_every_room_has_a_place_in_the_order():
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name[0] != "_"}
    assert rooms - RANK.keys() == {
        "arrays",
        "devices",
        "names",
        "notebook",
        "py.typed",
        "source_files",
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_no_paper_imports_another(paper):
    others = {f"papers.{other}" for other in PAPERS} - {f"papers.{paper}"}
    for file in (SOURCE / "papers" / paper).rglob("*.py"):
        for name in imports(file):
            assert ".".join(name.split(".")[:2]) not in others, f"{name_of(file)} imports {name}"


@pytest.mark.parametrize("file", [f for f in FILES if f.stem in NUMBERS], ids=name_of)
def test_claims_do_not_import_figures(file):
    drawn = {name for name in imports(file) if "plots" in name or "figures" in name}
    assert not drawn


def test_importing_unpick_imports_nothing_else():
    code = "import sys, unpick; print({'torch', 'numpy', 'unpick.diagnosis'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert unpick.diagnose is unpick.diagnosis.diagnose
    with pytest.raises(AttributeError, match="diagnoze"):
        _ = unpick.diagnoze


def test_no_house_rule_file_names():
    forbidden = {"utils", "helpers", "base", "common", "misc", "core"}
    assert not [file for file in FILES if file.stem in forbidden]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_nothing_that_only_posix_has_is_imported_with_a_module(file):
    """On Windows such an import would break all that imports the module."""
    if file.relative_to(SOURCE).parts[0] == "runs":  # locks of run folders
        return
    tree = ast.parse(file.read_text())
    names = {a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not names & {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
