import math
from dataclasses import replace
from inspect import unwrap

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from unpick.papers.reizinger2022.ima_gap import claims as claims
from unpick.papers.reizinger2022.ima_gap import study as ima_gap
from unpick.papers.reizinger2022.ima_gap.figures import Curves, elbo_gaps, stored_beside
from unpick.study.study import Results
from unpick.theory.best_encoder import best_encoder, log_marginal
from unpick.theory.mechanisms import mechanism_gap
from unpick.theory.mixings import OrthogonalMLP, triangular_mlp

MIXING = torch.tensor([[1.0, 0.6], [0.0, 0.8], [0.5, 0.1]]).double()


def linear(z):
    return z @ MIXING.T


def bent(z):
    a, b = z.T
    return torch.stack([a + b / 2, b + a.sin() / 3], 1)


@pytest.fixture
def z(generator):
    return torch.randn(6, 2, generator=generator).double() / 2


@pytest.mark.parametrize("precision", [1.0, 10.0, 1e4])
def test_the_best_encoder_of_a_linear_decoder_in_closed_form(precision, z):
    """The mean of the exact posterior, and the inverse diagonal of its precision."""
    found = best_encoder(linear, z, precision)
    shape = torch.eye(2).double() + precision * MIXING.T @ MIXING
    mean = precision * linear(z) @ MIXING @ shape.inverse()
    torch.testing.assert_close(found.mean, mean, atol=1e-5, rtol=0)
    variance = (1 / shape.diagonal()).expand(6, 2)
    torch.testing.assert_close(found.deviation.square(), variance, atol=0, rtol=1e-4)
    noise = torch.eye(3).double() / precision
    density = MultivariateNormal(torch.zeros(3).double(), MIXING @ MIXING.T + noise)
    gap = (shape.diagonal().log().sum() - shape.logdet()) / 2
    torch.testing.assert_close(found.elbo, density.log_prob(linear(z)) - gap, atol=1e-7, rtol=0)


def test_its_elbo_is_that_of_drawn_noise_and_no_other_encoders_is_higher(z, generator):
    precision = 20.0
    found = best_encoder(bent, z, precision, nodes=9)
    noise = torch.randn(20_000, 1, 2, generator=generator, dtype=torch.float64)

    def elbo(mean, deviation):
        codes = (mean + deviation * noise).flatten(0, 1)
        likelihood = Normal(bent(codes).reshape(-1, *z.shape), precision**-0.5)
        drawn = likelihood.log_prob(bent(z)).sum(2)
        prior = kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0)).sum(1)
        return drawn.mean(0) - prior, drawn.std(0) / len(noise) ** 0.5

    value, error = elbo(found.mean, found.deviation)
    assert ((found.elbo - value).abs() < 5 * error).all()
    for k in range(2):
        step = 0.2 * torch.eye(2).double()[k]
        for sign in (-1, 1):  # on the same draws, so that differences are certain
            assert (elbo(found.mean + sign * step, found.deviation)[0] < value).all()
            assert (elbo(found.mean, found.deviation * (sign * step).exp())[0] < value).all()


def test_it_lies_between_the_inverting_encoder_and_the_likelihood(z):
    for precision in (5.0, 500.0):
        inverting = mechanism_gap(bent, z, precision)
        found = best_encoder(bent, z, precision, nodes=24)
        assert (found.elbo > inverting.elbo).all()
        assert (found.elbo < inverting.log_likelihood).all()


@pytest.mark.parametrize("precision", [5.0, 1e5])
def test_likelihoods_of_decoders_with_noise(precision, z):
    noise = torch.eye(3).double() / precision
    density = MultivariateNormal(torch.zeros(3).double(), MIXING @ MIXING.T + noise)
    close = {"atol": 0.1, "rtol": 0.0}  # of 2000 draws
    found = log_marginal(linear, linear(z), z, precision)
    torch.testing.assert_close(found, density.log_prob(linear(z)), **close)
    quadrature = mechanism_gap(bent, z, precision, nodes=60).log_likelihood
    torch.testing.assert_close(log_marginal(bent, bent(z), z, precision), quadrature, **close)
    many = log_marginal(bent, bent(z), z, precision, draws=100_000)
    torch.testing.assert_close(many, quadrature, atol=0.015, rtol=0)


def test_bad_input_is_refused(z):
    for precision in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"precision must be positive .* got {precision}"):
            best_encoder(bent, z, precision)
    for nodes in (0, 600):
        with pytest.raises(ValueError, match=rf"positive and few: {nodes}\^2 points"):
            best_encoder(bent, z, 1.0, nodes=nodes)
    with pytest.raises(ValueError, match=r"z must have shape .* got \(2,\)"):
        unwrap(best_encoder)(bent, z[0], 1.0)
    with pytest.raises(ValueError, match="z must be finite, got nan"):
        best_encoder(bent, z * math.nan, 1.0)


def test_curves_of_a_linear_mixing_in_closed_form():
    """Every mean is known: over the draws of the sources, second moments of them."""
    mixing = triangular_mlp(2, depth=1, seed=1)
    precisions = np.array([10.0, 1e4, 1e5])
    found = ima_gap.curves(mixing, 2, precisions, draws=64)
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
    assert claims.power(found, found.elbo) == pytest.approx(-1, abs=0.05)


