"""The analysis of modules in a second process, while mypy is still checking types in the first.

mypy parses all modules before it checks the first one. Each is handed over as soon as it is parsed,
and mostly the result is there when mypy asks for it. While the first process waits for one that
isn't, it takes over modules that the second one hasn't begun. Nothing rests on the second process:
a result that is missing, or that was found in files as mypy doesn't see them, is found again in the
first.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from queue import Empty, PriorityQueue, SimpleQueue
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from shapecheck.engine import ModuleRecord
from shapecheck.machine import cores
from shapecheck.many_objects import many_objects
from shapecheck.mypy_plugin._engines import Engines
from shapecheck.mypy_plugin._keeping import store_in, tell
from shapecheck.mypy_plugin._sources import ModuleFinder, SourceReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecheck.analysis import Options
    from shapecheck.config import Sharing

# Isolated from the folder it starts in, where a `types.py` might lie; with the first one's path.
_PROGRAM: Final = """
import sys
sys.path[:] = {path!r}
sys.setrecursionlimit({recursion_limit})
from shapecheck.mypy_plugin._worker import serve
serve()
"""
# Characters of source for which it takes longer to analyse them than to start a process.
_WORTH_A_PROCESS: Final = 50_000
# Seconds for a message that is on its way to be read.
_MOMENT: Final = 0.001


@dataclass(frozen=True, slots=True)
class Start:
    """What the second process has to know before the first module.

    `options` are the analysis', `fingerprint` tells it from others, `folder` has what is kept, and
    `sharing` says where the team keeps it.
    `shadows` and `show_absolute_path` are the `SourceReader`'s, `roots` the `ModuleFinder`'s;
    `packages` are the folders of installed packages, which mypy has found before modules need them.
    """

    options: Options
    fingerprint: str
    folder: str | None
    sharing: Sharing | None
    shadows: dict[str, str]
    show_absolute_path: bool
    roots: tuple[str, ...]
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Request:
    """A module to analyse, where mypy found it; the lowest rank comes first."""

    rank: int
    module: str
    path: str


@dataclass(frozen=True, slots=True)
class _Taken:
    """A module that the first process analyses itself."""

    module: str


@dataclass(frozen=True, slots=True)
class _Begun:
    """A module that the second process is analysing now."""

    module: str


@dataclass(frozen=True, slots=True)
class _Note:
    """What the first process is to tell."""

    text: str


_Message: TypeAlias = "_Begun | _Note | tuple[str, ModuleRecord | None]"


class Worker:
    """The second process, as the first one sees it; it starts when there is enough for it to do."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._incoming: SimpleQueue[_Message | None] = SimpleQueue()
        self._results: dict[str, ModuleRecord | None] = {}
        self._waiting: dict[str, str] = {}
        self._unknown = 0
        self._submitted = 0
        self._expected: set[str] = set()
        # In the order in which they were submitted, the reverse of that in which they are begun.
        self._to_begin: dict[str, None] = {}
        self._has_begun = False
        # With one core there is nothing to win.
        self._is_open = cores() > 1 and bool(sys.executable)

    def submit(self, module: str, path: str, unknown: Callable[[], int]) -> None:
        """Have a module analysed.

        `unknown` tells of how many characters in it nothing is known from before; it is asked as
        long as the process hasn't started.
        """
        if not self._is_open or module in self._expected or module in self._waiting:
            return
        self._waiting[module] = path
        if self._process is None:
            self._unknown += unknown()
            if self._unknown < _WORTH_A_PROCESS:
                return
        try:
            if self._process is None:
                self._process = _spawn()
                weakref.finalize(self, _stop, self._process)
                reading = self._process.stdout, self._incoming
                threading.Thread(target=_read, args=reading, daemon=True).start()
                self._send(self._start)
            for one, its_path in self._waiting.items():
                # What a module imports is parsed after the module and checked before it.
                self._send(_Request(-self._submitted, one, its_path))
                self._submitted += 1
                self._expected.add(one)
                self._to_begin[one] = None
        except OSError:
            self._give_up()
        self._waiting.clear()

    def result(self, module: str, analyze: Callable[[str], object]) -> ModuleRecord | None:
        """Wait for the result of a module; None if there is none.

        Meanwhile, other modules that the second process hasn't begun are given to `analyze`.
        """
        try:
            while module in self._expected and module not in self._results:
                self._listen()
                if module in self._results:
                    break
                if not self._has_begun or not self._to_begin:
                    self._hear(self._incoming.get())
                elif module in self._to_begin:
                    self._take(module)
                else:
                    other = next(iter(self._to_begin))
                    self._take(other)
                    analyze(other)
        except (OSError, EOFError):
            self._give_up()
        self._expected.discard(module)
        return self._results.pop(module, None)

    def _take(self, module: str) -> None:
        del self._to_begin[module]
        self._expected.discard(module)
        self._send(_Taken(module))

    def _listen(self) -> None:
        """Take note of all that the second process has said by now."""
        with contextlib.suppress(Empty):
            while True:
                self._hear(self._incoming.get(timeout=_MOMENT))

    def _hear(self, message: _Message | None) -> None:
        if message is None:
            raise EOFError
        if isinstance(message, _Begun):
            self._has_begun = True
            self._to_begin.pop(message.module, None)
        elif isinstance(message, _Note):
            tell(message.text)
        else:
            module, result = message
            self._results[module] = result

    def _send(self, message: Start | _Request | _Taken) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps(message))
        self._process.stdin.flush()

    def _give_up(self) -> None:
        self._is_open = False
        self._expected.clear()
        self._to_begin.clear()
        if self._process is not None:
            _stop(self._process)


