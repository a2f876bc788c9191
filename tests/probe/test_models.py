"""Models as they come: small look-alikes of what people pass."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import distributions, nn

from unpick.diagnosis import diagnose
from unpick.probe.models import read_model
from unpick.probe.outputs import find_observation, find_posterior


class Base(nn.Module):
    """A linear VAE of six outputs and two latents, with what most modules have."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.into, self.out = nn.Linear(6, 2), nn.Linear(2, 6)
        with torch.no_grad():
            self.out.weight.copy_(torch.linalg.qr(torch.randn(6, 2))[0] * torch.tensor([3.0, 1]))
            self.into.weight.copy_(torch.linalg.pinv(self.out.weight))
            self.into.bias.zero_()
            self.out.bias.zero_()

    def parameters_of(self, x):
        mean = self.into(x.flatten(1))
        return mean, torch.tensor([-4.0, -2.0]).to(mean).expand_as(mean)

    def reconstruct(self, z):
        return self.out(z)


class Plain(Base):
    def encode(self, x):
        return self.parameters_of(x)

    def decode(self, z):
        return self.reconstruct(z)


class Diffusers(Base):
    """As diffusers' AutoencoderKL: encode(x).latent_dist, decode(z).sample."""

    class Gaussian:
        def __init__(self, mean, logvar):
            self.mean, self.logvar = mean, logvar
            self.std, self.var = torch.exp(logvar / 2), torch.exp(logvar)

        def sample(self):
            return self.mean + self.std * torch.randn_like(self.mean)

    @dataclass
    class Encoded:
        latent_dist: object

    @dataclass
    class Decoded:
        sample: torch.Tensor

    def encode(self, x):
        return self.Encoded(self.Gaussian(*self.parameters_of(x)))

    def decode(self, z):
        return self.Decoded(self.reconstruct(z))


class Named(Base):
    """As a Hugging Face output: an ordered dict with attributes; pythae's names."""

    class Output(OrderedDict):
        __getattr__ = OrderedDict.__getitem__

    def encoder(self, x):
        mean, log_var = self.parameters_of(x)
        return self.Output(embedding=mean, log_covariance=log_var)

    def decoder(self, z):
        return self.Output(reconstruction=self.reconstruct(z))


class Forward(Base):
    """A forward that gives [reconstruction, input, mean, log-variance], and a decoder."""

    def __init__(self):
        super().__init__()
        self.decoder = self.out

    def forward(self, x):
        mean, log_var = self.parameters_of(x)
        return [self.out(mean + 0.1 * torch.randn_like(mean)), x, mean, log_var]


class Sampling(Base):
    """encode gives a sample first, and deviations last."""

    def encode(self, x):
        mean, log_var = self.parameters_of(x)
        deviation = torch.exp(log_var / 2)
        return mean + deviation * torch.randn_like(mean), deviation, mean

    def decode(self, z):
        return self.reconstruct(z)


class WhileTraining(Base):
    """Draws samples in training only; outside, the sample is the mean."""

    def encode(self, x):
        mean, log_var = self.parameters_of(x)
        return (mean + self.training * torch.randn_like(mean)), mean, log_var

    def decode(self, z):
        return self.reconstruct(z)


class Distributed(Base):
    def encode(self, x):
        mean, log_var = self.parameters_of(x)
        return distributions.Independent(distributions.Normal(mean, (log_var / 2).exp()), 1)

    def decode(self, z):
        return distributions.Normal(self.reconstruct(z), 1.0)


class Inside(nn.Module):
    """As a Lightning module around a network."""

    def __init__(self):
        super().__init__()
        self.net = Plain()

    def training_step(self, batch):
        raise NotImplementedError


ALL = [Plain, Diffusers, Named, Forward, Sampling, WhileTraining, Distributed, Inside]


@pytest.fixture
def x(generator):
    basis = Base().out.weight.detach()
    return torch.randn(200, 2, generator=generator) @ basis.T


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_of_module_is_read_alike(kind, x):
    """All look at the same weights, so codes, variances and reconstructions agree."""
    read, plain = read_model(kind().eval(), None, x), read_model(Plain(), None, x)
    with torch.no_grad():
        ours, theirs = read.encode(x[:9]), plain.encode(x[:9])
        torch.testing.assert_close(ours.mean, theirs.mean)
        torch.testing.assert_close(ours.variance, theirs.variance, rtol=1e-5, atol=0)
        torch.testing.assert_close(read.decode(ours.mean), plain.decode(theirs.mean))
    assert "To choose otherwise: unpick.diagnose(" in read.assumed[-1]


