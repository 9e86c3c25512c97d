"""How long a call takes is told so that a step more mostly changes nothing, and never too much."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from shapecheck.analysis.interpreter.budget import LIBRARY, OWN, Budget, Depth
from shapecheck.analysis.pace import UNBOUND, Pace

steps = st.integers(0, 20_000)
few = st.integers(0, 200)


@given(steps, steps, few, st.integers(-200, 200), st.integers(-200, 200))
def test_what_is_charged_later(took: int, needed: int, more: int, one: int, other: int) -> None:
    """Whatever changes by no more than that, who asks is charged no more than is said."""
    before, one, other = Pace.of(took, needed), min(one, more), min(other, more)
    now = Pace.of(max(took + max(one, -more), 0), max(before.needed + max(other, -more), 0))
    assert before.more(now) <= before.later(more)
    assert before.drift(now) <= 2 * more + 1 or now.needed == now.took
    assert before.more(before) == before.later(0) == before.drift(before) == 0


def test_a_step_more_is_mostly_none() -> None:
    assert Pace.of(100, 100).later(2) == 0
    assert Pace.of(104, 104).later(1) == 8  # it was all of the last unit
    assert Pace.of(192, 192).later(1) == UNBOUND  # so many there must be, or as many as 256
    assert Pace.of(100, 100).later(3 * UNBOUND) == UNBOUND
    assert Pace.of(100, 100).is_near(Pace.of(200, 180))
    assert not Pace.of(100, 100).is_near(Pace.of(300, 180))


@given(st.integers(1, 20_000), st.sampled_from([OWN, LIBRARY]), steps, few, st.booleans())
def test_a_call_for_which_there_is_room(
    left: int, depth: Depth, needs: int, more: int, is_limited: bool
) -> None:
    """It can be made after as many steps more; where its limits count, they are the same."""
    budget = Budget(left, depth=depth)
    pace = Pace.of(min(needs, left // 4), 0)
    before, room = budget.for_call, budget.room_for(pace.needs, is_limited=is_limited)
    if before < pace.needs or more > room:
        return
    budget.left -= more
    assert budget.for_call >= pace.needs
    assert not is_limited or budget.for_call == before
    budget.left += 2 * more
    assert not is_limited or budget.for_call == before


def test_the_room_of_a_body() -> None:
    budget = Budget(1000)
    budget.charge(100, 192)
    assert budget.room == 1000 - budget.needs == 1000 - 321
    budget.left = 200
    assert budget.room == 200
    budget.failed[ast.Pass()] = 64
    assert budget.room == 0
