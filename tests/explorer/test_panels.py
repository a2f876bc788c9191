import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from unpick.explorer import panels
from unpick.explorer.pictures import png, rounded, show_changes
from unpick.explorer.subject import Subject, subject_of_model
from unpick.probe import Probe

pytestmark = pytest.mark.slow

ANGLE = 0.5


def pixels(address):
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)))


def linear_subject(matrix, d=2, n=200, seed=0):
    """Codes that are the first observations' coordinates; a decoder that is a matrix."""
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    def encode(x):
        return x, torch.full_like(x, -3.0)

    return Subject("planted", lambda: Probe(encode, lambda z: z @ matrix.T, x))


def test_a_png_holds_the_pixels():
    image = torch.tensor([[[0.0, 0.5], [1.0, 2.0]]])
    assert pixels(png(image)).tolist() == [[0, 128], [255, 255]]


def test_numbers_are_short_and_json_knows_them():
    assert rounded(np.array([1 / 3, -12345.678, 0.0, np.nan, np.inf]), 3) == [
        0.333,
        -12300.0,
        0.0,
        None,
        None,
    ]


def test_changes_are_red_up_and_blue_down(on_images):
    change = torch.zeros(1, *on_images.probe.shape)
    change[..., 0, 0], change[..., 0, 1] = 2.0, -1.0
    drawn = pixels(show_changes(on_images.probe, change)[0])
    assert drawn[1, 1].tolist() == [255, 255, 255]
    assert drawn[0, 0, 0] > drawn[0, 0, 2]
    assert drawn[0, 1, 2] > drawn[0, 1, 0]


def test_a_start_is_the_code_of_its_observation(on_images):
    found = panels.start(on_images, 3)
    probe = on_images.probe
    torch.testing.assert_close(torch.tensor(found["z"]), probe.mean[3], rtol=1e-4, atol=1e-4)
    original = (probe.observations[3, 0].numpy() * 255).round()
    assert (pixels(found["original"]) == original).all()
    decoded = pixels(found["decoded"]) / 255
    assert np.abs(decoded - probe.reconstructions[3, 0].numpy()).max() < 0.01
    assert set(found["values"]) == set(probe.factor_names)


def test_the_prior_is_another_point_for_another_seed(on_images):
    one, same, two = (panels.start(on_images, None, seed)["z"] for seed in (1, 1, 2))
    assert one == same != two


def test_a_row_that_is_not_there_is_refused(on_images):
    with pytest.raises(ValueError, match=r"row must lie in 0\.\."):
        panels.start(on_images, 10**6)


def test_a_traversal_moves_one_latent_and_tells_the_width():
    subject = linear_subject(torch.eye(2, dtype=torch.float64))
    rows = panels.traversals(subject, torch.tensor([0.3, -0.2], dtype=torch.float64))["rows"]
    for row in rows:
        frames = np.array(row["frames"])
        assert np.allclose(frames[:, row["latent"]], row["at"], atol=1e-3)
        still = 1 - row["latent"]
        assert np.allclose(frames[:, still], [0.3, -0.2][still], atol=1e-3)
        assert np.allclose(row["width"], np.exp(-1.5), rtol=1e-2)


def test_columns_keep_the_names_that_the_user_gave():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["age", "bmi"])
    subject, _ = subject_of_model("frame", lambda x: x, lambda z: z, frame)
    assert panels.column_names(subject) == ["age", "bmi"]
    assert panels.column_names(linear_subject(torch.eye(2).double())) == ["value 1", "value 2"]


def test_the_geometry_of_a_turned_decoder_is_its_angle():
    c, s = np.cos(ANGLE), np.sin(ANGLE)
    turn = torch.tensor([[c, -s], [s, c]])
    matrix = torch.diag(torch.tensor([3.0, 1.0], dtype=torch.float64)) @ turn
    found = panels.geometry(linear_subject(matrix), torch.zeros(2, dtype=torch.float64))
    assert np.allclose(sorted(found["singular"]), [1, 3], atol=1e-3)
    assert found["here"] == pytest.approx(2 * np.sqrt(1 - c), rel=1e-6)  # |R - I|
    assert found["overall"] == pytest.approx(found["here"], rel=1e-6)
    assert np.allclose(np.diag(found["directions"]), c, atol=2e-3)
    cosine = abs(float(matrix[:, 0] @ matrix[:, 1] / matrix.norm(dim=0).prod()))
    assert found["cosine"] == pytest.approx(cosine, rel=1e-5)


def test_a_linear_decoder_is_predicted_and_a_bent_one_missed():
    eye = torch.eye(2, dtype=torch.float64)
    at = torch.zeros(2, dtype=torch.float64)
    assert panels.linear(linear_subject(eye), at, 0, 1.5)["missed"] < 1e-10
    straight = linear_subject(eye)
    bent = Subject(
        "bent", lambda: Probe(straight.probe.encode, lambda z: z + z**2, straight.probe.x)
    )
    assert panels.linear(bent, at, 0, 1.0)["missed"] == pytest.approx(0.25)  # of z + z^2 at 1


def test_a_plane_has_its_latents_to_the_right_and_upwards():
    subject = linear_subject(torch.eye(2, dtype=torch.float64))
    found = panels.plane(subject, torch.zeros(2, dtype=torch.float64), [1, 0])
    grid = np.array(found["frames"]).reshape(found["side"], found["side"], 2)
    assert (np.diff(grid[0, :, 1]) > 0).all()
    assert (np.diff(grid[:, 0, 0]) < 0).all()
    with pytest.raises(ValueError, match="two different latents"):
        panels.plane(subject, torch.zeros(2, dtype=torch.float64), [1, 1])


def test_latents_are_matched_up_to_order_and_sign():
    subject = linear_subject(torch.eye(2, dtype=torch.float64))
    swapped = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    other = Subject("swapped", lambda: Probe(lambda x: x @ swapped, None, subject.probe.x))
    pairs = panels.match(subject, other)["pairs"]
    assert [(pair["latent"], pair["sign"]) for pair in pairs] == [(1, -1.0), (0, 1.0)]
    assert all(pair["r"] > 0.999 for pair in pairs)


def test_information_is_where_the_factor_is():
    base = linear_subject(torch.eye(2, dtype=torch.float64))
    x = base.probe.x.clone()
    x[:, 0] = torch.arange(len(x)) % 4
    factor = x[:, :1].numpy()
    subject = Subject("known", lambda: Probe(base.probe.encode, lambda z: z, x, factor, ("step",)))
    found = panels.information(subject)
    shares = dict(zip(found["latents"], np.array(found["shares"])[:, 0], strict=True))
    assert shares[0] > 0.99 > 0.4 > shares[1]
    assert panels.scatter(subject, 0, 1, "step")["values"][:4] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="factor must be one of"):
        panels.scatter(subject, 0, 1, "colour")


def test_the_words_are_those_of_the_diagnosis(on_points):
    titles = [finding["title"] for finding in panels.words(on_points)["findings"]]
    assert titles == [finding.title for finding in on_points.diagnosis.findings]
    assert "Latents" in titles
