import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from unpick.data.sprites import FACTORS
from unpick.models.linear import LinearModel, from_axes, pca, ppca
from unpick.papers.bhowal2024.pca import claims, readings
from unpick.papers.bhowal2024.pca import study as bhowal_pca
from unpick.papers.bhowal2024.pca.claims import PRINTED
from unpick.papers.bhowal2024.pca.figures import draw_table, printed_and_read, reconstructions
from unpick.papers.bhowal2024.pca.readings import PICTURED, SETS, Survey, survey_from_json
from unpick.study.running import compute
from unpick.study.study import Results

NAMES = [*SETS]


@pytest.fixture
def x(generator):
    """Clouds with a few wide directions."""
    mixing = torch.randn(6, 6, generator=generator).double()
    return torch.randn(50, 6, generator=generator).double() @ mixing + 2


@pytest.fixture(scope="module")
def sprites():
    return readings.draw_sprites(32, 400)


@pytest.fixture(scope="module")
def axes(sprites):
    """All axes of the small sprites, largest variance first."""
    return readings.principal_axes(sprites[0])[0]


@pytest.fixture(scope="module")
def small():
    return readings.survey(32, 400)


def test_reconstructions_are_scikit_learns(x):
    theirs = PCA(2).fit(x.numpy())
    rebuilt_ = theirs.inverse_transform(theirs.transform(x.numpy()))
    np.testing.assert_allclose(from_axes(pca(x, 6), x, slice(0, 2)), rebuilt_, atol=1e-10)


def test_what_axes_leave_out_is_their_variance_and_sets_add_up(x):
    model, variances = pca(x, 6), np.linalg.eigvalsh(np.cov(x.numpy().T, ddof=0))[::-1]
    sets = [slice(0, 2), slice(2, 5), slice(4, 6), slice(0, 0)]
    errors = [(x - from_axes(model, x, axes)).square().sum(1).mean().item() for axes in sets]
    np.testing.assert_allclose(readings.projection_errors(variances, sets), errors)
    parts = [from_axes(model, x, axes) - model.mean for axes in (slice(0, 2), slice(2, 6))]
    torch.testing.assert_close(model.mean + sum(parts), x)
    with pytest.raises(ValueError, match="must come from pca"):
        from_axes(ppca(x, 2), x, slice(None))


def test_axes_of_images_with_pixels_that_never_change(x):
    images = torch.zeros(50, 9).double()
    images[:, [0, 2, 3, 5, 6, 8]] = x
    model, codes = readings.principal_axes(images)
    eye = torch.eye(9).double()
    torch.testing.assert_close(model.weights.T @ model.weights, eye, atol=1e-12, rtol=0)
    torch.testing.assert_close(codes, (images - model.mean) @ model.weights, atol=1e-6, rtol=0)
    theirs = np.pad(PCA().fit(x.numpy()).explained_variance_ * 49 / 50, (0, 3))
    np.testing.assert_allclose(codes.square().mean(0), theirs, atol=1e-5)
    assert (codes[:, 6:] == 0).all()


def test_errors_of_the_survey_are_those_of_its_pictures(small, sprites, axes):
    images, _ = sprites
    pixels = LinearModel(axes.mean, torch.eye(1024).double(), 0.0)
    rising = LinearModel(axes.mean, axes.weights.flip(1), 0.0)
    ways = {"falling variance": axes, "rising variance": rising, "pixels": pixels}
    for way, model in ways.items():
        for name, error in zip(NAMES, small.errors[way], strict=True):
            some = readings.scale_axes(SETS[name], 32)
            found = (images - from_axes(model, images, some)).square().sum(1).mean().item()
            assert found == pytest.approx(error, abs=1e-4)
    assert readings.scale_axes(SETS["2500 to 3000"], 32) == slice(625, 750)
    assert readings.scale_axes(SETS["2500 to 3000"], 64) == SETS["2500 to 3000"]
    assert sum(small.held[name] for name in ("first 1500", "1500 to 2500", "2500 to 3000")) <= 1


def test_shares_of_variance(rng):
    values = rng.integers(4, size=800)
    own = torch.from_numpy(np.eye(4)[values])
    assert readings.variance_share(own, values) == pytest.approx(1)
    assert abs(readings.variance_share(own, rng.integers(4, size=800))) < 0.02
    half = torch.cat([own, torch.from_numpy(np.eye(4)[rng.integers(4, size=800)])], 1)
    assert readings.variance_share(half, values) == pytest.approx(0.5, abs=0.03)


