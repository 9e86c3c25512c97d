"""How to get what a part of shapecheck needs and the installation doesn't bring by itself."""

from __future__ import annotations

from importlib.util import find_spec


def needs(what: str, library: str) -> str:
    """Return the sentence that says so: `what` needs a library, which is an extra of that name."""
    return (
        f"{what} needs {library}, which isn't installed here: "
        f'pip install "torch-shapecheck[{library}]" brings it'
    )


def is_installed(library: str) -> bool:
    """Whether a library could be imported; it isn't."""
    return find_spec(library) is not None
