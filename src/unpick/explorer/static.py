"""The page as one file without a server: frames that were computed before."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unpick.explorer import panels
from unpick.explorer.pictures import rounded
from unpick.explorer.server import asset
from unpick.explorer.subject import Subject
from unpick.runs.disk import write

ROWS = 6  # observations of a model


def write_static(subjects: Sequence[Subject], folder: Path, rows: int = ROWS) -> Path:
    """Write `index.html`, which holds its own data and needs no other file.

    A slider shows the nearest stored frame of one latent moved alone.

    Args:
        subjects: The models.
        folder: Where to write.
        rows: Observations to start from.
    """
    if not subjects:
        raise ValueError("there is no finished model to write a page about")
    stored = {"models": {subject.name: _store(subject, rows) for subject in subjects}}
    data = json.dumps(stored).replace("<", "\\u003c")  # no name can end the script element
    page = asset("index.html")
    script = asset("charts.js").replace("export ", "") + _without_import(asset("app.js"))
    page = page.replace(
        '<link rel="stylesheet" href="style.css">', f"<style>{asset('style.css')}</style>"
    ).replace('<script type="module" src="app.js"></script>', "")
    ending = (
        f'<script type="application/json" id="data">{data}</script>'
        f'<script type="module">{script}</script></body>'
    )
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "index.html", page.replace("</body>", ending).encode())
    return folder / "index.html"


def _without_import(script: str) -> str:
    lines = script.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("import "))


def _store(subject: Subject, rows: int) -> dict[str, Any]:
    """All answers that the page may ask for about a model."""
    probe = subject.probe
    stored: dict[str, Any] = {
        "describe": panels.describe(subject),
        "words": panels.words(subject),
        "rows": {},
    }
    for k in range(min(rows, len(probe))):
        row = k * len(probe) // min(rows, len(probe))
        z = probe.mean[row].cpu().double()
        found = {
            "start": panels.start(subject, row),
            "traversals": panels.traversals(subject, z),
            "geometry": panels.geometry(subject, z),
        }
        if stored["describe"]["kind"] == "cloud":
            found["cloud"] = panels.cloud(subject, z)
        if pair := found["geometry"].get("pair"):
            found["plane"] = panels.plane(subject, z, pair)
        stored["rows"][str(row)] = found
    if probe.factors is not None:
        try:
            stored["information"] = panels.information(subject)
        except ValueError as error:  # as the server answers: few observations, or one latent
            stored["information"] = {"error": str(error)}
        stored["codes"] = rounded(probe.mean[: panels.CLOUD].cpu(), 4)
        values = probe.factors[: panels.CLOUD].T
        stored["factorValues"] = {
            name: rounded(column, 4)
            for name, column in zip(probe.factor_names, values, strict=True)
        }
    return stored
