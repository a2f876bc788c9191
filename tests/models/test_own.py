"""Networks of the user's own, lifted to an ensemble."""

import hashlib
import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from unpick.cli import main
from unpick.data import load
from unpick.data.shapes3d import Shapes3D
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, ModelConfig, OwnNetwork, build
from unpick.models.own import LiftedAutoencoder
from unpick.objectives import BetaVAE, Pass, total
from unpick.probe import probe_run
from unpick.probe.measures import alignment
from unpick.runs import Runner, make, read
from unpick.training import RunConfig, Training, train

DATA = SynthLin(points=400)
SMALL = RunConfig(DATA, ModelConfig(2), BetaVAE(0.01), steps=40, batch=16)


def dense(shape, latents, parameters):
    size = torch.Size(shape).numel()
    return (
        nn.Sequential(nn.Linear(size, 9), nn.Tanh(), nn.Linear(9, parameters)),
        nn.Sequential(nn.Linear(latents, 7), nn.Tanh(), nn.Linear(7, size)),
    )


def normalised(shape, latents, parameters):
    """With batch normalisation, which takes away a bias before it."""
    size = torch.Size(shape).numel()
    first = nn.Linear(size, 9, bias=False)
    return (
        nn.Sequential(first, nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, parameters)),
        nn.Sequential(nn.Linear(latents, size)),
    )


class LooksAtValues(nn.Module):
    """Python that vmap cannot follow."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.layer(x) if x.sum() > -1e9 else x


def looking(shape, latents, parameters):
    return LooksAtValues(shape[0], parameters), LooksAtValues(latents, shape[0])


def frozen(shape, latents, parameters):
    encoder, decoder = dense(shape, latents, parameters)
    encoder[0].requires_grad_(False)
    return encoder, decoder


class Tied(nn.Module):
    """Two layers with one matrix."""

    def __init__(self, size, outputs):
        super().__init__()
        self.first, self.second = nn.Linear(size, size), nn.Linear(size, size)
        self.second.weight = self.first.weight
        self.last = nn.Linear(size, outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))


def tied(shape, latents, parameters):
    return Tied(shape[0], parameters), nn.Linear(latents, shape[0])


class Centred(nn.Module):
    """Takes away a running mean, which moves with every pass in training."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        centred = x - self.mean
        if self.training:
            self.mean.lerp_(x.mean(0), 0.1)
        return centred


def centred(shape, latents, parameters):
    encoder, decoder = dense(shape, latents, parameters)
    return nn.Sequential(Centred(shape[0]), encoder), decoder


def unused(shape, latents, parameters):
    """A class of the function's own, with a layer that nothing uses."""

    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.spare = nn.Linear(shape[0], parameters), nn.Linear(5, 5)

        def forward(self, x):
            return self.layer(x)

    return Spare(), nn.Linear(latents, shape[0])


FACTORIES = [dense, normalised, looking, frozen, tied, centred, unused]


def lifted(factory, seeds=(0, 1, 2), shape=(3,)):
    config = ModelConfig(2, network=OwnNetwork.of(factory))
    return build(config, shape, seeds, network=factory)


def plain(factory, seed):
    """The user's networks as they are, with the first weights of a member."""
    with torch.random.fork_rng():
        torch.manual_seed(10**6 + seed)
        return factory((3,), 2, 4)


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("mode", [True, False])
def test_members_are_the_networks_that_the_user_wrote(factory, mode, generator):
    x = torch.randn(3, 8, 3, generator=generator)
    model = lifted(factory).train(mode)
    q = model.encode(x)
    output = model.decode(q.mean)
    for s in range(3):
        encoder, decoder = plain(factory, s)
        encoder.train(mode)
        mean, log_var = encoder(x[s]).chunk(2, 1)
        torch.testing.assert_close(q.mean[s], mean)
        torch.testing.assert_close(q.log_var[s], log_var)
        torch.testing.assert_close(output[s], decoder.train(mode)(mean))
        for name, buffer in encoder.named_buffers():  # running statistics moved alike
            own = model.encoder.get_buffer(name.replace(".", ":"))[s]
            torch.testing.assert_close(own, buffer)


