"""A diagnosis on the terminal, and as an HTML page with pictures."""

import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

import unpick
from unpick.diagnosis import figures
from unpick.diagnosis.local import Examined
from unpick.diagnosis.result import Diagnosis
from unpick.metrics import MutualInformationGap
from unpick.pages import Note, Picture, Table, print_table, score_table, write_page
from unpick.pages.page import Mark, Section
from unpick.pages.terminal import COLOURS

LISTED = 32  # latents in the table, at most


def print_diagnosis(examined: Examined, diagnosis: Diagnosis, console: Console) -> None:
    """Print the bottom line, then the findings, the latents and the scores."""
    for sentence in diagnosis.bottom_line:
        console.print(Text(sentence, style="bold"), highlight=False)
    console.print()
    for finding in diagnosis.findings:
        title = Text(finding.title, style=f"bold {COLOURS[finding.mark]}")
        console.print(title.append(Text(f": {finding.text}", style="not bold default")))
    for sentence in diagnosis.assumed:
        console.print(Text(sentence, style="dim"))
    tables = [] if examined.local is None else [latent_table(examined, diagnosis)]
    if diagnosis.scores is not None:
        tables.append(score_table(diagnosis.scores))
    for table in tables:
        print_table(table, console)
    if diagnosis.page is not None:
        console.print(f"pictures: {diagnosis.page}", highlight=False, markup=False, soft_wrap=True)


def latent_table(examined: Examined, diagnosis: Diagnosis) -> Table:
    """One row a latent, the most important first."""
    regime, local, axes = diagnosis.regime, examined.local, diagnosis.axes
    assert local is not None
    names = diagnosis.active.nonzero().flatten().tolist()
    spread, norms = local.spread, local.norms
    rows = []
    for latent in diagnosis.order[:LISTED]:
        state = "active" if diagnosis.active[latent] else "passive"
        numbers = [f"{float(spread[latent]):.2f}", f"{float(norms[latent]):.3g}"]
        if regime is not None:
            if regime.mixed[latent]:
                state += ", mixed"
            numbers += [
                f"{float(regime.mean_variance[latent]):.3g}",
                f"{float(regime.kl[latent]):.2f}",
            ]
        turned, nearest = "", ""
        if axes is not None and latent in names:
            row = names.index(latent)
            others = axes.cosines.matrix[row].clone()
            others[row] = -1
            other = int(others.argmax())
            turned = f"{float(axes.angles[row]):.0f}"
            nearest = f"{names[other]} ({float(others[other]):.2f})"
        rows.append((str(latent), state, *numbers, turned, nearest))
    noun = examined.noun
    columns = [noun, "state", "sd", "length", *(["variance", "KL"] if regime else [])]
    explained = " Variance: of the posterior. KL: in nats." if regime else ""
    left = len(diagnosis.order) - len(rows)
    more = (f"{left} more {noun}s are not listed.",) if left else ()
    caption = (
        f"{noun.capitalize()}s, most important first. sd: of the means. Length: of the Jacobian's "
        f"column.{explained} Turned: degrees between the axis and its singular direction. "
        f"Nearest: the {noun} whose column is least orthogonal, and the mean absolute cosine."
    )
    return Table(caption, (*columns, "turned", "nearest"), tuple(rows), more)


