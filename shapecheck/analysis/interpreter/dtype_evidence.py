"""Notes where it matters whether a tensor holds ints or floats, where that isn't known."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from shapecheck import dtypes
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.answers import DTYPES
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.parts import FORMS
from shapecheck.ops import DType, Repeated
from shapecheck.shapes import Facts, Mismatch, Tensor
from shapecheck.signatures import Signature


def mind_call(
    frame: Frame,
    signature: Signature,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
) -> None:
    """Note a call that fails with ints, or with floats, for tensors that may hold either."""
    if not frame.program.supposing or not any(map(_is_open, _tensors((*args, *kwargs.values())))):
        return
    minding = frame.program.memo.minding
    kinds = [*map(_kind, args), *((name, _kind(value)) for name, value in kwargs.items())]
    question = signature.name, instance is None, *kinds
    if question not in minding:
        minding[question] = any(
            _fails(signature, frame.state.facts, args, kwargs, instance, kind)
            for kind in (dtypes.SIGNED, dtypes.FLOAT)
        )
    if minding[question]:
        frame.program.memory.asked.add(DTYPES)


def mind_declared(frame: Frame, declared: dtypes.DTypes, tensor: Tensor | None) -> None:
    """Note a tensor that may hold what is declared, or something else."""
    if frame.program.supposing and tensor is not None and tensor.dtype & ~declared:
        frame.program.memory.asked.add(DTYPES)


def _is_open(tensor: Tensor) -> bool:
    return bool(tensor.dtype & dtypes.SIGNED and tensor.dtype & dtypes.FLOAT)


def _tensors(value: Value) -> Iterator[Tensor]:
    """Yield the tensors that are, or are in, an argument."""
    match value:
        case Tensor():
            yield value
        case Repeated(element=element):
            yield from _tensors(element)
        case list() | tuple():
            for item in value:
                yield from _tensors(item)


def _kind(value: Value) -> Hashable:
    """Return what of an argument may matter to the dtypes that a call takes."""
    match value:
        case Tensor(shape=shape, dtype=dtype):  # one that is 0-d gives way in promotion
            return dtype, shape.rank if shape.rank is None else min(shape.rank, 1)
        case DType() | bool():
            return value
    form = FORMS.get(type(value))
    inside = None if form is None else frozenset(map(_kind, form.parts(value)))
    return type(value).__name__, inside


def _fails(
    signature: Signature,
    facts: Facts,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
    kind: dtypes.DTypes,
) -> bool:
    """Whether a call goes wrong for the dtypes, where open ones are of a kind."""
    given = [_of(value, kind) for value in args]
    named = {name: _of(value, kind) for name, value in kwargs.items()}
    try:
        signature.apply(facts.copy(), given, named, instance=instance)
    except Mismatch as mismatch:
        return mismatch.problem.code == "shape-dtype"
    return False


def _of(value: Value, kind: dtypes.DTypes) -> Value:
    """Return an argument with the tensors that may be of a kind, and of another, of that one."""
    match value:
        case Tensor():
            return replace(value, dtype=value.dtype & kind) if _is_open(value) else value
        case Repeated(element=element):
            return replace(value, element=_of(element, kind))
        case list() | tuple():
            return type(value)(_of(item, kind) for item in value)
    return value
