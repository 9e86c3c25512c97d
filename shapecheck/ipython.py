"""What IPython is asked, or told, where it runs: which cell a file is, how an error is shown.

It is never imported: where nobody has, nothing here has to do with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

_NUMBERED: Final = re.compile(r"In\[(\d+)\]")


def _shell() -> Any:
    """Return the shell that runs the cells, None where there is none."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def cell_of(file: str) -> int | None:
    """Return the number of the cell that Python knows as a file; None for any other file."""
    compiler = getattr(_shell(), "compile", None)
    name = getattr(compiler, "format_code_name", None)
    said = None if name is None else name(file)
    found = None if said is None else _NUMBERED.fullmatch(said[1])
    return None if found is None else int(found[1])


def place_text(file: str, line: int) -> str:
    """Return how people are told of a line: `train.py:12`, or `cell 3, line 2`."""
    cell = cell_of(file)
    return f"{file}:{line}" if cell is None else f"cell {cell}, line {line}"


def traceback_lines(error: BaseException, is_ours: Callable[[str], bool]) -> list[str]:
    """Return the lines that IPython shows of an error, with none of our code among them."""
    kept = None
    entries = []
    entry = error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    for one in reversed(entries[1:]):  # the first is IPython's own, as it takes for granted itself
        if not is_ours(one.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    shown: list[str] = _shell().InteractiveTB.structured_traceback(
        type(error), error, kept, tb_offset=0
    )
    return shown
