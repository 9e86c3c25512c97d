"""What one tree says of projects, in a process that imports shapecheck from that tree.

    python -m sameness.asking KIND TREE < projects.json > answers.json

Of shapecheck nothing is used but `shapecheck.analysis` and the command line: the modules of another
commit lie elsewhere.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from shapecheck import cli
from shapecheck.analysis import Options, Source, analyze_module

Said = dict[str, str]
"""What was said, by the program of which it was said."""

LIBRARIES = ("torch", "jaxtyping", "shapecheck")
FILE_SECONDS, PROJECT_SECONDS = 300, 3600
"""Another commit may not get to the end of a program at all."""
SHOWN = '<i class="s '
"""How a page begins an expression with its shape."""
TRIAL = "import torch\nfrom torch import Tensor\ndef f(x: Tensor) -> Tensor:\n    return x @ x\n"


class TooLong(BaseException):
    """A program takes more than its time; what catches every error doesn't catch this."""


def in_time(say: Callable[[], str], seconds: int) -> str:
    """Return what is said of a program, or what kept it from being said."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return say()
    except (Exception, TooLong, SystemExit) as error:  # noqa: BLE001 - it is the answer
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


# Projects ---------------------------------------------------------------------------------------


class Folder:
    """A host that finds modules below a folder."""

    def __init__(self, folder: Path) -> None:
        self._roots = (folder, folder / "src")

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name."""
        base = module.replace(".", "/")
        for root in self._roots:
            for path in (root / base / "__init__.py", root / f"{base}.py"):
                if path.is_file():
                    return Source(module, str(path), path.read_text("utf-8", errors="replace"))
        return None


def sources(folder: Path) -> Iterator[Source]:
    """Yield the modules below a folder that have to do with tensors."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8", errors="replace")
        if any(library in text for library in LIBRARIES):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[1:] if parts[0] == "src" else parts).removesuffix(".__init__")
            yield Source(name, path.relative_to(folder).as_posix(), text)


def analysis(folder: Path, strict: bool) -> Said:
    """Return what the analysis says of each file, with the lines of which it is said."""
    host, options = Folder(folder), Options(strict=strict)

    def say(source: Source) -> str:
        lines = source.text.split("\n")
        return "\n".join(
            f"{found.span.line}:{found.span.column + 1}-{found.span.end_line}:"
            f"{found.span.end_column + 1}: {found.severity}: {found.message}  [{found.code}]"
            f"  | {lines[found.span.line - 1].strip()}"
            for found in analyze_module(source, host, options)
        )

    return {
        source.path: in_time(lambda source=source: say(source), FILE_SECONDS)  # type: ignore[misc]
        for source in sources(folder)
    }


def annotate(folder: Path, strict: bool) -> Said:
    """Return the diff of each file, and what else `annotate` says."""
    said = _command(folder, "annotate", "--diff", ".")
    said, _, errors = said.partition(_ERRORS)
    first, *diffs = re.split(r"^--- a/(.*)\n", said, flags=re.MULTILINE)
    found = dict(zip(diffs[::2], diffs[1::2], strict=True))
    return {**found, "(said)": first + errors}


def coverage(folder: Path, strict: bool) -> Said:
    """Return what `coverage` counts in each file, and the shapes that its pages show."""
    with tempfile.TemporaryDirectory() as pages:
        said = _command(folder, "coverage", "--output", "json", "--html", pages, ".")
        shown = {path.stem: _shapes(path.read_text("utf-8")) for path in Path(pages).iterdir()}
    said, _, errors = said.partition(_ERRORS)
    try:
        counted = json.loads(said)
    except ValueError:
        return {"(said)": said + errors}
    files = {path: _lines(counts) for path, counts in counted.pop("files").items()}
    shown = {f"{name}: shapes": text for name, text in shown.items()}
    return {**files, **shown, "(said)": _lines(counted) + "\n" + errors}


def _lines(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True)


def _shapes(page: str) -> str:
    """Return the lines of a page that show shapes: `[known b t| x]`."""
    return "\n".join(_plain(line) for line in page.split("\n") if SHOWN in line)


def _plain(line: str) -> str:
    parts, ends = [], []
    for part in re.split(r"(<[^>]*>)", line):
        if part.startswith("<i"):
            shown = re.match(rf'{SHOWN}(\w+)"(?: data-s="([^"]*)")?', part)
            parts.append(f"[{shown[1]} {shown[2]}| " if shown else "")
            ends.append("]" if shown else "")
        elif part == "</i>":
            parts.append(ends.pop() if ends else "")
        elif not part.startswith("<"):
            parts.append(part)
    return html.unescape("".join(parts)).strip()


_ERRORS = "\0errors\0"


def _command(folder: Path, *arguments: str) -> str:
    """Return what a command prints, run in a folder, and after `_ERRORS` what it complains of."""
    out, err = io.StringIO(), io.StringIO()

    def say() -> str:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(arguments)
        return f"{out.getvalue()}{_ERRORS}{err.getvalue()}exit code {code}\n"

    with _moved(folder):
        return in_time(say, PROJECT_SECONDS)


@contextlib.contextmanager
def _moved(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


KINDS: dict[str, Callable[[Path, bool], Said]] = {
    "analysis": analysis,
    "annotate": annotate,
    "coverage": coverage,
}


def _answer(question: tuple[str, str, bool]) -> tuple[str, Said]:
    kind, folder, strict = question
    return folder, KINDS[kind](Path(folder), strict)


def ask(kind: str, asked: list[tuple[str, bool]]) -> dict[str, Said]:
    """Return what is said of the programs of each folder, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:  # what this imports, the processes have
        (Path(folder) / "trial.py").write_text(TRIAL, "utf-8")
        KINDS[kind](Path(folder), False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    with multiprocessing.get_context("fork").Pool(cores, maxtasksperchild=1) as pool:
        questions = [(kind, folder, strict) for folder, strict in asked]
        return dict(pool.imap_unordered(_answer, questions))


def main() -> None:
    """Answer what is asked on standard input."""
    sys.setrecursionlimit(1 << 14)  # as mypy does
    kind, tree = sys.argv[1:]
    assert Path(cli.__file__).is_relative_to(tree), f"{cli.__file__} isn't below {tree}"
    json.dump(ask(kind, json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
