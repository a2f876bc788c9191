import pytest


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
