"""Which ops go over the padding of sequences, and where that is said."""

from __future__ import annotations

from typing import Any

import pytest

from shapecheck.dims import Kind, Size, Sym, merge, name
from shapecheck.dims.origins import OfObject, Padded
from shapecheck.ops.math.ragged import blind, message, minds_padding
from shapecheck.shapes import Item, Run, Shape, Tensor

time, steps = (Sym(text, Kind.NAME, Padded(OfObject(text.encode()))) for text in ("time", "steps"))
t, s, b = Size.of(time), Size.of(steps), name("b")
batch = Run(Sym("batch"))


def x(*dims: Item) -> Tensor:
    return Tensor(Shape(dims))


REDUCES: list[tuple[tuple[Any, ...], dict[str, Any], Any, Sym | None]] = [
    ((x(b, t), 1), {}, x(b), time),
    ((x(b, t), 0), {}, x(t), None),
    ((x(b, t),), {}, x(), time),
    ((x(b, t),), {"dim": 1}, (x(b), x(b)), time),
    ((x(b, t),), {"dim": 1}, [x(b)], time),
    ((), {"input": x(b, t)}, x(b), time),
    ((2, x(b, t)), {}, x(b), time),
    ((x(b, t, s),), {}, x(b), steps),
    ((x(b, t, s),), {}, x(b, t), steps),
    ((x(b, t),), {}, x(b, 2 * t), None),
    ((x(b, merge([t, b])),), {}, x(b), time),
    ((x(batch, t),), {}, x(batch), None),
    ((x(batch, t),), {}, x(), time),
    ((x(b, t),), {}, (), None),
    ((x(b, t),), {}, 3, None),
    ((x(b, 4),), {}, x(b), None),
    ((2,), {}, x(b), None),
    ((x(b, t),), {"ignore_index": 0}, x(b), None),
    ((x(b, t),), {"ignore_index": -100}, x(b), time),
    ((x(b, t),), {"ignore_index": None}, x(b), time),
    ((x(b, t),), {"training": False}, x(b), None),
    ((x(b, t),), {"training": True}, x(b), time),
]


@pytest.mark.parametrize(("args", "kwargs", "result", "padded"), REDUCES)
def test_what_is_reduced(
    args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, padded: Sym | None
) -> None:
    """The first padded dimension, by its name, that the result hasn't; nothing of other ops."""
    assert blind({"reduces"}, args, kwargs, result) is padded
    assert blind({"levels", "shared"}, args, kwargs, result) is None


@pytest.mark.parametrize(
    ("dim", "padded"),
    [
        *((1, time), (-2, time), (2, steps), (0, None), (5, None), (True, None), (t, time)),
        *((b, None), (2 * s, steps), ("time", time), ("steps", steps), ("b", None), (None, None)),
    ],
)
def test_what_is_normalized_along(dim: Any, padded: Sym | None) -> None:
    """An axis, a name or a dimension, by whichever way it is given."""
    operand = x(b, t, s)
    assert blind({"normalizes"}, (operand, dim), {}, operand) is padded
    assert blind({"normalizes"}, (operand,), {"dim": dim}, operand) is padded
    assert blind({"normalizes"}, (operand, 0), {"dim": dim}, operand) is padded
    assert blind({"normalizes"}, (operand,), {}, operand) is None


def test_what_mixes() -> None:
    assert blind({"mixes"}, (x(b, t, s),), {}, x(b, t, s)) is steps
    assert blind({"mixes"}, (x(b, 3),), {}, x(b, 3)) is None


def test_who_minds_padding() -> None:
    for words in (["key_padding"], ["MASK"], ["x", "lens"], ["is_valid"], ["packed"], ["ragged"]):
        assert minds_padding(words)
    assert minds_padding(["seq_lengths"])
    assert not minds_padding(["x", "mas", "leng"])
    assert not minds_padding([])


def test_what_is_said() -> None:
    said = message("mean", time)
    assert said.text == (
        '"mean" counts the padding of time, which has sequences of several lengths'
    )
    assert said.code == "shape-ragged"
    assert said.notes == (
        "an operation by name leaves it out if it is given time with its lengths",
    )
