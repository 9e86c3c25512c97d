"""Compiles `shapecheck/runtime/naming/_lookup.c`, where there is a compiler.

Without one the package is pure Python: everything works, and an op costs about a microsecond more.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "shapecheck/runtime/naming/_lookup.c"


class CompileHook(BuildHookInterface):
    """Puts the compiled module beside its source, and into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the wheel of the result: it is one for this platform then."""
        made = compiled(Path(self.root))
        if made is None:
            self.app.display_warning(f"{SOURCE} can't be compiled here: shapecheck is pure Python")
            return
        build_data["artifacts"].append(made.as_posix())
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def compiled(root: Path) -> Path | None:
    """Return the compiled module's path below the root of the project, None if there is none."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext
    from setuptools.errors import BaseError

    strict = [] if sys.platform == "win32" else ["-O2", "-Wall", "-Wextra"]
    name = SOURCE.removesuffix(".c").replace("/", ".")
    module = Extension(name, [str(root / SOURCE)], extra_compile_args=strict, optional=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = build_ext(Distribution({"ext_modules": [module]}))
        command.build_lib = command.build_temp = scratch
        command.ensure_finalized()
        with suppress(BaseError, OSError):
            command.run()
        made = Path(command.get_ext_filename(name))
        if not (Path(scratch) / made).is_file():
            return None
        fresh = (Path(scratch) / made).read_bytes()
    target = root / made
    if not target.is_file() or target.read_bytes() != fresh:
        beside = target.with_suffix(".new")  # who has loaded the module keeps the file that it has
        beside.write_bytes(fresh)
        beside.replace(target)
    return made
