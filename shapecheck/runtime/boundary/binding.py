"""The thorough way to check a call: every annotation, every container, words for what fails.

Generated code (see `codegen`) handles what is plain and fits. What it can't decide, and what
doesn't fit, comes here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

import shapecheck.dims as dims
from shapecheck import dtypes, explain, spec
from shapecheck.dims import HERE, DimExpr, IntSize, Kind, Size, Sym
from shapecheck.dims.origins import OfRecord
from shapecheck.explain import Message
from shapecheck.ops.arrays import promotion as arrays
from shapecheck.runtime.annotations.braced import Braced
from shapecheck.runtime.annotations.hints import (
    TensorHint,
    dtype_mask,
)
from shapecheck.runtime.annotations.plan import Plan, entry_spread
from shapecheck.runtime.errors import Failed, ShapeError
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.batched import free_of, is_batched
from shapecheck.runtime.naming.facts import ValueFacts, value_of
from shapecheck.runtime.naming.records import Record, plain_shape, record, sizes_of
from shapecheck.runtime.source import Place
from shapecheck.shapes import Evaluate, Item, Matcher, Misfit, Run, Shape
from shapecheck.tensor_spec import ShapeAnnotationError

ShapeOf = Callable[[torch.Tensor], Shape]
Saved = tuple[dict[str, DimExpr], dict[str, tuple[Item, ...]], list[Any], int]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor that met an annotation; `record` is which record it is a field of, if it is one.

    Of an array of numpy it is one without memory, of the array's shape.
    """

    tensor: torch.Tensor
    hint: TensorHint
    subject: str
    record: int | None = None


class _Expressions:
    """The values of `{...}` expressions, or the dimensions that they are here.

    It has no way back to the binding: the tensors of a call would live on until the garbage
    collector comes, and with them all that their gradients need.
    """

    def __init__(self, plan: Plan, scope: Mapping[str, Any], braced: Braced) -> None:
        self._plan, self._scope, self._braced = plan, scope, braced

    def __call__(self, source: str) -> IntSize | None:
        expression = self._plan.expression(source)
        dim, known = self._braced.get(source, (None, None))
        if dim is not None and not self._scope.keys() >= set(expression.names):
            return dim
        value = expression(self._scope)
        return value if dim is None or value != known else dim


class _OfRecord:
    """The values of `{...}` expressions in what the fields of a record are annotated with.

    They are over the other fields, then over what the call has; None of one that neither knows,
    such as a variable of a function that the record is defined in.
    """

    def __init__(
        self, outer: Evaluate, fields: Mapping[str, Any], module: Mapping[str, Any]
    ) -> None:
        self._outer, self._fields, self._module = outer, fields, module

    def __call__(self, source: str) -> IntSize | None:
        code = _code(source)
        if self._fields.keys().isdisjoint(code.co_names):
            with suppress(ShapeAnnotationError):
                return self._outer(source)
        try:
            return operator.index(eval(code, dict(self._module), dict(self._fields)))
        except Exception:  # noqa: BLE001 - it is the user's, and may be any
            return None


@lru_cache(maxsize=256)
def _code(source: str) -> CodeType:
    return compile(f"({source}\n)", "<shapecheck>", "eval")


