"""What an op gives to names that it met before with other sizes: its rule isn't asked again.

Sizes may be others in each call, and never be the same again. So an outcome is found by a key from
which the sizes of names are taken out: what is left of a number is the name that has this size. It
counts where what the op really gave has the sizes that the names of the outcome come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch

from shapecheck.dims import Sym
from shapecheck.dims.origins import AnyNumber
from shapecheck.runtime.naming.keys import Key, Placed
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, record, sizes_of

Outcome: TypeAlias = "Record | tuple[Record, ...]"
Pattern: TypeAlias = tuple[object, ...]

_known: Final[Outcomes[Pattern, tuple[Outcome, bool]]] = Outcomes(1 << 13)
"""From a pattern to an outcome, and whether all its sizes follow from the pattern."""


class Names:
    """A key as it is for other sizes of the same names too.

    `values` are the sizes that these have in it, `numbers` the sizes that are no name's. `before`
    is what is known of the pattern.
    """

    __slots__ = ("before", "numbers", "pattern", "values")

    def __init__(self, leaves: Sequence[object], values: dict[Sym, int]) -> None:
        self.values = values
        self.numbers: set[int] = set()
        self.pattern = _pattern(leaves, values, self.numbers)
        self.before = _known.get(self.pattern)

    @property
    def is_certain(self) -> bool:
        """Whether all sizes of the outcome that is known follow from the key."""
        return self.before is not None and self.before[1]

    def outcome(self, result: Any) -> Outcome | None:
        """Return what an op gave, by what it gave before for these names; None if that isn't so."""
        known: object = None if self.before is None else self.before[0]
        if isinstance(known, Record):
            return self._resized(known, result)
        if not isinstance(known, tuple) or not isinstance(result, tuple | list):
            return None
        if len(result) != len(known):
            return None
        parts = [self._resized(a, b) for a, b in zip(known, result, strict=True)]
        found = [one for one in parts if one is not None]
        return tuple(found) if len(found) == len(parts) else None

    def keep(self, outcome: object, certain: bool) -> None:
        """Keep the outcome of an op, if it is made of these names."""
        parts = outcome if isinstance(outcome, tuple) else (outcome,)
        if parts and all(isinstance(one, Record) and self._has(one) for one in parts):
            found: Any = outcome
            _known.keep(self.pattern, (found, certain))

    def _has(self, known: Record) -> bool:
        return all(self._value(symbol) == size for symbol, size in known.values.items())

    def _value(self, symbol: Sym) -> int | None:
        """Return the size of a name in this key; what stands for a number in it has that one."""
        if isinstance(symbol.origin, AnyNumber) and symbol.origin.value in self.numbers:
            return symbol.origin.value
        return self.values.get(symbol)

    def _resized(self, known: Record, result: Any) -> Record | None:
        """Return the names of a record for these sizes, None if a result doesn't have them."""
        if not isinstance(result, torch.Tensor) or isinstance(result, torch.nn.Parameter):
            return None
        values = {symbol: self._value(symbol) for symbol in known.values}
        sizes = sizes_of(result)
        there = {symbol: value for symbol, value in values.items() if value is not None}
        if sizes is None or len(there) < len(values):
            return None
        return record(known.dims, sizes, there, known.inserted, known.blank)


def names_in(key: Key) -> Names | None:
    """Return the names in a key; None where one of them has several sizes in it."""
    leaves: list[object] = []
    _add(leaves, key)
    values: dict[Sym, int] = {}
    for leaf in leaves:
        if type(leaf) is Record:
            for symbol, size in leaf.values.items():
                if values.setdefault(symbol, size) != size:
                    return None
    return Names(leaves, values)


def _add(leaves: list[object], part: object) -> None:
    """Add what a key is made of, from left to right, with what is in a tuple between two marks."""
    if isinstance(part, Placed):
        part = part.key
    if isinstance(part, tuple):
        leaves.append(_BEGIN)
        for item in part:
            _add(leaves, item)
        leaves.append(_END)
    else:
        leaves.append(part)


_BEGIN: Final = object()
_END: Final = object()


def _pattern(leaves: Sequence[object], values: Mapping[Sym, int], numbers: set[int]) -> Pattern:
    """Return what is left of a key without sizes: names, and how their sizes compare.

    Two names of one size, a size that is a number in the key, 0 and 1 are what rules may go by. A
    number that isn't above the ranks may be an axis, whatever has that size. The numbers that are
    there are added to `numbers`.
    """
    ranks = [len(leaf.dims) for leaf in leaves if type(leaf) is Record]
    highest = max(ranks, default=0)
    named: dict[int, Sym] = {}
    for symbol, size in values.items():
        if size > 1:
            named.setdefault(size, symbol)
    found: list[object] = []
    for leaf in leaves:
        if type(leaf) is Record:
            found += (leaf.dims, leaf.inserted, leaf.blank)
            numbers.update(dim for dim in leaf.dims if type(dim) is int)
        elif type(leaf) is int:
            name = named.get(leaf) if leaf > highest else None
            found.append(leaf if name is None else name)
            if name is None:
                numbers.add(leaf)
        else:
            found += (type(leaf), leaf)
    for symbol, size in values.items():
        found += (symbol, size if size < 2 or size in numbers else named[size])
    return tuple(found)