@pytest.mark.parametrize("factory", FACTORIES)
def test_training_is_that_of_a_plain_loop(factory):
    """Steps of two members equal those of torch.optim.Adam on the user's modules."""
    configs = [replace(SMALL, seed=seed) for seed in (0, 3)]
    own = OwnNetwork.of(factory)
    configs = [replace(c, model=replace(c.model, network=own)) for c in configs]
    training = Training(configs, DATA.load(), network=factory)
    networks = plain(factory, 3)
    weights = [p for network in networks for p in network.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(weights, lr=1e-3)
    for step in range(4):
        batch = training.feed.batch("batch", step).x[1]
        noise = training.streams.normal("noise", step, (16, 2))[1]
        mean, log_var = networks[0](batch).chunk(2, 1)
        error = networks[1](mean + torch.exp(0.5 * log_var) * noise) - batch
        kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum()
        loss = (error.square().sum() + 0.01 * kl) / 16
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        torch.testing.assert_close(training.advance(step + 1)["loss"][1], loss.detach())


def test_only_products_are_in_bfloat16():
    """Posterior and loss are computed in float32, as with our own networks."""
    config = replace(SMALL, model=replace(SMALL.model, network=OwnNetwork.of(dense)))
    training = Training([config], DATA.load(), precision="bf16", network=dense)
    assert {str(value.dtype) for value in training.advance(1).values()} == {"torch.float32"}


def test_a_lifted_network_is_ours_if_it_has_the_same_layers(generator):
    """The same weights give the loss of our own dense network."""
    ours = build(ModelConfig(2, network=MLP((9,), "tanh", (7,), "tanh")), (3,), [0, 1])
    theirs = lifted(dense, (0, 1))
    sources = [layer for part in (ours.encoder, ours.decoder) for layer in part.layers]
    targets = [
        (part.get_parameter(f"{k}:weight"), part.get_parameter(f"{k}:bias"))
        for part in (theirs.encoder, theirs.decoder)
        for k in (0, 2)
    ]
    with torch.no_grad():
        for source, (weight, bias) in zip(sources, targets, strict=True):
            weight.copy_(source.weight.mT)
            bias.copy_(source.bias[:, 0])
    x = torch.randn(2, 6, 3, generator=generator)
    noise = torch.randn(2, 6, 2, generator=generator)
    losses = [total(BetaVAE(0.5)(Pass(model, x, noise, 0, 100))) for model in (ours, theirs)]
    torch.testing.assert_close(*losses)


def test_vmap_is_taken_where_it_follows():
    assert lifted(dense).encoder.vmap_follows
    assert not lifted(looking).encoder.vmap_follows
    assert not lifted(dense, [0]).encoder.vmap_follows  # one member needs none


def test_frozen_weights_stay_and_are_saved():
    model = train(SMALL, DATA.load(), progress=False, model=frozen).model
    first = plain(frozen, 0)[0][0].weight
    assert torch.equal(model.encoder.get_buffer("0:weight")[0], first)
    assert "0:weight" not in dict(model.encoder.named_parameters())
    assert torch.equal(model.member(0).encoder.get_buffer("0:weight")[0], first)


def test_members_alone_equal_members_in_company():
    alone = train(replace(SMALL, seed=2), DATA.load(), progress=False, model=normalised).model
    configs = [replace(SMALL, seed=seed) for seed in range(3)]
    company = train(configs, DATA.load(), progress=False, model=normalised).model.member(2)
    for one, other in zip(alone.state_dict().values(), company.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def shares_weights(shape, latents, parameters):
    encoder, _ = dense(shape, latents, parameters)
    return encoder, nn.Sequential(nn.Linear(latents, parameters), encoder, nn.Linear(4, 3))


def drops_out(shape, latents, parameters):
    encoder, decoder = dense(shape, latents, parameters)
    return nn.Sequential(encoder, nn.Dropout(0.5)), decoder


def of_another_width(shape, latents, parameters):
    width = int(torch.randint(10**6, ()))
    return nn.Linear(3, parameters), nn.Sequential(nn.Linear(2, width), nn.Linear(width, 3))


class Calls(nn.Module):
    """A linear layer in a function of the test's choice."""

    def __init__(self, inputs, outputs, function):
        super().__init__()
        self.layer, self.function = nn.Linear(inputs, outputs), function
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        return self.function(self, x)

    @staticmethod
    def encoder(function):
        return lambda shape, d, p: (Calls(3, p, function), nn.Linear(d, 3))


def replaces(self, x):
    self.seen = self.seen + 1
    return self.layer(x)


def loose(shape, latents, parameters):
    encoder, decoder = dense(shape, latents, parameters)
    decoder.frequencies = torch.randn(3)
    return encoder, decoder


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (Calls.encoder(lambda self, x: self.layer(x).sum()), r"got \(\) for n = 3"),
        (Calls.encoder(lambda self, x: (self.layer(x), x)), "got tuple"),
        (Calls.encoder(lambda self, x: self.layer(x).unflatten(1, (2, 2))), r"got \(3, 2, 2\)"),
        (Calls.encoder(lambda self, x: self.layer(x).double()), "must give torch.float32"),
        (Calls.encoder(lambda self, x: self.layer(x.mul_(2))), "not change its input in place"),
        (Calls.encoder(replaces), "must change its buffer 'seen' in place"),
        (loose, "decoder: the tensor 'frequencies' of Sequential must be a parameter or a buffer"),
        (of_another_width, "the same layers for every seed"),
        (lambda shape, d, p: (nn.LazyLinear(p), nn.Linear(d, 3)), "lazy layers must be given"),
        (lambda shape, d, p: nn.Linear(3, 4), "must return .encoder, decoder., two torch modules"),
        (lambda shape, d, p: (nn.Linear(3, p + 1), nn.Linear(d, 3)), r"encoder must map \(n, 3\)"),
        (lambda shape, d, p: (nn.Linear(3, p), nn.Linear(d, 7)), r"decoder must map \(n, 2\)"),
        (lambda shape, d, p: (nn.Linear(3, p).double(), nn.Linear(d, 3)), "torch.float32"),
        (lambda shape, d, p: (nn.Identity(), nn.Linear(d, 3)), "no weights to train in Identity"),
        (shares_weights, "must not share weights"),
        (drops_out, "encoder draws random numbers of its own"),
    ],
)
def test_what_cannot_be_lifted_is_refused(factory, message):
    with pytest.raises(ValueError, match=message):
        lifted(factory)


