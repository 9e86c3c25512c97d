"""Measures how the package is built: how large its folders are, what imports what in a circle, and
how often the code asks what it could be told.

    python benchmarks/structure.py [TREE] [--at COMMIT] [--list FIGURE ...]

TREE is a folder that holds `shapecheck/` and `stubs/` (the working tree, where neither is given).
With TREE and COMMIT both, their figures stand side by side: the commit's -> the tree's. `--list`
names each place that a figure counts. What is counted, all by the syntax alone:

folder: the Python files that stand directly in the folder that has most of them.
circles-across, circles-inside: groups of files that each import each other, directly or through
    others of the group; the first count those whose files are in several folders. An import counts
    wherever it stands: in a function, under `TYPE_CHECKING`, as `import_module("...")`. It leads to
    the file that is named, so `from shapecheck.dims import Size` to `dims/__init__.py`, and
    `from shapecheck.dims.algebra import Size` to `dims/algebra.py` alone. The package's
    `__version__` may be imported anywhere.
circles-folders: the same of folders, where one imports another if a file of it does. What an
    `__init__.py` imports from below its own folder, which it is the front of, doesn't count; a
    file directly in `shapecheck/` is a folder by itself.
any: uses of `Any`, and of names that are it (`Value: TypeAlias = Any`), in `analysis` and `ops`,
    the definitions of such names included, imports not. (mypy's `disallow_any_explicit` complains
    of where such a name is defined, not of where it is used.)
isinstance: calls of `isinstance` in `analysis`.
ladders: functions that ask of one expression whether it is of five kinds or more: the different
    classes in `isinstance(x, A)`, `isinstance(x, (A, B))`, `isinstance(x, A | B)`, and in the
    patterns of `match x`, `None` there included. Nodes of syntax trees (`ast.Name`, `cst.Name`)
    are no kinds, nor does what a nested function asks count for the one around it.
imports-analysis, imports-others: import statements inside functions.
op-lists: literal lists, tuples, sets, `"...".split()` and `"a" | "b"` patterns outside of the
    signature files with three or more names of ops in them, these being at least half. An op's
    name is one that the signature files define, dotted or its last part; names of Python itself
    (`int`, `__len__`) are none, and `__all__` is no such list.
op-tables: dicts with such keys. One from other spellings of dtypes to their names, `"double":
    "float64"`, is none, though a method of tensors has the same name.
messages: regular expressions and string methods put to what our own diagnostics say: to
    `.message` or `reason`, or to `str(error)` of an error class of this package. What argparse
    says (in a subclass of `ArgumentParser`) isn't ours, nor is what another program has printed:
    `self.message` in a file that imports `subprocess`.
complex: functions with a McCabe complexity over 12, as ruff counts it.
lines, files: of all Python in the package.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from counting.imports import circle_figure, circles, folder_graph, import_graph, local_imports
from counting.kinds import KINDS_IN_A_LADDER, any_uses, calls_of_isinstance, ladders
from counting.messages import message_reads
from counting.op_names import op_names
from counting.tree import PACKAGE, Figure, Place, Tree

ROOT = Path(__file__).resolve().parents[1]
COMPLEXITY = 12


def too_complex(tree: Tree) -> list[Place]:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--select", "C901", "--config", f"lint.mccabe.max-complexity={COMPLEXITY}"]
    done = subprocess.run(
        [*command, "--output-format", "json", PACKAGE],
        cwd=tree.root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        Place(
            Path(one["filename"]).relative_to(tree.root).as_posix(),
            one["location"]["row"],
            one["message"],
        )
        for one in json.loads(done.stdout)
    ]


def figures(tree: Tree) -> dict[str, Figure]:
    """Return all figures of a tree, by the names that `--list` knows them by."""
    sizes = Counter(file.folder for file in tree.files).most_common()
    graph = import_graph(tree)
    groups = circles(graph)
    across = [group for group in groups if len({path.rpartition("/")[0] for path in group}) > 1]
    lists, names = op_names(tree, tables=False)
    tables, keyed = op_names(tree, tables=True)
    analysis = tree.within("analysis")
    elsewhere = [file for file in tree.files if not file.is_in("analysis")]
    found = {
        "folder": Figure(
            "files in the largest folder",
            sizes[0][1] if sizes else 0,
            [Place(folder, 0, f"{number} files") for folder, number in sizes],
            sizes[0][0] if sizes else "",
        ),
        "circles-across": circle_figure("circles of files across folders", across),
        "circles-inside": circle_figure(
            "circles of files inside a folder", [group for group in groups if group not in across]
        ),
        "circles-folders": circle_figure("circles of folders", circles(folder_graph(graph))),
        "op-lists": counted("literal lists of op names", lists, f"{names} names"),
        "op-tables": counted("tables keyed by op names", tables, f"{keyed} names"),
        "any": counted("Any in analysis and ops", any_uses(tree)),
        "isinstance": counted("isinstance in analysis", calls_of_isinstance(analysis)),
    }
    for name in ("analysis", "runtime", "codemod"):
        title = f"functions with {KINDS_IN_A_LADDER} kinds or more in a ladder, in {name}"
        found[f"ladders-{name}"] = counted(title, ladders(tree.within(name)))
    found |= {
        "imports-analysis": counted(
            "imports inside functions of analysis", local_imports(analysis)
        ),
        "imports-others": counted("imports inside functions elsewhere", local_imports(elsewhere)),
        "messages": counted("reads of our own messages", message_reads(tree)),
        "complex": counted(f"functions with McCabe over {COMPLEXITY}", too_complex(tree)),
        "files": Figure("files", len(tree.files)),
        "lines": Figure("lines", sum(file.text.count("\n") for file in tree.files)),
    }
    return found


def counted(title: str, places: list[Place], note: str = "") -> Figure:
    return Figure(title, len(places), places, note if places else "")


def at_commit(commit: str, folder: Path) -> Tree:
    """Return the tree of a commit, unpacked into a folder."""
    command = ["git", "archive", "--format=tar", commit, PACKAGE, "stubs"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        sys.exit(packed.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return Tree(folder)


def report(sides: list[tuple[str, dict[str, Figure]]], listed_ones: Iterable[str]) -> str:
    """Return the table of all figures, or the places of some."""
    lines = []
    for name in listed_ones:
        for label, side in sides:
            lines += [f"{side[name].title}, {label}: {side[name]}"]
            lines += [f"  {place}" for place in side[name].places]
    if lines:
        return "\n".join(lines)
    first = sides[0][1]
    wide = max(len(name) for name in first) + 2
    lines = [f"{'':{wide}}" + " -> ".join(label for label, _ in sides)]
    for name, figure in first.items():
        cells = " -> ".join(str(side[name]) for _, side in sides)
        lines.append(f"{name:{wide}}{figure.title}: {cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path, help="a folder that holds shapecheck/")
    parser.add_argument("--at", metavar="COMMIT", help="a commit of this repository")
    parser.add_argument("--list", nargs="+", default=[], metavar="FIGURE", help="name each place")
    given = parser.parse_args()
    sides = []
    with tempfile.TemporaryDirectory() as folder:
        if given.at is not None:
            sides.append((given.at, figures(at_commit(given.at, Path(folder).resolve()))))
        if given.tree is not None or given.at is None:
            tree = (given.tree or ROOT).resolve()
            sides.append((tree.name, figures(Tree(tree))))
    if unknown := [name for name in given.list if name not in sides[0][1]]:
        parser.error(f"no figure {unknown[0]}; there are {', '.join(sides[0][1])}")
    print(report(sides, given.list))


if __name__ == "__main__":
    main()
