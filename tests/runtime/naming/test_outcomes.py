"""A table of outcomes holds so many, and what leaves is the oldest."""

from __future__ import annotations

from shapecheck.runtime.naming.outcomes import Outcomes


def test_the_oldest_quarter_leaves_a_full_table() -> None:
    """What was found out last is there still: a program with many sizes doesn't begin anew."""
    table: Outcomes[int, int] = Outcomes(100)
    for number in range(1000):
        assert table.keep(number, -number) == -number
        assert len(table) <= 100
        assert all(table[one] == -one for one in range(max(0, number - 70), number + 1))


def test_a_table_of_one() -> None:
    table: Outcomes[str, int] = Outcomes(1)
    table.keep("a", 1)
    table.keep("b", 2)
    assert table == {"b": 2}
