"""Figure 3.6 of Zietlow (2022): eigenfaces of a beta-VAE, and the ordinary ones beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from torch import Tensor

from unpick.data import split
from unpick.data.heads import Heads
from unpick.figures.eigenfaces import eigenfaces
from unpick.geometry import likelihood_hessian, polarized_regime
from unpick.metrics import disentanglement_score
from unpick.metrics.association import association
from unpick.objectives import BetaVAE
from unpick.runs import Run
from unpick.studies.measures import decoder, posterior
from unpick.studies.study import Cell, Claim, Drawing, Results, Scale, Study, Verdict
from unpick.training import Adam, RunConfig, preset
from unpick.training.presets import steps

STEPS = (-2.5, -1.25, 0.0, 1.25, 2.5)  # in deviations of the prior, or of a principal component
AXES = 5  # the first so many are shown
FACES = 300  # whose mean code is where traversals start
SEEN = 5000  # test images that all else is measured on
HESSIANS = 200  # of which, for the bend of the loss
POSE = ("azimuth", "elevation", "lighting")
TOLD = 0.1  # from which a part is worth a word


def heads(scale: Scale) -> RunConfig:
    """As for CelebA (table 3.1), on rendered heads; shorter below the scale of the paper."""
    config = replace(preset("celeba"), data=Heads(), steps=steps(50, 127_050))
    if scale == "paper":
        return config
    model = replace(config.model, latents=10)
    config = replace(config, model=model, optimiser=Adam(1e-3), batch=32)
    if scale == "standard":
        return replace(config, objective=BetaVAE(8.0), steps=7000)
    # A quarter of the pixels holds a quarter of the nats.
    return replace(config, data=Heads(32), objective=BetaVAE(2.0), steps=4000)


def cells(scale: Scale) -> Sequence[Cell]:
    """Rendered heads; faces of celebrities as well at the scale of the paper."""
    rows = {"heads": heads(scale)}
    if scale == "paper":
        rows["celeba"] = preset("celeba")
    return [Cell(row, "beta-VAE", config, seeds=1) for row, config in rows.items()]


@dataclass(frozen=True, eq=False)
class Faces:
    """The first axes of a model.

    Attributes:
        images: Along each axis, the others at the mean.
        parts: How well each axis alone tells each factor: 0 for a guess, 1 for certainty; no
            columns if the data have no factors.
        astray: How far images off the mean are from the nearest image of the data, root mean
            square over pixels.
    """

    images: Float[Tensor, "k steps c h w"]
    parts: Float[np.ndarray, "k factors"]
    astray: float


@dataclass(frozen=True, eq=False)
class Found:
    """What one run gives.

    Attributes:
        nonlinear: The latents with the smallest mean posterior deviation.
        ordinary: The first principal components of the same images.
        factors: Names of what made the images.
        deviation: Mean posterior deviation of every latent, ascending.
        effect: How sharply the reconstruction loss bends along it, mean over images.
        active: Whether it is in use.
    """

    nonlinear: Faces
    ordinary: Faces
    factors: tuple[str, ...]
    deviation: Float[np.ndarray, "d"]
    effect: Float[np.ndarray, "d"]
    active: Bool[np.ndarray, "d"]


@cache
def find(run: Run) -> Found:
    """The axes of a run's model, and those of PCA."""
    dataset, model = run.config.data.load(), run.model()
    some = split(dataset).test[:SEEN]  # in random order
    x = dataset.observe(some)
    mean, variance = posterior(model, x)
    assert variance is not None
    deviation, order = variance.sqrt().mean(0).sort()
    start, ways = mean[:FACES].mean(0), torch.eye(len(order))[order[:AXES]]
    decode = decoder(model)
    with torch.no_grad():
        images = decode((start + traversal(ways)).flatten(0, 1))
    hessians = likelihood_hessian(
        lambda z: model.decode(z[None])[0],
        x[:HESSIANS],
        mean[:HESSIANS],
        likelihood=model.config.likelihood,
        form="gauss-newton",
    )
    effect = -hessians.diagonal(dim1=1, dim2=2).mean(0)

    flat = x.flatten(1).numpy()
    pca = PCA(AXES, svd_solver="randomized", random_state=0).fit(flat)
    scaled = torch.from_numpy(pca.components_ * np.sqrt(pca.explained_variance_)[:, None]).float()
    straight = torch.from_numpy(pca.mean_).float() + traversal(scaled)

    factors = dataset.factor_values(some).numpy() if dataset.factors else None
    kinds = [factor.categorical for factor in dataset.factors]

    def faces(images: Tensor, codes: np.ndarray) -> Faces:
        images = images.clamp(0, 1).reshape(AXES, len(STEPS), *dataset.shape)
        parts = np.zeros((AXES, 0))
        if factors is not None:
            parts = disentanglement_score(codes, factors, kinds).matrix
        return Faces(images, parts, astray(images, x))

    return Found(
        faces(images, mean[:, order[:AXES]].numpy()),
        faces(straight, pca.transform(flat)),
        tuple(factor.name for factor in dataset.factors),
        deviation.double().numpy(),
        effect[order].numpy(),
        polarized_regime(mean, variance).active[order].numpy(),
    )


