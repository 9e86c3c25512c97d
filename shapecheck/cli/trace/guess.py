"""What a model's code calls the dimensions of what it is given, where no annotation says it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, Final, TypeAlias

import torch
from torch import nn

from shapecheck import runtime, spec
from shapecheck.codemod.annotate import Settings, annotate_files
from shapecheck.codemod.write.annotation_types import NONE, Either, TensorType, Type

Guesses: TypeAlias = Mapping[FunctionType, Mapping[str, Any]]

_LONGEST: Final = 2_500
_MOST_LINES: Final = 5_000
"""In lines of source: it is read in seconds, or not at all."""
_ATTRIBUTE: Final = re.compile(r"\{(?:\w+\.)*([^\W\d]\w*)\}")
_LIBRARIES: Final = tuple(str(Path(str(one.__file__)).parent) for one in (torch, runtime))


def guesses(model: nn.Module) -> Guesses:
    """Return annotations for each `forward` inside of a model that has none, by parameter.

    They are what `shapecheck annotate` would write; a size that an attribute has is called as the
    attribute is.
    """
    files: dict[Path, dict[str, FunctionType]] = {}
    for function in _forwards(model):
        plain = inspect.unwrap(function)
        path = Path(plain.__code__.co_filename)
        if not str(path).startswith(_LIBRARIES) and path.suffix == ".py":
            files.setdefault(path, {})[plain.__qualname__] = function
    found: dict[FunctionType, dict[str, Any]] = {}
    for change in annotate_files(_readable(files), Settings()).changed:
        functions = files[change.file.path]
        for proposal in change.proposals:
            slot, hint = proposal.slot, _hint(proposal.kind)
            if slot.function in functions and not slot.local and not slot.nth and hint is not None:
                found.setdefault(functions[slot.function], {})[slot.name] = hint
    # Names end where a function does whose result has none, and go on where nothing is annotated.
    own = next(_forwards_of(type(model)), None)
    return {of: hints for of, hints in found.items() if "return" in hints or of is own}


def _forwards(model: nn.Module) -> Iterator[FunctionType]:
    for kind in dict.fromkeys(map(type, model.modules())):
        yield from _forwards_of(kind)


def _forwards_of(kind: type) -> Iterator[FunctionType]:
    for cls in kind.__mro__:
        forward = vars(cls).get("forward")
        if isinstance(forward, FunctionType) and cls is not nn.Module:
            yield forward


def _readable(files: Mapping[Path, object]) -> Iterator[Path]:
    """Yield the files that can be read in reasonable time."""
    left = _MOST_LINES
    for path in files:
        with suppress(OSError):
            lines = path.read_bytes().count(b"\n")
            if lines <= min(_LONGEST, left):
                left -= lines
                yield path


def _hint(kind: Type) -> Any:
    """Return an annotation as a type; None if it isn't one tensor, or begins with an open axis."""
    if isinstance(kind, Either):
        parts = [_hint(part) for part in kind.options if part != NONE]
        return parts[0] | None if len(parts) == 1 and parts[0] is not None else None
    if not isinstance(kind, TensorType):
        return None
    text = _ATTRIBUTE.sub(r"\1", kind.text)
    entries = spec.parse(text).entries
    # What an annotation leaves open loses its name.
    if any(isinstance(one, spec.Group) for one in entries) or _is_open(entries[:1]):
        return None
    return Annotated[torch.Tensor, text]


def _is_open(entries: Sequence[spec.Axis | spec.Group]) -> bool:
    return any(isinstance(one, spec.Axis) and isinstance(one.expr, spec.Wild) for one in entries)
