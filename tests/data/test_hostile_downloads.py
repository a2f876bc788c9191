"""The downloader against servers that lie: nothing is lost, nothing is trusted, nothing hangs."""

import time
from itertools import repeat

import pytest

from http_site import CONTENT, HALF, SHA256, fast
from unpick.data import DataDamaged, connection
from unpick.data import download as module
from unpick.data.download import get
from unpick.data.remote import REMOTE, RemoteFile


def test_no_more_is_written_than_the_file_has(site, path, part):
    """The server sends a hundred times as much, and does not say so before."""
    site.content, site.announces = bytes(300 * 10**6), False
    site.behaviours = repeat(30 * 10**6)
    with pytest.raises(DataDamaged, match="it goes on after byte 1000"):
        fast(site, path, size=1000)
    assert not part.exists()
    assert not path.exists()


@pytest.mark.parametrize("checksum", ["", SHA256])
def test_a_login_page_does_not_cost_what_was_fetched(site, path, part, checksum):
    part.parent.mkdir()
    part.write_bytes(CONTENT[:HALF])
    site.content, site.resumes = b"<html>please log in</html>", False
    with pytest.raises(DataDamaged, match=rf"file that was begun in .*{part.name}; delete that"):
        fast(site, path, checksum, size=0)
    assert part.read_bytes() == CONTENT[:HALF]
    site.content = CONTENT
    fast(site, path, checksum, size=0)
    assert path.read_bytes() == CONTENT


def test_a_page_is_no_archive(site, tmp_path):
    site.content = b"<html>moved</html>"
    with pytest.raises(DataDamaged, match=r"is no \.npz file: .* b'<h'; it was deleted"):
        fast(site, tmp_path / "file.npz", checksum="", size=0)
    assert not list(tmp_path.glob("file*"))


def test_a_line_that_only_drips_is_given_up(site, path, part, monkeypatch):
    monkeypatch.setattr(module, "SLOW", 0.05)

    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(20):
            handler.wfile.write(b"x")
            time.sleep(0.01)

    monkeypatch.setattr(site, "answer", drip)
    with pytest.raises(ConnectionError, match=r"gave up after 2 tries \(\d+ bytes in 0 seconds"):
        fast(site, path, size=0, tries=2)
    assert part.exists()


def test_headers_that_only_drip_are_given_up(site, path, monkeypatch):
    monkeypatch.setattr(connection, "TIMEOUT", 0.1)

    def drip(handler):
        for _ in range(20):
            handler.wfile.write(b"H")
            time.sleep(0.02)

    monkeypatch.setattr(site, "answer", drip)
    with pytest.raises(ConnectionError, match="no answer within"):
        fast(site, path, tries=1)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_redirects_stay_with_http(site, path, address):
    site.moved = address
    with pytest.raises(ConnectionError, match="302"):
        fast(site, path)
    assert not path.exists()


def test_a_file_without_a_checksum_is_recorded(site, cache_folder, monkeypatch):
    monkeypatch.setitem(REMOTE, "faces", (RemoteFile("faces", "file.bin", site.url),))
    assert get("faces") == ((cache_folder / "faces" / "file.bin", False),)
    (record,) = (cache_folder / "first-read").iterdir()
    assert record.read_text().strip() == SHA256.removeprefix("sha256:")
