"""One model, four explanations: the quantities of all papers side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from unpick.objectives import BetaVAE
from unpick.papers.across.explanations import claims
from unpick.papers.across.explanations.claims import (
    DATA,
    FOUR,
    RANKED,
    Kind,
    found,
    mean,
    ranks,
    values,
)
from unpick.papers.across.explanations.figures import (
    Line,
    Panel,
    quantities,
    rank_table,
    two_columns,
)
from unpick.papers.across.explanations.readings import READINGS, compute_two_columns
from unpick.papers.across.explanations.settings import Data, settings
from unpick.study.study import Cell, Claim, Drawing, Outcome, Results, Scale, Study
from unpick.training import RunConfig

STEPS = (0, 30, 100, 300, 1000, 3000, 10_000)  # and the last one
BETAS: Mapping[Data, tuple[float, ...]] = {
    "synth-nonlin": tuple(10 ** (k / 3) for k in (-15, -12, -10, -8, -6, -4, -2, -1)),
    "sprites": (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0),
}
# Over time: the grid's value next to the published one.
CHOSEN: Mapping[Data, float] = {"synth-nonlin": 10 ** (-8 / 3), "sprites": 1.0}
WHEN: Mapping[Kind, str] = {"steps": "along training", "beta": "over beta"}
SEEDS: Mapping[Scale, int] = {"quick": 2, "standard": 3}


def cells(scale: Scale) -> Sequence[Cell]:
    """Snapshots of the same trainings, and models of several betas; at `quick` of one data set.

    The random numbers of a training do not depend on its length (`training.streams`), so a short
    run is the beginning of a long one. Set-ups are those of `beta-search`, which shares runs.
    """
    made: list[Cell] = []
    if scale == "paper":  # none of them has it
        return made
    shared = settings(scale)
    for data, betas in BETAS.items():
        if data not in shared:
            continue
        base = shared[data]

        def cell(kind: Kind, column: str, config: RunConfig, data: Data = data) -> Cell:
            note = "set-up, and most runs, of the study beta-search"
            return Cell(f"{data}, {kind}", column, config, SEEDS[scale], note=note)

        timed = replace(base, objective=BetaVAE(CHOSEN[data]))
        lengths = [*(n for n in STEPS if n <= timed.steps // 2), timed.steps]
        made += [cell("steps", f"{n} steps", replace(timed, steps=n)) for n in lengths]
        made += [cell("beta", f"beta {b:.2g}", replace(base, objective=BetaVAE(b))) for b in betas]
    return made


# What is drawn: its title, whether on a logarithmic axis.
PANELS: Mapping[str, tuple[str, bool]] = {
    "DtO": ("DtO (Rolinek, Zietlow)", False),
    "IMA": ("IMA contrast, nats (Reizinger)", True),
    "OD-Score": ("OD-Score, matched (Bhowal)", True),
    "off-diagonal": ("Hessian: off / on diagonal (Allen)", False),
    "price": ("price of a diagonal \N{GREEK CAPITAL LETTER SIGMA}, nats", True),
    "scatter": ("scatter of variances, log (Allen)", True),
    "MIG": ("MIG", False),
    "error": ("reconstruction error", True),
    "compared": ("latents compared", False),
}


def draw(kind: Kind, label: str, results: Results) -> Figure | None:
    """Every quantity over training or over beta."""
    rows = claims.series(results, kind)
    if not rows:
        return None
    panels = [
        Panel(
            title,
            {data: _line(outcomes, name) for data, outcomes in rows.items()},
            log,
            whole=name == "compared",
        )
        for name, (title, log) in PANELS.items()
    ]
    return quantities(panels, label)


def _line(outcomes: Mapping[float, Outcome], name: str) -> Line:
    seeds = max(len(outcome.runs) for outcome in outcomes.values())
    table = np.full((len(outcomes), seeds), np.nan)
    for row, outcome in zip(table, outcomes.values(), strict=True):
        row[: len(outcome.runs)] = values(outcome, name)
    against = FOUR.get(name, f"{name}, turned")
    turned = np.array([mean(values(outcome, against)) for outcome in outcomes.values()])
    return Line(np.array(list(outcomes)), table, turned if np.isfinite(turned).any() else None)


def draw_ranks(results: Results) -> Figure | None:
    """Rank correlations of the quantities, a matrix for each data set and kind."""
    tables = {
        f"{data}, {when}": table
        for data in DATA
        for kind, when in WHEN.items()
        if np.isfinite(table := ranks(found(results, data, kind))).any()
    }
    return rank_table(RANKED, tables) if tables else None


def draw_two_columns(results: Results) -> Figure:
    """The same quantities of a decoder with two columns."""
    found = results.computed["two-columns"]
    curves = {
        title: {name: np.array(values) for name, values in lines.items()}
        for title, lines in found["curves"].items()
    }
    return two_columns(np.array(found["ratios"]), curves, "value")


STUDY = Study(
    name="explanations",
    title="Four explanations of disentanglement, on the same models",
    source="All four papers, side by side; the comparison is ours",
    about="""Rolinek et al. (2019) and Zietlow (2022) say that a beta-VAE makes its latent axes the
