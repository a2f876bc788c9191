import numpy as np
import pytest

from unpick.papers.across.ledger.plots import error_orders
from unpick.papers.allen2024.ledger.plots import linear_vae_spectrum, plateau_profiles
from unpick.papers.allen2024.pushforward.plots import Curve, pushforward_density
from unpick.papers.ledger import DRAWINGS, ledger
from unpick.papers.zietlow2022.ledger.plots import budget_allocation, elbo_gap, rotation_descent
from unpick.plots import house_style, save


def lines(axes):
    return [np.asarray(line.get_xydata()) for line in axes.lines]


def words(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def descents():
    halving = 3.0 + 2.0 ** -np.arange(6)
    paths = {"random": [halving, halving[:3]], "saddle": [np.append(halving, 3.0)]}
    return rotation_descent({"planes": paths, "gradient": paths}, 3.0)


def allocations():
    """Two latents, on one level in the first panel, on two in the second."""
    lengths = np.array([[1.0, 2.0], [4.0, 8.0]])
    level = np.array([0.01, 0.04])
    water = (0.01 / lengths**2, np.full(2, 0.01))
    return budget_allocation(
        lengths, {"plain": water, "log": (level[:, None] / lengths**2, level)}
    )


def orders():
    scales = (0.3, 0.1, 0.03, 0.01)
    curves = {f"power {k}": [(s, 0.5 * s**k) for s in scales] for k in (1, 2, 4)}
    return error_orders({**curves, "exact": [(s, 1e-14) for s in scales]})


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


def gaps():
    gamma2 = 10.0 ** np.arange(1, 5)
    return elbo_gap(gamma2, -2 - 1 / gamma2, np.full(4, -1.5), np.full(4, -2.0))


def spectrum():
    eigenvalues = np.array([0.1, 4.0, 1.0, 0.3])
    lengths = np.sqrt(np.maximum(np.array([1.0, 4.0, 0.3]) - 0.5, 0))
    return linear_vae_spectrum(eigenvalues, lengths, 0.5)


def test_descents_are_drawn_above_their_optimum():
    figure = descents()
    drawn = lines(figure.axes[0])
    assert drawn[0][:, 1] == pytest.approx(2.0 ** -np.arange(6))
    assert drawn[4][-1, 1] == 1e-15  # the optimum itself, on a log axis
    assert words(figure) == ["random", "saddle"]


def test_a_water_level_is_a_line_and_several_are_a_band():
    plain, log = allocations().axes
    points, level = lines(plain)[0], lines(plain)[2]
    assert points[:, 0] ** 2 * points[:, 1] == pytest.approx([0.01, 0.01])
    assert level[:, 0] ** 2 * level[:, 1] == pytest.approx([0.01, 0.01])
    assert len(lines(plain)) == len(lines(log)) + 1
    edges = log.collections[0].get_paths()[0].vertices
    heights = np.unique((edges[:, 0] ** 2 * edges[:, 1]).round(9))
    assert heights == pytest.approx([0.01, 0.04])


def test_reference_lines_have_the_power_of_the_errors():
    figure = orders()
    for axes, power in zip(figure.axes, (1, 2, 4), strict=False):
        reference, error = lines(axes)
        assert axes.texts[0].get_text() == f"power {power}"
        assert reference == pytest.approx(error)
    assert "equal to" in figure.axes[3].texts[0].get_text()
    assert not figure.axes[3].lines


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


def test_the_elbo_is_drawn_with_its_distances():
    above, below = gaps().axes
    assert "IMA contrast 0.500" in [text.get_text() for text in above.texts]
    to_likelihood, to_regularised = lines(below)
    assert to_likelihood[:, 1] == pytest.approx(0.5 + 1 / to_likelihood[:, 0])
    assert to_regularised[:, 1] == pytest.approx(1 / to_regularised[:, 0])


def test_dots_of_active_latents_stand_on_their_bars():
    axes = spectrum().axes[0]
    tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
    assert tops == pytest.approx([4.0, 1.0, 0.3, 0.1])
    noise, active, passive = lines(axes)
    assert noise[:, 1] == pytest.approx([0.5, 0.5])
    assert active == pytest.approx(np.array([[1, 4.0], [2, 1.0]]))
    assert passive == pytest.approx(np.array([[3, 0.5]]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw", [descents, allocations, orders, densities, plateaus, gaps, spectrum]
)
def test_drawings_are_small_files(draw, tmp_path):
    with house_style():
        figure = draw()
    assert save(figure, tmp_path, draw.__name__).stat().st_size < 300_000
    for axes in figure.axes:
        assert not (axes.get_xlabel() or axes.get_ylabel()).startswith("$")  # in words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rotation_descent({}, 0.0), "paths must hold at least one"),
        (lambda: budget_allocation(np.ones((2, 2)), {}), "allocations must hold at least one"),
        (
            lambda: budget_allocation(np.ones((2, 8)), {"a": (np.ones((2, 8)), np.ones(2))}),
            "at most 7 columns",
        ),
        (lambda: error_orders({}), "curves must hold at least one"),
        (lambda: plateau_profiles(np.ones(2), {}, np.ones((1, 2))), "profiles must hold"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_the_ledgers_pictures_are_drawn_small(drawing, tmp_path):
    with house_style():
        figure = drawing.draw(ledger(["A-SA.2", "Z-L1"]))
    assert 10_000 < save(figure, tmp_path, drawing.name).stat().st_size < 300_000


def test_a_ledger_without_approximations_has_no_picture_of_them():
    (orders,) = [drawing for drawing in DRAWINGS if drawing.name == "orders"]
    assert orders.draw(ledger(["Z-L1"])) is None
