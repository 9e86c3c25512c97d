"""What a row of a record may hold: what `watch` writes, and nothing else.

A value is None, an int, the name of a type, a tensor `["t", dtype, device, sizes]`, a list, a tuple
or a named tuple `["l", length, items]`, or a dict `["d", length, [[key, item], ...]]`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

MOST_ITEMS: Final = 8
"""Of a list and the like, so many items are kept; of a dict, twice as many."""


class Malformed(Exception):
    """A row that no recorder has written."""


def fits(number: int) -> bool:
    """Whether an int is kept as it is: no size is larger, and longer ones can't be written."""
    return -(2**63) <= number < 2**63


def read(text: Any) -> tuple[Mapping[str, Any], Any, Mapping[str, int]]:
    """Return the arguments, the result and the ints that the text of a row holds.

    Raises `Malformed`.
    """
    try:
        args, result, ints = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise Malformed from None
    _expect(isinstance(args, dict) and isinstance(ints, dict))
    for value in (*args.values(), result):
        _check(value)
    _expect(all(map(_is_int, ints.values())))
    return args, result, ints


def count(number: Any) -> int:
    """Return a number of calls, or of a line. Raises `Malformed`."""
    _expect(_is_int(number) and number >= 0)
    return int(number)


def name(text: Any) -> str:
    """Return the name of a file or a function. Raises `Malformed`."""
    _expect(isinstance(text, str))
    return str(text)


def _check(value: Any) -> None:
    if value is None or _is_int(value):
        return
    if isinstance(value, str):
        _expect("." in value)
        return
    _expect(isinstance(value, list) and bool(value))
    check = _CHECKS.get(value[0]) if isinstance(value[0], str) else None
    _expect(check is not None)
    assert check is not None
    check(value)


def _check_tensor(value: list[Any]) -> None:
    _expect(len(value) == 4 and isinstance(value[3], list))
    _expect(isinstance(value[1], str) and isinstance(value[2], str))
    _expect(all(_is_int(size) and size >= 0 for size in value[3]))


def _check_items(value: list[Any]) -> None:
    _expect(len(value) == 3 and _is_int(value[1]) and isinstance(value[2], list))
    _expect(len(value[2]) == min(value[1], MOST_ITEMS))
    for item in value[2]:
        _check(item)


def _check_dict(value: list[Any]) -> None:
    _expect(len(value) == 3 and _is_int(value[1]) and isinstance(value[2], list))
    _expect(len(value[2]) <= min(value[1], 2 * MOST_ITEMS))
    for pair in value[2]:
        _expect(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str))
        _check(pair[1])


_CHECKS: Final[Mapping[str, Callable[[list[Any]], None]]] = {
    "t": _check_tensor,
    "l": _check_items,
    "u": _check_items,
    "n": _check_items,
    "d": _check_dict,
}


def _is_int(value: Any) -> bool:
    return type(value) is int and fits(value)


def _expect(holds: bool) -> None:
    if not holds:
        raise Malformed
