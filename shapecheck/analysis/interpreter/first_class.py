"""First-class dimensions: their attributes, the methods that they add, and where they go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shapecheck import explain
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.op_calls import Site, apply, plain
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import called, owner_of
from shapecheck.analysis.values.heap import inside
from shapecheck.analysis.values.model import Argument, Bound, OneOf, Ref, each_of
from shapecheck.dims import Size, Sym
from shapecheck.dims.origins import IsBound
from shapecheck.ops import UNKNOWN, Call
from shapecheck.ops.shape.first_class import (
    bind,
    free_in,
    has_free,
    has_more,
    is_pack,
    loosen,
    refuse_unbound,
    union,
)
from shapecheck.shapes import Facts, Free, Mismatch, Tensor

PREFIX: Final = "functorch.dim."


METHODS: Final = frozenset(("order", "index"))
"""What tensors with first-class dimensions have beside a tensor's methods."""


LIST: Final = "dimlist"
"""What lists on the heap are that `dimlists` has made."""


def made(frame: Frame, name: str, size: Value, node: ast.Call) -> Free:
    """Return a new dimension of the body, of the size that is given, if any."""
    dim = Free(Sym.fresh(name))
    frame.made.add(dim)
    frame.state.facts.learn(dim.bound, 1)
    if size is not None:
        _give_size(frame, dim, size, node)
    return dim


MOST: Final = 64


def spread(frame: Frame, owner: Tensor, index: Value, node: ast.expr) -> Value:
    """Return an index with the dimensions of lists in it; one without a length gets one."""
    parts = each_of(index)
    lists = [part for part in parts if _is_list(frame, part)]
    if not lists:
        return index
    open_ = [part for part in lists if frame.state.content(part).items is None]  # type: ignore[union-attr]  # each is a list
    if open_:
        rank = frame.state.facts.shape(owner.shape).rank
        taken = sum(_taken(frame, part) for part in parts)
        if rank is None or len(open_) > 1 or ... in parts or taken > rank:
            return UNKNOWN
        (one,) = open_
        content = frame.state.list_of(one)
        assert content is not None
        names = [f"{content.names[0]}{at}" for at in range(rank - taken)]
        items = tuple(made(frame, name, None, node) for name in names)  # type: ignore[arg-type]  # the node is for sizes
        frame.state.put(one, replace(content, items=items))
    return tuple(
        each for part in parts for each in (_items(frame, part) if part in lists else (part,))
    )


def _is_list(frame: Frame, value: Value) -> bool:
    content = frame.state.list_of(value)
    return content is not None and content.kind == LIST


def _items(frame: Frame, value: Value) -> tuple[Value, ...]:
    content = frame.state.list_of(value)
    return content.items or () if content is not None else ()


def _taken(frame: Frame, part: Value) -> int:
    """Return how many axes a part of an index stands for, beside a list without a length."""
    if part is None or part is ...:
        return 0
    return len(_items(frame, part)) if _is_list(frame, part) else 1


def attribute(frame: Frame, owner: Free, name: str, node: ast.expr) -> Value:
    """Return an attribute of a dimension."""
    if name == "size":
        try:
            refuse_unbound(frame.state.facts, owner)
        except Mismatch as mismatch:
            frame.error(node, explain.operation(f".{name}", mismatch.problem))
            loosen(frame.state.facts, owner)
            return UNKNOWN
        return frame.state.facts.dim(owner.size)
    if name == "dims":
        return (owner,)
    if name == "is_bound":
        return UNKNOWN
    return Bound(owner, name)


def set_size(frame: Frame, owner: Free, name: str, value: Value, node: ast.expr) -> None:
    """Do what `dim.size = n` does."""
    if name == "size":
        _give_size(frame, owner, value, node)


def _give_size(frame: Frame, dim: Free, value: Value, node: ast.expr) -> None:
    facts = frame.state.facts
    if not isinstance(value, (int, Size)):
        loosen(facts, dim)
        return
    try:
        bind(Call(facts, ""), dim, value, f"can't be {value}")
    except Mismatch as mismatch:
        frame.error(node, explain.operation(frame.segment(called(node)), mismatch.problem))


