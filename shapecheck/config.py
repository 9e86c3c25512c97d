"""The settings in `[tool.shapecheck]` of `pyproject.toml`.

```toml
[tool.shapecheck]
strict = true                        # also report equations that an annotation doesn't promise
stubs = ["my_stubs"]                 # folders with signature files of your own
wrappers = ["my_project.typing.Float"]   # names that stand for an annotation: Float["b n d"]
shared = "s3://bucket/shapecheck"    # where the team keeps what was found
typed_calls = true                   # have mypy check calls of modules by their forward
suspicions = true                    # have mypy say what can't be proved, as notes
```
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_FILE_NAME: Final = "pyproject.toml"
_REPOSITORY_ROOTS: Final = (".git", ".hg")
_MEANT: Final = frozenset(("torch-shapecheck", "torch_shapecheck", "shape-check", "shape_check"))
"""Sections that are nobody's, and that who installs us may take for ours."""

_SHARED: Final = "SHAPECHECK_SHARED"
_READ_ONLY: Final = "SHAPECHECK_SHARED_READONLY"


class ConfigError(Exception):
    """The settings can't be used: what is wrong, in which file, on which line."""

    def __init__(self, message: str, path: Path, line: int = 1) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.message = message
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one project; each has a default.

    `strict`: also report equations that an annotation doesn't promise.
    `stubs`: folders with signature files of your own, in the order given; absolute paths here.
    `wrappers`: dotted names that stand for an annotation, such as `my_project.typing.Float`.
    `shared`: where the team keeps what was found, a URL or the absolute path of a folder; "" for
    nowhere. It has no say in what is found.
    `typed_calls`: mypy types the call of a module as its `forward`, where torch says Any.
    `suspicions`: mypy says what can't be proved to be wrong too, as notes with their own code.
    """

    strict: bool = False
    stubs: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    shared: str = ""
    typed_calls: bool = False
    suspicions: bool = False


@dataclass(frozen=True, slots=True)
class Sharing:
    """Where the team keeps what was found, a URL or a folder, and whether it is only read here."""

    place: str
    read_only: bool


def sharing(settings: Config) -> Sharing | None:
    """Return where to share: what the environment says, else the settings; None for nowhere."""
    told = os.environ.get(_SHARED)
    place = settings.shared if told is None else _place(told, Path.cwd())
    if not place:
        return None
    return Sharing(place, os.environ.get(_READ_ONLY, "") not in ("", "0"))


def find(folder: Path) -> Path | None:
    """Return the nearest `pyproject.toml`, from `folder` upwards to the root of its repository."""
    for parent in (folder, *folder.absolute().parents):
        path = parent / _FILE_NAME
        if path.is_file():
            return path
        if any((parent / root).exists() for root in _REPOSITORY_ROOTS):
            return None
    return None


def load(path: Path | None) -> Config:
    """Read the settings in a `pyproject.toml`; without a file or a section, the defaults.

    Raises:
        ConfigError: the file can't be read, or a setting is unknown or of the wrong type.
    """
    if path is None:
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"can't read the file: {error.strerror}", path) from error
    except RecursionError:
        raise ConfigError("not a TOML file: nested too deeply", path) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not a TOML file: {error.reason}", path) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"not a TOML file: {error}", path, int(found[1]) if found else 1) from (
            error
        )
    tool = document.get("tool", {})
    section = tool.get("shapecheck", {}) if isinstance(tool, dict) else {}
    for name in _MEANT & tool.keys() if isinstance(tool, dict) else ():
        message = f"unknown section [tool.{name}]; did you mean [tool.shapecheck]?"
        raise ConfigError(message, path, _line_of(text, "", name))
    if not isinstance(section, dict):
        raise ConfigError(
            f"tool.shapecheck must be a section, not {_kind(section)}", path, _line_of(text, "")
        )
    values: dict[str, Any] = {}
    for key, value in section.items():
        read = _READERS.get(key)
        if read is None:
            raise ConfigError(_unknown(key), path, _line_of(text, key))
        try:
            values[key] = read(value, path.parent)
        except ValueError as error:
            message = f"{key} in [tool.shapecheck] {error}"
            raise ConfigError(message, path, _line_of(text, key)) from None
    return Config(**values)


def _bool(value: object, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_kind(value)}")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list of strings, not {_kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise ValueError(f"must be a list of strings, but has {_kind(item)} in it")
    return tuple(value)


def _folders(value: object, root: Path) -> tuple[str, ...]:
    folders = []
    for name in _strings(value):
        folder = (root / name).absolute()
        if not name or not folder.is_dir():
            raise ValueError(f'names "{name}", but there is no such folder beside this file')
        folders.append(str(folder))
    return tuple(folders)


def _dotted_names(value: object, _: Path) -> tuple[str, ...]:
    names = _strings(value)
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f'must be a list of dotted names, and "{name}" is none')
    return names


def _place(value: object, root: Path) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {_kind(value)}")
    if "://" in value or not value:
        return value
    return str((root / os.path.expanduser(value)).absolute())  # noqa: PTH111 - no error for ~nobody


_READERS: Final[dict[str, Callable[[object, Path], object]]] = {
    "strict": _bool,
    "stubs": _folders,
    "wrappers": _dotted_names,
    "shared": _place,
    "typed_calls": _bool,
    "suspicions": _bool,
}


def _unknown(key: str) -> str:
    known = [field.name for field in fields(Config)]
    import difflib

    close = difflib.get_close_matches(key, known, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"the keys are {', '.join(known)}"
    return f'unknown key "{key}" in [tool.shapecheck]; {hint}'


def _kind(value: object) -> str:
    """Name the TOML type of a value, and show it where it is short."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f'the string "{value}"' if len(value) <= 40 else "a string"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, list):
        return "a list"
    return "a section" if isinstance(value, dict) else "a date or time"


def _line_of(text: str, key: str, name: str = "shapecheck") -> int:
    """Return the line where `key` is set, else that of the section of our `name`, else 1."""
    section, inside = 1, False
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = re.match(rf"\[tool\.{name}[].]", stripped) is not None
            section = number if inside else section
        elif inside and key and re.match(rf"[\"']?{re.escape(key)}[\"']?\s*=", stripped):
            return number
        elif re.match(rf"(?:tool\.)?{name}\s*[.=]", stripped):
            section = number
    return section
