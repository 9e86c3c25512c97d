"""What must hold of any program, right or wrong: no crash, no hang, and messages for people."""

from __future__ import annotations

import ast
import os
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fuzz import serving

from shapecheck import analysis, spec
from shapecheck.analysis import Diagnostic, Options, Source
from shapecheck.codemod.annotate import annotate_files
from shapecheck.codemod.propose.proposals import Settings
from shapecheck.signatures import StubError

PACKAGE = str(Path(analysis.__file__).parents[1])
INTERNAL = re.compile(
    r"0x[0-9a-f]{6,}|(?<!<)<[\w.]+ object|<(?:class|function|enum|bound method|built-in) |<\w+: |"
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


Check: TypeAlias = Callable[[str], "Failure | None"]


def judge(text: str, annotate: bool = False, kind: str = "program") -> Failure | None:
    """Return the first thing that is wrong with what is made of a program, None if nothing is.

    `annotate`: it is annotated, and given to the language server, as well. Of other kinds of texts
    than programs, see `texts`.
    """
    checks = _CHECKS.get(kind)
    if checks is None:
        more = (_annotated, _served) if annotate else ()
        checks = (_analysed, _strict, _looked_at, _parsed, *more)
    with _crashes_told():
        for check in checks:
            failure = _outcome(check, text)
            if failure is not None:
                return failure
    return None


def output(text: str, annotate: bool = False) -> str:
    """Return all that is said of a program, and what it becomes: the same in every process."""
    source = Source("program", "program.py", text)
    found = [f"{one.span} {one.severity} {one.code} {one.message}" for one in said(text)]
    found += [repr(body) for body in analysis.inspect(source, NoSources(), Options())]
    if annotate:
        found.append(_in_a_file(text))
    return "\n".join(found)


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
    analysis.unread(source, NoSources(), Options())
    return None


def _parsed(text: str) -> Failure | None:
    """Parse every text of a program as an annotation, and what is printed of it again."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            failure = _annotation(node.value)
            if failure is not None:
                return failure
    return None


def _annotation(text: str) -> Failure | None:
    """Parse a text as an annotation, and what is printed of it again."""
    try:
        parsed = spec.parse(text)
    except spec.SpecError as error:
        if not 0 <= error.start <= len(text):
            return Failure("a fault stands outside of an annotation", repr(text))
        return None
    if spec.parse(str(parsed)) != parsed:
        return Failure("an annotation is another one once printed", repr(text))
    return None


def _annotating(text: str) -> Failure | None:
    """Analyse a program with a text as its annotations."""
    return _analysed(
        "from torch import Tensor\nfrom shapecheck import Float\n\n\n"
        f"def f(x: Float[Tensor, {text!r}], y: Float[Tensor, 'b n']) -> Float[Tensor, {text!r}]:\n"
        "    z = x + y\n    return f(x * 2, y) + z\n"
    )


def _pattern(text: str) -> Failure | None:
    """Parse a text as a pattern."""
    try:
        spec.parse_pattern(text)
    except spec.SpecError as error:
        if not 0 <= error.start <= len(text):
            return Failure("a fault stands outside of a pattern", repr(text))
    return None


def _rearranging(text: str) -> Failure | None:
    """Analyse a program with a text as its patterns."""
    return _analysed(
        "import einops, torch\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
        "def f(x: Float[Tensor, 'b n (h d)'], y: Tensor) -> None:\n"
        f"    einops.rearrange(x, {text!r}, h=2)\n    einops.reduce(y, {text!r}, 'mean')\n"
        f"    einops.repeat(x, {text!r}, d=2)\n    torch.einsum({text!r}, x, y)\n"
        f"    einops.einsum(x, y, {text!r})\n    einops.pack([x, y], {text!r})\n"
        f"    einops.parse_shape(x, {text!r})\n"
    )


def _signatures(text: str) -> Failure | None:
    """Look up what a signature file declares, and call it; a refused one is told in a sentence."""
    program = (
        "import mylib\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
        "def f(x: Float[Tensor, 'b n'], y: Tensor) -> None:\n"
        "    mylib.scale(x)\n    mylib.scale(x, 1)\n    mylib.scale(x, dim=-1, n=[2, 3])\n"
        "    mylib.scale(y, y, y)\n    mylib.Scale(3)(x)\n    mylib.Linear(2, 3).forward(x)\n"
        "    x.scale_(y)\n    x.scale\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mylib.pyi").write_text(text, "utf-8")
        try:
            found = analysis.analyze_module(
                Source("program", "program.py", program), NoSources(), Options(stubs=(folder,))
            )
        except StubError as error:
            inside = INTERNAL.search(error.reason)
            if inside is not None and inside[0] not in text:
                return Failure(f"a refusal shows {inside[0][:20]!r}", str(error))
            if not 0 <= error.line <= len(re.split("[\n\r]", text)) + 1:
                return Failure("a refusal stands outside of the file", str(error))
            return None
    return _wrong_message(program, found)


def _annotated(text: str) -> Failure | None:
    """Annotate a program: what comes of it is a program that is annotated no further."""
    once = _in_a_file(text)
    if not is_program(once):
        return Failure("what annotate writes is no program", once)
    if once != text and (again := _in_a_file(once)) != once:
        return Failure("annotate changes what it has written", f"{once}\n# becomes\n{again}")
    return None


def _in_a_file(text: str) -> str:
    """Return a program as `annotate --write` leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_bytes(text.encode())
        outcome = annotate_files([path], Settings())
    return next((one.text for one in outcome.changed), text)


def _served(text: str) -> Failure | None:
    """Have the language server see a program as it is typed."""
    with tempfile.TemporaryDirectory() as folder:
        serving.serve(text, Path(folder))
    return None


_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "annotation": (_annotation, _annotating),
    "pattern": (_pattern, _rearranging),
    "signatures": (_signatures,),
}
"""What must hold of a text that is no program, by its kind."""
