import math
import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import unpick
from unpick.diagnosis import diagnose
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


def quietly(encode, decode, x, *rest, points=100, **options):
    return diagnose(encode, decode, x, *rest, show=False, points=points, **options)


@pytest.mark.slow
def test_a_linear_vae_at_its_optimum_is_found_to_be_all_right(cloud):
    model = Linear(cloud, latents=4, beta=0.5)
    found = quietly(model.encode, model.decode, cloud, points=len(cloud), beta=0.5)
    assert found.active.tolist() == [True, True, True, False]
    assert found.order == (0, 1, 2, 3)
    assert found.alignment.mean < 1e-3
    assert found.implied_beta.beta == pytest.approx(0.5, rel=1e-4)
    assert found.posterior.ratio == pytest.approx(1, rel=1e-4)
    assert found.posterior.scatter < 1e-3
    assert found.residual < 1e-8
    assert found.beta == "undecided"  # nobody said that there are three factors
    # Along a principal direction of variance l > beta / 2 a share 1 - beta / 2l is reconstructed.
    spectrum = torch.linalg.eigvalsh(cloud.double().T.cov(correction=0))
    lost = torch.where(spectrum > 0.25, 0.25**2 / spectrum, spectrum)
    assert found.explained == pytest.approx(1 - float(lost.sum() / spectrum.sum()), abs=1e-6)
    assert [finding.mark for finding in found.findings] == ["good"] * 3 + ["note", "good"]
    assert unpick.diagnose is diagnose


def test_a_turned_latent_space_is_told_from_an_aligned_one(cloud):
    model = Linear(cloud, turn=TURN)
    found = quietly(model.encode, model.decode, cloud)
    angle = math.asin(0.6)
    assert found.alignment.mean == pytest.approx(math.sqrt(8) * math.sin(angle / 2), rel=1e-3)
    assert found.cosines.mean > 0.3
    texts = " ".join(finding.text for finding in found.findings)
    assert "are not aligned" in texts


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
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
    assert quietly(two.encode, two.decode, cloud).beta == "undecided"
    assert quietly(two.encode, two.decode, cloud, factors).beta == "over-pruned"
    three = Linear(cloud, latents=4, beta=0.5)
    assert quietly(three.encode, three.decode, cloud, factors).beta == "right"


def test_what_answers_at_random_is_refused(cloud):
    model = Linear(cloud)
    with pytest.raises(ValueError, match=r"encode\(x\) is random"):
        quietly(lambda x: model.encode(x)[0] + torch.randn(len(x), 2), model.decode, cloud)
    with pytest.raises(ValueError, match="decode is random"):
        quietly(model.encode, lambda z: model.decode(z) + torch.randn(len(z), 6), cloud)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(600)}, r"at least two observations \(n, ...\), got \(600,\)"),
        (
            {"encode": lambda x: x[:3, :2]},
            r"encode\(x\) gives the output \(3, 2\): which is the mean",
        ),
        ({"encode": lambda x: x[:, :2] - x[:, :2].mean(0)}, "encode depends on the company"),
        (
            {"decode": lambda z: (z, z)},
            r"decode\(z\) gives \[0\] \(4, 2\), \[1\] \(4, 2\): which is the mean observation",
        ),
        (
            {"decode": lambda z: (z - z.mean(0)) @ torch.ones(2, 6)},
            "decode depends on the company",
        ),
        ({"decode": nn.Linear(2, 7)}, r"observations of shape \(6,\), got \(7,\)"),
        ({"decode": lambda z: z @ torch.full((2, 6), math.nan)}, "not finite"),
        ({"beta": 0.0}, "beta must be positive, got 0.0"),
        ({"factors": np.zeros(5)}, r"one row for each of the 600 observations, .*\(5, 1"),
        ({"factors": np.full(600, math.nan)}, "factors must be finite"),
        ({"factors": np.eye(600, 2), "factor_names": ["a", "b", "c"]}, "names: 3 for 2 factors"),
        ({"factors": np.eye(600, 2), "categorical": [True]}, "categorical: 1 for 2 factors"),
    ],
)
def test_mistakes_are_named(cloud, change, message):
    model = Linear(cloud)
    given = {"encode": model.encode, "decode": model.decode, "x": cloud}
    with pytest.raises(ValueError, match=message):
        quietly(**{**given, **change})


def test_suspicious_outputs_are_mentioned(cloud):
    pixels = torch.rand(100, 6)
    logits = nn.Linear(2, 6)
    nn.init.constant_(logits.bias, 5.0)
    found = quietly(lambda x: x[:, :2], logits, pixels)
    assert "returns logits" in found.findings[0].text
    model = Linear(cloud)
    found = quietly(lambda x: (model.encode(x)[0], torch.ones(len(x), 2)), model.decode, cloud)
    assert "take the logarithm" in found.findings[0].text


