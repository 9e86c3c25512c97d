"""Each kind of value has who answers for it, and says what it is made of."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from types import EllipsisType

from shapecheck.analysis import kinds as room
from shapecheck.analysis.interpreter.kinds import kinds
from shapecheck.analysis.program import model as names
from shapecheck.analysis.values import model
from shapecheck.analysis.values.parts import FORMS
from shapecheck.analysis.values.state import CONTENTS
from shapecheck.dims import Composite, Size, Sym
from shapecheck.ops import Packed, Repeated, Scalar
from shapecheck.ops.call import Opaque
from shapecheck.shapes import Run

ANSWER_NOTHING = {
    # What rules hand on and programs don't get to ask anything of.
    Composite,
    Repeated,
    Run,
    Scalar,
    Sym,
    bytes,
    complex,
    dict,
    list,
    slice,
    EllipsisType,
    # Made once and looked for by whoever uses it, as `Shaped` is by annotations.
    model.Shaped,
    names.Nothing,
}
PLACED = {names.Function, names.Class, model.Ref}  # by `heap.Moving`, as a whole


def classes() -> Iterator[type]:
    """Yield the classes of the analysis' own values."""
    assert room is not None  # imported, so that kinds are registered
    for module in (names, model):
        for one in vars(module).values():
            if isinstance(one, type) and one.__module__ == module.__name__:
                if issubclass(one, Opaque):
                    yield one


def test_every_kind_of_value_answers() -> None:
    """There is a `Kind` for each class of values, and for each content of the heap."""
    contents = set(typing.get_args(model.Content)) - {type(None)}
    missing = {*classes(), *contents} - kinds() - ANSWER_NOTHING
    assert not missing, f"write a Kind in analysis/kinds/ for {missing}"


def test_every_content_of_the_heap_is_joined() -> None:
    """Where two paths meet, what each content holds is found by its class."""
    contents = set(typing.get_args(model.Content)) - {type(None)}
    assert contents == CONTENTS.keys()


def test_nobody_answers_who_is_said_not_to() -> None:
    """The list of those without a `Kind` names nothing that has one."""
    assert not ANSWER_NOTHING & kinds()


def test_values_with_values_in_them_are_taken_apart() -> None:
    """A class with values or sizes among its fields has a `Form`, so that they can be replaced."""
    holding = {
        one
        for one in classes()
        if dataclasses.is_dataclass(one)
        for field in dataclasses.fields(one)
        if any(word in str(field.type) for word in ("Value", "IntSize", "Content"))
    }
    missing = holding - FORMS.keys() - PLACED
    assert not missing, f"write a Form in values/parts.py for {missing}"


def test_a_size_in_a_range_is_replaced() -> None:
    """What a range begins and ends with are parts of it."""
    one, two = Size.of(Sym("n")), Size.of(Sym("m"))
    form = FORMS[model.Range]
    found = model.Range(0, one, 2)
    assert form.parts(found) == (0, one)
    assert form.made(found, [0, two]) == model.Range(0, two, 2)


def test_packed_sequences_answer() -> None:
    """A kind of value of the rules' that programs do ask has who answers."""
    assert Packed in kinds()
