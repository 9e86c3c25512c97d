"""What is computed of every two of many dimension objects, line by line in files beside this one.

The laws that it must keep are in `test_dim_objects.py`; here nothing of it changes unseen.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from pathlib import Path

import expected
import pytest
import torch

from shapecheck.dims import Dim
from shapecheck.dims.objects import object_of

FOLDER = Path(__file__).parent

a, b = Dim("a", kind="spatial"), Dim("b")
ten = Dim("ten", size=10, kind="spatial")
time = Dim("time", lengths=torch.tensor([1, 3]))
wide = Dim("wide", lengths=torch.tensor([2, 0]))

DIMS: list[Dim | int] = [
    *(0, 3, -2, 20, a, b, ten, a + 1, 1 + a, a - 3, 2 * a, a * 2, -a, a + b, 2 * a + b),
    *(a * b, 2 * a * b, a * 2 * b, (a + 1) * b, b * (a + 1), a // 2, a // 2 * 3 + b, 2 * (a + b)),
    *(a * b // a, ten * 2, a * (a + b) * b),
]
BESIDE: list[Dim | int] = [1, 3, -1, a, b, ten, 2 * a, a + b, a * b, a // 2]
LONG: list[Dim | int] = [2, b, ten, time, wide, time + 1, time - 1, 2 * time, time * 2, time + wide]
OPERATORS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "div_left": lambda one, other: one.div_left(other),
}


def said(dim: Dim) -> str:
    """Return what an object says of itself, and what an axis of it holds."""
    parts = f", parts {' '.join(map(str, dim.parts))}" if dim.parts else ""
    lengths = "" if dim.lengths is None else f", lengths {dim.lengths.flatten().tolist()}"
    again = object_of(dim.dim)
    held = "" if again == dim else f" of {again}"
    kind = "" if dim.kind is None else f" ({dim.kind})"
    return f"{dim}{kind}, {dim.size} in all, in an axis {dim.dim}{parts}{lengths}{held}"


def mask(dim: Dim) -> str:
    """Return where sequences are, or why that isn't known."""
    try:
        return " ".join("".join(".x"[bool(x)] for x in row) for row in dim.mask())
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("group", ["plain", "long"])
def test_operators(group: str, request: pytest.FixtureRequest) -> None:
    found: dict[str, str] = {}
    some, beside = (DIMS, BESIDE) if group == "plain" else (LONG, LONG)
    for (one, other), (sign, op) in itertools.product(
        itertools.product(some, beside), OPERATORS.items()
    ):
        if isinstance(one, int) and (isinstance(other, int) or sign == "div_left"):
            continue
        if sign in ("//", "%", "div_left") and isinstance(other, Dim) and other.lengths is not None:
            continue  # by lengths, of which some are 0
        made = op(one, other)  # type: ignore[arg-type]
        found[f"({one}) {sign} ({other})"] = said(made)
        if made.lengths is not None and made.lengths.min() >= 0:
            found[f"({one}) {sign} ({other})"] += f": {mask(made)}"
    expected.check(FOLDER / f"objects_{group}.txt", found, request)


def test_order(request: pytest.FixtureRequest) -> None:
    """Dimensions are sorted by what they are made of."""
    some = [one for one in (*DIMS, *LONG) if isinstance(one, Dim)]
    expected.check(
        FOLDER / "objects_sorted.txt", {str(one): str(one.bases) for one in sorted(some)}, request
    )
