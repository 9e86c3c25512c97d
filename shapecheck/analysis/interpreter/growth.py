"""What grows by as much each time that a loop goes round: `ids = torch.cat([ids, new], 1)`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import Array, ByName
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_int
from shapecheck.shapes import Item, Shape, Tensor


@dataclass(frozen=True, slots=True)
class Growth:
    """The states before a loop's first three rounds, and the variables that grow by as much."""

    states: tuple[State, State, State]
    names: tuple[str, ...]

    def at(self, rounds: int) -> State:
        """Return the state after so many rounds; what changes otherwise isn't known."""
        zero, one, two = self.states
        made = two.copy()
        for name, value in zero.vars.items():
            there = _at(value, one.vars.get(name), two.vars.get(name), rounds)
            made.vars[name] = UNKNOWN if there is NOTHING else there
        for ref, content in two.heap.items():
            if one.heap.get(ref) != content:
                made.know(ref, None)
        return made

    def is_at(self, state: State, rounds: int) -> bool:
        """Whether a state is that after so many rounds, as far as what grows goes."""
        expected = self.at(rounds).vars
        return all(state.vars.get(name) == expected[name] for name in self.names)


def growth(zero: State, one: State, two: State, targets: Iterable[str]) -> Growth | None:
    """Return what grows from round to round; None where nothing does."""
    names = [
        name
        for name, value in zero.vars.items()
        if name not in targets
        and one.vars.get(name) != two.vars.get(name)
        and _at(value, one.vars.get(name), two.vars.get(name), 2) is not NOTHING
    ]
    return Growth((zero, one, two), tuple(names)) if names else None


def _at(zero: Value, one: Value, two: Value, rounds: int) -> Value:
    """Return what a value is after so many rounds, by what it is after none, one and two."""
    if one == two:
        return two
    match zero, one, two:
        case Tensor(), Tensor(), Tensor():
            before, first, second = zero.shape.dims, one.shape.dims, two.shape.dims
            if not len(before) == len(first) == len(second) or one.dtype != two.dtype:
                return NOTHING
            axes = zip(before, first, second, strict=True)
            made = [_axis(a, b, c, rounds) for a, b, c in axes]
            known = [axis for axis in made if axis is not None]
            return two.with_shape(Shape(tuple(known))) if len(known) == len(made) else NOTHING
        case Array(), Array(), Array():
            there = _at(zero.tensor, one.tensor, two.tensor, rounds)
            return Array(there) if isinstance(there, Tensor) else NOTHING
        case ByName(), ByName(), ByName():
            there = _at(zero.tensor, one.tensor, two.tensor, rounds)
            return replace(two, tensor=there) if isinstance(there, Tensor) else NOTHING
        case tuple(), tuple(), tuple() if len(zero) == len(one) == len(two):
            parts = tuple(_at(a, b, c, rounds) for a, b, c in zip(zero, one, two, strict=True))
            return NOTHING if NOTHING in parts else parts
    if is_int(zero) and is_int(one) and is_int(two) and two - one == one - zero:
        return zero + rounds * (one - zero)
    return NOTHING


def _axis(zero: Item, one: Item, two: Item, rounds: int) -> Item | None:
    """Return what an axis is after so many rounds, None where it doesn't grow by as much."""
    if one == two:
        return two
    if is_int(zero) and is_int(one) and is_int(two) and two - one == one - zero:
        return max(zero + rounds * (one - zero), 0)
    return None
