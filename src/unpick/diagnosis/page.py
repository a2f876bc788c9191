"""A diagnosis on the terminal, and as an HTML page with pictures."""

from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from unpick.diagnosis import figures
from unpick.diagnosis.result import Diagnosis
from unpick.metrics import MutualInformationGap
from unpick.pages import Note, Picture, Table, print_table, score_table, write_page
from unpick.pages.terminal import COLOURS
from unpick.probe import Probe


def print_diagnosis(probe: Probe, diagnosis: Diagnosis, console: Console) -> None:
    """Print the findings, then the latents, then the scores."""
    for finding in diagnosis.findings:
        colour = COLOURS[finding.mark]
        console.print(f"[bold {colour}]{finding.title}[/]: {finding.text}", highlight=False)
    tables = [latent_table(probe, diagnosis)]
    if diagnosis.scores is not None:
        tables.append(score_table(diagnosis.scores))
    for table in tables:
        print_table(table, console)
    if diagnosis.page is not None:
        console.print(f"pictures: {diagnosis.page}", highlight=False, markup=False, soft_wrap=True)


def latent_table(probe: Probe, diagnosis: Diagnosis) -> Table:
    """One row a latent, the most important first."""
    regime, names = diagnosis.regime, diagnosis.active.nonzero().flatten().tolist()
    spread = probe.all_codes.mean.cpu().double().std(0, correction=0)
    rows = []
    for latent in diagnosis.order:
        state = "active" if diagnosis.active[latent] else "passive"
        numbers = [f"{float(spread[latent]):.2f}", f"{float(probe.column_norms[latent]):.3g}"]
        if regime is not None:
            if regime.mixed[latent]:
                state += ", mixed"
            numbers += [
                f"{float(regime.mean_variance[latent]):.3g}",
                f"{float(regime.kl[latent]):.2f}",
            ]
        nearest = ""
        if diagnosis.cosines is not None and latent in names:
            row = diagnosis.cosines.matrix[names.index(latent)].clone()
            row[names.index(latent)] = -1
            nearest = f"{names[int(row.argmax())]} ({float(row.max()):.2f})"
        rows.append((str(latent), state, *numbers, nearest))
    columns = ["latent", "state", "sd", "length"]
    columns += ["variance", "KL"] if regime is not None else []
    caption = (
        "Latents, most important first. sd: of the means. Length: of the Jacobian's column. "
        "Variance: of the posterior. KL: in nats. Nearest: the latent whose column is least "
        "orthogonal, and the mean absolute cosine."
    )
    return Table(caption, (*columns, "nearest"), tuple(rows))


def write_diagnosis(
    folder: Path, probe: Probe, diagnosis: Diagnosis, names: Sequence[str]
) -> Path:
    """Draw the pictures and write `index.html` beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        "traversals": (
            "What each latent does",
            "One latent at a time from -2 to 2 deviations about a typical code, the others held.",
            figures.traversals(probe, diagnosis),
        ),
        "columns": (
            "Jacobian columns",
            "What a small step along each latent changes: blue less, red more.",
            figures.jacobian_columns(probe, diagnosis),
        ),
    }
    if diagnosis.alignment is not None:
        drawn["directions"] = (
            "Singular directions as mixtures of latents",
            "Mean |V| over samples. The identity if the latent axes are the singular directions.",
            figures.direction_heat_map(probe, diagnosis),
        )
    if diagnosis.regime is not None:
        drawn["variances"] = (
            "Posterior variances",
            "A latent with variance one, that of the prior, holds no information.",
            figures.variance_spectrum(probe, diagnosis),
        )
    tables = [latent_table(probe, diagnosis)]
    if diagnosis.scores is not None:
        tables.append(score_table(diagnosis.scores, names))
        gap = diagnosis.scores["MIG"].result
        if isinstance(gap, MutualInformationGap):
            shares = torch.from_numpy(gap.matrix / gap.entropies)
            drawn["information"] = (
                "Information in the latents",
                "Mutual information of latent and factor, as a share of the factor's entropy.",
                figures.information_map(shares, names),
            )
    pictures = []
    for name, (title, caption, figure) in drawn.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        pictures.append(Picture(f"{name}.png", title, caption))
    notes = [Note(finding.text, finding.title, finding.mark) for finding in diagnosis.findings]
    return write_page(folder, "Diagnosis", notes, tables, pictures, "unpick.diagnose")
