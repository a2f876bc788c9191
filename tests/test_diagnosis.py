import math
import random
import re

import numpy as np
import pytest
import torch
from torch import distributions, nn

import unpick
from unpick.diagnosis import diagnose
from unpick.diagnosis.codes import read_posterior
from unpick.diagnosis.trace import without_trace
from unpick.models import linear_vae

TURN = torch.tensor([[0.8, -0.6], [0.6, 0.8]])


class Linear(nn.Module):
    """The linear VAE at its optimum, in closed form; perhaps with its latent space turned."""

    def __init__(self, x, latents=2, beta=0.5, turn=None):
        super().__init__()
        best = linear_vae(x, latents, beta / 2)  # |x - x'|^2 + beta KL has noise variance beta / 2
        turn = torch.eye(latents) if turn is None else turn
        w = best.weights.float() @ turn.T
        self.weight, self.mean = nn.Parameter(w), nn.Parameter(best.mean.float())
        precision = w.T @ w + beta / 2 * torch.eye(latents)
        self.into = nn.Parameter(torch.linalg.solve(precision, w.T))
        self.variance = nn.Parameter(1 / (1 + 2 * w.square().sum(0) / beta))

    def encode(self, x):
        mean = (x.flatten(1) - self.mean) @ self.into.T
        return mean, self.variance.log().expand_as(mean)

    def decode(self, z):
        return z @ self.weight.T + self.mean


@pytest.fixture
def cloud():
    """Directions of deviation 3, 2 and 1, and three of nearly nothing."""
    generator = torch.Generator().manual_seed(1)
    planted, _ = torch.linalg.qr(torch.randn(6, 6, generator=generator))
    scale = torch.tensor([3, 2, 1, 0.05, 0.05, 0.05])
    return torch.randn(600, 6, generator=generator) * scale @ planted.T


def quietly(encode, decode, x, *rest, **options):
    return diagnose(encode, decode, x, *rest, report=None, show=False, points=100, **options)


def test_a_linear_vae_at_its_optimum_is_found_to_be_all_right(cloud):
    model = Linear(cloud, latents=4, beta=0.5)
    found = quietly(model.encode, model.decode, cloud, beta=0.5)
    assert found.active.tolist() == [True, True, True, False]
    assert found.order == (0, 1, 2, 3)
    assert found.alignment.mean < 1e-3
    assert found.implied_beta.beta == pytest.approx(0.5, rel=1e-4)
    assert found.posterior.ratio == pytest.approx(1, rel=1e-4)
    assert found.posterior.scatter < 1e-3
    assert found.residual < 1e-8
    assert found.beta == "right"
    assert found.explained == pytest.approx(1 - (0.25**2 / 9 + 0) / 14, abs=0.02)
    assert [finding.mark for finding in found.findings] == ["good"] * 5
    assert unpick.diagnose is diagnose


def test_a_turned_latent_space_is_told_from_an_aligned_one(cloud):
    model = Linear(cloud, turn=TURN)
    found = quietly(model.encode, model.decode, cloud)
    angle = math.asin(0.6)
    assert found.alignment.mean == pytest.approx(math.sqrt(8) * math.sin(angle / 2), rel=1e-3)
    assert found.cosines.mean > 0.3
    texts = " ".join(finding.text for finding in found.findings)
    assert "are not aligned" in texts


def test_beta_is_judged_by_the_least_precise_latent(cloud):
    timid = Linear(cloud, beta=0.001, turn=TURN)
    found = quietly(timid.encode, timid.decode, cloud)
    assert found.beta == "too small"
    # In a linear model variances are proportional to beta: so much more would make one reach one.
    weakest = float(found.regime.mean_variance.max())
    assert found.beta_factor == pytest.approx(1 / weakest)
    assert 0.2 < 0.001 * found.beta_factor / (2 * 4) < 5  # beta / 2 is about the variance, 4
    aligned = Linear(cloud, beta=0.001)
    assert quietly(aligned.encode, aligned.decode, cloud).beta == "right"
    heavy = Linear(cloud, latents=4, beta=30.0)  # leaves nothing
    assert quietly(heavy.encode, heavy.decode, cloud).beta == "over-pruned"
    factors = cloud[:, :3].numpy()
    two = Linear(cloud, latents=4, beta=4.0)
    assert quietly(two.encode, two.decode, cloud).beta == "right"
    assert quietly(two.encode, two.decode, cloud, factors).beta == "over-pruned"


