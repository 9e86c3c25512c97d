"""Indexing, slicing and the ops that pick by index tensors: against torch, and on names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from op_oracle import agrees, apply, parse, refusal, show

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.shapes import Shape, Tensor

SHAPES = st.lists(st.sampled_from((1, 2, 3, 4, 5)), max_size=4)
BOUNDS = st.none() | st.integers(-6, 6)


def index_part(size: int) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.integers(-3, 3),
        st.builds(slice, BOUNDS, BOUNDS, st.sampled_from((None, None, 1, 2, 3))),
        st.none(),
        st.just(...),
        st.sampled_from(([0, 0], [0], [[0, 0], [0, 0]])),
        st.sampled_from(((), (2,), (3,), (1,), (2, 3), (3, 1))).map(
            lambda shape: torch.zeros(shape, dtype=torch.int64)
        ),
        st.just(torch.ones(size, dtype=torch.bool)),
    )


@given(data=st.data(), shape=SHAPES)
@settings(max_examples=150, deadline=None)
def test_any_index(data: st.DataObject, shape: list[int]) -> None:
    count = data.draw(st.integers(0, len(shape) + 2))
    sizes = (*shape, 2, 2)
    index = tuple(data.draw(index_part(sizes[i])) for i in range(count))
    if shape and data.draw(st.integers(0, 9)) == 0:
        index = (torch.ones(shape[:2], dtype=torch.bool), *index[:1])
    if sum(part is ... for part in index) > 1:
        return
    x = torch.zeros(shape)
    masks = any(isinstance(i, torch.Tensor) and i.dtype == torch.bool for i in index)
    agrees(
        lambda *a: apply("torch.Tensor.__getitem__", *a),
        lambda y, i: y[i],
        x,
        index,
        strict=not masks,
        exact=not masks,
        symbols=False,
    )


@given(
    size=st.integers(4, 9),
    start=st.none() | st.integers(-3, 3),
    stop=st.none() | st.integers(-3, 3) | st.sampled_from(("t", "t//2", "t-1", "k")),
    step=st.sampled_from((None, 1, 2, 3)),
    k=st.integers(1, 12),
)
@settings(max_examples=150, deadline=None)
def test_slices_of_a_name(size: int, start: Any, stop: Any, step: Any, k: int) -> None:
    """The length of a slice of `t`, with the number put in, is what Python says."""
    t, own = dims.name("t"), dims.own("k")
    sizes: dict[Any, Any] = {"t": t, "t//2": t // 2, "t-1": t - 1, "k": own}
    values = {"t": size, "t//2": size // 2, "t-1": size - 1, "k": k}
    cut = slice(start, sizes.get(stop, stop), step)
    found = apply("torch.Tensor.__getitem__", Tensor(Shape((t,))), cut).shape.dims[0]
    if isinstance(stop, int) and (start or 0) < 0 < stop:  # nothing of a long one
        assert dims.symbol_of(found).kind is dims.Kind.UNKNOWN
        return
    numbers = {s: {"t": size, "k": k}[s.name] for s in dims.symbols(found)}
    real = len(range(size)[slice(start, values.get(stop, stop), step)])
    computed = dims.substitute(found, numbers)
    assert isinstance(computed, int)
    assert max(computed, 0) == real, found


def cut(text: str) -> Any:
    """Read an index as it stands in brackets; names are dims, `<k>` is written `k_`."""
    scope: dict[str, Any] = {c: dims.name(c) for c in "btchdn"}
    scope |= {"k_": dims.own("k"), "i": dims.unknown("i")}

    class Key:
        def __getitem__(self, index: Any) -> Any:
            return index

    return eval(f"key[{text}]", {"key": Key(), **scope})


@pytest.mark.parametrize(
    ("shape", "index", "result"),
    [
        ("b t c", "0", "t c"),
        ("b t c", "-1", "t c"),
        ("b t c", "i", "t c"),
        ("b t c", "...", "b t c"),
        ("b t c", ":, :-1", "b t-1 c"),
        ("b t c", ":, 1:", "b t-1 c"),
        ("b t c", ":, -1:", "b 1 c"),
        ("b t c", ":, :1", "b 1 c"),
        ("b t c", ":, -1", "b c"),
        ("b t c", ":, [-1]", "b 1 c"),
        ("b t c", ":, :t", "b t c"),
        ("b t c", ":, :t//2", "b t//2 c"),
        ("b t c", "..., :c//2", "b t c//2"),
        ("b t c", "..., c//2:", "b t c-c//2"),
        ("b t c", "..., ::2", "b t (c+1)//2"),
        ("b t c", "..., 1::2", "b t c//2"),
        ("b t c", ":, :k_", "b min(<k>,t) c"),
        ("b t c", ":, i:i+1", "b 1 c"),
        ("b t c", ":, k_:k_+1", "b 1 c"),
        ("b t c", ":, :i", "b _ c"),
        ("b t 3", "..., :2", "b t 2"),
        ("b t 3", "..., 1:9", "b t 2"),
        ("b t c", "None", "1 b t c"),
        ("b t c", ":, None", "b 1 t c"),
        ("b t c", "..., None, :", "b t 1 c"),
        ("b t c", "0, ..., 0", "t"),
        ("*batch n d", "..., 0", "*batch n"),
        ("*batch n d", "..., :3, :", "*batch min(n,3) d"),
        ("*batch n d", "..., None, :", "*batch n 1 d"),
        ("b *rest", "0", "*rest"),
        ("1 *rest", "..., 1, :", "..."),
        ("*batch n", "0", "..."),
        ("b (h d)", ":, :h*d", "b (h d)"),
        ("b (h d)", ":1", "1 (h d)"),
    ],
)
def test_names(shape: str, index: str, result: str) -> None:
    found = show(apply("torch.Tensor.__getitem__", parse(shape), cut(index)))
    assert found == result


@pytest.mark.parametrize(
    ("shape", "index", "result"),
    [
        ("b t c", ("mask b t",), "_ c"),
        ("b t c", ("mask b",), "_ t c"),
        ("b t c", ("mask b", slice(None), 0), "_ t"),
        ("b t c", ("int n",), "n t c"),
        ("b t c", ("int n k",), "n k t c"),
        ("b t c", (slice(None), "int n k"), "b n k c"),
        ("b t c", ("int n", "int n"), "n c"),
        ("b t c", ("int n", slice(None), "int n"), "n t"),
        ("b t c", ("int n 1", "int k"), "n k c"),
        ("b t c", (slice(None), 0, "int n"), "b n"),
        ("b t c", (..., "int n", None), "b t n 1"),
        ("n d", ("int b t",), "b t d"),
        ("... c", ("mask ...",), "_ ..."),
        ("b c", ("mask ... b c",), "_ ..."),
        ("b c", ("mask ... _ b c",), "_ ..."),
        ("b c", (slice(None), "mask ... c"), "..."),
        ("*batch c", ("mask *batch",), "_ c"),
        ("*batch c", ("mask *batch", 0), "_"),
        ("*batch b c", ("mask *batch b",), "_ c"),
        ("*batch c", (slice(None), "mask *batch"), "..."),
    ],
)
def test_index_tensors(shape: str, index: tuple[Any, ...], result: str) -> None:
    assert show(apply("torch.Tensor.__getitem__", parse(shape), picks(index))) == result


NUMBERS = torch.tensor([0, 2, 1])


@pytest.mark.parametrize(
    "index",
    [
        [0, 2],
        [[0, 1, 0], [2, 3, 1]],
        [NUMBERS, NUMBERS],
        [NUMBERS, [0, 1, 2]],
        [torch.tensor(1), torch.tensor(1)],
        [0, None],
        [0, slice(None), 1],
        [..., 0],
        [[0, 1, 0]] * 40,
        ([[0, 1], [2, 3]],),
        ((0, 1), 2),
        True,
        False,
        (slice(None), True),
        [True, False, True, False],
        (slice(None), [True, False, True, False, True]),
        ([[True, False, True, False, False]] * 4,),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_lists_and_bools(index: Any) -> None:
    """torch takes some lists for tuples, and how many elements of a list are true is known."""
    agrees(
        lambda *a: apply("torch.Tensor.__getitem__", *a),
        lambda y, i: y[i],
        torch.rand(4, 5, 6),
        index,
    )


def picks(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Read `"mask b t"` and `"int n"` in an index."""
    kinds = {"mask": dtypes.BOOL, "int": dtypes.INT64}
    return tuple(
        parse(part.partition(" ")[2], kinds[part.partition(" ")[0]])
        if isinstance(part, str)
        else part
        for part in index
    )


