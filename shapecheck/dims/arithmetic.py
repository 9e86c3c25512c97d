"""Python's operators on sizes: what they are written as, and what they come to."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Final

from shapecheck.dims.algebra import IntSize
from shapecheck.dims.functions import power

SYMBOLS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
"""How Python's binary operators are written."""

ARITHMETIC: Final[Mapping[str, Callable[[IntSize, IntSize], IntSize]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": power,
}
"""What the operators that give a size do; the division raises ZeroDivisionError as Python's."""
