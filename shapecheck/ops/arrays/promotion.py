"""Which dtype several arrays and numbers come to, by numpy's promotion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from shapecheck import dtypes
from shapecheck.ops.call import DType, Unknown, Value, as_tensor
from shapecheck.shapes import Tensor

FLOAT64: Final = dtypes.of("float64")
_COMPLEX128: Final = dtypes.of("complex128")
_EXACT: Final = dtypes.BOOL | dtypes.INTEGER
_FLOATS: Final = ("float16", "float32", "float64")
_OURS: Final = _EXACT | sum(map(dtypes.of, _FLOATS)) | dtypes.of("complex64") | _COMPLEX128
"""The dtypes that both numpy and torch have; arrays have no others of torch's."""


def _names(kinds: dtypes.DTypes) -> Iterator[str]:
    return (name for name in dtypes.NAMES if kinds & dtypes.of(name))


def _bits(name: str) -> int:
    return 8 if name == "bool" else int("".join(filter(str.isdigit, name)))


def _promote_pair(a: str, b: str) -> dtypes.DTypes:
    """Return what `numpy.promote_types` gives."""
    if a == b:
        return dtypes.of(a)
    complexes = [name for name in (a, b) if name.startswith("complex")]
    parts = [f"float{_bits(n) // 2}" if n in complexes else n for n in (a, b)]
    if complexes:
        return _COMPLEX128 if _promote_pair(*parts) & FLOAT64 else dtypes.of("complex64")
    floats = [name for name in (a, b) if name.startswith("float")]
    if floats:
        needed = [_bits(name) if name in floats else _float_bits(name) for name in (a, b)]
        return dtypes.of(f"float{max(needed)}")
    return _promote_exact(a, b)


def _float_bits(name: str) -> int:
    """Return how wide a float has to be that holds an integer dtype."""
    return 16 if name == "bool" else min(2 * _bits(name), 64)


def _promote_exact(a: str, b: str) -> dtypes.DTypes:
    if "bool" in (a, b):
        return dtypes.of(b if a == "bool" else a)
    unsigned = [name for name in (a, b) if name.startswith("u")]
    if len(unsigned) != 1:
        return dtypes.of(max(a, b, key=_bits))
    signed = b if unsigned[0] == a else a
    width = max(_bits(signed), 2 * _bits(unsigned[0]))
    return FLOAT64 if width > 64 else dtypes.of(f"int{width}")


@lru_cache(maxsize=4096)
def promote(a: dtypes.DTypes, b: dtypes.DTypes) -> dtypes.DTypes:
    """Return the possible dtypes of an operation on two arrays."""
    if dtypes.ANY in (a, b):
        return dtypes.ANY
    found = 0
    for one in _names(a & _OURS):
        for other in _names(b & _OURS):
            found |= _promote_pair(one, other)
    return found or dtypes.ANY


@lru_cache(maxsize=1024)
def _with_number(array: dtypes.DTypes, number: dtypes.DTypes) -> dtypes.DTypes:
    """Return the possible dtypes of an array met by a Python number, which has none of its own."""
    if dtypes.ANY in (array, number):
        return dtypes.ANY
    found = 0
    for name in _names(array & _OURS):
        kind = dtypes.of(name)
        if number & dtypes.BOOL:
            found |= kind
        if number & dtypes.INTEGER:
            found |= dtypes.INT64 if name == "bool" else kind
        if number & dtypes.FLOAT:
            found |= FLOAT64 if kind & _EXACT else kind
        if number & dtypes.COMPLEX:
            found |= promote(FLOAT64 if kind & _EXACT else kind, dtypes.of("complex64"))
    return found or dtypes.ANY


def strong(value: Value) -> dtypes.DTypes:
    """Return the dtypes of the array that numpy makes of a number; those of an array."""
    kind = as_tensor(value).dtype
    if isinstance(value, Tensor) or kind == dtypes.ANY:
        return kind
    found = kind & ~(dtypes.FLOAT | dtypes.COMPLEX)
    found |= FLOAT64 if kind & dtypes.FLOAT else 0
    return found | (_COMPLEX128 if kind & dtypes.COMPLEX else 0)


