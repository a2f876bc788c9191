"""Kill workers, nodes and drivers of a Ray cluster at random moments of a small study.

A node is a raylet and its workers, a driver a process that makes all runs of the study. Whatever
is killed is replaced, as people and schedulers do. In the end every folder must be that of a study
that nobody disturbed. Real processes, on loopback.
"""

import contextlib
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from cluster_calls import add_node, own_cluster
from unpick.data.synthetic import SynthLin
from unpick.objectives import BetaTCVAE
from unpick.runs import Runner, executor, folder, make, read
from unpick.runs.checkpoint import checkpoints
from unpick.training import preset
from unpick.training.presets import with_objective

KINDS = {"worker": 0.5, "node": 0.25, "driver": 0.25}
PAUSE = 4.0  # seconds between kills, on average
SECONDS = 0.5  # between checkpoints
HANGS = 300.0  # seconds without any training, after which the study counts as hung


def study(steps):
    """Four runs that may share an ensemble, and two that train alone."""
    base = replace(preset("synth-lin"), data=SynthLin(points=2000), steps=steps)
    alone = replace(with_objective(base, BetaTCVAE(beta=2.0)), steps=steps // 5)
    return [replace(base, seed=s) for s in range(4)] + [replace(alone, seed=s) for s in range(2)]


def drive(root, steps):
    """The driver: makes all runs on the cluster of RAY_ADDRESS."""
    executor._work = noted
    make(study(steps), Runner(root, progress=False, on="ray", checkpoint_seconds=SECONDS))


def noted(configs, runner, show):
    """Train a group, and note in a file where it starts and how far it gets."""
    import ray

    from unpick.runs.executor import _work

    node = ray.get_runtime_context().get_node_id()
    start = max(checkpoints(folder(configs[0], runner.root)), default=0)
    with (Path(os.environ["NOTES"]) / configs[0].identity()).open("a") as file:

        def note(step):
            file.write(f"{os.getpid()} {node} {time.monotonic()} {step}\n")
            file.flush()

        def show_and_note(update):
            note(update.step)
            show(update)

        note(start)
        _work(configs, runner, show_and_note)


def notes(place):
    """Of each training: process, node, time and step, in order."""
    found = {}
    for file in place.iterdir():
        lines = [line.split() for line in file.read_text().splitlines()]
        found[file.name] = [(int(p), n, float(t), int(s)) for p, n, t, s in lines]
    return found


def contents(root):
    """All files of runs but those that tell where and how fast they were made."""
    apart = ("lock", "environment.json", "results.json")
    files = [file for file in root.glob("*/*") if file.name not in apart]
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def children(parent):
    """Processes of a raylet that train."""
    found = []
    for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{each}/cmdline").read_bytes().startswith(b"ray::Worker"):
                found.append(int(each))
    return found


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


class Study:
    """A study on a cluster, whose driver is started again whenever it is gone."""

    def __init__(self, cluster, place, steps):
        self.cluster, self.steps, self.number = cluster, steps, 5
        self.root, self.notes = place / "runs", place / "notes"
        self.root.mkdir()
        self.driver, self.drivers = None, 0

    def ensure_driver(self):
        """Whether the study is still under way."""
        if self.driver is None or self.driver.poll() not in (None, 0):
            if self.driver is not None and self.driver.returncode > 0:
                raise AssertionError(self.driver.stderr.read())
            command = [sys.executable, __file__, "drive", str(self.root), str(self.steps)]
            env = {**os.environ, "RAY_ADDRESS": self.cluster.address}
            self.driver = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
            self.drivers += 1
        return self.driver.poll() is None

    def kill(self, kind, rng):
        """Kill -9 one of this kind; the processes that trained, or none if there is nothing."""
        nodes = [*self.cluster.worker_nodes]
        if kind == "worker":
            trains = [pid for node in nodes for pid in children(raylet(node))]
            if not trains:
                return None
            hit = [rng.choice(trains)]
            os.kill(hit[0], signal.SIGKILL)
        elif kind == "node":
            node = rng.choice(nodes)
            hit = children(raylet(node))
            os.kill(raylet(node), signal.SIGKILL)
            self.cluster.remove_node(node, allow_graceful=False)
            add_node(self.cluster, self.number)
            self.number += 1
        else:
            hit = [pid for node in nodes for pid in children(raylet(node))]
            self.driver.kill()
            self.driver.wait()
            for path in self.root.iterdir():
                read(path)  # raises if it is damaged
        return hit


def torture(kills, seed=0, steps=60_000, log=print):
    """So many kills, in as many rounds of the study as it takes. Any failure raises."""
    rng, counts, losses, found = random.Random(seed), Counter(), {k: [] for k in KINDS}, []
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["NOTES"] = str(place / "notes")  # before the nodes start, which inherit it
        expected = place / "expected"
        make(study(steps), Runner(expected, on="here", progress=False))
        make(study(steps), Runner(place / "workers", jobs=2, progress=False))
        assert contents(place / "workers") == contents(expected)
        cluster = stack.enter_context(own_cluster(place / "data", nodes=3, num_cpus=0))
        while len(found) < kills:
            with tempfile.TemporaryDirectory(dir=place) as name:
                shown = place / "notes"
                shown.mkdir()
                under_way, hits = Study(cluster, Path(name), steps), []
                under_way.notes = shown
                try:
                    disturb(under_way, rng, kills - len(found), hits, log)
                finally:
                    if under_way.driver.poll() is None:
                        under_way.driver.kill()
                found += hits
                counts["rounds"] += 1
                counts["drivers"] += under_way.drivers
                assert contents(under_way.root) == contents(expected)
                check_notes(notes(shown), hits, counts, losses)
                draw(notes(shown), Path(f"cluster-kills-{counts['rounds']}.png"))
                shown.rename(Path(name) / "notes")
                log(f"round {counts['rounds']}: {len(found)} kills, all as undisturbed")
    counts.update(Counter(kind for kind, _ in found))
    return counts, losses


def disturb(under_way, rng, kills, hits, log):
    """Kill until the study is done, or so many times."""
    last, due = time.monotonic(), 0.0
    while under_way.ensure_driver():
        time.sleep(0.05)
        now, seen = time.monotonic(), notes(under_way.notes)
        ran = max([each[-1][2] for each in seen.values() if each], default=0.0)
        assert now - max(ran, last) < HANGS, "nothing is trained any more"
        if len(hits) >= kills or (ran < last and rng.random() > 0.002):
            continue  # nothing was trained since the last kill; now and then that does not matter
        due = due or now + rng.uniform(0, 2 * PAUSE)
        if now < due:
            continue
        kind = rng.choices([*KINDS], [*KINDS.values()])[0]
        hit = under_way.kill(kind, rng)
        if hit is not None:
            hits.append((kind, hit))
            log(f"{len(hits)}: {kind}, {len(hit)} processes that trained, {now - last:.1f} s")
        last, due = time.monotonic(), 0.0


def check_notes(noted, hits, counts, losses):
    """Count trainings to the end and nodes; collect the steps that each kill cost."""
    cause = {pid: kind for kind, pids in hits for pid in pids}
    for lines in noted.values():
        counts["trainings"] += 1
        total = max(step for *_, step in lines)
        ends = {pid for pid, _, _, step in lines if step == total}
        counts["trained to the end again"] += len(ends) - 1
        for (pid, _, _, step), (other, _, _, start) in itertools.pairwise(lines):
            if pid != other and pid in cause:
                losses[cause[pid]].append((step - start) / total)
    counts["nodes that trained"] += len({node for each in noted.values() for _, node, *_ in each})


def draw(noted, file):
    """The steps of each training over time, a line a process, a colour a node."""
    from matplotlib import pyplot as plt

    noted = {name: lines for name, lines in noted.items() if lines}
    began = min(lines[0][2] for lines in noted.values())
    nodes = list(dict.fromkeys(node for lines in noted.values() for _, node, *_ in lines))
    figure, rows = plt.subplots(
        len(noted), 1, sharex=True, squeeze=False, figsize=(8, 1.3 * len(noted) + 0.6)
    )
    for row, (name, lines) in zip(rows[:, 0], sorted(noted.items()), strict=True):
        for _, group in itertools.groupby(lines, key=lambda line: line[0]):
            points = [(t - began, step, node) for _, node, t, step in group]
            times, steps, (node, *_) = zip(*points, strict=True)
            row.plot(times, steps, color=f"C{nodes.index(node) % 10}")
            row.plot(times[:1], steps[:1], "|", color="0.4", markersize=8)
        row.set_ylabel("step")
        row.set_title(name, fontsize=8, loc="left")
    rows[-1, 0].set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(file, dpi=110)


if __name__ == "__main__" and sys.argv[1:2] == ["drive"]:
    drive(Path(sys.argv[2]), int(sys.argv[3]))
elif __name__ == "__main__":
    began = time.monotonic()
    tally, lost = torture(*map(int, sys.argv[1:] or ["50"]))
    print(json.dumps(tally))
    for kind, shares in lost.items():
        if shares:
            mean, most = statistics.mean(shares), max(shares)
            print(
                f"{kind}: {len(shares)} trainings cut, {mean:.1%} of their steps lost, {most:.1%}"
            )
    print(f"{time.monotonic() - began:.0f} s")