@pytest.mark.parametrize(("shift", "word"), [(0.0, "x lies in [0, 1] but"), (30.0, "hardly")])
def test_an_untrained_model_is_not_called_collapsed(cloud, shift, word):
    """Nothing is active, but not because beta was too large."""
    x = (cloud - cloud.min()) / (cloud.max() - cloud.min()) + shift

    def encode(x):
        return 0.1 * (x[:, :2] - shift), torch.full((len(x), 2), 0.3)

    found = quietly(encode, lambda z: 2 * z @ torch.ones(2, 6) - 1, x)
    verdict, *_, step = found.bottom_line
    assert not found.active.any()
    assert word in verdict
    assert "with beta" not in step


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
    found = quietly(
        lambda x: (model.encode(x)[0], factor.expand(len(x), 2, 2)), model.decode, cloud
    )
    assert found.implied_beta.beta == pytest.approx(0.5, rel=1e-3)
    assert found.posterior.scatter < 1e-3
    assert found.alignment.relative > 0.75
    assert found.beta == "undecided"  # no beta would turn it
    assert "same in every rotation" in " ".join(finding.text for finding in found.findings)


def test_of_orthogonal_columns_of_equal_length_nobody_can_tell(generator):
    basis, _ = torch.linalg.qr(torch.randn(6, 2, generator=generator))
    x = torch.randn(200, 2, generator=generator) @ basis.T
    found = quietly(lambda x: (x @ basis, torch.full((len(x), 2), -4.0)), lambda z: z @ basis.T, x)
    assert found.alignment.degenerate == 1
    assert found.axes.word == "undecided"
    assert found.beta == "undecided"
    assert found.findings[1].mark == "note"


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
    with pytest.warns(UserWarning, match="the decoder detaches its output") as warned:
        found = quietly(model.encode, lambda z: model.decode(z).detach(), cloud)
    assert len(warned) == 1  # Jacobians are taken once
    assert found.alignment.relative > 0.75


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


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
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
        for name in (
            "reconstructions",
            "traversals",
            "columns",
            "directions",
            "variances",
            "information",
        )
    ]
    assert all((tmp_path / "page" / picture).stat().st_size > 2000 for picture in pictures)
    assert "http" not in html.replace("http-equiv", "")
    printed = capsys.readouterr().out
    for word in ("Latents", "Alignment", "Beta", "MIG", "FactorVAE", "index.html"):
        assert word in printed


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_factors_are_named_as_the_user_wrote_them(cloud, tmp_path, capsys):
    """Names that begin a formula, a colour or an element of a page do nothing of the kind."""
    model = Linear(cloud, latents=3)
    names = [r"$\bad$", "[red]hue[/]", "<b>size"]
    z = model.encode(cloud)[0].detach()
    mixed = torch.stack([z[:, 0], z[:, 0] + 0.1 * z[:, 1], z[:, 2]], 1)
    found = diagnose(model, cloud, mixed, factor_names=names, points=50, report=tmp_path)
    assert found.bottom_line[1].startswith(r"Latent 0 mixes $\bad$ and [red]hue[/]")
    page = found.page.read_text()
    assert r"mixes $\bad$ and [red]hue[/]" in page
    assert "&lt;b&gt;size" in page
    assert "<b>size" not in page
    assert "[red]hue[/]" in capsys.readouterr().out


def test_nothing_is_written_unless_asked(cloud, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = Linear(cloud)
    assert diagnose(model, cloud, show=False, points=20).page is None
    assert not [*tmp_path.iterdir()]


def test_memory_bounds_points_and_observations(cloud):
    model = Linear(cloud, turn=TURN)
    whole = diagnose(model, cloud, show=False)
    small = diagnose(model, cloud, show=False, memory=2e-5)
    assert len(whole.alignment.per_sample) == 500
    assert len(small.alignment.per_sample) < 100
    assert small.alignment.mean == pytest.approx(whole.alignment.mean)  # a linear decoder
    assert "points do not fit the memory" in small.findings[1].text
    assert "of 600 observations were encoded" in " ".join(small.assumed)
    with pytest.raises(ValueError, match=r"memory must be at least .* GB for 2 latents"):
        diagnose(model, cloud, show=False, memory=1e-7)
    with pytest.raises(ValueError, match=r"memory must be positive, got 0\.0"):
        diagnose(model, cloud, show=False, memory=0.0)


@pytest.mark.slow
def test_many_latents_make_small_pictures_and_short_sentences(tmp_path, generator):
    x = torch.randn(200, 80, generator=generator) * torch.linspace(3, 1, 80)
    model = Linear(x, latents=60, beta=0.1)
    found = diagnose(model, x, show=False, points=4, report=tmp_path)
    assert "60 of 60 latents are active (0 to 59)" in found.findings[0].text
    for picture in tmp_path.glob("*.png"):
        with Image.open(picture) as opened:
            width, height = opened.size
        assert width < 2000
        assert height < 2000
    assert "28 more latents are not listed" in found.page.read_text()


def test_the_next_step_has_the_planted_number(cloud):
    timid = Linear(cloud, beta=0.001, turn=TURN)
    found = quietly(timid.encode, timid.decode, cloud, beta=0.001)
    assert f"train with beta about {0.001 * found.beta_factor:.2g}" in found.bottom_line[-1]
    # A direction of variance l is in use if beta < 2 l: the third has l = 1.
    two = Linear(cloud, latents=4, beta=4.0)
    told = quietly(two.encode, two.decode, cloud, beta=4.0).bottom_line[-1]
    advised = float(re.search(r"beta about ([\d.]+)", told)[1])
    assert advised == pytest.approx(1, rel=0.25)
    again = Linear(cloud, latents=4, beta=advised)
    assert quietly(again.encode, again.decode, cloud).active.sum() == 3
