"""Which of several processes this is, by what a launcher has set or by torch's own group."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from shapecheck import distributed
from shapecheck.distributed import Rank

LAUNCHED: list[tuple[dict[str, str], Rank | None]] = [
    ({}, None),
    ({"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}, Rank(2, 4)),
    ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, None),
    ({"LOCAL_RANK": "1", "WORLD_SIZE": "4"}, Rank(1, 4, is_local=True)),
    ({"RANK": "2"}, None),
    ({"LOCAL_RANK": "2"}, None),
    ({"WORLD_SIZE": "4"}, None),
    ({"RANK": "4", "WORLD_SIZE": "4"}, None),
    ({"RANK": "-1", "WORLD_SIZE": "4"}, None),
    ({"RANK": "two", "WORLD_SIZE": "4"}, None),
    ({"RANK": "1", "WORLD_SIZE": "many"}, None),
    ({"RANK": "²", "WORLD_SIZE": "4"}, None),
]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a launcher, and without what other tests have imported."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)


@pytest.mark.parametrize(("variables", "rank"), LAUNCHED)
def test_what_a_launcher_has_set(
    variables: dict[str, str], rank: Rank | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert distributed.launched() == rank
    assert distributed.here() == rank


def _broken() -> int:
    raise ValueError("Default process group has not been initialized")


GROUPS: list[tuple[object, Rank]] = [
    (SimpleNamespace(), Rank(1, 2)),  # a torch that was built without it
    (SimpleNamespace(is_initialized=lambda: False), Rank(1, 2)),
    (
        SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 3, get_world_size=lambda: 8),
        Rank(3, 8),
    ),
    (
        SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 1),
        Rank(1, 2),
    ),
    (SimpleNamespace(is_initialized=lambda: True, get_rank=_broken), Rank(1, 2)),
]


@pytest.mark.parametrize(("group", "rank"), GROUPS)
def test_the_group_of_the_program(
    group: object, rank: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked before the launcher, and never fails."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "torch.distributed", group)  # type: ignore[arg-type]
    assert distributed.here() == rank


LINES = [
    ([2], "  on rank 2 of 9"),
    ([1, 0], "  on ranks 0 and 1 of 9"),
    ([3, 1, 0, 3], "  on ranks 0, 1 and 3 of 9"),
    ([2, 1, 0], "  on ranks 0-2 of 9"),
    ([0, 1, 2, 4, 5, 6, 8], "  on ranks 0-2, 4-6 and 8 of 9"),
]


@pytest.mark.parametrize(("numbers", "line"), LINES)
def test_the_line_of_an_error(numbers: list[int], line: str) -> None:
    assert distributed.line(Rank(number, 9) for number in numbers) == line


def test_ranks_on_a_host() -> None:
    """How many there are on it isn't known."""
    assert distributed.line([Rank(1, 8, is_local=True)]) == "  on local rank 1"
