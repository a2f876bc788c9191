"""Imports go along the arrows of the design only."""

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
    {"runs", "geometry", "metrics", "figures"},
    {"theory", "perturb"},
    {"studies"},
    {"report"},
    {"explore"},
    {"demo", "diagnosis", "estimator", "arguments"},
    {"stress"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
# geometry, metrics and theory know arrays and callables, never a run folder or a trained model.
NEVER = {name: {"runs", "training"} for name in ("geometry", "metrics", "theory", "figures")}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("unpick.")} & RANK.keys()


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda f: f.stem)
def test_imports_flow_one_way(file):
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for other in imports(file) - {own}:
        assert RANK[other] < RANK[own], f"{file.name} of {own} imports {other}"
        assert other not in NEVER.get(own, ()), f"{own} must not know {other}"


def test_importing_unpick_imports_nothing_else():
    code = "import sys, unpick; print({'torch', 'numpy', 'unpick.diagnosis'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert unpick.diagnose is unpick.diagnosis.diagnose
    with pytest.raises(AttributeError, match="diagnoze"):
        _ = unpick.diagnoze


def test_no_house_rule_file_names():
    forbidden = {"utils", "helpers", "base", "common", "misc", "core"}
    assert not [file for file in SOURCE.rglob("*.py") if file.stem in forbidden]
