"""What a cluster is asked to do, and how its run folders are kept from other processes."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unpick.runs import disk
from unpick.runs.lock import try_lock
from unpick.training.config import RunConfig
from unpick.training.progress import member_label


@dataclass(eq=False)
class Task:
    """One call, and what became of it so far.

    Attributes:
        configs: The runs that it is about.
        more: Further arguments.
        tries: How often it failed since its last checkpoint.
        locks: Those that are held for it.
    """

    configs: tuple[RunConfig, ...]
    more: tuple[Any, ...]
    tries: int = 0
    locks: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def label(self) -> str:
        """For people."""
        others = f" and {len(self.configs) - 1} more" if len(self.configs) > 1 else ""
        return f"{member_label(self.configs[0])} ({self.configs[0].identity()}){others}"

    def folders(self, root: Path) -> list[Path]:
        """The folders of its runs."""
        return [disk.folder(config, root) for config in self.configs]

    def lock(self, root: Path) -> bool:
        """Make and lock the folders of runs that are not finished; False if one is taken."""
        for config in sorted(self.configs, key=lambda config: disk.folder(config, root)):
            path = disk.folder(config, root)
            if not disk.is_finished(path):
                path.mkdir(parents=True, exist_ok=True)
                if not self.locks.enter_context(try_lock(path)):
                    self.locks.close()
                    return False
                disk.claim(config, root)
        return True