@pytest.mark.parametrize(
    ("shape", "index", "message"),
    [
        (
            "b t",
            (0, 0, 0),
            "can't index (b t) with [0, 0, 0]: the tensor has 2 axes, and 3 are indexed",
        ),
        (
            "b 3",
            (slice(None), 3),
            "can't take element 3 of (b 3): axis 1 has 3 elements, so that indices go from -3 to 2",
        ),
        (
            "b t",
            (slice(None), dims.name("t")),
            "can't take element t of (b t): axis 1 has t elements",
        ),
        (
            "b t c",
            ("mask t",),
            "can't index (b t c) with [mask (t)]: "
            "axis 0 of the mask is t, where axis 0 of the tensor is b",
        ),
        (
            "b t",
            (slice(None, None, -1),),
            "can't index (b t) with [::-1]: the step of a slice must be positive",
        ),
        (
            "b t",
            ("int n", "int m"),
            "can't index (b t) with [tensor (n), tensor (m)]: "
            "axis -1 is n on the left and m on the right",
        ),
    ],
)
def test_errors(shape: str, index: tuple[Any, ...], message: str) -> None:
    assert refusal(apply, "torch.Tensor.__getitem__", parse(shape), picks(index)) == message


def test_float_index_is_refused() -> None:
    message = refusal(apply, "torch.Tensor.__getitem__", parse("b t"), parse("b", dtypes.FLOAT))
    assert message.endswith("an index tensor holds integers or bools, not Float")


