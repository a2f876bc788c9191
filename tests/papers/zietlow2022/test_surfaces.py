from dataclasses import replace
from math import pi, sin
from pathlib import Path

import numpy as np
import pytest
import torch
from mpl_toolkits.mplot3d import proj3d

from unpick.data import DATASETS, split
from unpick.data.bent import Bent
from unpick.papers.zietlow2022.surfaces.claims import fits_better
from unpick.papers.zietlow2022.surfaces.figures import coordinate_surface, line, principal
from unpick.papers.zietlow2022.surfaces.readings import (
    axis_angle,
    coordinate_curves,
    crossing_angle,
    fit_pca,
    measure_pca,
    plane_angle,
    probe_pca,
    squared_error,
)
from unpick.papers.zietlow2022.surfaces.study import STUDY
from unpick.plots import house_style, save
from unpick.runs import Run
from unpick.study import Outcome, Results

CLOUD = Bent().load()
PCA = fit_pca(CLOUD)


def planted(axes):
    """A linear autoencoder whose decoder has these columns (3, 2), and its inverse as encoder."""
    inverse = torch.linalg.pinv(axes)

    def encode(x):
        return ((x.double() - PCA.mean) @ inverse.T).float()

    def decode(z):
        return z @ axes.float().T + PCA.mean.float()

    return replace(probe_pca(CLOUD), encode=encode, decode=decode)


def turn(degrees):
    a = torch.tensor(degrees * pi / 180).double()
    return torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])


def test_bent_has_the_variances_of_a_strip_on_a_cylinder():
    data = Bent(degrees=120.0, width=0.9, noise=0.1, points=200_000)
    x = data.load().observe(torch.arange(200_000)).double()
    half = pi / 3
    along, height = 0.5 - sin(2 * half) / (4 * half), 0.5 + sin(2 * half) / (4 * half)
    expected = np.array([along, 0.9**2 / 12, height - (sin(half) / half) ** 2]) + 0.1**2
    assert torch.linalg.eigvalsh(torch.cov(x.T)).flip(0).numpy() == pytest.approx(
        expected, rel=0.01
    )
    assert x.mean(0).abs().max() < 0.01


def test_the_sheet_of_bent_is_an_isometry_of_the_strip():
    """Bending changes no length within the surface."""
    data = Bent()
    square = torch.rand(50, 2, generator=torch.Generator().manual_seed(0)).double()
    jacobians = torch.func.vmap(torch.func.jacrev(lambda s: data.sheet(s[None])[0]))(
        square.float()
    )
    gram = (jacobians.mT @ jacobians).mean(0)
    lengths = torch.tensor([data.degrees * pi / 180, data.width])
    torch.testing.assert_close(gram, torch.diag(lengths**2), atol=1e-5, rtol=1e-5)


def test_bent_is_registered():
    assert DATASETS["bent"] is Bent


@pytest.mark.parametrize("option", ["degrees", "width", "noise"])
def test_bent_refuses_nonsense(option):
    with pytest.raises(ValueError, match=f"{option} must"):
        Bent(**{option: -1.0})


def test_angles_of_planted_decoders():
    axes = PCA.weights * torch.tensor([1.3, 0.4])
    straight, swapped = planted(axes), planted(axes.flip(1))
    for model in (straight, swapped):
        assert axis_angle(model) == pytest.approx(0, abs=0.1)
        assert plane_angle(model) == pytest.approx(0, abs=0.1)
        assert crossing_angle(model) == pytest.approx(90, abs=0.1)
    aslant = planted(PCA.weights @ turn(25.0))
    assert axis_angle(aslant) == pytest.approx(25, abs=0.1)
    assert plane_angle(aslant) == pytest.approx(0, abs=0.1)
    oblique = planted(PCA.weights @ torch.stack([turn(0.0)[:, 0], turn(60.0)[:, 0]], 1))
    assert crossing_angle(oblique) == pytest.approx(60, abs=0.1)
    normal = torch.linalg.cross(axes[:, 0], axes[:, 1])
    tilted = torch.stack([axes[:, 0], normal], 1)
    assert plane_angle(planted(tilted)) == pytest.approx(90, abs=0.1)


def test_whatever_spans_the_plane_reconstructs_as_pca_does():
    aslant = planted(PCA.weights @ turn(25.0))
    assert squared_error(aslant) == pytest.approx(squared_error(probe_pca(CLOUD)), rel=1e-4)


def test_a_curved_decoder_has_no_plane():
    bent = planted(PCA.weights)
    curved = replace(bent, decode=lambda z: bent.decode(z) + z[:, :1] ** 2)
    assert coordinate_curves(curved).keys() == {"squared error", "crossing angle"}
    assert coordinate_curves(bent).keys() == measure_pca("quick").keys()


@pytest.fixture(scope="module")
def computed():
    return {"pca": measure_pca("quick")}


@pytest.fixture
def results(computed):
    """Results as if a given linear autoencoder had come out of every run, a seed each."""

    def make(axes, **others):
        found = coordinate_curves(planted(axes)) | {"DtO": 0.1} | others
        values = {name: np.array([value]) for name, value in found.items()}
        outcomes = [
            Outcome(cell, (Run(Path(), cell.config, {}),), values) for cell in STUDY.cells("quick")
        ]
        return Results(STUDY, "quick", tuple(outcomes), computed=computed)

    return make