def tensor_attribute(owner: Tensor, name: str) -> Value | None:
    """Return what a tensor with first-class dimensions has of its own; None where it hasn't."""
    if name == "index" or (name in METHODS and (owner.free or owner.more)):
        return Bound(owner, name)
    if name == "dims" and owner.free and not owner.more:
        return owner.free
    return None


def method(
    frame: Frame,
    receiver: Value,
    name: str,
    args: Sequence[Argument],
    kwargs: Mapping[str, Value],
    node: ast.Call,
) -> Value | None:
    """Call a method that first-class dimensions add; None where it is a tensor's own."""
    values = [argument.value for argument in args]
    match receiver:
        case Free():
            has_own = True
        case Tensor(free=free, more=more):
            has_own = bool(free or more)
        case _:
            return None
    adds = name == "index" or (name in METHODS and has_own)
    signature = frame.program.table.signature(PREFIX + name)
    site = Site(node, name, (("tensor", owner_of(node.func)),))
    if (
        name == "split"
        and signature is not None
        and has_free(_all(frame, [*values, *kwargs.values()]))
    ):
        return apply(frame, signature, [receiver, *values], kwargs, site)
    if not adds and not (name == "expand" and is_pack(values)):
        return None
    if signature is None or (kwargs and name != "index"):
        return UNKNOWN
    if name != "index":
        values = [_all(frame, values)]
    return apply(frame, signature, [receiver, *values], kwargs, site)


def _all(frame: Frame, values: Sequence[Value]) -> tuple[Value, ...]:
    """Return dimensions as they are told to rules: those of lists stand for themselves."""
    return tuple(
        each
        for value in values
        for each in (
            _items(frame, value) if _is_list(frame, value) else (plain_pack(frame, value),)
        )
    )


def plain_pack(frame: Frame, value: Value) -> Value:
    """Return a list of dimensions as a tuple."""
    items = iterate(frame, value)[0] if isinstance(value, Ref) else None
    return value if items is None else items


def let_go(frame: Frame, arguments: Sequence[Argument]) -> None:
    """Take note that a function which isn't known may have bound its arguments."""
    for argument in arguments:
        for dim in _reached(frame, argument.value, set()):
            loosen(frame.state.facts, dim)


def _reached(frame: Frame, value: Value, seen: set[Ref]) -> Iterator[Free]:
    match value:
        case Free():
            yield value
        case tuple():
            for part in value:
                yield from _reached(frame, part, seen)
        case Ref() if value not in seen:
            seen.add(value)
            for part in inside(frame.state.content(value)):
                yield from _reached(frame, part, seen)


def forget(facts: Facts) -> None:
    """Forget which dimensions have no size as yet: others may bind them meanwhile."""
    kept = {a: size for a, size in facts.atoms.items() if not _says_bound(a)}
    if len(kept) < len(facts.atoms):
        facts.atoms = kept


def _says_bound(atom: object) -> bool:
    match atom:
        case Sym(origin=IsBound()):
            return True
    return False


def through(frame: Frame, values: Sequence[Value], result: Value) -> Value:
    """Return what a function gives that says nothing of the dimensions that its arguments have.

    It is done for each of their elements. What it does with dimensions that it is given itself
    isn't known.
    """
    given = [plain(frame, value) for value in values]
    if not has_free(given):
        return result
    free = free_in(given)
    if any(map(_is_bare, given)):
        return UNKNOWN
    return _over(result, free, has_more(given))


def _is_bare(value: Value) -> bool:
    match value:
        case Free():
            return True
        case tuple() | list():
            return any(map(_is_bare, value))
    return False


def _over(value: Value, free: tuple[Free, ...], more: bool) -> Value:
    match value:
        case Tensor():
            return replace(value, free=union(free, value.free), more=value.more or more)
        case tuple():
            return tuple(_over(part, free, more) for part in value)
        case Ref() | OneOf():
            return UNKNOWN
    return value


def left_over(frame: Frame, part: Tensor, whole: Value) -> tuple[Free, ...]:
    """Return the dimensions of a result that the body makes and keeps to itself."""
    told = free_in(tuple(one for one in whole if type(one) is Free) if type(whole) is tuple else ())
    return tuple(dim for dim in part.free if dim in frame.made and dim not in told)
