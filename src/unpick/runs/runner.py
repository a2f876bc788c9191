"""How runs are made: one value that commands and studies hand on."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from unpick.devices import Precision, check_precision, find_device
from unpick.models import NetworkFactory
from unpick.names import check_choices
from unpick.runs.cluster import Cluster
from unpick.runs.cluster_nodes import check_ray, connect, room
from unpick.runs.event_log import Log, check_installed
from unpick.runs.stop import checked, stoppable
from unpick.runs.workers import Workers
from unpick.source_files import import_function
from unpick.training.progress import Counts


@dataclass(frozen=True)
class Runner:
    """Where runs lie and how missing ones are made.

    Attributes:
        root: The folder of run folders.
        jobs: Worker processes; 0 is one a core, or one on a GPU; on a cluster, all there is room
            for.
        progress: Whether to show progress bars.
        on: `processes` (worker processes), `here` (all in this process), `ray` (the Ray cluster
            of RAY_ADDRESS, or one that is started here) or `ray://HOST:PORT`.
        device: Where tensors live: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`.
            On a cluster it is `auto`, and `gpus_per_run` decides.
        checkpoint_seconds: Time between checkpoints.
        precision: Of matrix products: `fp32`, `tf32` (CUDA only) or `bf16`.
        network: FILE.py:function that makes networks of your own; that file is run.
        log: Whether to write event files for TensorBoard into the run folders, too.
        cpus_per_run: On a cluster: cores of a group of members that train together.
        gpus_per_run: On a cluster: GPUs of such a group; a part of one is shared with others.

    Example:
        >>> Runner(Path("runs"), jobs=3).workers
        3
    """

    root: Path = Path("runs")
    jobs: int = 0
    progress: bool = True
    on: str = "processes"
    device: str = "auto"
    checkpoint_seconds: float = 20.0
    precision: Precision = "fp32"
    network: str = ""
    log: Log = "none"
    cpus_per_run: float = 1.0
    gpus_per_run: float = 0.0

    def __post_init__(self) -> None:
        check_choices(self)
        check_place(self.on, self.device, self.cpus_per_run, self.gpus_per_run)
        check_precision(self.precision, self.trains_on)
        check_installed(self.log)
        if self.jobs < 0:
            raise ValueError(f"jobs must be at least 0, got {self.jobs}")
        if not self.checkpoint_seconds >= 0:
            raise ValueError(
                f"checkpoint_seconds must be at least 0, got {self.checkpoint_seconds}"
            )

    @property
    def on_cluster(self) -> bool:
        """Whether runs are made on a Ray cluster."""
        return self.on.startswith("ray")

    @property
    def trains_on(self) -> torch.device:
        """The kind of device on which runs are made; its number is another machine's affair."""
        if self.on_cluster:
            return torch.device("cuda" if self.gpus_per_run else "cpu")
        return find_device(self.device)

    @property
    def workers(self) -> int:
        """How many processes work at a time: by default one a core, or one on a GPU."""
        if self.on == "here":
            return 1
        if self.on_cluster:
            return max(1, room(self))
        return self.jobs or (os.cpu_count() if self.trains_on.type == "cpu" else 1) or 1

    @property
    def factory(self) -> NetworkFactory | None:
        """The function that `network` names; its file is run once in a process."""
        return _import_once(self.network) if self.network else None

    def run(
        self,
        function: Callable[..., None],
        arguments: Sequence[tuple[Any, ...]],
        on_progress: Callable[[Any], Any],
        on_counts: Callable[[Counts], Any] = lambda counts: None,
    ) -> None:
        """Call a function with each of the arguments, and last a function to report to.

        Args:
            function: Importable by name, since worker processes call it.
            arguments: One tuple a call: configurations of one data set, whose run folders the call
                is about; a Runner that says where these folders lie; and anything else. On a
                cluster a call gets copies of the folders, and a Runner that says where they are.
            on_progress: Called here with what the calls report. Ctrl-C and SIGTERM reach a call as
                a KeyboardInterrupt when it reports.
            on_counts: Called here with where all calls on a cluster stand.
        """
        if self.on_cluster:
            connect(self.on)  # outside of the block, since it starts processes
        processes = min(self.workers, len(arguments))
        with stoppable() as stop:
            if self.on_cluster:
                Cluster(self, function, on_progress, on_counts, stop).run(arguments)
                return
            if processes > 1:
                with Workers(processes, stop) as workers:
                    workers.run(function, arguments, on_progress)
                return
            for each in arguments:
                function(*each, checked(on_progress, stop))


def check_place(where: str, device: str, cpus: float, gpus: float) -> None:
    """Raise unless there is such a place to work, and the device fits it."""
    on_cluster = where == "ray" or where.startswith("ray://")
    if not on_cluster and where not in ("processes", "here"):
        raise ValueError(f"on must be processes, here, ray or ray://HOST:PORT, got {where!r}")
    if not 0 < cpus < math.inf:
        raise ValueError(f"cpus_per_run must be positive and finite, got {cpus}")
    if not 0 <= gpus <= 1:
        raise ValueError(f"gpus_per_run must lie in [0, 1], since a run has one GPU, got {gpus}")
    if not on_cluster and (cpus, gpus) != (1.0, 0.0):
        raise ValueError("cpus_per_run and gpus_per_run are for clusters: on ray")
    if on_cluster and device != "auto":
        raise ValueError(
            f"device must be auto on a cluster, where gpus_per_run decides, got {device!r}"
        )
    if on_cluster:
        check_ray()


@cache
def _import_once(target: str) -> NetworkFactory:
    """The function; raises if it has another name inside, which others in its file may share."""
    factory, name = import_function(target), target.rpartition(":")[2]
    if (own := getattr(factory, "__name__", name)) != name:
        raise ValueError(
            f"model must be a function defined by its name, since a run is named by it: {target} "
            f"is called {own!r}; write `def {name}(shape, latents, parameters):`"
        )
    return factory
