"""Of which elements the parameters of a function must be: those that its body works with."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.check.module import without_collecting
from shapecheck.analysis.interpreter.budget import BudgetExceeded
from shapecheck.analysis.interpreter.frame import TooManyErrors
from shapecheck.analysis.program.answers import DTYPES
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.study.study import run_again
from shapecheck.analysis.values.model import OneOf, options
from shapecheck.ops.call import only
from shapecheck.shapes import Tensor


@without_collecting
def with_dtypes(seen: Study) -> Study:
    """Study a function again with the dtypes that its parameters must have.

    A parameter is a float tensor if the body works with that, and doesn't with ints and bools.
    Where nothing in it minds which, none is.
    """
    if DTYPES not in seen.rests_on:
        return seen
    known: dict[frozenset[tuple[str, dtypes.DTypes]], Study | None] = {}
    found: dict[str, dtypes.DTypes] = {}

    def run(kinds: Mapping[str, dtypes.DTypes], most: float = math.inf) -> Study:
        values = {n: _of(seen.given.get(n, seen.params[n]), k) for n, k in kinds.items()}
        return run_again(seen, values, most)

    def tried(kinds: Mapping[str, dtypes.DTypes]) -> Study | None:
        """Return what these kinds come to; None where that goes wrong."""
        question = frozenset(kinds.items())
        if question not in known:
            known[question] = None
            with suppress(TooManyErrors):
                one = run(kinds, seen.clashes)
                known[question] = one if one.clashes <= seen.clashes else None
        return known[question]

    def misfits(names: list[str], kind: dtypes.DTypes) -> set[str]:
        """Return those that can't be of a kind; all at once, then by halves."""
        if not names or tried(found | dict.fromkeys(names, kind)) is not None:
            return set()
        half = len(names) // 2
        if not half:
            return set(names)
        return misfits(names[:half], kind) | misfits(names[half:], kind)

    def judged(names: list[str]) -> dict[str, dtypes.DTypes]:
        """Return the kinds of those that can be of one only, beside what is found already."""
        # What bools fit, ints do too, but for masks; an index may be a mask if its name allows it.
        no_ints, no_floats = misfits(names, dtypes.SIGNED), misfits(names, dtypes.FLOAT)
        masks = {name for name in no_ints - no_floats if _MASK.search(name)}
        no_bools = misfits([name for name in names if name in no_floats | masks], dtypes.BOOL)
        no_bools |= {name for name in no_floats - no_ints if _NUMBERS.search(name)}
        kinds = dict.fromkeys(no_ints - no_floats - (masks - no_bools), dtypes.FLOAT)
        kinds |= dict.fromkeys((no_floats & no_bools) - no_ints, dtypes.SIGNED)
        return kinds | dict.fromkeys((no_floats & no_ints) - no_bools, dtypes.BOOL)

    waiting = [name for name, value in seen.params.items() if _has_any_dtype(value)][:_MOST_TRIED]
    try:
        while waiting and (more := judged(waiting)):
            found |= more  # what meets a float tensor in a product is one, too
            waiting = [name for name in waiting if name not in found]
        return (tried(found) or run(found)) if found else seen
    except (BudgetExceeded, RecursionError):
        return seen


_MOST_TRIED: Final = 8
_NUMBERS: Final = re.compile(r"(?:^|_)(?:ids?|idxs?|inds?|index|indexes|indices)$")
"""What people call a tensor of places, not a mask."""
_MASK: Final = re.compile(r"mask", re.IGNORECASE)
"""What people call a tensor that may be of bools where ints don't do: a mask of attention."""


def _has_any_dtype(value: Value) -> bool:
    return any(tensor.dtype == dtypes.ANY for tensor in only(options(value), Tensor))


def _of(value: Value, dtype: dtypes.DTypes) -> Value:
    """Return a value with the dtype of the tensor in it."""
    match value:
        case OneOf(options=several):
            return OneOf(tuple(_of(option, dtype) for option in several))
        case Tensor(shape=shape):
            return Tensor(shape, dtype)
    return value
