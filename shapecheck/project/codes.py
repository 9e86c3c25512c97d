"""The codes of what is found, what each is about, and which one covers which."""

from __future__ import annotations

from typing import Final

SHAPE: Final = "shape"
SUSPECT: Final = "shape-suspect"

DESCRIPTIONS: Final = {
    SHAPE: "Check the dimensions of tensors",
    "shape-broadcast": (
        "Check that a dimension doesn't meet itself on another axis by implicit broadcasting"
    ),
    "shape-dtype": "Check the dtypes of tensors",
    "shape-annotation": "Check that annotations are well formed",
    "shape-ragged": "Check that reductions over padded sequences leave the padding out",
    SUSPECT: "Warn of what can't be proved to be wrong, and most often is",
    "shape-strict": "Check that no equation is needed which the annotation doesn't promise",
}


def parent(code: str) -> str | None:
    """Return the code that covers a code too: `# type: ignore[shape]` hides `shape-dtype`."""
    return SHAPE if code in DESCRIPTIONS and code != SHAPE else None