@pytest.mark.parametrize(
    ("claim", "pca", "turned", "sheared"),
    [
        ("A linear AE spans the plane of PCA.", True, True, True),
        ("The axes of a linear VAE are those of PCA.", True, False, False),
        ("The coordinate curves of a VAE are locally orthogonal.", True, True, False),
        ("The coordinate curves of an AE need not be orthogonal.", False, False, True),
        ("Nonlinear models fit much better than PCA.", False, False, False),
    ],
)
def test_claims_tell_planted_models_apart(results, claim, pca, turned, sheared):
    check = next(c.check for c in STUDY.claims if c.text == claim)
    weights = PCA.weights
    shear = torch.stack([turn(0.0)[:, 0], turn(60.0)[:, 0]], 1)
    assert check(results(weights)).holds == pca
    assert check(results(weights @ turn(25.0))).holds == turned
    assert check(results(weights @ shear)).holds == sheared


def test_models_that_fit_five_times_better_than_pca(results, computed):
    least = computed["pca"]["squared error"] / 5
    for error, holds in ((0.99 * least, True), (1.01 * least, False)):
        assert fits_better(results(PCA.weights, **{"squared error": error})).holds is holds


def test_without_runs_only_pca_is_drawn_and_nothing_is_claimed(computed):
    nothing = Results(STUDY, "quick", computed=computed)
    assert {claim.check(nothing).holds for claim in STUDY.claims} == {None}
    assert [d.name for d in STUDY.drawings if d.draw(nothing) is not None] == ["pca"]


def test_a_picture_is_the_same_wherever_the_cloud_lies():
    """Only its own principal directions place the eye."""
    points = CLOUD.observe(split(CLOUD).test).double().numpy()
    spin, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    spin *= np.sign(np.linalg.det(spin))
    here = (points - points.mean(0)) @ principal(points)
    there = (points @ spin - (points @ spin).mean(0)) @ principal(points @ spin)
    assert np.abs(here) == pytest.approx(np.abs(there), abs=1e-9)
    assert here[:, 2] == pytest.approx(
        there[:, 2], abs=1e-9
    )  # which way is up does not depend on it


def test_curves_keep_the_other_latent_and_stay_on_the_sheet():
    along = np.linspace(-1, 1, 20)
    square = np.stack(np.meshgrid(along, along, indexing="ij"), axis=-1)
    shear = np.array([[1.0, 0.0], [1.0, 1.0]])  # rows: the codes form a parallelogram
    codes = line(square @ shear, 0, 0.5)
    inside = codes[~np.isnan(codes[:, 0])]
    assert (inside[:, 1] == 0.5).all()
    assert inside[:, 0].min() == pytest.approx(-0.5, abs=0.02)
    assert inside[:, 0].max() == pytest.approx(1.5, abs=0.02)


def test_strong_curves_of_an_aligned_plane_follow_its_axes(tmp_path):
    draw = np.random.default_rng(0)
    codes = draw.uniform(-1, 1, (500, 2)) * (2, 1)
    axes = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    points = codes @ axes[:, :2].T + 0.1 * draw.normal(size=(500, 3))
    along = np.linspace(-1, 1, 10)
    grid = np.stack(np.meshgrid(2 * along, along, indexing="ij"), axis=-1)
    with house_style():
        figure = coordinate_surface(points, codes, grid, lambda z: z @ axes[:, :2].T, "plane")
    strong = [each for each in figure.axes[0].lines if each.get_linewidth() == 3]
    for axis, curve in enumerate(strong):
        spans = np.nanmax(curve.get_data_3d(), axis=1) - np.nanmin(curve.get_data_3d(), axis=1)
        assert spans.argmax() == axis
        assert spans[axis] == pytest.approx((4, 2)[axis], rel=0.05)
    assert save(figure, tmp_path, "plane").stat().st_size < 300_000


def drawn_angle(degrees):
    """How a right angle looks in the picture, when axes are turned within the plane."""
    draw = np.random.default_rng(0)
    codes = draw.uniform(-1, 1, (500, 2)) * (2, 1)
    points = np.column_stack([codes, 0.1 * draw.normal(size=500)])
    spin = turn(degrees).numpy()
    along = np.linspace(-1, 1, 10)
    grid = np.stack(np.meshgrid(2 * along, along, indexing="ij"), axis=-1)

    def decode(z):
        return np.column_stack([z @ spin.T, np.zeros(len(z))])

    with house_style():
        figure = coordinate_surface(points, codes @ spin, grid @ spin, decode, "plane")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    ways = []
    for curve in (each for each in axes.lines if each.get_linewidth() == 3):
        ends = np.stack(curve.get_data_3d())[:, [150, 250]]
        x, y, _ = proj3d.proj_transform(*ends, axes.get_proj())
        ways.append(np.diff(axes.transData.transform(np.column_stack([x, y])), axis=0)[0])
    first, second = ways
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    return np.degrees(np.arccos(abs(cosine)))


def test_right_angles_look_right():
    """Exactly so along the principal directions, and nearly so for axes turned from them."""
    assert drawn_angle(0.0) == pytest.approx(90, abs=1.5)
    assert min(drawn_angle(degrees) for degrees in (-45.0, -20.0, 20.0, 45.0)) > 83
