"""Shapes: known, partly known, unknown; facts about them; annotations; broadcasting.

A `Shape` is a tuple of dimensions (`dims.DimExpr`) and `Run`s; a run stands for any number of
dimensions, known by name (`*batch`) or not at all (`...`).

`Facts` holds what has been learned (`d` is 512) and decides equality under it. `Matcher` binds the
names of annotations to what they meet; it is the one mechanism behind op signatures, calls of
annotated functions, results, and the run time's slow path.
"""

from shapecheck.shapes.broadcasting import Clash, broadcast, broadcast_dim
from shapecheck.shapes.facts import CertainFacts, Facts, is_chosen, is_of_axes, is_product
from shapecheck.shapes.matching import Evaluate, Matcher, Misfit, unevaluated
from shapecheck.shapes.model import (
    Free,
    Item,
    Mismatch,
    Problem,
    Run,
    Shape,
    Tensor,
    Topic,
    behind_runs,
    dim_of,
    either,
    has_run,
    is_vague,
    mismatch,
    runs_in,
    symbols_of,
)
from shapecheck.shapes.ordered import groups

__all__ = [
    "CertainFacts",
    "Clash",
    "Evaluate",
    "Facts",
    "Free",
    "Item",
    "Matcher",
    "Misfit",
    "Mismatch",
    "Problem",
    "Run",
    "Shape",
    "Tensor",
    "Topic",
    "behind_runs",
    "broadcast",
    "broadcast_dim",
    "dim_of",
    "either",
    "groups",
    "has_run",
    "is_chosen",
    "is_of_axes",
    "is_product",
    "is_vague",
    "mismatch",
    "runs_in",
    "symbols_of",
    "unevaluated",
]
