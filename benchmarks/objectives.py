"""What a step of each objective with Jacobian terms costs, as ratios to the beta-VAE's.

    python benchmarks/objectives.py

All objectives take turns, a few steps each, and each ratio is the median over rounds of a time to
the beta-VAE's in the same round. `by autograd` compares with the beta-VAE by autograd; `as
trained` with its gradient that is written out, which dense networks on a CPU use. One member, one
thread.
"""

import argparse
import os
import statistics
import time
from dataclasses import replace

import torch
from rich.console import Console
from rich.table import Table

from unpick.data import ArrayStore, Dataset
from unpick.objectives import AE, BetaVAE, BudgetAE, DeterministicVAE, ImaAE
from unpick.training import Training, preset
from unpick.training.presets import with_objective

OBJECTIVES = {
    "AE": AE(),
    "deterministic VAE": DeterministicVAE(),
    "deterministic VAE, full": DeterministicVAE(covariance="full"),
    "deterministic VAE, exact Hessian": DeterministicVAE(hessian="exact"),
    "budget AE": BudgetAE(),
    "IMA AE": ImaAE(),
    "beta-VAE + orthogonality": BetaVAE(),
    "deterministic VAE, all 128 observations": DeterministicVAE(jacobians=128),
}
STEPS = {"synth-lin": 50, "synth-nonlin": 20, "sprites": 1, "shapes3d": 1}


def trainings(data):
    """An ensemble of one for each objective, the beta-VAE's with and without autograd."""
    base = replace(preset(data), batch=128)
    dataset = images(base) if data in ("sprites", "shapes3d") else base.data.load()
    made = {
        name: Training([with_objective(base, objective)], dataset)
        for name, objective in OBJECTIVES.items()
    }
    penalised = replace(base, orthogonality=0.1)
    made["beta-VAE + orthogonality"] = Training([penalised], dataset)
    made["as trained"], made["by autograd"] = (Training([base], dataset) for _ in range(2))
    made["by autograd"].written_out = None
    return made


def images(config):
    """Random images of the data set's shape: what they show costs nothing."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, 64, 64) if config.data.name == "sprites" else (3, 64, 64)
    return Dataset("images", ArrayStore(torch.rand(600, *shape, generator=generator)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    console = Console(width=110)
    for data, steps in STEPS.items():
        if options.only not in data:
            continue
        made, times = trainings(data), {}
        for _ in range(options.rounds + 1):  # the first is to warm up
            for name, training in made.items():
                started = time.perf_counter()
                training.advance(training.step + steps)
                times.setdefault(name, []).append(time.perf_counter() - started)
        times = {name: each[1:] for name, each in times.items()}
        table = Table(title=f"{data}: steps of a beta-VAE; load {os.getloadavg()[0]:.1f}")
        for column in ("objective", "by autograd", "spread", "as trained"):
            table.add_column(column, justify="left" if column == "objective" else "right")
        for name in (*OBJECTIVES, "as trained"):
            ratios = {
                base: sorted(a / b for a, b in zip(times[name], times[base], strict=True))
                for base in ("by autograd", "as trained")
            }
            plain = ratios["by autograd"]
            table.add_row(
                name.replace("as trained", "beta-VAE, as trained"),
                f"{statistics.median(plain):.1f}x",
                f"{plain[0]:.1f} to {plain[-1]:.1f}",
                f"{statistics.median(ratios['as trained']):.1f}x",
            )
        console.print(table)


if __name__ == "__main__":
    main()
