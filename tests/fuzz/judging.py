"""What must hold of any program, right or wrong: no crash, no hang, and messages for people."""

from __future__ import annotations

import ast
import os
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shapecheck import analysis, spec
from shapecheck.analysis import Diagnostic, Options, Source
from shapecheck.codemod.annotate import annotate_files
from shapecheck.codemod.propose.proposals import Settings

PACKAGE = str(Path(analysis.__file__).parents[1])
INTERNAL = re.compile(
    r"0x[0-9a-f]{6,}|<[\w.]+ object|<(?:class|function|enum|bound method|built-in) |<\w+: |"
    r"\b_?[A-Z]\w*\(\w+=|Traceback|internal error|\bNOTHING\b|\bUNKNOWN\b"
)
"""What belongs to the inside of the tool, or of Python, unless the program itself says it."""
LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong: in words that are the same for the same defect, and in detail."""

    kind: str
    detail: str = ""


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def is_program(text: str) -> bool:
    """Whether Python compiles a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "program.py", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def judge(text: str, annotate: bool = False) -> Failure | None:
    """Return the first thing that is wrong with what is made of a program, None if nothing is."""
    with _crashes_told():
        checks = [_analysed, _strict, _looked_at, _parsed, *([_annotated] if annotate else [])]
        for check in checks:
            failure = _outcome(check, text)
            if failure is not None:
                return failure
    return None


def said(text: str, strict: bool = False) -> list[Diagnostic]:
    """Return what the analysis says of a program."""
    return analysis.analyze_module(
        Source("program", "program.py", text), NoSources(), Options(strict)
    )


@contextmanager
def _crashes_told() -> Iterator[None]:
    """Let the analysis raise its internal errors, which it otherwise tells as a note."""
    before = os.environ.get("SHAPECHECK_DEBUG")
    os.environ["SHAPECHECK_DEBUG"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["SHAPECHECK_DEBUG"]
        else:
            os.environ["SHAPECHECK_DEBUG"] = before


def _outcome(check: Callable[[str], Failure | None], text: str) -> Failure | None:
    try:
        return check(text)
    except Exception as error:  # noqa: BLE001  # that is what is looked for
        return Failure(f"{type(error).__name__} in {place(error)}", trace(error))


def trace(error: BaseException) -> str:
    """Return the innermost calls that an error passed."""
    return "".join(traceback.format_exception(error)[-6:]).rstrip()


def place(error: BaseException) -> str:
    """Return the innermost place of ours that an error passed: its file and function."""
    found = "the tests"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE):
            found = f"{file[len(PACKAGE) + 1 :]}:{frame.f_code.co_name}"
    return found


def _analysed(text: str) -> Failure | None:
    first = said(text)
    wrong = _wrong_message(text, first)
    if wrong is None and said(text) != first:
        return Failure("the analysis says another thing the second time", _listed(first))
    return wrong


def _strict(text: str) -> Failure | None:
    return _wrong_message(text, said(text, strict=True))


def _wrong_message(text: str, found: list[Diagnostic]) -> Failure | None:
    lines = text.split("\n")
    own = "".join(text.split())
    for one in found:
        inside = INTERNAL.search(one.message)
        if inside is not None and "".join(inside[0].split()) not in own:
            shown = re.sub(r"\d+|\".*?\"", "_", one.message[: inside.end()])
            return Failure(f"a message shows {inside[0][:20]!r}: {shown[-60:]}", one.message)
        if len(one.message) > LONGEST:
            return Failure("a message has no end", one.message[:LONGEST])
        span = one.span
        if not (1 <= span.line <= span.end_line <= len(lines)) or not (
            span.column <= len(lines[span.line - 1])
            and span.end_column <= len(lines[span.end_line - 1])
        ):
            return Failure("a message stands outside of the text", f"{span} {one.message}")
    return None


def _listed(found: list[Diagnostic]) -> str:
    return "\n".join(f"{one.span.line}: {one.message}" for one in found)


def _looked_at(text: str) -> Failure | None:
    source = Source("program", "program.py", text)
    analysis.inspect(source, NoSources(), Options())
    return None


def _parsed(text: str) -> Failure | None:
    """Parse every text of a program as an annotation, and what is printed of it again."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        try:
            parsed = spec.parse(node.value)
        except spec.SpecError as error:
            if not 0 <= error.start <= len(node.value):
                return Failure("a fault stands outside of an annotation", repr(node.value))
            continue
        if spec.parse(str(parsed)) != parsed:
            return Failure("an annotation is another one once printed", repr(node.value))
    return None


def _annotated(text: str) -> Failure | None:
    """Annotate a program: what comes of it must be a program, too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(text, "utf-8")
        outcome = annotate_files([path], Settings())
    for changed in outcome.changed:
        if not is_program(changed.text):
            return Failure("what annotate writes is no program", changed.text)
    return None
