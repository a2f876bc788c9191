"""The digest follows everything of ours that a function can reach, and nothing else."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from unpick.data.cache import check_sum
from unpick.geometry import orthogonality
from unpick.probe.code import digest, reachable
from unpick.probe.measures import alignment

LIMIT = 3


def inner(x):
    return math.sqrt(x) + LIMIT


def outer(x):
    """A docstring."""
    return inner(x)  # a comment


def table(x):
    return CHOICES["a"](x)


CHOICES = {"a": inner, "b": lambda x: x + 1}


@dataclass(frozen=True)
class Scaled:
    factor: float = 2.0

    def __call__(self, x):
        return self.factor * inner(x)


def test_functions_behind_functions_count(monkeypatch):
    before = digest(outer)
    assert digest(outer) == before
    monkeypatch.setitem(globals(), "inner", lambda x: 2 * x)
    assert digest(outer) != before


def test_constants_and_tables_count(monkeypatch):
    before = digest(outer), digest(table)
    monkeypatch.setitem(globals(), "LIMIT", 4)
    assert digest(outer) != before[0]
    monkeypatch.undo()
    monkeypatch.setitem(CHOICES, "b", lambda x: x + 2)
    assert digest(table) != before[1]
    assert digest(outer) == before[0]


def test_settings_of_partials_and_dataclasses_count():
    assert digest(partial(outer, x=1)) != digest(partial(outer, x=2))
    assert digest(Scaled(2.0)) != digest(Scaled(3.0))
    assert digest(Scaled(2.0)) == digest(Scaled(2.0))
    named = reachable(Scaled(2.0))
    assert any(name.endswith(".inner") for name in named)


def test_docstrings_and_comments_do_not_count():
    (text,) = [text for name, text in reachable(outer).items() if name.endswith(".outer")]
    assert "docstring" not in text
    assert "comment" not in text
    assert "inner(x)" in text


def test_arrays_count_by_value(monkeypatch):
    monkeypatch.setitem(globals(), "LIMIT", np.zeros(3))
    zeros = digest(outer)
    monkeypatch.setitem(globals(), "LIMIT", np.ones(3))
    assert digest(outer) != zeros


def make(power):
    def raise_to(x):
        return x**power

    return raise_to


POWERS = [make(2), make(1)]


def powers(x):
    return [power(x) for power in POWERS]


def test_closures_of_one_factory_count_each(monkeypatch):
    before = digest(powers)
    monkeypatch.setitem(globals(), "POWERS", [make(2), make(3)])
    second = digest(powers)
    monkeypatch.setitem(globals(), "POWERS", [make(3), make(1)])
    assert len({before, second, digest(powers)}) == 3


def test_lambdas_count_by_the_names_they_use():
    mean, most = {"a": lambda x: np.mean(x)}, {"a": lambda x: np.max(x)}
    assert digest(partial(outer, x=mean)) != digest(partial(outer, x=most))


def test_files_that_a_process_has_read_leave_the_digest_alone(tmp_path):
    file = tmp_path / "data.npy"
    file.write_bytes(b"numbers")
    before = digest(check_sum)
    check_sum(file)
    assert digest(check_sum) == before


def test_a_measure_reaches_the_geometry_that_it_calls():
    names = reachable(alignment)
    assert {
        "unpick.geometry.orthogonality.distance_to_orthogonality",
        "unpick.geometry.orthogonality.signed_permutation_distance",
        "unpick.geometry.orthogonality.NEAR",
        "unpick.geometry.singular.singular_directions",
        "unpick.probe.measures.JACOBIANS",
    } <= names.keys()
    assert orthogonality.__name__ in " ".join(names)
    assert not any(name.startswith("torch") for name in names if "." in name and "[" in name)
