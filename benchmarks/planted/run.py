"""How many planted mistakes are found in repositories without annotations, nothing else given.

    python benchmarks/planted/run.py FOLDER [--only WORD ...] [--quick] [--json PATH]

FOLDER has a checkout of each repository that `edits.toml` names. Each is copied, and checked as it
is by `shapecheck check --only-shapes`: its errors are printed, as every one should be a real bug.
Then one line at a time is edited, and the edit is found if an error is told that wasn't before:
of that file, else, unless it should be `--quick`, anywhere in the copy. `--only` takes the
edits in which one of the words stands: a repository, a path, a kind or a part of a line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = Path(__file__).parent / "edits.toml"
TARGET: Final = 0.5
_ERROR: Final = re.compile(r":\d+: error: ")

KINDS: Final = {
    "argument": "another variable is handed over",
    "axis": "another axis",
    "cat": "tensors or the axis of `torch.cat`",
    "factor": "a factor of a width is forgotten, or one too much",
    "index": "a `None` or `:` of an index",
    "keepdim": "`keepdim` is forgotten",
    "norm": "the width of a norm",
    "order": "two arguments or operands trade places",
    "parameter": "the sizes of a parameter",
    "pattern": "an einsum or einops pattern",
    "permute": "a permutation is forgotten or another one",
    "transpose": "a transposition is forgotten",
    "unsqueeze": "an `unsqueeze` is forgotten",
    "view": "the sizes of a `view`, or the whole of it",
    "width": "the width of a layer",
}
"""What each kind of edit changes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of a file that becomes another one. `which`: of several same ones, from 1 on."""

    repo: str
    path: str
    kind: str
    line: str
    becomes: str
    which: int | None = None

    def apply(self, text: str) -> str:
        """Return an edited text; raises `ValueError` where it hasn't that line, or has several."""
        lines = text.splitlines(keepends=True)
        same = [at for at, line in enumerate(lines) if line.strip() == self.line]
        if len(same) < (self.which or 1) or (self.which is None and len(same) > 1):
            raise ValueError(f"{self.repo}/{self.path} has {len(same)} lines {self.line!r}")
        at = same[(self.which or 1) - 1]
        lines[at] = lines[at].replace(self.line, self.becomes)
        return "".join(lines)

    def __str__(self) -> str:
        """Return what is edited and where, on three lines."""
        return f"{self.repo}/{self.path} ({self.kind})\n    - {self.line}\n    + {self.becomes}"


def edits() -> list[Edit]:
    """Return the edits of the table, in its order."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return [
        Edit(file["repo"], file["path"], **edit) for file in table["file"] for edit in file["edit"]
    ]


class Copy:
    """A copy of a checkout, with what was found in it so far beside it."""

    def __init__(self, checkout: Path, folder: Path, *, is_quick: bool) -> None:
        self._is_quick = is_quick
        self.root = folder / checkout.name
        self._cache = folder / "cache"
        shutil.copytree(checkout, self.root, ignore=_without_data, symlinks=True)
        self.before = self.errors()

    def errors(self, checked: str = ".") -> Counter[str]:
        """Return the errors of the whole repository, or of one file, as they are printed."""
        command = [sys.executable, "-m", "shapecheck", "check", "--only-shapes", "--color", "never"]
        done = subprocess.run(
            [*command, checked, "--", "--cache-dir", str(self._cache)],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1, 2):
            sys.exit(done.stdout + done.stderr)
        return Counter(
            line for line in done.stdout.splitlines() if re.search(r":\d+: error: ", line)
        )

    def told(self, edit: Edit) -> list[str]:
        """Return the errors that an edit brings."""
        path = self.root / edit.path
        text = path.read_text("utf-8")
        try:
            path.write_text(edit.apply(text), "utf-8")
            here = self.errors(edit.path) - self.before
            return sorted(here or ({} if self._is_quick else self.errors() - self.before))
        finally:
            path.write_text(text, "utf-8")


def _without_data(folder: str, names: list[str]) -> set[str]:
    """Return the names in a folder that nothing is checked of: all but modules and settings."""
    kept = (".py", ".pyi", ".toml", ".cfg", ".ini")
    files = {name for name in names if not Path(folder, name).is_dir()}
    return {name for name in files if not name.endswith(kept)} | ({".git"} & set(names))


def judged(
    folder: Path, chosen: Iterable[Edit], *, is_quick: bool
) -> Iterator[tuple[Edit, list[str]]]:
    """Yield each edit with the errors that it brings, and print those without any edit."""
    by_repo: dict[str, list[Edit]] = {}
    for edit in chosen:
        by_repo.setdefault(edit.repo, []).append(edit)
    for repo, some in by_repo.items():
        with tempfile.TemporaryDirectory() as place:
            copy = Copy(folder / repo, Path(place), is_quick=is_quick)
            for error in copy.before.elements():
                print(f"{repo}/{error}  (not edited)")
            for edit in some:
                yield edit, copy.told(edit)


def main() -> int:
    """Plant each edit, print which aren't found; return 1 where fewer are than should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--json", type=Path, help="where to write what each edit brings")
    parser.add_argument("--quick", action="store_true", help="check only the file that is edited")
    options = parser.parse_args()
    words = options.only or [""]
    chosen = [edit for edit in edits() if any(word in str(edit) for word in words)]
    said: list[tuple[Edit, list[str]]] = []
    for edit, told in judged(options.folder, chosen, is_quick=options.quick):
        said.append((edit, told))
        print(f"{'found ' if told else 'MISSED'} {edit}", *told[:2], sep="\n      ", flush=True)
    for name in ("repo", "kind"):
        made = Counter(getattr(edit, name) for edit, _ in said)
        found = Counter(getattr(edit, name) for edit, told in said if told)
        print()
        for one, number in sorted(made.items()):
            print(f"{one:36} {found[one]:3} of {number:3}")
    total = sum(bool(told) for _, told in said)
    print(f"\n{total} of {len(said)} found")
    if options.json:
        rows = [{"edit": str(edit), "told": told} for edit, told in said]
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return int(total < TARGET * len(said))


if __name__ == "__main__":
    sys.exit(main())
