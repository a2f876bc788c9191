"""The pictures of the ledger of Allen (2024), drawn from planted arrays."""

import numpy as np
import pytest

from unpick.papers.allen2024.ledger.plots import linear_vae_spectrum, plateau_profiles
from unpick.papers.allen2024.pushforward.plots import Curve, pushforward_density
from unpick.plots import house_style, save


def lines(axes):
    return [np.asarray(line.get_xydata()) for line in axes.lines]


def densities():
    """A decoder that stretches the plane by 2 and 0.5: densities multiply to the prior's."""
    t = np.linspace(-2, 2, 21)
    latents = np.stack(np.meshgrid(t, t, indexing="ij"), -1)
    stretch = np.array([2.0, 0.5])
    normal = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    curves = []
    for k in (0, 1):
        line = np.zeros((21, 2))
        line[:, k] = t
        curves.append(Curve(f"latent {k}", line, line * stretch, normal / stretch[k], 10))
    area = normal[:, None] * normal
    return pushforward_density(latents, latents * stretch, area, curves, float(area[10, 10]))


def plateaus():
    v = np.linspace(0, 1, 11)
    profiles = {8.0: np.round(v), 1.0: v}
    return plateau_profiles(v, profiles, np.array([[0.0, 0.0], [1.0, 1.0]]))


def spectrum():
    eigenvalues = np.array([0.1, 4.0, 1.0, 0.3])
    lengths = np.sqrt(np.maximum(np.array([1.0, 4.0, 0.3]) - 0.5, 0))
    return linear_vae_spectrum(eigenvalues, lengths, 0.5)


def test_densities_multiply_where_curves_cross():
    figure = densities()
    below = next(axes for axes in figure.axes if axes.get_xlabel())
    peak = 1 / np.sqrt(2 * np.pi)
    assert below.get_title() == (
        f"where they cross: {peak / 2:.3f} × {2 * peak:.3f} = {peak**2:.3f}; "
        f"density by area {peak**2:.3f}"
    )
    first, dot, second, _ = lines(below)
    assert (first[0, 0], first[-1, 0]) == pytest.approx((-4, 4))  # stretched by 2
    assert (second[0, 0], second[-1, 0]) == pytest.approx((-1, 1))
    assert dot == pytest.approx(np.array([[0, peak / 2]]))
    assert np.trapezoid(first[:, 1], first[:, 0]) == pytest.approx(0.954, abs=0.01)


def test_plateaus_are_named_by_their_bound():
    axes = plateaus().axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["1", "8"]
    straight, steps = lines(axes)[:2]
    assert straight[:, 0] == pytest.approx(straight[:, 1])
    assert set(steps[:, 1]) == {0.0, 1.0}
    assert lines(axes)[2] == pytest.approx(np.array([[0, 0], [1, 1]]))


def test_dots_of_active_latents_stand_on_their_bars():
    axes = spectrum().axes[0]
    tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
    assert tops == pytest.approx([4.0, 1.0, 0.3, 0.1])
    noise, active, passive = lines(axes)
    assert noise[:, 1] == pytest.approx([0.5, 0.5])
    assert active == pytest.approx(np.array([[1, 4.0], [2, 1.0]]))
    assert passive == pytest.approx(np.array([[3, 0.5]]))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [densities, plateaus, spectrum])
def test_drawings_are_small_files(draw, tmp_path):
    with house_style():
        figure = draw()
    assert save(figure, tmp_path, draw.__name__).stat().st_size < 300_000
    for axes in figure.axes:
        assert not (axes.get_xlabel() or axes.get_ylabel()).startswith("$")  # in words


def test_profiles_must_not_be_empty():
    with pytest.raises(ValueError, match="profiles must hold"):
        plateau_profiles(np.ones(2), {}, np.ones((1, 2)))
