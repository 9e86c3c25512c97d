"""What an editor sets: which files are told of, which hints are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

OPEN: Final = "open"
WORKSPACE: Final = "workspace"


@dataclass(frozen=True, slots=True)
class InlayHints:
    """Which shapes are shown behind names. `obvious`: also where the line says it itself."""

    enabled: bool = True
    obvious: bool = False


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of the server.

    `diagnostics`: of files that are `open`, or of all in the `workspace`. `suspicions`: whether
    what can't be proved is told. `hover`: whether shapes are shown under the mouse. `debounce`: for
    how many milliseconds nothing is typed before a text is checked.
    """

    diagnostics: str = OPEN
    suspicions: bool = True
    hover: bool = True
    debounce: int = 30
    inlayHints: InlayHints = field(default_factory=InlayHints)

    @staticmethod
    def of(told: object) -> ServerSettings:
        """Return what an editor tells; what can't be used is left as it is by itself."""
        if isinstance(told, Mapping) and isinstance(told.get("shapecheck"), Mapping):
            told = told["shapecheck"]
        if not isinstance(told, Mapping):
            return ServerSettings()
        hints = told.get("inlayHints")
        if isinstance(hints, bool):
            hints = {"enabled": hints}
        found = _taken(ServerSettings(), told)
        if found.get("diagnostics", OPEN) not in (OPEN, WORKSPACE):
            del found["diagnostics"]
        inner = InlayHints(**_taken(InlayHints(), hints if isinstance(hints, Mapping) else {}))
        return ServerSettings(**found, inlayHints=inner)


def _taken(plain: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that are of the kind that a setting has."""
    found = {}
    for one in fields(plain):
        value, by_itself = told.get(one.name), getattr(plain, one.name)
        if isinstance(by_itself, bool | int | str) and type(value) is type(by_itself):
            found[one.name] = value
    return found
