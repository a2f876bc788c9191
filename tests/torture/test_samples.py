"""A few cases of each harness; `make torture` runs thousands."""

import pytest

from torture import data_files, downloads, metric_inputs

QUICK = tuple(kind for kind in data_files.KINDS if "twin" not in kind and kind != "rendered")


@pytest.mark.slow
def test_spoilt_data_files_are_refused_or_the_same():
    counts, failures = data_files.torture(2 * len(QUICK), kinds=QUICK)
    assert not failures
    assert sum(ends["refused"] for ends in counts.values()) > len(QUICK) / 2


@pytest.mark.slow
def test_a_lying_server_gives_the_right_file_or_none():
    counts, failures = downloads.torture(15)
    assert not failures
    assert counts["fetched"] > 5


def test_spoilt_arrays_are_refused_or_give_numbers():
    counts, failures = metric_inputs.torture(60)
    assert not failures
    assert min(counts["right"], counts["refused"]) > 10
