"""What an op gives to names that it met before with other sizes: its rule isn't asked again.

Sizes may be others in each call, and never be the same again. So an outcome is found by a key from
which the sizes of names are taken out: what is left of a number is the name that has this size. It
counts where what the op really gave has the sizes that the names of the outcome come to.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    `values` are the sizes that these have in it, `numbers` the sizes that are no name's.
    """

    __slots__ = ("numbers", "pattern", "values")

    def __init__(self, key: Key) -> None:
        leaves: list[object] = []
        _add(leaves, key)
        self.values: dict[Sym, int] = {}
        for leaf in leaves:
            if type(leaf) is Record:
                self.values.update(leaf.values)
        self.numbers: set[int] = set()
        self.pattern = _pattern(leaves, self.values, self.numbers)

    def outcome(self, result: Any) -> Outcome | None:
        """Return what an op gave, by what it gave before for these names; None if that isn't so."""
        known, _ = _known.get(self.pattern, ((), False))
        if isinstance(known, Record):
            return self._resized(known, result)
        if not known or not isinstance(result, tuple | list) or len(result) != len(known):
            return None
        parts = [self._resized(a, b) for a, b in zip(known, result, strict=True)]
        found = [one for one in parts if one is not None]
        return tuple(found) if len(found) == len(parts) else None

    @property
    def is_known(self) -> bool:
        """Whether an outcome is known for these names."""
        return self.pattern in _known

    @property
    def is_certain(self) -> bool:
        """Whether all sizes of the outcome follow from the key."""
        return _known[self.pattern][1]

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


def _add(leaves: list[object], part: object) -> None:
    """Add what a key is made of, from left to right; in front of what is in a tuple, its length."""
    if isinstance(part, Placed):
        part = part.key
    if isinstance(part, tuple):
        leaves.append(_LENGTHS[len(part)] if len(part) < len(_LENGTHS) else f"({len(part)}")
        for item in part:
            _add(leaves, item)
    else:
        leaves.append(part)


_LENGTHS: Final = [f"({count}" for count in range(64)]


def _pattern(leaves: list[object], values: Mapping[Sym, int], numbers: set[int]) -> Pattern:
    """Return what is left of a key without sizes: names, and how their sizes compare.

    Two names of one size, a size that is a number in the key, 0 and 1 are what rules may go by.
    The numbers that are there are added to `numbers`.
    """
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
            name = named.get(leaf)
            found.append(leaf if name is None else name)
            if name is None:
                numbers.add(leaf)
        else:
            found += (type(leaf), leaf)
    for symbol, size in values.items():
        found += (symbol, size if size < 2 or size in numbers else named[size])
    return tuple(found)