def test_planted_codes_are_predicted_and_noise_is_not(rng):
    sizes = [factor.size for factor in FACTORS]
    positions = rng.integers(sizes, size=(1000, 5))
    codes = torch.from_numpy(positions[:, [0, 1]] / np.array([0.1, 1.0]))
    found = readings.predict_by_neighbours(codes, positions)
    assert found["shape"] == 1
    assert found["scale"] == pytest.approx(1)
    assert max(found["x"], found["y"]) < 0.1
    assert "orientation" not in found
    still = readings.predict_by_neighbours(0 * codes, positions)
    assert max(still.values()) < 0.1


def test_places_are_read_from_edges_of_either_sign(rng):
    """A dot of random sign where the sprite is: no neighbour has it, but an eye sees it."""
    positions = np.stack([rng.integers(factor.size, size=500) for factor in FACTORS], 1)
    images = torch.zeros(500, 32, 32).double()
    signs = torch.from_numpy(rng.choice([-1.0, 1.0], size=500))
    images[torch.arange(500), positions[:, 4], positions[:, 3]] = signs
    eye = torch.eye(1024).double()
    found = readings.predict_by_location(images.flatten(1), eye, positions)
    assert min(found.values()) == pytest.approx(1)
    assert readings.predict_by_neighbours(images.flatten(1), positions)["x"] < 0.5
    assert readings.predict_factors(images.flatten(1), eye, positions)["x"] == pytest.approx(1)
    blank = readings.predict_by_location(0 * images.flatten(1), eye, positions)
    assert max(blank.values()) < 0.1


def test_the_position_of_small_sprites_is_in_every_set(small):
    for name in ("the images", "first 10", "first 1500"):
        assert min(small.predicted[name]["x"], small.predicted[name]["y"]) > 0.9
    assert small.alone["x"] > 5 * small.alone["shape"]


def test_errors_of_any_projection_agree_on_their_total(rng):
    energies = rng.exponential(size=4096)
    errors = readings.projection_errors(energies, [*SETS.values()])
    assert claims.totals(errors) == pytest.approx([energies.sum()] * 2)
    assert claims.totals(PRINTED) == pytest.approx([24.20, 23.51])


def test_units_do_not_matter_for_a_fit(rng):
    errors = rng.exponential(size=6)
    fitted, misfit = claims.scale_to(errors / 7, errors)
    assert misfit == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(fitted, errors)
    other = rng.exponential(size=6)
    assert claims.scale_to(3 * errors, other)[1] == pytest.approx(
        claims.scale_to(errors, other)[1]
    )
    assert claims.scale_to(errors, other)[1] > 0.1


FALLING = 100 * 0.995 ** np.arange(4096.0)
PIXELS = np.exp(-0.5 * ((np.arange(4096) - 2048) / 700) ** 2)


def planted(energies=FALLING, **changes):
    """A survey with these variances, where the paper is right of everything but the blank."""
    sets = [*SETS.values()]
    told = {"shape": 0.1, "scale": 0.8, "x": 0.99, "y": 0.98}
    values = {
        "total": float(energies.sum()),
        "errors": {
            "falling variance": readings.projection_errors(energies, sets),
            "rising variance": readings.projection_errors(energies[::-1], sets),
            "pixels": readings.projection_errors(PIXELS, sets),
        },
        "held": {"first 10": 0.5, "1500 to 2500": 0.01, "2500 to 3000": 0.0},
        "predicted": {
            "the images": told | {"shape": 0.9},
            "first 10": told,
            "first 1500": told,
            "1500 to 2500": told,
            "2500 to 3000": dict.fromkeys(told, 0.0),
        },
        "alone": {"shape": 0.01, "scale": 0.02, "orientation": 0.0, "x": 0.3, "y": 0.2},
        "pictures": {},
    }
    return Survey(**(values | changes))


def with_told(name, **values):
    found = planted()
    told = found.predicted | {name: found.predicted[name] | values}
    return replace(found, predicted=told)


def test_verdicts_on_errors():
    flat = planted(np.ones(4096))
    assert claims.more_axes(planted()).holds is True
    assert claims.more_axes(planted(np.append(FALLING[:1000], np.zeros(3096)))).holds is False
    found = claims.without_first(planted(), PRINTED)
    assert found.holds is True
    assert "in the table 12.31 and 12.43" in found.evidence
    assert claims.without_first(flat, PRINTED).holds is False
    assert claims.blank(planted()).holds is False
    assert claims.blank(planted(np.append(np.full(1500, 1e-3), np.ones(2596)))).holds is True


def test_verdicts_on_factors():
    good = planted()
    assert claims.important_first(good).holds is True
    assert claims.important_first(with_told("first 10", shape=0.95)).holds is False
    assert claims.only_position(good).holds is True
    assert claims.only_position(with_told("first 1500", shape=0.5)).holds is False
    assert claims.only_position(with_told("first 1500", y=0.5)).holds is False
    assert claims.middle_position(good).holds is True
    assert claims.middle_position(with_told("1500 to 2500", x=0.5)).holds is False
    assert claims.no_late_position(good).holds is True
    assert claims.no_late_position(with_told("2500 to 3000", y=0.9)).holds is False
    assert claims.in_sight("1500 to 2500", good).holds is False  # of 1 % of the variance
    assert claims.in_sight("first 10", good).holds is True
    assert claims.out_of_sight("2500 to 3000", good).holds is True
    assert claims.out_of_sight("first 10", good).holds is False


