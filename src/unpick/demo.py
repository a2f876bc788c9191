"""The main claim in three minutes: only a diagonal posterior aligns the latent space.

Runs three studies on embedded data at their smallest scale, and writes a report of them.
"""

import time
from pathlib import Path

from rich.console import Console

from unpick.pages.page import Note, Picture
from unpick.papers import STUDIES
from unpick.report import show_results, write_site
from unpick.report.study import claim_notes
from unpick.runs import Runner
from unpick.study import Results, run

SHOWN = ("thesis-3.3", "surfaces", "budget")
MAIN, DATA = SHOWN[0], "synth-lin"  # the study and the data set of the picture on the first page


def demo(report: Path, runs: Path) -> Path:
    """Train what is missing, measure, print the tables, write the report; return its page."""
    started = time.monotonic()
    console, all_results = Console(), []
    for name in SHOWN:
        all_results.append(run(STUDIES[name], "quick", Runner(runs)))
        show_results(all_results[-1], console)
    lead, picture = explain(all_results[0])
    page = write_site(
        all_results,
        report,
        title="Why a VAE disentangles: the demo",
        lead=lead,
        pictures=[picture],
        made_by="unpick demo",
    )
    console.print(f"{time.monotonic() - started:.0f} s; report: {page}")
    return page


def explain(results: Results) -> tuple[list[Note], Picture]:
    """What was done and found, and the picture that shows it."""
    columns = results.rows()[DATA]
    others = " and ".join(
        f"{columns[name].mean('DtO'):.2f} ({name})" for name in ("AE", "full covariance")
    )
    lead = [
        Note(
            "A square of two factors lies stretched and turned in space. Three kinds of models "
            "learn its points: a beta-VAE, an autoencoder (AE), and a VAE whose posterior has a "
            "full covariance. Nothing tells them what the factors are."
        ),
        Note(
            "The distance to orthogonality (DtO) is 0 if each latent follows one singular "
            "direction of the decoder. Here that of the beta-VAE is "
            f"{columns['beta-VAE'].mean('DtO'):.2f}, against {others}; a random rotation has "
            f"{columns['beta-VAE'].mean('chance'):.2f}. A diagonal posterior rewards a decoder "
            "whose columns are orthogonal. The two others do not care how the latent space is "
            "turned."
        ),
        claim_notes(results)[0],
    ]
    caption = (
        "Each panel is the latent space of one trained model, a column a seed. Lines along the "
        "first factor are blue, along the second orange. Where they run along the edges of the "
        "panel, each latent is one factor. Where they are tilted, each latent mixes both."
    )
    file = f"figures/{MAIN}-{results.scale}-{DATA}.svg"
    return lead, Picture(file, "The square as three kinds of models see it", caption)
