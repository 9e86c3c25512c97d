"""Symbolic sizes in canonical form, ordered composites, and dimension objects.

A size is an `int` or a `Size`. Two sizes that are equal as polynomials are equal as Python
objects: `2*a == a+a`, `(a+b)*c == a*c+b*c`, `a*b//b == a`. What an axis of a shape holds is a
`DimExpr`: a size, or a `Composite`, an ordered merge of dimensions such as einops' `(h d)`.
"""

import sys
from types import ModuleType

from shapecheck.dims.algebra import (
    OPERATIONS,
    Atom,
    Coefficient,
    Extreme,
    FloorDiv,
    IntSize,
    Monomial,
    Power,
    Size,
    atoms_of,
    concerned,
    copies,
    forget,
    joined,
    measured,
    product,
    symbols_in,
    terms_of,
)
from shapecheck.dims.arithmetic import ARITHMETIC, SYMBOLS
from shapecheck.dims.bounds import nonnegative
from shapecheck.dims.composites import (
    Composite,
    DimExpr,
    either,
    is_name,
    merge,
    name,
    own,
    size_of,
    symbol_of,
    symbols,
    unknown,
)
from shapecheck.dims.division import divide, exact_quotient, floordiv, indivisible
from shapecheck.dims.equality import compare, compare_gap
from shapecheck.dims.functions import (
    as_exact,
    extreme,
    part,
    power,
    renamed,
    renaming,
    substitute,
    whole,
)
from shapecheck.dims.objects import Dim, DimKind, dims
from shapecheck.dims.printing import render, render_atom
from shapecheck.dims.solving import Relation, Verdict, reduced_gap, solve
from shapecheck.dims.symbols import FRESH, HERE, Batched, Kind, Origin, Sym, Untold, in_order

__all__ = [
    "ARITHMETIC",
    "FRESH",
    "HERE",
    "SYMBOLS",
    "Atom",
    "Batched",
    "Coefficient",
    "Composite",
    "Dim",
    "DimExpr",
    "DimKind",
    "Extreme",
    "FloorDiv",
    "IntSize",
    "Kind",
    "Monomial",
    "Origin",
    "Power",
    "Relation",
    "Size",
    "Sym",
    "Untold",
    "Verdict",
    "as_exact",
    "atoms_of",
    "compare",
    "compare_gap",
    "concerned",
    "copies",
    "dims",
    "divide",
    "either",
    "exact_quotient",
    "extreme",
    "floordiv",
    "forget",
    "in_order",
    "indivisible",
    "is_name",
    "joined",
    "measured",
    "merge",
    "name",
    "nonnegative",
    "own",
    "part",
    "power",
    "product",
    "reduced_gap",
    "renamed",
    "renaming",
    "size_of",
    "solve",
    "substitute",
    "symbol_of",
    "symbols",
    "symbols_in",
    "terms_of",
    "unknown",
    "whole",
]


OPERATIONS.floordiv, OPERATIONS.power = floordiv, power
OPERATIONS.text, OPERATIONS.atom_text = render, render_atom


class _Callable(ModuleType):
    """This module, which is also the function that `from shapecheck import dims` promises."""

    __call__ = staticmethod(dims)


sys.modules[__name__].__class__ = _Callable
