"""The documented examples of the systems that shapecheck comes from, and their wrong variants.

`programs/*.py` are programs with a `main` that checks what they compute. Below a line there may be
`# wrong: ...`, another line that is wrong in its place.
"""

from __future__ import annotations

import ast
import linecache
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from seeded_bugs import analyzed, errors

FOLDER = Path(__file__).parent / "programs"
SYSTEMS = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))
WRONG = re.compile(r"^( *)# wrong: (.*)$")


@dataclass(frozen=True, slots=True)
class Variant:
    """A program with one wrong line: the line's number, and the text."""

    system: str
    line: int
    wrong: str
    text: str

    @property
    def id(self) -> str:
        """What the variant is called."""
        return f"{self.system}:{self.line}"


@cache
def source(system: str) -> str:
    """Return the text of a program."""
    return (FOLDER / f"{system}.py").read_text("utf-8")


@cache
def variants(system: str) -> tuple[Variant, ...]:
    """Return the wrong variants of a program, in the order of their lines."""
    return tuple(_variants(system))


def _variants(system: str) -> Iterator[Variant]:
    lines = source(system).split("\n")
    starts = {n.end_lineno: n.lineno for n in ast.walk(ast.parse(source(system))) if _is_line(n)}
    for number, line in enumerate(lines, 1):
        found = WRONG.match(line)
        if found is None:
            continue
        at = number - 1
        while WRONG.match(lines[at - 1]):
            at -= 1
        first = starts.get(at, at)
        changed = [*lines[: first - 1], found[1] + found[2], *[""] * (at - first), *lines[at:]]
        yield Variant(system, first, found[2], "\n".join(changed))


def _is_line(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and not hasattr(node, "body")


@cache
def examples(system: str) -> dict[str, range]:
    """Return the examples of a program, what it defines but `main`, with their lines."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [n for n in ast.parse(source(system)).body if isinstance(n, kinds)]
    return {n.name: range(n.lineno, (n.end_lineno or 0) + 1) for n in found if n.name != "main"}


@cache
def static(text: str) -> list[tuple[int, str]]:
    """Return what the static side reports of a program."""
    return errors(analyzed(text))


@dataclass(frozen=True, slots=True)
class Ended:
    """What ends a program, or what it is warned of; `ours`: it is an error of shapecheck's."""

    line: int | None
    text: str
    ours: bool


@cache
def running(text: str) -> Ended | None:
    """Run a program; a failing `assert` of its own is raised."""
    with tempfile.TemporaryDirectory(prefix="shapecheck-systems-") as folder:
        return _executed(text, Path(folder) / "program.py")


def _executed(text: str, path: Path) -> Ended | None:
    from shapecheck import RaggedWarning, ShapeError

    path.write_text(text, "utf-8")
    linecache.checkcache(str(path))
    names: dict[str, object] = {"__name__": path.stem, "__file__": str(path)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RaggedWarning)
        try:
            exec(compile(text, str(path), "exec"), names)
            names["main"]()  # type: ignore[operator]  # every program has one
        except (ShapeError, RaggedWarning) as error:
            found = re.search(rf"{re.escape(path.name)}:(\d+)", str(error))
            return Ended(int(found[1]) if found else None, str(error).partition("\n")[0], True)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - torch's own, functorch's or einops'
            return Ended(None, str(error), False)
    return None
