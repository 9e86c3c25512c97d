"""What is said of an op in words: where its signature stands, and who decides what it gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shapecheck.cli.explain.library import Thing
    from shapecheck.cli.explain.lookup import Op
    from shapecheck.signatures import Definition

_FOLLOWED: Final = "without a signature: its result follows from what it is given"


def is_private(name: str) -> bool:
    """Whether a dotted name is one that its library keeps for itself."""
    return any(part.startswith("_") for part in name.split(".")) and "__getitem__" not in name


def gives(thing: Thing, *, has_examples: bool) -> str:
    """Return in words what a call of something without a signature gives."""
    from shapecheck.analysis import follows

    is_followed = has_examples or (follows(thing.name) and not thing.is_shapeless)
    return _FOLLOWED if is_followed else thing.gives


def called(text: str, op: Op) -> str:
    """Return a signature by the name that is asked for: one line may speak of many ops."""
    name = op.name.rpartition(".")[2]
    return text if op.is_class else re.sub(r"^def \w+", f"def {name}", text)


def decided_by(rule: str) -> list[str]:
    """Say which function in Python decides, and what it says of itself."""
    from shapecheck.ops import RULES

    function = RULES[rule]
    file = function.__module__.replace(".", "/") + ".py"
    source = ast.parse((Path(__file__).parents[3] / file).read_text(encoding="utf-8"))
    says = (
        ast.get_docstring(node) or ""  # a function that is compiled has none by itself
        for node in source.body
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__
    )
    return [
        f"decided in Python, by {function.__name__} in {file}:",
        *filter(None, next(says, "").splitlines()),
    ]


def places(definitions: Sequence[Definition]) -> list[str]:
    """Return where signatures stand, as people find them: of each file the first line."""
    lines: dict[Path, int] = {}
    for definition in definitions:
        lines[definition.path] = min(definition.line, lines.get(definition.path, definition.line))
    return [f"{shown(path).as_posix()}:{line}" for path, line in lines.items()]


def shown(path: Path) -> Path:
    """Return a path as its reader knows it: from the library's folder, or from the current one."""
    from shapecheck.signatures import shipped

    if path.is_relative_to(shipped()):
        return "stubs" / path.relative_to(shipped())
    parts = path.parts
    if "site-packages" in parts:
        return Path(*parts[parts.index("site-packages") + 1 :])
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
