import numpy as np
import pytest
import torch
from scipy.optimize import least_squares

from unpick.geometry import decoder_jacobians
from unpick.geometry.local_decoder import fit_local_decoder, jacobian_residual
from unpick.geometry.neighbourhood import noise_pairs
from unpick.geometry.released_decoder import fit_released_decoder, released_errors


def posterior(generator, n=4, d=3, deviation=0.3):
    mean = torch.randn(n, d, generator=generator).double()
    return mean, deviation * (0.5 + torch.rand(n, d, generator=generator).double())


def bent(generator, d=3, p=20):
    """A smooth decoder of images (1, p, 2), strongly curved."""
    inner = torch.randn(d, 15, generator=generator).double()
    outer = torch.randn(15, 2 * p, generator=generator).double()
    return lambda z: torch.sigmoid(torch.sin(z @ inner) @ outer / 3).view(-1, 1, p, 2)


@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_decoder_is_found_exactly(generator, bias):
    mean, deviation = posterior(generator)
    mixing = torch.randn(30, 3, generator=generator).double()
    fit = fit_local_decoder(
        lambda z: (z @ mixing.T + 1).view(-1, 5, 6),
        mean,
        deviation,
        nonlinearity="linear",
        bias=bias,
    )
    torch.testing.assert_close(fit.matrices, mixing.expand(4, 30, 3))
    torch.testing.assert_close(fit.base, mean @ mixing.T + 1)
    assert fit.residual < 1e-25
    assert fit.errors.loss_error < 1e-25
    assert (fit.bias is not None) == bias


def test_a_tanh_of_a_matrix_is_found_where_line_and_jacobian_fail(generator):
    """Around 0 the decoder tanh(W z) is of the form that is fitted."""
    mixing = torch.randn(40, 3, generator=generator).double()
    mean, deviation = torch.zeros(2, 3).double(), torch.full((2, 3), 0.5).double()

    def decode(z):
        return torch.tanh(z @ mixing.T)

    curved = fit_local_decoder(decode, mean, deviation, steps=100)
    line = fit_local_decoder(decode, mean, deviation, nonlinearity="linear")
    jacobian = jacobian_residual(decode, mean, deviation)
    torch.testing.assert_close(curved.matrices, mixing.expand(2, 40, 3), rtol=0.01, atol=0.01)
    assert curved.residual < 1e-5
    assert 0.01 < line.residual < 0.5 * jacobian.residual


def test_as_the_noise_vanishes_the_line_is_the_jacobian(generator):
    """Both the residual and the distance to the Jacobian fall with the square of the noise."""
    decode, (mean, deviation) = bent(generator), posterior(generator)
    jacobians = decoder_jacobians(decode, mean)
    residuals, distances = [], []
    for scale in (0.02, 0.01):
        fit = fit_local_decoder(decode, mean, scale * deviation, nonlinearity="linear")
        residuals.append(fit.errors.per_sample)
        distances.append((fit.matrices - jacobians).square().sum((1, 2)).sqrt())
    for coarse, fine in (residuals, distances):
        torch.testing.assert_close(coarse / fine, torch.full_like(fine, 4.0), rtol=0.02, atol=0)
    assert residuals[1].max() < 1e-3
    assert (distances[1] / jacobians.flatten(1).norm(dim=1)).max() < 1e-3


def test_the_errors_of_a_parabola_are_those_of_the_integral():
    """Dec(z) = a z + q z^2 around 0 moves by a^2 s^2 + 3 q^2 s^4; a line leaves 3 q^2 s^4.

    A line with an offset leaves 2 q^2 s^4: it knows the mean of the square.
    """
    a, q, s = 2.0, 3.0, 0.4
    mean, deviation = torch.zeros(1, 1).double(), torch.full((1, 1), s).double()
    actual, samples = a**2 * s**2 + 3 * q**2 * s**4, 200_000

    def decode(z):
        return a * z + q * z**2

    line = fit_local_decoder(decode, mean, deviation, nonlinearity="linear", samples=samples)
    offset = fit_local_decoder(
        decode, mean, deviation, nonlinearity="linear", samples=samples, bias=True
    )
    jacobian = jacobian_residual(decode, mean, deviation, samples=samples)
    assert float(line.errors.actual[0]) == pytest.approx(actual, rel=0.02)
    assert line.residual == pytest.approx(3 * q**2 * s**4 / actual, rel=0.02)
    assert jacobian.residual == pytest.approx(3 * q**2 * s**4 / actual, rel=0.02)
    assert offset.residual == pytest.approx(2 * q**2 * s**4 / actual, rel=0.02)
    assert float(offset.bias[0, 0]) == pytest.approx(q * s**2, rel=0.02)
    assert jacobian.loss_error == pytest.approx((3 * q**2 * s**4 / actual) ** 2, rel=0.05)