def test_every_form_of_posterior_is_read():
    mean = torch.randn(5, 3)
    factor = torch.randn(5, 3, 3).tril(-1) + torch.diag_embed(torch.rand(5, 3) + 0.5)
    sd = torch.rand(5, 3) + 0.1
    forms = {
        "mean": mean,
        "pair": (mean, 2 * sd.log()),
        "list": [mean, 2 * sd.log()],
        "arrays": (mean.numpy(), 2 * sd.log().numpy()),
        "normal": distributions.Normal(mean, sd),
        "independent": distributions.Independent(distributions.Normal(mean, sd), 1),
    }
    for name, form in forms.items():
        codes = read_posterior(form)
        torch.testing.assert_close(codes.mean, mean)
        if name != "mean":
            torch.testing.assert_close(codes.variance.float(), sd**2)
    covariance = factor @ factor.mT
    for full in ((mean, factor), distributions.MultivariateNormal(mean, scale_tril=factor)):
        codes = read_posterior(full)
        torch.testing.assert_close(codes.variance, covariance.diagonal(dim1=1, dim2=2))
        torch.testing.assert_close(codes.factor @ codes.factor.mT, covariance)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"mu": 1}, "encode must return a mean, .* got dict"),
        ((torch.zeros(3, 2),) * 3, "got a tuple of 3"),
        ((torch.zeros(3, 2), torch.zeros(3, 4)), r"Cholesky factor, got \(3, 4\)"),
        ((torch.zeros(3, 2), torch.ones(3, 2, 2)), "lower triangular"),
        (torch.zeros(3), r"\(observations, latents\), got torch.float32 of shape \(3,\)"),
        (torch.full((3, 2), math.nan), "not finite for 3 rows"),
    ],
)
def test_other_forms_are_refused(output, message):
    with pytest.raises(ValueError, match=message):
        read_posterior(output)


def test_the_model_is_left_as_it_was(cloud):
    model = Linear(cloud).train()
    model.weight.grad = torch.ones_like(model.weight)
    model.mean.requires_grad_(False)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    expected = np.random.rand(), torch.rand(1)  # noqa: NPY002
    np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002

    def encode(x):  # draws, though it does not use what it draws
        np.random.rand(), torch.rand(2)  # noqa: NPY002
        return model.encode(x)

    quietly(encode, model.decode, cloud, cloud[:, :2])
    assert (np.random.rand(), torch.rand(1)) == expected  # noqa: NPY002
    assert model.training
    assert torch.equal(model.weight.grad, torch.ones_like(model.weight))
    assert [p.requires_grad for p in model.parameters()] == [True, False, True, True]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert torch.is_grad_enabled()


def test_pythons_own_random_state_is_kept_too():
    state = random.getstate()  # not through `diagnose`: beartype draws when it checks a list
    with without_trace():
        random.random()
    assert random.getstate() == state


def test_what_would_answer_at_random_is_refused(cloud):
    model = Linear(cloud)
    noisy = nn.Sequential(nn.Linear(2, 6), nn.Dropout())
    with pytest.raises(ValueError, match=r"decode: Dropout is in training mode.*\.eval\(\)"):
        quietly(model.encode, noisy, cloud)
    norm = nn.BatchNorm1d(6)
    with pytest.raises(ValueError, match="encode: BatchNorm1d is in training mode"):
        quietly(lambda x: model.encode(norm(x)), model.decode, cloud)
    assert int(norm.num_batches_tracked) == 0
    with pytest.raises(ValueError, match="encode is random"):
        quietly(lambda x: model.encode(x)[0] + torch.randn(len(x), 2), model.decode, cloud)
    with pytest.raises(ValueError, match="decode is random"):
        quietly(model.encode, lambda z: model.decode(z) + torch.randn(len(z), 6), cloud)
    with pytest.raises(ValueError, match="decode depends on the company"):
        quietly(model.encode, lambda z: model.decode(z - z.mean(0)), cloud)


