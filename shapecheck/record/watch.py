"""Watches the calls of functions: what tensors go in and come out."""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import util
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from shapecheck.record import ranks
from shapecheck.record.files import name_in_record
from shapecheck.record.rows import MOST_ITEMS, fits
from shapecheck.record.store import UNUSABLE, Key, RecordProblem, append, in_words

_ALL: Final = 48
"""So many calls of a function are looked at, then fewer and fewer."""
_MOST_KINDS: Final = 200
_SHARE: Final = 0.25
"""The part of the time that looking at calls may take."""
_PATIENCE: Final = 5.0  # seconds for another thread to finish writing, when a signal ends all
_EVERY: Final = 1.0  # seconds between two writes
_AGAIN: Final = 10.0  # seconds until one that failed is tried again
_REPEATED: Final = 1.0  # seconds between two SIGTERM, until the first is answered


class _Torch:
    """What of torch is asked for, where it has been imported."""

    def __init__(self) -> None:
        self.tensor: Any = ()
        self.is_compiling: Callable[[], bool] = lambda: False


_torch: Final = _Torch()


def meet_torch() -> None:
    """Take note of torch where it has been imported; this module doesn't import it itself."""
    torch = sys.modules.get("torch")
    if not _torch.tensor and hasattr(torch, "compiler"):
        assert torch is not None
        _torch.tensor, _torch.is_compiling = torch.Tensor, torch.compiler.is_compiling


class Watched:
    """One function: how often it was called, and the different calls that were seen."""

    __slots__ = ("calls", "count", "key", "kinds", "names", "next", "reported")

    def __init__(self, key: Key, code: CodeType) -> None:
        self.key = key
        self.names = code.co_varnames[: code.co_argcount]
        self.count = self.reported = 0
        self.next = 1
        self.kinds: dict[Any, int] = {}
        self.calls: set[int] = set()

    def take(self) -> _Taken:
        """Return what is to be written, as if that were done."""
        taken = _Taken(self, self.count - self.reported, self.kinds)
        self.reported, self.kinds = self.count, {}
        return taken


@dataclass(frozen=True, slots=True)
class _Taken:
    """What is being written of a function: how often it was called, and the different calls."""

    of: Watched
    calls: int
    kinds: dict[Any, int]

    def texts(self) -> dict[str, int]:
        """Return the calls as a record has them."""
        return {_text(kind): count for kind, count in self.kinds.items()}

    def give_back(self) -> None:
        """Have it written the next time."""
        self.of.reported -= self.calls
        for kind, count in self.kinds.items():
            self.of.kinds[kind] = self.of.kinds.get(kind, 0) + count


def _repeat_termination(handler: Callable[..., None]) -> None:
    """Have SIGTERM sent again, once it has come, until its handler has ended the process.

    Python answers a signal between two steps of the program. One that comes just before the program
    begins to wait for a lock isn't answered until something else wakes it: an idle worker of a pool
    would never end, nor would the pool.
    """
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    if before != -1:  # the program's own
        signal.set_wakeup_fd(before)
        return
    threading.Thread(target=_repeat, args=(told, handler), daemon=True).start()


def _repeat(told: int, handler: Callable[..., None]) -> None:
    while signal.SIGTERM not in os.read(told, 1):
        pass
    while True:
        time.sleep(_REPEATED)
        if signal.getsignal(signal.SIGTERM) != handler:
            return  # the program's own, by now
        os.kill(os.getpid(), signal.SIGTERM)


