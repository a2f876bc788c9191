"""The main claim in three minutes: only a diagonal posterior aligns the latent space.

Runs three studies on embedded data at their smallest scale, and writes a report of them.
"""

import time
from pathlib import Path

from rich.console import Console

from unpick.papers import STUDIES
from unpick.report import show_results, write_site
from unpick.runs import Runner
from unpick.study import run

SHOWN = ("thesis-3.3", "surfaces", "budget")


def demo(report: Path, runs: Path) -> Path:
    """Train what is missing, measure, print the tables, write the report; return its page."""
    started = time.monotonic()
    console, all_results = Console(), []
    for name in SHOWN:
        all_results.append(run(STUDIES[name], "quick", Runner(runs)))
        show_results(all_results[-1], console)
    page = write_site(all_results, report)
    console.print(f"{time.monotonic() - started:.0f} s; report: {page}")
    return page
