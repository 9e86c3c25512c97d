"""torch.utils.data: a data set is a list of rows, and a loader goes over rows put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import first, iterate, last, length
from shapecheck.analysis.interpreter.kinds import held_by, special
from shapecheck.analysis.interpreter.registry import LibraryCall, caller, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Array, DictContent, Instance, Items, ListContent
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.dims import IntSize, Size, Sym, size_of
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Fields, Scalar, Sizes
from shapecheck.ops.call import as_size, is_whole, only
from shapecheck.shapes import Shape, Tensor

DATA_SET: Final = "data set"
"""The kind of a list that is a data set."""


@caller("torch.utils.data.TensorDataset")
def _tensors(frame: Frame, call: LibraryCall) -> Value:
    """Return rows of what is in each tensor at one index; they have to be of one length."""
    rows: list[Value] = []
    count: IntSize | None = None
    for given in call.args:
        tensor = given if isinstance(given, Tensor) else Tensor.unknown()
        shape = frame.state.facts.shape(tensor.shape)
        first = shape.at(0)
        if first is None:
            rows.append(Tensor.unknown())
            continue
        size = size_of(first)
        count = size if count is None else count
        if not frame.state.facts.unify(count, size):
            shapes = " and ".join(map(str, only(call.args, Tensor)))
            text = f"the first axis is {count} in one tensor and {size} in another"
            text = f'"{call.label}" can\'t make rows of {shapes}: {text}'
            frame.error(call.node, Message(text, numbers=numbers_in(*call.args)))
            return UNKNOWN
        rows.append(Tensor(Shape(shape.dims[1:]), tensor.dtype))
    return frame.state.new(ListContent(None, tuple(rows), DATA_SET, count))


@function("torch.utils.data.Subset", takes=(1, 2))
def _subset(frame: Frame, call: LibraryCall) -> Value:
    count = length(frame, call.get(1, "indices", UNKNOWN))
    return frame.state.new(ListContent(None, _row(frame, call.args[0], call.node), DATA_SET, count))


@function("torch.utils.data.random_split", takes=(2, 3))
def _split(frame: Frame, call: LibraryCall) -> Value:
    lengths = iterate(frame, call.args[1])[0]
    if lengths is None:
        return UNKNOWN
    row = _row(frame, call.args[0], call.node)
    counts = (one if is_whole(one) else None for one in lengths)
    return tuple(frame.state.new(ListContent(None, row, DATA_SET, count)) for count in counts)


@function("torch.utils.data.ConcatDataset", takes=1)
def _concatenated(frame: Frame, call: LibraryCall) -> Value:
    parts = iterate(frame, call.args[0])[0]
    if not parts:
        return UNKNOWN
    row = frame.state.either(*(_row(frame, part, call.node) for part in parts))
    return frame.state.new(ListContent(None, row, DATA_SET))


def _row(frame: Frame, dataset: Value, node: ast.Call) -> Value:
    """Return what a data set has at an index."""
    match frame.state.content(dataset):
        case ListContent() as content:
            return frame.state.element(content)
        case Instance():
            row = frame.hush(special, dataset, "__getitem__", [dims.unknown()], node)
            return iterate(frame, dataset)[1] if row is NOTHING else row
    items, element = iterate(frame, dataset)
    return frame.state.either(*items) if items else element


@caller("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def _loader(frame: Frame, call: LibraryCall) -> Value:
    """Return an iterator over batches, with what a program reads of a loader."""
    names = "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn".split()
    given = {**_DEFAULTS, **dict(zip(names, call.args, strict=False)), **call.kwargs}
    row = _row(frame, given["dataset"], call.node)
    batches = Items(None) if row is UNKNOWN else _batches(frame, row, given)
    if given["batch_sampler"] is not None:
        given["batch_size"] = None
    return replace(batches, attrs=tuple((name, given[name]) for name in _DEFAULTS))


_DEFAULTS: Final[Mapping[str, Value]] = {
    "dataset": UNKNOWN,
    "batch_size": 1,
    "sampler": None,
    "batch_sampler": None,
    "collate_fn": None,
    "drop_last": False,
}


def _batches(frame: Frame, row: Value, given: Mapping[str, Value]) -> Items:
    """Return batches of rows; the last one may be smaller unless it is dropped.

    However many there are, there is one: nobody makes a loader of nothing.
    """
    size, drops = given["batch_size"], given["drop_last"]
    count = dims.extreme("max", [dims.unknown(), 1])
    if size is None and given["batch_sampler"] is None:
        return Items(None, row, count)
    some = Size.of(Sym.batch())
    if given["batch_sampler"] is not None or given["sampler"] is not None:
        return Items(None, _put_together(frame, row, some, given), count)
    whole = drops is True or size == 1
    rows = length(frame, given["dataset"])
    batch = _put_together(frame, row, as_size(size) if whole else some, given)
    if not (isinstance(rows, int) and isinstance(size, int) and isinstance(drops, bool)):
        return Items(None, batch, count)
    full, rest = divmod(rows, size) if size > 0 else (0, 0)
    if not full:
        return Items(None, batch, count)
    first_batch = _put_together(frame, row, size, given)
    if whole or not rest:
        return Items(None, first_batch, full)
    return Items(None, batch, full + 1, first_batch, _put_together(frame, row, rest, given))


def _put_together(frame: Frame, row: Value, count: IntSize, given: Mapping[str, Value]) -> Value:
    """Return a batch of so many rows, as the `collate_fn` that a loader is given makes it."""
    collate = given.get("collate_fn")
    if collate is None:
        return _batch(frame, row, count)
    rows = frame.state.new(ListContent(None, row, count=count))
    return frame.hush(call_back, collate, [rows])


@function(
    "torch.utils.data.default_collate",
    "torch.utils.data.dataloader.default_collate",
    takes=1,
)
def _collated(frame: Frame, call: LibraryCall) -> Value:
    count = length(frame, call.args[0])
    content = frame.state.list_of(call.args[0])
    if content is None or count is None:
        return UNKNOWN
    return _batch(frame, frame.state.element(content), count)


def _batch(frame: Frame, row: Value, count: IntSize) -> Value:
    """Return rows that are alike, put together as `default_collate` does."""
    held = held_by(frame, row)
    collate = _COLLATE.get(type(held))
    return UNKNOWN if collate is None else collate(frame, held, count)


def _batch_of_tensors(frame: Frame, row: Tensor, count: IntSize) -> Value:
    return Tensor(Shape((count, *frame.state.facts.items(row.shape.dims))), row.dtype)


def _batch_of_arrays(frame: Frame, row: Array, count: IntSize) -> Value:
    return _batch_of_tensors(frame, row.tensor, count)


def _batch_of_tuples(frame: Frame, row: tuple[Value, ...], count: IntSize) -> Value:
    return tuple(_batch(frame, part, count) for part in row)


def _batch_of_lists(frame: Frame, row: ListContent, count: IntSize) -> Value:
    return UNKNOWN if row.items is None else _batch_of_tuples(frame, row.items, count)


def _batch_of_dicts(frame: Frame, row: DictContent, count: IntSize) -> Value:
    if row.items is None:
        return UNKNOWN
    items = {key: _batch(frame, value, count) for key, value in row.items.items()}
    return frame.state.new(DictContent(items))


def _batch_of_numbers(frame: Frame, row: Scalar, count: IntSize) -> Value:
    return _FLOATS(frame, row, count) if row.dtypes & dtypes.FLOAT else UNKNOWN


def _vector(dtype: dtypes.DTypes) -> Callable[[Frame, Value, IntSize], Value]:
    return lambda frame, row, count: Tensor(Shape((count,)), dtype)


_FLOATS: Final = _vector(dtypes.of("float64"))
_COLLATE: Final[dict[type, Callable[..., Value]]] = {
    Tensor: _batch_of_tensors,
    Array: _batch_of_arrays,
    tuple: _batch_of_tuples,
    Sizes: _batch_of_tuples,
    Fields: _batch_of_tuples,
    ListContent: _batch_of_lists,
    DictContent: _batch_of_dicts,
    bool: _vector(dtypes.BOOL),
    int: _vector(dtypes.INT64),
    Size: _vector(dtypes.INT64),
    float: _FLOATS,
    Scalar: _batch_of_numbers,
}


@function(
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm", "tqdm.notebook.tqdm", "rich.progress.track"
)
def _shown(frame: Frame, call: LibraryCall) -> Value:
    """Go over what is given while showing how far it is."""
    source = call.get(0, "iterable", UNKNOWN)
    items, element = iterate(frame, source)
    if items is not None:
        return Items(items)
    head = first(frame, source, element)
    return Items(None, element, length(frame, source), head, last(frame, source))
