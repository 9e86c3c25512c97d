"""Checks a function again with parameters left out for which its body makes something else.

`cache=None` that becomes `self.empty_cache(batch)` is either of two things behind that, of which
only one is known. What certainly fails where nobody passes it is an error of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from shapecheck.analysis.annotations.declarations import declaration, speaks
from shapecheck.analysis.check.bare_parameters import Supposition
from shapecheck.analysis.check.ranks import Rerun
from shapecheck.analysis.program.faults import FirstOnly, Found
from shapecheck.analysis.program.model import Function
from shapecheck.analysis.program.syntax import is_none, nodes
from shapecheck.ops.agree import listed
from shapecheck.ops.call import only


def check(function: Function, run: Rerun) -> None:
    """Check a function in which nothing was found; `run` runs it once more."""
    reporter, names = function.module.reporter, _replaced(function)
    if reporter is None or not names:
        return
    faults = FirstOnly()
    with suppress(Found):
        run(lambda suppose: _without(names, suppose), faults)
    for fault in faults:
        words = listed([f'"{name}"' for name in names])
        are = "is None here, as it is" if len(names) == 1 else "are None here, as they are"
        reporter.faults.append(fault.noting(f"{words} {are} by default"))


def _without(names: Collection[str], suppose: Supposition) -> Supposition:
    """Return what takes parameters for None, and others for what they are taken for."""
    return lambda param, value: None if param.name in names else suppose(param, value)


def _replaced(function: Function) -> list[str]:
    """Return the parameters that may be left out, and for which a body makes something then."""
    optional = [
        param.name
        for param in declaration(function).params
        if param.default is not None and is_none(param.default) and not speaks(param.declared)
    ]
    if not optional:
        return []
    made = set(_made_instead(nodes(function.node), optional))
    return [name for name in optional if name in made]


def _made_instead(every: Iterable[ast.AST], optional: Collection[str]) -> Iterator[str]:
    """Yield the names for which something is made where they are None.

    Another variable in their place, `context = x`, says nothing: who leaves it out may do it where
    the sizes are alike.
    """
    for node in every:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                for name, is_left_out in _asked(test, optional):
                    if any(map(_makes, body if is_left_out else orelse)):
                        yield name
            case ast.Assign(value=ast.IfExp(test=test, body=value, orelse=other)):
                for name, is_left_out in _asked(test, optional):
                    if _is_made(value if is_left_out else other):
                        yield name


def _asked(test: ast.expr, optional: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield the names that a condition asks whether they are None, and whether it holds then."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[(ast.Is() | ast.IsNot()) as op]) if (
            name in optional and is_none(test.comparators[0])
        ):
            yield name, isinstance(op, ast.Is)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if name in optional:
            yield name, True


def _makes(node: ast.stmt) -> bool:
    """Whether a statement gives variables what a call makes."""
    return any(_is_made(one.value) for one in only([node], ast.Assign))


def _is_made(value: ast.expr) -> bool:
    """Whether an expression is what calls make, and no variable."""
    parts: Sequence[ast.expr] = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(part, ast.Call) for part in parts)
