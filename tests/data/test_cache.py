"""Rendered arrays are cached: whole, read-only, and checked."""

import hashlib
import os

import numpy as np
import pytest

from unpick.data import cache as module
from unpick.data.cache import (
    atomic_write,
    cached_array,
    data_folder,
    note_use,
    require_space,
    sha256_of,
    sums_of,
)
from unpick.data.dataset import DataDamaged


def rows(start, stop):
    return np.arange(start, stop, dtype=np.uint8)[:, None] * np.ones(3, np.uint8)


def never():
    raise AssertionError("rendered again")
    yield


def test_array_is_rendered_once_and_mapped_read_only(cache_folder):
    first = cached_array("a", (5, 3), iter([rows(0, 2), rows(2, 5)]))
    again = cached_array("a", (5, 3), never())
    assert isinstance(again, np.memmap)
    assert np.array_equal(first, rows(0, 5))
    assert np.array_equal(again, rows(0, 5))
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1
    assert [path.name for path in sorted(cache_folder.iterdir())] == ["a.npy", "a.npy.sha256"]


def test_half_an_array_never_stands_under_its_name(cache_folder):
    def interrupted():
        yield rows(0, 2)
        assert not (cache_folder / "a.npy").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_array("a", (5, 3), interrupted())
    assert list(cache_folder.iterdir()) == []


def test_of_two_writers_at_once_each_leaves_a_whole_file(cache_folder):
    path = cache_folder / "deeper" / "a"
    with atomic_write(path) as one, atomic_write(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("blocks", [[rows(0, 4)], [rows(0, 6)], [rows(0, 5)[:, :2]]])
def test_blocks_that_do_not_make_the_array_are_refused(cache_folder, blocks):
    with pytest.raises(ValueError, match="a: "):
        cached_array("a", (5, 3), iter(blocks))
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "empty", "junk", "shape", "dtype"])
def test_damaged_file_is_named_and_refused(cache_folder, damage):
    path = cache_folder / "a.npy"
    cached_array("a", (5, 3), iter([rows(0, 5)]))
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "junk":
        path.write_bytes(b"no array at all, whatever its name says" * 10)
    elif damage == "shape":
        np.save(path, rows(0, 4))
    else:
        np.save(path, rows(0, 5).astype(np.int32))
    with pytest.raises(DataDamaged, match=r"a\.npy .*delete it"):
        cached_array("a", (5, 3), never())


def test_folder_defaults_to_the_users_cache(monkeypatch):
    monkeypatch.delenv("UNPICK_DATA", raising=False)
    assert data_folder().is_absolute()
    assert "unpick" in str(data_folder())


def test_float32_is_cached_as_it_is_and_other_types_are_refused(cache_folder, rng):
    x = rng.normal(size=(5, 3)).astype(np.float32)
    for blocks in (iter([x[:2], x[2:]]), never()):
        assert np.array_equal(cached_array("a", (5, 3), blocks, "float32"), x)
    with pytest.raises(DataDamaged, match=r"holds float32 .*, not uint8"):
        cached_array("a", (5, 3), never())
    with pytest.raises(ValueError, match="b: a block of float32"):
        cached_array("b", (5, 3), iter([x]))


def test_a_flipped_bit_in_a_cached_array_is_found(cache_folder):
    path = cache_folder / "a.npy"
    cached_array("a", (5, 3), iter([rows(0, 5)]))
    assert path.with_name("a.npy.sha256").read_text() == (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  a.npy\n"  # as sha256sum writes it
    )
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataDamaged, match=r"a\.npy is not what was written.*delete both"):
        cached_array("a", (5, 3), never())
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DataDamaged, match="is not what was written"):
        cached_array("a", (5, 3), never())
    path.unlink()
    cached_array("a", (5, 3), iter([rows(0, 5)]))


def test_an_array_of_an_earlier_version_is_hashed_at_its_first_use(cache_folder):
    path = cache_folder / "a.npy"
    np.save(path, rows(0, 5))
    cached_array("a", (5, 3), never())
    np.save(path, rows(1, 6))
    with pytest.raises(DataDamaged, match="is not what was written"):
        cached_array("a", (5, 3), never())


def test_a_file_is_hashed_once_a_process_and_a_large_one_once(cache_folder, monkeypatch):
    hashed = []
    digest = hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda f, kind: hashed.append(f.name) or digest(f, kind)
    )
    cached_array("a", (5, 3), iter([rows(0, 5)]))
    cached_array("a", (5, 3), never())
    assert hashed == []  # it was hashed while it was written
    path = cache_folder / "a.npy"
    for large, times in ((2**30, 2), (10, 1)):
        monkeypatch.setattr(module, "LARGE", large)
        for _ in range(2):  # two processes
            module._hashed().clear()
            sha256_of(path)
            sha256_of(path)
        assert len(hashed) == times
        hashed.clear()
    sums = sums_of(lambda: cached_array("a", (5, 3), never()), afresh=True)
    assert len(hashed) == 1
    assert sums == {"a.npy": hashlib.sha256(path.read_bytes()).hexdigest()}
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # a change that hides
    with pytest.raises(DataDamaged, match="is not what was written"):
        cached_array("a", (5, 3), never())


def test_uses_are_noted_only_while_somebody_asks(cache_folder):
    note_use("a", "1")
    assert sums_of(lambda: note_use("b", "2")) == {"b": "2"}


def test_an_array_that_does_not_fit_is_refused_before_it_is_made(cache_folder):
    with pytest.raises(OSError, match=r"a\.npy needs 1000000000\.0 GB, and its disk has"):
        cached_array("a", (10**9, 10**9), never())
    require_space(cache_folder / "a", 1)