NETS = """
from torch import nn


def make(shape, latents, parameters):
    size = shape[0] if len(shape) == 1 else shape[0] * shape[1] * shape[2]
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(size, 8), nn.ReLU(), nn.Linear(8, parameters))
    return encoder, nn.Sequential(nn.Linear(latents, 8), nn.ReLU(), nn.Linear(8, size))
"""


@pytest.fixture
def nets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path / "nets.py"


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_the_commands_take_a_file_and_a_run_asks_for_it_again(nets, capsys):
    """Trained in worker processes; the name follows the file's content, not its place."""

    def run(*words):
        with pytest.raises(SystemExit) as stop:
            main([*words])
        return stop.value.code, capsys.readouterr()

    train_it = ("train", "synth-lin", "--points", "300", "--steps", "30", "--seeds", "2")
    options = ("--jobs", "2", "--device", "cpu", "--no-progress")
    assert run(*train_it, *options, "--model", "nets.py:make")[0] == 0
    folders = sorted(nets.parent.glob("runs/synth-lin-*"))
    assert len(folders) == 2
    config = json.loads((folders[0] / "config.json").read_text())
    network = config["model"]["network"]
    assert network["sha256"] == hashlib.sha256(NETS.encode()).hexdigest()
    assert "nets" not in json.dumps(config)  # neither the path nor the code
    code, told = run("measure", str(folders[0]))
    assert code == 2
    assert "give the function again (--model FILE.py:function" in told.err
    code, told = run("measure", str(folders[0]), "--model", "nets.py:make")
    assert code == 0
    assert "DtO" in told.out
    assert run("diagnose", str(folders[0]), "--model", "nets.py:make")[0] == 0
    nets.rename(nets.parent / "moved.py")
    assert run(*train_it, *options, "--model", "moved.py:make")[0] == 0
    assert sorted(nets.parent.glob("runs/synth-lin-*")) == folders  # read, not trained again
    (nets.parent / "other.py").write_text(NETS.replace("8", "9"))
    code, told = run("measure", str(folders[0]), "--model", "other.py:make")
    assert code == 2
    assert "is not the one that this model was made with" in told.err