def test_curves_inside_the_class_end_at_the_likelihood():
    found = ima_gap.curves(OrthogonalMLP(torch.eye(2).double()), 2, np.array([1e2, 1e4, 1e6]), 16)
    assert claims.coincide({"rectifier": found}).holds is True
    assert claims.self_consistent({"rectifier": found}).holds is True


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
    assert claims.to_objective(GOOD).holds is True
    assert "IMA objective 3.000" in claims.to_objective(GOOD).evidence
    assert claims.to_objective(replace(GOOD, elbo=GOOD.elbo + 0.1)).holds is False  # elsewhere
    likely = replace(GOOD, elbo=GOOD.likelihood - 1 / GOOD.precision)
    assert claims.to_objective(likely).holds is False
    near = 3 + np.array([1.0, 0.03, 0.01, 0.02, 0.03])
    assert claims.to_objective(replace(GOOD, elbo=near)).holds is False  # close, but leaving


def test_what_gap_remains():
    theirs = ima_gap.stored("outside")
    found = claims.remains(GOOD, theirs)
    assert found.holds is True
    assert "stored results 1.012" in found.evidence  # (14.8512 - 7.697) / 7.0721
    assert claims.remains(replace(GOOD, elbo=GOOD.elbo + 1), theirs).holds is False
    assert claims.remains(replace(GOOD, noisy=GOOD.noisy - 1), theirs).holds is False
    assert claims.remains(GOOD, replace(theirs, elbo=theirs.elbo + 1)).holds is False


def test_what_coincides_inside_the_class():
    inside = planted(contrast=0.0, elbo=-1.0)
    assert claims.coincide({"a": inside}).holds is True
    assert claims.coincide({"a": inside, "b": GOOD}).holds is False  # has a contrast
    short = replace(inside, elbo=inside.elbo - 0.02)
    assert claims.coincide({"a": short}).holds is False


def test_how_fast_distances_fall():
    assert claims.power(GOOD, GOOD.inverting) == pytest.approx(-1)
    slow = replace(GOOD, inverting=GOOD.regularised - GOOD.precision**-0.5)
    assert claims.power(slow, slow.inverting) == pytest.approx(-0.5)
    assert claims.inverse_square({"a": GOOD}).holds is True
    assert claims.inverse_square({"a": GOOD, "b": slow}).holds is False


def test_which_encoders_are_self_consistent():
    assert claims.self_consistent({"a": GOOD}).holds is True
    for column in ("off_inverse", "off_variance"):
        stays = replace(GOOD, **{column: 1 - np.linspace(0, 0.5, 5)})
        assert claims.self_consistent({"a": GOOD, "b": stays}).holds is False
    returns = replace(GOOD, off_inverse=np.array([1.0, 0.1, 0.2, 0.01, 0.001]))
    assert claims.self_consistent({"a": returns}).holds is False


def test_what_is_no_bound():
    theirs = ima_gap.stored("outside")
    hump = replace(GOOD, elbo=3 + np.array([-1.0, 0.5, 0.2, 0.1, 0.01]))
    found = claims.no_bound(hump, theirs)
    assert found.holds is True
    assert "here 0.50 nats at gamma^2 = 10^2" in found.evidence
    assert "stored results 0.19 nats at gamma^2 = 10^3.5, -0.08 at the highest" in found.evidence
    assert claims.no_bound(planted(elbo=-1.0), theirs).holds is False  # from below
    assert claims.no_bound(replace(hump, elbo=np.sort(hump.elbo)), theirs).holds is False
    assert claims.no_bound(hump, planted(elbo=-1.0)).holds is False


def test_stored_results():
    outside, inside = ima_gap.stored("outside"), ima_gap.stored("inside")
    assert outside.regularised == pytest.approx(7.7791)
    assert outside.elbo[[0, -1]].tolist() == [2.564, 7.697]
    assert inside.contrast == 0
    assert claims.coincide({"stored": inside}).holds is True
    assert outside.precision[[0, -1]] == pytest.approx([10, 1e5])


@pytest.fixture
def computed(monkeypatch):
    """The study on two sources, three precisions and few draws."""
    precisions = np.array([1e4, 1e5, 1e6])
    small = {
        "Möbius": ima_gap.moebius(2),
        "orthogonal network": ima_gap.orthogonal_mlp(2),
        ima_gap.OUTSIDE: triangular_mlp(2, seed=1),
    }
    kept = {name: ima_gap.curves(m, 2, precisions, draws=8) for name, m in small.items()}
    monkeypatch.setattr(ima_gap, "ours", kept.__getitem__)
    return kept


def test_the_study_in_small(computed):
    results = Results(ima_gap.STUDY, "quick")
    held = [claim.check(results).holds for claim in ima_gap.STUDY.claims[:5]]
    assert held == [True] * 5
    outside = computed[ima_gap.OUTSIDE]
    assert outside.contrast > 0.1
    assert abs(outside.elbo[-1] - outside.regularised) < 1e-3
    gaps, beside = (drawing.draw(results) for drawing in ima_gap.STUDY.drawings)
    assert [axes.get_title().split("\n")[0] for axes in gaps.axes[:3]] == [*computed]
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
