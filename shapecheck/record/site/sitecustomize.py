"""Python runs this at its start where `shapecheck record` has put it on the path."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

_HERE = str(Path(__file__).parent)


def _run_other() -> None:
    """Run the `sitecustomize` that would have been run without this one."""
    others = [entry for entry in sys.path if entry != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_run_other()
from shapecheck.record.hook import start_from_environment  # noqa: E402 - after the other

start_from_environment()
