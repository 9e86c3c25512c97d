"""The tools that a coding agent has, each a question that a command answers, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from shapecheck import __version__
from shapecheck.cli._commands import CommandError
from shapecheck.cli.check.json_lines import as_dict
from shapecheck.config import ConfigError
from shapecheck.signatures import StubError

P = ParamSpec("P")
_T = TypeVar("_T")

_INSTRUCTIONS: Final = """\
Checks the shapes of PyTorch tensors without running the code. Annotations such as
Float[Tensor, "batch time d"] (of shapecheck or jaxtyping) say what is meant; what nothing says is
unknown, and never an error. After each edit of code with tensors, call check; to try an idea, call
check_snippet; where a shape isn't clear, call shapes_at. Each error says what would fix it.
"""
_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_PROGRAM: Final = "from shapecheck.__main__ import run; run()"
_MOST: Final = 100
"""How many findings are told at once: an agent reads all that it is told."""


def server() -> MCPServer:
    """Return the server, with its tools."""
    made = MCPServer(
        "shapecheck", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    for tool in (check, check_snippet, shapes_at, explain_op):
        made.add_tool(_refusing(tool), annotations=_READS)
    return made


def _refusing(tool: Callable[P, _T]) -> Callable[P, _T]:
    """Have a question that can't be answered be told as such, and not as a defect."""

    @wraps(tool)
    def asked(*args: P.args, **kwargs: P.kwargs) -> _T:
        try:
            return tool(*args, **kwargs)
        except (CommandError, ConfigError, StubError) as error:
            raise ToolError(str(error)) from None

    return asked


def check(paths: list[str] | None = None) -> dict[str, Any]:
    """Find shape errors in files or folders of the project, as they are on the disk.

    Give the files that you have edited, or nothing for all that the project's settings name. Each
    finding has a file, a line (from 1), a column (from 0), a message, a code such as "shape", and a
    hint: notes that say where the shapes come from and what would fix it, one a line. "errors": 0
    means that nothing is wrong as far as shapes are known. Takes a second, the first time more.
    """
    given = [path for path in paths or () if not Path(path).exists()]
    if given:
        raise CommandError(f"there is no {', no '.join(given)} in {Path.cwd()}")
    options = ["check", "--only-shapes", "--output", "json", *(paths or ())]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode not in (0, 1) and not done.stdout:
        raise CommandError(done.stderr.strip())
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return _told(found, done.stderr.splitlines())


def check_snippet(code: str, path: str = "snippet.py") -> dict[str, Any]:
    """Find shape errors in Python code that is in no file; imports of the project are followed.

    `code` is a whole module: imports, annotated functions, and calls of them if you like. Give
    `path` where it is to replace a file of the project, or to stand in a folder of it. Nothing is
    run or written. `reveal_shape(x)` in the code (from shapecheck) tells what is known of x.
    """
    from shapecheck.many_objects import many_objects
    from shapecheck.project.buffers import Buffer
    from shapecheck.project.targets import TargetError

    with many_objects():
        try:
            found = Buffer(path, code).check()
        except TargetError as error:
            raise CommandError(str(error)) from None
    return _told([as_dict(one) for one in found], [])


def shapes_at(
    path: str, line: int, column: int | None = None, code: str | None = None
) -> list[dict[str, Any]]:
    """Tell the shapes of the tensors on a line of a file, or of the innermost one at a column.

    `line` and `column` count from 1. Give `code` to ask of a text in the place of the file's. A
    shape is as annotations say it, "(batch time d)"; null where it isn't known. `since` is the line
    that gave a variable its value. Nothing at all means that no tensor is known to be there.
    """
    from shapecheck.cli.reveal import Place, revealed

    return revealed(Place(path, line, column), code)


def explain_op(name: str) -> dict[str, Any]:
    """Tell what is known of an op or a module of torch, numpy, einops or another library.

    `name` is bare or dotted ("softmax", "F.conv2d", "nn.LSTM"), or an operator ("@"). Gives its
    signatures in the annotation language, what the forms in them mean, the rule that decides the
    result's shape, and examples with shapes, right and wrong. "unknown" where nothing is known: its
    result has an unknown shape then, and is never an error.
    """
    from shapecheck.cli._settings import settings
    from shapecheck.cli.explain.facts import facts_of
    from shapecheck.signatures import table

    return facts_of(table(settings().stubs), name)


def _told(found: list[dict[str, Any]], remarks: list[str]) -> dict[str, Any]:
    errors = sum(one["severity"] == "error" for one in found)
    told: dict[str, Any] = {"errors": errors, "findings": found[:_MOST]}
    if len(found) > _MOST:
        told["left_out"] = len(found) - _MOST
    if remarks:
        told["remarks"] = remarks
    return told
