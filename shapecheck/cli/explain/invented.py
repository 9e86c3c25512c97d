"""Arguments for an op, made up from its signature: candidates, of which most don't fit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from shapecheck.cli.explain.lookup import Op

_SHAPES: Final = (
    ("b t d", "b c h w", "b c t", "n", "n n", "b n n", "b c d h w", "b (2 d)", "b 3", ""),
    ("b t d", "b d m", "b c h w", "b t", "n", "m", "d", "k", "b n n", ""),
    ("b t d", "b t", "n", "d", "k", "b n n", "b c h w", ""),
)
"""For the first tensor, the second, and those after it."""
_NAMES: Final = ("x", "y", "z", "u", "v", "w")
_GROUPS: Final = ("b t", "b", "b t d")
_NUMBERS: Final = {"int": "2", "float": "0.5", "bool": "True", "Number": "0.5"}
_BY_NAME: Final = {
    "dim": "1",
    "dims": "(0, 1)",
    "dim0": "0",
    "dim1": "1",
    "axis": "1",
    "dtype": "torch.float16",
    "kernel_size": "3",
    "output_size": "7",
    "size": "(b, t)",
    "shape": "(b, t)",
    "padding": "1",
    "in_channels": "16",
    "in_features": "16",
    "input_size": "16",
    "num_features": "16",
    "num_channels": "16",
    "embed_dim": "64",
    "d_model": "64",
    "num_heads": "8",
    "nhead": "8",
    "num_groups": "4",
    "normalized_shape": "16",
}
_TENSORS: Final = ("input", "other", "src", "tensor", "tensor1", "tensor2")
"""What takes a tensor, where the annotation doesn't say what it takes."""
_INDICES: Final = ("index", "indices", "target", "labels", "tgt")


def invented(op: Op) -> Iterator[tuple[str, str, str]]:
    """Yield the constructor's arguments, the tensors and the arguments, as in `written`."""
    functions = [_function(definition.text) for definition in op.definitions]
    functions.sort(key=lambda one: sum(required for _, required in _arguments(one)))
    init = ""
    if op.is_class:
        for constructor in (one for one in functions if one.name == "__init__"):
            init = ", ".join(text for _, text in _plain(constructor, all_of_them=False))
        functions = [one for one in functions if one.name == "forward"]
    for function in functions:
        if not op.is_class and _takes_object(function):
            continue
        if any(required and _is_unclear(argument) for argument, required in _arguments(function)):
            continue
        tensors = [arg for arg, required in _arguments(function) if required and _is_tensor(arg)]
        rest = ", ".join(f"{name}={text}" for name, text in _plain(function, all_of_them=True))
        names = _NAMES[: len(tensors)]
        options = [_shapes(arg, at, tensors) for at, arg in enumerate(tensors)]
        for shapes in product(*options):
            given = "; ".join(f"{n}: {text}" for n, text in zip(names, shapes, strict=False))
            yield init, given, ", ".join(filter(None, (*names, rest)))


def _function(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _takes_object(function: ast.FunctionDef) -> bool:
    """Whether it is a method of an object that isn't a tensor."""
    first = next(iter(function.args.args), None)
    return first is not None and first.arg == "self" and first.annotation is None


def _arguments(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, bool]]:
    """Yield the parameters but `self`, each with whether it has to be given."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for at, argument in enumerate(positional):
        if argument.arg != "self" or argument.annotation is not None:
            yield argument, at < required
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument, default is None


def _text(argument: ast.arg) -> str:
    return "" if argument.annotation is None else ast.unparse(argument.annotation)


def _is_tensor(argument: ast.arg) -> bool:
    text = _text(argument)
    return "Tensor" in text or (argument.arg in _TENSORS and text == "Any")


def _is_unclear(argument: ast.arg) -> bool:
    """Whether anything may be meant, by the annotation and by the name."""
    return _text(argument) in ("", "Any") and not (_is_tensor(argument) or argument.arg in _BY_NAME)


def _plain(function: ast.FunctionDef, *, all_of_them: bool) -> Iterator[tuple[str, str]]:
    """Yield names and values for what has to be given and is no tensor, and for axes."""
    for argument, required in _arguments(function):
        text = _text(argument)
        is_axis = all_of_them and text.startswith(("Axis[", "Axes[")) and argument.arg != "keepdim"
        if _is_tensor(argument) or not (required or is_axis):
            continue
        value = _BY_NAME.get(argument.arg)
        if value is None and text.startswith("Ints["):
            value = "2"
        if value is None:
            value = _NUMBERS.get(text.partition(" ")[0], "1" if is_axis else "2")
        yield argument.arg, value


def _shapes(argument: ast.arg, at: int, tensors: list[ast.arg]) -> tuple[str, ...]:
    """Return shapes to try for a tensor: what the annotation says, else any."""
    text = _text(argument)
    found = re.search(r"\w+\[Tensor, '([^']*)'\]", text)
    kind = "Int " if text.startswith(("Int", "Whole")) or argument.arg in _INDICES else ""
    kind = "" if text.startswith(("Inexact", "Float")) else kind
    kind = "Bool " if text.startswith("Bool") else kind
    if found is None:
        return tuple(kind + shape for shape in _SHAPES[min(at, len(_SHAPES) - 1)])
    stated = re.sub(r"\{[^}]*\}", "16", found[1])
    if "*" not in stated:
        return (kind + stated,)
    return tuple(kind + re.sub(r"\*#?\w+", group, stated) for group in _GROUPS)