def test_the_tanh_fit_is_the_optimum_that_scipy_finds(generator):
    """Under noise so wide that tanh saturates, and with it the gradient."""
    mixing = torch.randn(40, 3, generator=generator).double()
    mean, deviation = posterior(generator, n=1, deviation=0.5)

    def decode(z):
        return torch.sigmoid(2 * z @ mixing.T)

    fit = fit_local_decoder(decode, mean, deviation, samples=64)
    _, noise = noise_pairs(mean, 64, None)
    eps = (noise * deviation)[0].numpy()
    moved = (decode(mean + torch.as_tensor(eps)) - decode(mean)).flatten(1).numpy()
    losses = []
    for pixel in range(0, 40, 5):
        start = np.linalg.lstsq(eps, moved[:, pixel], rcond=None)[0]
        best = least_squares(lambda w, y=moved[:, pixel]: np.tanh(eps @ w) - y, start)
        ours = ((np.tanh(eps @ fit.matrices[0, pixel].numpy()) - moved[:, pixel]) ** 2).sum()
        losses.append((ours, 2 * best.cost))
    for ours, best in losses:
        assert ours == pytest.approx(best, rel=1e-3)


def test_the_nonlinear_fit_never_loses_to_its_start_on_the_noise_it_sees(generator):
    """Also where the decoder moves by much more than tanh can."""
    mixing = 3 * torch.randn(10, 3, generator=generator).double()
    mean, deviation = posterior(generator, deviation=1.0)
    _, noise = noise_pairs(mean, 128, None)
    moved = (noise * deviation[:, None]) @ mixing.T
    losses = []
    for steps in (1, 10, 100):
        fit = fit_local_decoder(lambda z: z @ mixing.T, mean, deviation, steps=steps)
        found = torch.tanh((noise * deviation[:, None]) @ fit.matrices.mT)
        losses.append(float((moved - found).square().sum()))
    start = float((moved - torch.tanh(moved)).square().sum())
    assert start >= losses[0] > losses[1] > losses[2]


@pytest.mark.parametrize("nonlinearity", ["linear", "tanh"])
def test_a_sample_is_the_same_alone_and_in_company(generator, nonlinearity):
    decode, (mean, deviation) = bent(generator), posterior(generator, n=6)

    def fit(rows, memory):
        return fit_local_decoder(
            decode, mean[:rows], deviation[:rows], nonlinearity=nonlinearity, memory=memory
        )

    together = fit(6, memory=2**28)
    for other in (fit(6, memory=1), fit(2, memory=2**28)):
        rows = len(other.matrices)
        torch.testing.assert_close(other.matrices, together.matrices[:rows])
        torch.testing.assert_close(other.errors.per_sample, together.errors.per_sample[:rows])


def test_fit_and_jacobian_are_measured_on_the_same_fresh_noise(generator):
    decode, (mean, deviation) = bent(generator), posterior(generator)
    fit = fit_local_decoder(decode, mean, deviation)
    jacobian = jacobian_residual(decode, mean, deviation)
    assert torch.equal(fit.errors.actual, jacobian.actual)
    fresh, noise = noise_pairs(mean, 128, None)
    assert not torch.isclose(fresh, noise).any()
    moved = decode((mean[:, None] + deviation[:, None] * fresh).flatten(0, 1)).view(4, 128, -1)
    actual = (moved - fit.base[:, None]).square().sum(2).mean(1)
    torch.testing.assert_close(fit.errors.actual, actual)


def test_what_is_even_in_the_noise_is_left_by_every_odd_map(generator):
    """A parabola is even, a tanh odd; of anything else an offset alone can take the even part."""
    decode, (mean, deviation) = bent(generator), posterior(generator)
    line, curved = (
        fit_local_decoder(decode, mean, deviation, nonlinearity=f).errors
        for f in ("linear", "tanh")
    )
    jacobian = jacobian_residual(decode, mean, deviation)
    for found in (line, curved, jacobian):
        assert torch.equal(found.even, line.even)
        assert (found.per_sample > found.even).all()
    offset = fit_local_decoder(decode, mean, deviation, nonlinearity="linear", bias=True).errors
    assert (offset.per_sample < line.per_sample).all()
    zero = torch.zeros_like(mean)
    for planted, share in ((torch.square, 1.0), (torch.tanh, 0.0)):
        even = fit_local_decoder(planted, zero, deviation).errors.even
        torch.testing.assert_close(even, torch.full_like(even, share))


