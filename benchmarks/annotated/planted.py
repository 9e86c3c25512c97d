"""Which planted mistakes `check` finds in repositories as they are, and which once annotated.

    python benchmarks/annotated/planted.py FOLDER ANNOTATED

FOLDER has checkouts of the members, ANNOTATED what `run.py --keep` left of them. Of each edit in
`planted.toml` the edited file is checked in a copy of either, and an error that wasn't told there
before is one found. What is inferred is used without a write, so both should find the same.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from run import HERE, errors, shapecheck, tomllib


def told(folder: Path, path: str) -> Counter[tuple[str, str]]:
    """Return the errors that `check` tells of a file."""
    options = ("--only-shapes", "--color", "never", path, "--", "--cache-dir=/dev/null")
    return errors(shapecheck(folder, "check", *options)[0])


def finds(source: Path, edit: dict[str, str]) -> bool:
    """Whether an edit of a file of a repository draws an error that wasn't there before."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, source.name)
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
        (folder / "pyproject.toml").touch()
        before = told(folder, edit["path"])
        file = folder / edit["path"]
        lines = file.read_text().splitlines(keepends=True)
        same = [at for at, line in enumerate(lines) if line.strip() == edit["line"]]
        if len(same) != 1:
            sys.exit(f"{edit['path']} has {len(same)} lines {edit['line']!r}")
        lines[same[0]] = lines[same[0]].replace(edit["line"], edit["becomes"])
        file.write_text("".join(lines))
        return bool(told(folder, edit["path"]) - before)


def main() -> None:
    sides = [Path(one) for one in sys.argv[1:3]]
    edits = tomllib.loads((HERE / "planted.toml").read_text())["edit"]
    counts = [0, 0]
    for edit in edits:
        found = [finds(side / edit["repo"], edit) for side in sides]
        counts = [count + one for count, one in zip(counts, found, strict=True)]
        words = ["found" if one else "missed" for one in found]
        print(f"{edit['repo']}/{edit['path']}: {edit['becomes']}: {words[0]}, annotated {words[1]}")
        sys.stdout.flush()
    print(f"of {len(edits)}: {counts[0]} found by check alone, {counts[1]} once annotated")


if __name__ == "__main__":
    main()