singular directions of the decoder: DtO. Reizinger et al. (2022) say that the columns of its
Jacobian become orthogonal, since the ELBO pays the IMA contrast. Bhowal et al. (2024) ask the same
of a local decoder as wide as the posterior: OD-Score. Allen (2024) says that the Hessian of
log p(x|z) becomes diagonal, and the posterior variances (I - H / beta)^-1: off-diagonal part, and
scatter of the variances about the best ones. Here all of them are read off the same models: along
the same trainings, and over beta. Two likelihoods: squared error on synth-nonlin, Bernoulli on
sprites of 32 pixels, tanh decoders. MIG and the error stand beside them.

Only latents in use are compared: those for which the mean variance, the encoder's or the best for
the decoder, is below 0.8. The others turn freely. The dashed lines, and `turned` among the
readings, are the same decoders with the latent space turned at random: what the axes are worth is
told by the difference, since a spectrum of equal singular values has a small contrast however it
is turned, and a steep one a large contrast. The price is the KL, in nats, between the best
diagonal and the best Gaussian posterior: what misaligned axes cost the ELBO to second order.

The four part in two places. Where two columns are equally long any cosine, however small, makes
DtO and OD-Score large; where one is short they are small, however large the cosine. The contrast
sees the cosine alone, the Hessian the cosine times the lengths. The page docs/explanations.md
tells more.""",
    cells=cells,
    measures=("DtO", "IMA", "OD-Score", "off-diagonal", "price", "scatter", "MIG", "compared"),
    claims=(
        Claim(
            "At the end of training each of the four is below what a randomly turned latent space "
            "would give, for every seed.",
            claims.below_chance,
        ),
        Claim(
            "Training makes the columns orthogonal: IMA contrast and off-diagonal part are "
            "smaller at its end than before it (means over seeds).",
            claims.orthogonal,
        ),
        *(
            Claim(
                f"Relative to a random rotation the four rank models alike {when}: any two of "
                "them have a rank correlation of 0.8 or more.",
                partial(claims.agree, kind),
            )
            for kind, when in WHEN.items()
        ),
        Claim(
            "Alignment needs the pressure of beta: of all betas the smallest reconstructs best "
            "and has the largest DtO, as a share of chance.",
            claims.without_pressure,
        ),
        Claim(
            "Posterior variances that fit the decoder (scatter below 0.25) come with aligned axes "
            "(DtO at most half of chance).",
            claims.fit_means_aligned,
        ),
        Claim(
            "At the smallest beta the price of a diagonal posterior is the IMA contrast in the "
            "likelihood's metric, within a tenth.",
            claims.price_is_contrast,
        ),
        Claim(
            "The axes follow the likelihood's metric rather than that of pixels: the IMA contrast "
            "of the sprites model is smaller in it, at every beta.",
            claims.likelihood_metric,
        ),
        Claim(
            "The better the axes are aligned, the more disentangled is the model: over beta each "
            "of the four has a rank correlation of -0.5 or less with MIG.",
            claims.disentangles,
        ),
    ),
    drawings=(
        Drawing(
            "over-training",
            "The quantities along training",
            "A line a seed; dashed what the mean over seeds would be if the latent space were "
            "turned at random. For DtO that moves with the number of latents in use. Look where "
            "lines leave the dashed ones: that is alignment; where they move along with it, the "
            "spectrum of the decoder changes and the axes do not matter.",
            partial(draw, "steps", "steps"),
        ),
        Drawing(
            "over-beta",
            "The quantities over beta",
            "The same for models at the end of training. Beta has the unit of the reconstruction "
            "loss: squared error for synth-nonlin, nats for sprites. Lines end where fewer than "
            "two latents are in use; MIG is noise where none is.",
            partial(draw, "beta", "beta"),
        ),
        Drawing(
            "ranks",
            "Who agrees with whom",
            "Spearman's rank correlation over runs and seeds. DtO, IMA, OD-Score, off-diagonal "
            "and price are divided by what a random rotation would give.",
            draw_ranks,
        ),
        Drawing(
            "two-columns",
            "Where they part, in the smallest case",
            "A decoder with two columns at a fixed angle. As the shorter one vanishes DtO, "
            "OD-Score and the off-diagonal part vanish with it, the contrast does not move (it is "
            "0.004 at 85 degrees). As the lengths become equal DtO goes to its maximum, 1.08, "
            "however near to 90 degrees the columns are. The price of a diagonal posterior sees "
            "what beta lets through.",
            draw_two_columns,
        ),
    ),
    read=READINGS,
    computed={"two-columns": compute_two_columns},
)
