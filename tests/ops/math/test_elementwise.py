"""Operators, in-place forms, dtypes: against torch, and on names."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

from shapecheck import dtypes
from shapecheck.ops import UNKNOWN, DType
from shapecheck.shapes import Shape, Tensor

SHAPES = st.lists(st.sampled_from((1, 1, 2, 3)), max_size=3)
DTYPES = st.sampled_from(
    (torch.float32, torch.int64, torch.bool, torch.float16, torch.float64, torch.int32)
)
NUMBERS = st.sampled_from((2, 2.5, True))


def method(name: str) -> Any:
    return lambda *args: apply(f"torch.Tensor.{name}", *args)


@given(left=SHAPES, right=SHAPES, kinds=st.tuples(DTYPES, DTYPES), number=st.none() | NUMBERS)
@settings(max_examples=150, deadline=None)
def test_operators(left: list[int], right: list[int], kinds: Any, number: Any) -> None:
    """Shapes broadcast and dtypes promote as torch has it; a refusal of dtypes may go unseen."""
    x = torch.ones(left, dtype=kinds[0])
    y = torch.ones(right, dtype=kinds[1]) if number is None else number
    for name in ("add", "mul", "truediv", "lt", "eq", "floordiv"):
        real = getattr(operator, name)
        strict = (*kinds, number).count(torch.bool) == 0
        agrees(method(f"__{name}__"), real, x, y, strict=strict, symbols=False)


@given(left=SHAPES, right=SHAPES, kinds=st.tuples(DTYPES, DTYPES))
@settings(max_examples=150, deadline=None)
def test_in_place(left: list[int], right: list[int], kinds: Any) -> None:
    """The left operand keeps its shape and dtype, or the operator is refused."""
    x, y = torch.ones(left, dtype=kinds[0]), torch.ones(right, dtype=kinds[1])
    for name in ("iadd", "imul", "itruediv"):
        agrees(method(f"__{name}__"), getattr(operator, name), x.clone(), y, symbols=False)
    agrees(method("copy_"), lambda a, b: a.clone().copy_(b), x, y, symbols=False)


@pytest.mark.parametrize(
    ("name", "left", "right", "result"),
    [
        ("__add__", "b t c", "c", "b t c"),
        ("__add__", "b t c", "b 1 c", "b t c"),
        ("__mul__", "b 1 c", "t 1", "b t c"),
        ("__add__", "*batch d", "d", "*batch d"),
        ("__add__", "*batch d", "*batch d", "*batch d"),
        ("__add__", "*batch d", "*batch 1", "*batch d"),
        ("__add__", "b t c", "...", "... b t c"),
        ("__sub__", "b t", "b 1", "b t"),
        ("__add__", "b (h d)", "(h d)", "b (h d)"),
        ("__add__", "b h*d", "(h d)", "b (h d)"),
        ("__add__", "b _", "c", "b c"),
        ("__gt__", "b t", "", "b t"),
    ],
)
def test_names(name: str, left: str, right: str, result: str) -> None:
    assert show(apply(f"torch.Tensor.{name}", parse(left), parse(right))) == result


@pytest.mark.parametrize(
    ("name", "left", "right", "message"),
    [
        (
            "__add__",
            "b t c",
            "b t d",
            "can't broadcast (b t c) with (b t d): axis -1 is c on the left and d on the right",
        ),
        (
            "__sub__",
            "b 1",
            "b",
            "can't broadcast (b 1) with (b): b is axis -2 on the left and axis -1 on the right, "
            "so every b would meet every b",
        ),
        (
            "__iadd__",
            "c",
            "b c",
            "can't write (b c) into (c): the value has 2 axes and the target 1",
        ),
        (
            "__iadd__",
            "b 1",
            "b t",
            "can't write (b t) into (b 1): axis -1 is t in the value and 1 in the target",
        ),
        (
            "__add__",
            "b (h d)",
            "(d h)",
            "can't broadcast (b (h d)) with ((d h)): "
            "axis -1 is (h d) on the left and (d h) on the right",
        ),
    ],
)
def test_errors(name: str, left: str, right: str, message: str) -> None:
    assert refusal(apply, f"torch.Tensor.{name}", parse(left), parse(right)) == message


def kind_of(found: Any) -> str:
    assert isinstance(found, Tensor)
    return dtypes.describe(found.dtype)


def test_dtypes() -> None:
    ints = Tensor(parse("b").shape, dtypes.INT64)
    half = Tensor(parse("b").shape, dtypes.of("float16"))
    assert kind_of(apply("torch.Tensor.__truediv__", ints, 2)) == "Float"
    assert kind_of(apply("torch.Tensor.__floordiv__", ints, 2)) == "int64"
    assert kind_of(apply("torch.div", ints, 2, rounding_mode="floor")) == "int64"
    assert kind_of(apply("torch.Tensor.__mul__", half, 2.5)) == "float16"
    assert kind_of(apply("torch.Tensor.__mul__", ints, 2.5)) == "Float"
    assert kind_of(apply("torch.Tensor.__lt__", half, 0)) == "bool"
    assert kind_of(apply("torch.Tensor.float", ints)) == "float32"
    assert kind_of(apply("torch.Tensor.to", ints, DType(dtypes.of("bfloat16")))) == "bfloat16"
    assert kind_of(apply("torch.Tensor.to", ints, "cuda")) == "int64"
    assert kind_of(apply("torch.Tensor.to", ints, "cuda", DType(dtypes.of("half")))) == "float16"
    assert kind_of(apply("torch.Tensor.to", ints, half)) == "float16"
    assert kind_of(apply("torch.Tensor.to", ints, dtype=DType(dtypes.BOOL))) == "bool"
    assert apply("torch.Tensor.to", ints, UNKNOWN).dtype == dtypes.ANY
    assert kind_of(apply("torch.Tensor.type_as", ints, half)) == "float16"
    assert kind_of(apply("torch.sqrt", ints)) == "Float"
    assert kind_of(apply("torch.Tensor.masked_fill", half, Tensor(Shape(()), dtypes.BOOL), 0)) == (
        "float16"
    )
    assert "the mask must be Bool" in refusal(apply, "torch.Tensor.masked_fill", half, ints, 0)


def test_several_operands() -> None:
    x, mask = parse("b t"), parse("t", dtypes.BOOL)
    assert show(apply("torch.where", mask, x, 0.0)) == "b t"
    assert show(apply("torch.Tensor.where", x, mask, 0.0)) == "b t"
    assert show(apply("torch.clamp", x, min=parse("t"))) == "b t"
    assert show(apply("torch.clamp", x, 0, 1)) == "b t"
    assert show(apply("torch.lerp", x, parse("1"), 0.5)) == "b t"
    assert show(apply("torch.maximum", x, parse("b 1"))) == "b t"
    assert show(apply("torch.Tensor.clamp_", x, min=0)) == "b t"
    assert "axis -1 is t on the left and s on the right" in refusal(
        apply, "torch.where", mask, parse("b s"), 0.0
    )
