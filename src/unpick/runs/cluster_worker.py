"""A process of a Ray cluster that trains and measures. The driver (`cluster.py`) asks for all.

Calls run in a thread of their own, on copies of run folders in a scratch folder of this machine.
What changes there is fetched by the driver, which alone writes to the folders that last.
"""

import contextlib
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from filelock import FileLock

import unpick
from unpick.data import DataConfig, DataDamaged, DataMissing
from unpick.data.cache import data_folder
from unpick.devices import threads
from unpick.runs.lock import try_lock
from unpick.runs.parcels import Changes, apply, changes
from unpick.runs.supplies import Supply, receive
from unpick.runs.workers import keep_memory
from unpick.training.config import RunConfig, identity

if TYPE_CHECKING:
    from unpick.runs.runner import Runner

HOPELESS = (ValueError, TypeError, NotImplementedError)  # such a call fails anywhere
FETCH_SECONDS = 600.0  # for one block of a data set's files


State = Literal["running", "done", "stopped", "failed", "missing"]


class Call(NamedTuple):
    """A call of `function(configs, runner, *more, on_progress)`, with all it takes elsewhere."""

    function: Callable[..., None]
    configs: tuple[RunConfig, ...]
    runner: "Runner"
    more: tuple[Any, ...]
    files: dict[str, bytes]  # of the run folders
    network: bytes  # the content of the file with networks of the user's own
    supplies: tuple[Supply, ...]  # the files of the data set, if they had to be sent


class Update(NamedTuple):
    """Where a call stands. `missing` asks for the files of its data set."""

    state: State
    changes: Changes
    report: Any = None
    reason: str = ""
    hopeless: bool = False  # it would fail anywhere


