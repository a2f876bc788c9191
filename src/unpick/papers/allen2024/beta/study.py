"""Figure 2, theorem 3 and corollary 3.1 of Allen (2024): what beta does."""

from unpick.papers.allen2024.beta.cells import cells
from unpick.papers.allen2024.beta.claims import (
    at_thresholds,
    averages,
    bernoulli_twins,
    centres,
    close,
    collapses_above,
    gaussian_twins,
    glue,
    in_order,
    linear_rule,
    mean_only,
    overlap,
    smaller_keeps_more,
)
from unpick.papers.allen2024.beta.computed import COMPUTED
from unpick.papers.allen2024.beta.figures import (
    DRAWN,
    draw_collapse,
    draw_merging,
    draw_posteriors,
    draw_reconstructions,
    draw_twins,
)
from unpick.papers.allen2024.beta.readings import LEVELS, READINGS
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="allen-beta",
    title="What beta does to reconstruction",
    source="Allen (2024), section 3.3: figure 2, theorem 3, corollary 3.1",
    about="""Allen reads beta as the variance of the likelihood: a beta-VAE with variance sigma^2
is a VAE with variance beta sigma^2. The larger it is, the more posteriors of neighbours overlap,
and where they overlap the decoder gives back an average. In our units, squared error plus beta
KL, the variance is beta / 2.

Figure 2 there is borrowed from Rezende & Viola (2018) and gives neither its cloud nor its
networks, so its betas (0.55 to 60) mean nothing here. Ours: points on twelve small circles of
radius 0.3, four of them about each of three centres, at distance 1; the centres lie at distance
3 from the origin. Encoder and decoder have two layers of 100 tanh units; there are two latents.
Kept is the variance of reconstructions at mean codes by that of the data: of points about their
circle's mean, of circles about their group's, of groups about the whole's. Overlap is the mean
Bhattacharyya coefficient of two posteriors: of points on one circle, on two circles of a group,
in two groups.

The rule of the linear VAE, a direction is lost where its variance is below beta / 2, predicts for
the circles as a whole only that all is lost at 10. Read for each small circle and each group by
itself it predicts three steps, and these are what trained VAEs do. Near a step the finer
structure comes back a little: there the decoder shrinks everything about the mean, like a linear
one, instead of jumping from centre to centre. Corollary 3.1 speaks of beta below 1, but nothing
happens at 1: what counts is beta / 2 against the variances of the data.

Theorem 3 is printed for all exponential families. A Gaussian VAE has its twin. A Bernoulli VAE has
one for beta = 1/k, the mean of k observations, and none otherwise: black and white pixels of a
given mean have a given variance. See A-T3 and A-C3.1 in the ledger.""",
    cells=cells,
    measures=(*LEVELS, *(f"overlap, {level}" for level in LEVELS), "active"),
    claims=(
        Claim("With a small beta the data are closely reconstructed (figure 2).", close),
        Claim(
            "As beta grows neighbours merge first, then small circles, then all (figure 2).",
            in_order,
        ),
        Claim(
            "In between, circles are reconstructed as their centres, and then groups as theirs.",
            centres,
        ),
        Claim("With a large beta all is mapped to the mean.", mean_only),
        Claim(
            "Each level is lost where beta / 2 reaches its variance, as a linear VAE on it alone "
            "would lose it (from corollary 3.1 and Lucas et al. 2019).",
            at_thresholds,
        ),
        Claim("Posteriors overlap the more, the larger beta is.", overlap),
        Claim("What overlaps in latent space is what merges.", glue),
        Claim(
            "Where posteriors overlap, the decoder maps to the weighted average of the data.",
            averages,
        ),
        Claim(
            "Theorem 3, Gaussian: a beta-VAE with variance sigma^2 trains as a VAE with variance "
            "beta sigma^2.",
            gaussian_twins,
        ),
        Claim("Theorem 3, any exponential family: so does a Bernoulli VAE.", bernoulli_twins),
        Claim(
            "Corollary 3.1: a smaller beta keeps latents of a linear VAE from collapse.",
            smaller_keeps_more,
        ),
        Claim(
            "And its proof: all latents collapse only where the likelihood's variance, beta / 2, "
            "reaches the largest of the data.",
            collapses_above,
        ),
        Claim(
            "A linear VAE uses as many latents as the data have variances above beta / 2 "
            "(ledger A-C3.1).",
            linear_rule,
        ),
    ),
    drawings=(
        Drawing(
            "allen-2",
            "From points to centres to the mean",
            "After figure 2. Blue: data; orange: reconstructions of their mean codes, by seed 0. "
            "Points of a small circle merge first, then the four circles of a group, then all.",
            draw_reconstructions,
        ),
        Drawing(
            "posteriors",
            "Posteriors that grow into each other",
            f"Posteriors of {DRAWN} points in the latent space, as ellipses of one standard "
            "deviation, by seed 0; colours tell the four small circles of a group apart. Dashed: "
            "the prior. First the points of a circle share a posterior, then the circles of a "
            "group; in the end all have the prior.",
            draw_posteriors,
        ),
        Drawing(
            "merging",
            "What is kept, and what overlaps",
            "Above, the share of variance that reconstructions keep; below, the mean overlap of "
            "two posteriors: of points on one circle, circles of one group, and groups. Lines are "
            "means over seeds, which are dots. Dotted: where beta / 2 is the variance of points "
            "about their circle's centre, about their group's, and about the mean.",
            draw_merging,
        ),
        Drawing(
            "collapse",
            "Posterior collapse of a linear VAE",
            "Four latents on data with three directions of variance 9, 1 and 0.1. Lines: the "
            "closed form; dots: trained models. A latent's posterior variance grows with beta "
            "until it reaches the prior's, where beta / 2 is the variance of its direction "
            "(dotted); then it is lost. The fourth is never in use.",
            draw_collapse,
        ),
        Drawing(
            "twins",
            "Which beta-VAE is a VAE",
            "Two small VAEs from one start on one noise: one with beta, one without but with a "
            "likelihood of beta times the variance. How far their weights are apart after 100 "
            "steps, as a share of the way that they went. Gaussian ones differ by rounding, with "
            "SGD if its rate is scaled as well; Adam's epsilon is a little more than that. A "
            "Bernoulli VAE is beside the nearest there is, with log-odds divided by beta.",
            draw_twins,
        ),
    ),
    read=READINGS,
    computed=COMPUTED,
)