class Recorder:
    """What this process has seen and not yet written; `root` is what files are named from.

    Without a root they are named from that of the disk.
    `errors` is a folder for the error that ends the process, where that is one of several.
    """

    def __init__(self, path: Path, root: Path | None, errors: Path | None = None) -> None:
        self.path, self.root, self.errors = path, root, errors
        self._watched: list[Watched] = []
        self._by_code: dict[tuple[str, CodeType], Watched] = {}
        self._lock = threading.Lock()
        self._masks = threading.local()
        self._begin()
        atexit.register(self.finish)
        # A pool ends its workers in this way. The signal's handler can't be set outside of the main
        # thread, and a program may have one of its own.
        with contextlib.suppress(ValueError):
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._at_termination)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._hold, after_in_parent=self._let_go, after_in_child=self._begin_child
            )
        # Workers of multiprocessing end without atexit.
        util.register_after_fork(self, Recorder._at_end_of_worker)

    def _begin(self) -> None:
        """Begin with nothing seen, at the start or in a process that was forked."""
        self._lock = threading.Lock()
        self._started = self._written = time.perf_counter()
        self._spent = 0.0
        self._ended_by: int | None = None
        self._writer: int | None = None
        self.problem: str | None = None
        for one in self._watched:
            one.kinds.clear()
            one.reported = one.count

    def _hold(self) -> None:
        """Have SIGTERM wait while a process forks, where Python would forget it in the child.

        A pool that ends its workers before all of them have begun would wait forever.
        """
        self._masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def _let_go(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._masks.before)

    def _begin_child(self) -> None:
        self._begin()
        self._let_go()

    def _at_termination(self, number: int, frame: FrameType | None) -> None:
        """Write what was seen, and then end as without a handler."""
        self._ended_by = number
        if self._writer == threading.get_ident():
            return  # in the middle of `flush`, which goes on
        if self._lock.acquire(timeout=_PATIENCE):
            self._lock.release()
        self.finish()
        _end(number)

    def _at_end_of_worker(self) -> None:
        util.Finalize(self, self.finish, exitpriority=100)
        if signal.getsignal(signal.SIGTERM) == self._at_termination:
            _repeat_termination(self._at_termination)

    def finish(self) -> None:
        """Write what was seen, at the end of the process, and say so if that can't be."""
        self.flush()
        if self.errors is not None:
            ranks.note(self.errors)
        if self.problem is not None:
            sys.stderr.write(f"shapecheck record: {self.problem}\n")

    def watch(self, function: FunctionType) -> Any:
        """Return a function that does the same, and is watched."""
        code = function.__code__
        with contextlib.suppress(ValueError):
            file = name_in_record(Path(code.co_filename).resolve(), self.root)
            one = self._by_code.get((file, code))
            if one is None:  # a function in another one is made anew each time
                one = Watched(Key(file, function.__qualname__, code.co_firstlineno), code)
                self._by_code[file, code] = one
                self._watched.append(one)
            return _wrapped(function, one, self)
        return function

    def due(self, one: Watched, begun: float) -> None:
        """Decide which call of a function is looked at next."""
        meet_torch()
        now = time.perf_counter()
        self._spent += now - begun
        stride = 1 if one.count < _ALL else one.count // _ALL
        if self._spent > _SHARE * (now - self._started) + 0.05:
            stride *= 16
        one.next = one.count + stride
        if now - self._written > (_EVERY if self.problem is None else _AGAIN):
            self.flush()

    def flush(self) -> None:
        """Write what was seen; a record that can't be written ends no program.

        What couldn't be written is kept, to be written the next time; `problem` says why.
        """
        if not self._lock.acquire(blocking=False):
            return
        self._writer = threading.get_ident()
        try:
            news = (one for one in self._watched if one.count > one.reported or one.kinds)
            taken = [one.take() for one in news]
            seen = [(one.of.key, one.calls, one.texts()) for one in taken]
            if seen:
                with _delayed_ctrl_c():
                    self.problem = self._problem_of_writing(seen)
                    if self.problem is not None:
                        for one in taken:
                            one.give_back()
            self._written = time.perf_counter()
        finally:
            self._writer = None
            self._lock.release()
        if self._ended_by is not None and threading.current_thread() is threading.main_thread():
            _end(self._ended_by)

    def _problem_of_writing(self, seen: Sequence[tuple[Key, int, Mapping[str, int]]]) -> str | None:
        try:
            append(self.path, seen)
        except (*UNUSABLE, RecordProblem) as error:
            calls = sum(count for _, count, _ in seen)
            return f"{self.path}: {in_words(calls, len(seen))} couldn't be written: {error}"
        return None


