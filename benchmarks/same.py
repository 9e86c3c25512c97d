"""Compares what two commits say of the same programs, byte for byte.

    python benchmarks/same.py [--against COMMIT] [--now COMMIT] [--corpus FOLDER] [--only KIND ...]

The programs are those of the working tree: the examples, every case of `tests/analysis`, and the
repositories below FOLDER, one a folder (`make corpus` fetches some). Of each, what the analysis
says, what `annotate --diff` would write, and what `coverage` counts and shows are compared; of the
run-time tests, which each commit runs as it has them, every `ShapeError` that is made. A test is
known by its name alone: it may move to another file. The exit status is 1 where anything differs,
and 2 where nothing could be compared.

Answers of a commit are kept in `.cache/same`, or where `--cache` or SAME_CACHE says.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sameness.programs import ROOT, Project, projects
from sameness.trees import KINDS, Answers, Refusal, Said, Tree, is_committed, laid_out

STEPS = 8
CACHE = os.environ.get("SAME_CACHE") or ROOT / ".cache" / "same"


def differences(before: Said, now: Said, full: bool) -> Iterator[str]:
    """Tell each program of which the two don't say the same; what isn't there says nothing."""
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key, ""), now.get(key, "")
        if old == new:
            continue
        only = "before" if key not in now else "now" if key not in before else ""
        yield f"~ {key}: only {only}" if only else f"~ {key}"
        _, _, *diff = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        lines = [line for line in diff if not line.startswith("@@")]
        yield from (f"    {line}" for line in (lines if full else lines[:STEPS]))
        if len(lines) > STEPS and not full:
            yield f"    ... and {len(lines) - STEPS} more lines"


def told(kind: str, before: Answers, now: Answers, full: bool) -> Iterator[str]:
    """Tell what was compared of a kind, and what differs."""
    found = list(differences(before.said, now.said, full))
    count = sum(not line.startswith(" ") for line in found)
    what = _number(len(now.said), "program") + " in " + _number(now.projects, "project")
    if kind == "runtime":
        what = _number(len(now.said), "test")
    outcome = f"{count:,} differ{'s' if count == 1 else ''}" if count else "the same"
    yield f"{kind}: {what} (before: {_time(before)}, now: {_time(now)}): {outcome}"
    yield from (f"  {line}" for line in found)


def _time(answers: Answers) -> str:
    if answers.kept == answers.projects:
        return "kept"
    kept = f", {_number(answers.kept, 'project')} kept" if answers.kept else ""
    return f"{answers.seconds:.0f} s{kept}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def compared(options: argparse.Namespace, scratch: Path) -> int:
    """Ask both trees kind by kind, and print what differs; return the exit status."""
    trees = []
    for commit, seed in ((options.against, 0), (options.now, options.hash_seed)):
        folder = scratch / str(len(trees)) / "tree"
        laid_out(commit, folder)
        keeps = commit is not None or is_committed()
        trees.append(Tree(commit or "the working tree", folder, options.cache, seed, keeps))
    programs: list[Project] = []
    if set(options.only) - {"runtime"}:
        programs = projects(options.corpus, scratch / "cases")
    status = 0
    for kind in options.only:
        before, now = (tree.answers(kind, programs) for tree in trees)
        for line in told(kind, before, now, options.full):
            print(line, flush=True)
        status |= any(differences(before.said, now.said, False))
    print("something differs" if status else "the same")
    return status


def main() -> int:
    """Compare two trees; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--against", default="HEAD", help="the one commit (default: HEAD)")
    parser.add_argument("--now", help="the other (default: the working tree as it is)")
    parser.add_argument("--corpus", type=Path, help="a folder of repositories")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--full", action="store_true", help="print every line that differs")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where answers are kept")
    parser.add_argument("--hash-seed", type=int, default=0, help="the other's PYTHONHASHSEED")
    options = parser.parse_args()
    options.cache = Path(options.cache).resolve()
    with tempfile.TemporaryDirectory(prefix="same-") as scratch:
        try:
            if options.corpus:
                options.corpus = options.corpus.resolve()
                if not options.corpus.is_dir():
                    raise Refusal(f"there is no folder {options.corpus}")
            return compared(options, Path(scratch).resolve())
        except Refusal as error:
            print(f"same: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
