"""Who may ask: the right host, the right origin, the token of the link, small requests."""

import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 64 * 1024  # bytes of a request
LOCAL = {"localhost", "127.0.0.1", "::1"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Refuses strangers before anything else is looked at.

    The host in the request must be one that this server answers to, whatever its port (an SSH
    tunnel changes it): a page of another site cannot reach it by rebinding a name. A request that
    another site makes has another origin. And every path begins with the token of the link.

    Args:
        app: What is guarded.
        token: The first part of every path.
        host: The address the server is bound to.
    """

    def __init__(self, app: ASGIApp, token: str, host: str) -> None:
        self.app, self.token = app, token
        self.hosts = LOCAL | {host}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refused = self._refuse(scope)
        if refused is not None:
            status, text = refused
            await PlainTextResponse(text, status, headers=HEADERS)(scope, receive, send)
            return
        path = scope["path"].removeprefix(f"/{self.token}") or "/"
        inner = {**scope, "path": path, "raw_path": path.encode()}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self.app(inner, _bounded(receive), send_with_headers)

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = _hostname(headers.get("host", ""))
        if host not in self.hosts:
            return 403, "This server answers to its own address only."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return 403, "Requests from other sites are refused."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "This page is read-only."
        size = headers.get("content-length", "0")
        if not size.isdigit() or int(size) > LARGEST:
            return 413, "The request is too large."
        given = scope["path"].split("/")[1] if scope["path"].count("/") > 1 else ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return 403, "Open the link that `unpick explore` printed: it holds a token."
        return None


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _bounded(receive: Receive) -> Receive:
    """A body without an announced length is cut off where it becomes too large."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST:
            raise HTTPException(413, "The request is too large.")
        return message

    return bounded
