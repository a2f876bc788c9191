"""Figure 2, theorem 3 and corollary 3.1 of Allen (2024): what beta does."""

from unpick.papers.allen2024.beta.cells import cells
from unpick.papers.allen2024.beta.claims import (
    bernoulli_twins,
    collapses_above,
    decodes_averages,
    decodes_centroids,
    decodes_mean_only,
    decodes_near_centroids,
    follows_linear_rule,
    gaussian_twins,
    merges_at_thresholds,
    merges_in_order,
    merges_level_by_level,
    merges_where_overlapping,
    overlap_grows,
    reconstructs_closely,
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
is a VAE with variance beta sigma^2. The larger it is, the more the posteriors of neighbours
overlap, and where they overlap the decoder returns an average. In our units, squared error plus
beta KL, the variance is beta / 2.

Figure 2 of the paper is taken from Rezende & Viola (2018). Its data and networks are not given, so
its betas (0.55 to 60) cannot be compared with ours. Our data are points on twelve small circles of
radius 0.3. Four circles each lie at distance 1 from one of three centres, and these at distance 3
from the origin. Encoder and decoder have two layers of 100 tanh units; there are two latents.
The table shows which share of the data's variance the reconstructions of mean codes keep, at three
levels: points about their circle's mean, circles about their group's mean, groups about the
overall mean. Overlap is the mean Bhattacharyya coefficient of two posteriors: of points on one
circle, on two circles of a group, in two groups.

A linear VAE loses a direction where its variance is below beta / 2. For the circles as a whole
this rule predicts only that all is lost at 10. Applied to each small circle and to each group by
itself it predicts three steps, and these are what trained VAEs do. Merged points do not end at
their centroid but near it: the decoder shrinks what is left towards the mean, like a linear one.
How near depends on how far apart the circles lie, which the paper does not give for its data.
Near a step the finer structure comes back a little for the same reason. Corollary 3.1 speaks of
beta below 1, but nothing happens at 1: what counts is beta / 2 compared with the variances of the
data.

Theorem 3 is stated for all exponential families. A Gaussian beta-VAE has a twin without beta. A
Bernoulli one has a twin for beta = 1/k, the mean of k observations, and none otherwise: the mean
of black and white pixels fixes their variance. See A-T3 and A-C3.1 in the ledger.""",
    cells=cells,
    measures=(*LEVELS, *(f"overlap, {level}" for level in LEVELS), "active"),
    claims=(
        Claim(
            "With a small beta the data are closely reconstructed (figure 2).",
            reconstructs_closely,
        ),
        Claim(
            "As beta grows neighbours merge first, then small circles, then all (figure 2).",
            merges_in_order,
        ),
        Claim(
            "In between, the points of a circle are reconstructed as one, and then the circles of "
            "a group (figure 2).",
            merges_level_by_level,
        ),
        Claim(
            "There small circles are mapped to their centroids, and then groups to theirs (figure "
            "2); here: to within a tenth of the radius, on average.",
            decodes_centroids,
        ),
        Claim(
            "Our reading: to places near them. Every reconstruction is nearer to its centroid "
            "than the data are.",
            decodes_near_centroids,
        ),
        Claim("With a large beta all is mapped to the mean.", decodes_mean_only),
        Claim(
            "Each level is lost where beta / 2 reaches its variance, as a linear VAE on it alone "
            "would lose it (from corollary 3.1 and Lucas et al. 2019).",
            merges_at_thresholds,
        ),
        Claim("The larger beta is, the more posteriors overlap.", overlap_grows),
        Claim("What overlaps in latent space is what merges.", merges_where_overlapping),
        Claim(
            "Where posteriors overlap, the decoder maps to the weighted average of the data.",
            decodes_averages,
        ),
        Claim(
            "Theorem 3, Gaussian: a beta-VAE with variance sigma^2 trains as a VAE with variance "
            "beta sigma^2.",
            gaussian_twins,
        ),
        Claim(
            "Theorem 3, any exponential family: a Bernoulli beta-VAE trains as a VAE with beta "
            "times the variance.",
            bernoulli_twins,
        ),
        Claim(
            "Corollary 3.1: a smaller beta keeps latents of a linear VAE from collapse.",
            smaller_keeps_more,
        ),
        Claim(
            "From its proof: all latents collapse only where the likelihood's variance, beta / 2, "
            "reaches the largest variance of the data.",
            collapses_above,
        ),
        Claim(
            "A linear VAE uses as many latents as the data have variances above beta / 2 "
            "(ledger A-C3.1).",
            follows_linear_rule,
        ),
    ),
    drawings=(
        Drawing(
            "allen-2",
            "From points to places near their centres to the mean",
            "After figure 2. Blue: data; orange: reconstructions of their mean codes, by seed 0. "
            "Points of a small circle merge first, then the four circles of a group, then all. "
            "What has merged lies inside its circle or group, but not quite at the centre.",
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
            "Two small VAEs, trained from the same weights with the same noise: one with beta, "
            "one without but with beta times the variance of the likelihood. Shown is the "
            "distance of their weights after 100 steps, as a share of how far the weights moved. "
            "Gaussian pairs differ by rounding, with SGD if its rate is scaled too; Adam's "
            "epsilon adds a little. A Bernoulli pair does so too for beta = 1/k, where the twin's "
            "likelihood is that of the mean of k observations. For beta above 1 no likelihood has "
            "beta times the variance; there we show the nearest VAE, whose log-odds are divided "
            "by beta.",
            draw_twins,
        ),
    ),
    read=READINGS,
    computed=COMPUTED,
)
