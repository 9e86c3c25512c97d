"""`Dim` objects in annotations at run time, as text and as themselves."""

from __future__ import annotations

import typing
from typing import Annotated

import pytest
import torch
from torch import Tensor, nn

from shapecheck import (
    Dim,
    Float,
    ShapeAnnotationError,
    ShapeError,
    assert_shape,
    dims,
    dims_of,
    named,
    shapecheck,
)

Batch, Time, Heads, Key = dims("batch time heads key")
Vocab = Dim("vocab", size=7)
Phones = Dim("phones", labels=["a", "b", "c"])


def first_line(error: pytest.ExceptionInfo[ShapeError]) -> str:
    return str(error.value).partition("\n")[0]


@shapecheck
def doubled(x: Float[Tensor, Batch, Time, Heads * Key]) -> Float[Tensor, Batch, 2 * Time, ...]:
    assert dims_of(x)[:2] == (Batch, Time)
    return torch.cat([x, x], dim=1)


@shapecheck
def turned(x: Float[Tensor, Batch, Time]) -> Float[Tensor, Time, Batch]:
    return x


@shapecheck
def merged(
    x: Float[Tensor, Batch, Heads, Time, Key],
) -> Float[Tensor, "Batch Time", Heads * Key]:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


@shapecheck
def merged_wrongly(x: Float[Tensor, Batch, Heads, Key]) -> Float[Tensor, Batch, Heads * Key]:
    return x.transpose(1, 2).reshape(x.shape[0], -1)


@shapecheck
def scored(x: Float[Tensor, "n", Vocab], y: Annotated[Tensor, "n", Phones]) -> Float[Tensor, "n"]:
    return x.sum(1) + y.sum(1)


def test_objects_in_annotations() -> None:
    assert doubled(torch.rand(2, 3, 4)).shape == (2, 6, 4)
    assert merged(torch.rand(2, 3, 4, 5)).shape == (2, 4, 15)
    with pytest.raises(ShapeError) as error:
        turned(torch.rand(3, 3))
    assert first_line(error) == (
        'returned value "x" is (batch time), declared "time batch": '
        "axis 0 is batch, declared time  [shape]"
    )
    with pytest.raises(ShapeError) as error:
        merged_wrongly(torch.rand(2, 3, 3))
    assert "(key heads), declared" in first_line(error)


def test_sizes_and_labels_are_checked() -> None:
    scored(torch.rand(2, 7), torch.rand(2, 3))
    with pytest.raises(ShapeError) as error:
        scored(torch.rand(2, 6), torch.rand(2, 3))
    assert first_line(error) == (
        'argument "x" of "scored" is (2 6), declared "n vocab": '
        "axis 1 is 6, declared vocab (here 7)  [shape]"
    )
    with pytest.raises(ShapeError) as error:
        scored(torch.rand(2, 7), torch.rand(2, 4))
    assert "axis 1 is 4, declared phones (here 3)" in first_line(error)


def test_a_call_may_give_other_sizes_each_time() -> None:
    for time in (3, 5):
        assert doubled(torch.rand(2, time, 4)).shape == (2, 2 * time, 4)


def test_two_objects_of_one_name() -> None:
    other = Dim("batch")

    @shapecheck
    def both(x: Float[Tensor, Batch], y: Float[Tensor, "other"]) -> Tensor:
        return x + y

    with pytest.raises(ShapeError) as error:
        both(torch.rand(3), torch.rand(3))
    assert "axis -1 is batch on the left and batch on the right" in first_line(error)

    @shapecheck
    def other_of(x: Float[Tensor, Batch], y: Float[Tensor, other]) -> Float[Tensor, Batch]:
        return y

    with pytest.raises(ShapeError) as error:
        other_of(torch.rand(3), torch.rand(3))
    assert "axis 0 is batch, declared batch, another one of this name" in first_line(error)
    square = named(torch.rand(2, 3), Batch, other)
    assert dims_of(square) == (Batch, other)
    assert dims_of(named.sum(square, Batch)) == (other,)
    one, two = named(torch.rand(2), Batch), named(torch.rand(3), other)
    joined = named.cat([one, two], (Batch, other))
    assert dims_of(joined) == (Batch + other,) != (other + Batch,)
    with pytest.raises(ShapeAnnotationError, match="two dimensions in it are called alike"):
        Float[Tensor, (Batch + other) // 2]


def test_what_the_annotation_is_to_others() -> None:
    annotation = Float[Tensor, Batch, 2 * Time, 3]
    assert typing.get_origin(annotation) is Annotated
    assert annotation.__origin__ is Tensor
    assert repr(annotation.__metadata__[0]) == 'Float["batch 2*time 3"]'
    assert isinstance(torch.rand(2, 4, 3), annotation)
    assert not isinstance(torch.rand(2, 5, 3), annotation)
    nested = Float[Float[Tensor, Time], Batch]
    assert str(nested.__metadata__[0].shape) == "batch time"
    with pytest.raises(ShapeAnnotationError, match="Float takes a tensor type and one string"):
        Float[Tensor, "a", "b"]
    with pytest.raises(ShapeAnnotationError, match="dimensions are separated by spaces"):
        Float[Tensor, Batch, "a, b"]


def test_names_are_given_and_asserted_by_objects() -> None:
    x = named(torch.rand(2, 6), Batch, Time)
    assert dims_of(x) == (Batch, Time)
    assert_shape(x, Batch, Time)
    for wrong in (
        lambda: named(torch.rand(2, 6), Batch, Vocab),
        lambda: assert_shape(torch.rand(2, 6), Vocab, ...),
        lambda: assert_shape(torch.rand(2, 6), Batch),
    ):
        with pytest.raises(ShapeError):
            wrong()


def test_operations_by_name_take_objects_and_their_algebra() -> None:
    @shapecheck
    def heads(x: Float[Tensor, Batch, Heads, Key]) -> Float[Tensor, Batch, Key, Heads]:
        y = named.order(x, Batch, Heads * Key)
        assert dims_of(y) == (Batch, Heads * Key)
        y = named.split(y, Heads * Key)
        return named.order(y, Batch, Key, Heads)

    x = torch.rand(2, 3, 4)
    assert torch.equal(heads(x), x.mT)
    phones = named(torch.rand(2, 3), Batch, Phones)
    assert torch.equal(named.get(phones, Phones, Phones.index("b")), phones[:, 1])


def test_in_a_module_with_the_names_of_its_own() -> None:
    class Embed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(7, 5)

        @shapecheck
        def forward(self, x: Float[Tensor, Batch, Vocab]) -> Float[Tensor, Batch, 5]:
            return x @ self.table.weight

    assert Embed()(torch.rand(2, 7)).shape == (2, 5)
