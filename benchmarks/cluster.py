"""What Ray costs, and what a hundred nodes would do to a study of many large runs.

`python benchmarks/cluster.py [REPEATS]`. Local workers and a Ray cluster of as many processes on
this machine take turns; ratios are medians over the turns. Run it on an idle machine.
The hundred nodes are simulated, from what was measured here: assumptions are printed.
"""

import heapq
import json
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import torch

from unpick.data import Perturbed
from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthLin
from unpick.devices import threads
from unpick.models import build
from unpick.objectives import BetaTCVAE
from unpick.papers import STUDIES
from unpick.perturb.contest import Contest
from unpick.perturb.make_twin import refit_batches
from unpick.runs import Runner, disk, executor, make
from unpick.runs.checkpoint import save_checkpoint
from unpick.runs.cluster_nodes import connect
from unpick.runs.parcels import Changes, apply
from unpick.training import Training, preset
from unpick.training.presets import with_objective
from unpick.training.progress import work

JOBS = 2
MEGABYTE = 2**20
NETWORK = (
    125e6  # bytes a second, of 1 Gbit/s: assumed, since on one machine nothing crosses a line
)


def alone(count, steps):
    """Runs that train one by one."""
    config = with_objective(preset("synth-lin"), BetaTCVAE(beta=2.0))
    config = replace(config, data=SynthLin(points=2000), steps=steps)
    return [replace(config, seed=s) for s in range(count)]


def seconds(configs, on):
    """Of making runs in a new folder."""
    with tempfile.TemporaryDirectory() as root:
        began = time.perf_counter()
        make(configs, Runner(Path(root), jobs=JOBS, progress=False, on=on))
        return time.perf_counter() - began


def overhead(name, count, steps, repeats):
    """Print the time with Ray over that with local workers, in turns."""
    pairs = []
    for _ in range(repeats):  # a busy machine slows both
        pairs.append(
            (seconds(alone(count, steps), "processes"), seconds(alone(count, steps), "ray"))
        )
    ratios = sorted(ray / local for local, ray in pairs)
    local, ray = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{name}: local workers {local:.1f} s, Ray {ray:.1f} s; "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )


def nothing(configs, runner, show):
    """A task that does nothing."""


def memory():
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def queue(count):
    """Print tasks a second, and how much memory tasks that wait take."""
    with tempfile.TemporaryDirectory() as root:
        runner = Runner(Path(root), jobs=JOBS, progress=False, on="ray")
        runner.run(nothing, [((c,), runner) for c in alone(JOBS, 1)], print)
        before, seen = memory(), []
        calls = [((config,), runner) for config in alone(count, 2)]
        runner.run(
            nothing, calls, print, lambda counts: seen.append((time.perf_counter(), counts.done))
        )
        (t0, d0), (t1, d1) = next(s for s in seen if s[1]), seen[-1]
        rate = (d1 - d0) / (t1 - t0)
        print(
            f"{count} empty tasks: {rate:.0f} a second; the driver's memory grew by "
            f"{(memory() - before) / MEGABYTE:.0f} MB to {memory() / MEGABYTE:.0f} MB",
            flush=True,
        )
    return rate


def checkpoint_cost(config):
    """Bytes of a run's checkpoint, and seconds in which the driver writes it."""
    training = Training([config], config.data.load())
    training.advance(1)
    with tempfile.TemporaryDirectory() as name:
        path = disk.claim(config, Path(name))
        save_checkpoint(path, 1, training.state(0))
        (file,) = path.glob("checkpoint-*")
        content, times = file.read_bytes(), []
        for _ in range(5):
            began = time.perf_counter()
            apply(Changes({f"{path.name}/{file.name}": content}), Path(name))
            times.append(time.perf_counter() - began)
    return len(content), statistics.median(times)


def transfer_seconds(size):
    """Seconds in which the driver fetches so many bytes from a process of the cluster."""
    ray = connect("ray")

    @ray.remote
    def send():
        return {"file": os.urandom(size)}

    times = []
    for _ in range(5):
        ref = send.remote()
        ray.wait([ref], fetch_local=False)
        began = time.perf_counter()
        ray.get(ref)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def schedule(times, places, rate, start=0.0):
    """When so many places have done all trainings, the longest first, each handed out in turn."""
    free, end = [start] * places, start
    for k, each in enumerate(sorted(times, reverse=True)):
        begin = max(heapq.heappop(free), start + k / rate)
        heapq.heappush(free, begin + each)
        end = max(end, begin + each)
    return end


