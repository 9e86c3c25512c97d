"""The lines by which mypy loads the plugin, and the file of the project that they go into."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shapecheck import config
from shapecheck.project import configuration

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

PLUGIN: Final = "shapecheck.mypy_plugin"
TABLE: Final = f'[tool.mypy]\nplugins = ["{PLUGIN}"]\n'
SECTION: Final = f"[mypy]\nplugins = {PLUGIN}\n"

_LEGACY: Final = ("setup.py", "setup.cfg")
"""Beside these a `pyproject.toml` that is there for mypy alone changes how pip builds."""

_HEADS: Final = {
    True: re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*mypy[ \t]*\][^\n]*(?:\n|\Z)", re.MULTILINE),
    False: re.compile(r"^\[mypy\][^\n]*(?:\n|\Z)", re.MULTILINE),
}
_LISTS: Final = {
    True: re.compile(r"^[ \t]*plugins[ \t]*=[ \t]*\[", re.MULTILINE),
    False: re.compile(r"^plugins[ \t]*[=:]", re.MULTILINE),
}
_NEXT_SECTION: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


class SetupError(Exception):
    """The file can't be changed by us: what to write into it by hand."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Where mypy is configured, and the text of that file before and with the plugin.

    `is_configured`: the project configures mypy there. `before` is None where there is no such
    file; `after` is None where the plugin is on.
    """

    path: Path
    is_configured: bool
    before: str | None
    after: str | None


def find() -> Setup:
    """Return where the project of the current folder configures mypy, or would.

    Raises `SetupError` where the plugin isn't on, and can't be put there but by hand.
    """
    found = configuration.read().settings.config_file
    is_configured = found is not None and not _is_of_user(Path(found))
    path = Path(found) if found is not None and is_configured else _default()
    try:
        before = path.read_bytes().decode("utf-8") if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} can't be read: {error}") from None
    if before is not None and PLUGIN in _plugins(path, before):
        return Setup(path, is_configured, before, None)
    return Setup(path, is_configured, before, _with_plugin(path, before or ""))


def _is_of_user(path: Path) -> bool:
    """Whether a file configures mypy for all of what a user does: it isn't above this folder."""
    return path.resolve().parent not in (Path.cwd(), *Path.cwd().parents)


def _default() -> Path:
    """Return the file that mypy is configured in where it wasn't."""
    found = config.find(Path())
    if found is not None:
        return found
    return Path("mypy.ini" if any(Path(name).exists() for name in _LEGACY) else "pyproject.toml")


def _with_plugin(path: Path, text: str) -> str:
    """Return the text of a file with the plugin in it, and nothing else changed."""
    is_toml = path.suffix == ".toml"
    end = "\r\n" if "\r\n" in text else "\n"
    lines = (TABLE if is_toml else SECTION).replace("\n", end)
    head = _HEADS[is_toml].search(text)
    if head is None:
        gap = "" if not text else end if text.endswith("\n") else end * 2
        made = f"{text}{gap}{lines}"
    else:
        made = _in_section(text, head.end(), lines.partition(end)[2], is_toml=is_toml)
    if _is_right(path, text, made):
        return made
    raise SetupError(
        f"{path} has a form that isn't edited by program; what it needs is\n"
        + (TABLE if is_toml else SECTION).rstrip()
    )


def _in_section(text: str, start: int, line: str, *, is_toml: bool) -> str:
    """Return a text with the plugin in the section that starts there: in its list, or with one."""
    following = _NEXT_SECTION.search(text, start)
    held = _LISTS[is_toml].search(text, start, following.start() if following else len(text))
    if held is None:
        before = text[:start] if text[:start].endswith("\n") else f"{text[:start]}\n"
        return f"{before}{line}{text[start:]}"
    rest = text[held.end() :]
    is_empty = rest.lstrip().startswith("]") if is_toml else not rest.partition("\n")[0].strip()
    name = f'"{PLUGIN}"' if is_toml else f" {PLUGIN}"
    return f"{text[: held.end()]}{name}{'' if is_empty and is_toml else ','}{_spaced(rest)}"


def _spaced(rest: str) -> str:
    return rest if not rest or rest[0].isspace() or rest[0] == "]" else f" {rest}"


def _is_right(path: Path, before: str, after: str) -> bool:
    """Whether a text says what it said, and has the plugin besides."""
    then, now = _content(path, before), _content(path, after)
    if then is None or now is None:
        return False
    plugins = _plugins(path, after)
    if plugins != [PLUGIN, *_plugins(path, before)]:
        return False
    return _without_plugins(path, then) == _without_plugins(path, now)


def _without_plugins(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of all but the plugins; no section is as good as an empty one."""
    found = dict(content)
    if path.suffix == ".toml":
        tool = dict(found.get("tool", {}))
        mypy = {key: value for key, value in tool.pop("mypy", {}).items() if key != "plugins"}
        return {**found, "tool": {**tool, "mypy": mypy}}
    found["mypy"] = {key: value for key, value in found.get("mypy", {}).items() if key != "plugins"}
    return found


def _plugins(path: Path, text: str) -> list[str]:
    content = _content(path, text) or {}
    if path.suffix == ".toml":
        content = content.get("tool", {})
    held = content.get("mypy", {}).get("plugins", [])
    items = re.split(r"[,\n]", held) if isinstance(held, str) else held
    return [item.strip() for item in items if item.strip()]


def _content(path: Path, text: str) -> dict[str, Any] | None:
    """Return what a text of a configuration file says; None where it says nothing."""
    try:
        if path.suffix == ".toml":
            document: dict[str, Any] = tomllib.loads(text)
            return document
        parser = configparser.RawConfigParser()
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error):
        return None
    return {name: dict(parser[name]) for name in parser.sections()}
