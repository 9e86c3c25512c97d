"""Masks of attention modules: of keys, and of queries against keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shapecheck import dtypes
from shapecheck.dims import DimExpr, is_name, merge
from shapecheck.ops.agree import counted, fits_axis, size
from shapecheck.ops.call import Call, Value
from shapecheck.shapes import Shape, Tensor, mismatch


@dataclass(frozen=True, slots=True)
class Rows:
    """What attends or is attended to: how many batch rows there are, and how long each is.

    None is what isn't known; without a batch there are only rows of a `rank` of 2.
    """

    rank: int | None = None
    batch: DimExpr | None = None
    length: DimExpr | None = None

    @classmethod
    def of(cls, shape: Shape, batch_first: Value) -> Rows:
        """Return the rows of a tensor `l e`, `b l e` if `batch_first`, or `l b e`."""
        if shape.rank == 2:
            return cls(2, None, shape.at(0))
        if shape.rank != 3 or not isinstance(batch_first, bool):
            return cls(shape.rank)
        batch, length = (0, 1) if batch_first else (1, 0)
        return cls(3, shape.at(batch), shape.at(length))


@dataclass(frozen=True, slots=True)
class Masks:
    """The masks that one attention is given, as the caller calls them."""

    pairs: Value
    padding: Value
    is_causal: Value
    prefix: str = ""
    pairs_name: str = "attn_mask"
    padding_name: str = "key_padding_mask"
    causal_name: str = "is_causal"

    def check(self, call: Call, queries: Rows, keys: Rows, heads: Value, headline: str) -> None:
        """Refuse masks that don't fit; `headline` says what they are for."""
        name = self.prefix + self.pairs_name
        if self.is_causal is True and self.pairs is None:
            causal = self.prefix + self.causal_name
            raise mismatch(f"{causal}=True only says of it that it is causal", f"needs {name}")
        if queries.rank not in (2, 3):
            return
        if isinstance(self.padding, Tensor):
            wanted = (keys.length,) if queries.rank == 2 else (keys.batch, keys.length)
            _fits(call, self.prefix + self.padding_name, self.padding, (wanted,), headline)
        if isinstance(self.pairs, Tensor):
            pairs = queries.length, keys.length
            each = (_of_heads(queries, heads, self.pairs), *pairs)
            _fits(call, name, self.pairs, (pairs, each), headline)


def _of_heads(queries: Rows, heads: Value, mask: Tensor) -> DimExpr | None:
    """Return the first axis of a mask with one part for each head of each batch row.

    None where the mask has a name of its own for it, `bh t t`.
    """
    if queries.rank == 2:
        return size(heads)
    first = mask.shape.at(0)
    own = first is not None and is_name(first) and first not in (queries.batch, queries.length)
    if queries.batch is None or own:
        return None
    return merge((queries.batch, size(heads)))


def _fits(
    call: Call,
    name: str,
    mask: Tensor,
    forms: Sequence[Sequence[DimExpr | None]],
    headline: str,
) -> None:
    """Refuse a mask that has none of some forms; in a form None is what isn't known."""
    if not mask.dtype & (dtypes.BOOL | dtypes.FLOAT):
        kind = dtypes.describe(mask.dtype)
        raise mismatch(f'"{name}" is {kind}, it must be Bool or Float', headline, "shape-dtype")
    found = call.facts.shape(mask.shape).known
    if found is None:
        return
    form = next((one for one in forms if len(one) == len(found)), None)
    if form is None:
        ranks = " or ".join(str(len(one)) for one in forms)
        verb = "is" if ranks == "1" else "are"
        raise mismatch(
            f'"{name}" has {counted(len(found), "axis")}, where {ranks} {verb} expected', headline
        )
    for axis, (one, other) in enumerate(zip(found, form, strict=True)):
        if other is not None:
            fits_axis(call, name, axis, one, other, headline)
