"""torch's own samples of the ops in `torch.nn.functional` and of joining and splitting.

Some samples of each op, and every erroneous input that torch keeps for it.
"""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import pytest
import torch
from op_oracle import abstract, agrees, apply, show

from shapecheck.shapes import Mismatch
from shapecheck.signatures import table

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

SAMPLES, AMONG = 4, 24
JOINING = frozenset(
    "cat stack hstack vstack dstack column_stack split split_with_sizes chunk tensor_split hsplit "
    "vsplit dsplit unbind unsafe_chunk unsafe_split broadcast_tensors block_diag cartesian_prod "
    "atleast_1d atleast_2d atleast_3d einsum".split()
)
SWAPPED = {"nn.functional.embedding", "nn.functional.embedding_bag"}
"""Their samples have the weight first."""

OPS = [
    op
    for op in op_db
    if op.name in JOINING or (op.name.startswith("nn.functional.") and op.name not in SWAPPED)
    if table().signature(f"torch.{op.name}") is not None and op.dtypes
]

NOT_SHAPES = {
    "approximate argument must be either": "a mode",
    "lambda must be in range": "a value",
    "Lower bound should be": "a value",
    "margin must be greater than 0": "a value",
    "min_val cannot be greater": "a value",
    "non-positive values for delta": "a value",
    "divisor must be not zero": "a value",
    "inconsistent weight size": "an argument that is seldom given",
    "only p == 1 and p == 2": "a value",
    "must be tuple of Tensors": "no argument of this type; mypy's own business",
    "got None": "no argument of this type; mypy's own business",
    "weight must be one-dimensional": "an argument that is seldom given",
    "invalid combination of arguments": "no argument of this type; mypy's own business",
    "should be the same": "two floating dtypes meet, which autocast allows",
    "expected scalar type Long but found": "a dtype of a seldom loss",
    "unsupported operation": "the memory of out=",
    "single memory location": "the memory of out=",
    "non-empty vector or matrix": "an empty input",
    "positive length": "an empty input",
    "optional 0 dim batch size": "an empty input",
}
"""What torch refuses for other reasons than shapes, and why we don't."""


@pytest.mark.parametrize("op", OPS, ids=lambda op: f"{op.name}-{op.variant_test_name}".rstrip("-"))
def test_samples(op: Any) -> None:
    if "unpool" in op.name and op.variant_test_name:
        return  # the same samples, slow to make
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes))

    def rule(*args: Any, **kwargs: Any) -> Any:
        return apply(f"torch.{op.name}", *args, **kwargs)

    for sample in islice(op.sample_inputs("cpu", dtype), 0, AMONG, AMONG // SAMPLES):
        arguments = (sample.input, *sample.args)
        agrees(rule, op.op, *arguments, exact=False, strict=False, **sample.kwargs)


@pytest.mark.parametrize(
    "op", [op for op in OPS if op.error_inputs_func], ids=lambda op: str(op.name)
)
def test_erroneous_inputs(op: Any) -> None:
    for case in op.error_inputs("cpu"):
        sample = case.sample_input
        arguments = abstract((sample.input, *sample.args), int)
        try:
            found = apply(f"torch.{op.name}", *arguments, **abstract(sample.kwargs, int))
        except Mismatch:
            continue
        known = [part for part in NOT_SHAPES if part in case.error_regex]
        assert known, f"torch: {case.error_regex}; the rule says {show(found)}"
