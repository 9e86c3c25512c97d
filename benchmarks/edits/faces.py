"""The ways to ask what is wrong with a program.

To add one, write a `Face` and put what makes it into `FACES`: the faces of one group must say the
same of every tree, byte for byte.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from edits.trees import SETTINGS, TARGETS, modules
from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.engine import Engine

ROOT: Final = Path(__file__).resolve().parents[2]
# The little of torch and jaxtyping that drawn programs use: mypy reads the real ones for seconds.
SMALL_LIBRARIES: Final = Path(__file__).with_name("libraries") / "site-packages"
Said = dict[str, list[str]]
"""What was said of each file, in the order in which it was; of none, under an empty name."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where the faces find a program, and what they need besides.

    `prepared` is a cache of mypy in which the libraries are, and no module of the program;
    `scratch` is a folder of the face's own; `libraries` is where mypy finds other libraries than
    those that are installed, and `package` where Python finds `shapecheck`.
    """

    folder: Path
    scratch: Path
    prepared: Path | None
    libraries: Path | None = None
    package: Path = ROOT

    def targets(self) -> list[str]:
        """Return what mypy is asked to check now."""
        return (self.folder / TARGETS).read_text("utf-8").split()

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the folder of the program."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Return the environment of all programs."""
        found = {**os.environ, "PYTHONPATH": str(self.package), "PYTHONHASHSEED": "0"}
        if self.libraries is not None:
            found["MYPYPATH"] = str(self.libraries)
        return found

    def cache(self) -> Path:
        """Return a new cache of mypy, with the libraries in it."""
        cache = self.scratch / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        if self.prepared is not None:
            shutil.copytree(self.prepared, cache)
        return cache


class Face(Protocol):
    """One way to ask, through a whole sequence of edits."""

    def say(self) -> Said:
        """Return what is said of the program as it lies in the folder now."""

    def close(self) -> None:
        """End what runs still."""


class Cold:
    """mypy that has never seen the program."""

    def __init__(self, place: Workplace) -> None:
        self._place = place

    def say(self) -> Said:
        """Return what mypy prints."""
        return _mypy(self._place, self._place.cache())

    def close(self) -> None:
        """Remove the cache."""
        shutil.rmtree(self._place.scratch, ignore_errors=True)


class Warm:
    """mypy with the cache of the tree before."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._cache = place.cache()

    def say(self) -> Said:
        """Return what mypy prints."""
        return _mypy(self._place, self._cache)

    def close(self) -> None:
        """Remove the cache."""
        shutil.rmtree(self._place.scratch, ignore_errors=True)


class Daemon:
    """One daemon of mypy for all trees."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._cache = place.cache()
        self._status = f"--status-file={place.scratch / 'status.json'}"

    def say(self) -> Said:
        """Return what the daemon prints."""
        options = f"--config-file={SETTINGS}", f"--cache-dir={self._cache}"
        run = "-m", "mypy.dmypy", self._status, "run", "--", *options, *self._place.targets()
        return heard(self._place.python(*run))

    def close(self) -> None:
        """Stop the daemon."""
        self._place.python("-m", "mypy.dmypy", self._status, "stop")
        shutil.rmtree(self._place.scratch, ignore_errors=True)


class Process:
    """The analysis by itself, in a process that stays."""

    def __init__(self, place: Workplace) -> None:
        self._place = place

    def say(self) -> Said:
        """Return what the analysis says of each module."""
        return analysed(self._place.folder)

    def close(self) -> None:
        """Nothing runs."""


class Engaged:
    """The engine in a process that stays, which goes on from what it knows."""

    def __init__(self, place: Workplace) -> None:
        self._host = _Edited(place.folder)
        self._engine = Engine(self._host, Options(), stays=True)

    def say(self) -> Said:
        """Return what the engine says of each module."""
        self._engine.renew(self._host.renew())

        def check(source: Source) -> Sequence[Diagnostic]:
            # Of a stub and a module of one name, programs see the stub.
            if self._host.source(source.name) != source:
                return analyze_module(source, _Folder(self._host.folder), Options())
            return self._engine.check(source.name)

        return _said(self._host, check)

    def close(self) -> None:
        """Nothing runs."""


class Afresh:
    """The same in a new process for each tree."""

    def __init__(self, place: Workplace) -> None:
        self._place = place

    def say(self) -> Said:
        """Return what the analysis says of each module."""
        program = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n{_TELL}"
        return heard(self._place.python("-c", program))

    def close(self) -> None:
        """Nothing runs."""


class Alone:
    """`check --only-shapes` with the database of the tree before."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._cache = place.scratch / "cache"

    def say(self) -> Said:
        """Return what is printed."""
        return _alone(self._place, self._cache)

    def close(self) -> None:
        """Remove the database."""
        shutil.rmtree(self._place.scratch, ignore_errors=True)


class AloneAnew(Alone):
    """The same with nothing from before."""

    def say(self) -> Said:
        """Return what is printed."""
        shutil.rmtree(self._cache, ignore_errors=True)
        return super().say()


class AloneDamaged(Alone):
    """The same with a database of which a different part is damaged each time."""

    def __init__(self, place: Workplace) -> None:
        super().__init__(place)
        self._random = random.Random(0)

    def say(self) -> Said:
        """Return what is printed."""
        for path in sorted(self._cache.rglob("shapecheck.sqlite*")):
            content = bytearray(path.read_bytes())
            for _ in range(self._random.choice((1, 40, 4000))):
                content[self._random.randrange(len(content))] = self._random.randrange(256)
            path.write_bytes(content[: self._random.choice((len(content), len(content) // 2))])
        return super().say()


class AloneTwice(Alone):
    """The same by two processes at once, the first of which is killed in the middle."""

    def say(self) -> Said:
        """Return what the one prints that goes on."""
        command = [sys.executable, "-m", "shapecheck", *_alone_arguments(self._place, self._cache)]
        environment = self._place.environment()
        with subprocess.Popen(
            command,
            cwd=self._place.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as other:
            said = super().say()
            other.kill()
        return said


class ThroughMypy(Alone):
    """What mypy's plugin says of shapes, with nothing from before."""

    def say(self) -> Said:
        """Return what is printed of shapes."""
        arguments = "check", "--output", "json", "--config-file", SETTINGS
        options = "--", f"--cache-dir={self._place.cache()}"
        targets = self._place.targets()
        done = self._place.python("-m", "shapecheck", *arguments, *targets, *options)
        # mypy stops at a file that isn't Python, and has nothing to say of the others.
        return AloneAnew(self._place).say() if done.returncode == 2 else _of_shapes(done)


