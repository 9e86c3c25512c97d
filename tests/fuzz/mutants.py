"""Real sources, broken in a few places: tokens and statements deleted, doubled, swapped, nested."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Callable, Iterable
from pathlib import Path

from fuzz import annotations
from fuzz.expressions import ODD
from fuzz.judging import is_program

LONGEST = 400
"""Longer files are cut into their definitions, so that each mutant is read quickly."""
TRIES = 30
OPERATORS = ("+", "-", "*", "/", "//", "@", "%", "**", "<<", ">>", "&", "|", "^", "<", "==", "and")
AROUND = (
    *("if flag:", "for i in range(n):", "while True:", "def inner(x, n=2):", "class Inner:"),
    *("with torch.no_grad():", "async def inner():", "for x in x:"),
)


def sources(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the programs below some paths, each with its name.

    A `*.test` file holds several (see tests/analysis), and a long module one for each definition.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix == ".py":
                found += _modules(file.name, file.read_text("utf-8", errors="replace"))
            elif file.suffix == ".test":
                found += _cases(file.name, file.read_text("utf-8"))
    return [(name, text) for name, text in found if is_program(text)]


def _modules(name: str, text: str) -> list[tuple[str, str]]:
    if not is_program(text) or text.count("\n") < LONGEST:
        return [(name, text)]
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    imports = "".join(_of(lines, one) for one in tree.body if isinstance(one, _IMPORTS))
    defined = [one for one in tree.body if isinstance(one, _DEFINITIONS)]
    return [(f"{name}:{one.name}", imports + _of(lines, one)) for one in defined]


_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def _cases(name: str, text: str) -> list[tuple[str, str]]:
    head = (
        "import math, random\nfrom dataclasses import dataclass\n"
        "from typing import Any, NamedTuple, Optional, TypedDict\nimport torch, einops\n"
        "import torch.nn as nn\nimport torch.nn.functional as F\nfrom torch import Tensor\n"
        "from einops import rearrange, reduce, repeat\n"
        "from shapecheck import Bool, Float, Int, Num, Shaped, assert_shape, reveal_shape\n"
    )
    cases = re.split(r"^\[case ", text, flags=re.MULTILINE)[1:]
    named = (case.partition("]\n") for case in cases)
    return [(f"{name}:{one}", head + program) for one, _, program in named]


def _of(lines: list[str], node: ast.stmt) -> str:
    first, last = _span(node)
    return "".join(lines[first:last])


def _span(node: ast.stmt) -> tuple[int, int]:
    """Return the first line of a statement, from 0, and the one behind it."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return first - 1, node.end_lineno or node.lineno


def mutant(text: str, rng: random.Random) -> str:
    """Return a program after one to four changes; each one keeps it a program."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        for _ in range(TRIES):
            changed = rng.choice((_token, _token, _statement))(text, rng)
            if changed != text and is_program(changed):
                text = changed
                break
    return text


def _token(text: str, rng: random.Random) -> str:
    """Change one token."""
    try:
        tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.string]
    except (tokenize.TokenError, IndentationError):
        return text
    kept = [one for one in tokens if one.start[0] == one.end[0] and one.string.strip()]
    if len(kept) < 2:
        return text
    at = rng.randrange(len(kept) - 1)
    one, other = kept[at], kept[at + 1]
    draw = rng.random()
    if draw < 0.1:
        return _put(text, one, "")
    if draw < 0.2:
        return _put(text, one, f"{one.string} {one.string}")
    if draw < 0.3 and one.start[0] == other.start[0]:
        return _put(_put(text, other, one.string), one, other.string)
    return _put(text, one, _instead(one, kept, rng))


def _instead(one: tokenize.TokenInfo, tokens: list[tokenize.TokenInfo], rng: random.Random) -> str:
    """Return what may stand in a token's place."""
    alike = [other.string for other in tokens if other.type == one.type]
    if one.type == tokenize.NUMBER:
        return (
            f"({rng.choice((*ODD, '0', '1', '2', '7'))})"
            if rng.random() < 0.7
            else rng.choice(alike)
        )
    if one.type == tokenize.OP and one.string in OPERATORS:
        return f" {rng.choice(OPERATORS)} "
    if one.type == tokenize.STRING and one.string[0] in "\"'" and rng.random() < 0.8:
        return repr(_other_text(ast.literal_eval(one.string), rng))
    if one.type == tokenize.NAME and rng.random() < 0.2:
        return rng.choice(
            (f"({one.string})[0]", f"({one.string}).T", f"[{one.string}]", "None", "x")
        )
    return rng.choice(alike)


def _other_text(text: str, rng: random.Random) -> str:
    """Return another annotation, pattern or text, most often much like it."""
    draw, at = rng.random(), rng.randrange(len(text) + 1)
    if draw < 0.2:
        return annotations.text(rng)
    if draw < 0.6:
        return text[:at] + rng.choice(annotations.JUNK) + text[at:]
    if draw < 0.8:
        return text[:at] + text[at + 1 :]
    words = text.split(" ")
    rng.shuffle(words)
    return " ".join(words)


def _put(text: str, one: tokenize.TokenInfo, new: str) -> str:
    lines = text.splitlines(keepends=True)
    number, (start, stop) = one.start[0] - 1, (one.start[1], one.end[1])
    lines[number] = lines[number][:start] + new + lines[number][stop:]
    return "".join(lines)


def _statement(text: str, rng: random.Random) -> str:
    """Change the statements of one block."""
    blocks = [
        body
        for node in ast.walk(ast.parse(text))
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list) and body
    ]
    if not blocks:
        return text
    block = rng.choice(blocks)
    lines = text.splitlines(keepends=True)
    spans = [_span(one) for one in block]
    first, last = rng.choice(spans)
    other = rng.choice(spans)
    pad = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    inner = "".join("    " + line if line.strip() else line for line in lines[first:last])
    edits: tuple[Callable[[], list[str]], ...] = (
        lambda: [*lines[:first], *lines[last:]],
        lambda: [*lines[:last], *lines[first:last], *lines[last:]],
        lambda: [*lines[: other[1]], *lines[first:last], *lines[other[1] :]],
        lambda: [*lines[:first], f"{pad}{rng.choice(AROUND)}\n", inner, *lines[last:]],
        lambda: [*lines[:first], f"{pad}return None\n", *lines[first:]],
        lambda: [*lines[:first], f"{pad}try:\n", inner, f"{pad}finally:\n", inner, *lines[last:]],
    )
    return "".join(rng.choice(edits)())
