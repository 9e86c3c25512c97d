"""Sizes of a module that have to be equal, and that nothing tells apart."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.classes import find_method, is_module
from shapecheck.analysis.annotations.construction import given_in_module
from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Value, literal
from shapecheck.analysis.program.syntax import name_of, nodes_of, stored_in
from shapecheck.analysis.values.heap import inside
from shapecheck.analysis.values.model import OpInstance
from shapecheck.dims import IntSize, Kind, Size, Sym, Untold, reduced_gap, size_of, symbol_of
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import (
    Facts,
    Mismatch,
    Problem,
    Run,
    Shape,
    Tensor,
    Topic,
    is_product,
    symbols_of,
)
from shapecheck.signatures import Signature


def learn_alike(
    frame: Frame,
    signature: Signature,
    given: Sequence[Value],
    problem: Problem,
    call: Callable[[Facts], Value],
    came: Sequence[Value] = (),
    operands: Sequence[ast.expr | None] = (),
) -> bool:
    """Learn that two sizes of a module are one where an op needs that; False where it can't be.

    `call` is the op under other facts, `came` its arguments without what was learned of them, from
    these `operands`. See decisions.md, "What is added to itself has the sizes that it came with".
    """
    owner = None if frame.depth or frame.function is None else frame.function.owner
    if owner is None and not frame.depth:
        return False
    pairs: list[tuple[Sym, Sym]] = []
    if _is_untold(signature, only(given, Tensor)):
        pairs += [*_pairs(frame, signature, given, problem), *_inputs(frame, came, problem)]
        if owner is not None:
            pairs += _made_alike(owner, problem)
            met = _met(problem.about)
            if len(met) == 2 and any(_is_of_module(frame, operand) for operand in operands):
                pairs.append((met[0], met[1]))
    for one, other in pairs:
        if one.default is not None and other.default is not None:
            continue
        if any(_stand_in(frame, tensor, one, other) for tensor in only(given, Tensor)):
            continue
        if owner is not None and _told_apart(owner, one.name, other.name):
            continue
        if owner is not None and _is_divided(owner, {one.name, other.name}):
            continue
        if _helps(frame, one, Size.of(other), given, call):
            return True
    if not frame.depth or any(s.kind is Kind.NAME for s in _symbols(only(given, Tensor))):
        return False
    supposed = itertools.chain(_products(frame, problem), _sides(problem))
    return any(_helps(frame, one, other, given, call) for one, other in supposed)


def _helps(
    frame: Frame,
    one: Sym,
    other: IntSize,
    given: Sequence[Value],
    call: Callable[[Facts], Value],
) -> bool:
    """Learn that a size is another one if an op goes well then."""
    facts = frame.state.facts.copy()
    if facts.same(Size.of(one), other):
        return False
    facts.learn(one, other)
    with suppress(Mismatch):
        if not _vanishes(call(facts), facts, given[1:]):
            frame.state.facts.learn(one, other)
            return True
    return False


def _products(frame: Frame, problem: Problem) -> Iterator[tuple[Sym, IntSize]]:
    """Yield a chosen size and a product of others that it meets in a call that is looked into.

    `width` may be `heads * head_width`: configurations keep such promises. Where all have defaults
    these tell. In a layer of the program's own both are axes of one weight.
    """
    if len(problem.about) != 2:
        return
    sizes = [frame.state.facts.size(one) for one in only(problem.about, Size)]
    for size, product in itertools.permutations(sizes, 2):
        parts = _chosen(product)
        if not is_product(product) or len(parts) != len(dims.symbols(product)):
            continue
        for symbol in _chosen(_only_symbol(size)):
            if symbol not in parts and any(one.default is None for one in (symbol, *parts)):
                yield symbol, product


def _sides(problem: Problem) -> Iterator[tuple[Sym, IntSize]]:
    """Yield the sizes of one tuple that meet in a call that is looked into.

    A module that works on squares is made by others, which have `grid[0]` and `grid[1]`.
    """
    chosen = dict.fromkeys(symbol for topic in problem.about for symbol in _chosen(topic))
    for one, other in itertools.combinations(chosen, 2):
        if one.name.endswith("]") and _tuple_of(one) == _tuple_of(other):
            yield one, Size.of(other)


def _tuple_of(symbol: Sym) -> str:
    """Return what a size is an item of: `grid` of `grid[0]`."""
    return symbol.name.rpartition("[")[0]


def _stand_in(frame: Frame, tensor: Tensor, one: Sym, other: Sym) -> bool:
    """Whether two sizes are axes of one tensor."""
    axes = frame.state.facts.shape(tensor.shape).dims
    return Size.of(one) in axes and Size.of(other) in axes


def _vanishes(made: Value, facts: Facts, given: Sequence[Value]) -> bool:
    """Whether a regrouping has an axis of size 1 where something else than 1 is written.

    As many heads as there are features, of one each, are no choice: an axis is in the wrong place.
    """
    sizes = given[0] if given and isinstance(given[0], tuple) else given
    if not isinstance(made, Tensor):
        return False
    items = facts.shape(made.shape).dims
    return len(items) == len(sizes) and any(
        item == 1 != size for item, size in zip(items, sizes, strict=True)
    )


def _pairs(
    frame: Frame, signature: Signature, given: Sequence[Value], problem: Problem
) -> Iterator[tuple[Sym, Sym]]:
    """Yield the sizes that meet in a broadcast, or may fill one another in a regrouping.

    In a call that is looked into they may meet anywhere: what one module makes of the sizes that it
    is given needn't be what the other one makes of them.
    """
    if broadcasts(signature) or frame.depth:
        known = frame.state.facts.dim
        met = _met(known(one) if isinstance(one, Size) else one for one in problem.about)
        if len(met) == 2:
            yield met[0], met[1]
    if signature.result.rule == "reshape" and given and isinstance(given[0], Tensor):
        before = {s for item in frame.state.facts.shape(given[0].shape).dims for s in _chosen(item)}
        sizes = [one for part in given[1:] for one in (part if isinstance(part, tuple) else [part])]
        after = {symbol for one in only(sizes, Size) for symbol in _chosen(one)}
        key = lambda symbol: symbol.serial  # noqa: E731
        for one in sorted(before - after, key=key):
            yield from ((one, other) for other in sorted(after - before, key=key))


def _inputs(frame: Frame, came: Sequence[Value], problem: Problem) -> Iterator[tuple[Sym, Sym]]:
    """Yield the sizes that two layers take of one parameter, if no layer makes either of them."""
    tensor = came[0] if came else None
    if not isinstance(tensor, Tensor) or not all(map(is_axis, tensor.shape.dims)):
        return
    met = _met(problem.about)
    if len(met) == 2 and not {*met} & _made_by_layers(frame):
        yield met[0], met[1]


def _is_of_module(frame: Frame, node: ast.expr | None) -> bool:
    """Whether an operand is what a module of the program's own class has given.

    What that makes of the sizes that it is given is its own business.
    """
    name, made = name_of(node), node
    if name is not None and node is not None and frame.function is not None:
        assigned = [
            one
            for one in nodes_of(ast.Assign, frame.function.node)
            if one.lineno < node.lineno and any(name in stored_in(to) for to in one.targets)
        ]
        made = assigned[-1].value if assigned else None
    if not isinstance(made, ast.Call):
        return False
    module = frame.state.instance_of(frame.hush(Frame.eval, made.func))
    return module is not None and is_module(module.cls)


def _made_alike(owner: Class, problem: Problem) -> Iterator[tuple[Sym, Sym]]:
    """Yield the sizes that meet, if they are given the same wherever the module makes a class."""
    met = _met(problem.about)
    init = find_method(owner, "__init__")
    if len(met) != 2 or init is None:
        return
    calls = given_in_module(owner, init)
    if calls and all(_is_given_twice(given, *(symbol.name for symbol in met)) for given in calls):
        yield met[0], met[1]


def _is_given_twice(given: Mapping[str, ast.expr], one: str, other: str) -> bool:
    """Whether a call gives two parameters the same."""
    return one in given and other in given and ast.dump(given[one]) == ast.dump(given[other])


def is_axis(item: object) -> bool:
    """Whether a dimension, or a row of them, is one of a parameter as it came."""
    symbol = item.symbol if isinstance(item, (Run, Size)) else None
    return symbol is not None and isinstance(symbol.origin, Untold)


def _made_by_layers(frame: Frame) -> set[Sym]:
    """Return the sizes that layers of the module at hand give."""
    held = (one for content in frame.state.heap.values() for one in inside(content))
    sizes = (size for layer in only(held, OpInstance) for size in made_by(layer))
    return {symbol for size in sizes for symbol in dims.symbols(size)}


def made_by(layer: OpInstance) -> Iterator[Size]:
    """Yield the sizes that a layer gives, as far as they aren't numbers."""
    for name, size in layer.attrs.items():
        if name.startswith("out_") or name in _WIDTHS:
            if isinstance(size, Size):
                yield size


