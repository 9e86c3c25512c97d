"""Which of the processes of a distributed program this one is.

Nothing is asked of other processes: one that waits for the answer of another may wait for ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

_LEAST_RANGE: Final = 3
"""So many ranks in a row are written as `0-2`."""


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """A process among several: its number from 0, and how many there are in all.

    `is_local`: of those on its host, of which it isn't known how many there are.
    """

    number: int
    of: int
    is_local: bool = False


def here() -> Rank | None:
    """Return this process's rank, None where the program isn't distributed."""
    return _of_group() or launched()


def launched() -> Rank | None:
    """Return the rank that `torchrun` or another launcher has given this process, if one has."""
    size = _number("WORLD_SIZE")
    if size is None or size < 2:
        return None
    rank, local = _number("RANK"), _number("LOCAL_RANK")
    if rank is not None:
        return Rank(rank, size) if rank < size else None
    return None if local is None else Rank(local, size, is_local=True)


def _number(variable: str) -> int | None:
    said = os.environ.get(variable, "")
    return int(said) if said.isascii() and said.isdigit() else None


def _of_group() -> Rank | None:
    """Return the rank in torch's group of processes, where the program has made one."""
    group: Any = sys.modules.get("torch.distributed")
    try:
        if group is None or not group.is_initialized():
            return None
        found = Rank(group.get_rank(), group.get_world_size())
    except Exception:  # noqa: BLE001 - a torch without it, a group that is half destroyed
        return None
    return found if found.of > 1 else None


def line(ranks: Iterable[Rank]) -> str:
    """Return the line of an error that says where it is: `  on ranks 0-2 and 5 of 8`.

    `ranks` are one or more, of one program.
    """
    known = sorted(set(ranks))
    *most, last = _ranges([rank.number for rank in known])
    listed = f"{', '.join(most)} and {last}" if most else last
    where = "local rank" if known[0].is_local else "rank"
    of = "" if known[0].is_local else f" of {known[0].of}"
    return f"  on {where}{'s' if len(known) > 1 else ''} {listed}{of}"


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Yield numbers, which are in order, as they are written: `0-2`, `5`."""
    at = 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        if end - at + 1 < _LEAST_RANGE:
            end = at
        yield str(numbers[at]) if end == at else f"{numbers[at]}-{numbers[end]}"
        at = end + 1
