"""Calls that the processes of a cluster make in tests, and the cluster."""

import contextlib
import os
import shutil
import signal
from pathlib import Path
from unittest import mock

STORE = 100 * 2**20  # bytes of a node's object store


@contextlib.contextmanager
def own_cluster(data, nodes=2, **head):
    """A cluster of nodes with one core each on loopback; it ends with the block, whatever happens.

    The first address is 127.0.0.2, since Ray takes 127.0.0.1 for the machine's outer one.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    tests = str(Path(__file__).parent)
    paths = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    cluster = Cluster()
    try:
        with mock.patch.dict(os.environ, UNPICK_DATA=str(data), PYTHONPATH=paths):  # of the nodes
            add_node(cluster, 2, include_dashboard=False, **head)
            for k in range(1, nodes):
                add_node(cluster, 2 + k)
        yield cluster
    finally:
        session = cluster.head_node.get_session_dir_path() if cluster.head_node else ""
        cluster.shutdown()
        shutil.rmtree(session, ignore_errors=True)


def add_node(cluster, number, **options):
    options = {"num_cpus": 1, "object_store_memory": STORE, **options}
    return cluster.add_node(node_ip_address=f"127.0.0.{number}", **options)


def by_seed(configs, runner, tries, show):
    """Fail in the way of this seed; count how often it was tried."""
    seed = configs[0].seed
    with (tries / str(seed)).open("a") as file:
        file.write("x")
    show(f"seed {seed}")
    if seed == 0:
        raise ValueError("seed 0 is bad")
    if seed == 1:
        raise MemoryError("too large")
    if seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
