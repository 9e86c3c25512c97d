"""Images of PIL and of OpenCV, as far as their shape is certain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import IntSize
from shapecheck.ops.arrays.create import MODES, as_array
from shapecheck.ops.call import (
    UNKNOWN,
    Call,
    Value,
    as_mapping,
    as_size,
    is_int,
    is_size,
    rule,
)
from shapecheck.shapes import Shape, Tensor, mismatch


def _image(mode: Value, width: Value, height: Value) -> Value:
    """Return an image of PIL, by the attributes that it has."""
    size = as_size(width), as_size(height)
    of_class = {"__class__": "PIL.Image.Image"}
    return {"mode": mode, "size": size, "width": size[0], "height": size[1], **of_class}


def _pair(size: Value) -> tuple[Value, Value]:
    if isinstance(size, (tuple, list)) and len(size) == 2:
        return size[0], size[1]
    return UNKNOWN, UNKNOWN


@rule("image")
def image(call: Call, **given: Value) -> Value:
    """Return an image that is opened, made or made of another one, as the constant says."""
    own = as_mapping(given.get("self"))
    mode, width, height = (own.get(name, UNKNOWN) for name in ("mode", "width", "height"))
    match call.word():
        case "opened":
            return _image(UNKNOWN, dims.unknown("w"), dims.unknown("h"))
        case "new":
            return _image(given["mode"], *_pair(given["size"]))
        case "of an array":
            return _of_array(call, as_array(call, given["obj"]), given.get("mode"))
        case "converted":
            return _image(UNKNOWN if given["mode"] is None else given["mode"], width, height)
        case "resized":
            return _image(mode, *_pair(given["size"]))
        case "channel":
            return _image("L", width, height)
        case "copied":
            return _image(mode, width, height)
    return _image(mode, UNKNOWN, UNKNOWN)


@rule("pixels")
def pixels(call: Call, pic: Value, **rest: Value) -> Value:
    """Return the pixels of an image as a tensor, the channels first; the constant is the dtype."""
    axes: tuple[IntSize, ...] = tuple(dims.unknown(name) for name in "chw")
    own = as_mapping(pic)
    mode = own.get("mode")
    if own.get("__class__") == "PIL.Image.Image" and isinstance(mode, str) and mode in MODES:
        size = (as_size(own.get(name)) for name in ("height", "width"))
        axes = max(MODES[mode][0], 1), *size
    return Tensor(Shape(axes), dtypes.of(call.word()))


def _of_array(call: Call, array: Tensor, mode: Value) -> Value:
    shape = call.facts.shape(array.shape)
    if shape.rank not in (2, 3):
        return _image(UNKNOWN, UNKNOWN, UNKNOWN)
    channels = shape.dims[2:]
    known = "RGB" if channels == (3,) and array.dtype == dtypes.of("uint8") else UNKNOWN
    height, width = shape.at(0), shape.at(1)
    return _image(known if mode is None else mode, width, height)


# OpenCV -------------------------------------------------------------------------------------------


@rule("image resize")
def image_resize(call: Call, src: Value, dsize: Value, **rest: Value) -> Value:
    """Give an image another size, `(width, height)`; an axis of one channel is lost.

    Where that is `(0, 0)` factors say how large it gets.
    """
    array = as_array(call, src)
    shape = call.facts.shape(array.shape)
    if not isinstance(dsize, (tuple, list)) or len(dsize) != 2 or not all(map(is_size, dsize)):
        return Tensor(Shape.unknown(), array.dtype)
    width, height = (dims.unknown() if one == 0 else as_size(one) for one in dsize)
    if shape.rank == 2:
        return Tensor(Shape((height, width)), array.dtype)
    channels = shape.at(2) if shape.rank == 3 else None
    if not is_int(channels):
        return Tensor(Shape((height, width, *Shape.unknown().dims)), array.dtype)
    more = (channels,) if channels > 1 else ()
    return Tensor(Shape((height, width, *more)), array.dtype)


_COLOURS: Final[Mapping[int, tuple[int, int]]] = {
    **dict.fromkeys((4, 40, 41, 36, 37, 44, 45, 54, 55), (3, 3)),
    **dict.fromkeys((6, 7), (3, 0)),
    8: (0, 3),
}
"""How many channels there are before and after a change of colours, 0 for no axis of them."""


@rule("image colours")
def image_colours(call: Call, src: Value, code: Value, **rest: Value) -> Value:
    """Change between colours, and between these and grey."""
    array = as_array(call, src)
    shape = call.facts.shape(array.shape)
    if not is_int(code) or code not in _COLOURS or shape.rank not in (2, 3):
        return Tensor(Shape.unknown(), array.dtype)
    before, after = _COLOURS[code]
    if before and shape.rank == 2:
        raise mismatch("it has no axis of colours", f"can't change the colours of {shape}")
    return Tensor(Shape((*shape.dims[:2], after) if after else shape.dims[:2]), array.dtype)
