"""What becomes of an example's `main` when the example is edited."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import multiprocessing
import os
import signal
import sys
import types
import warnings
from typing import Any, Final

SECONDS: Final = 20
CRASHED: Final = "crashed"
SHAPE_ERRORS: Final = frozenset(
    ("RuntimeError", "IndexError", "ValueError", "EinopsError", "ShapeError", CRASHED)
)
"""The errors that a wrong shape leads to; a misspelt attribute, for one, is mypy's own business."""


class TooLongError(Exception):
    """A program ran for more than its time."""


@contextlib.contextmanager
def alarm(seconds: int) -> Any:
    """Raise `TooLongError` in what takes longer."""

    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def run_main(text: str, path: str, mode: str) -> str:
    """Run a module's `main`; return the kind of error that ended it, or an empty text.

    What is repeated for training is done once. `mode` is what SHAPECHECK says; if it isn't `off`,
    all functions are decorated.
    """
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tree = _Prepared(mode != "off").visit(ast.parse(text))
    os.environ["SHAPECHECK"] = mode
    module = types.ModuleType("model")
    module.__file__ = path
    sys.modules["model"] = module
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        with alarm(SECONDS), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(ast.fix_missing_locations(tree), path, "exec"), module.__dict__)
            module.main()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return type(error).__name__
    return ""


class _Prepared(ast.NodeTransformer):
    """Runs the training loop of `main` once, and decorates every function if that is asked for."""

    def __init__(self, decorate: bool) -> None:
        self._decorate = decorate

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._decorate and all(ast.unparse(d) != "shapecheck" for d in node.decorator_list):
            node.decorator_list.append(ast.Name("shapecheck", ast.Load()))
        return self.generic_visit(node) if node.name == "main" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) == 1:
            node.args = [ast.Constant(1)]
        return node


def breaks(text: str, path: str) -> str:
    """Say how an edited example fails: `torch`, `annotation`, or not at all."""
    error = run_apart(text, path, "off")
    if error:
        return "torch" if error in SHAPE_ERRORS else ""
    return "annotation" if run_apart(text, path, "full") == "ShapeError" else ""


def run_apart(text: str, path: str, mode: str) -> str:
    """Do `run_main` in a process of its own: some shapes make torch write where it must not."""
    ends = multiprocessing.get_context("fork")
    receive, send = ends.Pipe(duplex=False)
    process = ends.Process(target=lambda: send.send(run_main(text, path, mode)))
    process.start()
    send.close()
    try:
        return str(receive.recv())
    except EOFError:
        return CRASHED
    finally:
        process.join()
