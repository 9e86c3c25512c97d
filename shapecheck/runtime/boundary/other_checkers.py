"""Checks a tensor for a checker that isn't ours, which knows of one value at a time.

The names of tensors have no part in it: the function that is checked isn't one of ours, and what
its caller calls a dimension is another name. In a call of jaxtyping's its names are the call's,
those of jaxtyping's own types too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, Final

import torch

from shapecheck.dims import IntSize
from shapecheck.ops.arrays import promotion as arrays
from shapecheck.runtime.annotations.hints import admitted
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.facts import ValueFacts
from shapecheck.runtime.naming.records import plain_shape
from shapecheck.shapes import Matcher, Shape
from shapecheck.tensor_spec import TensorSpec

Memos = tuple[dict[str, Any], dict[str, Any], Any, dict[str, Any]]
_OURS: Final = "~~delete~~shapecheck"  # jaxtyping shows no name that begins so
_warned: set[str] = set()


def is_array(cls: type) -> bool:
    """Whether a class is that of numpy's arrays, which a program that has one has imported."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(cls, numpy.ndarray)


def fits(value: object, spec: TensorSpec) -> bool:
    """Whether a tensor or an array fits a spec; whether it is one is the checker's own affair."""
    if torch.compiler.is_compiling():
        return True
    with DisableTorchFunction():
        if isinstance(value, torch.Tensor):
            admits = admitted(spec.dtypes)
            if admits is not None and value.dtype not in admits:
                return False
            shape = plain_shape(value)
        elif is_array(type(value)):
            if not arrays.named(value.dtype.name) & spec.dtypes:  # type: ignore[attr-defined]
                return False
            shape = Shape(value.shape)  # type: ignore[attr-defined]  # it is an array
        else:
            return True
        memos = _memos()
        matcher = _matcher(spec, memos)
        if matcher.match(spec.shape, shape) or matcher.settle():
            return False
        _keep(matcher, memos)
    return True


def in_jaxtyped() -> bool:
    """Whether a call of jaxtyping's is under way: outside of one it makes its memos anew."""
    return "jaxtyping" in sys.modules and _memos()[0] is _memos()[0]


def _memos() -> Memos:
    """Return what jaxtyping keeps of its innermost call: of names, groups, trees, arguments."""
    nothing: Memos = ({}, {}, {}, {})
    if "jaxtyping" not in sys.modules:
        return nothing
    try:
        from jaxtyping._storage import get_shape_memo

        found: Memos = get_shape_memo()  # type: ignore[no-untyped-call]  # jaxtyping's own
        return found
    except (ImportError, ValueError):
        _warn_once(
            "this jaxtyping has no _storage.get_shape_memo: tensors are checked one by one, and "
            "their sizes aren't compared; put @shapecheck in the place of @jaxtyped"
        )
        return nothing


def _matcher(spec: TensorSpec, memos: Memos) -> Matcher:
    """Return a matcher with what was bound in this call."""
    singles, groups, _, arguments = memos

    def evaluate(source: str) -> IntSize | None:
        return _value(source, arguments)

    matcher = Matcher(ValueFacts({}, strict=True), evaluate)
    names, runs, pending = singles.get(_OURS, ({}, {}, ()))
    fixed = {name: dim.size for name, dim in spec.dims if isinstance(dim.size, int)}
    theirs = {name: size for name, size in singles.items() if not name.startswith("~~")}
    known = {name: sizes for name, (grows, sizes) in groups.items() if not grows}
    matcher.names.update(theirs | fixed | names)
    matcher.runs.update({name: tuple(sizes) for name, sizes in known.items()} | runs)
    matcher.pending.extend(pending)
    return matcher


def _keep(matcher: Matcher, memos: Memos) -> None:
    """Let what is bound hold for the rest of the call."""
    singles, groups, _, _ = memos
    names = {name: dim for name, dim in matcher.names.items() if not name.startswith("?")}
    runs = {name: run for name, run in matcher.runs.items() if not name.startswith("?")}
    for name, dim in names.items():
        if isinstance(dim, int):
            singles.setdefault(name, dim)
    for name, run in runs.items():
        groups.setdefault(name, (type(run) is not tuple, tuple(run)))
    # made anew: jaxtyping takes a copy back where one of several alternatives doesn't fit
    singles[_OURS] = names, runs, tuple(matcher.pending)


def _value(source: str, arguments: Mapping[str, Any]) -> IntSize | None:
    """Return the value of a `{...}` expression over the call's arguments, if it has one here."""
    try:
        value = eval(source, dict(arguments))
    except Exception:  # noqa: BLE001 - without the call's arguments nothing is known
        return None
    return value if isinstance(value, int) else None


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
