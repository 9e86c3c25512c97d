"""Runs op rules on the values of the interpreter, and reports what they refuse."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from shapecheck import dtypes, explain
from shapecheck.analysis import strict
from shapecheck.analysis.frame import Frame
from shapecheck.analysis.iteration import Range, another
from shapecheck.analysis.values import (
    Argument,
    Dict,
    Dotted,
    Items,
    OpInstance,
    Path,
    Ref,
    Union,
    frozen,
    own_size,
)
from shapecheck.analysis.values import Sequence as ListContent
from shapecheck.dims import Atom, Composite, IntSize, Kind, Size, Sym, symbols, unknown
from shapecheck.ops import UNKNOWN, DType, Packed, Repeated, Value
from shapecheck.shapes import CertainFacts, Facts, Mismatch, Run, Tensor
from shapecheck.signatures import Signature


@dataclass(slots=True)
class Site:
    """Where an op is called: the node that errors stand at, the op as it is spelled, its operands.

    The operands are given as pairs of a role and an expression, or as a call's receiver and
    arguments.
    """

    node: ast.expr | ast.stmt
    label: str
    pairs: tuple[tuple[str, ast.expr | None], ...] = ()
    args: Sequence[Argument] = ()
    receiver: ast.expr | None = None

    @property
    def operands(self) -> tuple[tuple[str, ast.expr | None], ...]:
        """Each argument's role with its expression, in the order of the arguments."""
        if self.pairs:
            return self.pairs
        first = () if self.receiver is None else (("tensor", self.receiver),)
        return (*first, *(("argument", argument.node) for argument in self.args))


_LONGEST: Final = 4096
"""As many numbers of a range are spelled out for a rule."""
_PLAIN: Final = frozenset((Tensor, Size, DType, int, bool, float, str, type(None)))


def plain(frame: Frame, value: Value) -> Value:
    """Return a value as rules see it: lists from the heap spelled out, optional tensors certain."""
    if type(value) is Tensor:
        told = frame.state.facts.shape(value.shape)
        return value if told is value.shape else replace(value, shape=told)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Ref):
        content = frame.state.content(value)
        if isinstance(content, ListContent) and content.items is not None:
            return [plain(frame, item) for item in content.items]
        if isinstance(content, ListContent):
            return _repeated(frame, content.element, content.count)
        if isinstance(content, Dict) and content.items is not None:
            return {key: plain(frame, item) for key, item in content.items.items()}
        return UNKNOWN
    if isinstance(value, tuple):
        return tuple(plain(frame, item) for item in value)
    if isinstance(value, Union):
        some = [option for option in value.options if option is not None]
        return plain(frame, some[0]) if len(some) == 1 else UNKNOWN
    if isinstance(value, Items):
        if value.items is not None:
            return [plain(frame, item) for item in value.items]
        return _repeated(frame, value.element, value.count)
    if isinstance(value, Range):
        if isinstance(value.start, int) and isinstance(value.stop, int):
            count = value.length
            if isinstance(count, int) and count <= _LONGEST:
                return list(range(value.start, value.stop, value.step))
        return UNKNOWN
    if isinstance(value, Path):
        return own_size(value.text)
    if isinstance(value, Dotted):
        return _NUMBER_TYPES.get(value.name, value)
    if isinstance(value, OpInstance):
        return value.attrs
    return value


_NUMBER_TYPES: Final = {
    f"builtins.{name}": DType(dtypes.of(dtype))
    for name, dtype in (("bool", "bool"), ("int", "int64"), ("float", "float64"))
}
"""The dtypes that Python's own types stand for as an argument."""


def _repeated(frame: Frame, element: Value, count: IntSize | None) -> Value:
    """Return a list of tensors of which only the kind is known, and perhaps their number."""
    item = plain(frame, another(frame, element))
    if not isinstance(item, Tensor):
        return UNKNOWN
    return Repeated(item, unknown() if count is None else count)


def apply(
    frame: Frame,
    signature: Signature,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None = None,
) -> Value:
    """Return what a signature says of a call; an error is reported and gives UNKNOWN."""
    given = [plain(frame, arg) for arg in args]
    named = {key: plain(frame, value) for key, value in kwargs.items()}
    facts = frame.state.facts
    before = facts.copy()
    key = _key(signature, given, named, instance, facts)
    known = None if key is None else frame.program.memo.results.get(key)
    if known is not None:
        facts.atoms = known.atoms
        strict.report(frame, site.node, f'"{site.label}"', before.atoms)
        return _listed(frame, known.value)
    try:
        value = signature.apply(facts, given, named, site.label, instance)
        if key is not None:
            learned = (pair for pair in facts.atoms.items() if pair[0] not in before.atoms)
            fresh = _unknowns((value, *learned)) - _unknowns((*given, *named.values()))
            if not fresh and facts.runs is before.runs:
                frame.program.memo.results[key] = Outcome(value, facts.atoms, instance)
        strict.report(frame, site.node, f'"{site.label}"', before.atoms)
        return _listed(frame, value)
    except Mismatch as mismatch:
        if mismatch.problem.code == "shape-broadcast" and _one_source(frame, site):
            return signature.apply(facts, given, named, site.label, instance, same_source=True)
        facts.atoms, facts.runs = before.atoms, before.runs
        rest = _whatever_dtype(signature, before, given, named, site, instance, mismatch)
        if frame.silent:
            frame.errors += 1
            return _listed(frame, rest)
        message = explain.operation(
            site.label,
            mismatch.problem,
            _operands(frame, given, site),
            lambda changed: _again(signature, before, given, named, site, instance, changed),
            before,
        )
        frame.error(site.node, message)
        return _listed(frame, rest)