def test_mistakes_are_named(cloud):
    model = Linear(cloud)
    with pytest.raises(ValueError, match=r"one row for each of the 600 observations, .*\(5, 1"):
        quietly(model.encode, model.decode, cloud, np.zeros(5))
    with pytest.raises(ValueError, match="factor_names: 3 for 2 factors"):
        quietly(model.encode, model.decode, cloud, cloud[:, :2], factor_names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"at least two observations \(n, ...\), got \(600,\)"):
        quietly(model.encode, model.decode, cloud[:, 0])
    with pytest.raises(ValueError, match=r"observations of shape \(6,\), got \(7,\)"):
        quietly(model.encode, nn.Linear(2, 7), cloud)
    with pytest.raises(ValueError, match="gave 3 codes for 256 observations"):
        quietly(lambda x: model.encode(x[:3]), model.decode, cloud)


def test_suspicious_outputs_are_mentioned(cloud):
    pixels = torch.rand(100, 6)
    logits = nn.Linear(2, 6)
    nn.init.constant_(logits.bias, 5.0)
    found = quietly(lambda x: x[:, :2], logits, pixels)
    assert "returns logits" in found.findings[0].text
    model = Linear(cloud)
    found = quietly(lambda x: (model.encode(x)[0], torch.ones(len(x), 2)), model.decode, cloud)
    assert "take the logarithm" in found.findings[0].text


def test_an_autoencoder_has_no_beta(cloud):
    model = Linear(cloud)
    plain = quietly(lambda x: model.encode(x)[0], model.decode, cloud)
    assert plain.beta == "absent"
    assert plain.regime is None
    assert plain.alignment.mean < 1e-3


def test_a_full_covariance_at_its_optimum_is_turned_and_matches_all_the_same(cloud):
    model = Linear(cloud, turn=TURN)
    w = model.weight.detach()
    covariance = torch.linalg.inv(torch.eye(2) + 2 * w.T @ w / 0.5)
    factor = torch.linalg.cholesky(covariance)
    low_rank = distributions.LowRankMultivariateNormal(
        torch.zeros(2), covariance.new_zeros(2, 1), covariance.diagonal()
    )
    assert read_posterior(low_rank.expand((3,))).factor.shape == (3, 2, 2)
    found = quietly(
        lambda x: (model.encode(x)[0], factor.expand(len(x), 2, 2)), model.decode, cloud
    )
    assert found.implied_beta.beta == pytest.approx(0.5, rel=1e-3)
    assert found.posterior.scatter < 1e-3
    assert found.alignment.relative > 0.75
    assert found.beta == "right"  # no beta would turn it
    assert "same in every rotation" in " ".join(finding.text for finding in found.findings)


def test_orthogonal_columns_of_equal_length_are_aligned_in_any_basis(generator):
    basis, _ = torch.linalg.qr(torch.randn(6, 2, generator=generator))
    x = torch.randn(200, 2, generator=generator) @ basis.T
    found = quietly(lambda x: (x @ basis, torch.full((len(x), 2), -4.0)), lambda z: z @ basis.T, x)
    assert found.alignment.degenerate == 1
    assert found.beta == "right"
    assert found.findings[1].mark == "good"


def test_one_latent_and_a_precise_latent_of_small_means(cloud):
    one = Linear(cloud, latents=1)
    found = quietly(one.encode, one.decode, cloud, cloud[:, :2])
    assert found.alignment is None
    assert found.implied_beta.beta == pytest.approx(0.5, rel=1e-3)
    assert found.scores is None
    small = Linear(cloud)
    found = quietly(
        lambda x: (small.encode(x)[0] / 100, small.encode(x)[1] - 2 * math.log(100)),
        lambda z: small.decode(100 * z),
        cloud,
    )
    assert found.active.all()


def test_a_detached_decoder_is_noticed(cloud):
    model = Linear(cloud, turn=TURN)
    with pytest.warns(UserWarning, match="the decoder detaches its output"):
        found = quietly(model.encode, lambda z: model.decode(z).detach(), cloud)
    assert found.alignment.relative > 0.75


class Holder:
    """A network that is not the function's own attribute."""

    def __init__(self, net):
        self.parts = {"nets": [net]}

    def encode(self, x):
        return self.parts["nets"][0](x)[:, :2]


def test_networks_hidden_in_objects_are_found_and_their_buffers_restored(cloud):
    norm = nn.BatchNorm1d(6)
    model = Linear(cloud)
    with pytest.raises(ValueError, match="BatchNorm1d is in training mode"):
        quietly(Holder(norm).encode, model.decode, cloud)

    @torch.no_grad()
    def decorated(x):
        return norm(x)[:, :2]

    with pytest.raises(ValueError, match="BatchNorm1d is in training mode"):
        quietly(decorated, model.decode, cloud)
    assert int(norm.num_batches_tracked) == 0

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return x[:, :2]

    counting = Counting()
    quietly(counting, model.decode, cloud)
    assert float(counting.calls) == 0


