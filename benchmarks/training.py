"""Ensemble training against a plain loop over seeds, same mathematics, measured in one run.

    make bench

Ours is two worker processes with one thread each, as `unpick train` runs them. The plain loop is
what one would write with nn.Module, autograd and Adam: one seed after the other. Both sides
alternate, each figure is the median of repeats, and only ratios of one run mean anything. Before
timing, both take the same steps from the same weights with the same batches and noise; a column
says how far their losses agree. The peak is a large matrix product's, timed between the repeats,
because the clock of a shared machine wanders. `--jax PYTHON` adds the same training in JAX.
"""

import argparse
import statistics
import subprocess
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn import functional

from unpick.data import ArrayStore, Dataset
from unpick.models import MLP, Conv
from unpick.runs import Runner
from unpick.runs.executor import trains_together
from unpick.runs.workers import Workers
from unpick.training import Adam, RunConfig, Training, preset


class Plain(nn.Module):
    """The same model in ordinary layers."""

    def __init__(self, config: RunConfig, shape):
        super().__init__()
        self.config, self.shape = config, shape
        net, d = config.model.network, config.model.latents
        if isinstance(net, MLP):
            act = {"relu": nn.ReLU, "tanh": nn.Tanh}
            size = torch.Size(shape).numel()
            self.encoder = self.mlp((size, *net.encoder, 2 * d), act[net.encoder_activation])
            self.decoder = self.mlp((d, *net.decoder, size), act[net.decoder_activation])
        else:
            c, side = shape[0], shape[1] // 16
            self.encoder = nn.Sequential(
                *[
                    layer
                    for i, o in ((c, 32), (32, 32), (32, 64), (64, 64))
                    for layer in (nn.Conv2d(i, o, 4, 2, 1), nn.ReLU())
                ],
                nn.Flatten(),
                nn.Linear(64 * side**2, 256),
                nn.ReLU(),
                nn.Linear(256, 2 * d),
            )
            self.decoder = nn.Sequential(
                nn.Linear(d, 256),
                nn.ReLU(),
                nn.Linear(256, 64 * side**2),
                nn.ReLU(),
                nn.Unflatten(1, (64, side, side)),
                *[
                    layer
                    for i, o in ((64, 64), (64, 32), (32, 32))
                    for layer in (nn.ConvTranspose2d(i, o, 4, 2, 1), nn.ReLU())
                ],
                nn.ConvTranspose2d(32, c, 4, 2, 1),
            )

    @staticmethod
    def mlp(widths, activation):
        layers = []
        for i, o in pairwise(widths):
            layers += [nn.Linear(i, o), activation()]
        return nn.Sequential(*layers[:-1])

    def load_member(self, training: Training, s: int):
        """Take over the weights of one member of an ensemble."""
        mine = [
            m for m in self.modules() if isinstance(m, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)
        ]
        theirs = [m for m in training.model.modules() if hasattr(m, "weight")]
        for layer, source in zip(mine, theirs, strict=True):
            weight = source.weight[s].detach()
            layer.weight.data = (
                weight.T.clone() if weight.ndim == 2 else weight.permute(0, 3, 1, 2).clone()
            )
            layer.bias.data = source.bias[s].detach().flatten().clone()
        return self

    def loss(self, x, noise):
        conv = isinstance(self.config.model.network, Conv)
        mean, log_var = self.encoder(x if conv else x.flatten(1)).chunk(2, dim=1)
        out = self.decoder(mean + torch.exp(0.5 * log_var) * noise)
        out = out.view(x.shape)
        if self.config.model.likelihood == "gaussian":
            distortion = ((x - out) ** 2).sum()
        else:
            distortion = functional.binary_cross_entropy_with_logits(out, x, reduction="sum")
        kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum()
        return (distortion + self.config.objective.beta * kl) / len(x)


@dataclass
class Task:
    """One model size."""

    name: str
    config: RunConfig
    dataset: Dataset
    steps: int  # an ensemble's steps in one timing
    loop_steps: int  # the loop's, per seed


def plain_steps(config, dataset, indices, seed, steps):
    """The loop's own batches and noise, from the global generator, as usual."""
    torch.manual_seed(seed)
    model = Plain(config, dataset.shape)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.optimiser.learning_rate)
    started = time.perf_counter()
    for _ in range(steps):
        x = dataset.store.read(indices[torch.randint(len(indices), (config.batch,))])
        loss = model.loss(x, torch.randn(config.batch, config.model.latents))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - started


def agreement(task: Task, steps: int = 5) -> float:
    """Largest relative difference of the losses over the first steps, fed the same numbers."""
    training = Training([replace(task.config, seed=s) for s in range(2)], task.dataset)
    model = Plain(task.config, task.dataset.shape).load_member(training, 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=task.config.optimiser.learning_rate)
    worst = 0.0
    for step in range(steps):
        indices = training.feed.streams.batch("batch", step, task.config.batch, training.indices)
        noise = training.streams.normal(
            "noise", step, (task.config.batch, task.config.model.latents)
        )
        loss = model.loss(task.dataset.observe(indices[1]), noise[1])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        ours = float(training.advance(step + 1)["loss"][1])
        worst = max(worst, abs(ours - float(loss.detach())) / abs(ours))
    return worst


KEPT: dict[tuple[str, tuple[int, ...]], Training] = {}  # in a worker: the ensemble it goes on with


