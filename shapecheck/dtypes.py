"""Element types: the categories that annotations name, and torch's promotion rules.

What is known of a tensor's dtype is a set of possible dtypes, kept as a bit mask: `FLOAT` is the
set of all floating dtypes, `ANY` means that nothing is known. A *definite* mismatch is an empty
intersection.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

DTypes: TypeAlias = int

NAMES: Final = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "quantized",
)
_BIT: Final = {name: 1 << index for index, name in enumerate(NAMES)}
_SPELLINGS: Final = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}


def _mask(*names: str) -> DTypes:
    return sum(_BIT[name] for name in names)


BOOL: Final = _mask("bool")
SIGNED: Final = _mask("int8", "int16", "int32", "int64")
UNSIGNED: Final = _mask("uint8", "uint16", "uint32", "uint64")
INTEGER: Final = SIGNED | UNSIGNED
FLOAT: Final = _mask("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")
COMPLEX: Final = _mask("complex32", "complex64", "complex128")
NUM: Final = INTEGER | FLOAT | COMPLEX
ANY: Final = sum(_BIT.values())
INT64: Final = _mask("int64")
DEFAULT_FLOAT: Final = FLOAT
"""What torch.get_default_dtype() may be."""

CATEGORIES: Final[dict[str, DTypes]] = {
    "Shaped": ANY,
    "Num": NUM,
    "Inexact": FLOAT | COMPLEX,
    "Real": INTEGER | FLOAT,
    "Float": FLOAT,
    "Complex": COMPLEX,
    "Integer": INTEGER,
    "Int": SIGNED,
    "UInt": UNSIGNED,
    "Bool": BOOL,
    "Float16": _BIT["float16"],
    "BFloat16": _BIT["bfloat16"],
    "Float32": _BIT["float32"],
    "Float64": _BIT["float64"],
    "Complex64": _BIT["complex64"],
    "Complex128": _BIT["complex128"],
    **{f"Int{n}": _BIT[f"int{n}"] for n in (8, 16, 32, 64)},
    **{f"UInt{n}": _BIT[f"uint{n}"] for n in (8, 16, 32, 64)},
    "Float8e4m3fn": _BIT["float8_e4m3fn"],
    "Float8e5m2": _BIT["float8_e5m2"],
}
"""The names that annotations use, ours and jaxtyping's, with the dtypes that each admits."""


def of(name: str) -> DTypes:
    """Return the set that holds one dtype by torch's name for it, `"float32"` or `"float"`.

    `ANY` for a name that isn't known, so that a new dtype of torch's is never an error.
    """
    return _BIT.get(_SPELLINGS.get(name, name), ANY)


@lru_cache(maxsize=256)
def describe(dtypes: DTypes) -> str:
    """Return how a person says a set of dtypes: `float32`, `Float`, or `Float or int64`."""
    if not dtypes:
        return "no dtype"
    for label in ("Float", "Int", "Integer", "Complex", "UInt"):
        if CATEGORIES[label] == dtypes:
            return label
    if dtypes in _IN_WORDS:
        return _IN_WORDS[dtypes]
    others = [name for name in NAMES if not dtypes & _BIT[name]]
    if len(others) < len(NAMES) - len(others) - 1:
        return f"not {' or '.join(others)}"
    return " or ".join(_parts(dtypes))


def _parts(dtypes: DTypes) -> list[str]:
    """Return the names of the whole kinds that a set holds, then of the dtypes beside them."""
    said = []
    for label in ("Integer", "Int", "UInt", "Float", "Complex"):
        if dtypes & CATEGORIES[label] == CATEGORIES[label]:
            said.append(label)
            dtypes &= ~CATEGORIES[label]
    return [*said, *(name for name in NAMES if dtypes & _BIT[name])]


_IN_WORDS: Final = {
    INTEGER | FLOAT: "Integer or Float",
    NUM: "Integer, Float or Complex",
    ANY: "any dtype",
}
"""Sets whose name says little: who wrote no `Real` needn't know what it is."""


def declared(dtypes: DTypes) -> str:
    """Return how an annotation says a set of dtypes: by its own name, `Inexact`, if it has one."""
    names = (label for label in ("Num", "Inexact", "Real") if CATEGORIES[label] == dtypes)
    return next(names, describe(dtypes))


_CATEGORY: Final = {BOOL: 0, INTEGER: 1, FLOAT: 2, COMPLEX: 3, ANY: 4}
"""The order of the categories in promotion; what is none of the others comes last."""


def _rank(name: str) -> int:
    return next(rank for group, rank in _CATEGORY.items() if _BIT[name] & group)


