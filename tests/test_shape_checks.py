"""What `make test` decorates functions with refuses what jaxtyping's own decorator refuses."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError, config, jaxtyped
from torch import Tensor

from shape_checks import checked


def product(a: Float[Tensor, "n k"], b: Float[Tensor, "k m"]) -> Float[Tensor, "n m"]:
    return b.new_ones(len(a), b.shape[1] - (len(b) > 5))


def ones(size: int) -> Float[Tensor, "{size} 2"]:
    return torch.ones(min(size, 3), 2)


def each(them: list[Float[Tensor, " n"]], name: str = "") -> int:
    return name or len(them)


def double(number: int) -> int:
    return 2.0 * number if number > 1 else 2 * number


def later(number: int, other: "undefined" = None) -> int:
    return number


FINE = [
    (product, torch.ones(2, 3), torch.ones(3, 4)),
    (ones, 3),
    (each, [torch.ones(2)]),
    (double, 1),
    (later, 1, "anything"),
]
WRONG = [
    (product, torch.ones(2, 3), torch.ones(2, 4)),  # one name, two sizes
    (product, torch.ones(2, 6), torch.ones(6, 4)),  # what is returned
    (product, torch.ones(2, 3), torch.ones(3, 4, dtype=torch.int64)),
    (ones, 4),
    (each, [torch.ones(2, 2)]),
    (each, [torch.ones(2)], "no number"),
    (double, "1"),
    (double, 2),
    (later, 1.0),
]


@pytest.fixture(params=[checked, jaxtyped])
def decorate(request):
    return request.param(typechecker=beartype)


@pytest.mark.parametrize("case", FINE)
def test_what_fits_is_returned(decorate, case):
    function, *arguments = case
    result = decorate(function)(*arguments)
    assert torch.equal(torch.as_tensor(result), torch.as_tensor(function(*arguments)))


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused(decorate, case):
    function, *arguments = case
    with pytest.raises(TypeCheckError):
        decorate(function)(*arguments)


def test_names_of_axes_in_a_generator_are_its_own(decorate):
    @decorate
    def rows(x: Float[Tensor, "n d"]) -> Iterator[Tensor]:
        yield from x

    @decorate
    def first(x: Float[Tensor, "d n"]) -> Tensor:
        return next(rows(x[:1]))

    assert first(torch.ones(2, 3)).shape == (3,)
    with pytest.raises(TypeCheckError):
        next(rows(torch.ones(2)))


def test_fields_of_a_dataclass_are_checked(decorate):
    @decorate
    @dataclass
    class Points:
        x: Float[Tensor, "n 2"]
        name: str

    assert Points(torch.ones(1, 2), "a").name == "a"
    for wrong in ((torch.ones(1, 3), "a"), (torch.ones(1, 2), 1)):
        with pytest.raises(TypeCheckError):
            Points(*wrong)


def test_shapes_can_be_left_unchecked(decorate, monkeypatch):
    monkeypatch.setattr(config, "jaxtyping_disable", True)
    assert decorate(product)(torch.ones(2, 3), torch.ones(2, 4)).shape == (2, 4)
