"""Every finding about models whose truth is known; the table of the docs is what was found."""

import math
from pathlib import Path

import pytest

from planted import diagnosed, judged, plants, table

PAGE = Path(__file__).parents[2] / "docs" / "measures" / "diagnose.md"


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard", "unchecked")
def test_no_finding_reassures_or_alarms_falsely():
    for name, plant in plants().items():
        found = diagnosed(name)
        assert not [title for title, (_, _, false) in judged(name).items() if false], name
        assert (None if found.axes is None else found.axes.word) in plant.words, name
        assert found.beta in plant.beta, name
        line = " ".join(found.bottom_line)
        if "w" in plant.truth:
            assert "Next: nothing needs to change" not in line, name
        if "w" in plant.truth[:3]:
            assert "nothing needs to change" not in line, name
        if plant.truth[1] != "f":
            assert "axes are aligned with" not in line or "not in order" in line, name
        if plant.active is not None:
            assert int(found.active.sum()) == plant.active, name
    rows, told = table()
    page = PAGE.read_text()
    assert rows in page
    assert told in page


def test_turned_planes_have_the_distance_of_their_angle():
    """The verdict's number is the planted one: sqrt(8) sin(angle / 2), and the angle itself."""
    for degrees in (5, 15, 45):
        axes = diagnosed(f"turned by {degrees} degrees").axes
        distance = math.sqrt(8) * math.sin(math.radians(degrees) / 2)
        assert axes.distance.mean == pytest.approx(distance, rel=1e-3)
        assert axes.angles.tolist() == pytest.approx([degrees, degrees], rel=1e-3)


def test_a_random_rotation_of_two_latents_may_look_aligned_and_that_is_said():
    found = diagnosed("turned by 5 degrees")
    assert found.axes.luck == pytest.approx(5 / 45, abs=0.02)  # angles are uniform up to 45
    assert f"Of random rotations {found.axes.luck:.0%} come as near" in found.findings[1].text
