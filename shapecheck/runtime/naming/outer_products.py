"""Outer products that are written down, `p <= p[:, None]`: every item is to meet every other."""

from __future__ import annotations

import ast
import sys

import torch

from shapecheck.ops import UNKNOWN, Value
from shapecheck.ops import outer_products as written
from shapecheck.runtime.errors import own_fault
from shapecheck.runtime.naming.op_calls import Question
from shapecheck.runtime.naming.op_errors import operand_nodes
from shapecheck.runtime.source import user_place, users_frame, value_at
from shapecheck.shapes import Mismatch, Problem, Shape
from shapecheck.shapes import Tensor as Known


def outer(asked: Question, problem: Problem) -> Value | None:
    """Return what a broadcast gives that its rule refuses by names, None if it isn't meant.

    That goes by the operands' dtypes and by the source, which are no part of an op's key.
    """
    if problem.code != "shape-broadcast":
        return None
    try:
        return _meant(asked)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault("to tell what is meant", error)
        return UNKNOWN


def _meant(asked: Question) -> Value | None:
    again = asked.with_dtypes()
    for meant in (False, True):
        if meant and not _is_written(asked):
            return None
        try:
            return again.answer(meant=meant)
        except Mismatch as refused:
            if refused.problem.code != "shape-broadcast":
                return None
    return None


def _is_written(asked: Question) -> bool:
    """Whether the source says what is meant; where there is none, an axis that was put in does."""
    frame, place = users_frame(sys._getframe(1)), user_place()
    if frame is None or place is None or place.node is None:
        return any(known.inserted for known in asked.known)

    def look(node: ast.expr) -> Known | None:
        value = value_at(frame, node)
        if not isinstance(value, torch.Tensor):
            return None
        found = asked.frame.of(value)
        return Known(Shape.unknown(), inserted=found is not None and found.inserted)

    pairs = zip(operand_nodes(asked, place), asked.known, strict=True)
    return written.outer({n: known for n, known in pairs if n is not None}, look, place.function)
