"""torch.autocast in its several spellings."""

from __future__ import annotations

from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.interpreter.autocast import CASTABLE, FULL, Autocast, CastInputs
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.ops import DType

_LOWER: Final = {"cuda": dtypes.of("float16"), "cpu": dtypes.of("bfloat16")}


@function("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
def _autocast(frame: Frame, call: LibraryCall) -> Value:
    return _made(call.get(0, "device_type"), call.get(1, "dtype"), call.get(2, "enabled", True))


@function("torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast")
def _on_cuda(frame: Frame, call: LibraryCall) -> Value:
    return _made("cuda", call.get(1, "dtype"), call.get(0, "enabled", True))


@function("torch.cpu.amp.autocast", "torch.cpu.amp.autocast_mode.autocast")
def _on_cpu(frame: Frame, call: LibraryCall) -> Value:
    return _made("cpu", call.get(1, "dtype"), call.get(0, "enabled", True))


@function("torch.amp.custom_fwd", "torch.cuda.amp.custom_fwd")
def _custom_fwd(frame: Frame, call: LibraryCall) -> Value:
    match call.get(1, "cast_inputs"):
        case DType(dtypes=given):
            return CastInputs(given)
    return NOTHING


def _made(device: Value, dtype: Value, enabled: Value) -> Autocast:
    """Return the autocast of a device; without a dtype, it has that of the device."""
    if enabled is False:
        return Autocast(0)
    known: dtypes.DTypes | None = None
    match device, dtype:
        case _, DType(dtypes=given):
            return Autocast(given & CASTABLE)
        case str(), None:
            known = _LOWER.get(device)
    return Autocast(CASTABLE & ~FULL if known is None else known)