def test_the_hash_is_of_the_file_behind_a_decorator(nets):
    nets.write_text("import torch\n" + NETS.replace("def make", "@torch.no_grad()\ndef make"))
    factory = Runner(device="cpu", network=f"{nets}:make").factory
    assert OwnNetwork.of(factory).sha256 == hashlib.sha256(nets.read_bytes()).hexdigest()


@pytest.mark.parametrize("made", ["width(3)", "lambda shape, d, p: make(shape, d, p)"])
def test_a_function_must_have_the_name_it_is_asked_for(nets, made):
    """Else two networks of one file would share a name, and one be taken for the other."""
    maker = "def width(n):\n    def made(shape, d, p): return n\n    return made\n"
    nets.write_text(f"{NETS}{maker}wide = {made}\n")
    with pytest.raises(ValueError, match="write `def wide"):
        _ = Runner(device="cpu", network=f"{nets}:wide").factory


def test_large_whole_numbers_survive_a_checkpoint():
    configs = [replace(SMALL, model=replace(SMALL.model, network=OwnNetwork.of(normalised)))]
    first, second = (Training(configs, DATA.load(), network=normalised) for _ in range(2))
    first.model.encoder.get_buffer("1:running_mean").fill_(0.5)
    first.model.encoder.get_buffer("1:num_batches_tracked").fill_(2**40 + 1)
    second.restore(1, [first.state(0)])
    for name, buffer in first.model.named_buffers():
        assert torch.equal(buffer, second.model.get_buffer(name)), name


def test_a_run_resumes_with_networks_of_ones_own(nets):
    """Interrupted and resumed, the weights are those of a run without interruption."""
    from unpick.runs.executor import train_group

    def press(update):
        if update.step >= 20:
            raise KeyboardInterrupt

    target = f"{nets}:make"
    whole, cut = (
        Runner(nets.parent / name, 1, False, device="cpu", network=target) for name in ("a", "b")
    )
    own = OwnNetwork.of(whole.factory)
    config = replace(SMALL, model=replace(SMALL.model, network=own))
    with pytest.raises(KeyboardInterrupt):
        train_group([config], cut, DATA.load(), press)
    runs = [make([config], runner)[0] for runner in (whole, cut)]
    assert runs[0].results["weights_sha256"] == runs[1].results["weights_sha256"]
    assert alignment(probe_run(runs[0])).keys() == {"DtO", "chance", "degenerate"}
    with pytest.raises(ValueError, match="give the function again"):
        read(runs[0].path).model()


@pytest.mark.slow
def test_the_example_learns(tmp_path):
    """The residual network of the examples on small rooms."""
    from pathlib import Path

    from unpick.source_files import import_function

    file = Path(__file__).parents[2] / "examples" / "residual_vae.py"
    factory = import_function(f"{file}:make")
    data = load("shapes3d", size=16)
    model = ModelConfig(3, "diagonal", "bernoulli", OwnNetwork.of(factory))
    config = RunConfig(Shapes3D(size=16), model, BetaVAE(4.0), steps=30, batch=32)
    ensemble = train(config, data, progress=False, device="cpu", model=factory)
    assert isinstance(ensemble.model, LiftedAutoencoder)
    assert ensemble.log[-1]["loss"][0] < 0.95 * ensemble.log[0]["loss"][0]
