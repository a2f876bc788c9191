"""Start the page: from the command line, from Python, inside a notebook."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpick.explorer.subject import SAMPLES, Subject
from unpick.probe import Probe

if TYPE_CHECKING:
    from uvicorn import Server

INSTALL = "the live page needs starlette and uvicorn: pip install 'unpick[explore]'"


@dataclass(frozen=True, eq=False)
class Page:
    """A page that is being served.

    Attributes:
        url: Its address, with the token that lets one in.
        server: The server behind it.
        thread: Where that runs.
        closing: Set when the page is about to end.
    """

    url: str
    server: "Server"
    thread: threading.Thread
    closing: threading.Event

    def stop(self) -> None:
        """End the server."""
        self.closing.set()
        self.server.should_exit = True
        self.thread.join(timeout=5)

    def _repr_html_(self) -> str:
        style = "width:100%;height:800px;border:1px solid #ccc"
        return f'<iframe src="{self.url}" style="{style}" title="unpick explore"></iframe>'


def explore(
    *subjects: str | Path | Subject | Probe,
    host: str = "127.0.0.1",
    port: int = 0,
    report: str | Path | None = None,
    browser: bool = False,
) -> Page:
    """Serve a page on which models can be explored; in a notebook it is shown inline.

    Args:
        subjects: Run folders, folders of runs, or probes of any model.
        host: The address to bind to. Others than loopback let people in who know the link.
        port: 0 takes a free one.
        report: The folder of a report (`unpick report`) to link to.
        browser: Whether to open a browser.
    """
    try:
        import uvicorn

        from unpick.explorer.server import Explorer, make_app
    except ImportError:
        raise ValueError(INSTALL) from None
    shown, watched = gather(subjects)
    token = secrets.token_urlsafe(16)
    explorer = Explorer(shown, watched, None if report is None else Path(report))
    listening = _listen(host, port)
    url = f"http://{_in_url(host)}:{listening.getsockname()[1]}/{token}/"
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "lifespan": "off"}
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(explorer, token, host),
            timeout_graceful_shutdown=2,
            limit_concurrency=256,
            **options,
        )
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    if browser:
        webbrowser.open(url)
    return Page(url, server, thread, explorer.closing)


def gather(
    given: Sequence[str | Path | Subject | Probe],
) -> tuple[list[Subject], list[Path]]:
    """The models to show, and the folders whose runs are shown."""
    shown: list[Subject] = []
    watched: list[Path] = []
    for k, each in enumerate(given):
        if isinstance(each, Subject):
            shown.append(each)
        elif isinstance(each, Probe):
            shown.append(Subject(f"model {k + 1}", partial(each.first, SAMPLES)))
        elif Path(each).is_dir():
            watched.append(Path(each))
        else:
            raise ValueError(f"{each} is neither a run nor a folder of runs")
    return shown, watched


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(256)  # from now on: a browser may come before the server has started
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(f"cannot listen on {host}:{port}: {error}") from None
    return listening


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else "localhost" if host == "127.0.0.1" else host
