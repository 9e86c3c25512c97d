"""From the command line to the arguments of a forward pass."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import torch
from torch import nn

from shapecheck import dtypes
from shapecheck.cli._commands import CommandError
from shapecheck.runtime import ShapeError, named
from shapecheck.tensor_spec import read

_DTYPES: Final = {
    "Float": torch.float32,
    "Float16": torch.float16,
    "BFloat16": torch.bfloat16,
    "Float32": torch.float32,
    "Float64": torch.float64,
    "Int": torch.int64,
    "Int8": torch.int8,
    "Int16": torch.int16,
    "Int32": torch.int32,
    "Int64": torch.int64,
    "UInt8": torch.uint8,
    "Bool": torch.bool,
    "Complex": torch.complex64,
    "Complex64": torch.complex64,
    "Complex128": torch.complex128,
}
_NUMBERS: Final = {"int": int, "float": float}
_LITERAL: Final = re.compile(r"\s*([\[({].*|True|False|None)\s*", re.DOTALL)
_SIZE: Final = re.compile(r"(?:(?P<name>[^\W\d]\w*)=)?(?P<size>\d+)")
_KEYWORD: Final = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*:(?P<rest>.*)", re.DOTALL)


def inputs(
    texts: Sequence[str], model: Callable[..., Any], device: str
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that texts such as `1 3 224 224` describe, those by name apart.

    Where a text says no dtype, the annotation of the parameter does.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    hints = _hints(model)
    for text in texts:
        keyword = _KEYWORD.fullmatch(text)
        if keyword:
            name = keyword["name"]
            kwargs[name] = _value(keyword["rest"], hints.get(name), device)
        else:
            hint = [*hints.values(), *[None] * len(texts)][len(args)]
            args.append(_value(text, hint, device))
    return args, kwargs


def _hints(model: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotation of each parameter, None where there is none or it can't be read."""
    function = model.forward if isinstance(model, nn.Module) else model
    hints: dict[str, Any] = {}
    with suppress(Exception):  # whatever the user's annotations raise
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}
    return {name: hints.get(name) for name in names}


def _dtype(hint: Any) -> torch.dtype:
    """Return the usual dtype of those that an annotation admits."""
    found = read(hint)
    for part in typing.get_args(hint) if found is None else ():
        found = found or read(part)
    if found is not None:
        for dtype in dict.fromkeys(_DTYPES.values()):
            if dtypes.of(str(dtype).removeprefix("torch.")) & found[1].dtypes:
                return dtype
    return torch.float32


def _value(text: str, hint: Any, device: str) -> Any:
    """Return the tensor that a text describes, or what else it says."""
    if not _LITERAL.fullmatch(text):
        return _tensor(text, _dtype(hint), device)
    try:
        return _filled(ast.literal_eval(text.strip()), device)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise CommandError(
            f'in --input "{text.strip()}": this can\'t be read; write ["1 3 64 64", "1 10"], or '
            '{"x": "1 3 64 64", "train": False}'
        ) from None


def _filled(value: Any, device: str) -> Any:
    """Return a list, tuple or dict with a tensor for each text in it."""
    if isinstance(value, str):
        return _tensor(value, torch.float32, device)
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, device) for item in value)
    if isinstance(value, dict):
        return {key: _filled(item, device) for key, item in value.items()}
    return value


def _tensor(text: str, dtype: torch.dtype, device: str) -> Any:
    words = text.split()
    if words and words[0] in _DTYPES:
        dtype = _DTYPES[words.pop(0)]
    elif len(words) == 2 and words[0] in _NUMBERS:
        with suppress(ValueError):
            return _NUMBERS[words[0]](words[1])
    sizes = [_SIZE.fullmatch(word) for word in words]
    for word, size in zip(words, sizes, strict=True):
        if size is None:
            raise CommandError(
                f'in --input "{text.strip()}": "{word}" is no size; write "1 3 224 224", '
                'with names "b=1 c=3 h=224 w=224", or with a dtype "Int b=2 t=64"'
            )
    found = [size for size in sizes if size is not None]
    try:
        tensor = torch.zeros([int(size["size"]) for size in found], dtype=dtype, device=device)
        if any(size["name"] for size in found):
            return named(tensor, " ".join(size["name"] or "_" for size in found))
    except ShapeError as error:
        raise CommandError(f'in --input "{text.strip()}": {error.message.reason}') from None
    except (RuntimeError, TypeError, OverflowError):
        raise CommandError(f'in --input "{text.strip()}": torch makes no tensor so large') from None
    return tensor
