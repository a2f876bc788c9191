"""`unpick data`."""

import pytest

from sample_files import flip
from unpick.data.download import Fetched


@pytest.mark.parametrize("verb", ["list", "check", "render", "get"])
def test_every_verb_explains_itself(run_cli, verb):
    code, out, _ = run_cli("data", verb, "--help")
    assert code == 0
    assert "usage: unpick data" in out


def test_render_draws_a_contact_sheet(run_cli, tmp_path):
    file = tmp_path / "sheet.png"
    code, out, _ = run_cli("data", "render", "circles", "--points", "200", "--out", str(file))
    assert (code, out) == (0, f"wrote {file}\n")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_list_tells_what_is_here(run_cli, tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    code, out, _ = run_cli("data", "list")
    assert code == 0
    assert "synth-lin" in out
    assert "not here" in out


def test_get_says_whether_a_file_was_verified(run_cli, tmp_path, monkeypatch):
    found = (Fetched(tmp_path / "a", True), Fetched(tmp_path / "b", False))
    monkeypatch.setattr("unpick.data.download.get", lambda name: found)
    code, out, _ = run_cli("data", "get", "mnist")
    first, second = out.splitlines()
    assert code == 0
    assert first == f"{tmp_path / 'a'} is right"
    assert second.startswith(f"{tmp_path / 'b'} is fetched, not verified")


@pytest.mark.slow
def test_check_compares_what_is_cached(run_cli, tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    code, out, _ = run_cli("data", "check", "shapes3d", "--size", "8")
    assert code == 0
    assert "shapes3d-8-v1.npy is right: sha256 " in out
    flip(tmp_path / "shapes3d-8-v1.npy")
    code, _, err = run_cli("data", "check", "shapes3d", "--size", "8")
    assert code == 2
    assert "shapes3d-8-v1.npy is not what was written" in err
    assert len(err.splitlines()) == 1
