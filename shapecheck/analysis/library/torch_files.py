"""What a program saves, and loads again from the same file."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import FILES, DictContent, Namespace
from shapecheck.ops import UNKNOWN

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
            return None
    before = _files(frame)
    if before is not None:
        known = before.items is not None and isinstance(file, str)
        items = {**(before.items or {}), file: saved} if known else None
        frame.state.put(FILES, DictContent(items))
    return None


@function("torch.load")
def _load(frame: Frame, call: LibraryCall) -> Value:
    """Return what was saved, where it is known; else what follows from the call."""
    file = call.get(0, "f", UNKNOWN)
    match frame.state.content(file):
        case Namespace(attrs=attrs):
            return attrs.get(_SAVED, UNKNOWN)
    files = _files(frame)
    if files is None or files.items is None or not isinstance(file, str):
        return NOTHING
    return files.items.get(file, NOTHING)


def _files(frame: Frame) -> DictContent | None:
    """Return what is in the files of a program by their names, None where that isn't known.

    A function that is looked into has them where those who call it have.
    """
    held = frame.state.dict_of(FILES)
    return DictContent({}) if held is None and not frame.depth else held