def test_a_decoder_that_does_not_move_leaves_nothing(generator):
    mean, deviation = posterior(generator)
    fit = fit_local_decoder(lambda z: torch.ones(len(z), 7).double(), mean, deviation)
    assert fit.residual == 0
    assert fit.errors.loss_error == 0
    assert (fit.matrices == 0).all()


@pytest.mark.parametrize(("nonlinearity", "rate"), [("linear", 1e-4), ("tanh", 0.1)])
def test_the_released_fit_is_sgd_on_a_linear_layer(generator, nonlinearity, rate):
    decode, (mean, deviation) = bent(generator), posterior(generator, n=1)

    def fit(steps):
        return fit_released_decoder(
            decode, mean, deviation, nonlinearity=nonlinearity, samples=10, steps=steps
        )

    layer, start = torch.nn.Linear(3, 40).double(), fit(0)
    assert start.matrices.abs().max() <= 3**-0.5  # where nn.Linear starts
    assert start.matrices.std() == pytest.approx(1 / 3, rel=0.1)
    layer.load_state_dict({"weight": start.matrices[0], "bias": start.bias[0]})
    optimiser = torch.optim.SGD(layer.parameters(), rate, momentum=0.9)
    _, noise = noise_pairs(mean, 10, None)
    eps = (noise * deviation)[0]
    target, base = decode(mean + eps).flatten(1), decode(mean).flatten(1)
    for _ in range(20):
        optimiser.zero_grad()
        found = torch.tanh(layer(eps)) if nonlinearity == "tanh" else layer(eps)
        torch.nn.functional.mse_loss(base + found, target).backward()
        optimiser.step()
    found = fit(20)
    torch.testing.assert_close(found.matrices[0], layer.weight.detach())
    torch.testing.assert_close(found.bias[0], layer.bias.detach())


def test_the_released_errors_punish_a_perfect_fit(generator):
    """A fit without residual gets A^2, and a Jacobian that is exact a number that grows with P."""
    mixing = torch.randn(50, 3, generator=generator).double()
    mean, deviation = posterior(generator, n=1)

    def decode(z):
        return z @ mixing.T

    perfect = fit_local_decoder(decode, mean, deviation, nonlinearity="linear")
    result = released_errors(decode, mean, deviation, perfect, samples=16)
    noise, _ = noise_pairs(mean, 16, None)
    moved = (noise * deviation)[0] @ mixing.T
    actual = float(moved.square().mean())
    assert result.fit == pytest.approx(actual**2)
    assert result.jacobian == pytest.approx((actual - (actual * 16 * 50) ** 0.5) ** 2)
    nothing = fit_released_decoder(lambda z: 0 * decode(z), mean, deviation, steps=0)
    nothing.matrices.zero_(), nothing.bias.zero_()
    assert released_errors(decode, mean, deviation, nothing, samples=16).fit == 0


def test_no_gradient_is_kept(generator):
    mean, deviation = (t.requires_grad_() for t in posterior(generator))
    fit = fit_local_decoder(torch.nn.Linear(3, 5).double(), mean, deviation, bias=True)
    released = fit_released_decoder(torch.nn.Linear(3, 5).double(), mean, deviation)
    for found in (fit, released):
        assert not found.matrices.requires_grad
        assert not found.base.requires_grad


def test_bad_input_is_refused(generator):
    mean, deviation = posterior(generator)

    def fit(mean=mean, deviation=deviation, **options):
        return fit_local_decoder(lambda z: z, mean, deviation, **options)

    with pytest.raises(ValueError, match=r"deviation must be positive, got 0\.0"):
        fit(deviation=0 * deviation)
    with pytest.raises(ValueError, match="mean must be finite"):
        fit(mean=mean / 0)
    with pytest.raises(ValueError, match="even"):
        fit(samples=9)
    with pytest.raises(ValueError, match="at least 8 for 3 latents, got 6"):
        fit(samples=6)
    with pytest.raises(ValueError, match="steps must be positive, got 0"):
        fit(steps=0)
    with pytest.raises(ValueError, match="finite outputs"):
        fit_local_decoder(lambda z: z / 0, mean, deviation)
