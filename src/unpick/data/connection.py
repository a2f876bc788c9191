"""One answer of an HTTP server, within bounds of time."""

import http.client
import queue
import threading
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

BLOCK = 1 << 18  # bytes
TIMEOUT = 30.0  # seconds to wait for an answer
RETRY_STATUS = (408, 429, 500, 502, 503, 504)  # HTTP errors that may be temporary

Response = http.client.HTTPResponse | urllib.error.HTTPError


class ConnectionLost(Exception):
    """A connection failed or ended early; trying again may help."""


def request(url: str, have: int) -> Response:
    """The server's answer to a request for all bytes from `have` on, within `TIMEOUT` seconds."""
    headers = {"User-Agent": "unpick"} | ({"Range": f"bytes={have}-"} if have else {})
    asked = urllib.request.Request(url, headers=headers)
    answers: queue.Queue[Response | Exception] = queue.Queue()

    def ask() -> None:
        try:
            answers.put(_opener.open(asked, timeout=TIMEOUT))
        except Exception as error:
            answers.put(error)

    # A server may send its headers one letter at a time, and no time limit of a socket ends that.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=TIMEOUT)
    except queue.Empty:
        raise ConnectionLost(f"no answer within {TIMEOUT:.0f} seconds") from None
    if isinstance(answer, urllib.error.HTTPError):
        if answer.code == 416:
            return answer
        with answer:
            what = f"the server answers {answer.code} {answer.reason}"
        if answer.code in RETRY_STATUS:
            raise ConnectionLost(what)
        raise ConnectionError(f"{url}: {what}")
    if isinstance(answer, OSError | http.client.HTTPException):
        raise ConnectionLost(str(answer))
    if isinstance(answer, Exception):
        raise ConnectionError(f"{url}: the server's answer makes no sense ({answer})")
    return answer


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only, and from https to https only."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,  # noqa: ANN401
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after != "https" and after != before:
            raise urllib.error.HTTPError(newurl, code, f"to {after}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_opener = urllib.request.build_opener(_Redirects)


def read_block(response: Response) -> bytes:
    """Read what has arrived; separate from writing, so that a full disk is no `ConnectionLost`."""
    try:
        return response.read1(BLOCK)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ConnectionLost(str(error)) from error


def announced(number: str) -> int:
    """A number of bytes in a header; 0 if there is none, or none that makes sense."""
    return int(number) if number.isdecimal() and len(number) < 20 else 0
