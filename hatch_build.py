"""Compiles what there is to compile in a wheel.

`_lookup.c` and `_readings.c` in `shapecheck/runtime/naming`, where there is a compiler: without one
everything works, and an op costs some microseconds more. And, where SHAPECHECK_COMPILE=1 asks for
it, what the analysis spends its time in: mypyc makes C of the Python of these rooms. Everything
works without that, too. SHAPECHECK_COMPILE=0 asks for pure Python, compiler or not.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from setuptools import Extension

MODULE = "shapecheck/runtime/naming/_lookup"
_ASKED = "SHAPECHECK_COMPILE"
SOURCES = (f"{MODULE}.c", "shapecheck/runtime/naming/_readings.c")

ROOMS = ("dtypes.py", "dims", "shapes", "ops", "signatures", "analysis")
"""What mypyc compiles of the package."""
INTERPRETED = (
    "dims/objects.py",  # programs hold these objects, copy them and send them about,
    "dims/layouts.py",  # with what these are
    "signatures/index.py",  # what it keeps on disk is Python's own
    "analysis/host.py",  # what hosts give and get goes from one process to another,
    "analysis/options.py",
    "analysis/pace.py",
    "analysis/findings.py",  # and so does what is said of each part
    "analysis/relevance.py",  # a run with nothing new asks for no more than this
    "analysis/study",  # it doesn't run when a program is checked
)
"""What it doesn't compile in there, beside each `__init__.py`."""


class CompileHook(BuildHookInterface):
    """Puts the compiled modules into the wheel, and the one that is written in C beside its source.

    Those that are made of Python never lie beside it, where they would hide what is edited there.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what the build needs beside what `build-system` says."""
        return ["mypy>=2.4"] if is_asked_for() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the wheel of the result: it is one for this platform then."""
        if os.environ.get(_ASKED) == "0":
            return
        made = compiled(Path(self.root))
        if made is None:
            self.app.display_warning(f"{MODULE} can't be compiled: shapecheck is pure Python")
        else:
            build_data["artifacts"].append(made.as_posix())
        if is_asked_for() and version != "editable":
            self._scratch = tempfile.TemporaryDirectory()
            folder = Path(self._scratch.name)
            for path in compiled_rooms(Path(self.root), folder):
                build_data["force_include"][str(folder / "made" / path)] = path.as_posix()
        elif made is None:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel has by now."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()


def is_asked_for() -> bool:
    """Whether the rooms of the analysis are to be compiled, which takes minutes."""
    return os.environ.get(_ASKED) == "1"


def modules_to_compile(root: Path) -> list[str]:
    """Return the files, below the root of the project, that mypyc compiles."""
    package = root / "shapecheck"
    found = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        parts = {name, *(parent.as_posix() for parent in Path(name).parents)}
        if path.name != "__init__.py" and not parts.isdisjoint(ROOMS):
            if parts.isdisjoint(INTERPRETED):
                found.append(path.relative_to(root).as_posix())
    return found


def compiled_rooms(root: Path, folder: Path) -> list[Path]:
    """Compile the rooms into a folder; return the paths in it. Raises where that fails."""
    from mypyc.build import mypycify

    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    options.append(f"--cache-dir={folder / 'cache'}")
    source = folder / "source"
    shutil.copytree(root / "shapecheck", source / "shapecheck")
    chosen = modules_to_compile(root)
    for name in chosen:
        path = source / name
        path.write_text(thawed(path.read_text(encoding="utf-8")), encoding="utf-8")
    with running_in(source):
        modules = mypycify(
            [*options, *chosen],
            target_dir=str(folder / "c"),
            group_name="shapecheck_compiled",
            multi_file=True,
            opt_level="1",  # a higher one takes much longer
            debug_level="0",
        )
    built(modules, folder / "made")
    made = (folder / "made").rglob("*")
    return [path.relative_to(folder / "made") for path in made if path.suffix in (".so", ".pyd")]


def thawed(text: str) -> str:
    """Return the source of a module with no dataclass frozen, each statement on the line it was on.

    One that is frozen is made by calls of `object.__setattr__`, which takes three times as long.
    Whether anyone assigns to one has been found out before, by mypy and the tests.
    """
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            continue
        has_hash = any(getattr(one, "name", None) == "__hash__" for one in node.body)
        for decorator in node.decorator_list:
            at = decorator.lineno - 1
            if lines[at].strip().startswith("@dataclass(frozen=True"):
                is_hashed = not has_hash and "eq=False" not in lines[at]
                other = "unsafe_hash=True" if is_hashed else "frozen=False"
                lines[at] = lines[at].replace("frozen=True", other)
    return "\n".join(lines)


@contextmanager
def running_in(folder: Path) -> Iterator[None]:
    """Run in a folder: mypy finds out by paths relative to it which modules it is given."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def built(modules: list[Extension], folder: Path) -> Any:
    """Have modules built in a folder; return the command that did it."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    command = build_ext(Distribution({"ext_modules": modules}))
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    return command


def compiled(root: Path) -> Path | None:
    """Return the compiled module's path below the root of the project, None if there is none."""
    from setuptools import Extension
    from setuptools.errors import BaseError

    strict = [] if sys.platform == "win32" else ["-O2", "-Wall", "-Wextra"]
    sources = [str(root / path) for path in SOURCES]
    name = MODULE.replace("/", ".")
    module = Extension(name, sources, extra_compile_args=strict, optional=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = None
        with suppress(BaseError, OSError):
            made = Path(built([module], Path(scratch)).get_ext_filename(name))
        if made is None or not (Path(scratch) / made).is_file():
            return None
        fresh = (Path(scratch) / made).read_bytes()
    target = root / made
    if not target.is_file() or target.read_bytes() != fresh:
        beside = target.with_suffix(".new")  # who has loaded the module keeps the file that it has
        beside.write_bytes(fresh)
        beside.replace(target)
    return made
