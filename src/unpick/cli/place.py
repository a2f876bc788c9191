"""Where a command works: options that several commands share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where runs are made and measured.

    Attributes:
        on: here (one process), processes (of this machine), ray (the cluster of RAY_ADDRESS, or
            one that is started on this machine) or ray://HOST:PORT.
        cpus_per_run: On a cluster, cores of a group of members that train together.
        gpus_per_run: On a cluster, GPUs of such a group, such as 0.25; 0 trains on the CPU.
    """

    on: str = "processes"
    cpus_per_run: float = 1.0
    gpus_per_run: float = 0.0
