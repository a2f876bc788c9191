"""One model, four explanations: the quantities of all papers side by side."""

from functools import partial

from unpick.papers.across.explanations import claims
from unpick.papers.across.explanations.cells import cells
from unpick.papers.across.explanations.claims import WHEN
from unpick.papers.across.explanations.figures import (
    draw_quantities,
    draw_ranks,
    draw_two_columns,
)
from unpick.papers.across.explanations.readings import READINGS, compute_two_columns
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="explanations",
    title="Four explanations of disentanglement, on the same models",
    source="All four papers, side by side; the comparison is ours",
    about="""Rolinek et al. (2019) and Zietlow (2022) say that a beta-VAE aligns its latent axes
with the singular directions of the decoder (DtO). Reizinger et al. (2022) say that the columns of
the decoder's Jacobian become orthogonal, since the ELBO contains the IMA contrast. Bhowal et al.
(2024) say the same of a local decoder that is fitted within the posterior (OD-Score). Allen (2024)
says that the Hessian of log p(x|z) becomes diagonal (off-diagonal part), and that posterior
variances become (I - H / beta)^-1 (scatter of the variances about the best ones). We measure all
of these on the same models, along training and over beta. There are two likelihoods: squared error
on synth-nonlin, and Bernoulli on sprites of 32 pixels; decoders are tanh networks. MIG and the
reconstruction error are measured, too.

Only latents in use are compared: those whose mean variance is below 0.8, either the encoder's or
the best one for the decoder. The others turn freely. Dashed lines, and `turned` among the
readings, are the same decoders after a random rotation of the latent space. The difference to
them is what the axes contribute: a spectrum of equal singular values has a small contrast whatever
the rotation, and a steep one a large contrast. The price is the KL, in nats, between the best
diagonal and the best Gaussian posterior: what misaligned axes cost the ELBO to second order.

The four differ in two places. Where two columns are equally long, any cosine, however small, makes
DtO and OD-Score large; where one is short, they are small, however large the cosine. The contrast
depends on the cosine alone, the Hessian on the cosine times the lengths. See
docs/explanations.md.""",
    cells=cells,
    measures=("DtO", "IMA", "OD-Score", "off-diagonal", "price", "scatter", "MIG", "compared"),
    claims=(
        Claim(
            "At the end of training each of the four is below its value after a random rotation "
            "of the latent space, for every seed.",
            claims.below_chance,
        ),
        Claim(
            "Training makes the columns orthogonal: IMA contrast and off-diagonal part are "
            "smaller at its end than before it (means over seeds).",
            claims.becomes_orthogonal,
        ),
        *(
            Claim(
                f"Relative to a random rotation the four rank models alike {when}: any two of "
                "them have a rank correlation of 0.8 or more.",
                partial(claims.ranks_agree, kind),
            )
            for kind, when in WHEN.items()
        ),
        Claim(
            "Alignment needs the pressure of beta: of all betas the smallest reconstructs best "
            "and has the largest DtO, as a share of chance.",
            claims.needs_pressure,
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
            "The better the axes are aligned, the more disentangled the model is: over beta each "
            "of the four has a rank correlation of -0.5 or less with MIG.",
            claims.disentangles,
        ),
    ),
    drawings=(
        Drawing(
            "over-training",
            "The quantities along training",
            "A line a seed; dashed: the mean over seeds after a random rotation of the latent "
            "space. For DtO it changes with the number of latents in use. Where a line leaves its "
            "dashed one, the axes are aligned; where both move together, the spectrum of the "
            "decoder changes and the axes do not matter.",
            partial(draw_quantities, "steps", "steps"),
        ),
        Drawing(
            "over-beta",
            "The quantities over beta",
            "The same for models at the end of training. Beta has the unit of the reconstruction "
            "loss: squared error for synth-nonlin, nats for sprites. Lines end where fewer than "
            "two latents are in use; MIG is noise where none is.",
            partial(draw_quantities, "beta", "beta"),
        ),
        Drawing(
            "ranks",
            "Which quantities agree",
            "Spearman's rank correlation over runs and seeds. DtO, IMA, OD-Score, off-diagonal "
            "and price are divided by their value after a random rotation.",
            draw_ranks,
        ),
        Drawing(
            "two-columns",
            "Where they differ, in the smallest case",
            "A decoder with two columns at a fixed angle. As the shorter one vanishes, DtO, "
            "OD-Score and the off-diagonal part vanish with it; the contrast does not change (it "
            "is 0.004 at 85 degrees). As the lengths become equal, DtO goes to its maximum, 1.08, "
            "however close to 90 degrees the columns are. The price of a diagonal posterior "
            "ignores columns that are short beside the noise at this beta.",
            draw_two_columns,
        ),
    ),
    read=READINGS,
    computed={"two-columns": compute_two_columns},
)
