"""Tables 4 to 6 and figure 4 of Bhowal et al. (2024): orthogonal decoders and disentanglement."""

from functools import partial

from unpick.papers.bhowal2024.scores.claims import (
    GAPS,
    TABLE,
    active_latents_dominate,
    falls_in_print,
    falls_over_runs,
    released_fit_separates,
)
from unpick.papers.bhowal2024.scores.figures import (
    SCORE,
    draw_active,
    draw_relation,
    draw_traversal,
)
from unpick.papers.bhowal2024.scores.orders import (
    falls_over_models,
    in_printed_order,
    term_makes_no_order,
    variants_agree,
)
from unpick.papers.bhowal2024.scores.readings import OBSERVATIONS, READINGS, together
from unpick.papers.bhowal2024.settings import cells
from unpick.study.comparison_figure import drawing
from unpick.study.study import Claim, Drawing, Study, trained

DTO = "DtO / chance"

STUDY = Study(
    name=TABLE,
    title="Orthogonal decoders and disentanglement: VAE, beta-VAE, beta-TCVAE",
    source="Bhowal et al. (2024), tables 4 to 6 and figure 4",
    about=f"""The OD-Score measures how far the matrix M of a local decoder is from one with
orthogonal columns. It is the mean of three distances: those of U, Sigma and V of its SVD to those
of such a matrix (section 4.4). M is fitted within the posterior of each of {OBSERVATIONS} test
observations, as tanh(M eps), in the same way for every model. Each distance is divided by its
largest value among the three models, for the same observation and seed. A score therefore only
compares a model with the two others.

`OD-Score` fixes the order and signs of singular vectors by the signed permutation nearest to the
identity. `paper` leaves them in order of falling singular values. `released` computes as the
paper's code does, on the same M; `released fit` does so on an M that is fitted with that code's
defaults (one step of SGD). `Jacobian` takes the decoder's Jacobian for M.

The released code (criticalml-uw/Disentanglement-in-VAE, `Experiment1.py` and `Experiment2.py`,
commit 8f40aad) also adds a term to the loss of its fit. It rewards orthogonality for the
beta-TCVAE and punishes it for the beta-VAE and, twice as much, for the VAE. We leave it out, so
that all models are treated alike, and measure its effect separately: every model is fitted with
the term of each. With five steps of SGD, a number chosen for that, the scores come close to those
printed for dSprites, but not to those of the other data sets. Whether the printed scores were made
in this way is not known; on 3D Shapes they have another order.

All ten latents count, as published. But the columns of passive latents are nearly zero, so that
their directions are arbitrary, and the part of Sigma has the unit of the decoder's slopes.
`active` leaves passive latents out; it favours models with few active latents, since fewer columns
have less to be wrong about. `DtO / chance` has none of these flaws: it is the distance to
orthogonality of the active latents as a share of that of random directions (Zietlow 2022, eq.
3.25).

MIG and MIG-sup use latent means in 20 bins and all factors. The released code takes samples of the
posterior and leaves the shape of sprites out. The paper does not say how many restarts its
deviations are taken over, nor how long it trained: "instead of" refers to 50 epochs of batches of
128, which is our choice. So is the Bernoulli likelihood (the paper argues with the squared error).
Beta stays at 6 where images are smaller; it weighs four times as much at 32 pixels as at 64.

An order of models holds if every pair of them is decided as printed (Welch's t-test over seeds,
two-sided, 5 %). It fails if a pair is decided the other way (after Holm's correction for several
pairs). Otherwise it is undecided. The power says how often such tests would decide, if the printed
differences were the true ones and models spread over seeds as ours do.""",
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
            trained(partial(in_printed_order, "MIG")),
        ),
        Claim(
            "MIG-sup has the same order (table 5).",
            trained(partial(in_printed_order, "MIG-sup")),
        ),
        Claim(
            "The OD-Score has the opposite order: it is lowest where MIG is highest (table 6). "
            "Here all models are fitted in the same way.",
            trained(partial(in_printed_order, SCORE)),
        ),
        Claim(
            "That order does not depend on how the OD-Score is computed.",
            trained(variants_agree),
        ),
        Claim(
            "The released fit separates the models without the term that differs between them (by "
            "the smallest difference of table 6).",
            trained(released_fit_separates),
        ),
        Claim(
            "The order of table 6 needs three models: that term alone, with one model in the "
            "place of all three, does not produce it.",
            term_makes_no_order,
        ),
        Claim(
            "Figure 4: over the three models of a data set, the OD-Score falls as MIG and MIG-sup "
            "rise.",
            trained(falls_over_models),
        ),
        Claim(
            "In the printed tables, the OD-Score falls as MIG and MIG-sup rise.", falls_in_print
        ),
        Claim(
            "Over all runs of a data set, the OD-Score falls as MIG and MIG-sup rise (r < 0, "
            "p < 0.05).",
            trained(partial(falls_over_runs, SCORE, "")),
        ),
        Claim(
            "It also falls over restarts of one model, where the objective is the same.",
            trained(partial(falls_over_runs, SCORE, "model")),
        ),
        Claim(
            "It also falls once the effect of the number of active latents is removed.",
            trained(partial(falls_over_runs, SCORE, "active")),
        ),
        Claim(
            "So does its part of V, which has the directions without the lengths of columns.",
            trained(partial(falls_over_runs, f"{SCORE}, V", "")),
        ),
        Claim(
            "So does the DtO of active latents as a share of chance.",
            trained(partial(falls_over_runs, DTO, "")),
        ),
        Claim(
            "The OD-Score measures active latents: for every model, less than half of its part of "
            "V comes from passive ones.",
            trained(active_latents_dominate),
        ),
    ),
    drawings=(
        Drawing(
            "bhowal-1",
            "One latent varies, the others stay",
            "After figure 1: decoded sprites as one latent goes from -2 to 2, the others at the "
            "code of one test image. The run is the one of highest MIG on sprites, the latent the "
            "one that knows most of the vertical position. The title gives the share of each "
            "factor's entropy that it knows. In the paper only the vertical position changes; a "
            "model that mixes the two positions moves sprites aslant.",
            draw_traversal,
        ),
        drawing("mig", "MIG", "MIG"),
        drawing("mig-sup", "MIG-sup", "MIG-sup"),
        drawing("od-score", SCORE, "OD-Score (lower is more orthogonal)"),
        Drawing(
            "bhowal-4",
            "OD-Score against MIG and MIG-sup",
            "Figure 4 (i) to (p): in the paper the OD-Score falls to the right. A point is a run; "
            "lines join the means of the models, solid ours, dashed the published ones. Scores "
            "are relative to the models compared: compare slopes with the published ones, not "
            "heights.",
            draw_relation,
        ),
        Drawing(
            "passive",
            "What passive latents do to the OD-Score",
            "The part of V of each run's OD-Score, all ten latents counted, against the number of "
            "active latents. The columns of passive latents are nearly zero, turn freely and "
            "count as much as the others. A model that uses few latents therefore looks like one "
            "with badly aligned axes.",
            draw_active,
        ),
    ),
    read=READINGS,
    together=together,
)
