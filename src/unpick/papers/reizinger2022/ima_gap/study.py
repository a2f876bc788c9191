"""What the ELBO tends to as the noise of the decoder falls (Zietlow 2022, figure 7.6)."""

from unpick.papers.reizinger2022.ima_gap import claims
from unpick.papers.reizinger2022.ima_gap.curves import (
    COMPUTED,
    DRAWS,
    SOURCES,
    curves_of,
    inside,
    outside,
    stored,
)
from unpick.papers.reizinger2022.ima_gap.figures import draw_beside_stored, elbo_gaps
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="ima-gap",
    title="What the ELBO tends to: a log-likelihood less the IMA contrast",
    source="Zietlow (2022), section 7.6, figure 7.6; Reizinger et al. (2022)",
    about=f"""Three mixings of {SOURCES} normal sources to as many observations, with exact
densities: two have Jacobians with orthogonal columns everywhere (the class), and one, a network
of triangular layers, has not. The decoder is the mixing itself, with Gaussian noise of precision
gamma^2. Nothing is trained: ELBO* is the ELBO at the best diagonal Gaussian posterior of each of
{DRAWS} observations, found by a search over means and variances. It is compared with the
self-consistent ELBO, whose means are the sources and whose variances are 1 / (1 + gamma^2
|J_k|^2).

There are two log-likelihoods. The figure shows the log-density of data without noise, which is
the same for every gamma^2; the IMA objective is this less the IMA contrast. The decoder with its
noise has another one, which depends on gamma^2 and tends to the first. Only this one bounds the
ELBO of an observation. On average it lies below the first, and so does ELBO*.

The results of the published figure are stored in `notebooks/synth_plots.ipynb` of
rpatrik96/ima-vae (commit 821b6e2). We found no code there that makes them. Neither the weights
nor the number of sources of the mixings are known to us. The stored ELBO* tends to the IMA
objective of the true mixing, not to that of a better one. This suggests that their decoder was
held at the truth, as here; their encoders were trained. Contrast, scale and perhaps dimension
differ, so curves can be compared in kind, not point by point: stored log-likelihood 14.851, IMA
objective 7.779 (contrast 7.072), ELBO* from 2.564 to 7.697; inside the class 0.392 and ELBO* from
0.239 to 0.387.""",
    claims=(
        Claim(
            "Outside the class: as gamma^2 grows, the difference between ELBO* and the "
            "IMA-regularised log-likelihood vanishes.",
            lambda results: claims.tends_to_objective(outside(results)),
        ),
        Claim(
            "Outside the class: the gap to the log-likelihood that remains is the IMA contrast.",
            lambda results: claims.gap_is_contrast(outside(results), stored("outside")),
        ),
        Claim(
            "Inside the class the three coincide in the limit.",
            lambda results: claims.coincide_inside(inside(results)),
        ),
        Claim(
            "Self-consistency: as gamma^2 grows, the best encoder inverts the decoder, with "
            "variances 1 / (1 + gamma^2 |J_k|^2).",
            lambda results: claims.encoder_inverts(curves_of(results)),
        ),
        Claim(
            "The self-consistent ELBO's distance from the IMA objective falls like gamma^-2.",
            lambda results: claims.falls_like_inverse_square(curves_of(results)),
        ),
        Claim(
            "The IMA objective is not a bound: outside the class ELBO* lies above it at moderate "
            "gamma^2, and comes down to it.",
            lambda results: claims.objective_is_no_bound(outside(results), stored("outside")),
        ),
    ),
    drawings=(
        Drawing(
            "gaps",
            "ELBO, IMA objective and log-likelihood",
            "Above: inside the class (left, middle) the log-likelihood and the IMA objective are "
            "one line, and both ELBOs tend to it. Outside (right) they tend to the IMA objective "
            "and leave a gap of the contrast. Dotted: the log-likelihood of the decoder with its "
            "noise. Below: distances from the IMA objective; filled marks lie above it, empty "
            "ones below.",
            lambda results: elbo_gaps(curves_of(results)),
        ),
        Drawing(
            "stored",
            "Beside the stored results",
            "Log-likelihood less ELBO*. Left: outside the class, in units of the contrast, so "
            "that both tend to 1; both dip below 1 where ELBO* exceeds the IMA objective. Right: "
            "inside the class, in nats; ours tend to 0, the stored ones stay between 0.002 "
            "and 0.012 from 10^2.5 on, perhaps because their encoders were trained. Scales of the "
            "data differ, which shifts a curve along gamma^2.",
            draw_beside_stored,
        ),
    ),
    computed=COMPUTED,
)
