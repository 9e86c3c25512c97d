"""Compares op rules with torch: on numbers, on names, and where shapes are known in part only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

import shapecheck.dims as dims
from shapecheck import dtypes, shapes
from shapecheck.dims import Kind, Size, Sym
from shapecheck.ops import UNKNOWN, Repeated
from shapecheck.shapes import Facts, Mismatch, Run, Shape, Tensor
from shapecheck.signatures import table

REFUSALS = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AssertionError)


def parse(text: str, dtype: int = dtypes.ANY) -> Tensor:
    """Return a tensor from an annotation, `"b 3 (h d) h//2 <d> _ *batch ..."`."""
    from shapecheck import spec

    def default(name: str) -> Any:
        return dims.unknown() if name == "_" else dims.name(name)

    matcher = shapes.Matcher(Facts(), dims.own)
    built = matcher.build(spec.parse(text), default, lambda name: Run(Sym(name, Kind.NAME)))
    return Tensor(built, dtype)


def show(value: Any) -> Any:
    """Return a rule's result as text: shapes as `"b t d"`, tuples as tuples."""
    if isinstance(value, Tensor):
        return value.shape.text()
    if isinstance(value, (tuple, list)):
        return tuple(show(item) for item in value)
    return value


def apply(name: str, *args: Any, facts: Facts | None = None, **kwargs: Any) -> Any:
    """Apply an op by its dotted name."""
    signature = table().signature(name)
    assert signature is not None, f"there is no signature of {name}"
    return signature.apply(Facts() if facts is None else facts, args, kwargs, name)


def forward(name: str, init: tuple[Any, Mapping[str, Any]], *args: Any, **kwargs: Any) -> Any:
    """Construct a module by its dotted name and call it."""
    cls = table().lookup_class(name)
    assert cls is not None, f"there is no class {name}"
    attrs = cls.construct(*init)
    assert attrs is not None, f"the arguments don't fit {name}"
    method = cls.method("forward")
    assert method is not None
    return method.apply(Facts(), args, kwargs, name, attrs)


