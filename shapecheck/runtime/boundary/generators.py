"""What generators yield, are sent and return, checked as it comes.

Each item is judged by the names that the arguments bound. Names that only the items have are bound
anew by each, as the last batch may be smaller.
"""

from __future__ import annotations

import ast
import collections.abc
import typing
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch

from shapecheck.runtime.annotations import instance_dims
from shapecheck.runtime.annotations.hints import Hint, MaybeHint, OtherHint, TensorHint, classify
from shapecheck.runtime.annotations.plan import Plan
from shapecheck.runtime.boundary.binding import Binding
from shapecheck.runtime.boundary.checks import Bound
from shapecheck.runtime.boundary.containers import fit_value
from shapecheck.runtime.errors import Failed, ShapeError, own_fault
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.settings import stands_aside
from shapecheck.runtime.source import Place, function_of, return_place, user_place
from shapecheck.tensor_spec import ShapeAnnotationError

_ITERATORS: Final[frozenset[object]] = frozenset(
    (
        collections.abc.Iterator,
        collections.abc.Iterable,
        collections.abc.AsyncIterator,
        collections.abc.AsyncIterable,
    )
)
_GENERATORS: Final[frozenset[object]] = frozenset(
    (collections.abc.Generator, collections.abc.AsyncGenerator)
)
_REMEMBERED: Final = 256


@dataclass(frozen=True, slots=True)
class Parts:
    """What a generator's annotation asks for of each thing that goes in or out."""

    yielded: Hint = None
    sent: Hint = None
    returned: Hint = None


def parts(result: Hint) -> Parts | None:
    """Return what is to be checked of a generator whose result has this annotation, if anything."""
    if not isinstance(result, OtherHint) or not result.tensors:
        return None
    origin, args = typing.get_origin(result.annotation), typing.get_args(result.annotation)
    if origin in _ITERATORS:
        hints = [_shaped(arg) for arg in args[:1]]
    elif origin in _GENERATORS:
        hints = [_shaped(arg) for arg in args]
    else:
        return None
    return Parts(*hints) if any(hint is not None for hint in hints) else None


def _shaped(annotation: Any) -> Hint:
    hint = classify(annotation)
    return None if isinstance(hint, OtherHint) and not hint.tensors else hint


class Checks:
    """The checks of one generator object; `bound` is what the arguments bound."""

    def __init__(
        self, plan: Plan, asked: Parts, values: Sequence[Any], bound: Bound, made: Any
    ) -> None:
        self.plan, self.asked = plan, asked
        self.made = made
        self.scope = {p.name: value for p, value in zip(plan.params, values, strict=True)}
        held = {**plan.fixed, **instance_dims.held(plan.own, values[0] if values else None)}
        self.names = {**{n: size for n, size in bound[0].items() if size is not None}, **held}
        self.runs = dict(bound[1])
        self.seen: set[object] = set()

    def yielded(self, value: Any) -> None:
        """Check what is yielded. Raises `ShapeError`."""
        self.check(self.asked.yielded, value, "yielded value", self.yield_place)

    def resumed(
        self, value: Any, advance: Callable[[], Any], send: Callable[[Any], Any]
    ) -> Callable[[], Any]:
        """Check what is sent, and return what goes on with it. Raises `ShapeError`."""
        if value is None:
            return advance
        subject = f'value sent to "{self.plan.label}"'
        self.check(self.asked.sent, value, subject, lambda: (user_place(), None))
        return partial(send, value)

    def returned(self, value: Any) -> None:
        """Check what is returned. Raises `ShapeError`."""
        place, texts = return_place(self.plan.function)
        self.check(
            self.asked.returned, value, "returned value", lambda: (place, " ".join(texts[:1]))
        )

    def check(
        self,
        hint: Hint,
        value: Any,
        subject: str,
        where: Callable[[], tuple[Place | None, str | None]],
    ) -> None:
        """Fit a value to its annotation."""
        if hint is None or stands_aside():
            return
        try:
            with DisableTorchFunction():
                key = self.key(hint, value)
                if key is not None and key in self.seen:
                    return
                self.fit(hint, value, subject, where)
                if key is not None and len(self.seen) < _REMEMBERED:
                    self.seen.add(key)
        except (ShapeError, ShapeAnnotationError):
            raise
        except Exception as error:  # noqa: BLE001 - a defect here must not break the program
            own_fault(f"to check what {self.plan.label} yields", error)

    def key(self, hint: Hint, value: Any) -> object:
        """Return what decides whether a single tensor fits."""
        if not isinstance(hint, TensorHint | MaybeHint) or value.__class__ is not torch.Tensor:
            return None
        return None if value.is_nested else (id(hint), tuple(value.shape), value.dtype)

    def fit(
        self,
        hint: Hint,
        value: Any,
        subject: str,
        where: Callable[[], tuple[Place | None, str | None]],
    ) -> None:
        """Fit a value to its annotation, and find the words where it doesn't."""
        binding = Binding(self.plan, self.scope, names=dict(self.names), runs=dict(self.runs))
        try:
            fit_value(binding, hint, value, subject)
            binding.settle()
        except Failed:
            place, text = where()
            spoken = f'{subject} "{text}"' if text and len(text) <= 40 else subject
            again = Binding(self.plan, self.scope, names=dict(self.names), runs=dict(self.runs))
            again.texts = {spoken: text} if text else {}
            try:
                fit_value(again, hint, value, spoken)
                again.settle()
            except Failed as failed:
                raise again.error(failed, place) from None

    def yield_place(self) -> tuple[Place | None, str | None]:
        """Return the line at which the generator stands, and what is yielded there."""
        frame = getattr(self.made, "gi_frame", None) or getattr(self.made, "ag_frame", None)
        if frame is None:
            return None, None
        tree = function_of(frame.f_code)
        nodes = [
            node
            for node in (ast.walk(tree) if tree is not None else ())
            if isinstance(node, ast.Yield)
            and node.value is not None
            and node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno)
        ]
        text = ast.unparse(nodes[0].value) if len(nodes) == 1 and nodes[0].value else None
        return Place(frame.f_code, frame.f_lineno, None, tree), text


def checked(made: Generator[Any, Any, Any], checks: Checks) -> Generator[Any, Any, Any]:
    """Yield what a generator yields, and check it."""
    step: Callable[[], Any] = made.__next__
    try:
        while True:
            try:
                item = step()
            except StopIteration as stop:
                checks.returned(stop.value)
                return stop.value
            checks.yielded(item)
            try:
                sent = yield item
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - what is thrown in goes on inside
                step = partial(made.throw, error)
                continue
            step = checks.resumed(sent, made.__next__, made.send)
    finally:
        made.close()


DELEGATE: Final = """
{step} = {made}.__anext__
try:
    while True:
        try:
            {item} = await {step}()
        except StopAsyncIteration:
            return
        if {checks} is not None:
            {checks}.yielded({item})
        try:
            {sent} = yield {item}
        except GeneratorExit:
            raise
        except BaseException as {thrown}:
            {step} = {partial}({made}.athrow, {thrown})
            continue
        if {checks} is not None:
            {step} = {checks}.resumed({sent}, {made}.__anext__, {made}.asend)
        else:
            {step} = {made}.__anext__ if {sent} is None else {partial}({made}.asend, {sent})
finally:
    await {made}.aclose()
"""
"""What an async generator is that stands for another, since there is no `yield from` for one."""
