"""Does a full covariance leave the latent axes open? Table 3.3 of Zietlow (2022) with controls."""

from unpick.papers.zietlow2022.chapter3 import CLOUDS
from unpick.papers.zietlow2022.controls import claims
from unpick.papers.zietlow2022.controls.cells import cells
from unpick.papers.zietlow2022.controls.descent import MEMBERS, follow_factors
from unpick.papers.zietlow2022.controls.figures import draw_angles, draw_factors
from unpick.papers.zietlow2022.controls.readings import (
    NETWORKS,
    alignment_of_logits,
    angle,
    untrained,
)
from unpick.probe.measures import STANDARD
from unpick.study.study import Claim, Drawing, Study, trained

STUDY = Study(
    name="thesis-3.3-controls",
    title="Does a full covariance leave the latent axes open?",
    source="Zietlow (2022), table 3.3, with controls of our own",
    about=f"""The thesis trains a beta-VAE with a full covariance as an ablation: its objective is
the same in every rotation of the latent space, so nothing should align (sections 3.2.7 and 3.3.3).
That is true of the objective, not of the training. Adam scales every weight by itself, weights
drawn uniformly prefer some directions, and the covariance is written as a Cholesky factor, which
is tied to the axes. So DtO need not lie at chance. It is compared with that of {NETWORKS}
untrained networks of the same kind, and the models are trained again with plain SGD and with
Gaussian weights, whose law no rotation changes. With both, only the Cholesky factor knows the
axes.

With two latents DtO is sqrt(8) sin(angle / 2); the angle is at most 45 degrees and 22.5 on average
over random rotations. The learning rate of SGD is the largest of five (0.03, 0.1, 0.3, 1, 3) with
which the loss of four other seeds stays finite; their DtO was not looked at. The footnotes have
the lengths: on synth-nonlin a twentieth of the published one, so its rows tell how DtO begins, and
`thesis-3.3` where it ends.

Two choices that the thesis leaves open are tried here, too: the law of the first weights, and
whether DtO is that of the decoder's means (ours) or of the logits before the sigmoid.""",
    cells=cells,
    measures=("DtO", "angle, degrees", "DtO of logits", "DS"),
    claims=(
        *(
            Claim(
                f"{data}: with a full covariance the decoder does not align; its DtO is not below "
                "that of untrained networks.",
                trained(claims.ablation(data)),
            )
            for data in CLOUDS
        ),
        Claim(
            "The beta-VAE has a lower DtO than the full covariance, on both point clouds.",
            claims.diagonal_aligns,
        ),
        Claim(
            "The beta-VAE has a higher DS than the full covariance, on both point clouds.",
            claims.diagonal_disentangles,
        ),
        Claim(
            "synth-lin, full covariance: Adam leaves a larger DtO than SGD does, from uniform and "
            "from Gaussian weights (our explanation of the angle).",
            claims.adam_turns,
        ),
        Claim(
            "synth-lin, full covariance: uniform weights leave a larger DtO than Gaussian ones, "
            "with Adam and with SGD (the other half of it).",
            claims.uniform_turns,
        ),
        Claim(
            "synth-lin, exact descent from Gaussian weights: a triangular factor of the "
            "covariance by itself leaves a DtO above chance, and above that of a square factor "
            "(written down after the runs with SGD).",
            claims.factor_turns,
        ),
        Claim(
            "With SGD and Gaussian weights the DtO of the full covariance is at chance, within a "
            "quarter, on both point clouds.",
            claims.invariant,
        ),
        Claim(
            "sprites: DtO of the beta-VAE is lower before the sigmoid than after it (the thesis "
            "does not say which it reports).",
            claims.sigmoid_matters,
        ),
    ),
    drawings=(
        Drawing(
            "angles",
            "Angle between latent axes and singular directions",
            "A dot a seed, a black bar at their mean; dashed: the mean of random rotations. Not a "
            "figure of the thesis.",
            draw_angles,
        ),
        Drawing(
            "factors",
            "The angle in exact descent on synth-lin, by the factor of the covariance",
            f"Mean over {MEMBERS} members from Gaussian weights, with its standard error: plain "
            "descent on the expected loss. Dashed: the mean of random rotations. Not a figure of "
            "the thesis.",
            draw_factors,
        ),
    ),
    read=(*STANDARD, angle, alignment_of_logits),
    computed={"untrained": untrained, "factors": follow_factors},
)
