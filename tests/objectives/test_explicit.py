"""Objectives that align by a term of their own: values, gradients, and optima in closed form."""

from dataclasses import replace
from math import log

import pytest
import torch

from unpick.data.synthetic import SynthLin
from unpick.geometry import (
    decoder_jacobians,
    deterministic_elbo,
    likelihood_hessian,
    optimal_covariance,
    optimal_variance,
)
from unpick.geometry.columns import contrast_of_gram
from unpick.models import MLP, Conv, ModelConfig, build, linear_vae, pca
from unpick.objectives import AE, PCL, BetaVAE, BudgetAE, DeterministicVAE, ImaAE, Pass, total
from unpick.objectives.deterministic import half_log
from unpick.objectives.jacobian import columns, contrast, distortion_hessian, likelihood_gram
from unpick.objectives.orthogonality import squared_cosines
from unpick.theory import precision_budget
from unpick.training import RunConfig, Training
from unpick.training.config import dumps, from_json, to_json

S, B, D = 2, 5, 3
DENSE = MLP((7,), "tanh", (7,), "tanh")
CONVOLUTIONS = Conv(((4, 4, 2, 1),), (), (), decoder=(), activation="tanh")
LINEAR = MLP((), "tanh", (), "tanh")
EXPLICIT = [
    DeterministicVAE(0.5),
    DeterministicVAE(0.5, "full"),
    DeterministicVAE(30.0, hessian="exact"),
    DeterministicVAE(30.0, "full", "exact"),
    BudgetAE(0.5),
    ImaAE(0.5),
]


@pytest.fixture(params=[DENSE, CONVOLUTIONS], ids=["dense", "convolutional"])
def network(request):
    return request.param


@pytest.fixture(params=["gaussian", "bernoulli"])
def a_pass(request, network, generator):
    model = build(ModelConfig(D, "delta", request.param, network), (1, 4, 4), range(S)).double()
    for weights in model.parameters():  # residuals and curvature that can be seen
        weights.data.add_(0.3 * torch.randn(weights.shape, generator=generator).double())
    x = torch.rand(S, B, 1, 4, 4, generator=generator).double()
    return Pass(model, x, torch.zeros(S, B, D).double(), 0, 100)


def alone(p, s, logits=True):
    """The decoder of one member as a function of latents (n, d)."""
    model = p.model.member(s).eval()
    decode = model.decode if logits else model.decode_mean
    return lambda z: decode(z[None])[0]


def test_derivatives_are_those_of_the_geometry(a_pass):
    p = a_pass
    z, likelihood = p.z.detach(), p.model.config.likelihood
    found = columns(p.model.decode_mean, z), likelihood_gram(p.model, z)
    exact = distortion_hessian(p.model, p.x, z)
    for s in range(S):
        torch.testing.assert_close(found[0][s], decoder_jacobians(alone(p, s, False), z[s]))
        for form, ours in (("gauss-newton", found[1]), ("exact", exact)):
            theirs = likelihood_hessian(
                alone(p, s), p.x[s], z[s], likelihood=likelihood, form=form
            )
            torch.testing.assert_close(-ours[s], theirs)
    assert (found[1] - exact).abs().max() > 0.01  # so that they cannot be confused


@pytest.mark.parametrize("objective", EXPLICIT[:4], ids=str)
def test_the_deterministic_loss_is_the_expanded_elbo_at_its_best_covariance(a_pass, objective):
    p = a_pass
    likelihood, beta = p.model.config.likelihood, objective.beta
    loss = total(objective(p)).detach()
    for s in range(S):
        z = p.z[s].detach()
        h = likelihood_hessian(
            alone(p, s), p.x[s], z, likelihood=likelihood, form=objective.hessian
        )
        if objective.hessian == "gauss-newton":
            best = {
                "diagonal": optimal_variance(h, beta).sqrt(),
                "full": torch.linalg.cholesky(optimal_covariance(h, beta)),
            }[objective.covariance]
        else:  # some bend upwards: those are as wide as the prior
            precision = torch.eye(D).double() - h / beta
            assert (precision.diagonal(dim1=1, dim2=2) < 1).any()
            if objective.covariance == "diagonal":
                precision = torch.diag_embed(precision.diagonal(dim1=1, dim2=2))
            values, axes = torch.linalg.eigh(precision)
            best = torch.linalg.cholesky((axes / values.clamp(min=1)[:, None]) @ axes.mT)
        found = deterministic_elbo(
            alone(p, s),
            p.x[s],
            z,
            best,
            beta=beta,
            likelihood=likelihood,
            form=objective.hessian,
            samples=4,
        )
        assert float(-loss[s]) == pytest.approx(found.deterministic.mean, rel=1e-9)


