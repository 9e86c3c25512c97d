"""The error codes; `# type: ignore[shape]` covers its sub-codes too."""

from __future__ import annotations

from typing import Final

from mypy.errorcodes import ErrorCode

_CATEGORY: Final = "Tensor shapes"

SHAPE: Final = ErrorCode("shape", "Check the dimensions of tensors", _CATEGORY)

CODES: Final = {
    code.code: code
    for code in (
        SHAPE,
        ErrorCode(
            "shape-broadcast",
            "Check that a dimension doesn't meet itself on another axis by implicit broadcasting",
            _CATEGORY,
            sub_code_of=SHAPE,
        ),
        ErrorCode("shape-dtype", "Check the dtypes of tensors", _CATEGORY, sub_code_of=SHAPE),
        ErrorCode(
            "shape-annotation",
            "Check that annotations are well formed",
            _CATEGORY,
            sub_code_of=SHAPE,
        ),
        ErrorCode(
            "shape-ragged",
            "Check that reductions over padded sequences leave the padding out",
            _CATEGORY,
            sub_code_of=SHAPE,
        ),
        ErrorCode(
            "shape-strict",
            "Check that no equation is needed which the annotation doesn't promise",
            _CATEGORY,
            sub_code_of=SHAPE,
        ),
    )
}