def _whatever_dtype(
    signature: Signature,
    facts: Facts,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
    mismatch: Mismatch,
) -> Value:
    """Return what a call that only dtypes forbid would give, so far as shapes go."""
    if mismatch.problem.code != "shape-dtype":
        return UNKNOWN
    for dtype in (dtypes.ANY & ~dtypes.BOOL & ~dtypes.of("uint8"), dtypes.ANY):
        args = [_with_dtype(value, dtype) for value in given]
        kwargs = {name: _with_dtype(value, dtype) for name, value in named.items()}
        with suppress(Mismatch):
            found = signature.apply(facts.copy(), args, kwargs, site.label, instance)
            return _with_dtype(found, dtypes.ANY)
    return UNKNOWN


def _with_dtype(value: Value, dtype: dtypes.DTypes) -> Value:
    if isinstance(value, Tensor):
        return replace(value, dtype=dtype)
    return tuple(_with_dtype(v, dtype) for v in value) if isinstance(value, tuple) else value


def _listed(frame: Frame, value: Value) -> Value:
    """Return an op's result as values are here: one of many items lies on the heap."""
    if isinstance(value, Repeated):
        return frame.state.new(ListContent(None, value.element, "tuple", value.count))
    return value


@dataclass(slots=True)
class Outcome:
    """The result of a call and the facts behind it, to be used again for a call like it.

    `instance` is kept so that its identity, which is in the key, stays taken.
    """

    value: Value
    atoms: dict[Atom, IntSize]
    instance: object


def _key(
    signature: Signature,
    given: Sequence[Value],
    named: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
    facts: Facts,
) -> Hashable:
    """Return what the result of a call depends on; None where that can't be hashed."""
    owner = None if instance is None else id(instance)
    args = tuple(map(frozen, given))
    kwargs = tuple((name, frozen(value)) for name, value in named.items())
    known = tuple(facts.atoms.items()), tuple(facts.runs.items()), facts.guarded, facts.declared
    key = (signature.name, owner, args, kwargs, known)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _unknowns(value: Value) -> set[Sym]:
    """Return the symbols in a value of which nothing is known."""
    if isinstance(value, (tuple, list)):
        return set().union(*map(_unknowns, value))
    if isinstance(value, Repeated):
        return _unknowns((value.element, value.count))
    if isinstance(value, Packed):
        return _unknowns((value.data, value.batch))
    if isinstance(value, Tensor):
        return _unknowns(value.shape.dims)
    if isinstance(value, Run):
        return {value.symbol} if value.symbol.kind is Kind.UNKNOWN else set()
    if isinstance(value, (Size, Composite)):
        return {symbol for symbol in symbols(value) if symbol.kind is Kind.UNKNOWN}
    if isinstance(value, Sym):
        return {value} if value.kind is Kind.UNKNOWN else set()
    return set()


def _one_source(frame: Frame, site: Site) -> bool:
    """Whether the operands of an op come from one variable, as in `x[:, None] - x`."""
    roots = [set(_sources(frame, node)) for _, node in site.operands if node is not None]
    return len(roots) > 1 and len(set().union(*roots)) == 1 and all(roots)


def _sources(frame: Frame, node: ast.AST) -> Iterator[str]:
    """Yield the variables and attributes with tensors that an expression is made from."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        owner = node.value if isinstance(node, ast.Attribute) else None
        inner = [] if owner is None else list(_sources(frame, owner))
        if not inner and isinstance(frame.hush(Frame.eval, node), Tensor):
            inner = [ast.unparse(node)]
        yield from inner
        return
    for child in ast.iter_child_nodes(node):
        yield from _sources(frame, child)


def _positions(given: Sequence[Value]) -> list[int]:
    return [index for index, value in enumerate(given) if isinstance(value, Tensor)]


def _operands(frame: Frame, given: Sequence[Value], site: Site) -> list[explain.Operand]:
    found = []
    for index in _positions(given):
        role, node = site.operands[index] if index < len(site.operands) else ("argument", None)
        found.append(frame.operand(role, node, given[index]))
    return found


def _again(
    signature: Signature,
    facts: Facts,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
    changed: Mapping[int, Tensor],
) -> Tensor | None:
    """Try a call with some tensor operands replaced (by their number among the tensors).

    None where it fails, or succeeds only by supposing that two dimensions are equal.
    """
    positions = _positions(given)
    edited = list(given)
    for number, tensor in changed.items():
        edited[positions[number]] = tensor
    trial = CertainFacts.of(facts)
    try:
        result = signature.apply(trial, edited, named, site.label, instance)
    except Mismatch:
        return None
    return result if isinstance(result, Tensor) else None