def test_without_curvature_the_loss_is_the_elbo_with_noise(generator):
    """By draws of noise: a linear decoder has no terms beyond the second order."""
    model = build(ModelConfig(D, "delta", network=LINEAR), (6,), [0]).double()
    p = Pass(model, torch.randn(1, B, 6, generator=generator).double(), torch.zeros(1, B, D), 0, 9)
    loss, z = float(total(DeterministicVAE(0.3)(p)).detach()), p.z[0].detach()
    best = optimal_variance(likelihood_hessian(alone(p, 0), p.x[0], z), 0.3).sqrt()
    noise = torch.randn(200_000, 1, D, generator=generator).double() * best
    error = (
        alone(p, 0)((z + noise).flatten(0, 1)).unflatten(0, noise.shape[:2]) - p.x[0]
    ).square()
    kl = 0.5 * (z.square() + best.square() - 2 * best.log() - 1).sum(1).mean()
    drawn = error.sum(2).detach()
    spread = float(drawn.mean(1).std() / len(noise) ** 0.5)
    assert abs(float(drawn.mean() + 0.3 * kl) - loss) < 4 * spread
    assert spread < 1e-3 * loss


def test_no_posterior_is_wider_than_the_prior():
    precision = torch.tensor([-3.0, -0.1, 0.2, 1.0, 1.5, 40.0])
    variance = torch.linspace(1e-4, 1, 200_000)[:, None]
    cost = 0.5 * (precision * variance - variance.log() - 1)
    torch.testing.assert_close(half_log(precision), cost.min(0).values, rtol=1e-4, atol=1e-6)


def penalty(p):
    return squared_cosines(p).sum((1, 2))


@pytest.mark.parametrize(
    "loss", [*EXPLICIT, penalty], ids=lambda loss: getattr(loss, "__name__", str(loss))
)
def test_gradients_are_those_of_differences(a_pass, loss, generator):
    """Of encoder and decoder, for all members at once."""
    p, weights = a_pass, [*a_pass.model.parameters()]
    value = lambda: (loss if loss is penalty else lambda p: total(loss(p)))(replace(p)).sum()  # noqa: E731
    gradients = torch.autograd.grad(value(), weights, allow_unused=True, materialize_grads=True)
    steps = [torch.randn(w.shape, generator=generator).double() for w in weights]
    values = []
    for sign in (1, -2):
        for w, step in zip(weights, steps, strict=True):
            w.data.add_(sign * 1e-5 * step)
        values.append(float(value().detach()))
    along = sum(float((g * step).sum()) for g, step in zip(gradients, steps, strict=True))
    assert along == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5, abs=1e-8)


def test_contrast_is_that_of_the_geometry_and_scales_do_not_matter(generator):
    m = torch.randn(20, 6, D, generator=generator).double()
    theirs = contrast_of_gram(m.mT @ m)
    scaled = m * torch.tensor([1e-3, 1.0, 50.0])
    for each in (m, scaled):
        torch.testing.assert_close(contrast(each.mT @ each), theirs, rtol=1e-3, atol=1e-4)
    orthogonal = torch.linalg.qr(m).Q * torch.tensor([1e-3, 1.0, 50.0])
    torch.testing.assert_close(
        contrast(orthogonal.mT @ orthogonal), torch.zeros(20).double(), atol=1e-9, rtol=0
    )


def test_contrasts_are_those_of_mean_images_and_of_the_likelihood(a_pass):
    p, likelihood = a_pass, a_pass.model.config.likelihood
    mean_images, paid = ImaAE()(p)["contrast"].value, BudgetAE()(p)["columns"].value
    for s in range(S):
        z = p.z[s].detach()
        jacobians = decoder_jacobians(alone(p, s, logits=False), z)
        ours = contrast_of_gram(jacobians.mT @ jacobians)
        torch.testing.assert_close(mean_images[s], ours, rtol=1e-3, atol=1e-4)
        h = likelihood_hessian(alone(p, s), p.x[s], z, likelihood=likelihood, form="gauss-newton")
        torch.testing.assert_close(paid[s], contrast_of_gram(-h), rtol=1e-3, atol=1e-4)
    if likelihood == "bernoulli":  # else they could be confused
        assert (paid - mean_images).abs().max() > 5e-3


@pytest.mark.parametrize("columns", [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]]])
def test_columns_of_zeros_and_equal_ones_have_finite_gradients(columns):
    m = torch.tensor(columns, requires_grad=True)
    value = contrast(m.mT @ m)
    (gradient,) = torch.autograd.grad(value, m)
    assert gradient.isfinite().all()
    assert float(value.detach()) == pytest.approx(
        0.0 if columns[0][1] == 0 else -0.5 * log(1 - (1 / (1 + 1e-5)) ** 2), rel=1e-2, abs=1e-6
    )


