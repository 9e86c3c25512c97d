"""Functions of which a compiler reads the annotations, which doesn't know shapes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.model import Class, Dotted, Function
from shapecheck.analysis.program.modules import Module

_COMPILERS: Final = {
    "torch.jit": "TorchScript",
    "triton": "triton",
    "numba": "numba",
    "torch.library": "torch.library",
    "torch._library": "torch.library",
}
_CALLS: Final = ("torch.jit.script", "torch.jit.script_if_tracing")
_HARMLESS: Final = frozenset(
    "torch.library.impl torch.library.register_fake torch.library.register_kernel "
    "torch.library.impl_abstract torch.jit.is_scripting".split()
)


def compiler(function: Function) -> str | None:
    """Return the name of what reads the annotations of a function to compile it, if any does.

    That is by a decorator, of it or its class, or because its module hands it to
    `torch.jit.script`.
    """
    node, module, owner = function.node, function.module, function.owner
    if isinstance(node, ast.Lambda):
        return None
    named = {node.name}
    for name in declarations.decorator_names(module, node):
        if found := _reads(name):
            return found
    if isinstance(owner, Class):
        named = {owner.node.name}
        for name in declarations.decorator_names(module, owner.node):
            if found := _reads(name):
                return found
    if "jit" in module.source.text and named & {*_scripted(module)}:
        return _COMPILERS["torch.jit"]
    return None


def _reads(name: str) -> str | None:
    if name in _HARMLESS:
        return None
    return next((c for package, c in _COMPILERS.items() if name.startswith(f"{package}.")), None)


def _scripted(module: Module) -> Iterator[str]:
    """Yield what a module hands to TorchScript: `script(function)`, `script(Class())`."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        given = node.args[0].func if isinstance(node.args[0], ast.Call) else node.args[0]
        if isinstance(given, ast.Name) and ast.unparse(node.func).endswith("script"):
            called = reader(module).resolve(node.func)
            if isinstance(called, Dotted) and called.name in _CALLS:
                yield given.id