def test_what_was_taken_is_said(x):
    said = {kind: " ".join(read_model(kind().eval(), None, x).assumed) for kind in ALL}
    assert "mean and variance of model.encode(x).latent_dist" in said[Diffusers]
    assert "model.decode(z).sample as the mean observation" in said[Diffusers]
    assert "model.encoder(x)['embedding'] as the mean" in said[Named]
    assert "model(x)[2] as the mean, model(x)[3] as the log-variance" in said[Forward]
    assert "[2] as the mean, model.encode(x)[1] as the deviation" in said[Sampling]
    assert "Plain within Inside was examined" in said[Inside]


def test_diagnose_takes_a_model_and_factors_by_position(x):
    found = diagnose(Plain(), x, show=False, points=20)
    same = diagnose(Plain().encode, Plain().decode, x, show=False, points=20)
    assert found.alignment.mean == same.alignment.mean
    with pytest.raises(ValueError, match="nothing may follow"):
        diagnose(Plain(), x, x[:, :1], x[:, :1])
    factors = {"factors": x[:, :2], "factor_names": ["a", "b"], "show": False, "points": 20}
    by_name, by_position = diagnose(Plain(), x, **factors), diagnose(Plain(), None, x, **factors)
    assert by_name.findings == by_position.findings
    assert "Factors" in [finding.title for finding in by_name.findings]


class SideBySide(Base):
    def encode(self, x):
        return torch.cat(self.parameters_of(x), 1)

    def decode(self, z):
        return self.reconstruct(z)


class Unclear(Plain):
    def encode(self, x):
        mean, log_var = self.parameters_of(x)
        return mean, log_var, log_var + mean


class Sampler(Plain):
    def encode(self, x):
        return torch.randn_like(self.parameters_of(x)[0])


class NoDecoder(nn.Module):
    def forward(self, x):
        return x


class Sequence(Plain):
    def encode(self, x):
        return tuple(part[:, :, None].repeat(1, 1, 3) for part in self.parameters_of(x))


class LogSigma(Plain):
    """Under this name people keep the logarithm of a variance, or of a deviation."""

    def encode(self, x):
        mean, log_var = self.parameters_of(x)
        return {"mu": mean, "log_sigma": log_var}


class Logits(Plain):
    def decode(self, z):
        return {"logits": self.reconstruct(z)}


