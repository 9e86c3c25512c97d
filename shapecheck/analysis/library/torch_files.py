"""What a program saves, and loads again from the same file."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent, Namespace, Ref
from shapecheck.ops import UNKNOWN

_FILES: Final = Ref()
"""Where the files of a program are on the heap, a dict by their names.

What a function is told isn't known to depend on it, so only a body that is run itself looks there.
"""
_SAVED: Final = "(saved)"
"""The attribute of a file in memory that is what was saved there."""


@function("io.BytesIO")
def _in_memory(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.new(Namespace({}, whole=False))


@function("torch.save")
def _save(frame: Frame, call: LibraryCall) -> Value:
    saved, file = call.get(0, "obj", UNKNOWN), call.get(1, "f", UNKNOWN)
    match frame.state.content(file):
        case Namespace() as held:
            frame.state.put(file, replace(held, attrs={**held.attrs, _SAVED: saved}))
    if isinstance(file, str) and not frame.depth:
        before = frame.state.dict_of(_FILES) or DictContent({})
        items = {**(before.items or {}), file: saved} if before.items is not None else None
        frame.state.put(_FILES, DictContent(items))
    return None


@function("torch.load")
def _load(frame: Frame, call: LibraryCall) -> Value:
    """Return what was saved, where it is known; else what follows from the call."""
    file = call.get(0, "f", UNKNOWN)
    match frame.state.content(file):
        case Namespace(attrs=attrs):
            return attrs.get(_SAVED, UNKNOWN)
    files = frame.state.dict_of(_FILES)
    if files is None or files.items is None or frame.depth or not isinstance(file, str):
        return NOTHING
    return files.items.get(file, NOTHING)