def traversal(axes: Float[Tensor, "k p"]) -> Float[Tensor, "k steps p"]:
    """So many steps along each axis."""
    return axes[:, None] * torch.tensor(STEPS)[:, None]


def astray(images: Float[Tensor, "k steps c h w"], x: Float[Tensor, "n c h w"]) -> float:
    """How far the images off the mean are from the nearest of x, a pixel, root mean square."""
    off = images[:, [step != 0 for step in STEPS]].flatten(0, 1).flatten(1)
    nearest = torch.cdist(off, x.flatten(1)).min(1).values
    return float((nearest.square().mean() / off.shape[1]).sqrt())


def ordered(results: Results) -> Verdict:
    r"""Over active latents, the logarithms of deviation and effect correlate with -0.9 or less.

    A latent whose posterior is optimal has \sigma_j^2 = 1 / (1 + effect_j / \beta), which leaves
    -1 for active ones (Zietlow 2022, section 3.2.4). Latents that differ in nothing come in any
    order, so that ranks alone would say less.
    """
    said, holds = [], []
    for outcome in results.outcomes:
        found = find(outcome.runs[0])
        active = int(found.active.sum())
        if active < 4:
            said.append(f"{outcome.cell.row}: only {active} latents are active")
            continue
        sizes = np.log([found.deviation[found.active], found.effect[found.active]])
        both = association(*sizes)
        holds.append(both.pearson.value <= -0.9)
        said.append(
            f"{outcome.cell.row}: {both.pearson} over {active} latents, of ranks {both.spearman}"
        )
    return Verdict(all(holds) if holds else None, "; ".join(said))


def meaningful(results: Results) -> Verdict:
    """More of the first latents than of the first components tell a factor alone."""
    found = _heads(results)
    if found is None:
        return Verdict(None, "")
    ours, theirs = ((f.parts.max(1) >= TOLD).sum() for f in (found.nonlinear, found.ordinary))
    return Verdict(bool(ours > theirs), f"{ours} of {AXES} against {theirs} of {AXES}")


def telling(results: Results) -> Verdict:
    """The best single latent tells each of pose and light better than the best component."""
    found = _heads(results)
    if found is None:
        return Verdict(None, "")
    ours, theirs = found.nonlinear.parts.max(0), found.ordinary.parts.max(0)
    wanted = [k for k, name in enumerate(found.factors) if name in POSE]
    said = [f"{found.factors[k]} {ours[k]:.2f} against {theirs[k]:.2f}" for k in wanted]
    return Verdict(bool((ours > theirs)[wanted].all()), ", ".join(said))


