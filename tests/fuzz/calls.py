"""The ops that random programs call: those of the signature files, with what each takes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from repository import ROOT

from shapecheck.signatures import index

STUBS = ROOT / "stubs"


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of an op: its annotation, whether it is optional or must be named, its stars."""

    name: str
    annotation: str
    is_optional: bool = False
    is_keyword: bool = False
    stars: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """A function by its dotted name, or a class: then `params` are those of its constructor."""

    name: str
    params: tuple[Param, ...]
    is_class: bool = False


@cache
def ops() -> tuple[Op, ...]:
    """Return all ops of the shipped signature files, by their names."""
    found: dict[str, Op] = {}
    for file in index.files(STUBS, keep=False):
        functions = {name: one for one in file.functions for name in one.names}
        for name, function in functions.items():
            owner, _, last = name.rpartition(".")
            if last == "__init__":
                found[owner] = Op(owner, _params(function.source.function())[1:], is_class=True)
            elif not last.startswith("_") and not function.is_property:
                if not any(owner == one.name for one in file.classes) or owner == "torch.Tensor":
                    found[name] = Op(name, _params(function.source.function()))
    return tuple(found[name] for name in sorted(found))


def _params(function: ast.FunctionDef) -> tuple[Param, ...]:
    given = function.args
    places = [*given.posonlyargs, *given.args]
    needed = len(places) - len(given.defaults)
    found = [Param(one.arg, _text(one), i >= needed) for i, one in enumerate(places)]
    if given.vararg is not None:
        found.append(Param(given.vararg.arg, _text(given.vararg), stars="*"))
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(Param(one.arg, _text(one), default is not None, is_keyword=True))
    if given.kwarg is not None:
        found.append(Param(given.kwarg.arg, _text(given.kwarg), stars="**"))
    return tuple(found)


def _text(argument: ast.arg) -> str:
    return "Any" if argument.annotation is None else ast.unparse(argument.annotation)
