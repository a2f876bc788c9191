"""Download from a server that lies, breaks off, drips and repeats itself.

`python tests/torture/downloads.py [CASES] [SEED]` prints how many cases ended how. A download ends
with the right file, or with one line; never with a wrong file, a lost part, more bytes on disk
than the file has, or a wait without end. The server is on this machine and sends small blocks.
"""

import hashlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

sys.path.append(str(Path(__file__).parents[1]))

from http_site import Site
from unpick.data import DataDamaged
from unpick.data.download import fetch

SIZE = 20_000
PATIENCE = 10.0  # seconds that a case may take
ONE_IN = 3  # answers of a hostile server are honest so often
MOST = 200_000  # bytes that the server ever sends for one request


class Liar(Site):
    """A server whose every answer is drawn."""

    def __init__(self, content, rng):
        super().__init__()
        self.content, self.rng = content, rng

    def answer(self, handler):
        """Answer honestly now and then."""
        asked = handler.headers.get("Range")
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        status, headers, body = self.honest(start)
        if self.rng.randrange(ONE_IN):
            status, headers, body = self.lie(start, status, headers, body)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        drips = self.rng.random() < 0.05
        for k in range(0, 200 if drips else len(body), 1 if drips else 4096):
            handler.wfile.write(body[k : k + (1 if drips else 4096)])
            if drips:
                time.sleep(0.01)

    def honest(self, start):
        """What the protocol asks for."""
        size = len(self.content)
        if start >= size:
            return 416, {"Content-Range": f"bytes */{size}"}, b""
        body = self.content[start:]
        headers = {"Content-Length": str(len(body))}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        return (206 if start else 200), headers, body

    def lie(self, start, status, headers, body):
        """One of the ways in which servers go wrong."""
        rng = self.rng
        number = rng.choice(("0", "-1", "1e9", str(10**15), "9" * 5000, str(len(body) + 7), "x"))
        return rng.choice(
            (
                (200, {"Content-Length": str(SIZE)}, self.content),  # cannot resume
                (200, {}, b"<html>please log in</html>"),
                (200, {"Content-Length": "26"}, b"<html>please log in</html>"),
                (status, headers, body[: rng.randrange(len(body) + 1)]),  # breaks off
                (status, headers | {"Content-Length": number}, body),
                (status, headers | {"Content-Range": f"bytes {number}-{number}/{number}"}, body),
                (status, {}, body + bytes(MOST)),  # goes on and on
                (status, headers, rng.randbytes(len(body))),
                (206, {"Content-Range": f"bytes 0-{SIZE - 1}/{SIZE}"}, self.content),
                (416, {"Content-Range": f"bytes */{rng.choice((start, 0, SIZE, 10**18))}"}, b""),
                (rng.choice((403, 404, 410, 500, 502, 503)), {}, b"no"),
                (302, {"Location": rng.choice((self.url, "ftp://127.0.0.1/x", "file:///x"))}, b""),
                (200, {"Transfer-Encoding": "chunked"}, b"ffffffff\r\n" + body),
            )
        )


def case(rng, folder):
    """Several downloads of one file from one liar, with and without checksum and size."""
    content = b"PK" + rng.randbytes(SIZE - 2)
    checksum = rng.choice(("", f"sha256:{hashlib.sha256(content).hexdigest()}"))
    size = rng.choice((0, SIZE))
    path, part = folder / "x.npz", folder / "x.npz.part"
    started, kept = time.monotonic(), b""
    if rng.random() < 0.5:
        kept = content[: rng.randrange(1, SIZE)]
        part.write_bytes(kept)
    end = "refused"
    with Liar(content, rng) as site:
        for _ in range(3):
            try:
                fetch(site.url, path, checksum, size, tries=3, wait=0.001)
            except (DataDamaged, OSError) as error:
                if "\n" in str(error):
                    return f"FAILED: several lines: {error}"
            except Exception as error:
                return f"FAILED: {type(error).__name__}: {error}"
            if path.exists():
                end = "fetched" if path.read_bytes() == content else "other"
                if end == "other" and checksum:
                    return "FAILED: a wrong file in spite of its checksum"
                break
            there = part.stat().st_size if part.exists() else 0
            if size and there > size:
                return f"FAILED: {there} bytes on disk for {size}"
            if there < len(kept) and not checksum and not size:
                return f"FAILED: of {len(kept)} bytes {there} are left"
    if time.monotonic() - started > PATIENCE:
        return "FAILED: too long"
    return end


def torture(cases, seed=0):
    """Count how the cases end, and list the failures."""
    counts, failures = Counter(), []
    quick = {"connection.TIMEOUT": 1.0, "download.SLOW": 0.1, "download.SLOWEST": 2000}
    with tempfile.TemporaryDirectory() as top:
        for name, value in quick.items():
            patch(f"unpick.data.{name}", value).start()
        patch.dict(os.environ, {"UNPICK_DATA": top}).start()
        try:
            for number in range(cases):
                rng = random.Random(f"{seed} {number}")
                folder = Path(top, str(number))
                folder.mkdir()
                end = case(rng, folder)
                counts[end.partition(":")[0]] += 1
                if end.startswith("FAILED"):
                    failures.append(f"seed {seed}, case {number}: {end}")
        finally:
            patch.stopall()
    return counts, failures


if __name__ == "__main__":
    cases, seed = (int(sys.argv[k]) if sys.argv[k:] else d for k, d in ((1, 1000), (2, 0)))
    counts, failures = torture(cases, seed)
    print(*failures, sep="\n")
    print(f"{cases} cases: {dict(counts)}")
    sys.exit(bool(failures))
