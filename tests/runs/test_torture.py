"""A small sample of what `make torture` tries by the thousand."""

import pytest

from torture import command_lines, kills, run_folders


@pytest.mark.slow
def test_runs_killed_at_file_operations_end_as_if_they_had_not_been():
    counts = kills.torture(0.02, seed=1, ensembles=("beta-vae, one diverges",))
    assert counts["kills"] >= 5


@pytest.mark.slow
def test_runs_by_autograd_do_so_too():
    counts = kills.torture(0.05, seed=2, ensembles=("beta-tcvae, by autograd",))
    assert counts["kills"] >= 3


@pytest.mark.slow
def test_damaged_run_folders_are_refused_or_unchanged():
    counts = run_folders.torture(40, seed=1, subjects=("finished run", "half-done run"))
    assert counts["finished run: refused"] >= 10
    assert not counts["in silence"]


@pytest.mark.slow
def test_absurd_command_lines_end_in_a_line():
    counts = command_lines.torture(15, seed=1)
    assert counts["exit 2"] >= 5
