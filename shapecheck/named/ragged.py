"""What operations by name do with sequences of several lengths: they leave the padding out.

A dimension that is given with its lengths, `Time.with_lengths(lengths)`, has a mask, which is put
beside the axes of the tensor at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypeAlias, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from shapecheck.dims import Dim, Size
from shapecheck.named.core import (
    Name,
    Names,
    called,
    carry,
    given_as,
    meant,
    new_name,
    planned,
    record_of,
    refuse,
    settled,
)
from shapecheck.ops.named import operations as rules
from shapecheck.ops.named import sequences
from shapecheck.ops.named.naming import fresh
from shapecheck.runtime.naming.call_names import state
from shapecheck.shapes import Shape

T = TypeVar("T")
Fill: TypeAlias = 'float | bool | Literal["lowest", "highest"]'

_PLAIN: Final = (str, type(None))


def padded_in(dims: Names | None) -> list[Dim]:
    """Return the dimensions among those given that have lengths."""
    if isinstance(dims, _PLAIN):
        return []
    if isinstance(dims, Dim):
        return [] if dims.lengths is None else [dims]
    return [dim for dim in dims if isinstance(dim, Dim) and dim.lengths is not None]


@contextmanager
def minding() -> Iterator[None]:
    """Let no op inside of the block be warned of: it leaves padding out."""
    before, state.minding = state.minding, True
    try:
        yield
    finally:
        state.minding = before


def filled(x: Tensor, dims: Names | None, fill: Fill) -> Tensor:
    """Return a tensor with a value in the place of its padding; itself where there is none."""
    for dim in padded_in(dims):
        number = _number(x, fill)
        x = carry(torch.masked_fill, x, carry(torch.logical_not, mask(x, dim)), number)
    return x


def _number(x: Tensor, fill: Fill) -> float | bool:
    if fill not in ("lowest", "highest"):
        return fill  # type: ignore[return-value]  # it is a number
    if x.is_floating_point():
        return -torch.inf if fill == "lowest" else torch.inf
    info = torch.iinfo(x.dtype)
    return info.min if fill == "lowest" else info.max


def mask(x: Tensor, dim: Dim) -> Tensor:
    """Return what of `x` is no padding along a dimension that has lengths.

    It has the dimensions of the lengths and this one where `x` has them, and 1 for the others, so
    that it broadcasts. Raises ValueError where it isn't clear which dimensions of `x` the lengths
    belong to.
    """
    at = _with_lengths(x, dim)
    places = _places(x, at, dim)
    plain = dim.mask(x.shape[at])
    for _ in range(x.dim() - plain.dim()):
        plain = plain.unsqueeze(-1)
    order = [-1] * x.dim()
    for index, place in enumerate((*places, at)):
        order[place] = index
    left = iter(range(len(places) + 1, x.dim()))
    found = plain.permute([next(left) if index < 0 else index for index in order])
    return settled(
        found, x, [place if place in (*places, at) else None for place in range(x.dim())]
    )


def _with_lengths(x: Tensor, dim: Dim) -> int:
    """Return which axis a dimension with lengths is. Raises `ShapeError` where it has none."""
    has = isinstance(dim, Dim) and dim.lengths is not None
    at: int = planned(_lengthy, (x,), meant(dim), has)
    return at


def _lengthy(call: Any, shape: Any, dim: Any, has: bool) -> Any:
    if not has:
        sequences.lengths_needed(str(dim) if isinstance(dim, Size) else dim)
    return rules.only(call, shape, dim)


def _places(x: Tensor, at: int, dim: Dim) -> list[int]:
    """Return which axes of a tensor the lengths of a dimension have."""
    lengths = dim.lengths
    known, own = record_of(lengths), record_of(x)
    if known is not None and own is not None:
        found = [own.dims.index(one) for one in known.dims if one in own.dims]
        if len(found) == lengths.dim():
            return found
    others = [place for place in range(x.dim()) if place != at]
    same = [place for place in others if x.shape[place] == lengths.shape[0]]
    if lengths.dim() == 1 and len(same) == 1:
        return same
    raise ValueError(
        f'it isn\'t clear which dimensions of {tuple(x.shape)} the lengths of "{dim.name}" belong '
        'to; named(lengths, "...") says it'
    )


def reduced(
    function: Callable[..., T], fill: Fill, x: Tensor, dims: Names | None, *args: Any, **kwargs: Any
) -> T:
    """Call a reduction on a tensor in which a value stands for what is padding."""
    if dims.__class__ is str or not padded_in(dims):
        return carry(function, x, *args, **kwargs)
    with minding():
        return carry(function, filled(x, dims, fill), *args, **kwargs)


def count(x: Tensor, dims: Names, axes: Sequence[int]) -> Tensor:
    """Return over how many elements a reduction goes that leaves padding out, with 1 for axes."""
    whole = torch.ones_like(x, dtype=x.dtype)
    with minding():
        found: Tensor = carry(
            torch.sum, filled(settled(whole, x, range(x.dim())), dims, 0.0), axes, True
        )
        return found


def moments(x: Tensor, dims: Names, axes: Sequence[int], correction: float | None) -> Tensor:
    """Return the mean over axes without the padding, or the variance; the axes have size 1."""
    many = count(x, dims, axes)
    with minding():
        total = carry(torch.sum, filled(x, dims, 0.0), axes, True)
        mean = carry(torch.div, total, many)
        if correction is None:
            return mean
        squares = carry(torch.square, carry(torch.sub, x, mean))
        total = carry(torch.sum, filled(squares, dims, 0.0), axes, True)
        return carry(torch.div, total, many - correction)


def without(x: Tensor, axes: Sequence[int], keepdim: bool) -> Tensor:
    """Take axes of size 1 away, unless they are to be kept."""
    return x if keepdim else carry(torch.squeeze, x, tuple(axes))


def pack(x: Tensor, dim: Dim) -> PackedSequence:
    """Return the sequences without their padding, as torch's recurrent layers take them.

    `dim` has one length for each sequence, `pack(x, Time.with_lengths(lengths))`; `x` has these
    two dimensions and features behind them. `unpack` is the inverse.
    """
    at = _with_lengths(x, dim)
    (batch,) = _places(x, at, dim)
    others = [place for place in range(x.dim()) if place not in (at, batch)]
    plain = x.permute([batch, at, *others])
    return pack_padded_sequence(plain, dim.lengths.cpu(), batch_first=True, enforce_sorted=False)


def unpack(packed: PackedSequence, dim: Dim, batch: Name, *others: Name) -> Tensor:
    """Return packed sequences with padding again, as `(batch dim others...)`.

    `unpack(packed, Time, "batch", "features")`: these names are given, in this order. Raises
    `ShapeError` where there are more dimensions, or fewer.
    """
    if not isinstance(packed, PackedSequence):
        refuse(f"{given_as(packed)} isn't one", "takes a PackedSequence")
    whole, _ = pad_packed_sequence(packed, batch_first=True)
    names = (batch, dim, *others)
    planned(_unpacked, (whole,), tuple(map(new_name, names)))
    return called(whole, tuple(enumerate(names)))


def _unpacked(call: Any, shape: Any, names: tuple[Any, ...]) -> bool:
    for name in names:
        fresh(call, Shape(()), meant(name))
    return not sequences.other_count(len(shape.dims), len(names))
