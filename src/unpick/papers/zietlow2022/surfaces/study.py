"""What two latents span: PCA, autoencoders and VAEs (Zietlow 2022, figures 2.1 to 2.3)."""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.linalg import subspace_angles
from torch import Tensor

from unpick.data import split
from unpick.data.bent import Bent
from unpick.geometry import column_cosines, decoder_jacobians
from unpick.models import MLP, LinearModel, Model, ModelConfig, pca
from unpick.objectives import AE, BetaVAE
from unpick.papers.zietlow2022.surfaces.figures import coordinate_surface
from unpick.study.study import Cell, Claim, Drawing, Results, Scale, Study, Verdict
from unpick.training import Adam, RunConfig

BENT = Bent()
NETWORKS = {
    "linear": MLP((), "tanh", (), "tanh"),
    "nonlinear": MLP((50, 50), "tanh", (50, 50), "tanh"),
}
Codec = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]  # encoder, decoder


def cells(scale: Scale) -> Sequence[Cell]:
    """Linear and nonlinear, AE and VAE; 20 000 steps, in which the linear VAE has turned."""
    made: list[Cell] = []
    if scale == "paper":  # which says nothing of its cloud or its networks
        return made
    for kind, network in NETWORKS.items():
        for objective, posterior in ((AE(), "delta"), (BetaVAE(0.02), "diagonal")):
            model = ModelConfig(2, posterior, "gaussian", network)  # type: ignore[arg-type]
            config = RunConfig(BENT, model, objective, Adam(3e-3), 20_000)
            column = f"{kind} {'AE' if posterior == 'delta' else 'VAE'}"
            made.append(Cell(BENT.name, column, config, 3 if scale == "quick" else 10))
    return made


@cache
def cloud() -> tuple[Float[Tensor, "n 3"], LinearModel]:
    """Test points, and PCA of the training points."""
    dataset = BENT.load()
    parts = split(dataset)
    return dataset.observe(parts.test), pca(dataset.observe(parts.train), 2)


def codec(model: Model | LinearModel) -> Codec:
    """Encoder and decoder, in double precision, of points (n, 3) and latents (n, 2)."""
    if isinstance(model, LinearModel):
        return model.encode, model.decode
    return (
        lambda x: model.encode(x.float()[None]).mean[0].detach().double(),
        lambda z: model.decode_mean(z.float()[None])[0].detach().double(),
    )


def jacobians(model: Model | LinearModel) -> Float[Tensor, "n 3 2"]:
    """Of the decoder, at the codes of the test points."""
    codes = codec(model)[0](cloud()[0])
    if isinstance(model, LinearModel):
        return model.weights.expand(len(codes), 3, 2)
    return decoder_jacobians(lambda z: model.decode_mean(z[None])[0], codes.float()).double()


def crossing_angle(model: Model | LinearModel) -> float:
    """At which the two coordinate curves cross, in degrees, averaged over the test points."""
    return float(column_cosines(jacobians(model)).per_sample.arccos().rad2deg().mean())


def squared_error(model: Model | LinearModel) -> float:
    """Squared distance of the test points to their reconstructions, on average."""
    encode, decode = codec(model)
    x = cloud()[0]
    return float((decode(encode(x)) - x).square().sum(1).mean())


def plane_angle(model: Model) -> float:
    """The largest angle between the plane of a linear decoder and that of PCA, in degrees."""
    axes = jacobians(model)[0].numpy()
    return float(np.degrees(subspace_angles(axes, cloud()[1].weights.numpy()).max()))


def axis_angle(model: Model) -> float:
    """Of the axes of a linear decoder with the principal directions, in degrees, the larger one.

    In the order in which they fit better.
    """
    axes = jacobians(model)[0]
    cosines = ((axes / axes.norm(dim=0)).T @ cloud()[1].weights).abs().clamp(max=1)
    worst = torch.stack([cosines.diagonal().min(), cosines.flip(1).diagonal().min()])
    return float(worst.max().arccos().rad2deg())


def over_seeds(
    columns: tuple[str, ...],
    measure: Callable[[Model], float],
    judge: Callable[..., Verdict],
) -> Callable[[Results], Verdict]:
    """A check of what is measured on each run of these columns."""

    def check(results: Results) -> Verdict:
        row = results.rows().get(BENT.name, {})
        if missing := [column for column in columns if column not in row]:
            return Verdict(None, f"no runs of {', '.join(missing)}")
        return judge(*(np.array([measure(r.model()) for r in row[c].runs]) for c in columns))

    return check


def show(values: Float[np.ndarray, "s"], unit: str = " degrees") -> str:
    """Mean, range and number of values."""
    low, high, n = values.min(), values.max(), len(values)
    return f"{values.mean():.3g}{unit} ({low:.3g} to {high:.3g}, {n} seeds)"


def aligned(vae: Float[np.ndarray, "s"]) -> Verdict:
    """Axes within 5 degrees."""
    return Verdict(bool(vae.max() < 5), f"largest angle to a principal direction {show(vae)}")


