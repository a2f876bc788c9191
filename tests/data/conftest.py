import pytest

from http_site import Site


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """An empty folder of downloaded and rendered data."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, cache_folder):
    """A folder for the files that a test writes."""
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def site(cache_folder):
    """A server on this machine."""
    with Site() as site:
        yield site


@pytest.fixture
def path(tmp_path):
    """The file that is downloaded."""
    return tmp_path / "folder" / "file.bin"


@pytest.fixture
def part(path):
    """What of it has arrived."""
    return path.with_name("file.bin.part")
