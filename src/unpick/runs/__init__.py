"""What is on disk: run folders, and the runs that are made when they are asked for."""

from unpick.runs.disk import DamagedRun, Run, folder, load_together, read
from unpick.runs.executor import make
from unpick.runs.runner import Runner
from unpick.runs.workers import Workers, keep_memory

__all__ = [
    "DamagedRun",
    "Run",
    "Runner",
    "Workers",
    "folder",
    "keep_memory",
    "load_together",
    "make",
    "read",
]
