import numpy as np
import pytest

from unpick.papers.zietlow2022.thesis_4.rings import ring

TURN = 2 * np.pi * np.arange(10) / 10


def codes(*columns):
    return np.stack(np.broadcast_arrays(*columns, np.zeros(10)), axis=1)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_ring_has_all_of_the_variance_whichever_way_it_is_passed(sign):
    found = ring(codes(0.1 * TURN, 3 * np.cos(TURN), 3 * sign * np.sin(TURN)), np.arange(10))
    assert found.share == pytest.approx(1)
    assert sorted(found.latents) == [1, 2]
    assert found.polar


@pytest.mark.parametrize("angle", [0, 0.3, np.pi / 4])
@pytest.mark.parametrize("line", [TURN, np.cos(TURN), np.arange(10) % 4, np.arange(10) == 3])
def test_no_line_has_more_than_half(angle, line):
    found = ring(codes(np.cos(angle) * line, np.sin(angle) * line), np.arange(10))
    assert found.share <= 0.5 + 1e-12
    assert not found.polar


def test_an_ellipse_lies_between():
    found = ring(codes(2 * np.cos(TURN), np.sin(TURN)), np.arange(10))
    assert found.share == pytest.approx(0.9)
    assert found.polar


def test_a_ring_that_is_passed_twice_is_none():
    found = ring(codes(np.cos(2 * TURN), np.sin(2 * TURN)), np.arange(10))
    assert found.share == pytest.approx(0, abs=1e-12)


def test_other_factors_are_averaged_out():
    # The radius is another factor, as the orientation in figure 4.11.
    generator = np.random.default_rng(0)
    k, radius = generator.integers(10, size=4000), generator.uniform(0.5, 1.5, 4000)
    z = radius[:, None] * np.stack([np.cos(TURN[k]), np.sin(TURN[k])], axis=1)
    assert ring(z, k).share > 0.99


def test_what_cannot_be_a_ring_is_refused():
    with pytest.raises(ValueError, match="at least 3 values to lie on a ring, got 2"):
        ring(np.zeros((4, 2)), np.array([0, 1, 0, 1]))
    with pytest.raises(ValueError, match="at least 2 latents, got 1"):
        ring(np.zeros((4, 1)), np.arange(4))
    assert ring(np.zeros((4, 2)), np.arange(4)).share == 0
