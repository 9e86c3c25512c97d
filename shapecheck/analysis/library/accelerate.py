"""accelerate: what it prepares is as it was."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import Named, stands_for
from shapecheck.analysis.program.model import Value
from shapecheck.ops import UNKNOWN

_ACCELERATOR = "accelerate.accelerator"


@stands_for(_ACCELERATOR, "Accelerator.__init__", "Accelerator.backward")
def _nothing_to_do(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return None


@stands_for(_ACCELERATOR, "Accelerator.prepare")
def _prepare(frame: Frame, bound: Named, node: ast.expr) -> Value:
    match bound["args"]:
        case (one,):
            return one
        case tuple() as several:
            return several
    return UNKNOWN


@stands_for(
    _ACCELERATOR,
    "Accelerator.prepare_model",
    "Accelerator.prepare_optimizer",
    "Accelerator.prepare_data_loader",
    "Accelerator.unwrap_model",
)
def _same(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return [*bound.values()][1]
