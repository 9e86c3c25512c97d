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
try:
    from shapecheck.record.hook import start_from_environment
except ModuleNotFoundError as error:
    if error.name != "shapecheck":
        raise
    sys.stderr.write(
        f"shapecheck record: nothing is recorded of {sys.executable}, which has no shapecheck; "
        "install torch-shapecheck there\n"
    )
else:
    start_from_environment()
