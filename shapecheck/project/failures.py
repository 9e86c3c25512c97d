"""What is said of a module that can't be analysed: a note at its top, never a crash."""

from __future__ import annotations

import ast
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shapecheck.analysis import Diagnostic, Source, Span
from shapecheck.project.findings import FAULT, SKIPPED

if TYPE_CHECKING:
    from shapecheck.signatures import StubError

_DEBUG_VARIABLE: Final = "SHAPECHECK_DEBUG"
TOP: Final = Span(1, 0, 1, 0)


def note(message: str) -> Diagnostic:
    """Return a note on a module as a whole."""
    return Diagnostic(TOP, message, "note")


def unreadable() -> Diagnostic:
    """Return the note on a module that imports tensors, but whose text can't be had."""
    return note(f"{SKIPPED}the source of this module can't be read")


def stub_error() -> type[StubError]:
    """Return what is raised for a signature file that can't be read.

    An `except` asks for it when something was raised: what is known needs no signatures.
    """
    from shapecheck.signatures import StubError  # late, as above

    return StubError


def failure(source: Source, error: Exception) -> Diagnostic:
    """Return the note on a module whose analysis has failed."""
    return note(_unparsable(source) or _internal_error(error))


def _unparsable(source: Source) -> str | None:
    """Say why Python can't parse a module that mypy's parser can; None when it can."""
    try:
        ast.parse(source.text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"{SKIPPED}the Python that runs it, {version}, can't parse this module "
            f"(line {error.lineno}: {error.msg}); run it under a newer Python"
        )
    except ValueError as error:
        return f"{SKIPPED}Python can't parse this module ({error})"
    return None


def _internal_error(error: Exception) -> str:
    """Describe a crash of the analysis in one line, or with the traceback where that is wanted."""
    message = f"{FAULT}{type(error).__name__}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        last = frames[-1]
        message += f" in {last.name} ({'/'.join(Path(last.filename).parts[-2:])}:{last.lineno})"
    if os.environ.get(_DEBUG_VARIABLE) == "1":
        return f"{message}\n{''.join(traceback.format_exception(error)).rstrip()}"
    return f"{message}; {_DEBUG_VARIABLE}=1 shows the traceback"
