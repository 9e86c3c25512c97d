"""What `shapecheck annotate --write` makes of repositories that have no shape annotations.

    python benchmarks/annotated/run.py FOLDER [--only NAME ...] [--keep PATH] [--draw N]

FOLDER has a checkout of each member that `members.toml` names. Each is copied, and annotated twice.
Printed is what README.md in this folder says; `--keep` leaves the annotated copies there, `--draw`
draws so many of the annotations that were written, always the same ones, to be judged by a person.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
SEED: Final = 25
_TENSOR: Final = re.compile(r"(?:torch\.)?Tensor$")
_SHAPED: Final = re.compile(r"\w+\[(?:torch\.)?Tensor, ?['\"]")
_ERROR: Final = re.compile(r"^(?P<path>.+?):(?P<line>\d+)(?::\d+)?: error: (?P<text>.*)$")
_CHECK: Final = ("check", "--only-shapes", "--color", "never", ".", "--", "--cache-dir=/dev/null")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A parameter, or a result: of which function, of which file."""

    path: str
    function: str
    nth: int
    name: str

    def __str__(self) -> str:
        return f"{self.path} {self.function} {self.name}"


@dataclass(slots=True)
class Annotations:
    """What the functions of a folder are annotated with, as text; "" where there is nothing."""

    texts: dict[Place, str] = field(default_factory=dict)

    @property
    def typed(self) -> set[Place]:
        """The parameters that are a `Tensor`, or one that may be left out."""
        every = self.texts.items()
        return {place for place, text in every if place.name != "return" and is_tensor(text)}

    @property
    def shaped(self) -> set[Place]:
        """The parameters and results of which a shape is said."""
        return {place for place, text in self.texts.items() if _SHAPED.search(text)}


def is_tensor(text: str) -> bool:
    """Whether an annotation says that something is a tensor, and no more than that or None."""
    text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$", r"\1", text.strip("'\""))
    options = {option.strip() for option in text.split("|")} - {"None"}
    return len(options) == 1 and all(_TENSOR.match(option) for option in options)


def read(folder: Path) -> Annotations:
    """Return what the functions of a folder's files are annotated with."""
    found = Annotations()
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(errors="replace"))
        except (SyntaxError, ValueError):
            continue
        counts: Counter[str] = Counter()
        for node, name in _functions(tree):
            where = str(path.relative_to(folder)), name, counts[name]
            counts[name] += 1
            every = node.args
            for one in (*every.posonlyargs, *every.args, *every.kwonlyargs):
                found.texts[Place(*where, one.arg)] = _text(one.annotation)
            found.texts[Place(*where, "return")] = _text(node.returns)
    return found


def _functions(
    tree: ast.AST, outer: str = ""
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in ast.iter_child_nodes(tree):
        name = outer
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{node.name}".strip(".")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, name
        yield from _functions(node, name)


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


def shapecheck(folder: Path, *arguments: str) -> tuple[str, float]:
    """Run a command in a folder; return what it prints, and the seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "shapecheck", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1 or "Traceback" in done.stderr:
        sys.exit(f"{folder.name}: {(done.stdout + done.stderr).strip()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout + done.stderr, took


def errors(
    folder: Path, printed: str
) -> tuple[Counter[tuple[str, str]], dict[tuple[str, str], str]]:
    """Return where `check` finds errors, each a file and what stands on the line, and their texts.

    What an error says of a line may change with the names that annotations have.
    """
    counts: Counter[tuple[str, str]] = Counter()
    texts: dict[tuple[str, str], str] = {}
    for one in filter(None, map(_ERROR.match, printed.splitlines())):
        lines = (folder / one["path"]).read_text(errors="replace").splitlines()
        place = one["path"], lines[int(one["line"]) - 1].strip()
        counts[place] += 1
        texts[place] = one["text"]
    return counts, texts


def measure(folder: Path) -> dict[Place, str]:
    """Annotate a copy of a repository twice; print what comes of it, return what was written."""
    lines = sum(
        content.count(b"\n")
        for path in folder.rglob("*.py")
        if b"torch" in (content := path.read_bytes())
    )
    before = read(folder)
    said, first = shapecheck(folder, *_CHECK)
    old, _ = errors(folder, said)
    printed, took = shapecheck(folder, "annotate", "--write", ".")
    after = read(folder)
    texts = {path: path.read_bytes() for path in folder.rglob("*.py")}
    _, again = shapecheck(folder, "annotate", "--write", ".")
    changed = [path for path, text in texts.items() if path.read_bytes() != text]
    more = {p: t for p, t in read(folder).texts.items() if after.texts.get(p) != t}
    said_now, second = shapecheck(folder, *_CHECK)
    now, texts_now = errors(folder, said_now)
    new = now - old
    typed = before.typed - before.shaped
    had, have = len(before.typed & before.shaped), len(typed & after.shaped)
    written = {p: after.texts[p] for p in after.shaped if after.texts[p] != before.texts.get(p)}
    doubts = printed.count("possible bug: ")
    print(
        f"{folder.name}: {lines:,} lines; of {len(typed)} parameters typed Tensor {had} had a "
        f"shape, {have} have one ({have / max(len(typed), 1):.0%}); {len(written)} annotations "
        f"written ({sum(p.name != 'return' for p in written)} of parameters), {doubts} doubts told;"
        f" second run: {len(changed)} files changed; check: {sum(new.values())} new errors of "
        f"{sum(now.values())}; CPU: annotate {took:.0f} s "
        f"({took / max(lines, 1) * 1e5:.0f} s per 100,000 lines), again {again:.0f} s, check "
        f"{first:.0f} s before and {second:.0f} s after"
    )
    for place, text in sorted(more.items()):
        print(f"  changed by the second run: {place}: {after.texts.get(place)} -> {text}")
    for (path, line), count in sorted(new.items()):
        times = f" ({count} times)" if count > 1 else ""
        print(f"  new: {path}: {line}: {texts_now[path, line]}{times}")
    for place in sorted(typed - after.shaped):
        print(f"  without a shape: {place}: {before.texts[place]}")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these members")
    parser.add_argument("--keep", type=Path, help="where to leave the annotated copies")
    parser.add_argument("--draw", type=int, default=0, help="print so many of the annotations")
    options = parser.parse_args()
    members = tomllib.loads((HERE / "members.toml").read_text())["member"]
    written: list[tuple[str, Place, str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in [one["name"] for one in members]:
            if options.only and name not in options.only:
                continue
            copy = Path(options.keep or temporary, name).resolve()
            ignore = shutil.ignore_patterns(".git")
            shutil.copytree(options.folder / name, copy, ignore=ignore)
            found = measure(copy)
            sys.stdout.flush()
            written += [(name, place, text) for place, text in sorted(found.items())]
    drawn = random.Random(SEED).sample(written, min(options.draw, len(written)))
    for name, place, text in sorted(drawn):
        print(f"{name}/{place}: {text}")


if __name__ == "__main__":
    main()