def test_verdicts_on_the_order_of_the_table():
    good = planted()
    assert claims.falling_order(good.errors["falling variance"]).holds is True
    for other in (good.errors["rising variance"], good.errors["pixels"], PRINTED):
        assert claims.falling_order(other).holds is False
    assert claims.pixel_order(good, 0.1 * good.errors["pixels"]).holds is True
    for way in ("falling variance", "rising variance"):
        assert claims.pixel_order(good, 0.1 * good.errors[way]).holds is False


def test_a_survey_survives_json_to_the_last_digit(small):
    again = survey_from_json(json.loads(json.dumps(small.to_json())))
    for name in ("total", "held", "predicted", "alone"):
        assert getattr(again, name) == getattr(small, name)
    for name in ("errors", "pictures"):
        ours, theirs = getattr(again, name), getattr(small, name)
        assert ours.keys() == theirs.keys()
        for order in ours:
            np.testing.assert_array_equal(ours[order], theirs[order])


def test_the_study_computes_its_survey_once(small, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(readings, "survey", lambda: calls.append(None) or small)
    first, second = (compute(bhowal_pca.STUDY, "quick", tmp_path) for _ in range(2))
    assert first == second == {"survey": small.to_json()}
    assert len(calls) == 1


def test_the_study_in_small(small):
    """What fails with the printed table, and what holds, does so on a few small sprites, too."""
    results = Results(bhowal_pca.STUDY, "quick", computed={"survey": small.to_json()})
    held = {claim.text: claim.check(results).holds for claim in bhowal_pca.STUDY.claims}
    assert held["It rises fast when the first axes, of high variance, are left out."] is True
    assert held["The reconstruction from the first 1500 axes is blank."] is False
    assert held["As printed: table 7 has its axes in order of falling variance."] is False
    (nearer,) = (holds for text, holds in held.items() if text.startswith("Our reading"))
    assert nearer is True
    table = draw_table(results)
    assert [bar.get_height() for bar in table.axes[0].patches] == PRINTED.tolist()


def test_the_table_has_our_errors_beside_the_printed_ones():
    """Pixels planted at three times the printed errors fit exactly."""
    survey = planted()
    exact = replace(survey, errors={**survey.errors, "pixels": 3 * PRINTED})
    results = Results(bhowal_pca.STUDY, "quick", computed={"survey": exact.to_json()})
    (table,) = bhowal_pca.STUDY.tables(results)
    assert table.columns == ("axes used", "printed", *exact.errors)
    above, below = table.rows[1 : 1 + len(SETS)], table.rows[-len(SETS) :]
    place = table.columns.index("pixels")
    assert [row[place] for row in above] == [row[1] for row in above]
    assert [row[0] for row in above] == [row[0] for row in below] == NAMES
    assert [float(row[place]) for row in below] == pytest.approx(3 * PRINTED, rel=1e-3)
    assert dict(zip(table.columns, table.rows[1 + len(SETS)], strict=True))["pixels"] == "0%"


def test_pictures_show_what_axes_keep(small, axes):
    rows = small.pictures
    falling, rising, pixels = rows.values()
    original = pixels[0]
    assert np.abs(falling[1] - original).mean() < 0.3 * np.abs(rising[1] - original).mean()
    upper = np.arange(1024).reshape(32, 32) < 375  # the first 1500 of 4096
    np.testing.assert_allclose(pixels[1][upper], original[upper], atol=1e-12)
    mean = axes.mean.reshape(32, 32).numpy()
    np.testing.assert_allclose(pixels[1][~upper], mean[~upper], atol=1e-12)
    figure = reconstructions(rows, ["original", *PICTURED])
    assert len(figure.axes) == 3 * 6
    np.testing.assert_array_equal(figure.axes[13].images[0].get_array(), pixels[1])
    assert [axes.get_title() for axes in figure.axes[:2]] == ["original", "first 1500"]


def test_marks_stand_beside_their_bars():
    errors = np.array([3.0, 1.0])
    (axes,) = printed_and_read(["a", "b to c"], errors, {"one": errors, "two": 2 * errors}).axes
    for mark, expected in zip(axes.lines, (errors, 2 * errors), strict=True):
        assert np.abs(mark.get_xdata() - [0, 1]).max() < 0.4
        np.testing.assert_array_equal(mark.get_ydata(), expected)
