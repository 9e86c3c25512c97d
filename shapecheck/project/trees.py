"""The syntax of texts that need not be Python: typed as yet, pasted, or of a notebook."""

from __future__ import annotations

import ast
import warnings


def parsed_text(text: str) -> ast.Module | None:
    """Return the tree of a text; None where it isn't Python. Nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
