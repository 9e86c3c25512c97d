"""How much of what people annotated `shapecheck annotate` finds again, and what recording costs.

python benchmarks/annotate.py again examples/*.py           # strip, run, annotate, compare
python benchmarks/annotate.py again --from nothing FOLDER   # without a run: static, comments
python benchmarks/annotate.py again --from called FOLDER    # its functions called, see calling.py
python benchmarks/annotate.py again --from made-up FOLDER   # no function called, see there
python benchmarks/annotate.py share FOLDER [--tests "ARGS"] # functions annotated, and accepted
python benchmarks/annotate.py green FOLDER --package PKG --tests benchmarks/runs/test_mingpt.py
python benchmarks/annotate.py speed FOLDER ...              # time; twice is once; strip undoes it
python benchmarks/annotate.py record                        # overhead, memory, size of the file
python benchmarks/annotate.py record FOLDER --tests "ARGS"  # the same while a suite of tests runs
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from calling import functions, made_up
from comparing import CLASSES, compare
from libcst import ParserSyntaxError

from shapecheck.analysis import Options, Source
from shapecheck.analysis.study.study import qualnames, study
from shapecheck.codemod.annotate import Settings, annotate_files
from shapecheck.codemod.project.files import FileProblem, find, read, write
from shapecheck.codemod.project.project import ProjectHost, module_of
from shapecheck.codemod.sources.static import wanted
from shapecheck.codemod.strip import strip
from shapecheck.record.store import Key, Recorded, load
from shapecheck.shapes import Tensor

ROOT = Path(__file__).resolve().parents[1]


def again(paths: list[Path], origin: str, show: bool) -> None:
    """Strip, annotate again, compare; `origin` says what the record is of."""
    files = list(find(paths))
    base = Path(os.path.commonpath([path.absolute() for path in files]))
    base = base if base.is_dir() else base.parent
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "code")
        copies = {}
        if origin == "called":
            shutil.copytree(base, folder, ignore=shutil.ignore_patterns(".git"))
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").touch()
        for path in files:
            copy = folder / path.absolute().relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileProblem, SyntaxError, ValueError, ParserSyntaxError):
                text = read(path).text
                copy.write_text(strip(text))
                copies[copy] = text
        record: dict[Key, Recorded] = {}
        if origin == "run":
            for copy in copies:
                recorded(folder, copy.name)
        elif origin == "called":
            print(recorded(folder, str(ROOT / "benchmarks/calling.py"), str(base), str(folder)))
        if origin in ("run", "called"):
            every = load(folder / ".shapecheck-record.sqlite")
            record = {key: seen for key, seen in every.items() if seen.kinds}
        if origin in ("called", "made-up"):
            record |= _made_up(copies, record)
        begun = time.perf_counter()
        outcome = annotate_files(copies, Settings(record=record))
        took = time.perf_counter() - begun
        total: Counter[str] = Counter()
        written = {changed.file.path: changed.text for changed in outcome.changed}
        for copy, text in copies.items():
            counts = compare(text, written.get(copy, copy.read_text()), show)
            total += counts
    for refusal in outcome.refused if show else ():
        print(f"  {refusal.function} refused: {refusal.reason}")
    accepted = sum(len(changed.proposals) for changed in outcome.changed)
    found = total["places"] - total["missing"]
    print(
        f"{total['places']} places that people annotated; {found} annotated again "
        f"({found / total['places']:.0%}), {total['equal']} of these with an equal shape "
        f"({total['equal'] / max(found, 1):.0%}), {total['dtype']} with an equal dtype; "
        f"{accepted} annotations in all, {len(outcome.refused)} functions refused; {took:.0f} s"
    )
    print(", ".join(f"{text}: {total[name]}" for name, text in CLASSES.items()))


def _made_up(copies: Mapping[Path, str], record: Mapping[Key, Recorded]) -> dict[Key, Recorded]:
    """Return calls, as its annotations say, of each function that isn't in a record."""
    found: dict[Key, Recorded] = {}
    known = {(key.file, key.name) for key in record}
    for copy, text in copies.items():
        tree = ast.parse(text)
        lines = {name: node.lineno for node, name in qualnames(ast.parse(copy.read_text()))}
        for name, node in functions(tree):
            if not any(name == one and str(copy).endswith(f"/{file}") for file, one in known):
                calls = made_up(tree, node, name)
                key = Key(str(copy.resolve()), name, lines[name])
                found[key] = Recorded(len(calls), calls)
    return found


