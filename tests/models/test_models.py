import pytest
import torch

from unpick.models import MLP, Autoencoder, Conv, Diagonal, Full, ModelConfig
from unpick.models.likelihood import distortion
from unpick.models.posterior import family_of


def random_full(generator, n=6, d=3):
    parameters = torch.randn(n, Full.n_parameters(d), generator=generator, dtype=torch.float64)
    return Full.from_parameters(parameters, d)


def test_kl_of_the_full_gaussian_is_torchs(generator):
    q = random_full(generator)
    prior = torch.distributions.MultivariateNormal(torch.zeros(3).double(), torch.eye(3).double())
    theirs = torch.distributions.MultivariateNormal(q.mean, scale_tril=q.factor)
    expected = torch.distributions.kl_divergence(theirs, prior)
    torch.testing.assert_close(q.kl(), expected)
    z = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(q.log_prob(z), theirs.log_prob(z))
    torch.testing.assert_close(q.variance, theirs.covariance_matrix.diagonal(dim1=-2, dim2=-1))


def test_full_with_nothing_below_the_diagonal_is_diagonal(generator):
    parameters = torch.randn(5, 8, generator=generator)
    diagonal = Diagonal.from_parameters(parameters, 4)
    full = Full.from_parameters(torch.cat([parameters, torch.zeros(5, 6)], 1), 4)
    noise = torch.randn(5, 4, generator=generator)
    torch.testing.assert_close(full.kl(), diagonal.kl())
    torch.testing.assert_close(full.sample(noise), diagonal.sample(noise))
    torch.testing.assert_close(full.log_prob(noise), diagonal.log_prob(noise))
    torch.testing.assert_close(full.variance, diagonal.variance)


@pytest.mark.parametrize("family", ["diagonal", "full"])
def test_samples_have_the_covariance_they_claim(family, generator):
    kind = family_of(family)
    parameters = torch.randn(kind.n_parameters(3), generator=generator)
    q = kind.from_parameters(parameters.expand(200_000, -1), 3)
    z = q.sample(torch.randn(200_000, 3, generator=generator))
    torch.testing.assert_close(z.var(0), q.variance[0], rtol=0.02, atol=0)
    monte_carlo = (
        q.log_prob(z) + 0.5 * (z.square() + torch.log(torch.tensor(2 * torch.pi))).sum(1)
    ).mean()
    torch.testing.assert_close(monte_carlo, q.kl()[0], rtol=0.02, atol=0.01)


def test_kl_is_zero_at_the_prior_only(generator):
    zero = Diagonal.from_parameters(torch.zeros(1, 6), 3)
    moved = Diagonal.from_parameters(0.3 * torch.randn(50, 6, generator=generator), 3)
    assert zero.kl() == 0
    assert (moved.kl() > 0).all()


def test_distortions_are_what_they_say(generator):
    x, out = torch.rand(2, 3, 1, 2, 2), torch.randn(2, 3, 1, 2, 2, generator=generator)
    torch.testing.assert_close(distortion("gaussian", x, out), (x - out) ** 2)
    p = torch.sigmoid(out)
    torch.testing.assert_close(
        distortion("bernoulli", x, out), -(x * p.log() + (1 - x) * (1 - p).log())
    )


NETWORKS = [
    MLP((7, 5), "relu", (6,), "tanh"),
    MLP((), "tanh", (), "tanh"),
    Conv(encoder=((4, 4, 2, 1), (8, 4, 2, 1)), start_channels=6, decoder=((5, 4, 2, 1),)),
    Conv(
        encoder=((4, 4, 2, 1), (8, 4, 1, 0)),
        encoder_dense=(),
        decoder_dense=(),
        decoder=((5, 4, 1, 0), (4, 4, 2, 1)),
        encoder_norm=1,
        decoder_norm=1,
    ),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_members_are_the_models_they_would_be_alone(network, generator):
    config = ModelConfig(3, network=network)
    together = Autoencoder(config, (2, 16, 16), [5, 6, 7]).eval()
    alone = Autoencoder(config, (2, 16, 16), [6]).eval()
    x = torch.rand(1, 4, 2, 16, 16, generator=generator)
    theirs = together.encode(x.expand(3, *x.shape[1:]))
    mine = alone.encode(x)
    torch.testing.assert_close(theirs.mean[1:2], mine.mean)
    torch.testing.assert_close(together.decode(theirs.mean)[1:2], alone.decode(mine.mean))
    assert not torch.allclose(theirs.mean[0], theirs.mean[1])


def test_convolutions_equal_pytorchs_layers(generator):
    network = Conv(encoder=((4, 4, 2, 1),), encoder_dense=(), decoder_dense=(), decoder=())
    model = Autoencoder(ModelConfig(2, "delta", network=network), (3, 8, 8), [0])
    layer = model.encoder.convolutions[0]
    plain = torch.nn.Conv2d(3, 4, 4, 2, 1)
    plain.weight.data = layer.weight[0].permute(0, 3, 1, 2)
    plain.bias.data = layer.bias[0]
    x = torch.rand(1, 5, 3, 8, 8, generator=generator)
    head = model.encoder.dense.layers[0]
    expected = torch.relu(plain(x[0])).flatten(1) @ head.weight[0] + head.bias[0]
    torch.testing.assert_close(model.encode(x).mean[0], expected)
    deconvolve = torch.nn.ConvTranspose2d(64, 3, 4, 2, 1)
    last = model.decoder.convolutions[0]
    deconvolve.weight.data = last.weight[0].permute(0, 3, 1, 2)
    deconvolve.bias.data = last.bias[0]
    z = torch.randn(1, 5, 2, generator=generator)
    maps = torch.relu(model.decoder.dense(z))[0].unflatten(1, (64, 4, 4))
    torch.testing.assert_close(model.decode(z)[0], deconvolve(maps))


def test_impossible_images_are_refused():
    with pytest.raises(ValueError, match="no map leads to 30 pixels"):
        Autoencoder(ModelConfig(2, network=Conv()), (1, 30, 30), [0])
    with pytest.raises(ValueError, match="square images"):
        Autoencoder(ModelConfig(2, network=Conv()), (3,), [0])
    with pytest.raises(ValueError, match="at least 1, got 0"):
        ModelConfig(0)


def test_gaussian_first_weights_have_the_variance_of_uniform_ones():
    """And their fourth moment: three squared variances, not nine fifths."""
    for law, fourth in (("uniform", 1.8), ("gaussian", 3.0)):
        model = Autoencoder(ModelConfig(2, network=MLP((200,), weights=law)), (50,), [0, 1])
        drawn = model.encoder.layers[0].weight.detach()
        assert drawn.var() == pytest.approx(1 / (3 * 50), rel=0.03)
        assert (drawn**4).mean() / drawn.var() ** 2 == pytest.approx(fourth, rel=0.06)
        alone = Autoencoder(ModelConfig(2, network=MLP((200,), weights=law)), (50,), [1])
        assert torch.equal(alone.encoder.layers[0].weight[0], drawn[1])