def test_inserted_axis_of_indices_is_meant() -> None:
    x = parse("n", dtypes.INT64)
    column = apply("torch.Tensor.__getitem__", x, (slice(None), None))
    assert column.inserted
    assert show(apply("torch.Tensor.__sub__", column, x)) == "n n"
    scaled = apply("torch.Tensor.__mul__", apply("torch.Tensor.long", column), 2)
    assert show(apply("torch.Tensor.__sub__", scaled, x)) == "n n"


def _assign(x: torch.Tensor, index: Any, value: Any) -> None:
    x[index] = value


@given(
    shape=SHAPES,
    value=st.lists(st.sampled_from((1, 1, 2, 3)), max_size=4),
    first=st.sampled_from((0, slice(None), slice(1, None), ..., None)),
)
@settings(max_examples=100, deadline=None)
def test_assignment(shape: list[int], value: list[int], first: Any) -> None:
    agrees(
        lambda *a: apply("torch.Tensor.__setitem__", *a),
        _assign,
        torch.zeros(shape),
        (first,),
        torch.zeros(value),
        symbols=first != slice(1, None),  # a value of n2 doesn't fit n3-1, whatever they are
    )


@pytest.mark.parametrize(
    ("shape", "index", "value", "message"),
    [
        ("b t c", (0,), "t c", ""),
        ("b t c", (0,), "c", ""),
        ("b t c", (0,), "1 t c", ""),
        ("b t c", ("mask b t",), "n c", ""),
        (
            "b t c",
            (slice(None), 0),
            "b d",
            "can't assign (b d) to (b c): axis -1 is d in the value and c in the target",
        ),
        (
            "b t",
            (0,),
            "b t",
            "can't assign (b t) to (t): the value has 2 axes and the target 1",
        ),
        (
            "b 1",
            (...,),
            "b t",
            "can't assign (b t) to (b 1): axis -1 is t in the value and 1 in the target",
        ),
    ],
)
def test_assignment_names(shape: str, index: Any, value: str, message: str) -> None:
    args = (parse(shape), picks(index), parse(value))
    if message:
        assert refusal(apply, "torch.Tensor.__setitem__", *args) == message
    else:
        assert apply("torch.Tensor.__setitem__", *args) is None


@given(shape=SHAPES, index=SHAPES, dim=st.integers(-4, 4))
@settings(max_examples=100, deadline=None)
def test_gather_and_select(shape: list[int], index: list[int], dim: int) -> None:
    x, at = torch.zeros(shape), torch.zeros(index, dtype=torch.int64)
    source = torch.zeros(index)
    for name, args in (
        ("gather", (dim, at)),
        ("scatter", (dim, at, source)),
        ("scatter_add", (dim, at, source)),
        ("index_select", (dim, at)),
        ("take", (at,)),
        ("take_along_dim", (at, dim)),
        ("masked_select", (at.bool(),)),
        ("nonzero", ()),
    ):
        agrees(
            lambda *a, n=name: apply(f"torch.{n}", *a),
            getattr(torch, name),
            x,
            *args,
            exact=name not in ("masked_select", "nonzero"),
            symbols=name not in ("masked_select", "gather", "scatter", "scatter_add"),
        )


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        (
            "gather",
            ("b t c", 1, "b k"),
            "can't gather (b k) from (b t c) along axis 1: the index has 2 axes and the tensor 3",
        ),
        (
            "gather",
            ("2 t", 1, "3 k"),
            "can't gather (3 k) from (2 t) along axis 1: axis 0 of the index is 3, "
            "and 2 in the tensor",
        ),
        (
            "index_select",
            ("b t", 0, "n k"),
            "can't select (n k) from (b t) along axis 0: the index has 2 axes, not 1",
        ),
    ],
)
def test_pick_errors(name: str, shapes: tuple[str, int, str], message: str) -> None:
    x, dim, index = shapes
    assert refusal(apply, f"torch.{name}", parse(x), dim, parse(index, dtypes.INT64)) == message


def test_places() -> None:
    found = apply("torch.where", parse("b t", dtypes.BOOL))
    assert len(found) == 2
    assert found[0].shape == found[1].shape
    assert show(apply("torch.nonzero", parse("b t c"))) == "nonzero 3"
    assert show(apply("torch.searchsorted", parse("n"), parse("b t"))) == "b t"
    assert "axis 0 is b in the rows" in refusal(
        apply, "torch.searchsorted", parse("b n"), parse("c k")
    )