def recorded(folder: Path, *script: str) -> str:
    """Run a script, watched; return the last line of what it prints."""
    command = [sys.executable, "-m", "shapecheck", "record", "--", sys.executable, *script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip().rpartition("\n")[2]


def speed(paths: list[Path]) -> None:
    """Annotate a copy of each folder, and once more; take all of it out again."""
    for source in paths:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary, "code")
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
            files = [path for path in find([folder]) if b"torch" in path.read_bytes()]
            before = {path: path.read_bytes() for path in files}
            lines = sum(content.count(b"\n") for content in before.values())
            took, slots, refused = written(files)
            again, more, _ = written(files)
            same = sum(stripped(path) == taken_out(before[path], path) for path in files)
        print(
            f"{source.name}: {lines:,} lines in {took:.0f} s ({took / lines * 1e5:.0f} s a 100,000 "
            f"lines); {slots} annotations, {refused} functions refused; annotated again in "
            f"{again:.0f} s: {more} more; stripped: {same} of {len(files)} files as they were"
        )


def written(files: list[Path]) -> tuple[float, int, int]:
    """Annotate files; return how long it took, how many annotations, how many refused functions."""
    begun = time.perf_counter()
    outcome = annotate_files(files, Settings())
    took = time.perf_counter() - begun
    for changed in outcome.changed:
        write(changed.file, changed.text)
    return took, sum(len(one.proposals) for one in outcome.changed), len(outcome.refused)


def stripped(path: Path) -> bytes:
    """Return the content of a file without shapes."""
    return taken_out(path.read_bytes(), path)


def taken_out(content: bytes, path: Path) -> bytes:
    """Return a file's content without shapes: those of people go too."""
    try:
        path.write_bytes(content)
        file = read(path)
        return file.encoded(strip(file.text))
    except (FileProblem, ParserSyntaxError):
        return content


# Functions annotated, and accepted by mypy --------------------------------------------------------


def with_tensors(files: dict[Path, str]) -> set[tuple[Path, str]]:
    """Return the functions that take or give tensors, as far as the analysis can tell."""
    found = set()
    for path, text in files.items():
        name, root = module_of(path)
        try:
            studied = study(Source(name, str(path), text), ProjectHost(root), Options())
        except (SyntaxError, ValueError, RecursionError):
            continue
        for one in studied:
            is_given = bool(wanted(one) - {"return"})
            if is_given or any(isinstance(v, Tensor) for v in (*one.params.values(), one.result)):
                found.add((path, one.qualname))
    return found


