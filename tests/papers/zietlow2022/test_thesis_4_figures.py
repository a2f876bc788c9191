"""The figures of chapter 4: every mark stands where its number is."""

import numpy as np
import pytest
import torch

from drawn import marks
from unpick.papers.zietlow2022.thesis_4 import embeddings, process
from unpick.papers.zietlow2022.thesis_4.planes import planes
from unpick.papers.zietlow2022.thesis_4.spectra import (
    Course,
    Latents,
    Pixels,
    courses,
    latent_spectra,
    pixel_spectra,
)
from unpick.papers.zietlow2022.thesis_4.study import STUDY
from unpick.plots.style import BLUE
from unpick.study import Results

EMPTY = Results(STUDY, "quick")


def test_spectra_show_means_and_every_run():
    deviations = np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.7]])
    latents = Latents(np.array([0.4, 0.6]), deviations)
    above, below = latent_spectra({"data": {"before": latents}}).axes
    assert marks(above, "o") == {BLUE: [[0.4, 0.6]]}
    curves = [np.asarray(line.get_ydata()).tolist() for line in below.lines]
    assert curves[:2] == deviations.tolist()
    assert curves[2] == pytest.approx([0.2, 0.3, 0.8])
    pixels = Pixels({"before": np.array([0.5, 0.1])}, {"AE": {"before": np.array([0.2])}})
    above, below = pixel_spectra({"data": pixels}).axes
    assert np.asarray(above.lines[0].get_ydata()).tolist() == [0.5, 0.1]
    assert marks(below, "o") == {BLUE: [[0.2]]}
    for draw in (latent_spectra, pixel_spectra):
        with pytest.raises(ValueError, match="at least one"):
            draw({})


def test_planes_have_their_first_image_at_the_upper_left():
    images = (torch.arange(6.0) / 6).reshape(2, 3, 1, 1, 1).expand(2, 3, 1, 2, 2)
    labels = {"a": ("hue", "turn"), "b": ("hue", "hue")}
    figure = planes({"a": {"x": images, "y": images}, "b": {"x": images}}, labels, 2.0)
    (picture,) = figure.axes[0].images
    shown = np.asarray(picture.get_array())[1::4, 1::4]
    assert shown == pytest.approx((np.arange(6) / 6).reshape(2, 3))
    assert picture.get_extent() == [-2.0, 2.0, -2.0, 2.0]
    assert picture.origin == "upper"
    assert not figure.axes[3].axison
    with pytest.raises(ValueError, match="at least one panel"):
        planes({}, {}, 2.0)


def test_courses_show_every_seed_and_the_mean():
    course = Course(np.array([5, 15]), np.array([[0.1, 0.3], [0.5, 0.7]]), np.ones((2, 2)))
    above, below = courses({"rooms": {"original": course}}).axes
    lines = [np.asarray(line.get_ydata()).tolist() for line in above.lines]
    assert lines == [[0.1, 0.5], [0.3, 0.7], pytest.approx([0.2, 0.6])]
    assert above.get_ylabel() == "MIG"
    assert len(below.lines) == 4  # with that of a random rotation
    with pytest.raises(ValueError, match="at least one kind"):
        courses({})


def test_ripples_of_a_surface_turn_its_principal_directions():
    """Figure 4.1: no point moves by more than epsilon, and the turn is that of a finer search."""
    square = np.random.default_rng(0).uniform(size=(2000, 2))
    step = embeddings.sheet(square, embeddings.EPSILON) - embeddings.sheet(square)
    assert np.linalg.norm(step, axis=1).max() <= embeddings.EPSILON + 1e-12
    assert embeddings.principal_turn(0.0) == pytest.approx(0, abs=1e-6)
    assert embeddings.principal_turn(embeddings.EPSILON) > 20
    # E[J^T J] in closed form: the strip's own lengths, and half the squared slope of the waves.
    slope = np.square(np.pi * embeddings.WAVES * embeddings.EPSILON) / 2
    own = np.square(2 * embeddings.HALF) - np.square(embeddings.WIDTH)
    wanted = np.degrees(np.arctan2(2 * slope, own)) / 2
    assert embeddings.principal_turn(embeddings.EPSILON) == pytest.approx(wanted, abs=1.0)


@pytest.mark.slow
def test_the_process_has_two_models_and_one_change():
    texts = [text.get_text() for text in process.draw_process(EMPTY).axes[0].texts]
    for kind in ("encoder\n(entangled)", "encoder\n(disentangled)", "decoder\n(entangled)"):
        assert texts.count(kind) == 1
    assert sum("smaller" in text for text in texts) == sum("larger" in text for text in texts) == 1
    assert len(embeddings.draw_embeddings(EMPTY).axes) == 4
