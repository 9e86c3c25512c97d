"""Compares what two commits say of the same programs, byte for byte.

    python benchmarks/same.py [--against COMMIT] [--corpus FOLDER] [--only KIND ...] [--full]

The programs are those of the working tree: the examples, every case of `tests/analysis`, and the
repositories below FOLDER, one a folder (`make corpus` fetches some). Of each, what the analysis
says, what `annotate --diff` would write and what `coverage` counts are compared; of the run-time
tests, which each commit runs as it has them, every `ShapeError` that was raised. The exit status
is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEARD = "SAME_HEARD"
KINDS = ("analysis", "annotate", "coverage", "runtime")
RUNTIME_TESTS = ("runtime", "named", "mixups", "first_class", "systems")
STEPS = 8
SECONDS = 60
"""What one program may take: another commit may not get to the end of one at all."""
PASSING = re.compile(r"0x[0-9a-f]{6,}|/tmp/[\w./-]*|\b\d+\.\d+ (?=seconds|s\b)")
"""What differs between two runs of the same commit: addresses, temporary paths, times."""

Said = dict[str, str]
"""What was said, by the program of which it was said."""


# What one tree says, in a process that imports shapecheck from it -------------------------------


def programs(corpus: Path | None) -> Iterator[tuple[str, Path]]:
    """Return the folders of sources: the examples, and each member of the corpus."""
    yield "examples", ROOT / "examples"
    if corpus is not None:
        for folder in sorted(path for path in corpus.iterdir() if path.is_dir()):
            yield folder.name, folder


def analysis(corpus: Path | None) -> Said:
    """Return what the analysis says of each file and of each case of the static tests."""
    from corpus.alone import sources
    from mutation.static import Folder

    found: Said = {}
    tests = runpy.run_path(str(ROOT / "tests" / "static" / "test_static.py"))
    for path, name, program in tests["cases"]():
        found[f"{path.stem}/{name}"] = _in_time(partial(tests["marked"], program))
    for name, folder in programs(corpus):
        host = Folder(folder, folder / "src")
        for source in sources(folder):
            found[f"{name}/{source.path}"] = _in_time(partial(_diagnostics, source, host))
    return found


def _diagnostics(source: object, host: object) -> str:
    from shapecheck.analysis import Options, analyze_module

    said = analyze_module(source, host, Options())  # type: ignore[arg-type]
    return "\n".join(f"{d.span} {d.severity} {d.code} {d.message}" for d in said)


def _in_time(say: Callable[[], str]) -> str:
    """Return what is said of one program, or what kept it from being said."""
    from mutation.programs import TooLongError, alarm

    try:
        with alarm(SECONDS):
            return say()
    except (SyntaxError, RecursionError, TooLongError) as error:
        return type(error).__name__


def coverage(corpus: Path | None) -> Said:
    """Return what `coverage` counts in each file."""
    return {
        name: _command("coverage", "--output", "json", ".", cwd=folder)
        for name, folder in programs(corpus)
    }


def annotate(corpus: Path | None) -> Said:
    """Return what `annotate` would write into each folder of sources."""
    return {
        name: _command("annotate", "--diff", ".", cwd=folder) for name, folder in programs(corpus)
    }


def _command(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "shapecheck", *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.stdout + done.stderr


def runtime(tree: Path) -> Said:
    """Return the shape errors that the run-time tests of a tree raise, by test."""
    tests = [str(path) for name in RUNTIME_TESTS if (path := tree / "tests" / name).is_dir()]
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "same", "-n", "auto", *tests],
            cwd=tree,
            env={**os.environ, HEARD: name},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        found: dict[str, set[str]] = {}
        for path in Path(name).iterdir():
            for line in path.read_text("utf-8").splitlines():
                test, text = json.loads(line)
                found.setdefault(test, set()).add(text)
    return {test: "\n".join(sorted(texts)) for test, texts in found.items()}


def pytest_configure() -> None:
    """Write down each shape error, as a plugin of pytest in the runs that `runtime` starts."""
    folder = os.environ.get(HEARD)
    if folder is None:
        return
    from shapecheck import ShapeError

    made = ShapeError.__init__
    out = (Path(folder) / str(os.getpid())).open("a", encoding="utf-8")

    def heard(self: ShapeError, *args: object, **kwargs: object) -> None:
        made(self, *args, **kwargs)  # type: ignore[arg-type]
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0].rpartition("/")[2]
        out.write(json.dumps([test, PASSING.sub("", str(self))]) + "\n")
        out.flush()

    ShapeError.__init__ = heard  # type: ignore[method-assign]


def collect(tree: Path, kinds: list[str], corpus: Path | None) -> dict[str, Said]:
    """Return all that a tree says, from which shapecheck is imported here."""
    import shapecheck

    assert Path(shapecheck.__file__).is_relative_to(tree), shapecheck.__file__
    ways = {"analysis": analysis, "annotate": annotate, "coverage": coverage}
    return {kind: runtime(tree) if kind == "runtime" else ways[kind](corpus) for kind in kinds}


# Two trees --------------------------------------------------------------------------------------


@contextlib.contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Lay a commit out in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="same-") as name:
        tree = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        for compiled in (ROOT / "shapecheck").rglob("*.so"):
            target = tree / compiled.relative_to(ROOT)
            if target.parent.is_dir():
                target.write_bytes(compiled.read_bytes())
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def said_by(tree: Path, options: argparse.Namespace) -> dict[str, Said]:
    """Run `collect` in a process that imports shapecheck from a tree."""
    path = [str(tree), str(ROOT / "benchmarks"), str(ROOT / "tests")]
    command = [sys.executable, __file__, "--collect", str(tree), "--only", *options.only]
    if options.corpus:
        command += ["--corpus", str(options.corpus)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return {
        kind: {key: text.replace(str(tree), "") for key, text in said.items()}
        for kind, said in json.loads(done.stdout).items()
    }


def differences(before: Said, now: Said, full: bool) -> Iterator[str]:
    """Tell each program of which the two don't say the same."""
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if old is None or new is None:
            yield f"{'+' if old is None else '-'} {key}: only {'now' if old is None else 'before'}"
            continue
        yield f"~ {key}"
        lines = [
            line
            for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
            if not line.startswith(("---", "+++", "@@"))
        ]
        yield from (f"    {line}" for line in (lines if full else lines[:STEPS]))
        if len(lines) > STEPS and not full:
            yield f"    ... and {len(lines) - STEPS} more lines"


def main() -> int:
    """Collect what both trees say, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--against", default="HEAD", help="the other commit (default: HEAD)")
    parser.add_argument("--corpus", type=Path, help="a folder of repositories")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--full", action="store_true", help="print every line that differs")
    parser.add_argument("--collect", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.corpus:
        options.corpus = options.corpus.resolve()
    if options.collect:
        sys.setrecursionlimit(1 << 14)  # as mypy does
        json.dump(collect(options.collect, options.only, options.corpus), sys.stdout)
        return 0
    with checkout(options.against) as tree:
        before = said_by(tree, options)
    now = said_by(ROOT, options)
    status = 0
    for kind in options.only:
        found = list(differences(before[kind], now[kind], options.full))
        count = sum(not line.startswith(" ") for line in found)
        print(f"{kind}: {len(now[kind])} programs, " + (f"{count} differ" if count else "the same"))
        print("".join(f"  {line}\n" for line in found), end="")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