def mypy_errors(folder: Path, cache: Path) -> Counter[tuple[str, str, str]]:
    """Return the errors of mypy with the plugin, each with its file and function."""
    settings = cache / "mypy.ini"
    settings.write_text(
        "[mypy]\nplugins = shapecheck.mypy_plugin\nignore_missing_imports = True\n"
        "check_untyped_defs = True\nnamespace_packages = True\nexplicit_package_bases = True\n"
        f"cache_dir = {cache / 'cache'}\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--no-error-summary"]
    command += ["--no-pretty", "--hide-error-context"]
    found: Counter[tuple[str, str, str]] = Counter()
    places: dict[str, list[tuple[int, int, str]]] = {}
    for batch in batches(folder):
        done = subprocess.run(
            [*command, *batch],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode > 1:
            sys.exit(f"mypy stops: {(done.stdout + done.stderr).strip()[-500:]}")
        for line in done.stdout.splitlines():
            match = re.match(r"(.+?):(\d+): error: (.*)", line)
            if match is None:
                continue
            if match[1] not in places:
                places[match[1]] = spans((folder / match[1]).read_text(errors="replace"))
            at = int(match[2])
            inside = [place for place in places[match[1]] if place[0] <= at <= place[1]]
            found[match[1], max(inside)[2] if inside else "", match[3]] += 1
    return found


def batches(folder: Path) -> list[list[str]]:
    """Divide a folder's files so that no two that are checked together have the same module name.

    What mypy can't parse is left out: it would stop there.
    """
    found: list[dict[str, str]] = []
    by_root: dict[Path, dict[str, str]] = {}
    for path in find([folder]):
        with contextlib.suppress(FileProblem, SyntaxError, ValueError):
            ast.parse(read(path).text)
            name, root = module_of(path)
            by_root.setdefault(root, {})[name] = str(path.relative_to(folder))
    for files in by_root.values():
        batch = next((one for one in found if not one.keys() & files.keys()), None)
        if batch is None:
            found.append(batch := {})
        batch |= files
    return [[*batch.values()] for batch in found]


def spans(text: str) -> list[tuple[int, int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [(n.lineno, n.end_lineno or n.lineno, name) for n, name in qualnames(tree)]


def share(paths: list[Path], tests: str | None, show: bool) -> None:
    """Annotate a copy of a folder; count functions, and what mypy and the tests say of them."""
    (source,) = paths
    with tempfile.TemporaryDirectory() as temporary:
        folder, cache = Path(temporary, "code"), Path(temporary, "mypy")
        cache.mkdir()
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
        texts: dict[Path, str] = {}
        for path in find([folder]):
            try:
                texts[path] = strip(read(path).text)
            except (FileProblem, SyntaxError, ParserSyntaxError) as error:
                print(f"  {path.relative_to(folder)} is left out: {error}")
                continue
            path.write_text(texts[path])
        candidates = with_tensors(texts)
        before = mypy_errors(folder, cache)
        green = passed(folder, tests, "") if tests else None
        outcome = annotate_files(texts, Settings())
        annotated = set()
        for changed in outcome.changed:
            write(changed.file, changed.text)
            annotated |= {(changed.file.path, one.slot.function) for one in changed.proposals}
        added = mypy_errors(folder, cache) - before
        blamed = {(folder / file, function) for file, function, _ in added}
        shaped = {(folder / file, function) for file, function, text in added if "[shape" in text}
        of = annotated & candidates
        accepted, quiet = annotated - blamed, annotated - shaped
        print(
            f"{source.name}: {len(candidates)} functions with tensors, {len(of)} annotated "
            f"({len(of) / len(candidates):.0%}); of all {len(annotated)} annotated functions mypy "
            f"has nothing new to say about {len(accepted)} ({len(accepted) / len(annotated):.0%}), "
            f"the plugin about {len(quiet)} ({len(quiet) / len(annotated):.0%}); "
            f"{sum(added.values())} new errors in all"
        )
        if show:
            for (file, function, text), count in sorted(added.items()):
                print(f"  {file} {function}: {text}" + (f" ({count} times)" if count > 1 else ""))
        if tests:
            package = ",".join(sorted(one.parent.name for one in folder.glob("*/__init__.py")))
            print(
                f"  tests: {green}; annotated, with --shapecheck: "
                f"{passed(folder, tests, f'--shapecheck={package}')}"
            )


def green(paths: list[Path], tests: str, package: str) -> None:
    """Annotate a copy of a folder, from its text alone and with a record; run tests with checks.

    What it had of annotations is taken out first. The tests are its own, or a file of ours.
    """
    (source,) = paths
    arguments = [str(Path(one).absolute()) if Path(one).is_file() else one for one in tests.split()]
    tests, checks = " ".join(arguments), f"--shapecheck={package}"
    with tempfile.TemporaryDirectory() as temporary:
        folder, file = Path(temporary, "code"), Path(temporary, "record.sqlite")
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
        for path in find([folder]):
            with contextlib.suppress(FileProblem, ParserSyntaxError):
                path.write_bytes(read(path).encoded(strip(read(path).text)))
        recorder = ["-m", "shapecheck", "record", "-o", str(file), "--", sys.executable]
        print(f"{source.name}: {passed(folder, tests, '', recorder)}")
        texts = {path: path.read_bytes() for path in find([folder])}
        for name, record in (("static", None), ("with the record", load(file))):
            for path, content in texts.items():
                path.write_bytes(content)
            outcome = annotate_files(texts, Settings(record=record))
            for changed in outcome.changed:
                write(changed.file, changed.text)
            slots = sum(len(changed.proposals) for changed in outcome.changed)
            print(f"  {name}: {slots} annotations; {passed(folder, tests, checks)}")
            print(f"    variables too: {passed(folder, tests, f'{checks} --shapecheck-variables')}")


def passed(folder: Path, tests: str, options: str, before: Sequence[str] = ()) -> str:
    """Return the last line that pytest prints; `before` stands between Python and it."""
    command = [sys.executable, *before, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [*command, *tests.split(), *options.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-300:]


# Speed --------------------------------------------------------------------------------------------

_PROGRAM = """
import torch
def scale(x, by):
    return x * by
def step(x, n):
    y = scale(x[:, : n % 60 + 1], 2.0)
    return torch.relu(y).sum(1)
def main(rounds):
    x = torch.zeros(4, 64)
    for n in range(rounds):
        step(x, n)
main({rounds})
"""


def record() -> None:
    """Measure a program of small calls with and without a recorder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for rounds in (20_000, 500_000):
            (folder / "run.py").write_text(_PROGRAM.format(rounds=rounds))
            for path in folder.glob(".shapecheck*"):
                path.unlink()
            times, memory = [], []
            for command in ([sys.executable, "run.py"], None):
                begun = time.perf_counter()
                if command is None:
                    recorded(folder, "run.py")
                else:
                    subprocess.run(command, cwd=folder, check=True)
                times.append(time.perf_counter() - begun)
                memory.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
            size = (folder / ".shapecheck-record.sqlite").stat().st_size / 1e6
            print(
                f"{2 * rounds:,} calls: {times[0]:.1f} s, recorded {times[1]:.1f} s "
                f"({times[1] / times[0]:.2f}x), {size:.2f} MB, at most {memory[1]:.0f} MB of "
                f"memory, {memory[0]:.0f} MB without"
            )


_ROUNDS = 3
_LARGEST_PROCESS = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def record_tests(source: Path, tests: str) -> None:
    """Measure a suite of tests with and without a recorder, in turns; the least of each counts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, file = Path(temporary, "code"), Path(temporary, "record.sqlite")
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests.split()]
        recorder = [sys.executable, "-m", "shapecheck", "record", "-o", str(file), "--"]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
        }
        times: dict[bool, list[float]] = {False: [], True: []}
        memory: dict[bool, int] = {False: 0, True: 0}
        said: dict[bool, str] = {}
        for is_recorded in [False, True] * _ROUNDS:
            command = [*(recorder if is_recorded else []), *pytest]
            begun = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", _LARGEST_PROCESS, *command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            times[is_recorded].append(time.perf_counter() - begun)
            *_, outcome, largest = done.stdout.strip().splitlines()
            memory[is_recorded] = max(memory[is_recorded], int(largest) // 1024)
            said[is_recorded] = outcome
        plain, recorded = min(times[False]), min(times[True])
        found = load(file)
        print(
            f"{source.name} {tests}: {plain:.1f} s, recorded {recorded:.1f} s "
            f"({recorded / plain:.2f}x); memory {memory[False]} MB, recorded {memory[True]} MB; "
            f"{sum(one.calls for one in found.values()):,} calls of {len(found):,} functions in "
            f"{_ROUNDS} runs, {file.stat().st_size / 1e6:.2f} MB\n"
            f"  {said[False]}\n  {said[True]}, recorded"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("again", "share", "green", "speed", "record"))
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument(
        "--from", dest="origin", choices=("run", "called", "made-up", "nothing"), default="run"
    )
    parser.add_argument("--show", action="store_true", help="print what differs")
    parser.add_argument("--tests", help="what of a folder to run with pytest")
    parser.add_argument("--package", default=".", help="what of it to check while they run")
    options = parser.parse_intermixed_args()
    if options.what == "again":
        again(options.paths, options.origin, options.show)
    elif options.what == "share":
        share(options.paths, options.tests, options.show)
    elif options.what == "green":
        green(options.paths, options.tests or "", options.package)
    elif options.what == "speed":
        speed(options.paths)
    elif options.paths:
        record_tests(options.paths[0], options.tests or "")
    else:
        record()


if __name__ == "__main__":
    main()
