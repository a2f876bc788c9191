"""Everything that computes on a device, on the stand-in accelerator; prints a line a case.

`tests/test_devices.py` starts this in a process of its own and reads what it prints.
"""

import json
import sys
import tempfile
import traceback
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import torch
from torch import nn

from accelerator import DEVICE, Accelerator
from unpick.data import from_arrays
from unpick.data.synthetic import SynthLin
from unpick.diagnosis import diagnose
from unpick.metrics import dci
from unpick.models import MLP, Conv, ModelConfig, OwnNetwork
from unpick.models.posterior import Family
from unpick.objectives import OBJECTIVES, AnnealedVAE, BetaTCVAE, BetaVAE, FactorVAE, WeakGAN
from unpick.perturb import PerturbConfig
from unpick.perturb.contest import Contest
from unpick.probe import measures
from unpick.probe.cache import name_of, probe_run
from unpick.probe.card import MetricRows
from unpick.probe.measures import FACTOR_SCORES, MEASURES, STANDARD, reconstruction
from unpick.runs import Runner, load_together, make
from unpick.runs.executor import train_group
from unpick.training import Adagrad, RunConfig, Training

warnings.simplefilter("error")
warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)


def images():
    """A grid of 8 x 8 x 8 factors, drawn as 16-pixel images."""
    places = torch.cartesian_prod(*(torch.arange(float(n)) for n in (8, 8, 8)))
    rows = torch.arange(16.0)
    down = torch.exp(-((rows - places[:, :1] - 3) ** 2) / 8)
    along = torch.exp(-((rows - places[:, 1:2] - 4) ** 2) / 8)
    whole = down[:, :, None] * along[:, None] * (0.3 + 0.1 * places[:, 2])[:, None, None]
    return from_arrays(whole[:, None].clamp(0, 1), places, ["down", "along", "bright"])


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.inner(x))


def own(shape, latents, outputs):
    """Networks as a user writes them, one with batch normalisation."""
    size = torch.Size(shape).numel()
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(size, 8), Residual(8), nn.Linear(8, outputs))
    decoder = nn.Sequential(nn.Linear(latents, 8), nn.BatchNorm1d(8), nn.Linear(8, size))
    return encoder, decoder


IMAGES = images()
NETWORKS = {
    "dense": MLP((9, 8), "tanh", (7,), "relu"),
    "convolutional": Conv(
        ((4, 4, 2, 1), (6, 4, 2, 1)), (8,), (8,), 6, ((4, 4, 2, 1),), "leaky_relu", 1, 1
    ),
    "own": OwnNetwork.of(own),
}
SMALL = {FactorVAE: {"critic_width": 8, "critic_layers": 2}, WeakGAN: {"critic_width": 1}}
FACTORY = {"own": own}


def config(network, family, objective, likelihood="bernoulli"):
    return RunConfig(
        SynthLin(points=300),  # not loaded: stands for a name
        ModelConfig(3, family, likelihood, NETWORKS[network]),
        objective,
        steps=6,
        batch=8,
    )


def two_steps(network, family, objective, likelihood="bernoulli", optimiser=None):
    """Two members take two steps on either device, with the same losses and weights."""
    one = config(network, family, objective, likelihood)
    one = one if optimiser is None else replace(one, optimiser=optimiser)
    members = [one, replace(one, seed=1)]
    if isinstance(objective, BetaVAE | BetaTCVAE):  # scalars of their own
        members[1] = replace(members[1], objective=replace(objective, beta=2.0))
    factory = FACTORY.get(network)
    here = Training(members, IMAGES, network=factory)
    there = Training(members, IMAGES, str(DEVICE), network=factory)
    assert all(p.device == DEVICE for p in there.model.parameters())
    close(there.advance(1), here.advance(1), 1e-4)
    # Adam divides gradients by their size, so that those of mere rounding take steps, too.
    close(there.advance(2), here.advance(2), 1e-2)
    close(there.latent_statistics(), here.latent_statistics(), 1e-2)
    there.restore(2, [here.state(m) for m in range(2)])  # begun here, resumed there
    close(there.advance(3), here.advance(3), 1e-4)
    here.restore(3, [there.state(m) for m in range(2)])
    close(there.advance(4), here.advance(4), 1e-4)


def close(a, b, tolerance):
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name].cpu(), b[name], rtol=tolerance, atol=tolerance)


def measured(network, family):
    """A run trained there is measured there, and gives what the CPU gives."""
    objective = BetaVAE(1.0) if family != "delta" else OBJECTIVES["ae"]()
    one = config(network, family, objective)
    with tempfile.TemporaryDirectory() as folder:
        target = f"{__file__}:own" if network == "own" else ""
        runner = Runner(Path(folder), 1, False, device="accel", network=target)
        train_group([one], runner, IMAGES, lambda update: None)
        there = make([one], runner)[0]
        recorded = json.loads((there.path / "environment.json").read_text())
        assert recorded["device"] == "accel"
        here = replace(there, device="cpu")
        measures.dci = partial(dci, rounds=2)  # trees are grown on the CPU, whatever the device
        metrics = [MetricRows(name, "fast", 0) for name in ("MIG", "SAP")]
        for measure in {*MEASURES, *STANDARD, *FACTOR_SCORES, reconstruction, *metrics}:
            probes = [probe_run(run, IMAGES) for run in (there, here)]
            ours, theirs = (measure(probe) for probe in probes)
            assert ours.keys() == theirs.keys(), name_of(measure)
            for name, value in ours.items():
                if isinstance(value, float):
                    difference = abs(value - theirs[name])
                    assert difference <= 1e-3 + 1e-2 * abs(value), (name, value, theirs[name])


