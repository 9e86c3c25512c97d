"""Programs that count on torch's errors: what stands in their place is caught where they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._utils import ExceptionWrapper

from shapecheck import Float, Int, ShapeError, shapecheck

A, B = torch.rand(2, 3), torch.rand(4, 5)


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (lambda a, b: a @ b, RuntimeError),
        (lambda a, b: a + b, RuntimeError),
        (lambda a, b: torch.cat([a, b]), RuntimeError),
        (lambda a, b: a.view(7), RuntimeError),
        (lambda a, b: a[5], IndexError),
        (lambda a, b: a.sum(5), IndexError),
        (lambda a, b: F.cross_entropy(a, torch.zeros(5, dtype=torch.int64)), ValueError),
    ],
)
def test_torchs_own_kind_of_error_is_kept(op: Callable[..., Any], kind: type[Exception]) -> None:
    @shapecheck
    def inside(a: Float[Tensor, "n d"], b: Float[Tensor, "m e"]) -> bool:
        try:
            op(a, b)
        except kind:
            return True
        return False

    @shapecheck
    def through(a: Float[Tensor, "n d"], b: Float[Tensor, "m e"]) -> None:
        op(a, b)

    assert inside(A, B)
    with pytest.raises(kind) as caught:
        through(A, B)
    error = caught.value
    assert isinstance(error, ShapeError)
    assert isinstance(error, TypeError)
    assert type(error).__name__ == "ShapeError"
    assert isinstance(error.__cause__, kind)


def test_a_refused_operator_is_caught_as_a_shape_error() -> None:
    """torch drops a TypeError in an operator; what goes around that is no other error for it."""
    caught: list[ShapeError] = []

    @shapecheck
    def add(a: Float[Tensor, "n n2"], b: Float[Tensor, "m m2"]) -> None:
        try:
            a + b
        except ShapeError as error:
            caught.append(error)

    add(torch.rand(3, 3), torch.rand(3, 3))
    assert caught[0].code == "shape"
    assert caught[0].names == {"n": 3, "n2": 3, "m": 3, "m2": 3}
    assert str(caught[0]).startswith('"+" can\'t broadcast (n n2) with (m m2)')
    again = pickle.loads(pickle.dumps(caught[0]))
    assert type(again) is ShapeError
    assert str(again) == str(caught[0])


def test_errors_travel_between_processes() -> None:
    @shapecheck
    def join(a: Float[Tensor, "n d"], b: Float[Tensor, "m e"]) -> Tensor:
        return torch.cat([a, b])

    with pytest.raises(RuntimeError) as caught:
        join(A, B)
    error: Any = caught.value
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (str(again), again.names, again.code) == (str(error), error.names, error.code)
    wrapped = ExceptionWrapper((type(error), error, error.__traceback__), where="in a worker")
    there = pickle.loads(ForkingPickler.dumps(wrapped))
    with pytest.raises(RuntimeError, match="Caught ShapeError in a worker") as caught:
        there.reraise()
    assert isinstance(caught.value, ShapeError)


class Rows:
    """A sequence that ends, as Python's oldest protocol has it, with an IndexError."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    @shapecheck
    def __getitem__(self, index: int) -> Float[Tensor, "d"]:
        return self.x[index]


@shapecheck
class Taken:
    def __init__(self, x: Float[Tensor, "n d"]) -> None:
        self.x, self.at = x, -1

    def __iter__(self) -> Iterator[Tensor]:
        return self

    def __next__(self) -> Float[Tensor, "d"]:
        self.at += 1
        if self.at == len(self.x):
            raise StopIteration
        return self.x[self.at]


@shapecheck
def how_many(x: Float[Tensor, "n d"]) -> int:
    """Count rows until there are no more."""
    count = 0
    while True:
        try:
            x[count]
        except IndexError:
            return count
        count += 1


def test_protocols_that_end_with_an_error() -> None:
    assert len(list(Rows(A))) == 2
    assert len(list(Taken(A))) == 2
    assert how_many(A) == 2


def test_another_way_when_the_first_fails() -> None:
    @shapecheck
    def scores(
        x: Float[Tensor, "n d"], labels: Int[Tensor, "n"], weight: Float[Tensor, "c d2"]
    ) -> Float[Tensor, ""]:
        try:
            logits = x @ weight.T
        except RuntimeError:
            logits = x @ weight.new_ones(x.shape[1], weight.shape[0])
        return F.cross_entropy(logits, labels)

    labels = torch.tensor([0, 1])
    wanted = F.cross_entropy(A @ torch.ones(3, 4), labels)
    assert torch.equal(scores(A, labels, B), wanted)


def test_an_error_is_told_with_another_place_or_none() -> None:
    @shapecheck
    def join(a: Float[Tensor, "n d"], b: Float[Tensor, "m e"]) -> Tensor:
        return torch.cat([a, b])

    with pytest.raises(ShapeError) as caught:
        join(A, B)
    error = caught.value
    assert error.told(error.place) == str(error)
    lines = str(error).splitlines()
    assert lines[1] == f"  at {error.place}"
    assert error.told(None).splitlines() == [lines[0], *lines[2:]]
    assert ShapeError("made from a text").told("a.py:1") == "made from a text"