@pytest.mark.parametrize("objective", [DeterministicVAE(), BudgetAE(), ImaAE()], ids=str)
def test_saturated_pixels_have_finite_gradients(objective, generator):
    model = build(ModelConfig(D, "delta", "bernoulli", DENSE), (4,), [0])
    model.decoder.layers[-1].bias.data[:, :, :2] = 200.0  # p (1 - p) is 0 in float32
    x, noise = torch.rand(1, B, 4, generator=generator), torch.zeros(1, B, D)
    loss = total(objective(Pass(model, x, noise, 0, 100)))[0]
    for gradient in torch.autograd.grad(loss, [*model.parameters()]):
        assert gradient.isfinite().all()


def test_the_jacobian_is_taken_of_the_first_observations(a_pass):
    for objective in EXPLICIT:
        few, whole = replace(objective, jacobians=2)(a_pass), objective(a_pass)
        head = objective(replace(a_pass, x=a_pass.x[:, :2], noise=a_pass.noise[:, :2]))
        for name in few.keys() - {"distortion", "prior", "codes"}:
            torch.testing.assert_close(few[name].value, head[name].value)
        for name in few.keys() & {"distortion", "prior", "codes"}:
            torch.testing.assert_close(few[name].value, whole[name].value)


# --- Optima of linear models


