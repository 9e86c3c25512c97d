"""vLLM's `Annotated[Tensor | list[Tensor], TensorShape("bn", 3, "h", "w")]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapecheck.analysis.annotations.dialects.reading import Reading, Said, is_word
from shapecheck.analysis.program.syntax import elements, text_of
from shapecheck.spec import dialects


def tensor_shape(reading: Reading, node: ast.expr) -> Said:
    """Read `TensorShape("bn", 3, "h", "w", dynamic_dims={"h", "w"})`."""
    unknown = Said(None, is_stacked=True)
    if not isinstance(node, ast.Call):
        return unknown
    given = [reading.value(arg) for arg in node.args]
    free = {word for keyword in node.keywords for word in _names(keyword.value)}
    words = [one for one in given if is_word(one)]
    if not words or len(words) < len(given):
        return unknown
    return Said(dialects.of_words(words, free), is_stacked=True)


def _names(node: ast.expr) -> Iterator[str]:
    inner = [node, *(node.args if isinstance(node, ast.Call) else ())]
    for one in inner:
        found = one.elts if isinstance(one, ast.Set) else elements(one) or ()
        yield from filter(None, map(text_of, found))
