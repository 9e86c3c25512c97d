"""`shapecheck.named`: operations by name, and giving names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.library.builtins import function
from shapecheck.analysis.values.model import Argument
from shapecheck.dims import Sym
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Tensor

PREFIX: Final = "shapecheck.named."


def begin(frame: Frame, names: Mapping[str, Value]) -> bool:
    """Whether names mean here what the dimensions are called; `names` are given to some.

    In an annotated function that is looked into, the dimensions have the names of its caller.
    """
    if frame.depth and frame.function is not None and declaration(frame.function).shaped:
        return False
    frame.supposed.update(Sym(name) for name in names)
    return True


@function("shapecheck.named", "shapecheck.runtime.named", "shapecheck.named.named")
def _named(frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call) -> Value:
    """Give a tensor names, also where it is: by `named(x, "b t")` as a statement."""
    texts = [arg for arg in args[1:] if isinstance(arg, str)]
    signature = frame.program.table.signature(f"{PREFIX}named")
    if signature is None or len(args) < 2:
        return args[0] if args else UNKNOWN
    if not begin(frame, dict.fromkeys(" ".join(texts).split())):
        return args[0]
    given = [Argument(value, arg) for value, arg in zip(args, node.args, strict=False)]
    found = apply(frame, signature, args, kwargs, Site(node, "named", args=given))
    if isinstance(node.args[0], ast.Name) and isinstance(found, Tensor):
        name = node.args[0].id
        frame.assign(name, found, frame.state.since.get(name, node.lineno))
    return found
