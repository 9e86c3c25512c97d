"""Looks for programs that the tool can't stand: `make fuzz FUZZ_ARGS="--programs 2000"`."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz import texts
from fuzz.judging import Failure, is_program, judge, output, said, trace
from fuzz.mutants import mutant, sources
from fuzz.programs import Program
from fuzz.reducing import reduced
from repository import ROOT

FOLDERS = (ROOT / "examples", ROOT / "tests/analysis", ROOT / "shapecheck")
SECONDS = 20
"""How long a processor may work on one program: all checks of it together."""
PATIENCE = 30
"""How many times as long it may take, on a machine that has much else to do."""
MEMORY = 8 << 30
ANNOTATED = 4
"""Every so many programs are annotated, too; of the mutants, all."""
REDUCING = 120
TEXTS: Mapping[str, Callable[[random.Random], str]] = {
    "annotation": texts.annotation,
    "pattern": texts.pattern,
    "signatures": texts.signatures,
}
"""What is drawn that is no program, by its kind."""
HASH_SEEDS = ("1", "2")
OTHERWISE = "another thing is said under another hash seed"


def tell(text: str) -> None:
    """Print a text at once, for who waits for it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def drawn(kind: str, seed: str, number: int, originals: Sequence[tuple[str, str]]) -> str:
    """Return a program by its kind, the run's seed, and its number in that run."""
    rng = random.Random(f"{kind} {seed} {number}")
    if kind in TEXTS:
        return TEXTS[kind](rng)
    if kind == "program":
        return Program(rng).text()
    return mutant(rng.choice(originals)[1], rng)


