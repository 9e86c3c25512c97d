"""The annotation language: text to `Spec` and back.

    Float[Tensor, "*batch h//2 (heads d) {self.d_model}"]
                   ^ this text

One grammar serves annotations, op signatures and einops patterns. `parse` reads it, `str` of a
`Spec` writes it; `parse(str(spec)) == spec` for every spec.
"""

from shapecheck.spec.nodes import (
    Axis,
    Binary,
    Braces,
    Call,
    Entry,
    Expr,
    Group,
    Merge,
    Name,
    Negate,
    Number,
    Spec,
    Wild,
    bare_names,
    composed_names,
    expr_names,
    walk,
)
from shapecheck.spec.parser import SpecError, parse, parse_pattern

__all__ = [
    "Axis",
    "Binary",
    "Braces",
    "Call",
    "Entry",
    "Expr",
    "Group",
    "Merge",
    "Name",
    "Negate",
    "Number",
    "Spec",
    "SpecError",
    "Wild",
    "bare_names",
    "composed_names",
    "expr_names",
    "parse",
    "parse_pattern",
    "walk",
]
