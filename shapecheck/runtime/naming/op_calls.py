"""A call of an op as its rule sees it: tensors with their names, and sizes that are told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType, NoneType
from typing import Any, Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import Composite, Dim, Size, Sym, symbols
from shapecheck.dtypes import ANY
from shapecheck.ops import UNKNOWN, DType, Value
from shapecheck.ops.math import ragged
from shapecheck.runtime.annotations.hints import dtype_mask
from shapecheck.runtime.naming import ops
from shapecheck.runtime.naming.arguments import HOLDERS, NUMBERS, by_class, each_in
from shapecheck.runtime.naming.call_names import CallNames
from shapecheck.runtime.naming.facts import ValueFacts
from shapecheck.runtime.naming.int_origins import (
    GIVEN,
    JOINING,
    PassedSizes,
    any_number,
    is_told,
    numbers,
)
from shapecheck.runtime.naming.records import apart, dtype_of, plain_shape, sizes_of
from shapecheck.runtime.naming.regroup import REGROUPING, solved
from shapecheck.shapes import Mismatch, Problem, Shape
from shapecheck.shapes import Tensor as Known
from shapecheck.signatures import Signature


class Question:
    """One call of an op, as its rule sees it."""

    def __init__(
        self,
        frame: CallNames,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        strict: bool = False,
        dtypes: bool = False,
    ) -> None:
        self.func = func
        self.frame = frame
        self.tensors: list[torch.Tensor] = []
        self.known: list[Known] = []
        self.values: dict[Any, int] = {}
        self.strict = strict
        self.dtypes = dtypes or strict or func in ops.DTYPE_MATTERS
        self.raw = (args, kwargs)
        self.args = [self.convert(arg) for arg in args]
        self.kwargs = {name: self.convert(arg) for name, arg in kwargs.items()}
        self.signature: Signature | None = ops.signature_of(func)
        self.numbers: tuple[Sequence[Value], Mapping[str, Value]] = (self.args, self.kwargs)
        self.told = self.sure = False
        self.passed: PassedSizes | None = None

    def tell(self, passed: PassedSizes) -> None:
        """Put dimensions in the place of the numbers that are known to be some."""
        self.passed = passed
        if self.func in JOINING:
            return
        params = () if self.signature is None else self.signature.params
        names = [param.name for param in itertools.takewhile(lambda one: not one.star, params)]
        told = passed.told(self.args, self.kwargs, self.func, names, self.values)
        self.args, self.kwargs, self.sure = told
        for symbol, value in passed.values().items():
            self.values.setdefault(symbol, value)
        listed = [arg for arg in self.given if isinstance(arg, tuple | list)]
        self.told = is_told(listed or self.given)  # beside sizes in a tuple stands an axis

    def convert(self, arg: Any) -> Value:
        """Return an argument as rules see it."""
        return by_class(_SEEN, arg)(self, arg)

    def dimension(self, arg: Dim) -> Value:
        """Return a dimension object that has a size: torch takes its `__index__`."""
        if not isinstance(arg.size, int):
            return UNKNOWN
        self.values.update({s: s.size for s in symbols(arg.dim) if isinstance(s.size, int)})
        return arg.dim

    def tensor(self, arg: torch.Tensor) -> Known:
        """Return a tensor with the names that the running call knows."""
        found = self.frame.of(arg)
        mask = dtype_mask(dtype_of(arg)) if self.dtypes else ANY
        sizes = sizes_of(arg)
        if sizes is None:
            made = Known(Shape.unknown(), mask)
        elif found is None or found.sizes != sizes:
            made = Known(Shape(sizes), mask)
        else:
            found = apart(found, self.values)
            made = Known(Shape(found.dims), mask, found.inserted, blank=found.blank)
            self.values.update(found.values)
        self.tensors.append(arg)
        self.known.append(made)
        return made

    def with_dtypes(self) -> Question:
        """Return the same question, with what is known of the operands' dtypes."""
        return Question(self.frame, self.func, *self.raw, dtypes=True)

    def answer(
        self,
        label: str = "",
        replaced: Mapping[int, Known] | None = None,
        meant: bool = False,
    ) -> Value:
        """Return what the rule says of the result; raises `Mismatch`.

        `replaced` puts other tensors in the place of some, by their index in `known`.
        `meant`: see `Call`.
        """
        if self.signature is None:
            return UNKNOWN
        args, kwargs = (self.args, self.kwargs) if replaced is None else self.numbers
        if replaced:
            by_identity = {id(self.known[index]): new for index, new in replaced.items()}
            args = [_swapped(arg, by_identity) for arg in args]
            kwargs = {name: _swapped(arg, by_identity) for name, arg in kwargs.items()}
        facts = ValueFacts(self.values, self.strict)
        try:
            return self.signature.apply(facts, args, kwargs, label, meant=meant)
        except Mismatch as refused:
            # The rule's frames know it, and it them: the operands would wait for the collector.
            raise refused.with_traceback(None) from None

    def named_surely(self, known: Value) -> Value:
        """Return a result without the names that it has only if a number is what it seems to be."""
        if self.func in JOINING and isinstance(known, Known):
            return self._joined(known)
        made = self.func in GIVEN and not self.known
        if self.func in REGROUPING:
            items = [item for one in self.known for item in one.shape.dims]
            unsure = not self.sure or any(isinstance(item, int) and item > 1 for item in items)
        else:
            unsure = made and not self.sure
        return solved(known, self.known, self.given) if unsure else known

    def _joined(self, known: Known) -> Known:
        """Return tensors put together, without what only a number makes of their names.

        With 3 for `s-t`, `cat` of `t` and 3 isn't `t+3`; one that is 1 is one everywhere. Nor is it
        `3*t` of a list that the program makes of three, and next time of as many as it likes.
        """
        many = self.passed is not None and not self.passed.lists(len(self.known))
        found = list(known.shape.dims)
        alike = [one.shape for one in self.known if one.shape.rank == known.shape.rank]
        for axis, item in enumerate(found):
            parts = [shape.at(axis) for shape in alike]
            numbers_in = [part for part in parts if isinstance(part, int) and part != 1]
            if not isinstance(item, Size) or (item in parts and 0 not in numbers_in):
                continue  # it isn't the one along which they are put together
            if any(isinstance(one, Composite) and _has_number(one) for one in parts):
                found[axis] = dims.unknown()
                continue
            if numbers_in:
                number = sum(numbers_in)
                item = item - number + self._any_number(number)
            for one in dict.fromkeys(parts) if many else ():
                times = parts.count(one)
                if times > 2 and isinstance(one, Size):
                    item = item - one * times + one * self._any_number(times, "parts")
            found[axis] = item
        return known.with_shape(Shape(tuple(found)))

    def _any_number(self, value: int, name: str = "_") -> Size:
        """Return a symbol for a number that may be another one the next time."""
        number = any_number(value, name)
        self.values.update(numbers([number]))
        return number

    @property
    def given(self) -> list[Value]:
        """What is given but for tensors: sizes, axes and the like."""
        return [arg for arg in (*self.args, *self.kwargs.values()) if not isinstance(arg, Known)]

    def padded(self, known: Value) -> Sym | None:
        """Return the padded dimension that an op counts the padding of, by its rule's answer."""
        if self.signature is None:
            return None
        return ragged.blind(self.signature.flags, self.args, self.kwargs, known)

    def by_names(self, problem: Problem) -> bool:
        """Whether an op is refused for its names alone: with plain sizes the rule accepts it.

        Otherwise torch decides, so that a wrong rule is no false alarm.
        """
        if problem.code == "shape-dtype":
            return False
        try:
            self.answer(replaced=self.plain())
        except Mismatch:
            return False
        return True

    def plain(self) -> dict[int, Known]:
        """Return the tensors without names, by their index in `known`."""
        return {
            index: Known(plain_shape(tensor), known.dtype)
            for index, (tensor, known) in enumerate(zip(self.tensors, self.known, strict=True))
        }


def _has_number(dim: Composite) -> bool:
    return any(isinstance(part, int) for part in dim.parts)


def _swapped(arg: Value, new: Mapping[int, Known]) -> Value:
    if isinstance(arg, tuple | list):
        return each_in(arg, lambda item: _swapped(item, new))
    return new.get(id(arg), arg)


_SEEN: Final[Mapping[type, Callable[[Question, Any], Value]]] = {
    object: lambda question, arg: UNKNOWN,
    torch.Tensor: Question.tensor,
    torch.dtype: lambda question, arg: DType(dtype_mask(arg)),
    Dim: Question.dimension,
    **dict.fromkeys(HOLDERS, lambda question, arg: each_in(arg, question.convert)),
    **dict.fromkeys((*NUMBERS, str, NoneType, EllipsisType), lambda question, arg: arg),
}
"""An argument as rules see it, by its class."""
