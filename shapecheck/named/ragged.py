"""What operations by name do with sequences of several lengths: they leave the padding out.

A dimension that is given with its lengths, `Time.with_lengths(lengths)`, has a mask, which is put
beside the axes of the tensor at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from shapecheck.dims import Composite, Dim, Size, symbol_of
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
    unnamed,
)
from shapecheck.ops.named import operations as rules
from shapecheck.ops.named import sequences
from shapecheck.ops.named.naming import fresh
from shapecheck.runtime.naming.call_names import state
from shapecheck.shapes import Shape

T = TypeVar("T")
Pair: TypeAlias = tuple[Tensor, Tensor]
Fill: TypeAlias = 'float | bool | Literal["lowest", "highest"]'


def padded_in(dims: Names | None) -> list[Dim]:
    """Return the dimensions among those given that have lengths."""
    if isinstance(dims, Dim):
        return [] if dims.lengths is None else [dims]
    if not isinstance(dims, list | tuple):
        return []  # which the operation refuses
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


def without_padding(tensors: Sequence[Tensor], dims: Names | None) -> Sequence[Tensor]:
    """Return tensors that are multiplied, with 0 in the place of the padding that they sum over.

    A tensor that hasn't the dimensions of the lengths has none. Raises ValueError where it isn't
    clear which of one these are.
    """
    for dim in padded_in(dims):
        has = [_has_lengths(x, dim) for x in tensors]
        tensors = [filled(x, dim, 0.0) if it else x for x, it in zip(tensors, has, strict=True)]
    return tensors


def _has_lengths(x: Tensor, dim: Dim) -> bool:
    """Whether a tensor has the dimensions of some lengths, as far as their names are known."""
    known, own = record_of(dim.lengths), record_of(x)
    if known is None or own is None:
        return bool(x.dim() > dim.lengths.dim())
    return all(one in own.dims for one in known.dims)


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
    known = record_of(x)
    item = None if known is None else known.dims[at]
    joined = isinstance(item, Composite) or (isinstance(item, Size) and bool(item.layout))
    plain = dim.frames(x.shape[at], {} if known is None else known.values, joined)
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


class Frames(NamedTuple):
    """Which axis sequences have, where the elements of each are, in order, and how many.

    Behind them is the padding. `order` is as long as the axis, and has size 1 for others.
    """

    at: int
    order: Tensor
    many: Tensor

    def taken(self, x: Tensor, rank: Tensor) -> Tensor:
        """Return in the place of each element the one of a rank, which the padding has too."""
        order = self.order.expand(x.shape)
        found = x.gather(self.at, order.gather(self.at, rank.expand(x.shape)))
        return x.scatter(self.at, order, found)


def frames(x: Tensor, dim: Dim) -> Frames:
    """Return where the sequences are along a dimension that has lengths."""
    at = _with_lengths(x, dim)
    kept = mask(x, dim)
    order = unnamed(_stable_order, kept, at)
    return Frames(at, order, unnamed(torch.sum, kept, at, True))


def _stable_order(kept: Tensor, at: int) -> Tensor:
    return torch.argsort((~kept).to(torch.uint8), dim=at, stable=True)


def moved(x: Tensor, dim: Dim, ranks: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return a tensor in which sequences have other elements in their places, by their ranks.

    `ranks(rank, count)` says which one of `count` stands where `rank` did.
    """
    known = frames(x, dim)

    def move() -> Tensor:
        shape = [-1 if axis == known.at else 1 for axis in range(x.dim())]
        steps = torch.arange(x.shape[known.at], device=x.device).view(shape)
        return known.taken(x, torch.where(steps < known.many, ranks(steps, known.many), steps))

    return settled(unnamed(move), x, range(x.dim()))


def ordered(x: Tensor, dim: Dim, descending: bool) -> Pair:
    """Return each sequence sorted, in its own place, and where its elements were."""
    known = frames(x, dim)
    full = filled(x, dim, "lowest" if descending else "highest")

    def sort() -> Pair:
        values, places = torch.sort(full, dim=known.at, descending=descending, stable=True)
        order = known.order.expand(x.shape)
        return values.scatter(known.at, order, values), places.scatter(known.at, order, places)

    values, places = unnamed(sort)
    values = settled(values, x, range(x.dim()))
    return filled(values, dim, 0.0), settled(places, x, range(x.dim()))


def middle(x: Tensor, dim: Dim, keepdim: bool) -> Pair:
    """Return the median of each sequence, and where it was; of an even number the smaller one."""
    known = frames(x, dim)
    full = filled(x, dim, "highest")

    def pick() -> Pair:
        values, places = torch.sort(full, dim=known.at, stable=True)
        half = ((known.many - 1) // 2).clamp(min=0)
        half = half.expand([1 if axis == known.at else n for axis, n in enumerate(x.shape)])
        return values.gather(known.at, half), places.gather(known.at, half)

    axes = [None if axis == known.at else axis for axis in range(x.dim())]
    values, places = [settled(one, x, axes) for one in unnamed(pick)]
    return without(values, (known.at,), keepdim), without(places, (known.at,), keepdim)


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
    plain = x
    if dim.parts:
        order = frames(x, dim).order
        plain = unnamed(lambda: x.gather(at, order.expand(x.shape)))
    others = [place for place in range(x.dim()) if place not in (at, batch)]
    plain = plain.permute([batch, at, *others])
    return pack_padded_sequence(plain, dim.lengths.cpu(), batch_first=True, enforce_sorted=False)


def unpack(packed: PackedSequence, dim: Dim, batch: Name, *others: Name) -> Tensor:
    """Return packed sequences with padding again, as `(batch dim others...)`.

    `unpack(packed, Time, "batch", "features")`: these names are given, in this order. Raises
    `ShapeError` where there are more dimensions, or fewer.
    """
    if not isinstance(packed, PackedSequence):
        refuse(f"{given_as(packed)} isn't one", "takes a PackedSequence")
    symbol = symbol_of(dim.dim)
    size = None if symbol is None else state.here.symbols.get(symbol)
    whole, _ = pad_packed_sequence(packed, batch_first=True, total_length=size)
    names = (batch, dim, *others)
    planned(_unpacked, (whole,), tuple(map(new_name, names)))
    return called(whole, tuple(enumerate(names)))


def _unpacked(call: Any, shape: Any, names: tuple[Any, ...]) -> bool:
    for name in names:
        fresh(call, Shape(()), meant(name))
    return not sequences.other_count(len(shape.dims), len(names))