def promoted(*values: Value) -> dtypes.DTypes:
    """Return the possible dtypes of an operation on arrays and numbers.

    An array of no axes counts as any other since numpy 2, and as a number before.
    """
    arrays = [value for value in values if isinstance(value, (Tensor, Unknown))]
    numbers = [as_tensor(v).dtype for v in values if not isinstance(v, (Tensor, Unknown))]
    if not arrays:
        return _folded(map(strong, values))
    whole = [as_tensor(one) for one in arrays]
    larger = [one.dtype for one in whole if one.shape.least_rank]
    smaller = [one.dtype for one in whole if not one.shape.least_rank]
    kind = _folded(one.dtype for one in whole)
    if larger and smaller:
        before = dtypes.promote_scalar(_folded(larger), _folded(smaller))
        kind = dtypes.ANY if dtypes.ANY in (kind, before) else kind | before
    for number in numbers:
        kind = _with_number(kind, number)
    return kind


def _folded(kinds: Iterator[dtypes.DTypes] | map[dtypes.DTypes] | list[dtypes.DTypes]) -> int:
    first, *others = kinds
    for other in others:
        first = promote(first, other)
    return first


def to_float(kinds: dtypes.DTypes) -> dtypes.DTypes:
    """Return the possible dtypes of a mean or a quotient: integers become float64."""
    return kinds if kinds == dtypes.ANY else kinds & ~_EXACT | (FLOAT64 if kinds & _EXACT else 0)


def to_smallest_float(kinds: dtypes.DTypes) -> dtypes.DTypes:
    """Return the possible dtypes of a function such as `sqrt`: small integers, small floats."""
    if kinds == dtypes.ANY:
        return kinds
    found = kinds & ~_EXACT
    for name in _names(kinds & _EXACT):
        found |= dtypes.of(f"float{_float_bits(name)}")
    return found


def accumulate(kinds: dtypes.DTypes) -> dtypes.DTypes:
    """Return the possible dtypes of a sum: integers become 64 bits wide."""
    if kinds == dtypes.ANY:
        return kinds
    found = kinds & ~_EXACT
    found |= dtypes.INT64 if kinds & (dtypes.BOOL | dtypes.SIGNED) else 0
    return found | (dtypes.of("uint64") if kinds & dtypes.UNSIGNED else 0)


FOLLOW: Final[Mapping[str, Callable[[dtypes.DTypes], dtypes.DTypes]]] = {
    "T": lambda kinds: kinds,
    "E": lambda kinds: kinds,
    "F": to_smallest_float,
    "A": accumulate,
    "R": dtypes.to_real,
    "D": to_float,
}
"""What the dtypes of a result of numpy follow by: see `signatures.model.FOLLOW`."""

_WORDS: Final = {
    "half": "float16",
    "single": "float32",
    "double": "float64",
    "float": "float64",
    "float_": "float64",
    "int": "int64",
    "int_": "int64",
    "intp": "int64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "uintp": "uint64",
    "bool_": "bool",
    "byte": "int8",
    "ubyte": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "intc": "int32",
    "uintc": "uint32",
    "complex": "complex128",
    "complex_": "complex128",
    "csingle": "complex64",
    "cdouble": "complex128",
}
NAMED: Final[Mapping[str, dtypes.DTypes]] = {
    **{name: dtypes.of(name) for name in _names(_OURS)},
    **{name: dtypes.of(dtype) for name, dtype in _WORDS.items()},
}
"""The dtypes that numpy has by their names in it."""
_LETTERS: Final = dict(
    zip(
        "?bBhHiIqQefdFD",
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 "
        "float64 complex64 complex128".split(),
        strict=True,
    )
)
_CODES: Final[Mapping[str, dtypes.DTypes]] = {
    **{letter: dtypes.of(name) for letter, name in _LETTERS.items()},
    **{f"{n[0]}{_bits(n) // 8}": dtypes.of(n) for n in _LETTERS.values() if n != "bool"},
}
"""The dtypes by their codes, `f` and `f4`."""


def named(text: str) -> dtypes.DTypes:
    """Return the dtype of a name of numpy's, `float` or `f4`; ANY for what isn't known."""
    text = text.lstrip("<=|>")
    return NAMED.get(text, _CODES.get(text, dtypes.ANY))


def given(value: Value) -> Value:
    """Return an argument that is a dtype, perhaps by its name, as one."""
    return DType(named(value)) if isinstance(value, str) else value
