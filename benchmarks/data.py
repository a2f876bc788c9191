"""How fast batches are served against how fast training consumes them, measured in one run.

    make bench

A training step of the paper's network for each rendered data set (one process, all threads, batch
128) against reading batches of 128 at random places. The sprites are the full grid of 737 280.
"""

import statistics
import time
from dataclasses import replace

import torch
from rich.console import Console
from rich.table import Table

from unpick.runs import keep_freed_memory
from unpick.training import Training, preset

BATCH, READS, STEPS = 128, 200, 6


def seconds(work, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main():
    keep_freed_memory()
    table = Table(title=f"batches of {BATCH}")
    for column in ("data", "network", "images", "load", "read", "step", "step / read"):
        table.add_column(column, justify="left" if column in ("data", "network") else "right")
    for name in ("sprites", "shapes3d", "heads"):
        config = replace(preset(name), batch=BATCH)
        started = time.perf_counter()
        dataset = config.data.load()
        loading = time.perf_counter() - started
        generator = torch.Generator().manual_seed(0)
        reading = seconds(
            lambda d=dataset, g=generator: d.observe(torch.randint(len(d), (BATCH,), generator=g)),
            READS,
        )
        training = Training([config], dataset)
        training.advance(1)
        step = seconds(lambda t=training: t.advance(t.step + 1), STEPS)
        table.add_row(
            name,
            type(config.model.network).__name__,
            str(len(dataset)),
            f"{loading:.1f} s",
            f"{1e3 * reading:.2f} ms",
            f"{1e3 * step:.1f} ms",
            f"{step / reading:.0f}x",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
