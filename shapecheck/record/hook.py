"""Has the functions of a project watched when its modules are imported, or run as a script."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from shapecheck.record import watch
from shapecheck.rewriting import rewrite

FILE: Final = "SHAPECHECK_RECORD"
ROOT: Final = "SHAPECHECK_RECORD_ROOT"
PACKAGES: Final = "SHAPECHECK_RECORD_PACKAGES"
ERRORS: Final = "SHAPECHECK_RECORD_ERRORS"
_LIBRARIES: Final = ("site-packages", "dist-packages")
_PLAIN_OPTIONS: Final = ("-u", "-B", "-O", "-q")

put_on: Callable[[Any], Any] = lambda target: target  # noqa: E731 - replaced by `start`


flush: Callable[[], None] = lambda: None  # noqa: E731 - as well


class RecordingHook(MetaPathFinder):
    """Finds the modules below a folder, or of some `packages`, and has them watched.

    `loaded`: the names of those that were found.
    """

    def __init__(self, root: Path, packages: tuple[str, ...]) -> None:
        self._root, self.packages = os.path.join(root, ""), packages  # noqa: PTH118 - a prefix
        self.loaded: set[str] = set()
        self._prefix = os.path.realpath(sys.prefix)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as Python would, to be watched when it is loaded."""
        if fullname.partition(".")[0] == "shapecheck":
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is None:
                continue
            if type(spec.loader) is SourceFileLoader and self.covers(fullname, spec.origin or ""):
                spec.loader = _Loader(spec.loader.name, spec.loader.path)
                self.loaded.add(fullname)
            return spec
        return None

    def uninstall(self) -> None:
        """Watch nothing of what is imported from now on, and write what was seen."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        flush()

    def covers(self, name: str, path: str) -> bool:
        """Whether a module of some name, which lies there, is to be watched."""
        if self.packages:
            return any(name == one or name.startswith(f"{one}.") for one in self.packages)
        path = os.path.realpath(path)
        return path.startswith(self._root) and not (
            path.startswith(self._prefix) or any(library in path for library in _LIBRARIES)
        )


class _Loader(SourceFileLoader):
    """Loads a module from its source, watched; never from or to Python's bytecode cache."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return watched_code(decode_source(self.get_data(path)), path)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        watch.meet_torch()


def watched_code(text: str, path: str) -> CodeType:
    """Return the code of a module in which all functions are watched."""
    tree = ast.parse(text, path)
    rewrite(tree, __name__)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def start(
    file: Path, root: Path, packages: tuple[str, ...] = (), errors: Path | None = None
) -> RecordingHook:
    """Watch what is imported from now on, and write what is seen to `file`.

    `errors`: the folder for the error that ends the process, where that is one of several.
    """
    global put_on, flush
    named_from = None if packages else Path(os.path.realpath(root))
    recorder = watch.Recorder(file, named_from, errors)
    put_on, flush = watch.watcher(recorder), recorder.flush
    hook = RecordingHook(Path(os.path.realpath(root)), packages)
    sys.meta_path.insert(0, hook)
    return hook


def script_at(command: Sequence[str]) -> int | None:
    """Return where in a command for Python the script is that it runs, None without one."""
    at = 1
    while at < len(command) and command[at] in _PLAIN_OPTIONS:
        at += 1
    return at if at < len(command) and _is_source(Path(command[at])) else None


def _is_source(path: Path) -> bool:
    """Whether a file is source: Python refuses a NUL in it, which archives and bytecode have."""
    return path.is_file() and b"\0" not in path.read_bytes()


def watched_command(command: Sequence[str], at: int) -> list[str]:
    """Return a command for Python by which its script is run watched."""
    return [*command[:at], "-m", "shapecheck.record.script", *command[at:]]


def start_from_environment() -> None:
    """Watch what the environment asks for, if it does.

    A script of the project that something else has started, as `torchrun` and shell scripts do, is
    begun once more in this process, watched.
    """
    file = os.environ.get(FILE)
    if not file:
        return
    # pytest warns of plugins that were imported before it.
    package = sys.modules[__name__.partition(".")[0]]
    package.__doc__ = f"{package.__doc__}\nPYTEST_DONT_REWRITE"
    packages = tuple(filter(None, os.environ.get(PACKAGES, "").split(",")))
    errors = os.environ.get(ERRORS)
    root = Path(os.environ.get(ROOT) or Path.cwd())
    hook = start(Path(file), root, packages, Path(errors) if errors else None)
    at = script_at(sys.orig_argv)
    if at is not None and os.name == "posix" and hook.covers("__main__", sys.orig_argv[at]):
        os.execv(sys.executable, [sys.executable, *watched_command(sys.orig_argv, at)[1:]])
