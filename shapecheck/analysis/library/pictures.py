"""Pictures of PIL, which torchvision's transforms change as they change a tensor of the pixels."""

from __future__ import annotations

from typing import Final

from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Dotted, Value
from shapecheck.analysis.values.model import OpInstance
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Tensor

_IMAGE: Final = "PIL.Image.Image"
_TRANSFORMS: Final = "torchvision.transforms."
_TO_TENSOR: Final = frozenset(("ToTensor", "PILToTensor"))
_MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}


def new(frame: Frame, mode: Value, size: Value) -> Value:
    """Return a picture of a mode and a size, `(width, height)`."""
    return frame.hush(call_back, Dotted("PIL.Image.new"), [mode, size])


def changes(frame: Frame, step: Value, value: Value) -> bool:
    """Whether a step is one of torchvision's that makes another picture of one of PIL."""
    if not (isinstance(value, OpInstance) and value.cls.name == _IMAGE):
        return False
    if not (isinstance(step, OpInstance) and step.cls.name.startswith(_TRANSFORMS)):
        return False
    return step.cls.name.rpartition(".")[2] not in _TO_TENSOR


def pixels(frame: Frame, picture: Value) -> Value:
    """Return the pixels of a picture, `c h w`."""
    return call_back(frame, Dotted("torchvision.transforms.functional.to_tensor"), [picture])


def picture(frame: Frame, made: Value) -> Value:
    """Return the picture that has some pixels."""
    known = made.shape.known if isinstance(made, Tensor) else None
    if known is None or len(known) != 3:
        return UNKNOWN
    channels, height, width = known
    mode = _MODES.get(channels) if isinstance(channels, int) else None
    return new(frame, mode or UNKNOWN, (width, height))