_FLOAT_ORDER: Final = ("float16", "bfloat16", "float32", "float64")
_COMPLEX_OF: Final = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}
_ALONE: Final = _mask("float8_e4m3fn", "float8_e5m2", "quantized")
"""Dtypes that torch promotes with nothing else."""
_BARE: Final = _mask("uint16", "uint32", "uint64")
"""Dtypes that torch promotes with floats only."""


def _promote_pair(a: str, b: str) -> DTypes:
    """Promote two dtypes (torch.promote_types); the empty set where torch refuses."""
    if a == b:
        return _BIT[a]
    both = _BIT[a] | _BIT[b]
    if both & _ALONE or (both & _BARE and not both & FLOAT):
        return 0
    low, high = sorted((a, b), key=_rank)
    if _rank(low) != _rank(high):
        if _BIT[high] & COMPLEX and _BIT[low] & FLOAT:
            return _promote_pair(high, _COMPLEX_OF[low])
        return _BIT[high]
    if _BIT[a] & FLOAT:
        if {a, b} == {"float16", "bfloat16"}:
            return _BIT["float32"]
        return _BIT[max(a, b, key=_FLOAT_ORDER.index)]
    if _BIT[a] & COMPLEX:
        return _BIT[max(a, b, key=lambda name: int(name.removeprefix("complex")))]
    return _promote_integers(a, b)


def _promote_integers(a: str, b: str) -> DTypes:
    """Promote two integer dtypes, of which uint8 may be one."""
    if "uint8" in (a, b):
        signed = b if a == "uint8" else a
        return _BIT["int16" if signed == "int8" else signed]
    return _BIT[max(a, b, key=lambda name: int(name.removeprefix("int")))]


@lru_cache(maxsize=4096)
def promote(a: DTypes, b: DTypes) -> DTypes:
    """Return the possible dtypes of an operation on two tensors of at least one dimension."""
    if a == b and a.bit_count() == 1:
        return a
    if (
        (a != ANY and a & _BIT["quantized"])
        or (b != ANY and b & _BIT["quantized"])
        or a == b == ANY
    ):
        return ANY
    result = (a | b) & _BIT["quantized"]
    for left in NAMES:
        if a & _BIT[left]:
            for right in NAMES:
                if b & _BIT[right]:
                    result |= _promote_pair(left, right)
    return result or ANY


@lru_cache(maxsize=1024)
def promote_scalar(tensor: DTypes, scalar: DTypes) -> DTypes:
    """Return the possible dtypes of a tensor met by a number or a 0-d tensor.

    `scalar` is the set of the number's dtypes. It changes the tensor's dtype only where it is of
    a higher category (bool < integer < floating < complex).
    """
    if (tensor | scalar) & _BIT["quantized"]:
        return ANY
    result = 0
    for name in NAMES:
        if not tensor & _BIT[name]:
            continue
        for group in (BOOL, INTEGER, FLOAT, COMPLEX):
            if not scalar & group:
                continue
            if group == COMPLEX and name in _COMPLEX_OF:
                result |= _BIT[_COMPLEX_OF[name]]
            else:
                result |= _BIT[name] if _rank(name) >= _CATEGORY[group] else scalar & group
    return result


def to_float(dtypes: DTypes) -> DTypes:
    """Return the possible dtypes of a floating function such as `sqrt`: integers become floats."""
    exact = dtypes & (BOOL | INTEGER)
    return (dtypes & ~(BOOL | INTEGER)) | (DEFAULT_FLOAT if exact else 0)


def accumulate(dtypes: DTypes) -> DTypes:
    """Return the possible dtypes of `sum` and `prod`: bool and integers become int64."""
    exact = dtypes & (BOOL | INTEGER)
    return (dtypes & ~(BOOL | INTEGER)) | (INT64 if exact else 0)


def to_real(dtypes: DTypes) -> DTypes:
    """Return the possible dtypes of `abs` and `real`: complex becomes the matching float."""
    result = dtypes & ~COMPLEX
    for real, whole in (("float16", "complex32"), ("float32", "complex64")):
        result |= _BIT[real] if dtypes & _BIT[whole] else 0
    return result | (_BIT["float64"] if dtypes & _BIT["complex128"] else 0)


def to_double(dtypes: DTypes) -> DTypes:
    """Return the possible dtypes of `float_power`: double, or complex of doubles."""
    real = _BIT["float64"] if dtypes & ~COMPLEX else 0
    return real | (_BIT["complex128"] if dtypes & COMPLEX else 0)


def to_complex(dtypes: DTypes) -> DTypes:
    """Return the possible dtypes of a spectrum: floats become the matching complex dtype."""
    return promote_scalar(to_float(dtypes), COMPLEX)
