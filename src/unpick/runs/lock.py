"""Locks of run folders, so that several processes share one folder of runs."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from unpick.training.progress import ProgressUpdate

LOCK = "lock"  # in the folder of a run


@contextlib.contextmanager
def locked(paths: Sequence[Path], show: Callable[[ProgressUpdate], None]) -> Iterator[None]:
    """Hold the locks of run folders inside the block; folders that are missing are made.

    The system releases a lock if its process dies. Locks are always taken in the same order, so
    that two processes cannot deadlock. A waiting process keeps reporting, and so notices a stop.
    """
    with contextlib.ExitStack() as stack:
        for path in sorted(paths):
            path.mkdir(parents=True, exist_ok=True)
            waiting = ProgressUpdate(
                "lock", "waiting for another process", 0, 1, 0.0, path.name, {}
            )
            waited = False
            while not stack.enter_context(try_lock(path, 0.2 if waited else 0.0)):
                waited = True
                show(waiting)
            if waited:
                show(waiting._replace(step=1))
        yield


@contextlib.contextmanager
def try_lock(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a folder inside the block, if it is free within so many seconds.

    The file is never truncated, and a link is not followed. A file system without locks raises:
    two processes would train the same run.
    """
    lock = FileLock(path / LOCK, fallback_to_soft=False)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        yield False
        return
    except (OSError, NotImplementedError) as error:
        raise OSError(
            f"{path / LOCK} cannot be locked ({error}), so runs cannot be shared there; choose a "
            "folder of runs on another file system"
        ) from None
    try:
        yield True
    finally:
        lock.release()