_WIDTHS: Final = frozenset(("hidden_size", "embedding_dim", "embed_dim", "d_model"))


def broadcasts(signature: Signature) -> bool:
    """Whether an op combines its operands element by element."""
    return signature.result.rule == "inplace" or any(param.meets for param in signature.params)


def _met(topics: Iterable[Topic]) -> list[Sym]:
    """Return the chosen sizes that a problem is about, each by itself or times the same."""
    about = [*topics]
    return [symbol for topic in _unmultiplied(about) for symbol in _chosen(_only_symbol(topic))]


def _unmultiplied(about: Sequence[Topic]) -> Sequence[Topic]:
    """Return two sizes without what both are multiplied by, `a` and `b` of `(a p)` and `(b p)`."""
    sizes = [size_of(one) for one in about if not isinstance(one, (Run, Shape)) and one is not None]
    if len(sizes) != 2 or len(about) != 2:
        return about
    gap = sizes[0] - sizes[1]
    rest = gap if isinstance(gap, int) else reduced_gap(gap)[0]
    if isinstance(rest, int) or sorted(rest.terms.values()) != [-1, 1]:
        return about
    powers = [power for product in rest.terms for power in product if len(product) == 1]
    met = [Size.of(atom) for atom, exponent in powers if exponent == 1]
    return met if len(met) == len(about) else about


