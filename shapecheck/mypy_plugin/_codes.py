"""The error codes; `# type: ignore[shape]` covers its sub-codes too."""

from __future__ import annotations

from typing import Final

from mypy.errorcodes import ErrorCode

from shapecheck.project import codes

_CATEGORY: Final = "Tensor shapes"

SHAPE: Final = ErrorCode(codes.SHAPE, codes.DESCRIPTIONS[codes.SHAPE], _CATEGORY)

CODES: Final = {
    name: SHAPE
    if codes.parent(name) is None
    else ErrorCode(name, description, _CATEGORY, sub_code_of=SHAPE)
    for name, description in codes.DESCRIPTIONS.items()
}
