"""Work on the machines of a Ray cluster. The driver alone owns run folders.

Workers are actors, as many as there is room for. Each gets one call after the other, with copies
of the run folders that the call is about, and works on them in a scratch folder
(`cluster_worker.py`). The driver asks for what changed and writes it. It holds the locks of the
runs meanwhile, so that a run looks the same to other processes wherever it is trained. No more
calls are prepared than there are workers, so that runs that wait cost the driver no memory.
"""

import contextlib
import math
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unpick
from unpick.runs.cluster_nodes import connect, one_line, room
from unpick.runs.cluster_tasks import Task
from unpick.runs.cluster_worker import Call, Update, Worker
from unpick.runs.parcels import Changes, apply, pack
from unpick.runs.stop import Stop
from unpick.runs.supplies import Supply, supply
from unpick.training.progress import Counts

if TYPE_CHECKING:
    from unpick.runs.runner import Runner

TRIES = 3  # in a row without a new checkpoint, after which a call counts as failed
POLL = 1.0  # seconds between reports of one worker, if workers are few
REPORTS = 500  # a second, that the driver takes in
ROOM = 1.0  # seconds between looks at the nodes
SPARE = 4  # workers that are asked for beyond the room there is, at least
GRACE = 3.0  # seconds in which workers save what they have done, after a stop
PROGRESS = re.compile(r"/(checkpoint-|results\.json|measures/)")  # a file that is a step ahead
WRITING = 0.5  # share of the driver's time for checkpoints


@dataclass(eq=False)
class Slot:
    """A worker: its actor, what was asked of it last, and the task it works at."""

    actor: Any
    asked: Any
    node: str = ""  # empty until it has started
    task: Task | None = None
    fetched: float = 0.0  # when its files were fetched last