def write_diagnosis(
    folder: Path, examined: Examined, diagnosis: Diagnosis, about: Mapping[str, str]
) -> Path:
    """Draw the pictures and write `index.html` beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for name, (title, caption, figure) in _draw(examined, diagnosis).items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        pictures.append(Picture(f"{name}.png", title, caption))
    findings = [Note(f.text, f.title, f.mark, literal=True) for f in diagnosis.findings]
    tables = [] if examined.local is None else [latent_table(examined, diagnosis)]
    if diagnosis.scores is not None:
        tables.append(score_table(diagnosis.scores, examined.probe.factor_names))
    sections = [
        Section("Findings", notes=findings),
        Section("Pictures", pictures=pictures),
        Section("Numbers", tables=tables),
        Section("What was examined", tables=[_about_table(examined, diagnosis, about)]),
    ]
    return write_page(
        folder,
        f"Diagnosis of {about.get('model', examined.model.name)}",
        _lines(diagnosis),
        [],
        [],
        about.get("command", "unpick.diagnose"),
        sections=sections,
    )


def _lines(diagnosis: Diagnosis) -> list[Note]:
    """The bottom line; the verdict has the colour of the worst finding."""
    marks = {finding.mark for finding in diagnosis.findings}
    worst: Mark = "bad" if "bad" in marks else "note" if "note" in marks else "good"
    verdict, *factors, following = diagnosis.bottom_line
    return [
        Note(verdict, mark=worst, word="Verdict:", literal=True),
        *(Note(text, mark=worst, word="Factors:", literal=True) for text in factors),
        Note(following.removeprefix("Next: "), mark=worst, word="Next:", literal=True),
    ]


def _about_table(examined: Examined, diagnosis: Diagnosis, about: Mapping[str, str]) -> Table:
    """What the page is about, so that it can be read without its author."""
    probe, model = examined.probe, examined.model
    x = probe.observations
    rows = {
        "model": model.name,
        "latents": " x ".join(map(str, model.latent_shape)),
        "data": "observations passed by the caller",
        **about,
        "observations": f"{len(x)} of shape {' x '.join(map(str, probe.shape))}, from "
        f"{float(x.min()):.3g} to {float(x.max()):.3g}",
        "factors": ", ".join(probe.factor_names) or "not known",
        "likelihood": f"{probe.likelihood}, assumed unless you said so",
        "beta": "not given" if probe.beta is None else f"{probe.beta:g}",
        "Jacobians": "none" if examined.local is None else f"at {len(examined.local.rows)} points",
        "versions": f"unpick {unpick.__version__}, torch {torch.__version__}, "
        f"numpy {np.__version__}, Python {platform.python_version()}",
    }
    for k, sentence in enumerate(diagnosis.assumed):
        rows["assumed" if not k else f"assumed, {k + 1}"] = sentence
    return Table("", ("what", "value"), tuple(rows.items()), words=True)


def _draw(examined: Examined, diagnosis: Diagnosis) -> dict[str, tuple[str, str, Figure]]:
    """Every picture of the page: title, caption, figure."""
    drawn = {
        "reconstructions": (
            "Observations and reconstructions",
            "Drawn at random; reconstructions are from the posterior means.",
            figures.reconstructions(examined),
        ),
        "traversals": (
            f"What each {examined.noun} does",
            f"One {examined.noun} at a time from -2 to 2 deviations about a typical code, the "
            "others held.",
            figures.traversals(examined, diagnosis),
        ),
    }
    if examined.local is None:
        return drawn
    drawn["columns"] = (
        "Jacobian columns",
        f"What a small step along each {examined.noun} changes: blue less, red more.",
        figures.jacobian_columns(examined, diagnosis),
    )
    if diagnosis.axes is not None:
        drawn["directions"] = (
            "Singular directions as mixtures of latents",
            "Mean |V| over samples. The identity if the latent axes are the singular directions.",
            figures.direction_heat_map(examined, diagnosis),
        )
    if diagnosis.regime is not None:
        drawn["variances"] = (
            "Posterior variances",
            "A latent with variance one, that of the prior, holds no information.",
            figures.variance_spectrum(examined, diagnosis),
        )
    if examined.model.locations > 1:
        drawn["locations"] = (
            "Locations",
            "What each location of the latent grid holds, and how its axes lie.",
            figures.location_map(examined, diagnosis),
        )
    if diagnosis.scores is not None:
        gap = diagnosis.scores["MIG"].result
        if isinstance(gap, MutualInformationGap):
            shares = torch.from_numpy(gap.matrix / gap.entropies)
            drawn["information"] = (
                "Information in the latents",
                "Mutual information of latent and factor, as a share of the factor's entropy.",
                figures.information_map(shares, examined.probe.factor_names, diagnosis.order),
            )
    return drawn
