"""The study `ima-gap`: its curves on small mixings, its claims on planted ones."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from unpick.papers.reizinger2022.ima_gap import claims
from unpick.papers.reizinger2022.ima_gap.curves import OUTSIDE, Curves, compute_curves, stored
from unpick.papers.reizinger2022.ima_gap.figures import elbo_gaps, stored_beside
from unpick.papers.reizinger2022.ima_gap.study import STUDY
from unpick.papers.reizinger2022.mixings import (
    OrthogonalMLP,
    moebius,
    orthogonal_mlp,
    triangular_mlp,
)
from unpick.study.study import Results


def test_curves_of_a_linear_mixing_in_closed_form():
    """Every mean is known: over the draws of the sources, second moments of them."""
    mixing = triangular_mlp(2, depth=1, seed=1)
    precisions = np.array([10.0, 1e4, 1e5])
    found = compute_curves(mixing, 2, precisions, draws=64)
    points = torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(64).double()
    x = torch.special.ndtri(points) @ mixing.layers[0].T
    gram, eye = mixing.layers[0].T @ mixing.layers[0], torch.eye(2).double()
    density = MultivariateNormal(torch.zeros(2).double(), mixing.layers[0] @ mixing.layers[0].T)
    assert found.likelihood == pytest.approx(density.log_prob(x).mean().item())
    contrast = 0.5 * (gram.diagonal().log().sum() - gram.logdet()).item()
    assert found.contrast == pytest.approx(contrast)
    assert found.regularised == found.likelihood - found.contrast
    for k, precision in enumerate(precisions):
        noisy = density.covariance_matrix + eye / precision
        likelihood = MultivariateNormal(torch.zeros(2).double(), noisy).log_prob(x).mean().item()
        shape = precision * gram + eye
        gap = 0.5 * (shape.diagonal().log().sum() - shape.logdet()).item()
        assert found.elbo[k] == pytest.approx(likelihood - gap, abs=1e-5)
        assert found.noisy[k] == pytest.approx(likelihood, abs=0.05)
    assert (found.off_variance < 1e-3).all()  # the variances are those of the inverting encoder
    assert (np.diff(found.off_inverse) < 0).all()
    assert claims.decay_power(found, found.elbo) == pytest.approx(-1, abs=0.05)


def test_curves_inside_the_class_end_at_the_likelihood():
    found = compute_curves(OrthogonalMLP(torch.eye(2).double()), 2, np.array([1e2, 1e4, 1e6]), 16)
    assert claims.coincide_inside({"rectifier": found}).holds is True
    assert claims.encoder_inverts({"rectifier": found}).holds is True


def planted(contrast=7.0, elbo=1.0, inverting=-1.0, **changes):
    """ELBOs that are off the IMA objective by so much / precision, and an encoder that inverts."""
    precision = 10.0 ** np.arange(1, 6)
    values = {
        "precision": precision,
        "elbo": 10 - contrast + elbo / precision,
        "inverting": 10 - contrast + inverting / precision,
        "noisy": 10 - 1 / precision,
        "likelihood": 10.0,
        "contrast": contrast,
        "off_inverse": 1 / precision,
        "off_variance": 2 / precision,
    }
    return Curves(**(values | changes))


GOOD = planted()


def test_what_the_elbo_tends_to():
    assert claims.tends_to_objective(GOOD).holds is True
    assert "IMA objective 3.000" in claims.tends_to_objective(GOOD).evidence
    assert (
        claims.tends_to_objective(replace(GOOD, elbo=GOOD.elbo + 0.1)).holds is False
    )  # elsewhere
    likely = replace(GOOD, elbo=GOOD.likelihood - 1 / GOOD.precision)
    assert claims.tends_to_objective(likely).holds is False
    near = 3 + np.array([1.0, 0.03, 0.01, 0.02, 0.03])
    assert claims.tends_to_objective(replace(GOOD, elbo=near)).holds is False  # close, but leaving


def test_what_gap_remains():
    theirs = stored("outside")
    found = claims.gap_is_contrast(GOOD, theirs)
    assert found.holds is True
    assert "stored results 1.012" in found.evidence  # (14.8512 - 7.697) / 7.0721
    assert claims.gap_is_contrast(replace(GOOD, elbo=GOOD.elbo + 1), theirs).holds is False
    assert claims.gap_is_contrast(replace(GOOD, noisy=GOOD.noisy - 1), theirs).holds is False
    assert claims.gap_is_contrast(GOOD, replace(theirs, elbo=theirs.elbo + 1)).holds is False


def test_what_coincides_inside_the_class():
    inside = planted(contrast=0.0, elbo=-1.0)
    assert claims.coincide_inside({"a": inside}).holds is True
    assert claims.coincide_inside({"a": inside, "b": GOOD}).holds is False  # has a contrast
    short = replace(inside, elbo=inside.elbo - 0.02)
    assert claims.coincide_inside({"a": short}).holds is False


def test_how_fast_distances_fall():
    assert claims.decay_power(GOOD, GOOD.inverting) == pytest.approx(-1)
    slow = replace(GOOD, inverting=GOOD.regularised - GOOD.precision**-0.5)
    assert claims.decay_power(slow, slow.inverting) == pytest.approx(-0.5)
    assert claims.falls_like_inverse_square({"a": GOOD}).holds is True
    assert claims.falls_like_inverse_square({"a": GOOD, "b": slow}).holds is False


def test_which_encoders_are_self_consistent():
    assert claims.encoder_inverts({"a": GOOD}).holds is True
    for column in ("off_inverse", "off_variance"):
        stays = replace(GOOD, **{column: 1 - np.linspace(0, 0.5, 5)})
        assert claims.encoder_inverts({"a": GOOD, "b": stays}).holds is False
    returns = replace(GOOD, off_inverse=np.array([1.0, 0.1, 0.2, 0.01, 0.001]))
    assert claims.encoder_inverts({"a": returns}).holds is False


def test_what_is_no_bound():
    theirs = stored("outside")
    hump = replace(GOOD, elbo=3 + np.array([-1.0, 0.5, 0.2, 0.1, 0.01]))
    found = claims.objective_is_no_bound(hump, theirs)
    assert found.holds is True
    assert "here 0.50 nats at gamma^2 = 10^2" in found.evidence
    assert "stored results 0.19 nats at gamma^2 = 10^3.5, -0.08 at the highest" in found.evidence
    assert claims.objective_is_no_bound(planted(elbo=-1.0), theirs).holds is False  # from below
    assert (
        claims.objective_is_no_bound(replace(hump, elbo=np.sort(hump.elbo)), theirs).holds is False
    )
    assert claims.objective_is_no_bound(hump, planted(elbo=-1.0)).holds is False


def test_stored_results():
    outside, inside = stored("outside"), stored("inside")
    assert outside.regularised == pytest.approx(7.7791)
    assert outside.elbo[[0, -1]].tolist() == [2.564, 7.697]
    assert inside.contrast == 0
    assert claims.coincide_inside({"stored": inside}).holds is True
    assert outside.precision[[0, -1]] == pytest.approx([10, 1e5])


def test_curves_go_through_json_unchanged():
    again = Curves.from_json(json.loads(json.dumps(GOOD.to_json())))
    for field in fields(Curves):
        assert np.array_equal(getattr(again, field.name), getattr(GOOD, field.name))


def test_the_study_in_small():
    """On two sources, three precisions and few draws."""
    precisions = np.array([1e4, 1e5, 1e6])
    small = {
        "Möbius": moebius(2),
        "orthogonal network": orthogonal_mlp(2),
        OUTSIDE: triangular_mlp(2, seed=1),
    }
    found = {name: compute_curves(m, 2, precisions, draws=8) for name, m in small.items()}
    given = {name: each.to_json() for name, each in found.items()}
    results = Results(STUDY, "quick", computed={"curves": given})
    held = [claim.check(results).holds for claim in STUDY.claims[:5]]
    assert held == [True] * 5
    outside = found[OUTSIDE]
    assert outside.contrast > 0.1
    assert abs(outside.elbo[-1] - outside.regularised) < 1e-3
    gaps, beside = (drawing.draw(results) for drawing in STUDY.drawings)
    assert [axes.get_title().split("\n")[0] for axes in gaps.axes[:3]] == [*found]
    left = beside.axes[0]
    ours = left.lines[1].get_ydata()
    assert ours == pytest.approx((outside.likelihood - outside.elbo) / outside.contrast)


def test_marks_are_filled_above_the_objective_only():
    found = replace(GOOD, elbo=3 + np.array([-1.0, 0.5, 0.2, 0.1, 0.01]))
    below = elbo_gaps({"a": found}).axes[1]
    empty, filled = below.lines[:2]
    assert empty.get_ydata() == pytest.approx([1.0, 0.5, 0.2, 0.1, 0.01])
    assert empty.get_markerfacecolor() == "none"
    assert filled.get_ydata() == pytest.approx([0.5, 0.2, 0.1, 0.01])
    lines = {"a": (found.precision, 1 / found.precision)}
    left, right = stored_beside(lines, lines).axes
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    assert right.lines[0].get_ydata() == pytest.approx(1 / found.precision)
