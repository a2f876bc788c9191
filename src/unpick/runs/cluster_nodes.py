"""A Ray cluster: whether Ray is there, how to connect, and how many workers there is room for."""

import contextlib
import logging
import math
import os
import signal
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unpick.runs.runner import Runner

LOCAL_STORE = 2**28  # bytes of shared memory of a cluster that is started here


def check_ray() -> None:
    """Raise if Ray is missing."""
    if find_spec("ray") is None:
        raise ValueError(
            "on ray needs the package ray, which is not installed: pip install 'ray[client]' (it "
            "is unpick's extra `ray`)"
        )


def connect(where: str) -> Any:  # noqa: ANN401
    """The module ray, connected to a cluster: the one at hand, or else a new one on this machine.

    Args:
        where: `ray://HOST:PORT`, or `ray` for the address in RAY_ADDRESS.
    """
    check_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if ray.is_initialized():
        return ray
    address = where if where != "ray" else os.environ.get("RAY_ADDRESS", "local")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": LOCAL_STORE}
        options["_node_ip_address"] = "127.0.0.1"
    before = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings(action="ignore"):  # the error says it
            ray.init(address, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise ConnectionError(f"no Ray cluster answers at {address} ({why})") from None
    finally:
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, before)  # Ray's own would end the process at once
    _silence(ray)
    return ray


def _silence(ray: Any) -> None:  # noqa: ANN401
    """Keep Ray from printing deaths of workers to standard output, where results are printed.

    The driver reports them itself. Ray has no setting for it.
    """
    if hasattr(ray._private.worker, "print_to_stdstream"):
        ray._private.worker.print_to_stdstream = lambda *arguments, **options: None


def room(runner: "Runner") -> int:
    """How many workers the cluster has room for, busy or not; at most `runner.jobs`."""
    nodes = [node["Resources"] for node in connect(runner.on).nodes() if node["Alive"]]
    need = {"CPU": runner.cpus_per_run, "GPU": runner.gpus_per_run}
    places = sum(
        min(math.floor(node.get(name, 0) / n + 1e-9) for name, n in need.items() if n)
        for node in nodes
    )
    return min(places, runner.jobs or places)


def one_line(error: Exception) -> str:
    """Why a worker died, in one line: the last one of a traceback, else all."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    return (lines[-1] if "Traceback" in str(error) else " ".join(lines))[:300]
