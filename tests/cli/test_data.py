"""`unpick data`."""

import pytest


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