def faithful(results: Results) -> Verdict:
    """Traversals of latents stay nearer to the data than those of principal components."""
    said, holds = [], []
    for outcome in results.outcomes:
        found = find(outcome.runs[0])
        ours, theirs = found.nonlinear.astray, found.ordinary.astray
        holds.append(ours < theirs)
        said.append(f"{outcome.cell.row}: {ours:.3f} against {theirs:.3f}")
    return Verdict(all(holds) if holds else None, "; ".join(said))


def _heads(results: Results) -> Found | None:
    rows = results.rows()
    return find(rows["heads"]["beta-VAE"].runs[0]) if "heads" in rows else None


def draw(row: str, results: Results) -> Figure | None:
    """Figure 3.6 for one data set, and the ordinary eigenfaces."""
    if row not in results.rows():
        return None
    found = find(results.rows()[row]["beta-VAE"].runs[0])
    sizes = [f"deviation {deviation:.2f}" for deviation in found.deviation[:AXES]]
    numbers = [f"component {k + 1}" for k in range(AXES)]
    return eigenfaces(
        {
            "eigenfaces of the beta-VAE": (
                found.nonlinear.images,
                told(sizes, found.nonlinear.parts, found.factors),
            ),
            "ordinary eigenfaces": (
                found.ordinary.images,
                told(numbers, found.ordinary.parts, found.factors),
            ),
        },
        STEPS,
    )


def told(
    labels: Sequence[str], parts: Float[np.ndarray, "k factors"], factors: Sequence[str]
) -> list[str]:
    """Labels with the factor that each axis tells best, if it tells one."""
    if not factors:
        return list(labels)
    best = [(factors[row.argmax()], row.max()) for row in parts]
    return [
        f"{label}\n" + (f"{name} {part:.2f}" if part >= TOLD else "no single factor")
        for label, (name, part) in zip(labels, best, strict=True)
    ]


STUDY = Study(
    name="eigenfaces",
    title="Nonlinear eigenfaces",
    source="Zietlow (2022), figure 3.6 and section 3.3.5",
    about=f"""From the mean code of {FACES} images one latent at a time moves by 2.5 deviations of
the prior each way; latents come in the order of their mean posterior deviation, the most precise
one first. Beside them stand the ordinary eigenfaces: the mean image and 2.5 deviations along the
first principal components of the same images.

The thesis takes CelebA, which has to be fetched by hand; rendered heads, of which pose and light
are known, stand in for it at every scale. Below the scale of the paper the model is smaller and
trained for a shorter time with a larger learning rate and beta. The number beside an axis says
how well it alone tells the factor it tells best, as in the disentanglement score: 0 for a guess,
1 for certainty. Half a turn of the head, or the lamp on one side, may have a latent of its own:
such a latent stays where it is for the other half, and tells less than an axis that leads from
one side to the other, however double its images are.""",
    cells=cells,
    measures=("active", "DtO, active", "DS"),
    claims=(
        Claim(
            "A smaller mean posterior deviation goes with a larger effect on the reconstruction "
            "loss: the logarithms correlate with -0.9 or less over active latents.",
            ordered,
        ),
        Claim(
            "The first latents have a meaning, unlike ordinary eigenfaces: more of them tell a "
            "factor of the heads alone (by 0.1 or more).",
            meaningful,
        ),
        Claim(
            "More strictly: the best single latent tells each of azimuth, elevation and lighting "
            "better than the best single principal component.",
            telling,
        ),
        Claim(
            "Images along latents stay nearer to images of the data than those along principal "
            "components, which are double exposures (root mean square over pixels).",
            faithful,
        ),
    ),
    drawings=tuple(
        Drawing(
            f"thesis-3.6-{row}",
            f"Nonlinear and ordinary eigenfaces of {name}",
            "Figure 3.6: each row is one axis, the mean image in the middle. Left: latents in the "
            "order of their mean posterior deviation. Right: principal components.",
            partial(draw, row),
        )
        for row, name in (("heads", "rendered heads"), ("celeba", "CelebA"))
    ),
)
