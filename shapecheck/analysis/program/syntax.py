"""The parts of a program's syntax tree."""

from __future__ import annotations

import ast
import functools
from typing import Final

_KEPT: Final = 256


@functools.lru_cache(maxsize=_KEPT)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return the nodes of a tree, as `ast.walk` yields them; those of a few trees are kept."""
    return tuple(ast.walk(tree))