class Worker:
    """The actor. Ray calls its methods in two threads, so that one may wait.

    Args:
        cores: Threads of a network that is too large for one.
        version: Of unpick at the driver; another one may compute other numbers.
    """

    def __init__(self, cores: int, version: str) -> None:
        if version != unpick.__version__:
            raise ValueError(
                f"this node has unpick {unpick.__version__}, the driver has {version}"
            )
        keep_memory()
        self.cores, self.scratch = cores, _own_folder()
        self.condition = threading.Condition()
        self.loaded: dict[DataConfig, DataConfig] = {}  # as it is found here, by what it is
        self.state: State = "done"
        self.report: Any = None
        self.found: Changes | None = None

    def node(self) -> str:
        """The id of the node that this process is on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def begin(self, call: Call, seconds: float) -> Update:
        """Begin a call; its first update. Ray may swap two calls, so this is one."""
        self.state, self.reason, self.hopeless = "running", "", False
        self.report = self.found = None
        self.stopping, self.before = False, dict[str, tuple[int, ...]]()
        threading.Thread(target=self._work, args=(call,), daemon=True).start()
        return self.updates(seconds, files=True)

    def updates(self, seconds: float, files: bool) -> Update:
        """What is new: at once if the call is over, else after so many seconds.

        Args:
            seconds: To wait, at most.
            files: Whether to bring the files that changed as soon as there are some.
        """
        with self.condition:
            self.wanted = files
            self.condition.wait_for(lambda: self.found or self.state != "running", seconds)
            state, found, report = self.state, self.found, self.report
            self.found = self.report = None
            return Update(state, found or Changes({}), report, self.reason, self.hopeless)

    def stop(self) -> None:
        """End the call at its next report, which saves a checkpoint first."""
        self.stopping = True

    def _work(self, call: Call) -> None:
        root = self.scratch / "runs"
        state: State = "done"
        reason, hopeless = "", False
        try:
            shutil.rmtree(root, ignore_errors=True)  # of the call before
            root.mkdir()
            apply(Changes(call.files), root)
            self.before = changes(root, {})[1]
            with threads(self.cores):
                configs = self._with_data(call)
                runner = self._runner(call, root)
                call.function(configs, runner, *call.more, self._report)
        except KeyboardInterrupt:
            state = "stopped"
        except (DataMissing, DataDamaged) as error:
            state = "failed" if call.supplies else "missing"
            reason, hopeless = _one_line(error), True
        except BaseException as error:  # reported, whatever it is
            state, reason, hopeless = "failed", _one_line(error), isinstance(error, HOPELESS)
        with self.condition:
            try:
                self._collect(root)
            except OSError as error:
                state, reason = "failed", _one_line(error)
            self.state, self.hopeless = state, hopeless
            self.reason = reason.replace(str(root), str(call.runner.root))
            self.condition.notify_all()

    def _runner(self, call: Call, root: Path) -> "Runner":
        """The driver's, for this process: the device follows from the GPUs of a run."""
        return replace(
            call.runner,
            root=root,
            on="here",
            device="cuda" if call.runner.gpus_per_run else "cpu",
            cpus_per_run=1.0,
            gpus_per_run=0.0,
            progress=False,
            log="none",
            network=self._network(call),
        )

    def _report(self, report: Any) -> None:  # noqa: ANN401
        with self.condition:
            self.report = report
            if self.wanted and self.found is None:
                self._collect(self.scratch / "runs")
        if self.stopping:
            raise KeyboardInterrupt

    def _collect(self, root: Path) -> None:
        """Take what changed since the last time, to be fetched."""
        new, self.before = changes(root, self.before)
        if new.written or new.removed:
            old = self.found or Changes({})
            removed = {*old.removed, *new.removed} - new.written.keys()
            self.found = Changes({**old.written, **new.written}, tuple(removed))
            self.condition.notify_all()

    def _with_data(self, call: Call) -> tuple[RunConfig, ...]:
        """The configurations, whose data set is in this node's cache.

        The first process of a node renders, converts or fetches it; the others wait.
        """
        wanted = call.configs[0].data
        if wanted not in self.loaded:
            folder = data_folder() / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / f"{identity(wanted)}.lock"):
                self.loaded[wanted] = _load(wanted, call.supplies)
        return tuple(replace(config, data=self.loaded[wanted]) for config in call.configs)

    def _network(self, call: Call) -> str:
        """FILE.py:function with the content it has at the driver."""
        if not call.runner.network:
            return ""
        file, _, name = call.runner.network.rpartition(":")
        with contextlib.suppress(OSError):
            if Path(file).read_bytes() == call.network:
                return call.runner.network
        place = self.scratch / hashlib.sha256(call.network).hexdigest()[:24] / Path(file).name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(call.network)
        return f"{place}:{name}"


def _load(data: DataConfig, supplies: Sequence[Supply]) -> DataConfig:
    """The data set as it is found here, or else as it was sent."""
    try:
        data.load()
    except (DataMissing, DataDamaged):
        if not supplies:
            raise
        data = receive(data, supplies, _fetch)
        data.load()
    return data


def _fetch(block: Any) -> Any:  # noqa: ANN401
    import ray

    return ray.get(block, timeout=FETCH_SECONDS)


def _own_folder() -> Path:
    """A scratch folder that is locked by this process; those of dead processes are removed."""
    parent = Path(tempfile.gettempdir()) / f"unpick-{Path.home().name}"
    parent.mkdir(mode=0o700, exist_ok=True)
    with FileLock(parent / "lock"):
        for other in [path for path in parent.iterdir() if path.is_dir()]:
            with try_lock(other) as abandoned:
                if abandoned:
                    shutil.rmtree(other, ignore_errors=True)
        mine = Path(tempfile.mkdtemp(dir=parent))
        _kept.enter_context(try_lock(mine))
    return mine


_kept = contextlib.ExitStack()  # locks that are held until this process ends


def _one_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    named = isinstance(error, ValueError | OSError)
    return text if text and named else f"{type(error).__name__}: {text}".rstrip(": ")