@pytest.fixture(scope="module")
def cloud():
    """Five columns with variances 4, 1.5, 0.6, 0.05 and 0.05, turned."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(400, 5, generator=generator).double()
    x = torch.linalg.qr(x - x.mean(0)).Q * 20  # variances of 1, without correlations
    turn = torch.linalg.qr(torch.randn(5, 5, generator=generator).double()).Q
    return x * torch.tensor([4.0, 1.5, 0.6, 0.05, 0.05]).double().sqrt() @ turn


def fit(objective, x, seed=0):
    """A linear autoencoder at a minimum of the objective; its encoder and decoder matrices."""
    objective = replace(
        objective, jacobians=1
    )  # a linear decoder has the same Jacobian everywhere
    model = build(ModelConfig(3, "delta", network=LINEAR), (5,), [seed]).double()
    search = torch.optim.LBFGS(
        model.parameters(),
        max_iter=2000,
        history_size=30,
        tolerance_grad=1e-10,
        tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def closure():
        search.zero_grad()
        loss = total(objective(Pass(model, x[None], x.new_zeros(1, len(x), 3), 0, len(x))))[0]
        loss.backward()
        return loss

    search.step(closure)
    encoder, decoder = (
        part.layers[-1].weight[0].detach() for part in (model.encoder, model.decoder)
    )
    return float(closure().detach()), encoder, decoder.T


def same_columns(a, b):
    """Equal up to order and sign."""
    cosines = (a / a.norm(dim=0)).T @ (b / b.norm(dim=0))
    order = cosines.abs().argmax(0)
    return a[:, order] * cosines.gather(0, order[None]).sign()[0]


def test_the_linear_deterministic_vae_is_the_linear_vae(cloud):
    """Its decoder is that of Lucas et al. (2019), its loss minus the evidence of PPCA."""
    beta = 0.4
    best = linear_vae(cloud, 3, beta / 2)
    # Minus the log-likelihood, in units of the loss: the posterior is exact.
    likelihood = best.log_likelihood(cloud) + 2.5 * log(torch.pi * beta)
    loss, _, decoder = fit(DeterministicVAE(beta), cloud)
    assert loss == pytest.approx(-beta * likelihood, rel=1e-8)
    torch.testing.assert_close(
        same_columns(decoder, best.weights), best.weights, rtol=1e-4, atol=1e-4
    )
    # With full covariance the same loss in any rotation, and as many rotations as restarts.
    loss, _, turned = fit(DeterministicVAE(beta, "full"), cloud)
    assert loss == pytest.approx(-beta * likelihood, rel=1e-8)
    torch.testing.assert_close(turned @ turned.T, decoder @ decoder.T, rtol=1e-4, atol=1e-4)
    assert (same_columns(turned, best.weights) - best.weights).abs().max() > 0.1


def test_the_linear_budget_autoencoder_is_pca(cloud):
    loss, encoder, decoder = fit(BudgetAE(1.0), cloud)
    axes = pca(cloud, 3).weights
    assert loss == pytest.approx(0.1, abs=1e-6)  # the variance of the two columns left out
    unit = decoder / decoder.norm(dim=0)
    torch.testing.assert_close(same_columns(unit, axes), axes, rtol=1e-3, atol=1e-3)
    correlations = torch.corrcoef((cloud @ encoder).T)
    torch.testing.assert_close(correlations, torch.eye(3).double(), atol=1e-3, rtol=0)


def test_the_contrast_alone_leaves_a_linear_decoder_free_to_turn(cloud, generator):
    """Turned axes cost ImaAE nothing; BudgetAE the total correlation of the turned codes."""
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator).double()).Q
    axes = pca(cloud, 3).weights @ turn
    model = build(ModelConfig(3, "delta", network=LINEAR), (5,), [0]).double()
    for part, matrix in ((model.encoder, axes), (model.decoder, axes.T)):
        part.layers[-1].weight.data.copy_(matrix[None])
        part.layers[-1].bias.data.zero_()
    p = Pass(model, cloud[None], cloud.new_zeros(1, len(cloud), 3), 0, len(cloud))
    assert float(total(ImaAE()(p)).detach()) == pytest.approx(0.1, abs=1e-6)
    cov = torch.cov((cloud @ axes).T, correction=0)
    wasted = 0.5 * (cov.diagonal().log().sum() - torch.logdet(cov))
    assert wasted > 0.1
    assert float(total(BudgetAE()(p)).detach()) == pytest.approx(0.1 + float(wasted), rel=1e-3)


def test_the_budget_is_what_the_best_noise_costs_beyond_the_best_axes(generator):
    """By the closed form of the theory: log costs of precision, in units of 2 / d."""
    jacobian = torch.randn(6, D, generator=generator).double()
    mixing = torch.randn(D, D, generator=generator).double()
    codes = torch.randn(50, D, generator=generator).double() @ mixing
    cov = torch.cov(codes.T, correction=0)
    wasted = contrast(jacobian.T @ jacobian) + contrast(cov)

    def log_cost(matrix, cov):
        lengths = matrix * cov.diagonal().sqrt()  # noise in units of the codes' deviations
        return float(precision_budget(lengths[None], 2.0).cost.log()) * D / 2

    factor = torch.linalg.cholesky(cov)
    left, values, _ = torch.linalg.svd(jacobian @ factor, full_matrices=False)
    best = log_cost(left * values, torch.eye(D).double())
    assert float(wasted) == pytest.approx(log_cost(jacobian, cov) - best, rel=1e-3)


# --- The penalty in training

CONFIG = RunConfig(
    SynthLin(points=300), ModelConfig(2, "full", network=DENSE), BetaVAE(0.1), batch=40
)


def test_the_penalty_is_added_to_any_objective(generator):
    penalised = replace(CONFIG, orthogonality=0.3)
    plain, training = (
        Training([each, replace(each, seed=1)], CONFIG.data.load()) for each in (CONFIG, penalised)
    )
    p = training._draw("batch", "noise")
    means = p.q.mean[:, :32].detach()
    cosines = []
    for s in range(2):
        jacobians = decoder_jacobians(alone(p, s, False), means[s])
        unit = jacobians / jacobians.norm(dim=1, keepdim=True)
        cosines.append((unit[:, :, 0] * unit[:, :, 1]).sum(1).square().mean())
    before, after = plain.advance(1), training.advance(1)
    torch.testing.assert_close(after["orthogonality"], torch.stack(cosines), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(after["loss"], before["loss"] + 0.3 * after["orthogonality"])


def test_runs_without_a_penalty_keep_their_names():
    assert "orthogonality" not in dumps(CONFIG)
    penalised = replace(CONFIG, orthogonality=0.3)
    assert penalised.identity() != CONFIG.identity()
    assert from_json(to_json(penalised), RunConfig) == penalised


def test_bad_input_is_refused():
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="orthogonality must be finite"):
            replace(CONFIG, orthogonality=weight)
    without = replace(CONFIG, objective=PCL(), model=ModelConfig(2, "delta"))
    with pytest.raises(ValueError, match="orthogonality must be 0 for pcl: no decoder"):
        replace(without, orthogonality=0.1)
    normed = ModelConfig(2, "delta", network=Conv(decoder_norm=1))
    for change in ({"objective": ImaAE()}, {"objective": AE(), "orthogonality": 0.1}):
        with pytest.raises(ValueError, match="decoder_norm must be 0, got 1"):
            replace(CONFIG, model=normed, **change)
    replace(CONFIG, model=normed, objective=AE())
    with pytest.raises(ValueError, match="jacobians must be at least 1, got 0"):
        ImaAE(jacobians=0)
    with pytest.raises(ValueError, match="beta must be positive, got 0"):
        DeterministicVAE(0.0)
