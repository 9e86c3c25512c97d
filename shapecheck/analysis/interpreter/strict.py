"""Strict mode: the equations that a program needs and that its annotations don't promise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.blame import OPERATION, Blame
from shapecheck.dims import Atom, IntSize, Kind, Size, Sym
from shapecheck.explain import Message


def report(
    frame: Frame,
    node: ast.AST,
    subject: str,
    before: Mapping[Atom, IntSize],
    blame: Blame = OPERATION,
) -> None:
    """Report what `subject` equates that wasn't equal `before`: names, and sizes of an instance.

    What a condition of the program's own says is promised by it. `blame` says which annotation
    equates them.
    """
    if not frame.program.options.strict:
        return
    if frame.quiet:
        frame.unsaid = True
        return
    facts = frame.state.facts
    for atom, value in facts.atoms.items():
        known = all(symbol.kind is not Kind.UNKNOWN for symbol in _symbols(atom))
        if not known or atom in before or atom in frame.supposed:
            continue
        frame.supposed.add(atom)
        size = facts.size(value)
        text = f"{subject} needs {atom} to be {size}, which no annotation says"
        about = replace(blame, kind="number" if isinstance(size, int) else "equal")
        frame.error(node, Message(text, "shape-strict", tuple(_advice(atom, size)), about))


def _symbols(atom: Atom) -> frozenset[Sym]:
    return Size.of(atom).symbols()


def _advice(atom: Atom, size: IntSize) -> Iterator[str]:
    match atom, size:
        case Sym(name=name, kind=Kind.NAME), int():
            yield f'say so: write "{size}" in place of "{name}", or assert it'
        case Sym(name=name, kind=Kind.NAME), _:
            yield f'say so: write its expression in braces in place of "{name}", or assert it'
        case _:
            yield "say so with an assert"
