"""The Python expressions of annotations, `{...}`: what they give, and which names they have."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from functools import lru_cache

from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Dotted, Function, Value
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import names_in
from shapecheck.analysis.values.model import Argument
from shapecheck.analysis.values.state import State
from shapecheck.dims import IntSize
from shapecheck.explain import Message
from shapecheck.ops.call import is_size
from shapecheck.shapes import Evaluate


@lru_cache(maxsize=1024)
def parse_expression(source: str) -> ast.expr:
    """Parse the Python expression of a `{...}`; annotations hold no malformed ones."""
    return ast.parse(source, mode="eval").body


def size_in(frame: Frame, source: str) -> IntSize | None:
    """Return the value of a `{...}` expression in a frame, None where it isn't a known size."""
    value = frame.eval(parse_expression(source))
    return value if is_size(value) else None


def sizes_over(
    frame: Frame, module: Module, given: Mapping[str, Argument], function: Function | None = None
) -> Evaluate:
    """Return what gives the values of expressions over arguments, or over fields.

    `function` is whose parameters the arguments are for.
    """

    def evaluate(source: str) -> IntSize | None:
        values = {name: argument.value for name, argument in given.items()}
        inner = Frame(
            module,
            State(values, {}, frame.state.heap, frame.state.facts),
            function=function,
            quiet=True,
            depth=frame.depth + 1,
            budget=frame.budget,
        )
        return size_in(inner, source)

    return evaluate


def check_braces(frame: Frame, function: Function) -> None:
    """Report names in the `{...}` of a signature that nothing in the program has."""
    every = arguments_of(function.node, stars=True)
    known = {arg.arg for arg in every}
    returns = getattr(function.node, "returns", None)
    for node in filter(None, [*(arg.annotation for arg in every), returns]):
        says = reader(function.module).read(node)
        for text in says.texts(of_fields=False):
            for source in re.findall(r"\{([^{}]*)\}", str(text)):
                for name in sorted(names_in(parse_expression(source)) - known):
                    if frame.lookup(name) == Dotted(f"builtins.{name}") and not hasattr(
                        builtins, name
                    ):
                        reason = f'nothing is called "{name}" where "{{{source}}}" is evaluated'
                        frame.error(node, Message(f'in "{text}": {reason}', "shape-annotation"))


def sizes_over_keys(frame: Frame, given: Mapping[Value, Value]) -> Evaluate:
    """Return what gives the values of expressions over a dict's keys, and over nothing else."""

    def evaluate(source: str) -> IntSize | None:
        names = names_in(parse_expression(source))
        if not names <= given.keys():
            return None
        keys = {name: Argument(given[name]) for name in names}
        return sizes_over(frame, frame.module, keys)(source)

    return evaluate
