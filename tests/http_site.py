"""An HTTP server on this machine that does what a test tells it to."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat

import numpy as np

from unpick.data.download import fetch

CONTENT = np.random.default_rng(0).bytes(1_000_000)
ALL = len(CONTENT)
HALF = ALL // 2
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Site:
    """A server on this machine: what each request gets is decided by the test.

    A behaviour is the number of bytes after which the connection breaks, or an HTTP status.
    """

    def __init__(self):
        self.content = CONTENT
        self.resumes = True
        self.announces = True  # the length
        self.moved = ""  # address that requests are sent on to
        self.behaviours = repeat(None)
        self.ranges = []  # asked for, one a request
        self.sent = 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.answer(self)

            def log_message(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/file.bin"

    def answer(self, handler):
        asked = handler.headers.get("Range")
        self.ranges.append(asked)
        behaviour = next(self.behaviours)
        if behaviour is not None and behaviour < 600:
            handler.send_error(behaviour)
            return
        start = (
            int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.resumes else 0
        )
        if start >= len(self.content) and start:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(self.content)}")
            handler.end_headers()
            return
        if self.moved:
            handler.send_response(302)
            handler.send_header("Location", self.moved)
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            last = len(self.content) - 1
            handler.send_header("Content-Range", f"bytes {start}-{last}/{len(self.content)}")
        if self.announces:
            handler.send_header("Content-Length", str(len(self.content) - start))
        handler.end_headers()
        body = self.content[start : None if behaviour is None else start + behaviour]
        handler.wfile.write(body)
        self.sent += len(body)

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that hangs up is no news."""


def fast(site, path, checksum=SHA256, size=ALL, tries=3):
    fetch(site.url, path, checksum, size, tries=tries, wait=0.001)
