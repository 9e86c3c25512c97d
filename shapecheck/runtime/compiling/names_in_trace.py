"""Names while `torch.compile` traces: on the tensors that it traces with, as an attribute.

The table that holds names elsewhere is out of sight there. A rule is asked at the time of tracing
and what it says is a constant of the trace, so that nothing of it is left in what is compiled.
Only functions that use operations by name (`shapecheck.named`) are traced with names.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias, TypeVar

import torch
from torch.overrides import TorchFunctionMode

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.dims import DimExpr, Kind, symbols
from shapecheck.ops import UNKNOWN, Scalar, Value
from shapecheck.runtime.annotations.hints import MaybeHint, TensorHint
from shapecheck.runtime.annotations.plan import Plan, entry_spread
from shapecheck.runtime.naming import ops
from shapecheck.shapes import Facts, Matcher, Run, Shape
from shapecheck.shapes import Tensor as Known

Texts: TypeAlias = tuple[str | None, ...]
"""What the dimensions of a tensor are called, None for one without a name."""

Function = TypeVar("Function", bound=Callable[..., Any])


def constant(function: Function) -> Function:
    """Have `torch.compile` call a function as it traces, and take the result for a constant.

    What `torch.compiler.assume_constant_result` does, which imports all of the compiler.
    """
    function.__dict__["_dynamo_marked_constant"] = True
    return function


ATTRIBUTE: Final = "_shapecheck_names"
_TENSOR: Final = "tensor:"
_NUMBER: Final = "number:"
_SLICE: Final = "slice:"
_UNKNOWN: Final = "unknown:"


# Reading and writing the attribute: this is traced ------------------------------------------------


def texts_of(tensor: torch.Tensor) -> Texts:
    """Return what the dimensions of a tensor are called in the trace."""
    found: Texts | None = getattr(tensor, ATTRIBUTE, None)
    return (None,) * tensor.dim() if found is None or len(found) != tensor.dim() else found


def write(tensor: torch.Tensor, texts: Texts) -> torch.Tensor:
    """Say what the dimensions of a tensor are called in the trace."""
    tensor._shapecheck_names = texts  # type: ignore[attr-defined]
    return tensor


def carried(function: Callable[..., Any], args: Sequence[Any], kwargs: Any, whole: bool) -> Any:
    """Call a torch function, and name what it gives by its rule, if that is one tensor.

    `whole`: the numbers among the arguments are constants, and can be told to the rule.
    """
    result = function(*args, **kwargs)
    texts = named_by(function, _told(args, whole), _told(kwargs.values(), whole), tuple(kwargs))
    if isinstance(result, torch.Tensor):
        if texts is not None and len(texts) == result.dim():
            write(result, texts)
    return result


def _told(args: Any, whole: bool) -> tuple[Any, ...]:
    """Return arguments as a rule is told them; Dynamo traces this, and folds `isinstance` alone."""
    told: list[Any] = []
    for arg in args:
        if isinstance(arg, torch.Tensor):
            told.append((_TENSOR, *texts_of(arg)))
        elif isinstance(arg, (tuple, list)):
            told.append(_told(arg, whole))
        elif isinstance(arg, (bool, str)) or arg is None:
            told.append(arg)
        elif isinstance(arg, (int, float)):
            told.append(arg if whole else _NUMBER)
        elif isinstance(arg, slice) and whole:
            told.append((_SLICE, arg.start, arg.stop, arg.step))
        else:
            told.append(_UNKNOWN)
    return tuple(told)


class TraceMode(TorchFunctionMode):
    """Carries names through the ops of a function that is traced."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call an op and name its result."""
        return carried(func, args, kwargs or {}, takes_axes(func))


TRACE: Final = TraceMode()


def wrapper(plan: Plan) -> Callable[..., Any]:
    """Return what is traced in the place of a function: the same, with names."""
    function, declared = plan.function, _declared(plan)

    def traced(*args: Any, **kwargs: Any) -> Any:
        for place, name, text in declared:
            value = args[place] if place < len(args) else kwargs.get(name)
            if isinstance(value, torch.Tensor):
                write(value, annotated(text, value.dim()))
        with TRACE:
            return function(*args, **kwargs)

    return traced


