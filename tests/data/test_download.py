"""The downloader against a server that misbehaves in all the usual ways."""

import fcntl
from contextlib import contextmanager
from io import BufferedRandom, FileIO
from itertools import chain, repeat

import pytest

from http_site import ALL, CONTENT, HALF, SHA256, fast
from unpick.data import DataDamaged
from unpick.data import download as module
from unpick.data.download import fetch, get
from unpick.data.remote import NOT_FETCHABLE, REMOTE, RemoteFile


@pytest.mark.parametrize("size", [0, ALL])
@pytest.mark.parametrize("checksum", ["", SHA256])
def test_a_file_arrives_whole(site, path, part, checksum, size):
    fast(site, path, checksum, size)
    assert path.read_bytes() == CONTENT
    assert not part.exists()
    assert site.ranges == [None]


def test_a_file_without_announced_length_arrives(site, path):
    site.announces = False
    fast(site, path)
    assert path.read_bytes() == CONTENT


def test_a_broken_connection_is_resumed_where_it_broke(site, path):
    site.behaviours = chain([HALF], repeat(None))
    fast(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges == [None, f"bytes={HALF}-"]
    assert site.sent == ALL


def test_a_line_that_breaks_often_but_gets_further_is_borne(site, path):
    site.behaviours = chain([150_000] * 5, repeat(None))
    fast(site, path, tries=2)
    assert path.read_bytes() == CONTENT
    assert site.sent == ALL


def test_the_next_call_goes_on_from_what_is_there(site, path, part):
    site.behaviours = chain([HALF], repeat(503))
    with pytest.raises(ConnectionError, match=f"after 3 tries .*503.*{HALF} bytes are kept"):
        fast(site, path)
    assert not path.exists()
    assert part.read_bytes() == CONTENT[:HALF]
    site.behaviours = repeat(None)
    fast(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges[-1] == f"bytes={HALF}-"
    assert site.sent == ALL


def test_a_server_that_cannot_resume_is_asked_for_all(site, path):
    site.resumes = False
    site.behaviours = chain([HALF], repeat(None))
    fast(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges[-1] == f"bytes={HALF}-"
    assert site.sent == HALF + ALL


def test_a_server_that_cannot_resume_and_always_breaks_is_given_up(site, path):
    site.resumes = False
    site.behaviours = repeat(HALF)
    with pytest.raises(ConnectionError, match=f"ended at byte {HALF} of {ALL}"):
        fast(site, path)
    assert len(site.ranges) == 3
    assert not path.exists()


@pytest.mark.parametrize("size", [0, ALL])
def test_a_complete_part_is_not_fetched_again(site, path, part, size):
    part.parent.mkdir()
    part.write_bytes(CONTENT)
    fast(site, path, size=size)
    assert path.read_bytes() == CONTENT
    assert site.sent == 0


def test_a_part_that_is_too_long_is_started_afresh_if_the_size_is_known(site, path, part):
    part.parent.mkdir()
    part.write_bytes(CONTENT + b"more")
    with pytest.raises(DataDamaged, match=r"1000004 were fetched; delete the \.part"):
        fast(site, path, size=0)
    assert part.read_bytes() == CONTENT + b"more"
    fast(site, path)
    assert path.read_bytes() == CONTENT


def test_a_part_of_another_file_is_found_out(site, path, part):
    part.parent.mkdir()
    part.write_bytes(bytes(HALF))
    with pytest.raises(DataDamaged, match=r"not the published file: .* its sha256 is"):
        fast(site, path)
    assert not path.exists()
    assert not part.exists()


@pytest.mark.parametrize("size", [0, ALL])
def test_a_wrong_file_is_deleted(site, path, part, size):
    site.content = CONTENT[:-1] + b"!"
    with pytest.raises(DataDamaged, match="not the published file") as caught:
        fast(site, path, size=size)
    assert site.url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not path.exists()
    assert not part.exists()


@pytest.mark.parametrize("announces", [True, False])
def test_a_file_of_the_wrong_size_is_refused(site, path, part, announces):
    site.content, site.announces = b"<html>moved</html>", announces
    with pytest.raises(DataDamaged, match=f"it has 18 bytes, not {ALL}"):
        fast(site, path, checksum="")
    assert not path.exists()
    assert not part.exists()


def test_a_lasting_error_is_not_tried_again(site, path):
    site.behaviours = repeat(404)
    with pytest.raises(ConnectionError, match="answers 404 Not Found"):
        fast(site, path)
    assert len(site.ranges) == 1
    assert not path.exists()


def test_a_passing_error_is(site, path):
    site.behaviours = chain([500, 429], repeat(None))
    fast(site, path)
    assert path.read_bytes() == CONTENT


def test_nobody_there_is_said_so(path):
    with pytest.raises(ConnectionError, match="gave up after 2 tries"):
        fetch("http://127.0.0.1:9/none", path, tries=2, wait=0.001)
    assert not path.exists()


def test_a_file_that_is_there_is_verified_and_left_alone(site, path):
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    fast(site, path)
    path.write_bytes(b"something else")
    with pytest.raises(DataDamaged, match="delete it to fetch it again"):
        fast(site, path)
    assert path.read_bytes() == b"something else"
    assert site.ranges == []


def test_two_processes_do_not_write_the_same_part(site, path, part):
    part.parent.mkdir()
    with part.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another process"):
            fast(site, path)
    assert site.ranges == []
    fast(site, path)
    assert path.read_bytes() == CONTENT


def test_a_full_disk_is_not_taken_for_a_bad_line(site, path, monkeypatch):
    class Full(BufferedRandom):
        def write(self, _):
            raise OSError(28, "No space left on device")

    @contextmanager
    def full(part):
        with Full(FileIO(part, "a+")) as file:
            yield file

    monkeypatch.setattr(module, "open_locked", full)
    with pytest.raises(OSError, match="No space left"):
        fast(site, path)
    assert len(site.ranges) == 1


def test_get_puts_files_where_the_readers_look(site, tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    remote = RemoteFile("dsprites", "file.npz", site.url, SHA256, ALL)
    monkeypatch.setitem(REMOTE, "dsprites", (remote,))
    assert get("dsprites") == ((tmp_path / "dsprites" / "file.npz", True),)
    assert (tmp_path / "dsprites" / "file.npz").read_bytes() == CONTENT


def test_get_says_where_other_files_come_from():
    with pytest.raises(ValueError, match=r"'celeba' cannot be fetched: get .* from mmlab"):
        get("celeba")
    with pytest.raises(ValueError, match="'nothing' cannot be fetched: allowed are dsprites, "):
        get("nothing")
    assert not set(NOT_FETCHABLE) & set(REMOTE)


def test_the_table_is_well_formed():
    for remote in chain.from_iterable(REMOTE.values()):
        assert remote.url.startswith(("https://", "http://"))
        algorithm, _, digest = remote.checksum.partition(":")
        assert len(digest) == {"md5": 32, "sha256": 64, "": 0}[algorithm]
    names = [remote.name for remote in chain.from_iterable(REMOTE.values())]
    assert len(names) == 20
