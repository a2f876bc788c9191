"""Jacobians and distance to orthogonality against the way they are usually computed, in one run.

    make bench

Jacobians of 1000 points with 10 latents, against ten forward passes of the same points (what no
method can beat by much) and against a reverse-mode Jacobian for each point, of which only a few
are timed and scaled up. Distance to orthogonality of 10 000 Jacobians against one SVD and one
integer program each, of which 200 are timed; both must find the same optima.
"""

import statistics
import time
from itertools import pairwise

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.geometry.integer_program import nearest_signed_permutation_milp
from unpick.geometry.singular import gram, singular_directions
from unpick.models import MLP, Autoencoder, Conv, ModelConfig
from unpick.runs import keep_freed_memory

POINTS, LATENTS, REPEATS = 1000, 10, 5


def plain_mlp(*widths):
    layers = [layer for i, o in pairwise(widths) for layer in (nn.Linear(i, o), nn.Tanh())]
    return nn.Sequential(*layers[:-1], nn.Sigmoid())


def plain_conv():
    def up(i, o):
        return nn.ConvTranspose2d(i, o, 4, 2, 1)

    return nn.Sequential(
        *(nn.Linear(LATENTS, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU()),
        nn.Unflatten(1, (64, 4, 4)),
        *(up(64, 64), nn.ReLU(), up(64, 32), nn.ReLU(), up(32, 32), nn.ReLU(), up(32, 1)),
        nn.Sigmoid(),
    )


def ours(network, shape):
    model = Autoencoder(ModelConfig(LATENTS, likelihood="bernoulli", network=network), shape, [0])
    model.eval()
    return lambda z: model.decode_mean(z[None])[0]


DECODERS = {
    "MLP 500-500 to 784": plain_mlp(LATENTS, 500, 500, 784),
    "ensemble MLP 500-500 to 784": ours(MLP((8,), "relu", (500, 500), "tanh"), (1, 28, 28)),
    "MLP 1200 x 3 to 4096": plain_mlp(LATENTS, 1200, 1200, 1200, 4096),
    "ensemble MLP 1200 x 3 to 4096": ours(MLP((8,), "relu", (1200,) * 3, "tanh"), (1, 64, 64)),
    "convolutions to 4096": plain_conv(),
    "ensemble convolutions to 4096": ours(Conv(), (1, 64, 64)),
}


def seconds(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one_by_one(decode, z):
    """The usual way: a Jacobian in reverse mode for each point."""
    for point in z:
        torch.autograd.functional.jacobian(lambda p: decode(p[None])[0], point)


def jacobians():
    table = Table(title=f"Jacobians of {POINTS} points, {LATENTS} latents")
    for column in ("decoder", "10 forward", "Jacobians", "ratio", "reverse mode, one by one"):
        table.add_column(column, justify="right" if column != "decoder" else "left")
    for name, decode in DECODERS.items():
        z = torch.randn(POINTS, LATENTS, generator=torch.Generator().manual_seed(0))

        def forward(decode=decode, z=z):
            with torch.no_grad():
                for _ in range(LATENTS):
                    decode(z)

        def ours(decode=decode, z=z):
            decoder_jacobians(decode, z)

        times = {forward: [], ours: []}
        for _ in range(REPEATS):
            for work, spent in times.items():
                spent.append(seconds(work))
        base, found = (statistics.median(spent) for spent in times.values())
        ratios = [b / a for a, b in zip(*times.values(), strict=True)]
        few = seconds(lambda d=decode, z=z: one_by_one(d, z[:1])) * POINTS
        table.add_row(
            name,
            f"{1e3 * base:.0f} ms",
            f"{1e3 * found:.0f} ms",
            f"{found / base:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            f"about {few / found:.0f}x slower",
        )
    Console(width=110).print(table)


def orthogonality(n=10_000, programs=200):
    table = Table(title=f"distance to orthogonality of {n} Jacobians")
    for column in ("outputs x latents", "SVD + program", "ours", "ratio", "largest difference"):
        table.add_column(column, justify="right")
    for p, d in ((6, 2), (784, 5), (784, 10)):
        generator = torch.Generator().manual_seed(0)
        given = torch.randn(n, p, d, generator=generator)
        optima = []

        def reference(given=given, optima=optima):
            for jacobian in given[:programs].double().numpy():
                v = np.linalg.svd(jacobian, full_matrices=False)[2].T
                optima.append(np.linalg.norm(v - nearest_signed_permutation_milp(v)))

        usual = seconds(reference) / programs
        times = [seconds(lambda g=given: distance_to_orthogonality(g)) for _ in range(REPEATS)]
        mine = statistics.median(times[1:]) / n  # the first draws the chance level
        found = distance_to_orthogonality(given[:programs]).per_sample.numpy()
        table.add_row(
            f"{p} x {d}",
            f"{1e3 * usual:.2f} ms",
            f"{1e3 * mine:.3f} ms",
            f"{usual / mine:.0f}x",
            f"{np.abs(found - np.array(optima)).max():.0e}",
        )
    Console(width=110).print(table)


def accuracy():
    table = Table(title="error of V against an SVD in double precision (1000 x 10, float32)")
    for column in ("condition", "Gram in float32", "ours"):
        table.add_column(column, justify="right")
    generator = torch.Generator().manual_seed(0)
    for condition in (2, 3, 4, 5):
        u, _ = torch.linalg.qr(torch.randn(50, 1000, 10, generator=generator).double())
        v, _ = torch.linalg.qr(torch.randn(50, 10, 10, generator=generator).double())
        given = ((u * torch.logspace(0, -condition, 10)) @ v.mT).float()
        exact = torch.linalg.svd(given.double(), full_matrices=False).Vh.mT

        def error(found, exact=exact):
            signs = (found * exact).sum(1, keepdim=True).sign()
            return float((found * signs - exact).norm(dim=1).max())

        single = torch.linalg.eigh(given.mT @ given).eigenvectors.flip(-1).double()
        double = singular_directions(gram(given))[1]
        table.add_row(f"1e{condition}", f"{error(single):.0e}", f"{error(double):.0e}")
    Console(width=110).print(table)


if __name__ == "__main__":
    keep_freed_memory()
    jacobians()
    orthogonality()
    accuracy()