def light(data):
    """A data set whose images have the same shape, but which is rendered in seconds."""
    data = getattr(data, "original", data)
    return replace(data, rows=1) if isinstance(data, Sprites) else data


def trainings(name):
    """Core seconds of each run of a study at paper scale.

    Its measured cost, shared out by the multiplications of a run.
    """
    study = STUDIES[name]
    costs = json.loads((files("unpick.papers") / "costs.json").read_text())["seconds"]
    cells = dict.fromkeys(c for cell in study.cells("paper") for c in cell.configs())
    restarts = [c for twin in study.twins("paper") for c in twin.candidates()]
    sizes, weights = {}, {}
    for config in (*cells, *restarts):
        data = light(config.data)
        sizes[data] = sizes.get(data) or data.load().shape
        weights[config] = work(
            [config], executor.n_weights(config, sizes[data], Runner(on="here"))
        )
    scale = 2 * costs[name]["paper"] / sum(weights[config] for config in cells)  # of two cores
    return {config: scale * each for config, each in weights.items()}


def contest_seconds(config):
    """CPU time of training the change of a twin on one core; other work does not count in it."""
    config = replace(config, base=replace(config.base, data=light(config.original)))
    dataset = config.original.load()
    model = build(config.base.model, dataset.shape, range(2 * config.ensemble))
    with threads(1):
        contest = Contest(config, dataset, model)
        contest.advance(1)
        began = time.process_time()
        contest.advance(2)
        each = time.process_time() - began
    return each * (config.steps + 2 * refit_batches(config) / (config.decoder_batches + 1))


def simulate(times, contests, places, rate, size, cost):
    """Print how long a study would take, and how busy the driver is.

    What needs no twin is trained first, then the driver makes one twin after the other.

    Args:
        times: Core seconds of each run.
        contests: Seconds of the change of each twin, on one core of the driver.
        places: Cores, each like those on which the cost was measured.
        rate: Tasks that the driver hands out in a second.
        size: Bytes of a checkpoint.
        cost: Seconds that the driver takes for one.
    """
    late = [t for config, t in times.items() if isinstance(config.data, Perturbed)]
    first = [t for config, t in times.items() if not isinstance(config.data, Perturbed)]
    ready = schedule(first, places, rate)
    end = schedule(late, places, rate, ready + sum(contests))
    running, busy = min(places, max(len(first), len(late))), sum(times.values()) / places / end
    print(
        f"{places} cores: {end / 86_400:.2f} days ({ready / 3600:.1f} h before the twins, "
        f"{sum(contests) / 3600:.1f} h for them); cores busy {busy:.0%}; "
        f"checkpoints of {running} runs every 20 s are {running * size / 20 / MEGABYTE:.0f} MB/s, "
        f"fetched every {max(20.0, 2 * running * cost):.0f} s"
    )


def hundred_nodes(rate):
    """Print what nodes of 32 cores would do to thesis-4 at paper scale."""
    large = STUDIES["thesis-4"].cells("paper")[0].config
    size, write = checkpoint_cost(replace(large, data=light(large.data)))
    fetch = transfer_seconds(size)
    print(
        f"a checkpoint: {size / MEGABYTE:.1f} MB, {fetch:.3f} s to fetch, {write:.3f} s to write"
    )
    times = trainings("thesis-4")
    contests = [contest_seconds(twin) for twin in STUDIES["thesis-4"].twins("paper")]
    print(
        f"thesis-4: {len(times)} runs, {sum(times.values()) / 86_400:.0f} days of one core, the "
        f"longest {max(times.values()) / 3600:.1f} h"
    )
    for nodes in (1, 10, 20, 100):
        simulate(times, contests, 32 * nodes, rate, size, fetch + write + size / NETWORK)


def main():
    torch.set_num_threads(1)
    repeats = int(sys.argv[1]) if sys.argv[1:] else 3
    print("load:", *(f"{each:.1f}" for each in os.getloadavg()))
    began = time.perf_counter()
    connect("ray")
    print(f"a cluster on this machine starts in {time.perf_counter() - began:.1f} s", flush=True)
    overhead("4 long runs (6000 steps)", 4, 6000, repeats)
    overhead("200 tiny runs (20 steps)", 200, 20, repeats)
    hundred_nodes(queue(2000))
    print("load:", *(f"{each:.1f}" for each in os.getloadavg()))


if __name__ == "__main__":
    main()