class Binding:
    """The names of one call, and what they are bound to as its tensors are looked at.

    `values` are those of the symbols that `names`, `runs` and the shapes are made of: none at the
    boundary of a call from outside, where all dimensions are numbers. `origin`: by which parameter
    names were bound. `records`: what the names and groups of each record's fields are.
    """

    def __init__(
        self,
        plan: Plan,
        scope: Mapping[str, Any],
        values: Mapping[Sym, int] | None = None,
        shape_of: ShapeOf = plain_shape,
        names: Mapping[str, DimExpr] | None = None,
        runs: Mapping[str, tuple[Item, ...]] | None = None,
        braced: Braced | None = None,
    ) -> None:
        self.plan = plan
        self.scope = scope
        self.values = {} if values is None else values
        self.shape_of = shape_of
        self.braced = braced or {}
        self.leaves: list[Leaf] = []
        self.texts: Mapping[str, str] = {}
        self.origin: dict[str, str] = {}
        self.records: dict[int, tuple[dict[str, int], dict[str, tuple[int, ...]]]] = {}
        self._record: int | None = None
        self.evaluate = _Expressions(plan, scope, self.braced)
        self.matcher = Matcher(ValueFacts(self.values, strict=True), self.evaluate)
        self.matcher.names.update(names or {})
        self.matcher.runs.update(runs or {})

    def save(self) -> Saved:
        """Return what is bound, for `restore`."""
        matcher = self.matcher
        return dict(matcher.names), dict(matcher.runs), list(matcher.pending), len(self.leaves)

    def restore(self, saved: Saved) -> None:
        """Forget what was bound since."""
        names, runs, pending, leaves = saved
        self.matcher.names, self.matcher.runs = dict(names), dict(runs)
        self.matcher.pending = list(pending)
        del self.leaves[leaves:]

    @contextmanager
    def record(self, fields: Mapping[str, Any], module: Mapping[str, Any]) -> Iterator[None]:
        """Bind what the fields of a record are annotated with, whose names are its own.

        `fields` are its values, `module` is where it is written. See decisions.md, "The names of
        a record's fields are its own". Raises `Failed`.
        """
        matcher, outer, number = self.matcher, self._record, len(self.records)
        names, runs, pending = matcher.names, matcher.runs, matcher.pending
        self.records[number], self._record = ({}, {}), number
        shared = self.plan.dims
        matcher.names = {name: dim for name, dim in names.items() if name in shared}
        matcher.runs, matcher.pending = {}, []
        evaluate = matcher.evaluate
        matcher.evaluate = _OfRecord(evaluate, fields, module)
        try:
            yield
            self.settle()
            self.records[number] = self.sizes(), self.group_sizes()
            names |= {name: dim for name, dim in matcher.names.items() if name in shared}
        finally:
            self._record, matcher.evaluate = outer, evaluate
        matcher.names, matcher.runs, matcher.pending = names, runs, pending

    def tensor(self, hint: TensorHint, value: Any, subject: str) -> None:
        """Fit a value to a tensor's annotation. Raises `Failed`."""
        is_tensor = isinstance(value, hint.cls) and isinstance(value, torch.Tensor)
        if not is_tensor and not (hint.cls is torch.Tensor and is_batched(value)):
            raise Failed(
                Message(
                    f'{subject} is {class_name(value)}, declared a tensor "{hint.spec.shape}"'
                    f"{_as_tensor(value)}"
                )
            )
        if hint.admits is not None and value.dtype not in hint.admits:
            actual = dtypes.describe(dtype_mask(value.dtype))
            raise Failed(
                Message(
                    f"{subject} is {actual}, declared {dtypes.declared(hint.spec.dtypes)}",
                    "shape-dtype",
                )
            )
        self._fit(Leaf(value, hint, subject, self._record))

    def array(self, hint: TensorHint, value: Any, subject: str) -> None:
        """Fit a value to the annotation of an array of numpy. Raises `Failed`.

        A tensor without memory stands for it: nothing but its shape is looked at.
        """
        if not isinstance(value, hint.cls):
            raise Failed(
                Message(f'{subject} is {class_name(value)}, declared an array "{hint.spec.shape}"')
            )
        kind = arrays.named(value.dtype.name)  # type: ignore[attr-defined]  # it is an array
        if not kind & hint.spec.dtypes:
            actual, wanted = dtypes.describe(kind), dtypes.declared(hint.spec.dtypes)
            raise Failed(Message(f"{subject} is {actual}, declared {wanted}", "shape-dtype"))
        with DisableTorchFunction():
            stand_in = torch.empty(value.shape, device="meta")  # type: ignore[attr-defined]
        self._fit(Leaf(stand_in, hint, subject, self._record))

    def _fit(self, leaf: Leaf) -> None:
        self.leaves.append(leaf)
        misfit = self.matcher.match(leaf.hint.spec.shape, self.shape_of(leaf.tensor))
        if misfit is not None:
            raise Failed(self.message(leaf, misfit))

    def message(self, leaf: Leaf, misfit: Misfit) -> Message:
        """Return what to say of a tensor that doesn't fit."""
        message = explain.boundary(
            leaf.subject,
            self.shape_of(leaf.tensor),
            leaf.hint.spec.shape,
            misfit,
            self.texts.get(leaf.subject),
            self.matcher.facts,
            self.matcher.names,
            free=free_of(leaf.tensor),
        )
        return explain.with_origins(message, misfit, self.matcher, self.origin)

    def settle(self) -> None:
        """Solve the equations that are left, once all arguments are known. Raises `Failed`."""
        misfit = self.matcher.settle()
        if misfit is None:
            return
        for leaf in self.leaves:
            if any(_says(entry, misfit.expected) for entry in leaf.hint.spec.shape.entries):
                shape = self.shape_of(leaf.tensor).dims
                if misfit.axis is not None and -len(shape) <= misfit.axis < len(shape):
                    if shape[misfit.axis] == misfit.actual:
                        raise Failed(self.message(leaf, misfit))
        raise Failed(Message(f"{misfit.actual} doesn't fit {misfit.expected}"))

    def lend(self, lengths: Mapping[str, int]) -> None:
        """Solve equations that are left with ints that are called like a name in them.

        One that solves none is something else.
        """
        for name, value in lengths.items():
            if value < 1 or not self.matcher.awaits(name):
                continue
            saved = self.save()
            self.matcher.names[name] = value
            if self.matcher.settle() is not None:
                self.restore(saved)

    def sizes(self) -> dict[str, int]:
        """Return the value of every name that is bound."""
        found = {name: value_of(dim, self.values) for name, dim in self.matcher.names.items()}
        return {
            name: value
            for name, value in found.items()
            if value is not None and not name.startswith("?")
        }

    def group_sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of every group that is bound."""
        found: dict[str, tuple[int, ...]] = {}
        for name, items in self.matcher.runs.items():
            sizes = [
                None if isinstance(item, Run) else value_of(item, self.values) for item in items
            ]
            if None not in sizes:
                # its own type says that `*#b` may still grow
                found[name] = type(items)(sizes)  # type: ignore[arg-type,assignment]
        return found

    def error(self, failed: Failed, place: Place | None) -> ShapeError:
        """Return the exception for what failed."""
        return ShapeError(failed.message, self.sizes(), None if place is None else str(place))


class Namer:
    """Gives tensors the names of their annotations, inside of one call.

    `sizes` and `groups` are what the call's names are bound to, or those of the record of this
    number, `braced` the dimensions that expressions stand for. `symbols` collects the values.
    """

    def __init__(
        self,
        plan: Plan,
        sizes: Mapping[str, int],
        groups: Mapping[str, tuple[int, ...]],
        braced: Braced | None = None,
        number: int | None = None,
    ) -> None:
        self.plan = plan
        self.origin = HERE if number is None else OfRecord(number)
        self.braced = braced or {}
        self.symbols: dict[Sym, int] = {self._symbol(n): size for n, size in sizes.items()}
        for dim, value in self.braced.values():
            self.symbols.update(dict.fromkeys(dims.symbols(dim), value))
        self.names: dict[str, DimExpr] = {name: Size.of(self._symbol(name)) for name in sizes}
        self.runs: dict[str, tuple[Item, ...]] = {}
        for group, parts in groups.items():
            run: list[Item] = []
            for index, size in enumerate(parts):
                if size == 1:  # which may broadcast where the group is written `*#b`
                    run.append(1)
                    continue
                label = f"*{group}" if len(parts) == 1 else f"{group}[{index}]"
                symbol = Sym(label, Kind.NAME, self.origin)
                self.symbols[symbol] = size
                run.append(Size.of(symbol))
            self.runs[group] = type(parts)(run)  # type: ignore[arg-type]

    def _symbol(self, name: str) -> Sym:
        own = self.origin is not HERE and name not in self.plan.dims
        return Sym(name, Kind.NAME, self.origin) if own else self.plan.symbol(name)

    def adopt(self, names: Mapping[str, DimExpr], runs: Mapping[str, tuple[Item, ...]]) -> None:
        """Let names and groups stand for these dimensions."""
        self.names.update(names)
        self.runs.update(runs)

    def record(self, text: spec.Spec, tensor: torch.Tensor) -> Record | None:
        """Return the names of a tensor by its annotation."""
        sizes = sizes_of(tensor)
        if sizes is None:
            return None
        places = entry_spread(text, len(sizes), {n: len(run) for n, run in self.runs.items()})
        if places is None:
            return None
        matcher = Matcher(ValueFacts(self.symbols), names=dict(self.names), runs=self.runs)
        found: list[DimExpr] = []
        for entry, start, stop in places:
            actual = sizes[start:stop]
            if isinstance(entry, spec.Axis):
                found.append(self._dim(matcher, entry, actual[0]))
                continue
            run = self.runs.get(entry.name or "", ())
            plain = entry.anonymous or entry.broadcast or entry.leaf or len(run) != len(actual)
            found += actual if plain else run  # type: ignore[arg-type]  # no Run among them
        return record(tuple(found), sizes, self.symbols)

    def _dim(self, matcher: Matcher, entry: spec.Axis, size: int) -> DimExpr:
        if isinstance(entry.expr, spec.Braces) and entry.expr.source in self.braced:
            own, value = self.braced[entry.expr.source]
            return own if value == size else size
        if entry.leaf or isinstance(entry.expr, spec.Wild | spec.Number | spec.Braces):
            return size
        if "{" in str(entry.expr):
            return size
        found = matcher.value(entry.expr)
        return size if found is None or value_of(found, self.symbols) != size else found


def _says(entry: spec.Entry, expected: str) -> bool:
    return isinstance(entry, spec.Axis) and expected in (str(entry), str(entry.expr))


def _as_tensor(value: Any) -> str:
    """Return how to give the tensor that is held by something in the place of one."""
    held = isinstance(getattr(value, "tensor", None), torch.Tensor)
    return "; write .tensor" if held else ""


def class_name(value: Any) -> str:
    """Return what messages call the class of a value."""
    return "None" if value is None else type(value).__name__
