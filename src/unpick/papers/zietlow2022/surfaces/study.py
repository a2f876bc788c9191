"""What two latents span: PCA, autoencoders and VAEs (Zietlow 2022, figures 2.1 to 2.3)."""

from functools import partial

from unpick.papers.zietlow2022.surfaces.cells import BENT, cells
from unpick.papers.zietlow2022.surfaces.claims import (
    aligned,
    fits_better,
    lower_dto,
    oblique,
    orthogonal,
    over_seeds,
    same_plane,
    unaligned,
)
from unpick.papers.zietlow2022.surfaces.figures import draw
from unpick.papers.zietlow2022.surfaces.readings import READINGS, measure_pca
from unpick.study.study import Claim, Drawing, Study

SEEN = (
    "Green: data. Blue surface: all that the decoder can reach. Strong lines: one latent changes, "
    "the other stays at its median; thin lines: the same at other values. You look at the middle "
    "of the sheet, where right angles look right; at its bent ends they do not. The title gives "
    "the mean angle over the data, in space. Trained models are those of seed 0."
)
CAPTIONS = {
    "PCA": "The best plane misses both ends of the sheet. Its axes are the directions of largest "
    "and second largest variance, at right angles.",
    "linear AE": "The same plane as PCA's, but any two directions that span it would do: where "
    "they end up depends on the seed.",
    "linear VAE": "The plane and the axes of PCA: its noise makes all other axes costlier.",
    "nonlinear AE": "The surface follows the data. Its curves run slantwise, and cross at other "
    "angles in other places.",
    "nonlinear VAE": "The surface follows the data, and its curves cross at right angles nearly "
    "everywhere: along the bend and across it, as PCA would do on the flat sheet.",
}

STUDY = Study(
    name="surfaces",
    title="What two latents span: PCA, autoencoder, VAE",
    source="Zietlow (2022), figures 2.1 to 2.3",
    about=f"Five models with two latents on one cloud of points in space: a strip bent over "
    f"{BENT.degrees:g} degrees of a cylinder, with noise of deviation {BENT.noise:g}. PCA has a "
    f"closed form; the others are trained for 20 000 steps, the VAEs with beta 0.02 on the "
    f"squared error.\n\nThe thesis names neither its cloud nor its networks; cloud, widths and "
    f"beta are ours, so there are no published numbers to compare with. The pictures show seed 0; "
    f"verdicts are over all seeds. The squared error cannot fall below {BENT.noise**2:.4f}, the "
    f"noise across the sheet, by much.",
    cells=cells,
    measures=("DtO", "DS"),
    claims=(
        Claim(
            "A linear AE spans the plane of PCA.",
            over_seeds(("linear AE",), "plane angle", same_plane),
        ),
        Claim(
            "The axes of a linear AE are not those of PCA, but arbitrary.",
            over_seeds(("linear AE", "linear VAE"), "axis angle", unaligned),
        ),
        Claim(
            "The axes of a linear VAE are those of PCA.",
            over_seeds(("linear VAE",), "axis angle", aligned),
        ),
        Claim("Nonlinear models fit much better than PCA.", fits_better),
        Claim(
            "The coordinate curves of an AE need not be orthogonal.",
            over_seeds(("linear AE", "nonlinear AE"), "crossing angle", oblique),
        ),
        Claim(
            "The coordinate curves of a VAE are locally orthogonal.",
            over_seeds(("linear VAE", "nonlinear VAE"), "crossing angle", orthogonal),
        ),
        Claim("The axes of a nonlinear VAE are its singular directions, an AE's not.", lower_dto),
    ),
    drawings=tuple(
        Drawing(name.lower().replace(" ", "-"), name, f"{text} {SEEN}", partial(draw, name))
        for name, text in CAPTIONS.items()
    ),
    read=READINGS,
    computed={"pca": measure_pca},
)