def _spawn() -> subprocess.Popen[bytes]:
    program = _PROGRAM.format(path=sys.path, recursion_limit=sys.getrecursionlimit())
    return subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _read(stream: IO[bytes], messages: SimpleQueue[_Message | None]) -> None:
    """Pass on what the other process says, and None when it says no more."""
    with contextlib.suppress(Exception):
        while True:
            messages.put(pickle.load(stream))
    messages.put(None)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def serve() -> None:
    """Be the second process: analyse modules until the first one ends."""
    requests: PriorityQueue[_Request] = PriorityQueue()
    messages: SimpleQueue[_Message] = SimpleQueue()
    done: set[str] = set()
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    start: Start = pickle.load(incoming)
    reader = SourceReader(start.shadows, show_absolute_path=start.show_absolute_path)
    finder = ModuleFinder(start.roots, start.packages, start.packages)

    def note(text: str) -> None:
        messages.put(_Note(text))

    store = partial(store_in, start.folder, start.fingerprint, start.sharing, note)
    engines = Engines(reader, finder, start.options, store)
    # Two more threads, so that neither process ever waits for the other to read.
    threading.Thread(target=_receive, args=(incoming, requests, done), daemon=True).start()
    threading.Thread(target=_deliver, args=(outgoing, messages), daemon=True).start()
    with many_objects():
        while True:
            request = requests.get()
            if request.module in done:
                continue
            messages.put(_Begun(request.module))
            messages.put((request.module, _found(request, engines)))


def _receive(incoming: IO[bytes], requests: PriorityQueue[_Request], done: set[str]) -> None:
    with contextlib.suppress(Exception):
        while True:
            message = pickle.load(incoming)
            if isinstance(message, _Taken):
                done.add(message.module)
            else:
                requests.put(message)
    os._exit(0)  # in the middle of a module: nobody is there to hear the result


def _deliver(outgoing: IO[bytes], messages: SimpleQueue[_Message]) -> None:
    with contextlib.suppress(Exception):
        while True:
            outgoing.write(pickle.dumps(messages.get()))
            outgoing.flush()
    os._exit(0)


def _found(request: _Request, engines: Engines) -> ModuleRecord | None:
    """Check one module; None where that fails, for the first process to fail at it again."""
    try:
        return engines.of(request.module, request.path).record(request.module)
    except Exception:  # noqa: BLE001 - whatever it is, the first process has a report for it
        return None