_TELL: Final = """
from pathlib import Path
from edits.faces import analysed
sys.setrecursionlimit(1 << 14)
for lines in analysed(Path()).values():
    for line in lines:
        print(line)
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a face is made, and which others it must agree with."""

    group: str
    make: Callable[[Workplace], Face]


# The first one of a group is what the others are held against.
FACES: Final[dict[str, Kind]] = {
    "cold": Kind("mypy", Cold),
    "warm": Kind("mypy", Warm),
    "daemon": Kind("mypy", Daemon),
    "afresh": Kind("analysis", Afresh),
    "process": Kind("analysis", Process),
    "engine": Kind("analysis", Engaged),
    "through mypy": Kind("alone", ThroughMypy),
    "alone anew": Kind("alone", AloneAnew),
    "alone": Kind("alone", Alone),
    "alone damaged": Kind("alone", AloneDamaged),
    "alone twice": Kind("alone", AloneTwice),
}


def _mypy(place: Workplace, cache: Path) -> Said:
    options = f"--config-file={SETTINGS}", f"--cache-dir={cache}"
    return heard(place.python("-m", "mypy", *options, *place.targets()))


def _alone_arguments(place: Workplace, cache: Path) -> list[str]:
    arguments = "check", "--only-shapes", "--output", "json", "--config-file", SETTINGS
    return [*arguments, *place.targets(), "--", f"--cache-dir={cache}"]


def _alone(place: Workplace, cache: Path) -> Said:
    return _of_shapes(place.python("-m", "shapecheck", *_alone_arguments(place, cache)))


def _of_shapes(done: subprocess.CompletedProcess[str]) -> Said:
    """Sort findings about shapes, printed as JSON, by file; what stops a run is left out."""
    said: dict[str, list[str]] = defaultdict(list)
    for line in done.stdout.splitlines():
        found = json.loads(line)
        code, message = found["code"] or "", found["message"]
        if code.startswith("shape") or message.startswith("Revealed shape"):
            said[found["file"]].append(line)
    if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
        said[""] = done.stderr.splitlines()
    return {name: sorted(lines) for name, lines in sorted(said.items())}


def heard(done: subprocess.CompletedProcess[str]) -> Said:
    """Sort what was printed by file: files, unlike lines, come in the order of the work."""
    said: dict[str, list[str]] = defaultdict(list)
    for line in done.stdout.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.endswith((".py", ".pyi")) and rest:
            said[name].append(line)
        elif not line.startswith(("Success: ", "Found ", "Daemon ", "Restarting: ")):
            said[""].append(line)
    said[""] += done.stderr.splitlines()
    return {name: lines for name, lines in said.items() if lines}


def analysed(folder: Path) -> Said:
    """Return what the analysis says of each module below a folder, as files are now."""
    host = _Folder(folder)
    return _said(host, lambda source: analyze_module(source, host, Options()))


def _said(host: _Folder, check: Callable[[Source], Sequence[Diagnostic]]) -> Said:
    """Return what a check says of each module below a folder."""
    folder = host.folder
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.py*")]
    said: Said = {}
    for name in modules(dict.fromkeys(names, "")):
        source = host.read(name)
        try:
            found = check(source)
        except SyntaxError as error:
            said[name] = [f"{name}:{error.lineno}: {error.msg}"]
            continue
        said[name] = [
            f"{name}:{one.span.line}:{one.span.column}:{one.span.end_line}:{one.span.end_column}: "
            f"{one.severity}: {one.message}  [{one.code}]"
            for one in found
        ]
    return {name: lines for name, lines in said.items() if lines}


class _Folder:
    """Hands out the modules of a folder, all folders being packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Source | None] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name."""
        if module not in self._known:
            base = module.replace(".", "/")
            paths = (f"{base}/__init__.pyi", f"{base}.pyi", f"{base}/__init__.py", f"{base}.py")
            found = (path for path in paths if (self.folder / path).is_file())
            path = next(found, None)
            self._known[module] = None if path is None else self._read(module, path)
        return self._known[module]

    def read(self, path: str) -> Source:
        """Return the module at a path."""
        module = path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")
        return self._read(module, path)

    def _read(self, module: str, path: str) -> Source:
        return Source(module, path, (self.folder / path).read_text("utf-8", errors="replace"))


class _Edited(_Folder):
    """The same for a process that stays: a module is as it was until all are looked at again."""

    def version(self, module: str) -> str | None:
        """Return what is another text where the module's source is."""
        source = self.source(module)
        return source and f"{source.text} {source.path}"

    def renew(self) -> list[str]:
        """See all modules as they are now; return those that have changed, come or gone."""
        before, self._known = self._known, {}
        return [name for name, source in before.items() if self.source(name) != source]
