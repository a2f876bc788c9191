"""Tables 4 to 6 and figure 4 of Bhowal et al. (2024): orthogonal decoders and disentanglement."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from unpick.papers.bhowal2024.scores.claims import (
    GAPS,
    TABLE,
    carried,
    falls,
    linked,
    of_models,
    printed_falls,
    ranked,
    released_tells,
    same_order,
    without_term,
)
from unpick.papers.bhowal2024.scores.figures import Cloud, score_relation
from unpick.papers.bhowal2024.scores.readings import OBSERVATIONS, READINGS, together
from unpick.papers.bhowal2024.settings import cells
from unpick.study.comparison_figure import drawing
from unpick.study.study import Claim, Drawing, Outcome, Results, Study, trained

SCORE, DTO = "OD-Score", "DtO / chance"


def draw_relation(results: Results) -> Figure | None:
    """Figure 4 (i) to (p): the OD-Score against MIG and against MIG-sup."""
    rows = of_models(results, SCORE, *GAPS)
    return (
        score_relation({gap: _panels(rows, gap, SCORE) for gap in GAPS}, SCORE) if rows else None
    )


def draw_active(results: Results) -> Figure | None:
    """The part of V against the number of active latents."""
    rows = of_models(results, SCORE, "active")
    if not rows:
        return None
    return score_relation(
        {"active latents": _panels(rows, "active", f"{SCORE}, V")}, "part of V", whole=True
    )


def _panels(
    rows: Mapping[str, Mapping[str, Outcome]], x: str, y: str
) -> dict[str, dict[str, Cloud]]:
    def cloud(outcome: Outcome) -> Cloud:
        printed = outcome.cell.published
        known = (printed[x].mean, printed[y].mean) if {x, y} <= printed.keys() else None
        return Cloud(outcome.values[x], outcome.values[y], known)

    return {row: {name: cloud(o) for name, o in models.items()} for row, models in rows.items()}


STUDY = Study(
    name=TABLE,
    title="Orthogonal decoders and disentanglement: VAE, beta-VAE, beta-TCVAE",
    source="Bhowal et al. (2024), tables 4 to 6 and figure 4",
    about=f"""The OD-Score tells how far the matrix M of a local decoder is from one with
orthogonal columns: the mean of the distances of U, Sigma and V of its SVD to those of such a
matrix (section 4.4). M is fitted within the posterior of each of {OBSERVATIONS} test observations,
as tanh(M eps), in the same way for every model. Each distance is divided by its largest among the
three models, of the same observation and seed, so a score only says how a model compares with the
two others.

`OD-Score` settles the order and signs of singular vectors by the signed permutation nearest to
the identity; `paper` leaves them in falling order; `released` computes as the paper's code does,
on the same M, and `released fit` on an M that is fitted as by that code's defaults (a step of
SGD). `Jacobian` takes the decoder's Jacobian for M.

The code also adds a term to the loss of its fit which rewards orthogonality for the beta-TCVAE
and punishes it for the beta-VAE and, twice as much, for the VAE. It is left out here, so that all
models are treated alike. What it does is measured by itself: every model is fitted with the term
of each. Five steps of SGD, a number chosen for that, then give scores near those printed for
dSprites, though not for the other data sets. Whether the printed ones came about in this way is
not known; on 3D Shapes their order is another.

All ten latents count, as published. But passive latents have columns of nearly nothing, whose
directions are arbitrary, and the part of Sigma has the unit of the decoder's slopes. `active`
leaves passive latents out; it favours models with few active ones, since fewer columns have less
to be wrong about. `DtO / chance` has none of these flaws: the distance to orthogonality of the
active latents as a share of that of random directions (Zietlow 2022, eq. 3.25).

MIG and MIG-sup are those of latent means in 20 bins, over all factors. The released code takes
samples of the posterior and leaves the shape of sprites out. Over how many restarts the printed
deviations go, and how long was trained, is not said: "instead of" refers to 50 epochs of 128,
which is our choice, as is the Bernoulli likelihood (the paper argues with the squared error). Beta
stays at 6 where images are smaller, and weighs four times as much at 32 pixels as at 64.""",
    cells=partial(cells, table=TABLE),
    measures=(
        *GAPS,
        SCORE,
        "OD-Score, paper",
        "OD-Score, released",
        "OD-Score, Jacobian",
        "OD-Score, active",
        "DtO, active",
        DTO,
        "active",
    ),
    claims=(
        Claim(
            "MIG: beta-TCVAE above beta-VAE above VAE, but beta-VAE first on 3D Shapes (table 4).",
            trained(partial(ranked, "MIG")),
        ),
        Claim("The same of MIG-sup (table 5).", trained(partial(ranked, "MIG-sup"))),
        Claim(
            "The OD-Score comes in the opposite order, the lowest where MIG is highest (table 6); "
            "here with one way of fitting for all models.",
            trained(partial(ranked, SCORE)),
        ),
        Claim(
            "That order does not hang on how the OD-Score is computed.",
            trained(same_order),
        ),
        Claim(
            "The released fit tells the models apart without the term that differs between them "
            "(by the smallest difference of table 6).",
            trained(released_tells),
        ),
        Claim(
            "The order of table 6 needs three models: that term alone, with one model in the "
            "place of all three, does not make it.",
            without_term,
        ),
        Claim(
            "Figure 4: over the three models of a data set, the OD-Score falls as MIG and MIG-sup "
            "rise.",
            trained(falls),
        ),
        Claim("In the printed tables, the OD-Score falls as MIG and MIG-sup rise.", printed_falls),
        Claim(
            "Over all runs of a data set, the OD-Score falls as MIG and MIG-sup rise (r < 0, "
            "p < 0.05).",
            trained(partial(linked, SCORE, "")),
        ),
        Claim(
            "It falls over restarts of one model, too, where the objective is the same.",
            trained(partial(linked, SCORE, "model")),
        ),
        Claim(
            "It falls, too, once what the number of active latents explains is taken off.",
            trained(partial(linked, SCORE, "active")),
        ),
        Claim(
            "So does its part of V: the directions, without the lengths of columns.",
            trained(partial(linked, f"{SCORE}, V", "")),
        ),
        Claim(
            "So does the DtO of active latents as a share of chance.",
            trained(partial(linked, DTO, "")),
        ),
        Claim(
            "The OD-Score speaks of latents in use: less than half of its part of V comes from "
            "passive ones, for every model.",
            trained(carried),
        ),
    ),
    drawings=(
        drawing("mig", "MIG", "MIG"),
        drawing("mig-sup", "MIG-sup", "MIG-sup"),
        drawing("od-score", SCORE, "OD-Score (lower is more orthogonal)"),
        Drawing(
            "bhowal-4",
            "OD-Score against MIG and MIG-sup",
            "Figure 4 (i) to (p): the paper has the OD-Score fall to the right. A point is a run; "
            "lines join the means of the models, solid ours, dashed the published ones. Scores "
            "are relative to the models compared, so that slopes may be compared with the "
            "published ones, but not heights.",
            draw_relation,
        ),
        Drawing(
            "passive",
            "What passive latents do to the OD-Score",
            "The part of V of each run's OD-Score, all ten latents counted, against the number of "
            "latents in use. Columns of the others are nearly nothing, turn freely and count as "
            "much, so that a model which uses few is not told from one with badly aligned axes.",
            draw_active,
        ),
    ),
    read=READINGS,
    together=together,
)