# Asked at the time of tracing: this isn't traced --------------------------------------------------


def _declared(plan: Plan) -> tuple[tuple[int, str, str], ...]:

    def called(name: re.Match[str]) -> str:
        """Return what an axis is called that stands for a dimension object."""
        dim = plan.dims.get(name[0])
        return name[0] if dim is None else dim.name

    found = []
    for place, param in enumerate(plan.params):
        hint = param.hint.tensor if isinstance(param.hint, MaybeHint) else param.hint
        if isinstance(hint, TensorHint):
            far = place if param.kind is not inspect.Parameter.KEYWORD_ONLY else sys.maxsize
            found.append((far, param.name, _NAME.sub(called, str(hint.spec.shape))))
    return tuple(found)


_NAME: Final = re.compile(r"(?<![\w.{])[^\W\d]\w*")


@constant
def annotated(text: str, rank: int) -> Texts:
    """Return what the dimensions of an annotated tensor are called."""
    places = entry_spread(spec.parse(text), rank, {})
    if places is None:
        return (None,) * rank
    found: list[str | None] = []
    for entry, start, stop in places:
        plain = isinstance(entry, spec.Axis) and not (
            isinstance(entry.expr, (spec.Wild, spec.Number)) or "{" in str(entry)
        )
        found += [str(entry.expr) if plain else None] * (stop - start)  # type: ignore[union-attr]
    return tuple(found)


@constant
def takes_axes(function: Callable[..., Any]) -> bool:
    """Whether the numbers that an op takes are indices of axes, which are constants."""
    signature = ops.signature_of(function)
    return signature is not None and (
        "by_axis" in signature.flags or any(param.axis for param in signature.params)
    )


@constant
def named_by(
    function: Callable[..., Any], args: Sequence[Any], values: Sequence[Any], keys: Sequence[str]
) -> Texts | None:
    """Return what the dimensions of an op's result are called, by the op's rule."""
    signature = ops.signature_of(function)
    if signature is None:
        return None
    given = dict(zip(keys, map(_value, values), strict=True))
    return texts(signature.apply(Facts(), [_value(arg) for arg in args], given))


def _value(told: Any) -> Value:
    if isinstance(told, tuple):
        if told[:1] == (_TENSOR,):
            return Known(shape(told[1:]))
        if told[:1] == (_SLICE,):
            return slice(*told[1:])
        return tuple(map(_value, told))
    if told == _NUMBER:
        return Scalar(dtypes.INT64)
    return UNKNOWN if told == _UNKNOWN else told


def shape(names: Texts) -> Shape:
    """Return the shape of dimensions that are called so."""
    return Shape(tuple(dims.unknown() if name is None else _dim(name) for name in names))


@lru_cache(maxsize=4096)
def _dim(text: str) -> DimExpr:
    entries = spec.parse(text)
    names = {name: dims.name(name) for name in entries.names()}
    (item,) = Matcher(Facts(), names=dict(names)).build(entries).dims
    assert not isinstance(item, Run)
    return item


def texts(value: Value) -> Texts | None:
    """Return what the dimensions of a result are called, None where that isn't known."""
    if isinstance(value, Known):
        known = value.shape.known
        return None if known is None else tuple(map(_text, known))
    return None


def _text(item: DimExpr) -> str | None:
    inside = symbols(item)
    return str(item) if inside and all(s.kind is Kind.NAME for s in inside) else None


# Which functions are traced with names ------------------------------------------------------------


def uses_names(function: FunctionType) -> bool:
    """Whether a function uses operations by name, and so needs the names of its tensors."""
    scope = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # nothing is in it yet
            scope[name] = cell.cell_contents
    return any(map(_is_by_name, map(scope.get, _mentioned(function.__code__))))


def _mentioned(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield from _mentioned(held)


_HOME: Final = "shapecheck.named"


def _is_by_name(value: object) -> bool:
    if isinstance(value, type(sys)):
        return value.__name__ == _HOME
    home = getattr(value, "__module__", None) if callable(value) else None
    return isinstance(home, str) and (home == _HOME or home.startswith(_HOME + "."))