def advance(name, seeds, steps, show):
    """In a worker: some more steps of an ensemble."""
    if (name, seeds) not in KEPT:
        size = task(name)
        KEPT[name, seeds] = Training([replace(size.config, seed=s) for s in seeds], size.dataset)
    training = KEPT[name, seeds]
    training.advance(training.step + steps)


def ours(workers, task, seeds, steps):
    """Seed-steps a second of two workers, shared out as `unpick.runs.make` does."""
    together = trains_together(task.config, task.dataset.shape, Runner())
    shares = [tuple(range(k, seeds, 2)) if together else (k,) for k in range(2)]
    started = time.perf_counter()
    workers.run(advance, [(task.name, share, steps) for share in shares], print)
    return sum(map(len, shares)) * steps / (time.perf_counter() - started)


def flops(config, dataset) -> float:
    """Multiply-adds of one step, times two, times three for forward and both backward products."""
    net, d = config.model.network, config.model.latents
    size = torch.Size(dataset.shape).numel()
    if isinstance(net, MLP):
        widths = [(size, *net.encoder, 2 * d), (d, *net.decoder, size)]
        products = sum(i * o for w in widths for i, o in pairwise(w))
        first = size * widths[0][1]  # no gradient with respect to the data
        return config.batch * 2.0 * (3 * products - first)
    c, s = dataset.shape[:2]
    ins = [(c, 32, s // 2), (32, 32, s // 4), (32, 64, s // 8), (64, 64, s // 16)]
    outs = [(64, 64, s // 16), (64, 32, s // 8), (32, 32, s // 4), (32, c, s // 2)]
    convolutions = sum(16 * i * o * side**2 for i, o, side in ins + outs)
    dense = 64 * (s // 16) ** 2 * 512 + 256 * 3 * d
    return config.batch * 2.0 * 3 * (convolutions + dense)


def peak(n: int = 2048) -> float:
    """GFLOP/s of a large matrix product on all threads."""
    a, b = torch.randn(n, n), torch.randn(n, n)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - started)
    return 2e-9 * n**3 / statistics.median(times)


def images(shape, n=6000):
    """Random binary images."""
    generator = torch.Generator().manual_seed(0)
    return Dataset(
        "images", ArrayStore((torch.rand(n, *shape, generator=generator) < 0.1).float())
    )


def task(name: str) -> Task:
    """One of the five sizes of the project."""
    if name.startswith("synth"):
        config = preset(name)
        steps = (2000, 200) if name == "synth-lin" else (600, 100)
        return Task(name, config, config.data.load(), *steps)
    if name == "MNIST-size MLP":
        config = replace(preset("mnist"), optimiser=Adam(1e-3))
        return Task(name, config, images((1, 28, 28)), 20, 15)
    if name == "sprites MLP":
        config = replace(preset("sprites"), optimiser=Adam(1e-3))
        return Task(name, config, images((1, 64, 64)), 30, 8)
    config = replace(preset("shapes3d"), batch=128)
    return Task(name, config, images((1, 64, 64)), 20, 8)


NAMES = ("synth-lin", "synth-nonlin", "MNIST-size MLP", "sprites MLP", "convolutional")


def in_jax(options, name, loop):
    """How many plain loops two processes with JAX are, one a core; written for small models."""
    if not name.startswith("synth"):
        return "-"
    script = Path(__file__).with_name("jax_training.py")
    share = str(options.seeds // 2)
    processes = [
        subprocess.Popen(
            [options.jax, str(script), name, share, str(core)], stdout=subprocess.PIPE, text=True
        )
        for core in range(2)
    ]
    rate = sum(float(process.communicate()[0]) for process in processes)
    return f"{rate / loop:.0f}x"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--jax", default="", help="a Python with JAX, to compare with")
    options = arguments.parse_args()
    table = Table(title=f"{options.seeds} seeds, {torch.get_num_threads()} threads")
    for column in (
        "model",
        "plain loop",
        "unpick",
        "ratio",
        "spread",
        "GFLOP/s",
        "peak",
        "share",
        "agrees to",
        *(["JAX"] if options.jax else []),
    ):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name in NAMES:
        if options.only not in name:
            continue
        size = task(name)
        difference = agreement(size)
        indices = torch.arange(len(size.dataset))
        plain_steps(size.config, size.dataset, indices, 0, 3)
        rates, loops, peaks = [], [], []
        with Workers(2) as workers:
            ours(workers, size, options.seeds, 5)
            for repeat in range(options.repeats):
                seconds = plain_steps(size.config, size.dataset, indices, repeat, size.loop_steps)
                loops.append(size.loop_steps / seconds)
                rates.append(ours(workers, size, options.seeds, size.steps))
                peaks.append(peak())
        rate, loop = statistics.median(rates), statistics.median(loops)
        ratios = sorted(a / b for a, b in zip(rates, loops, strict=True))
        gigaflops = rate * flops(size.config, size.dataset) / 1e9
        table.add_row(
            size.name,
            f"{loop:.4g}/s",
            f"{rate:.4g}/s",
            f"{rate / loop:.2f}x",
            f"{ratios[0]:.1f}-{ratios[-1]:.1f}",
            f"{gigaflops:.3g}",
            f"{statistics.median(peaks):.0f}",
            f"{gigaflops / statistics.median(peaks):.0%}",
            f"{difference:.0e}",
            *([in_jax(options, name, loop)] if options.jax else []),
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
