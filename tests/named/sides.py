"""What both sides know of an expression: the shape that `reveal_shape` shows, or the error."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from shapecheck import ShapeError
from shapecheck.analysis import Options, Source, analyze_module

SHAPE = re.compile(r'Revealed shape is (?:"(.*)"|(unknown))')


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def program(head: str, parameters: str, expression: str) -> str:
    """Return a program with one function, `f`, that reveals the shape of an expression."""
    return f"{head}\n@shapecheck\ndef f({parameters}) -> None:\n    reveal_shape({expression})\n"


def static(text: str) -> Sequence[str]:
    """Return the shapes, or the errors, that the static side tells of a program."""
    said = analyze_module(Source("program", "program.py", text), NoSources(), Options())
    found = [(one.severity, one.message) for one in said]
    errors = [message for severity, message in found if severity == "error"]
    return [f"error: {one}" for one in errors] or [
        _shown(message) for _, message in found if SHAPE.search(message)
    ]


def running(text: str, arguments: Sequence[object]) -> Sequence[str]:
    """Return what the run time tells of the same program, called with arguments."""
    told = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="shapecheck-sides-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, "utf-8")
        linecache.checkcache(str(path))
        names: dict[str, object] = {"__name__": "program", "__file__": str(path)}
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            exec(compile(text, str(path), "exec"), names)
            try:
                names["f"](*arguments)  # type: ignore[operator]  # it is the function
            except ShapeError as error:
                return [f"error: {str(error).partition(chr(10))[0].partition('  [shape')[0]}"]
    return [_shown(line) for line in told.getvalue().splitlines() if SHAPE.search(line)]


def _shown(line: str) -> str:
    found = SHAPE.search(line)
    assert found is not None
    return found[2] or found[1]
