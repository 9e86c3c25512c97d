"""`view`, `reshape`, `flatten`, `unflatten`: against torch on numbers, by laws on names."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import Composite
from shapecheck.shapes import Facts, Run, Shape, Tensor

SIZES = st.lists(st.sampled_from((0, 1, 1, 2, 3, 4, 6)), max_size=4)
FACTORS = {2: "a", 3: "b", 5: "c", 7: "d", 11: "e"}


def size(text: str) -> Any:
    """Return one size from the text of an annotation; `"-1"` is the number."""
    return int(text) if text.lstrip("-").isdigit() else parse(text).shape.dims[0]


def view(shape: str, *sizes: str, facts: Facts | None = None) -> str:
    found = apply("torch.Tensor.view", parse(shape), *map(size, sizes), facts=facts)
    return str(show(found))


@given(shape=SIZES, wanted=st.lists(st.sampled_from((-1, 1, 2, 3, 4, 6, 0, 12)), max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_sizes(shape: list[int], wanted: list[int]) -> None:
    x = torch.zeros(shape)
    agrees(lambda *a: apply("torch.reshape", *a), torch.reshape, x, tuple(wanted))


@given(
    cuts=st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=5),
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_sizes_that_fill(cuts: list[int], data: st.DataObject) -> None:
    """Merging neighbours and swapping sizes keeps the number of elements."""
    wanted: list[int] = list(data.draw(st.permutations(cuts)))
    if len(wanted) > 1 and data.draw(st.booleans()):
        wanted[:2] = [prod(wanted[:2])]
    if data.draw(st.booleans()):
        wanted[data.draw(st.integers(0, len(wanted) - 1))] = -1
    x = torch.zeros(cuts)
    for name in ("torch.Tensor.view", "torch.Tensor.reshape"):
        agrees(lambda *a, n=name: apply(n, *a), lambda y, s: y.reshape(s), x, tuple(wanted))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_named_factors(data: st.DataObject) -> None:
    """Cut one sequence of names in two ways; the result has the sizes and order of the data."""
    factors = data.draw(st.permutations(list(FACTORS)))
    source, target = (_cut(data, factors) for _ in range(2))
    composite = data.draw(st.booleans())
    shape = Shape(tuple(_merged(part, composite) for part in source))
    wanted: list[Any] = [_merged(part, False) for part in target]
    if data.draw(st.booleans()):
        wanted[data.draw(st.integers(0, len(wanted) - 1))] = -1
    facts = Facts()
    found = apply("torch.Tensor.view", Tensor(shape), *wanted, facts=facts)
    assert not facts.atoms
    for dim, part in zip(found.shape.dims, target, strict=True):
        values = {s: v for s in dims.symbols(dim) for v, n in FACTORS.items() if n == s.name}
        assert dims.substitute(dims.size_of(dim), values) == prod(part)
        if isinstance(dim, Composite):
            assert [str(p) for p in dim.parts if "*" not in str(p)] == [
                FACTORS[v] for v in part if FACTORS[v] in map(str, dim.parts)
            ]


def _cut(data: st.DataObject, factors: list[int]) -> list[list[int]]:
    ends = data.draw(st.sets(st.integers(1, len(factors) - 1)))
    bounds = [0, *sorted(ends), len(factors)]
    return [factors[i:j] for i, j in pairwise(bounds)]


def _merged(part: list[int], composite: bool) -> Any:
    names = [dims.name(FACTORS[value]) for value in part]
    return dims.merge(names) if composite else prod(names[1:], start=names[0])


@pytest.mark.parametrize(
    ("shape", "sizes", "result"),
    [
        ("b t c", "-1 c", "(b t) c"),
        ("b t c", "b*t c", "(b t) c"),
        ("b t c", "b t -1", "b t c"),
        ("b t c", "b t 8 -1", "b t 8 c//8"),
        ("b t c", "b t {heads} c//{heads}", "b t <heads> c//<heads>"),
        ("b t 12", "b t 3 -1", "b t 3 4"),
        ("b t h d", "b t h*d", "b t (h d)"),
        ("b t h d", "b t -1", "b t (h d)"),
        ("b t (h d)", "b t h d", "b t h d"),
        ("b t (h d)", "b t h -1", "b t h d"),
        ("b t (h d)", "-1 h*d", "(b t) (h d)"),
        ("b t (h d)", "b*t h d", "(b t) h d"),
        ("b t c+1", "b c+1 t", "b _ _"),
        ("b c h w", "b c -1", "b c (h w)"),
        ("b c h w", "b -1", "b (c h w)"),
        ("b 1 28 28", "-1 784", "b 784"),
        ("b 784", "-1 1 28 28", "b 1 28 28"),
        ("b t c", "b 1 t c", "b 1 t c"),
        ("b 1 t c", "b t c", "b t c"),
        ("b c h w", "b c//4 2 2 h w", "b c//4 2 2 h w"),
        ("*batch n d", "-1 d", "((*batch) n) d"),
        ("... d", "-1 d", "(...) d"),
    ],
)
def test_names(shape: str, sizes: str, result: str) -> None:
    assert view(shape, *sizes.split()) == result


def test_runs_cancel() -> None:
    x = parse("*batch n d")
    flat = apply("torch.Tensor.view", x, -1, dims.name("d"))
    assert show(apply("torch.Tensor.view", flat, *x.shape.dims)) == "*batch n d"
    heads = (*x.shape.dims[:-1], 4, -1)
    split = apply("torch.Tensor.view", x, *heads)
    assert show(split) == "*batch n 4 d//4"
    assert show(apply("torch.Tensor.reshape", split, *split.shape.dims[:-2], -1)).startswith(
        "*batch n "
    )


def test_floor_division_turns_out_exact() -> None:
    facts = Facts()
    c, h = dims.name("c"), dims.name("h")
    assert view("b t c", "b", "t", "h", "c//h", facts=facts) == "b t h c//h"
    assert facts.same(h * dims.floordiv(c, h), c)


def test_number_is_learned() -> None:
    facts = Facts()
    assert view("b c h w", "b", "3", "h", "w", facts=facts) == "b c h w"
    assert facts.dim(dims.name("c")) == 3


def test_known_values_align() -> None:
    """Names whose values are known, as at run time, are told apart by what they fill."""
    facts = Facts()
    for name, value in (("b", 2), ("t", 3), ("h", 4), ("d", 5), ("c", 20)):
        (symbol,) = dims.symbols(dims.name(name))
        facts.atoms[symbol] = value
    assert view("b t c", "2", "3", "4", "5", facts=facts) == "b t 4 5"
    assert view("b t h d", "2", "3", "20", facts=facts) == "b t (h d)"
    assert view("b t (h d)", "2", "3", "4", "5", facts=facts) == "b t h d"
    assert view("b t (h d)", "6", "4", "5", facts=facts) == "(b t) h d"


@pytest.mark.parametrize(
    ("shape", "sizes", "message"),
    [
        (
            "b t c",
            "b t h t",
            "can't view (b t c) as (b t h t): b*t*c elements don't fill b*t*h*t",
        ),
        ("2 3", "4 2", "can't view (2 3) as (4 2): 6 elements don't fill 8"),
        (
            "b t 12",
            "b t 5 -1",
            "can't view (b t 12) as (b t 5 -1): b*t*12 elements don't divide by b*t*5",
        ),
        ("b t c", "-1 -1", "can't view (b t c) as (-1 -1): only one size can be -1"),
        ("b t c", "b -2", "can't view (b t c) as (b -2): -2 isn't a size"),
        ("b 784", "b 28 27", "can't view (b 784) as (b 28 27): b*784 elements don't fill b*28*27"),
    ],
)
def test_errors(shape: str, sizes: str, message: str) -> None:
    given = map(size, sizes.split())
    assert refusal(apply, "torch.Tensor.view", parse(shape), *given) == message


@given(shape=SIZES, start=st.integers(-4, 4), end=st.integers(-4, 4))
@settings(max_examples=100, deadline=None)
def test_flatten(shape: list[int], start: int, end: int) -> None:
    agrees(lambda *a: apply("torch.flatten", *a), torch.flatten, torch.zeros(shape), start, end)


@pytest.mark.parametrize(
    ("shape", "args", "result"),
    [
        ("b c h w", (1,), "b (c h w)"),
        ("b c h w", (), "(b c h w)"),
        ("b t h d", (-2,), "b t (h d)"),
        ("b *rest", (1,), "b (*rest)"),
        ("*batch h d", (-2,), "*batch (h d)"),
        ("*batch d", (0, -2), "(*batch) d"),
    ],
)
def test_flatten_names(shape: str, args: tuple[int, ...], result: str) -> None:
    assert show(apply("torch.flatten", parse(shape), *args)) == result


def test_unflatten() -> None:
    h, d = dims.name("h"), dims.name("d")
    x = parse("b (h d) t")
    assert show(apply("torch.unflatten", x, 1, (h, d))) == "b h d t"
    assert show(apply("torch.unflatten", x, 1, (h, -1))) == "b h d t"
    assert show(apply("torch.Tensor.unflatten", x, -2, (-1, d))) == "b h d t"
    assert refusal(apply, "torch.unflatten", x, 1, (3, dims.name("n"))) == (
        "can't unflatten axis 1 of (b (h d) t) into (3 n): h*d elements don't fill 3*n"
    )
    for wanted in ((2, 3), (-1, 2), (4, 2), (-1, 4)):
        agrees(
            lambda *a: apply("torch.unflatten", *a), torch.unflatten, torch.zeros(2, 6), 1, wanted
        )


def test_dtype_view() -> None:
    from shapecheck import dtypes
    from shapecheck.ops import DType

    x = Tensor(Shape((2, 6)), dtypes.of("float32"))
    assert show(apply("torch.Tensor.view", x, DType(dtypes.of("int64")))) == "2 3"
    assert show(apply("torch.Tensor.view", x, DType(dtypes.of("uint8")))) == "2 24"
    assert show(apply("torch.Tensor.view", x, dtype=DType(dtypes.of("int32")))) == "2 6"


def test_unknown_is_quiet() -> None:
    assert show(apply("torch.Tensor.view", Tensor.unknown(), 3, -1)) == "3 _"
    unknown = apply("torch.Tensor.view", parse("b t"), dims.unknown(), 4)
    assert show(unknown) == "_ 4"
    assert isinstance(parse("*batch").shape.dims[0], Run)
    assert spec.parse("b t")