def test_ordinary_inputs_of_other_kinds(cloud):
    model = Linear(cloud)
    x = cloud.double().numpy()  # numpy's own precision, to a model in single
    names = np.where(x[:, :1] > 0, "left", "right")
    both = np.concatenate([names, np.full_like(names, "same")], axis=1)
    found = quietly(model.encode, model.decode, x, both, factor_names=["side", "constant"])
    assert found.scores["MIG"].per_factor.shape == (1,)

    def in_place(x):
        mean, log_var = model.encode(x)
        x.zero_()
        return mean, log_var

    before = cloud.clone()
    quietly(in_place, model.decode, cloud)
    assert torch.equal(cloud, before)
    found = quietly(model.encode, lambda z: model.decode(z).double(), cloud)
    assert found.residual < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decode": lambda z: (z, z)}, "one observation for each of 4 latent points, got tuple"),
        ({"decode": lambda z: z @ torch.full((2, 6), math.nan)}, "not finite"),
        ({"beta": 0.0}, "beta must be positive, got 0.0"),
        ({"encode": lambda x: x[:, :2] - x[:, :2].mean(0)}, "encode depends on the company"),
        ({"factors": np.full(600, math.nan)}, "factors must be finite"),
    ],
)
def test_more_mistakes_are_named(cloud, change, message):
    model = Linear(cloud)
    given = {"encode": model.encode, "decode": model.decode, "x": cloud}
    with pytest.raises(ValueError, match=message):
        quietly(**{**given, **change})


def test_numpy_functions_are_examined_by_differences(cloud):
    model = Linear(cloud).requires_grad_(False)
    into, out, mean = (t.double().numpy() for t in (model.into, model.weight, model.mean))
    x = cloud.double().numpy()
    with pytest.warns(UserWarning, match="central differences"):
        found = quietly(lambda x: (x - mean) @ into.T, lambda z: z @ out.T + mean, x)
    assert found.alignment.mean < 1e-3
    same = quietly(model.encode, model.decode, cloud.numpy())  # arrays to a torch module
    assert same.alignment.mean < 1e-3


def test_bernoulli_curvature_is_that_of_the_logits(generator):
    """Variances set to 1 / (1 + c / beta), c of the logits' Hessian, give beta back."""
    weight = torch.randn(9, 2, generator=generator)
    means = torch.randn(300, 2, generator=generator)

    def decode(z):
        return torch.sigmoid(z @ weight.T)

    p = decode(means)
    curvature = torch.einsum("np,pj->nj", p * (1 - p), weight.square())
    log_var = -(1 + curvature / 0.3).log()
    # The index of an observation stands for it, so that encode can look its posterior up.
    x = torch.cat([torch.arange(300.0)[:, None], p[:, 1:]], dim=1)

    def encode(x):
        rows = x[:, 0].long()
        return means[rows], log_var[rows]

    found = quietly(encode, decode, x, likelihood="bernoulli")
    assert found.implied_beta.beta == pytest.approx(0.3, rel=1e-3)
    assert found.posterior.scatter < 1e-3


@pytest.mark.parametrize("shape", [(36,), (6, 6), (1, 6, 6), (3, 4, 3), (2,)])
def test_the_page_shows_any_shape(shape, tmp_path, generator, capsys):
    size = math.prod(shape)
    flat = torch.randn(200, size, generator=generator) * torch.linspace(2, 0.5, size)
    model = Linear(flat, latents=min(3, size), beta=0.2)
    x = flat.reshape(-1, *shape)
    factors = (flat[:, :2] > 0).float()
    found = diagnose(model.encode, model.decode, x, factors, report=tmp_path / "page", points=50)
    html = found.page.read_text()
    pictures = re.findall(r'src="(\w+\.png)"', html)
    assert pictures == [
        f"{name}.png"
        for name in ("traversals", "columns", "directions", "variances", "information")
    ]
    assert all((tmp_path / "page" / picture).stat().st_size > 2000 for picture in pictures)
    assert "http" not in html.replace("http-equiv", "")
    printed = capsys.readouterr().out
    for word in ("Latents", "Alignment", "Beta", "MIG", "FactorVAE", "index.html"):
        assert word in printed
