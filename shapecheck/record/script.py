"""`python -m shapecheck.record.script SCRIPT ...`: runs a script as Python would, watched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType

from shapecheck.record.hook import watched_code


def run_script(arguments: Sequence[str]) -> None:
    """Run a script, watched, as Python would: `arguments` are its path and what it is given."""
    path = Path(arguments[0])
    sys.argv[:] = arguments
    sys.path[0] = str(path.resolve().parent)
    module = ModuleType("__main__")
    module.__file__ = str(path)
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    code = watched_code(decode_source(path.read_bytes()), str(path.resolve()))
    exec(code, vars(module))


if __name__ == "__main__":
    run_script(sys.argv[1:])