def _only_symbol(topic: Topic) -> Topic:
    """Return what a problem is about where that is a size of its own, and no expression."""
    is_one = not isinstance(topic, (Run, Shape)) and symbol_of(topic) is not None
    return topic if is_one else None


def _chosen(topic: Topic) -> list[Sym]:
    """Return the sizes that whoever makes a module chooses, of which something is made."""
    if topic is None or isinstance(topic, Shape):
        return []
    return [
        symbol
        for symbol in sorted(symbols_of(topic), key=lambda one: one.serial)
        if symbol.kind is Kind.OWN and not isinstance(symbol.origin, Untold)
    ]


def _is_untold(signature: Signature, tensors: Sequence[Tensor]) -> bool:
    """Whether no annotation says anything of some tensors, as far as that shows."""
    symbols = _symbols(tensors)
    if broadcasts(signature):
        return any(isinstance(symbol.origin, Untold) for symbol in symbols)
    return not any(symbol.kind is Kind.NAME for symbol in symbols)


def _symbols(tensors: Sequence[Tensor]) -> set[Sym]:
    return {s for tensor in tensors for item in tensor.shape.dims for s in symbols_of(item)}


def _told_apart(owner: Class, one: str, other: str) -> bool:
    """Whether a call in its module gives two parameters of a class what may not be equal.

    One that gives a flag, or what is None else, too, may have another path taken.
    """
    init = find_method(owner, "__init__")
    if init is None:
        return False
    decides = {param.name for param in declaration(init).params if _decides(param.default)}
    for given in given_in_module(owner, init):
        if decides.difference((one, other)) & given.keys():
            continue
        pair = [given[name] for name in (one, other) if name in given]
        if len(pair) == 2 and any(isinstance(arg, (ast.Constant, ast.BinOp)) for arg in pair):
            if ast.dump(pair[0]) != ast.dump(pair[1]):
                return True
    return False


def _is_divided(owner: Class, names: Set[str]) -> bool:
    """Whether a class divides one size by the other, as features by heads: it means several."""
    for node in nodes_of(ast.BinOp, owner.node):
        if isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div):
            parts = {ast.unparse(part).removeprefix("self.") for part in (node.left, node.right)}
            if parts == names:
                return True
    return False


def _decides(default: ast.expr | None) -> bool:
    """Whether a parameter with a default is there to be asked: None, or a flag."""
    given = UNKNOWN if default is None else literal(default)
    return given is None or isinstance(given, bool)
