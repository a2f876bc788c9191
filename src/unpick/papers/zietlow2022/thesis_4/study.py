"""Tables 4.2 to 4.5 and figures 4.1 to 4.11 of Zietlow (2022): data that mislead VAEs."""

from functools import partial
from itertools import product

from unpick.papers.zietlow2022.thesis_4 import claims as claims
from unpick.papers.zietlow2022.thesis_4 import controls as controls
from unpick.papers.zietlow2022.thesis_4 import figures as drawings
from unpick.papers.zietlow2022.thesis_4.cells import MEASURES, cells, twins
from unpick.papers.zietlow2022.thesis_4.embeddings import EPSILON, draw_embeddings
from unpick.papers.zietlow2022.thesis_4.process import draw_process
from unpick.papers.zietlow2022.thesis_4.readings import COMPUTED, READINGS
from unpick.papers.zietlow2022.thesis_4.settings import FACTORS, NAMES, OTHERS, TWINS
from unpick.study.study import Claim, Drawing, Study, trained

TABLES = dict(zip(MEASURES, ("4.2", "4.3", "4.4", "4.5"), strict=True))
SEARCHES = dict(zip(MEASURES, ("4.4", "4.5", "4.6", "4.7"), strict=True))

STUDY = Study(
    name="thesis-4",
    title="Small changes of the data that mislead VAEs",
    source="Zietlow (2022), tables 4.2 to 4.5 and figures 4.3 to 4.11",
    about="""Of restarts of the beta-VAE on the original data the most and the least disentangled
are chosen by MIG. A network that sees the factors through a single neuron draws a change of every
image, no pixel by more than epsilon, that lowers the reconstruction loss of the entangled models
against that of the disentangled ones (section 4.2.4). All methods are then trained on the
`original`, on the `perturbed` twin, and on a `noisy` twin: uniform noise of the same largest
change.

MIG, DCI (disentanglement), FactorVAE score and SAP are measured on 10 000 test images; DCI with
our fast learner, which comes within 0.01 of the gradient boosting behind the published numbers.
`line search` has the perturbed twin and the primary hyperparameter times 0.75 to 2; once it is the
row `perturbed`. Over-pruned runs, with fewer active latents than factors (active means that the
mean posterior variance is below 0.8), are left out of the search, as in the thesis; where a method
uses fewer latents than factors already on the original, over-pruned means fewer than its median
there.

Reconstruction is a sum over pixels, so weights go with their number: beta 32 at 64 pixels is beta
8 at 32. On rooms all weights are scaled like this, but for the FactorVAE's KL, which has none; on
sprites they are not, and the footnotes say so.

At `standard` scale images have 32 pixels, networks are small and runs short: the beta-VAE finds
position and size of the sprites and the three hues of rooms, no more. By the rule above all its
restarts are over-pruned, so none was left out when pairs were chosen. The change of the rooms is
trained against four pairs, as published. The other methods have the beta-VAE's network. What was
not trained is `not measured`. The rows of sprites are older than those of rooms and were trained
on another machine. From the small sprites the weak GAN learns too slowly and is left out there:
with convolutions what it draws looks like sprites after 6000 steps, and its latents can be read
off that, but MIG is 0.015 (one seed).

Beyond the tables the beta-VAE is trained on rooms with more noise, `louder`, which has the
variance of the change (the thesis's conclusion speaks of noise of the same variance, its section
4.3.3 of noise of the same largest change), on a twin of the printed objective alone
(`literal`), and for more steps (`longer`).

Means are compared by Welch's t-test over seeds (two-sided, 5 %), and "stays" by two one-sided ones
(5 % each). The margin of "stays" is a quarter of the score on the original: what noise may take,
and half of what the beta-VAE is said to lose. A claim fails if a test decides against it (after
Holm's correction for several), and is undecided if no test decides. Judged in the same way, with
ten restarts, the printed numbers fail no claim. They leave five undecided. Four are on dSprites:
the FactorVAE's loss of MIG, six of 24 losses of the other scores, PCL (0.21 to 0.24) and the weak
GAN (0.45 to 0.36). The fifth, that losses are as large as published, they leave undecided
because their own error counts twice.""",
    cells=cells,
    measures=MEASURES,
    claims=(
        Claim(
            "The perturbation takes more than half of the beta-VAE's MIG, on one of the data sets "
            "at least.",
            trained(claims.halves),
        ),
        Claim(
            "Where it does, noise of the same largest change leaves three quarters of it or more, "
            "on one of them at least.",
            trained(claims.noise_keeps),
        ),
        *(
            Claim(
                f"{NAMES[method]}, which is not variational, stays on {data}: its MIG on the "
                "perturbed data is within a quarter of that on the original.",
                trained(partial(claims.stay, data, method)),
            )
            for data, method in product(FACTORS, OTHERS)
        ),
        Claim(
            "Every variational method loses MIG, on both data sets.",
            trained(partial(claims.lose, ("MIG",))),
        ),
        Claim(
            "Every one loses in DCI, FactorVAE score and SAP, too.",
            trained(partial(claims.lose, ("DCI", "FactorVAE", "SAP"))),
        ),
        Claim(
            "Not in the thesis: each of them loses at least half as much MIG as published.",
            trained(controls.drops),
        ),
        Claim(
            "Not in the thesis's tables: on noise of the variance of the change, which goes "
            "beyond its largest change, the beta-VAE keeps more MIG than on the perturbed data.",
            trained(controls.louder_takes_less),
        ),
        Claim(
            "Not in the thesis: the beta-VAE is misled, not delayed. With several times the steps "
            "its MIG on the perturbed data is below half of that on the original, too.",
            trained(controls.lasts),
        ),
        *(
            Claim(
                f"Not in the thesis: on the {twin} {data}, restarts with a low MIG are turned. "
                "Over restarts of the beta-VAE, MIG falls as the distance to orthogonality of the "
                "active latents grows.",
                trained(partial(controls.turned, data, twin)),
            )
            for data, twin in product(FACTORS, TWINS[:2])
        ),
        Claim(
            "Not in the thesis: a change that is trained by the printed objective alone, without "
            "our two additions, takes more than half of the beta-VAE's MIG, too.",
            trained(controls.literal_halves),
        ),
        Claim(
            "Tuning the hyperparameter again does not help: no value from 0.75 to 2 times the "
            "first gets back half of the MIG that was lost. The thesis shows it on Shapes3D; at "
            "scale standard rooms are searched for the beta-VAE only.",
            trained(claims.not_recovered),
        ),
        *(
            Claim(
                f"The beta-VAE loses MIG for every factor of {data} that it finds (above 0.02).",
                trained(partial(claims.every_factor, data)),
            )
            for data in FACTORS
        ),
        *(
            Claim(
                f"The change of {data} does what it is for: it lowers the reconstruction loss of "
                "the entangled models against that of the disentangled ones, with decoders that "
                "were fitted anew to as many batches of images with and without it.",
                trained(partial(claims.misleads, data)),
            )
            for data in FACTORS
        ),
        *(
            Claim(
                f"No pixel of {data} changes by more than epsilon, and the change has at most a "
                "tenth of the data's variance.",
                partial(claims.small, data),
            )
            for data in FACTORS
        ),
    ),
    drawings=(
        Drawing(
            "embeddings",
            "Small ripples turn the principal directions",
            "After figure 4.1, computed. (i) A cloud, the plane of PCA and its two directions. "
            "(ii) A curved surface: the latents that noise costs least go along the factors. "
            f"(iii) The same with ripples of height {EPSILON:g}: they turn, though no point moves "
            "far. (iv) The change of the data moves points towards such a surface.",
            draw_embeddings,
        ),
        Drawing(
            "process",
            "How the change is made",
            "After figure 4.2. A network draws a change of the image from its factors. It is "
            "trained to make the reconstruction loss of an entangled model smaller and that of a "
            "disentangled one larger. Both models' encoders are frozen and see the original "
            "image; their decoders are trained on the changed one.",
            draw_process,
        ),
        *(
            Drawing(
                f"thesis-4.3-{data}",
                f"{data}: original images, the change, and the perturbed twin",
                "Figure 4.3. The change runs from minus to plus epsilon; grey is none.",
                partial(drawings.sheet, data),
            )
            for data in FACTORS
        ),
        *(
            Drawing(
                f"thesis-{table}",
                f"{measure} on the original, the perturbed and the noisy data",
                f"Table {table}: a dot a seed, a bar at their mean; diamonds are the published "
                "means with their deviations.",
                partial(drawings.scores, measure),
            )
            for measure, table in TABLES.items()
        ),
        *(
            Drawing(
                f"thesis-{figure}-search",
                f"{measure} on the perturbed data, with the hyperparameter scaled",
                f"Figure {figure}: a dot a run, a shape where there are at least four; dashed is "
                "the mean on the original data. Below stands how many over-pruned runs were left "
                "out there.",
                partial(drawings.search, measure),
            )
            for measure, figure in SEARCHES.items()
        ),
        Drawing(
            "thesis-4.8",
            "MIG of restarts, original and perturbed",
            "Figure 4.8, with the original data as an outline.",
            drawings.restarts,
        ),
        Drawing(
            "thesis-4.9",
            "MIG of every factor, beta-VAE",
            "Figure 4.9, with the noisy twin beside: bars are means, dots are seeds.",
            drawings.per_factor,
        ),
        *(
            Drawing(
                f"thesis-4.10-{data}",
                f"{data}: planes of the latent spaces of the most and the least disentangled",
                "Figures 4.10 and 4.11: restarts of the beta-VAE on the original data. The two "
                "latents are those that together know the largest share of the two named factors "
                "(mutual information, one latent for each); the others stay at their mean. The "
                "thesis has the orientation beside the wall's hue; where no restart finds it, the "
                "floor's hue stands in. A latent that falls where its factor rises is flipped. "
                "`ring` is the share of the mean codes of the wall's hue that a ring explains, in "
                "the two latents that vary most with it: at most 1/2 on a line, 1 on a ring. Up "
                "to 0.75 an embedding counts as a line, which is Cartesian if it is an axis; "
                "above as a ring, which is polar, and is drawn in those two latents.",
                partial(drawings.traversals, data),
            )
            for data in FACTORS
        ),
        Drawing(
            "latents",
            "The latent space of the beta-VAE before and after",
            "Not in the thesis. Above: is the decoder aligned, though not with the factors? The "
            "distance to orthogonality over active latents (two of them at least), 1 is a random "
            "rotation. Below: deviations of the posterior, a thin line a run.",
            drawings.latents,
        ),
        Drawing(
            "steps",
            "The beta-VAE over training, before and after",
            "Not in the thesis. Each line is a seed that was trained for longer. Above MIG, below "
            "the distance to orthogonality over active latents, 1 is a random rotation. If low "
            "MIG goes with a large distance, the latents are turned among directions that vary "
            "alike; if not, they are aligned with directions that are no factors.",
            drawings.over_steps,
        ),
        Drawing(
            "pixels",
            "How much the data change",
            "Not in the thesis. Above: variances of the first 30 principal components of 1000 "
            "test images, as shares of the original's total. Below: reconstruction errors on "
            "test images of the data that the model was trained on.",
            drawings.pixels,
        ),
    ),
    read=READINGS,
    twins=twins,
    computed=COMPUTED,
)
