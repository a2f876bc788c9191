"""Runs made on a Ray cluster: the same as here, whatever dies on the way."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cluster_calls import add_node, by_seed, own_cluster
from unpick.data import Perturbed
from unpick.data.shapes3d import Shapes3D
from unpick.data.synthetic import SynthLin
from unpick.data.twins import save_twin
from unpick.models import MLP
from unpick.objectives import BetaTCVAE, BetaVAE
from unpick.probe import is_measured, measure_run
from unpick.probe.measures import orthogonality
from unpick.runs import Runner, cluster_nodes, make, read
from unpick.runs.lock import try_lock
from unpick.study.running import measure_apart
from unpick.training import RunConfig, preset
from unpick.training.presets import with_network, with_objective

SHORT = replace(preset("synth-lin"), data=SynthLin(points=2000), steps=300)
LONG = replace(with_objective(SHORT, BetaTCVAE(beta=2.0)), steps=4000)  # seconds
# Ray leaves open files of its own processes to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    import ray

    with own_cluster(tmp_path_factory.mktemp("nodes")) as found:
        try:
            ray.init(found.address, log_to_driver=False, logging_level="ERROR")
            yield found
        finally:
            ray.shutdown()
    gc.collect()


def on_cluster(root, **options):
    return Runner(root, progress=False, on="ray", **options)


def contents(root):
    """All files of runs but those that tell where and how fast they were made."""
    files = [file for file in root.glob("*/*") if file.is_file()]
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in files
        if file.name not in ("lock", "environment.json", "results.json")
    }


@pytest.mark.slow
def test_two_nodes_make_the_runs_that_one_process_makes(cluster, tmp_path):
    alone = with_objective(SHORT, BetaTCVAE(beta=2.0))  # by autograd, so each by itself
    configs = [replace(each, seed=s) for each in (SHORT, alone) for s in range(3)]
    expected = make(configs, Runner(tmp_path / "here", on="here", progress=False))
    runs = make(configs, on_cluster(tmp_path / "there"))
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    for run, wanted in zip(runs, expected, strict=True):
        assert run.path.name == wanted.path.name
        assert run.results["weights_sha256"] == wanted.results["weights_sha256"]
        assert run.results["terms"] == wanted.results["terms"]
    seen = []
    calls = [((c,), on_cluster(tmp_path / "there"), (orthogonality,), "measured") for c in configs]
    calls[0][1].run(measure_apart, calls, seen.append)
    for run, wanted in zip(runs, expected, strict=True):
        assert is_measured(run, [orthogonality])  # and so cached here
        assert measure_run(run, [orthogonality]) == measure_run(wanted, [orthogonality])
    assert {*seen} == {"measured"}


@pytest.mark.slow
def test_a_call_that_fails_is_reported_and_the_others_go_on(cluster, tmp_path):
    tries, counts, told = tmp_path / "tries", [], []
    tries.mkdir()
    runner = on_cluster(tmp_path / "runs")
    calls = [((replace(SHORT, seed=s),), runner, tries) for s in range(5)]
    with pytest.raises(ChildProcessError, match="3 of 5 tasks failed") as caught:
        runner.run(by_seed, calls, told.append, counts.append)
    for reason in ("seed 0 is bad", "MemoryError: too large", "seed 2"):
        assert reason in str(caught.value)
    found = {file.name: len(file.read_text()) for file in tries.iterdir()}
    assert found == {"0": 1, "1": 3, "2": 3, "3": 1, "4": 1}
    assert (counts[-1].done, counts[-1].failed) == (2, 3)
    assert {"seed 3", "seed 4"} <= {*told}


@pytest.mark.slow
def test_a_run_goes_on_from_its_checkpoint_on_a_node_that_is_added(cluster, tmp_path):
    """The run takes two cores, which the nodes of the fixture do not have."""
    expected = make([LONG], Runner(tmp_path / "here", on="here", progress=False))
    root, runs, first = tmp_path / "there", [], []
    lost = add_node(cluster, 9, num_cpus=2)
    runner = on_cluster(root, checkpoint_seconds=0.2, cpus_per_run=2.0)
    # Nodes are started in the main thread only.
    thread = threading.Thread(target=lambda: runs.extend(make([LONG], runner)), daemon=True)
    thread.start()
    deadline = time.monotonic() + 120
    while not first:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        first = [*root.glob("*/checkpoint-*")]
    cluster.remove_node(lost, allow_graceful=False)
    assert not [path for path in root.iterdir() if read(path)]
    added = add_node(cluster, 10, num_cpus=2)
    thread.join(120)
    assert contents(root) == contents(tmp_path / "here")
    assert runs[0].results["weights_sha256"] == expected[0].results["weights_sha256"]
    cluster.remove_node(added, allow_graceful=False)


@pytest.mark.slow
def test_a_twin_is_sent_to_nodes_that_do_not_have_it(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "data"))  # not that of the nodes
    twin = Perturbed(Shapes3D(8), "abc")
    table = (torch.arange(9) / 100 - 0.04)[:, None, None, None].expand(9, 3, 8, 8)
    save_twin(twin, 0.05, table, torch.arange(480_000) % 9)
    config = with_network(
        RunConfig(twin, objective=BetaVAE(), steps=3), MLP(encoder=(8,), decoder=(8,))
    )
    expected = make([config], Runner(tmp_path / "here", on="here", progress=False))
    runs = make([config], on_cluster(tmp_path / "there"))
    assert runs[0].results["weights_sha256"] == expected[0].results["weights_sha256"]
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.slow
def test_ctrl_c_ends_the_tasks_and_saves(cluster, tmp_path):
    options = ("--steps", "1000000", "--checkpoint-seconds", "1e6", "--points", "2000")
    command = [sys.executable, "-m", "unpick", "train", "synth-lin", "--seeds", "2", *options]
    process = subprocess.Popen(
        [*command, "--on", "ray", "--runs", str(tmp_path)],
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 120
        while len([*tmp_path.glob("*/environment.json")]) < 2 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, err
    assert err.rstrip().endswith("run the same command again to go on")
    assert len([*tmp_path.glob("*/checkpoint-*")]) == 2
    assert not [run for run in tmp_path.iterdir() if read(run)]
    for run in tmp_path.iterdir():
        with try_lock(run) as free:
            assert free


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "spark"}, "on must be processes, here, ray or ray://HOST:PORT, got 'spark'"),
        ({"on": "ray", "device": "cuda"}, "device must be auto on a cluster"),
        ({"gpus_per_run": 0.5}, "for clusters"),
        ({"on": "ray", "gpus_per_run": 2.0}, r"gpus_per_run must lie in \[0, 1\]"),
        ({"on": "ray", "cpus_per_run": 0.0}, "cpus_per_run must be positive"),
        ({"on": "ray", "precision": "tf32"}, "tf32"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Runner(Path("nowhere"), **options)


def test_without_ray_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cluster_nodes, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="extra `ray`") as caught:
        Runner(on="ray")
    assert "\n" not in str(caught.value)


def test_the_kind_of_device_follows_from_the_gpus_of_a_run():
    assert Runner(on="ray").trains_on.type == "cpu"
    assert Runner(on="ray", gpus_per_run=0.25, precision="tf32").trains_on.type == "cuda"