def perturbed(network):
    """The change and the decoders take two steps on either device."""
    one = config(network, "diagonal", BetaVAE(1.0))
    recipe = PerturbConfig(one, 0.1, restarts=2, steps=2, batch=8, levels=16)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder), 1, False, device="cpu")
        for each in (one, replace(one, seed=1)):
            train_group([each], runner, IMAGES, lambda update: None)
        runs = make([one, replace(one, seed=1)], runner)
        contests = [
            Contest(recipe, IMAGES, load_together([replace(run, device=device) for run in runs]))
            for device in (str(DEVICE), "cpu")
        ]
    there, here = (contest.advance(2) for contest in contests)
    assert there.entangled == approximately(here.entangled)
    assert there.disentangled == approximately(here.disentangled)
    tables = [contest.tabulate() for contest in contests]
    torch.testing.assert_close(tables[0][0], tables[1][0], rtol=1e-2, atol=1e-4)
    losses = [contest.losses(changed=True) for contest in contests]
    assert losses[0].entangled == approximately(losses[1].entangled)
    contests[0].restore(2, contests[1].state())


class Grid(nn.Module):
    """A convolutional VAE as a user has it, with latents on a grid, in training mode."""

    def __init__(self):
        super().__init__()
        self.into = nn.Sequential(nn.Conv2d(1, 4, 4, 4), nn.BatchNorm2d(4))
        self.out = nn.ConvTranspose2d(2, 1, 4, 4)

    def encode(self, x):
        mean, spread = self.into(x).chunk(2, 1)
        return 9 * mean, spread - 3

    def decode(self, z):
        return self.out(z).sigmoid()


def diagnosed():
    """A model that lies there is diagnosed from observations that lie here."""
    torch.manual_seed(0)
    model, x = Grid(), IMAGES.observe(torch.arange(200))
    found = []
    for device in ("cpu", DEVICE):
        model.to(device)
        found.append(diagnose(model, x, show=False, points=20))
        assert model.training
    here, there = found
    assert there.explained == approximately(here.explained)
    assert there.alignment.mean == approximately(here.alignment.mean)
    assert there.implied_beta.beta == approximately(here.implied_beta.beta)
    assert [f.mark for f in there.findings] == [f.mark for f in here.findings]


def approximately(value):
    import pytest

    return pytest.approx(value, rel=1e-3)


def mixing():
    """The stand-in refuses what a GPU refuses."""
    x = torch.ones(3, device=DEVICE)
    for wrong in (lambda: x + torch.ones(3), lambda: torch.ones(2, 3) @ x, lambda: x.numpy()):
        try:
            wrong()
        except (RuntimeError, TypeError):
            continue
        raise AssertionError("a tensor of the CPU was taken")


def cases():
    """Every objective with dense networks; every network with every family, and with critics.

    What an objective puts on a device does not depend on the network, but for critics, which are
    built like the encoder. Measures read a network's outputs and a family's parameters, each in
    its own place: every network with one family, and every family with one network.
    """
    yield "mixing raises", mixing
    for network in NETWORKS:
        for family in get_args(Family):
            kinds = [kind for kind in OBJECTIVES.values() if family in kind.posteriors]
            critics = [kind for kind in kinds if hasattr(kind, "make_critic")]
            for kind in kinds if network == "dense" else {kinds[0], *critics}:
                objective = kind(**SMALL.get(kind, {}))
                name = f"step: {network}, {family}, {kind.name}"
                yield name, lambda n=network, f=family, o=objective: two_steps(n, f, o)
    for objective in (BetaTCVAE(estimator="stratified"), AnnealedVAE(anneal_steps=5)):
        name = f"step: {objective}"
        yield name, lambda o=objective: two_steps("dense", "diagonal", o, "gaussian")
    yield (
        "step: Adagrad",
        lambda: two_steps("dense", "diagonal", BetaVAE(), optimiser=Adagrad(0.01)),
    )
    for network in NETWORKS:
        for family in get_args(Family) if network == "dense" else ("diagonal",):
            yield f"measures: {network}, {family}", lambda n=network, f=family: measured(n, f)
    yield "diagnosis of a stranger's model", diagnosed
    for network in ("dense", "convolutional"):
        yield f"perturbation: {network}", lambda n=network: perturbed(n)


def main():
    torch.set_num_threads(1)
    with Accelerator():
        for name, case in cases():
            try:
                case()
                told = ""
            except Exception:
                told = traceback.format_exc(limit=-4)
            print(json.dumps({"case": name, "failure": told}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
