"""The page's server: it answers questions about models, and never writes."""

import asyncio
import itertools
import json
import math
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import torch
from jaxtyping import Float
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from torch import Tensor

from unpick.explorer import live, panels
from unpick.explorer.guard import Guard
from unpick.explorer.subject import Subject, subject_of_folder
from unpick.papers import STUDIES
from unpick.papers.costs import cost
from unpick.runs import folder
from unpick.study.study import Scale

WAITING = 8  # questions about one model that may wait; more are turned away
EVERY = 1.0  # seconds between looks at the run folders
PATIENCE = 5  # looks at whether the page was closed, in that time
ASSETS = {
    "app.js": "text/javascript",
    "charts.js": "text/javascript",
    "style.css": "text/css",
}
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Explorer:
    """The models on the page, and the questions that may be asked about them.

    Args:
        subjects: The models, in the order of the page.
        watched: Folders whose runs are shown as well, those in progress included.
        report: The folder of a report to link to.
    """

    def __init__(
        self,
        subjects: Sequence[Subject] = (),
        watched: Sequence[Path] = (),
        report: Path | None = None,
    ) -> None:
        self.subjects = {subject.name: subject for subject in subjects}
        self.watched = list(watched)
        self.report = {} if report is None else _report_files(report)
        self.closing = threading.Event()
        self._queues: dict[str, _Queue] = {}
        self.questions: dict[str, Answer] = {
            "overview": self.overview,
            "describe": lambda asked: panels.describe(self.subject(asked)),
            "start": self.start,
            "decode": self.at_point(panels.decoded),
            "traversals": self.at_point(panels.traversals),
            "geometry": self.at_point(panels.geometry),
            "cloud": self.at_point(panels.cloud),
            "plane": self.plane,
            "linear": self.linear,
            "information": lambda asked: panels.information(self.subject(asked)),
            "scatter": self.scatter,
            "match": self.match,
            "words": lambda asked: panels.words(self.subject(asked)),
            "snapshot": self.snapshot,
            "studies": self.studies,
        }
        self.look()

    def subject(self, asked: dict[str, Any], key: str = "model") -> Subject:
        """The model that a question names."""
        found = self.subjects.get(_text(asked, key))
        if found is None:
            raise ValueError(f"{key} must be one of {list(self.subjects)[:20]}")
        return found

    def overview(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The names of all models, and of the pages of the report."""
        pages = [name for name in self.report if name.endswith(".html")]
        return {"models": list(self.subjects), "report": pages}

    def match(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Which latents of two models vary alike."""
        return panels.match(self.subject(asked), self.subject(asked, "other"))

    def start(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A point to start from."""
        row = asked.get("row")
        return panels.start(
            self.subject(asked),
            None if row is None else _whole(asked, "row"),
            _whole(asked, "seed", 0) % 2**31,
        )

    def at_point(self, panel: Callable[[Subject, Float[Tensor, "d"]], dict[str, Any]]) -> Answer:
        """A question about one latent point."""

        def answer(asked: dict[str, Any]) -> dict[str, Any]:
            subject = self.subject(asked)
            return panel(subject, _point(subject, asked))

        return answer

    def plane(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Decoded observations over a plane of two latents."""
        subject = self.subject(asked)
        pair = [_whole(asked, "first"), _whole(asked, "second")]
        return panels.plane(subject, _point(subject, asked), pair)

    def linear(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A step along a latent, predicted and actual."""
        subject = self.subject(asked)
        step = asked.get("step")
        if not isinstance(step, int | float) or not math.isfinite(step):
            raise ValueError("step must be a number")
        return panels.linear(subject, _point(subject, asked), _whole(asked, "latent"), float(step))

    def scatter(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Codes along two latents, coloured by a factor."""
        first, second = _whole(asked, "latent"), _whole(asked, "other")
        return panels.scatter(self.subject(asked), first, second, _text(asked, "factor"))

    def snapshot(self, asked: dict[str, Any]) -> dict[str, Any]:
        """DtO and latent square of a run in progress."""
        name = _text(asked, "run")
        for path in live.find_runs(self.watched):
            if path.name == name:
                return live.snapshot(path)
        raise ValueError("run must be one of the runs shown")

    def studies(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Studies with finished runs in the watched folders: how far, and their page."""
        done = {run["name"] for run in self.look() if run["state"] == "finished"}
        found = []
        for study, scale in itertools.product(STUDIES.values(), get_args(Scale)):
            wanted = _runs_of(study.name, scale)
            if count := len(done & wanted):
                page = next((name for name in self.report if name.startswith(study.name)), None)
                told = {"name": study.name, "scale": scale, "done": count, "total": len(wanted)}
                left = cost(study, scale, 1 - count / len(wanted))
                found.append(told | {"left": left, "page": page})
        return {"studies": found}

    def look(self) -> list[dict[str, Any]]:
        """Every run in the watched folders; those that have ended become models."""
        runs = []
        for path in live.find_runs(self.watched):
            runs.append(live.status(path))
            if runs[-1]["state"] == "finished" and path.name not in self.subjects:
                self.subjects[path.name] = subject_of_folder(path)
        return runs

    async def answer(self, question: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer in a thread: one question a model at a time, and the newest of a slider."""
        name = str(asked.get("model", asked.get("run", "")))[:200]
        key = name if name in self.subjects else ""
        queue = self._queues.setdefault(key, _Queue())
        slider = str(asked.get("slider", ""))[:40]
        work = partial(self.questions[question], asked)
        return await queue.ask(work, f"{question} {slider}" if slider else "")


@cache
def _runs_of(study: str, scale: Scale) -> frozenset[str]:
    """The names of a study's runs."""
    cells = STUDIES[study].cells(scale)
    return frozenset(folder(config, Path()).name for cell in cells for config in cell.configs())


class _Queue:
    """One question at a time; of those that a slider asked, only the newest is answered."""

    def __init__(self) -> None:
        self.lock, self.waiting = asyncio.Lock(), 0
        self.newest: dict[str, object] = {}

    async def ask(self, work: Callable[[], dict[str, Any]], slider: str) -> dict[str, Any]:
        if self.waiting >= WAITING:
            raise HTTPException(503, "The model is busy. Try again in a moment.")
        ticket = object()
        if slider:
            if len(self.newest) > 100:
                self.newest.clear()
            self.newest[slider] = ticket
        self.waiting += 1
        try:
            async with self.lock:
                if slider and self.newest.get(slider) is not ticket:
                    raise HTTPException(409, "A newer request replaced this one.")
                return await run_in_threadpool(work)
        finally:
            self.waiting -= 1


def make_app(explorer: Explorer, token: str, host: str = "127.0.0.1") -> Guard:
    """The guarded application."""

    async def page(request: Request) -> Response:
        return Response(asset("index.html"), media_type="text/html")

    async def ask(request: Request) -> Response:
        question = request.path_params["question"]
        if question not in explorer.questions:
            raise HTTPException(404, "There is no such question.")
        try:
            asked = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            raise HTTPException(400, "The request is not JSON.") from None
        if not isinstance(asked, dict):
            raise HTTPException(400, "The request must be a JSON object.")
        try:
            return JSONResponse(await explorer.answer(question, asked))
        except HTTPException:
            raise
        except Exception as error:  # bad input, or a model that fails in any way
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise HTTPException(400, kind + " ".join(str(error).split())[:500]) from None

    async def events(request: Request) -> Response:
        stream = _events(explorer, request)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def report(request: Request) -> Response:
        file = explorer.report.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404, "There is no such page.")
        return FileResponse(file)

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = error.detail if isinstance(error, HTTPException) else "The model could not answer."
        return JSONResponse({"error": text}, status)

    routes = [
        Route("/", page),
        *(Route(f"/{name}", serve_asset(name)) for name in ASSETS),
        Route("/api/events", events),
        Route("/api/{question}", ask, methods=["POST"]),
        Route("/report/{name:path}", report),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: failed, Exception: failed})
    return Guard(app, token, host)


def serve_asset(name: str) -> Callable[[Request], Any]:
    """Serves one file of the front end."""

    async def serve(request: Request) -> Response:
        return Response(asset(name), media_type=ASSETS[name])

    return serve


def asset(name: str) -> str:
    """A file of the front end."""
    return (files("unpick.explorer") / "front" / name).read_text(encoding="utf-8")


async def _events(explorer: Explorer, request: Request) -> AsyncIterator[str]:
    """Runs in progress as server-sent events: all of them at first, then what has changed."""
    known: dict[str, str] = {}
    quiet = 0
    while not explorer.closing.is_set():
        for run in await run_in_threadpool(explorer.look):
            text = json.dumps(run)
            if known.get(run["name"]) != text:
                known[run["name"]] = text
                quiet = 0
                yield f"data: {text}\n\n"
        quiet += 1
        if quiet % 15 == 0:
            yield ": still here\n\n"
        for _ in range(PATIENCE):
            await asyncio.sleep(EVERY / PATIENCE)
            if explorer.closing.is_set() or await request.is_disconnected():
                return


def _report_files(folder: Path) -> dict[str, Path]:
    """The files of a report that may be served, by their path inside it."""
    kinds = {".html", ".png", ".svg", ".pdf"}
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in kinds)
    return {str(path.relative_to(folder)): path for path in found if path.is_file()}


def _point(subject: Subject, asked: dict[str, Any]) -> Float[Tensor, "d"]:
    values, d = asked.get("z"), subject.probe.latents
    if not isinstance(values, list) or len(values) != d or not all(map(_is_number, values)):
        raise ValueError(f"z must be {d} numbers below a million")
    return torch.tensor(values, dtype=torch.float64)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6


def _whole(asked: dict[str, Any], key: str, default: int | None = None) -> int:
    value = asked.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} must be a whole number")
    return value


def _text(asked: dict[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} must be text")
    return value
