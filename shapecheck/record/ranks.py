"""The shape errors that end the processes of a distributed program, each told once with its ranks.

Each process leaves its own in a folder, without asking another one; the parent of all reads them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shapecheck import distributed
from shapecheck.distributed import Rank

_ERRORS: Final = (
    ("shapecheck.runtime.errors", "ShapeError"),
    ("shapecheck.tensor_spec", "ShapeAnnotationError"),
)
_NUMBER: Final = re.compile(r"\b\d+\b")


def note(folder: Path) -> None:
    """Leave the error that ends this process in a folder, if it is one of ours and of several.

    Python keeps what nothing has caught, before it prints it.
    """
    error = getattr(sys, "last_value", None)
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in _ERRORS]
    if not isinstance(error, tuple(filter(None, kinds))):
        return
    rank = getattr(error, "rank", None) or distributed.here()
    if rank is None:
        return
    said = f"{type(error).__name__}: {error}"
    row = {"rank": rank.number, "of": rank.of, "is_local": rank.is_local, "said": said}
    row["place"] = getattr(error, "place", None)
    path = folder / f"{rank.number}-{os.getpid()}"
    with suppress(OSError):  # another host, which hasn't got the folder: its output has the error
        path.with_suffix(".part").write_text(json.dumps(row), "utf-8")
        path.with_suffix(".part").replace(path.with_suffix(".json"))


@dataclass(frozen=True, slots=True)
class _Raised:
    """An error as one rank has raised it: what it says before its line with the rank, and after."""

    rank: Rank
    before: str
    after: str
    place: str | None

    @property
    def said(self) -> tuple[str, str]:
        """What is the same on each rank that raises this error."""
        return self.before, self.after

    @property
    def kind(self) -> tuple[object, ...]:
        """What errors have in common that are one, but for sizes."""
        said = _NUMBER.sub("#", self.before + self.after)
        return self.rank.of, self.rank.is_local, self.place, said


def merged(folder: Path) -> Iterator[str]:
    """Yield the errors in a folder as texts, in the order of their first ranks.

    Of those that differ in numbers alone the first is told, and which other ranks have one.
    """
    by_kind: dict[tuple[object, ...], list[_Raised]] = {}
    for one in sorted(map(_read, folder.glob("*.json")), key=lambda one: (one.rank, one.said)):
        by_kind.setdefault(one.kind, []).append(one)
    for first, *more in by_kind.values():
        alike = {one.rank for one in more if one.said == first.said} | {first.rank}
        others = {one.rank for one in more} - alike
        lines = [distributed.line(alike)]
        if others:
            lines.append(f"{distributed.line(others)}: the same with other sizes")
        yield "\n".join([first.before, *lines]) + first.after


def _read(path: Path) -> _Raised:
    row: dict[str, Any] = json.loads(path.read_text("utf-8"))
    rank = Rank(row["rank"], row["of"], row["is_local"])
    before, _, after = row["said"].partition(f"\n{distributed.line([rank])}")
    return _Raised(rank, before, after, row["place"])