class Cluster:
    """Calls of one function, spread over a cluster. For the arguments see `Runner.run`."""

    def __init__(
        self,
        runner: "Runner",
        function: Callable[..., None],
        on_progress: Callable[[Any], Any],
        on_counts: Callable[[Counts], Any],
        stop: Stop,
    ) -> None:
        self.ray, self.runner, self.function = connect(runner.on), runner, function
        self.on_progress, self.on_counts, self.stop = on_progress, on_counts, stop
        self.waiting: deque[Task] = deque()
        self.slots: list[Slot] = []
        self.supplies: dict[Any, tuple[Supply, ...]] = {}
        self.failed: list[str] = []
        self.done, self.lost, self.broken = 0, 0, 0  # runs done and failed, workers not started
        self.looked = self.cost = 0.0
        self.actor = self.ray.remote(Worker).options(
            num_cpus=runner.cpus_per_run, num_gpus=runner.gpus_per_run, max_concurrency=2
        )
        file = runner.network.rpartition(":")[0]
        self.network = Path(file).read_bytes() if file else b""

    def run(self, arguments: Sequence[tuple[Any, ...]]) -> None:
        """Make all calls; failures are told at the end, when the others are done."""
        self.waiting.extend(Task(tuple(configs), tuple(more)) for configs, _, *more in arguments)
        try:
            while self.waiting or self._busy():
                self.stop.check()
                self._hire()
                self._assign()
                self._listen(0.2)
        except KeyboardInterrupt:
            self._save()
            raise
        finally:
            for slot in self.slots:
                self.ray.kill(slot.actor)
                if slot.task:
                    slot.task.locks.close()
        self._count()
        if self.failed:
            raise ChildProcessError(
                f"{len(self.failed)} of {len(arguments)} tasks failed, the others are done. "
                f"{'; '.join(self.failed)}"
            )

    def _busy(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.task]

    def _hire(self) -> None:
        """Ask for as many workers as there is room and work for.

        A few more than there is room for, which tells an autoscaler that more nodes would help.
        Those that nothing waits for are let go.
        """
        if time.monotonic() - self.looked < ROOM:
            return
        self.looked, places = time.monotonic(), room(self.runner)
        todo, limit = len(self._busy()) + len(self.waiting), self.runner.jobs or math.inf
        while len(self.slots) < min(todo, places + max(SPARE, places), limit):
            cores = max(1, int(self.runner.cpus_per_run))
            worker = self.actor.remote(cores, unpick.__version__)
            self.slots.append(Slot(worker, worker.node.remote()))
        for slot in [slot for slot in self.slots if not slot.task] if not self.waiting else []:
            self._dismiss(slot)
        self._count()

    def _dismiss(self, slot: Slot) -> None:
        self.slots.remove(slot)
        self.ray.kill(slot.actor)

    def _count(self) -> None:
        nodes = len({slot.node for slot in self.slots if slot.node})
        busy = [slot.task for slot in self.slots if slot.task]
        running, waiting = (sum(len(t.configs) for t in each) for each in (busy, self.waiting))
        failed = tuple(self.failed)
        self.on_counts(Counts(nodes, running, waiting, self.done, self.lost, failed))

    def _assign(self) -> None:
        """Give tasks to workers that have none. A task whose runs are locked goes to the end."""
        idle = [slot for slot in self.slots if slot.node and not slot.task]
        for _ in range(len(self.waiting)):
            if not idle:
                return
            task = self.waiting.popleft()
            try:
                if task.lock(self.runner.root):
                    self._begin(idle.pop(), task)
                else:
                    self.waiting.append(task)
            except (OSError, ValueError) as error:  # of a damaged folder
                self._fail(task, str(error))

    def _begin(self, slot: Slot, task: Task) -> None:
        configs, runner = task.configs, self.runner
        files = pack(task.folders(runner.root))
        supplies = self.supplies.get(configs[0].data, ())
        call = Call(self.function, configs, runner, task.more, files, self.network, supplies)
        slot.task = task
        slot.asked = slot.actor.begin.remote(call, self._pause())

    def _pause(self) -> float:
        """Seconds that a worker waits with a report."""
        return max(POLL, len(self.slots) / REPORTS)

    def _ask(self, slot: Slot) -> None:
        """Ask for the next update, and for checkpoints if there is time to write them.

        If workers are many, or networks large, each is asked less often for its checkpoints, so
        that half of the driver's time is left.
        """
        due = slot.fetched + len(self.slots) * self.cost / WRITING
        slot.asked = slot.actor.updates.remote(self._pause(), time.monotonic() >= due)

    def _listen(self, seconds: float) -> None:
        """Take in what workers say, after so many seconds at the latest."""
        by_ref = {slot.asked: slot for slot in self.slots if slot.asked}
        if not by_ref:
            time.sleep(seconds)
            return
        refs = [*by_ref]
        self.ray.wait(refs, num_returns=1, timeout=seconds)
        ready, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0)
        for ref in ready:
            slot, began = by_ref[ref], time.monotonic()
            try:
                answer = self.ray.get(ref)
            except self.ray.exceptions.RayTaskError as error:  # such as a module that is not there
                answer = Update("failed", Changes({}), reason=one_line(error))
            except self.ray.exceptions.RayError as error:
                self._lose(slot, error)
                continue
            if isinstance(answer, Update):
                self._take(slot, answer, began)
            else:
                slot.node, slot.asked, self.broken = answer, None, 0

    def _take(self, slot: Slot, update: Update, began: float) -> None:
        """Write what a worker brought, and see to what it needs next."""
        task = slot.task
        assert task is not None
        if update.changes.written or update.changes.removed:
            apply(update.changes, self.runner.root)
            slot.fetched = time.monotonic()
            self.cost += 0.1 * (slot.fetched - began - self.cost)  # about the last ten
            if any(PROGRESS.search(name) for name in update.changes.written):
                task.tries = 0
        if update.report is not None:
            self.on_progress(update.report)
        if update.state == "running":
            self._ask(slot)
            return
        slot.task = slot.asked = None
        task.locks.close()
        if update.state == "done":
            self.done += len(task.configs)
        elif update.state == "missing":
            self._send_data(task, update.reason)
        elif update.state == "failed":
            self._retry(task, update.reason, hopeless=update.hopeless)

    def _send_data(self, task: Task, reason: str) -> None:
        """Put the files of a task's data set where nodes can fetch them, and begin again."""
        data = task.configs[0].data
        try:
            if data not in self.supplies:
                self.supplies[data] = supply(data, self.ray.put)
        except (OSError, ValueError) as error:
            reason = str(error)
        if self.supplies.get(data):
            self.waiting.appendleft(task)
        else:
            self._fail(task, reason)

    def _lose(self, slot: Slot, error: Exception) -> None:
        """A worker died, or its node; what it worked at goes on from the last checkpoint."""
        with contextlib.suppress(self.ray.exceptions.RayError):
            self._dismiss(slot)  # it may be out of reach, and alive
        reason, blamed = one_line(error), "node has died" not in str(error)
        if slot.task:
            slot.task.locks.close()
            slot.task.tries -= not blamed
            self._retry(slot.task, reason)
        elif not slot.node:
            self.broken += blamed
            if self.broken >= TRIES:
                raise ChildProcessError(f"no worker can be started on the cluster: {reason}")

    def _retry(self, task: Task, reason: str, *, hopeless: bool = False) -> None:
        task.tries += 1
        if hopeless or task.tries >= TRIES:
            self._fail(task, reason)
        else:
            self.waiting.appendleft(task)

    def _fail(self, task: Task, reason: str) -> None:
        task.locks.close()
        self.failed.append(f"{task.label}: {reason}")
        self.lost += len(task.configs)

    def _save(self) -> None:
        """After a stop: let workers save a checkpoint, and fetch it."""
        for slot in self._busy():
            slot.actor.stop.remote()
        until = time.monotonic() + GRACE
        while self._busy() and time.monotonic() < until:
            self._listen(0.1)