def judged(
    text: str, annotate: bool, seconds: float = SECONDS, kind: str = "program"
) -> Failure | None:
    """Judge a program in a process of its own, which can be ended."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, text, annotate, seconds, kind))
    process.start()
    there.close()
    try:
        if here.poll(PATIENCE * seconds):
            return here.recv()
        return Failure("it waits for ever")
    except EOFError:
        process.join()
        return Failure(f"the process ends with {process.exitcode}")
    finally:
        process.kill()
        process.join()


class _TooLong(BaseException):
    """Ends what takes too long; no `except Exception` on the way keeps it."""


def _answer(there: Connection, text: str, annotate: bool, seconds: float, kind: str) -> None:
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # it ends with the process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (2 * math.ceil(seconds),) * 2)  # should that not do
    try:
        wrong = judge(text, annotate, kind)
    except _TooLong as error:
        wrong = Failure(f"it takes more than {seconds:g} seconds", trace(error))
    signal.setitimer(signal.ITIMER_PROF, 0)
    there.send(wrong)


def _too_long(*_: object) -> None:
    raise _TooLong


def failures(options: argparse.Namespace) -> Iterator[tuple[str, str, Failure]]:
    """Yield what is wrong with the programs of a run: with which one, its text, and what."""
    originals = sources(options.sources or FOLDERS) if options.mutants else []
    said("import torch\ntorch.zeros(2, 3) @ torch.zeros(3)\n")  # what each process then has loaded

    def one(kind: str, number: int) -> tuple[str, str, Failure | None]:
        text = drawn(kind, options.seed, number, originals)
        annotate = is_annotated(kind, number)
        is_judged = kind in TEXTS or is_program(text)
        wrong = judged(text, annotate, options.seconds, kind) if is_judged else None
        return f"{kind}:{options.seed}:{number}", text, wrong

    wanted = itertools.chain(
        (("program", number) for number in range(options.programs)),
        (("mutant", number) for number in range(options.mutants)),
        ((kind, number) for kind in TEXTS for number in range(options.texts)),
    )
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, text, wrong in pool.map(lambda both: one(*both), wanted):
            if wrong is not None:
                yield name, text, wrong


def is_annotated(kind: str, number: int) -> bool:
    """Whether a program is annotated, too, and served."""
    return kind == "mutant" or number % ANNOTATED == 0


def smallest(text: str, wrong: Failure, annotate: bool, seconds: float, kind: str) -> str:
    """Return a small program of which the same is wrong, as far as that is found in time."""
    if kind in TEXTS:
        return repr(text)
    end = time.monotonic() + REDUCING

    def fails(candidate: str) -> bool:
        if time.monotonic() > end or not is_program(candidate):
            return False
        again = judged(candidate, annotate, seconds)
        return again is not None and again.kind == wrong.kind

    return reduced(text, fails)


def replayed(options: argparse.Namespace) -> int:
    """Draw one program again, print it, and judge it in this process, where a debugger reaches."""
    kind, seed, number = options.replay.rsplit(":", 2)[-3:]
    originals = sources(options.sources or FOLDERS) if kind == "mutant" else []
    text = drawn(kind, seed, int(number), originals)
    wrong = judge(text, is_annotated(kind, int(number)), kind)
    tell(repr(text) if kind in TEXTS else text)
    tell(f"# {wrong.kind}\n{wrong.detail}" if wrong else "# nothing is wrong with it")
    return int(wrong is not None)


def outputs(options: argparse.Namespace) -> int:
    """Print a digest of what is said of each program, one a line."""
    originals = sources(options.sources or FOLDERS)
    for kind in ("program", "mutant"):
        for number in range(options.outputs):
            text = drawn(kind, options.seed, number, originals)
            made = output(text, number % ANNOTATED == 0) if is_program(text) else ""
            tell(f"{kind}:{options.seed}:{number} {hashlib.sha256(made.encode()).hexdigest()}")
    return 0


def compared(options: argparse.Namespace) -> Iterator[str]:
    """Yield the programs of which another thing is said where texts hash otherwise."""
    command = [sys.executable, "-m", "fuzz", "--seed", options.seed]
    command += ["--outputs", str(options.compared)]
    command += ["--sources", *map(str, options.sources)] if options.sources else []
    found = [
        subprocess.Popen(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True
        )
        for seed in HASH_SEEDS
    ]
    lines = [one.communicate()[0].splitlines() for one in found]
    for one, other in itertools.zip_longest(*lines, fillvalue=""):
        if one != other:
            yield (one or other).partition(" ")[0]


def properties(options: argparse.Namespace) -> int:
    """Run the suite's own properties with new examples, once for each round."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", str(ROOT / "tests")]
    worst = 0
    for round_ in range(options.properties):
        seed = random.Random(f"properties {options.seed} {round_}").randrange(1 << 31)
        fresh = [f"--hypothesis-seed={seed}", "--hypothesis-profile=fuzz", "-n", str(options.jobs)]
        worst |= subprocess.run([*command, *fresh], cwd=ROOT, check=False).returncode
    return worst


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    add = parser.add_argument
    add("--programs", type=int, default=300, help="how many random programs (%(default)s)")
    add("--mutants", type=int, default=100, help="how many mutants of real sources (%(default)s)")
    add("--texts", type=int, default=300, help="of each small language (%(default)s)")
    add("--compared", type=int, default=0, help="of each, under two hash seeds (%(default)s)")
    add("--outputs", type=int, help="print digests of what is said of so many of each")
    add("--properties", type=int, default=0, help="rounds of the suite's properties (%(default)s)")
    add("--seed", default=None, help="draws the same again; each run prints its own")
    add("--sources", type=Path, nargs="+", help="what mutants are made of (our own sources)")
    add("--seconds", type=float, default=SECONDS, help="for one program (%(default)s)")
    add("--jobs", type=int, default=2, help="processes at a time (%(default)s)")
    add("--first", action="store_true", help="stop at the first failure")
    add("--whole", action="store_true", help="print failing programs as they were drawn")
    add("--replay", metavar="NAME", help="print one program, and judge it: program:SEED:NUMBER")
    options = parser.parse_args(arguments)
    options.seed = options.seed or str(random.SystemRandom().randrange(1 << 20))
    return options


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 if nothing was found."""
    options = options_of(arguments)
    if options.replay:
        return replayed(options)
    if options.outputs:
        return outputs(options)
    asked = f"{options.programs} programs, {options.mutants} mutants, 3 x {options.texts} texts"
    tell(f"--seed {options.seed}: {asked}, {options.properties} rounds of the properties")
    seen: dict[str, int] = {}
    for name, text, wrong in failures(options):
        seen[wrong.kind] = seen.get(wrong.kind, 0) + 1
        if seen[wrong.kind] > 1:
            continue
        tell(f"\n--replay {name}\n{wrong.kind}\n{wrong.detail}")
        kind, _, number = name.split(":")
        annotate = is_annotated(kind, int(number))
        small = partial(smallest, text, wrong, annotate, options.seconds, kind)
        tell(repr(text) if kind in TEXTS else text if options.whole else small())
        if options.first:
            break
    for name in compared(options) if options.compared else ():
        tell(f"--replay {name}")
        seen[OTHERWISE] = seen.get(OTHERWISE, 0) + 1
    for fault, count in sorted(seen.items(), key=lambda both: -both[1]):
        tell(f"{count:6} times {fault}")
    tell(f"{len(seen)} kinds of failure")
    return max(bool(seen), properties(options))


if __name__ == "__main__":
    sys.setrecursionlimit(1 << 14)  # as mypy does
    sys.exit(main(sys.argv[1:]))
