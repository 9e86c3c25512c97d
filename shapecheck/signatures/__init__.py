"""Reads signature files (`stubs/`): what each op does to shapes, in the annotation language.

    def softmax(input: F[Tensor, "*s"], dim: Axis["*s"]) -> F[Tensor, "*s"]: ...

A parameter's annotation is matched against the argument, the result's is built from what was
bound. `docs/developers/adding_an_op.md` describes the forms. Files are read when a name is first
looked up (`index`); a signature is built when it is first used.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from shapecheck.signatures.index import StubError
from shapecheck.signatures.model import NUMPY_WORDS, Signature
from shapecheck.signatures.reader import Definition, OpClass, Table

__all__ = [
    "NUMPY_WORDS",
    "Definition",
    "OpClass",
    "Signature",
    "StubError",
    "Table",
    "shipped",
    "table",
]


def shipped() -> Path:
    """Return the folder of the signature files that come with the package."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_stubs"
    return inside if inside.is_dir() else package.parent / "stubs"


@lru_cache(maxsize=8)
def table(folders: tuple[str, ...] = ()) -> Table:
    """Return the table of all signatures: the user's folders first, then the shipped ones."""
    return Table([*map(Path, folders), shipped()])
