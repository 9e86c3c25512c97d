"""What the forms in signatures mean, for those who don't know them yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FORMS: Final = (
    (r"\bT\[Tensor", "T[Tensor, ...]", "any dtype, which the result has too; of several: promoted"),
    (r"\bE\[Tensor", "E[Tensor, ...]", "as T; integers and floats don't mix"),
    (r"\bWhole\[Tensor", "Whole[Tensor, ...]", "integers or bools"),
    (r"\bF\[Tensor", "F[Tensor, ...]", "any dtype; the result's is floating"),
    (r"\bA\[Tensor", "A[Tensor, ...]", "any dtype; ints and bools become int64 in the result"),
    (r"\bR\[Tensor", "R[Tensor, ...]", "any dtype; complex numbers become real in the result"),
    (r"\bD\[Tensor", "D[Tensor, ...]", "any dtype; the result's is double"),
    (r"Tensor, \.\.\.\]", "[Tensor, ...]", "any shape: the signature says nothing of it"),
    (r'"[^"]*\*#', '"*#s"', "shapes that broadcast with each other; in the result: all together"),
    (r'"[^"]*\*\w', '"*s"', "any number of dimensions, the same wherever it stands"),
    (r'"[^"]*\{', '"{k}"', "the value of a parameter, or of an attribute of the module"),
    (r"\bAxis\[", 'Axis["*s"]', "the index of one of these dimensions"),
    (r"\bAxes\[", 'Axes["*s"]', "one such index, several, or None for all"),
    (r"\bNewAxis\[", 'NewAxis["*s"]', "where a new dimension goes"),
    (r"\bWithout\[", "Without[...]", "these dimensions but for the one of that index"),
    (r"\bWith\[", "With[...]", "these dimensions with another size at that index"),
    (r"\bInsert\[", "Insert[...]", "these dimensions and a new one at that index"),
    (r"\bSizes\[", "Sizes[size]", "the shape that these sizes are"),
    (r"\bFields\[", 'Fields["a b", ...]', "a tuple whose items have these names"),
    (r"\bInts\[", "Ints[n]", "an int, or n of them"),
    (r"\bDType\b", "DType", "sets the dtype of the result"),
    (r"\bIs\[", "Is[...]", "the same as that op"),
    (r"-> Tensor$", "-> Tensor", "a tensor of a shape and dtype that nothing is known of"),
    (
        r"-> Any$",
        "-> Any",
        "no tensor whose shape is followed: what is done with it is never an error",
    ),
    (r"-> (bool|int|float|str)$", "-> bool, int", "no tensor: it has no shape"),
    (r"^def (?!__init__).*-> None$", "-> None", "it returns nothing, so nothing has a shape"),
)


def forms_in(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each form that stands in one of these signatures, and what it means."""
    for pattern, form, meaning in _FORMS:
        if any(re.search(pattern, text.removesuffix(": ...").strip()) for text in texts):
            yield form, meaning


def rules_in(texts: list[str]) -> list[str]:
    """Return the names of the rules in Python that these signatures refer to."""
    found = (name for text in texts for name in re.findall(r'\bRule\["([^"]+)"', text))
    return list(dict.fromkeys(found))
