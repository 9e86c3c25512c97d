"""The share of shape-breaking edits that the analysis finds, by kind of edit.

    python benchmarks/mutate.py [--missed] [--limit N] [--folder PATH] [NAME ...]

Each example (NAME, all without any) is edited in one place at a time. An edit counts if `main` of
the edited example fails in plain torch, or contradicts an annotation as `@shapecheck` sees it. An
edit that counts is found if the analysis reports an error that the original doesn't have. With
`--folder`, where the corpus lies, its annotated functions are edited too. `mutation/corpus.py` says
how, and which of those edits fail for all sizes; the rest fails with those that were drawn.
`--limit` takes so many edits of each file or function, always the same ones.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from mutation.corpus import SOMETIMES, Left, Target, judged, targets  # noqa: E402
from mutation.edits import KINDS, Edit, edits  # noqa: E402
from mutation.programs import breaks, run_main  # noqa: E402
from mutation.static import Folder, Static  # noqa: E402
from seeded_bugs import EXAMPLES, MODELS, example  # noqa: E402

TARGET = 0.9


@dataclass(frozen=True, slots=True)
class Mutant:
    """An edited program: how it fails ('' if it doesn't), and what the analysis says of it."""

    where: str
    text: str
    edit: Edit
    fails: str
    said: tuple[str, ...]

    @property
    def always(self) -> bool:
        """Whether it fails, and not by the choice of sizes."""
        return self.fails not in ("", SOMETIMES)


def chosen(found: list[Edit], limit: int, seed: str) -> list[Edit]:
    """Return all edits, or so many of them, drawn by the seed."""
    if limit and len(found) > limit:
        picked = set(random.Random(seed).sample(range(len(found)), limit))
        return [edit for i, edit in enumerate(found) if i in picked]
    return found


def of_example(name: str, part: int, parts: int, limit: int) -> list[Mutant]:
    """Judge every so-manieth edit of an example."""
    text = example(name)
    path = str(EXAMPLES / f"{name}.py")
    for mode in ("off", "full"):
        run_main(text, path, mode)  # what it imports, the processes that run the edits have then
    static = Static(Folder(), "model", "model.py", text)
    found = []
    for edit in chosen(edits(text), limit, name)[part::parts]:
        mutated = edit.apply(text)
        fails = breaks(mutated, path)
        said = tuple(static.finds(mutated))
        found.append(Mutant(f"examples/{name}.py", text, edit, fails, said))
    return found


def of_function(target: Target, limit: int) -> tuple[list[Mutant], Left]:
    """Judge the edits of one function of the corpus."""
    picked = chosen(edits(target.text, target.node), limit, target.where)
    left, verdicts = judged(target, picked)
    if left:
        return [], left
    static = Static(Folder(*target.roots), target.module, target.where, target.text)
    return [
        Mutant(
            target.where,
            target.text,
            edit,
            fails,
            tuple(static.finds(edit.apply(target.text))),
        )
        for edit, fails in zip(picked, verdicts, strict=True)
    ], ""


def shares(mutants: list[Mutant]) -> tuple[str, str, str]:
    """Return how many there are, how many of them are found, and their share."""
    found = sum(bool(m.said) for m in mutants)
    share = f"{found / len(mutants):.1%}" if mutants else "-"
    return str(len(mutants)), str(found), share


def table(mutants: Iterable[Mutant]) -> list[str]:
    """Lay out the counts by kind."""
    heads = (
        "kind",
        "made",
        "fail",
        "found",
        "share",
        "for all sizes",
        "found",
        "share",
        "run, found",
    )
    rows = [heads]
    kept = list(mutants)
    for kind in (*KINDS, "all"):
        made = [m for m in kept if kind in (m.edit.kind, "all")]
        failing = [m for m in made if m.fails]
        always = [m for m in failing if m.always]
        if made:
            rest = sum(bool(m.said) for m in made if not m.fails)
            rows.append((kind, str(len(made)), *shares(failing), *shares(always), str(rest)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return ["  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in rows]


def listing(mutants: Iterable[Mutant]) -> None:
    """Print edits, each with its place."""
    for mutant in mutants:
        edit = mutant.edit
        print(f"{mutant.where}:{edit.line}: [{edit.kind}; {mutant.fails or 'runs'}]")
        print(f"    {edit.describe(mutant.text)}")
        for text in mutant.said[:1]:
            print(f"    said: {text}")


def main() -> int:
    """Judge, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples, or corpus members")
    parser.add_argument("--folder", type=Path, help="where the corpus lies")
    parser.add_argument("--limit", type=int, default=0, help="edits of each file or function")
    parser.add_argument("--missed", action="store_true", help="list what isn't found")
    parser.add_argument("--extra", action="store_true", help="list what is found and runs")
    parser.add_argument("--check", action="store_true", help="fail below the target")
    options = parser.parse_args()
    start = time.perf_counter()
    names = [name for name in MODELS if not options.names or name in options.names]
    workers = os.cpu_count() or 1
    mutants: list[Mutant] = []
    left: dict[str, int] = {}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        jobs = [
            pool.submit(of_example, name, part, workers, options.limit)
            for name in names
            for part in range(workers)
        ]
        tested = targets(options.folder, options.names) if options.folder else []
        calls = [pool.submit(of_function, target, options.limit) for target in tested]
        for job in jobs:
            mutants += job.result()
        if jobs:
            print("examples\n" + "\n".join(table(mutants)))
        of_corpus: list[Mutant] = []
        for call in calls:
            found, why = call.result()
            of_corpus += found
            left[why] = left.get(why, 0) + 1
    mutants.sort(key=lambda m: (m.where, m.edit.start, m.edit.kind, m.edit.new))
    if calls:
        print(f"\ncorpus: {len(calls)} annotated functions, of which {left.pop('', 0)} can be run")
        for why, number in sorted(left.items(), key=lambda item: -item[1]):
            print(f"  left out, {why}: {number}")
        print("\n".join(table(of_corpus)))
        mutants += of_corpus
    if options.missed:
        print("\nmissed")
        listing(m for m in mutants if m.fails and not m.said)
    if options.extra:
        print("\nfound, though it runs")
        listing(m for m in mutants if not m.fails and m.said)
    count = [m for m in mutants if m.fails]
    share = sum(bool(m.said) for m in count) / max(1, len(count))
    print(
        f"\nfound {share:.1%} of {len(count)} (target {TARGET:.0%}), "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(options.check and share < TARGET)


if __name__ == "__main__":
    sys.exit(main())
