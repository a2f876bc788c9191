"""Every public function of arrays takes all kinds of them, and refuses what is no number."""

import itertools

import numpy as np
import pandas
import polars
import pytest
import torch

from array_calls import CALLS, at_scale, attempt, numbers, public_functions

pytestmark = pytest.mark.filterwarnings("ignore:Jacobians by central differences")


def frame(library):
    def convert(array):
        if array.ndim != 2:
            return array
        return library.DataFrame({f"c{k}": column for k, column in enumerate(array.T)})

    return convert


KINDS = {
    "tensor": lambda a: torch.from_numpy(np.array(a)),
    "with gradient": lambda a: torch.from_numpy(np.array(a, np.float64)).requires_grad_(),
    "list": lambda a: a.tolist(),
    "fortran": lambda a: np.asfortranarray(a),
    "other end first": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "pandas": frame(pandas),
    "polars": frame(polars),
}
BAD = {
    "complex": lambda a: a + 1j,
    "object": lambda a: a.astype(object),
    "words": lambda a: a.astype(str),
    "masked": lambda a: np.ma.masked_less(a, a.mean()),
    "nan": lambda a: np.where(a == a.flat[0], np.nan, a.astype(float)),
    "infinite tensor": lambda a: torch.from_numpy(a.astype(float)) / 0,
    "empty": lambda a: a[:0],
    "one axis more": lambda a: np.stack([np.stack([a, a])] * 2) if a.ndim < 3 else a[..., None],
    "a number": lambda a: 3.0,
    "sparse": lambda a: torch.from_numpy(np.array(a)).to_sparse(),
    "ragged": lambda a: [[1.0, 2.0], [3.0]],
}
ARGUMENTS = [(call, name) for call in CALLS for name in call.arrays]
IDS = [f"{call.name}-{name}" for call, name in ARGUMENTS]
TAKEN = {  # of what is bad elsewhere
    "settled_after": ("nan", "infinite tensor"),  # training may have diverged at some time
    "delta_kl": ("one axis more",),
    "bootstrap": ("one axis more",),
    "nearest_orthogonal": ("one axis more",),
    "optimal_rotation": ("one axis more",),
    "x": ("one axis more",),  # images
    "deviation": ("one axis more",),  # Cholesky factors
}


def each(convert, given):
    if isinstance(given, list):
        return [convert(np.asarray(one)) for one in given]
    return convert(np.asarray(given))


def test_every_public_function_is_called():
    assert {call.name for call in CALLS} >= public_functions()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_kind_of_array_gives_the_same_numbers(call):
    expected = numbers(call())
    for kind, convert in KINDS.items():
        found = numbers(call(**{name: each(convert, a) for name, a in call.arrays.items()}))
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9, err_msg=kind)


@pytest.mark.parametrize(("call", "name"), ARGUMENTS, ids=IDS)
def test_what_cannot_be_computed_with_is_refused_by_name(call, name):
    given = call.arrays[name]
    for kind, spoil in BAD.items():
        if kind in TAKEN.get(call.name, ()) or kind in TAKEN.get(name, ()):
            continue
        if isinstance(given, list):
            bad = [spoil(np.asarray(given[0])), *given[1:]]
        else:
            bad = spoil(given)
        _, told = attempt(call, name, bad)
        assert told, f"{kind} was taken"
        assert name in told, kind


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_huge_and_tiny_numbers_give_the_right_answer_or_one_sentence(call):
    """Warnings are errors here. An invariant score is the same at every scale that is taken."""
    for name, scale in itertools.product(call.arrays, (1e300, 1e50, 1e30, 1e-300)):
        at_scale(call, name, scale)
        if scale == 1e30:
            at_scale(call, name, scale, np.float32)