@contextlib.contextmanager
def _delayed_ctrl_c() -> Iterator[None]:
    """Have Ctrl-C wait until all is done: what is being written isn't seen a second time."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(handler):
        yield
        return
    missed: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: missed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if missed:
        handler(*missed[0])


def _end(number: int) -> None:
    """End this process by a signal, as if nothing were waiting for it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _wrapped(function: FunctionType, one: Watched, recorder: Recorder) -> Any:
    """Return the function that stands in for another one."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def watched_async(*args: Any, **kwargs: Any) -> Any:
            seen = _before(one, args, kwargs)
            result = await function(*args, **kwargs)
            _after(one, seen, result, recorder)
            return result

        return watched_async

    # torch.jit.script reads the source of the function that is wrapped, and looks up the names in
    # it among the closure's and the globals of the one that wraps.
    shapecheck_call, shapecheck_one, shapecheck_torch = function, one, _torch
    shapecheck_observed = functools.partial(_observed, one, recorder)

    def watched(*args: Any, **kwargs: Any) -> Any:
        if shapecheck_torch.is_compiling():
            return shapecheck_call(*args, **kwargs)
        shapecheck_one.count += 1
        if shapecheck_one.count < shapecheck_one.next:
            return shapecheck_call(*args, **kwargs)
        # A decorator above, `@shapecheck` too, may have put itself around the function meanwhile.
        return shapecheck_observed(shapecheck_call, args, kwargs)

    code, cells = watched.__code__, watched.__closure__
    made = FunctionType(code, function.__globals__, function.__name__, None, cells)
    return functools.update_wrapper(made, function)


def _observed(
    one: Watched,
    recorder: Recorder,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call a function, and keep what it was given and gave."""
    begun = time.perf_counter()
    seen = _arguments(one, args, kwargs)
    took = time.perf_counter() - begun
    result = function(*args, **kwargs)
    begun = time.perf_counter()
    _keep(one, seen, result)
    recorder.due(one, begun - took)
    return result


def _before(one: Watched, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    one.count += 1
    return _arguments(one, args, kwargs) if one.count >= one.next else None


def _after(one: Watched, seen: Any, result: Any, recorder: Recorder) -> None:
    if seen is not None:
        begun = time.perf_counter()
        _keep(one, seen, result)
        recorder.due(one, begun)


def _arguments(one: Watched, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    meet_torch()
    given = [(name, describe(value)) for name, value in zip(one.names, args, strict=False)]
    given += [(name, describe(value)) for name, value in kwargs.items()]
    owner = args[0] if args and one.names[:1] == ("self",) else None
    return tuple(given), () if owner is None else tuple(_ints(owner))


def _keep(one: Watched, seen: Any, result: Any) -> None:
    meet_torch()
    given, ints = seen
    kind = given, describe(result), ints
    try:
        known = one.kinds.get(kind)
    except TypeError:
        return
    if known is None:
        if hash(kind) not in one.calls:
            if len(one.calls) >= _MOST_KINDS:
                return
            one.calls.add(hash(kind))
        known = 0
    one.kinds[kind] = known + 1


def describe(value: Any, depth: int = 2) -> Any:
    """Return what a record keeps of a value: of a tensor what it is like, of most others the type.

    A tensor is `("t", dtype, device, sizes)`; an int is itself; lists and the like hold what the
    first of their items are; anything else, and what fails when it is asked, is its type's name.
    """
    try:
        return _described(value, depth)
    except Exception:  # noqa: BLE001 - a nested tensor has no sizes, a class may deny anything
        return _name_of_type(value)


def _described(value: Any, depth: int) -> Any:
    if isinstance(value, _torch.tensor):
        return "t", str(value.dtype)[6:], value.device.type, tuple(map(int, value.shape))
    if value is None or (type(value) is int and fits(value)):
        return value
    if depth and isinstance(value, (list, tuple)):
        kind = "l" if isinstance(value, list) else "n" if hasattr(value, "_fields") else "u"
        items = tuple(describe(item, depth - 1) for item in value[:MOST_ITEMS])
        return kind, len(value), items
    if depth and isinstance(value, dict):
        held = [(k, v) for k, v in list(value.items())[: 2 * MOST_ITEMS] if isinstance(k, str)]
        return "d", len(value), tuple((key, describe(item, depth - 1)) for key, item in held)
    return _name_of_type(value)


def _name_of_type(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _ints(owner: Any, prefix: str = "self", depth: int = 2) -> list[tuple[str, int]]:
    """Return the ints among the attributes of an instance, and of its settings."""
    found: list[tuple[str, int]] = []
    attributes = None
    with contextlib.suppress(Exception):  # a `__dict__` of the program's own
        attributes = owner.__dict__
    for name, value in attributes.items() if isinstance(attributes, dict) else ():
        if name.startswith("_"):
            continue
        if type(value) is int and fits(value):
            found.append((f"{prefix}.{name}", value))
        elif depth > 1 and ("config" in name or "cfg" in name or name in ("args", "hparams")):
            found += _ints(value, f"{prefix}.{name}", depth - 1)
    return found[:32]


def _text(kind: Any) -> str:
    given, result, ints = kind
    return json.dumps((dict(given), result, dict(ints)), separators=(",", ":"))


def watcher(recorder: Recorder) -> Callable[[Any], Any]:
    """Return what a module's functions are decorated with."""

    def put_on(target: Any) -> Any:
        return recorder.watch(target) if isinstance(target, FunctionType) else target

    return put_on