@pytest.mark.parametrize(
    ("model", "question"),
    [
        (SideBySide(), r"decode\(z\) does not take latents of shape \(4,\).*chunk\(2, 1\)"),
        (Unclear(), r"encode\(x\) gives \[0\] \(4, 2\), \[1\] \(4, 2\), \[2\] \(4, 2\): which"),
        (Sampler(), r"encode\(x\) is random: return the mean of the posterior"),
        (NoDecoder(), "NoDecoder has no encode and decode, nor encoder and decoder"),
        (Sequence(), r"latents of shape \(2, 3\): which axis holds the channels"),
        (LogSigma(), r"gives \['mu'\] \(4, 2\), \['log_sigma'\] \(4, 2\): which is the mean"),
        (Logits(), r"gives \['logits'\] \(4, 6\): which is the mean observation \(not logits\)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_what_cannot_be_told_is_a_question(model, question, x):
    with pytest.raises(ValueError, match=question):
        diagnose(model, x, show=False)


def test_outputs_by_name_and_by_nesting():
    mean, log_var = torch.randn(4, 3), torch.randn(4, 3)
    Pair = namedtuple("Pair", ["z_log_var", "z_mean"])
    outputs = (Pair(log_var, mean), {"q": {"mu": mean, "logvar": log_var}}, (mean, log_var))
    for output in outputs:
        read = find_posterior(lambda output=output: output, "f(x)", (4, 9)).read(output)
        torch.testing.assert_close(read[0], mean)
        torch.testing.assert_close(read[1], log_var)
    made = torch.rand(4, 9)
    for output in (made, (made,), {"x_recon": made, "z": mean}, distributions.Bernoulli(made)):
        read = find_observation(output, "g(z)", (4, 9)).read(output)
        torch.testing.assert_close(read, made)


class Grid(nn.Module):
    """Convolutions with latents (2, 4, 4) of images (1, 8, 8), in a scale of its own."""

    def __init__(self, scale=1.0, shift=0.0):
        super().__init__()
        self.scale, self.shift = scale, shift
        basis = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(1)))[0]
        self.weight = nn.Parameter(basis[:2].reshape(2, 1, 2, 2))

    def encode(self, x):
        if x.shape[1] != 1:
            raise RuntimeError("expected one channel")
        inside = (x - self.shift) / self.scale
        mean = nn.functional.conv2d(inside, self.weight, stride=2)
        spread = torch.tensor([-4.0, -3.0]).to(mean)[:, None, None].expand_as(mean)
        return mean, spread

    def decode(self, z):
        out = nn.functional.conv_transpose2d(z, self.weight, stride=2)
        return torch.tanh(out) * self.scale + self.shift


@pytest.fixture
def images(generator):
    """Bytes that a `Grid` in [-1, 1] reconstructs: of images that it made."""
    model = Grid(scale=0.8)
    z = torch.randn(100, 2, 4, 4, generator=generator)
    made = nn.functional.conv_transpose2d(z, model.weight, stride=2).detach()
    return ((made.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)


def test_the_scale_of_bytes_is_found_by_trying(images):
    centred = read_model(Grid(), None, images)
    assert "brought to [-1, 1]" in " ".join(centred.assumed)
    unit = read_model(Grid(0.5, 0.5), None, images)
    assert "divided by 255" in " ".join(unit.assumed)
    assert unit.latent_shape == (2, 4, 4)
    whole = read_model(Grid(127.5, 127.5), None, images.float())
    assert "encoded as they are" in " ".join(whole.assumed)
    last = read_model(Grid(0.5, 0.5), None, images.movedim(1, -1).numpy())
    assert "divided by 255. The last axis was taken for colours" in " ".join(last.assumed)
    with pytest.raises(ValueError, match="which scale the model was trained on does not show"):
        read_model(Grid(scale=1e-3), None, images)


@pytest.mark.slow
def test_a_grid_is_reported_by_channel_and_location(images, tmp_path):
    found = diagnose(Grid(0.5, 0.5), images, show=False, points=30, report=tmp_path)
    assert len(found.active) == 2
    assert "2 channels at 4 x 4 locations" in " ".join(found.assumed)
    assert found.bottom_line[0].startswith("2 of 2 channels are active")
    assert (tmp_path / "locations.png").exists()


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_precisions_other_than_single(kind, x):
    single = diagnose(Plain(), x, show=False, points=20)
    found = diagnose(Plain().to(kind), x, show=False, points=20)
    assert found.alignment.mean == pytest.approx(single.alignment.mean, abs=0.01)
    assert found.explained == pytest.approx(single.explained, abs=0.01)
    said = " ".join(found.assumed)
    assert ("a copy of it in single precision" in said) == (kind != torch.float64)
    model = Plain().to(kind)
    by_hand = diagnose(model.encode, model.decode, x, show=False, points=20)
    assert by_hand.explained == pytest.approx(single.explained, abs=0.01)


def test_observations_of_other_kinds(x):
    pandas = pytest.importorskip("pandas")
    model = Plain()
    expected = diagnose(model, x, show=False, points=20).explained
    for other in (x.double(), x.tolist(), x.numpy(), pandas.DataFrame(x.numpy())):
        found = diagnose(model, other, show=False, points=20)
        assert found.explained == pytest.approx(expected, rel=1e-4)
    for wrong, message in (
        (x.to(torch.complex64), "x must hold real numbers, got torch.complex64"),
        (np.array([["a"], ["b"]]), "x must hold real numbers, got <U1"),
        (x / 0, "x must be finite, got 1200 numbers that are not"),
        (None, "at least two observations .* got NoneType"),
    ):
        with pytest.raises(ValueError, match=message):
            diagnose(model, wrong, show=False)