def refusal(call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Return the error of a call as a person reads it, headline and reason."""
    try:
        found = call(*args, **kwargs)
    except Mismatch as error:
        return f"{error.problem.headline}: {error.problem.reason}"
    raise AssertionError(f"no error, the result is {show(found)}")


def named(size: int) -> int | Size:
    """Return the name that stands for a size; 0 and 1 stay numbers."""
    return size if size < 2 else dims.name(f"n{size}")


def numbers(size: int) -> int | Size:
    """Return a size as it is."""
    return size


def products(*values: Any) -> Callable[[int], int | Size]:
    """Return names for sizes such that a size that is a product of others is that product.

    `(n5 n5 n5)` viewed as `(25 5)` is possible only if 25 is `n5*n5`.
    """
    found: dict[int, int | Size] = {}
    for size in sorted(_sizes(values)):
        found[size] = _product(size, found) or named(size)
    return lambda size: found[size]


def _product(size: int, found: Mapping[int, int | Size]) -> int | Size | None:
    """Return a size as a product of those that have a name; None where it isn't one."""
    for factor, name in found.items():
        if 1 < factor <= size and size % factor == 0:
            rest = 1 if factor == size else _product(size // factor, found)
            if rest is not None:
                return name * rest
    return None


def _sizes(value: Any) -> set[int]:
    if isinstance(value, torch.Tensor):
        return set(value.shape)
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return {size for item in value for size in _sizes(item)}
    return set()


def abstract(value: Any, name: Callable[[int], Any], hide: int = 0) -> Any:
    """Turn real tensors into what rules see.

    `hide`: put a run of unknown length in place of so many leading axes.
    """
    if isinstance(value, torch.Tensor):
        found = tuple(name(size) for size in value.shape)
        if hide:
            found = (Run(Sym.fresh("...")), *found[hide:])
        return Tensor(Shape(found), dtypes.of(str(value.dtype).removeprefix("torch.")))
    if isinstance(value, torch.nn.Module):
        return UNKNOWN
    if isinstance(value, torch.dtype):
        from shapecheck.ops import DType

        return DType(dtypes.of(str(value).removeprefix("torch.")))
    if isinstance(value, (tuple, list)):
        return type(value)(abstract(item, name, hide) for item in value)
    if isinstance(value, dict):
        return {key: abstract(item, name, hide) for key, item in value.items()}
    return value


def compatible(found: Any, real: Any, exact: bool = False) -> str | None:
    """Return how a rule's result is at odds with the real one, None if it isn't.

    `exact`: nothing may be unknown.
    """
    if found is UNKNOWN:
        shaped = isinstance(real, (torch.Tensor, tuple, list))
        return "nothing is known" if exact and shaped else None
    if isinstance(real, torch.Tensor):
        if not isinstance(found, Tensor):
            return f"{found!r} is no tensor"
        kind = dtypes.of(str(real.dtype).removeprefix("torch."))
        if not found.dtype & kind:
            return f"{dtypes.describe(found.dtype)} isn't {real.dtype}"
        return _shape(found.shape, tuple(real.shape), exact)
    if isinstance(real, torch.Size):
        return _shape(Shape(tuple(found)), tuple(real), exact)
    if isinstance(real, (tuple, list)):
        if isinstance(found, Repeated):
            found = (found.element,) * len(real)
        if not isinstance(found, (tuple, list)) or len(found) != len(real):
            return f"{show(found)} hasn't {len(real)} elements"
        each = (compatible(f, r, exact) for f, r in zip(found, real, strict=True))
        return next((wrong for wrong in each if wrong), None)
    if isinstance(real, int) and isinstance(found, (int, Size)):
        return _shape(Shape((found,)), (real,), exact)
    if real is None and found is not None:
        return f"{found!r} isn't None"
    return None


def _shape(found: Shape, real: tuple[int, ...], exact: bool) -> str | None:
    said = f"{found} isn't {real}"
    runs = [index for index, item in enumerate(found.dims) if isinstance(item, Run)]
    if exact and runs:
        return said
    if not runs:
        if len(found.dims) != len(real):
            return said
        pairs = list(zip(found.dims, real, strict=True))
    else:
        if found.least_rank > len(real):
            return said
        back = len(found.dims) - runs[-1] - 1
        pairs = list(zip(found.dims[: runs[0]], real, strict=False))
        tail = found.dims[len(found.dims) - back :]
        pairs += zip(tail, real[len(real) - back :], strict=True)
    for dim, size in pairs:
        assert not isinstance(dim, Run)
        symbols = dims.symbols(dim)
        values = {s: int(s.name[1:]) for s in symbols if s.kind is Kind.NAME}
        value = dims.substitute(dims.size_of(dim), values)
        if any(s.kind is Kind.UNKNOWN for s in symbols):
            if exact:
                return said
        elif value != size:
            return said
    return None


def agrees(
    rule: Callable[..., Any],
    real: Callable[..., Any],
    *args: Any,
    strict: bool = True,
    exact: bool = True,
    symbols: bool = True,
    **kwargs: Any,
) -> None:
    """Check a rule against the real op on these arguments.

    On numbers both give the same, or both refuse (`strict`); with names for the sizes and with
    leading axes hidden the rule accepts what the op does, and is right in what it says.
    """
    try:
        wanted = real(*args, **kwargs)
    except REFUSALS as error:
        if strict:
            try:
                found = rule(*abstract(args, numbers), **abstract(kwargs, numbers))
            except Mismatch:
                return
            raise AssertionError(f"torch refuses: {error}; the rule says {show(found)}") from None
        return
    found = complaint(rule, wanted, args, kwargs, exact=exact, symbols=symbols)
    assert found is None, found


def by_name(rule: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what a rule makes of names for the sizes of real tensors."""
    try:
        return rule(*abstract(args, named), **abstract(dict(kwargs), named))
    except Mismatch:
        factored = products(args, kwargs)
        return rule(*abstract(args, factored), **abstract(dict(kwargs), factored))


def complaint(
    rule: Callable[..., Any],
    wanted: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    exact: bool = False,
    symbols: bool = True,
    hidden: bool = True,
) -> str | None:
    """Return where a rule is at odds with the real result of a call, None if it nowhere is.

    `exact`: on numbers nothing may be unknown; `symbols`, `hidden`: also put names for the sizes,
    and hide leading axes.
    """
    modes: list[tuple[str, Callable[[int], Any], int]] = [("numbers", numbers, 0)]
    if symbols:
        modes.append(("names", named, 0))
    if hidden:
        modes += [("hidden", numbers, 1), ("hidden", numbers, 2), ("unknown", numbers, 9)]
    for mode, name, hide in modes:
        given = abstract(args, name, hide), abstract(dict(kwargs), name, hide)
        try:
            by_names = mode == "names"
            found = by_name(rule, args, kwargs) if by_names else rule(*given[0], **given[1])
        except Mismatch as error:
            said = f"{error.problem.headline}: {error.problem.reason}"
            return f"{mode}: {given} refused: {said}"
        wrong = compatible(found, wanted, exact and mode == "numbers")
        if wrong is not None:
            return f"{mode}: {given}: {wrong}"
    return None