def same_plane(ae: Float[np.ndarray, "s"]) -> Verdict:
    """Planes within 5 degrees."""
    return Verdict(bool(ae.max() < 5), f"angle between the planes {show(ae)}")


def unaligned(ae: Float[np.ndarray, "s"], vae: Float[np.ndarray, "s"]) -> Verdict:
    """Axes of every AE further from PCA's than those of any VAE."""
    evidence = f"angle to the principal directions: AE {show(ae)}, VAE {show(vae)}"
    return Verdict(bool(ae.min() > vae.max()), evidence)


def oblique(linear: Float[np.ndarray, "s"], nonlinear: Float[np.ndarray, "s"]) -> Verdict:
    """Angles further than 5 degrees from 90, on average over seeds."""
    evidence = f"curves cross at {show(linear)} linear, {show(nonlinear)} nonlinear"
    return Verdict(bool(max(linear.mean(), nonlinear.mean()) < 85), evidence)


def orthogonal(linear: Float[np.ndarray, "s"], nonlinear: Float[np.ndarray, "s"]) -> Verdict:
    """Angles within 5 degrees of 90, for every seed."""
    evidence = f"curves cross at {show(linear)} linear, {show(nonlinear)} nonlinear"
    return Verdict(bool(min(linear.min(), nonlinear.min()) > 85), evidence)


def fits_better(ae: Float[np.ndarray, "s"], vae: Float[np.ndarray, "s"]) -> Verdict:
    """A fifth of PCA's squared error at most."""
    theirs = squared_error(cloud()[1])
    evidence = f"squared error: PCA {theirs:.3g}, AE {show(ae, '')}, VAE {show(vae, '')}"
    return Verdict(bool(max(ae.max(), vae.max()) < theirs / 5), evidence)


def lower_dto(results: Results) -> Verdict:
    """The DtO of every nonlinear VAE below that of any nonlinear AE."""
    row = results.rows().get(BENT.name, {})
    if not {"nonlinear AE", "nonlinear VAE"} <= row.keys():
        return Verdict(None, "nonlinear AE or VAE not run")
    ae, vae = (row[f"nonlinear {kind}"].values["DtO"] for kind in ("AE", "VAE"))
    evidence = f"DtO: AE {show(ae, '')}, VAE {show(vae, '')}"
    return Verdict(bool(vae.max() < ae.min()), evidence)


def draw(column: str, results: Results) -> Figure | None:
    """The surface of seed 0; blue for the latent that moves the reconstruction more."""
    outcome = results.rows().get(BENT.name, {}).get(column)
    if outcome is None and column != "PCA":
        return None
    model = cloud()[1] if outcome is None else outcome.runs[0].model()
    encode, decode = codec(model)
    x = cloud()[0].double()
    square = torch.cartesian_prod(torch.linspace(0, 1, 60), torch.linspace(0, 1, 30))
    codes, grid = encode(x), encode(BENT.sheet(square).double())
    reach = codes.std(0) * jacobians(model).norm(dim=1).mean(0)
    order = reach.argsort(descending=True)  # of two: its own inverse
    return coordinate_surface(
        x.numpy(),
        codes[:, order].numpy(),
        grid[:, order].reshape(60, 30, 2).numpy(),
        lambda z: decode(torch.from_numpy(z)[:, order]).numpy(),
        f"{column}: squared error {squared_error(model):.3f}, "
        f"curves cross at {crossing_angle(model):.0f}°",
    )


SEEN = (
    "Green: data. Blue surface: all that the decoder can reach. Strong lines: one latent changes, "
    "the other stays at its median; thin lines: the same at other values. Angles are as in space "
    "only where the surface faces you; the title gives their mean over the data. Trained models "
    "are those of seed 0."
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
            over_seeds(("linear AE",), plane_angle, same_plane),
        ),
        Claim(
            "The axes of a linear AE are not those of PCA, but arbitrary.",
            over_seeds(("linear AE", "linear VAE"), axis_angle, unaligned),
        ),
        Claim(
            "The axes of a linear VAE are those of PCA.",
            over_seeds(("linear VAE",), axis_angle, aligned),
        ),
        Claim(
            "Nonlinear models fit much better than PCA.",
            over_seeds(("nonlinear AE", "nonlinear VAE"), squared_error, fits_better),
        ),
        Claim(
            "The coordinate curves of an AE need not be orthogonal.",
            over_seeds(("linear AE", "nonlinear AE"), crossing_angle, oblique),
        ),
        Claim(
            "The coordinate curves of a VAE are locally orthogonal.",
            over_seeds(("linear VAE", "nonlinear VAE"), crossing_angle, orthogonal),
        ),
        Claim("The axes of a nonlinear VAE are its singular directions, an AE's not.", lower_dto),
    ),
    drawings=tuple(
        Drawing(name.lower().replace(" ", "-"), name, f"{text} {SEEN}", partial(draw, name))
        for name, text in CAPTIONS.items()
    ),
)
