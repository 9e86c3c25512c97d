"""A run in parts: each module is in one of them, the same wherever it is checked."""

from __future__ import annotations

import pytest

from shapecheck.project.sharding import Shard, shard

NAMES = [f"pkg.sub{at % 7}.m{at}" for at in range(400)]


@pytest.mark.parametrize("of", [1, 2, 5, 8])
def test_each_module_is_in_one_part(of: int) -> None:
    """And no part has much more than its share."""
    parts = [[name for name in NAMES if Shard(number + 1, of).has(name)] for number in range(of)]
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    assert max(map(len, parts)) <= 1.5 * len(NAMES) / of


def test_a_module_stays_in_its_part() -> None:
    """Reports of the same commit are divided alike, whoever makes them."""
    parts = [next(n for n in range(1, 9) if Shard(n, 8).has(name)) for name in NAMES[:6]]
    assert parts == [6, 2, 8, 1, 2, 4]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "2", "/2", "a/b", "-1/2", "1/2/3", "²/3"])
def test_what_is_no_part(text: str) -> None:
    """It is said, with an example."""
    with pytest.raises(ValueError, match="is the second of eight"):
        shard(text)
