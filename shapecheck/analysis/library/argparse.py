"""argparse: what a parser reads from the command line, each number a size of the program's own."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.program.model import NOTHING, Value, dotted, literal
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import nodes_of, text_of
from shapecheck.analysis.values.model import DictContent, Namespace, own_size
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import as_text, is_int

_KIND: Final = "parser"


@function("argparse.ArgumentParser")
def _parser(frame: Frame, call: LibraryCall) -> Value:
    """Return a parser: a dict of the defaults of its arguments."""
    made = DictContent(None if "parents" in call.kwargs else {}, kind=_KIND)
    return frame.state.new(made)


@on(DictContent, "add_argument")
def _argument(frame: Frame, call: MethodCall[DictContent]) -> Value:
    """Take note of what an argument is, unless another is given."""
    held, names = call.held, [as_text(arg) for arg in call.args]
    name = _destination(names, call.kwargs.get("dest"))
    if held.kind != _KIND or name is None or held.items is None:
        return NOTHING
    frame.state.put(call.owner, replace(held, items={**held.items, name: _default(call.kwargs)}))
    return UNKNOWN


def _default(given: Mapping[str, Value]) -> Value:
    """Return what an argument is where it isn't given, where that is a number, a text or a flag."""
    action, default = given.get("action", "store"), given.get("default", UNKNOWN)
    if action in ("store_true", "store_false") and default is UNKNOWN:
        return action == "store_false"
    is_read = isinstance(default, str) and dotted(given.get("type")) not in (None, "builtins.str")
    if is_read or "nargs" in given or not isinstance(default, (bool, int, float, str)):
        return UNKNOWN
    return default if action in ("store", "store_true", "store_false") else UNKNOWN


def _is_number(default: object, given: Mapping[str, object]) -> TypeGuard[int]:
    return type(default) is int and default > 1 and not {"nargs", "action"} & given.keys()


def _destination(names: Sequence[str | None], told: object) -> str | None:
    """Return the attribute in which an argument is found: `--d-model` in `d_model`."""
    if told is not None or not all(names):
        return told if isinstance(told, str) else None
    flags = [name for name in names if name is not None]
    long = next((name for name in flags if name.startswith("--")), flags[0] if flags else None)
    return None if long is None else long.lstrip("-").replace("-", "_")


@on(DictContent, "add_argument_group", "add_mutually_exclusive_group")
def _group(frame: Frame, call: MethodCall[DictContent]) -> Value:
    return call.owner if call.held.kind == _KIND else NOTHING


@on(DictContent, "parse_args", "parse_known_args")
def _parsed(frame: Frame, call: MethodCall[DictContent]) -> Value:
    """Return what is read: the defaults where nothing is given, and else numbers of their own."""
    held = call.held
    if held.kind != _KIND or held.items is None:
        return NOTHING
    given = frame.state.items_of(call.get(0, "args"))
    is_given = given != () and not frame.by_default
    frame.reads_command_line = True
    attrs = {
        name: _chosen(name, value) if is_given else value
        for name, value in held.items.items()
        if isinstance(name, str)
    }
    made = frame.state.new(Namespace(attrs, whole=False))
    return (made, UNKNOWN) if call.name == "parse_known_args" else made


def _chosen(name: str, default: Value) -> Value:
    """Return what an argument is that may be given: a number of more than one is some size."""
    return own_size(f"args.{name}", default) if is_int(default) and default > 1 else UNKNOWN


def defaults(module: Module) -> dict[str, int]:
    """Return what the numbers are that the parsers of a module read where nothing is given."""
    found: dict[str, int] = {}
    for call in nodes_of(ast.Call, module.tree):
        words = {word.arg: literal(word.value) for word in call.keywords if word.arg}
        default = words.get("default")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            name = _destination([text_of(arg) for arg in call.args], words.get("dest"))
            if name is not None and _is_number(default, words):
                found[name] = default
    return found
