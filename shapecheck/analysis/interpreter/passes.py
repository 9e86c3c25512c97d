"""What goes wrong in a pass of a loop, and not in another.

A condition that isn't decided may hold in some passes only, and what it is about may be what makes
the others different. A branch that goes well in one pass is left alone: it isn't taken where it
would fail. One that fails whenever it is run is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from shapecheck.analysis.interpreter.frame import Frame, Loop
from shapecheck.analysis.program.syntax import keeping, last_word, walk, words_in


def goes_well(
    frame: Frame, test: ast.expr, branch: ast.AST, run: Callable[[], object], is_doubtful: bool
) -> bool:
    """Run a branch; False where something goes wrong in it, and the program may not get to it.

    `test` is what decides on it. What goes wrong is told at the end of the loop.
    """
    loop = _deciding(frame, test) if is_doubtful else None
    if loop is None:
        run()
        return True
    errors = frame.errors
    with frame.module.reporting_apart() as said:
        run()
    if frame.errors == errors:
        loop.sound.add(branch)
        if frame.module.reporter is not None:
            frame.module.reporter.take(said)
        return True
    known = loop.failing.get(branch)
    if known is None or not known[0].count:
        loop.failing[branch] = said, frame.errors - errors
    frame.errors = errors
    return False


def _deciding(frame: Frame, test: ast.expr) -> Loop | None:
    """Return the outermost loop in which a condition may be another one in each pass."""
    if frame.faults is not None:
        return None
    words = words_in(test)
    return next((one for one in frame.loops if not words.isdisjoint(_changed(one.node))), None)


def settle(frame: Frame, loop: Loop) -> None:
    """Tell at the end of a loop what goes wrong in it in each pass that gets there."""
    for branch, (said, errors) in loop.failing.items():
        if branch not in loop.sound:
            frame.errors += errors
            if frame.module.reporter is not None:
                frame.module.reporter.take(said)


@keeping(1024)
def _changed(node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the variables and attributes that may be others in the next pass of a loop."""
    return frozenset(_changing(node)) - {"self"}


def _changing(loop: ast.AST) -> Iterator[str]:
    for node in walk(loop):
        match node:
            case ast.Name(id=word, ctx=ast.Store()) | ast.Attribute(attr=word, ctx=ast.Store()):
                yield word
            case (
                ast.Subscript(value=owner, ctx=ast.Store() | ast.Del())
                | ast.Call(func=ast.Attribute(value=owner))
            ):
                yield last_word(owner)
