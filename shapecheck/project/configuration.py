"""mypy's configuration, read as mypy reads it: which file, which sections, which values.

Of its options those are taken that say which files are checked, where modules are found and what is
shown; all others are about types. What can't be used is left out, and told, as mypy does it.
"""

from __future__ import annotations

import configparser
import glob
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from shapecheck.project.settings import FOLLOWED, ModuleSettings, Section, Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_OWN: Final = ("mypy.ini", ".mypy.ini")
_SHARED: Final = ("pyproject.toml", "setup.cfg")
_OF_USER: Final = ("~/.config/mypy/config", "~/.mypy.ini")
_REPOSITORY_ROOTS: Final = (".git", ".hg")
_FOLDER: Final = re.compile(r"\$(?:MYPY_CONFIG_FILE_DIR\b|\{MYPY_CONFIG_FILE_DIR\})")
_ON: Final = configparser.RawConfigParser.BOOLEAN_STATES
_OF_MODULES: Final = frozenset(one.name for one in fields(Section))
_OLDEST: Final = (3, 10)

_Sections = Mapping[str, Mapping[str, Any]]
_Values = dict[str, Any]
_Reader = Callable[[Any, "_File"], object]


@dataclass(frozen=True, slots=True)
class _File:
    """A configuration file: its sections, `mypy` and `mypy-<patterns>`, with their values."""

    path: str
    sections: _Sections

    @property
    def is_toml(self) -> bool:
        return self.path.lower().endswith(".toml")

    def expanded(self, path: str) -> str:
        """Put in the user's folder, variables of the environment, and this file's folder."""
        folder = os.path.dirname(os.path.abspath(self.path))  # noqa: PTH100, PTH120
        path = _FOLDER.sub(lambda _: folder, path)
        return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111


class _BadFileError(ValueError):
    """A file that can't be used: why."""


@dataclass(slots=True)
class Configured:
    """The settings of a project, and what is wrong with its configuration, line by line."""

    settings: Settings
    remarks: list[str] = field(default_factory=list)


def read(path: str | None = None) -> Configured:
    """Read a configuration file; without a path, the one that mypy would find from here."""
    remarks: list[str] = []
    found = _parse(path, remarks) if path is not None else _find(remarks)
    if found is None:
        return Configured(_settings({}, {}, None), remarks)
    if "mypy" not in found.sections and (path or Path(found.path).name not in _SHARED):
        remarks.append(f"{found.path}: No [mypy] section in config file")
    values = _values(found, "mypy", remarks)
    sections: dict[str, Section] = {}
    for name in found.sections:
        if name.startswith("mypy-"):
            of_modules = {
                key: value
                for key, value in _values(found, name, remarks).items()
                if key in _OF_MODULES
            }
            for pattern in name.removeprefix("mypy-").replace(os.sep, ".").split(","):
                if _is_pattern(pattern):
                    sections[pattern] = Section(**of_modules)
    return Configured(_settings(values, sections, found.path), remarks)


def _settings(values: _Values, sections: dict[str, Section], path: str | None) -> Settings:
    every = ModuleSettings()
    on_modules = Section(**{name: values.pop(name) for name in _OF_MODULES & values.keys()})
    cache = os.environ.get("MYPY_CACHE_DIR", "").strip() or values.pop("cache_dir", None)
    values.pop("cache_dir", None)
    if cache is not None:
        values["cache_dir"] = os.path.expanduser(cache)  # noqa: PTH111
    has_packages = not values.pop("no_site_packages", False)
    python = values.pop("python_executable", sys.executable)
    return Settings(
        **{**values, "mypy_path": (*_environment_path(), *values.get("mypy_path", ()))},
        packages_of=python if has_packages else None,
        every=every.changed(on_modules),
        sections=sections,
        config_file=path,
    )


def with_values(settings: Settings, values: _Values) -> Settings:
    """Return settings in which some have other values, by the names that mypy has for them.

    Lists are added to what is there, and a code that is enabled anywhere is.
    """
    values = dict(values)
    if values.pop("no_site_packages", False):
        values["packages_of"] = None
    elif "python_executable" in values:
        values["packages_of"] = values.pop("python_executable")
    on_modules = Section(**{name: values.pop(name) for name in _OF_MODULES & values.keys()})
    enabled = (*settings.every.enabled, *on_modules.enable_error_code)
    on_modules = replace(on_modules, enable_error_code=enabled)
    for name in ("exclude", "always_true", "always_false"):
        if name in values:
            values[name] = (*getattr(settings, name), *values[name])
    return replace(settings, **values, every=settings.every.changed(on_modules))


def _environment_path() -> tuple[str, ...]:
    path = os.environ.get("MYPYPATH")
    return tuple(path.split(os.pathsep)) if path else ()


def _is_pattern(name: str) -> bool:
    """Whether a name is one of modules, with stars in the place of whole parts."""
    if any(character in name for character in "?[]!"):
        return False
    return all(part == "*" or "*" not in part for part in name.split("."))


# Which file --------------------------------------------------------------------------------------


def _find(remarks: list[str]) -> _File | None:
    """Return the nearest file, upwards to the root of the repository, else the user's own."""
    folder = Path.cwd()
    for parent in (folder, *folder.parents):
        for name in (*_OWN, *_SHARED):
            found = _parse(os.path.relpath(parent / name), remarks)
            if found is not None:
                return found
        if any((parent / root).exists() for root in _REPOSITORY_ROOTS):
            break
    of_user = list(_OF_USER)
    if os.environ.get("XDG_CONFIG_HOME"):
        of_user.insert(0, str(Path(os.environ["XDG_CONFIG_HOME"], "mypy/config")))
    files = (_parse(os.path.expanduser(path), remarks) for path in of_user)  # noqa: PTH111
    return next((one for one in files if one is not None), None)


def _parse(path: str, remarks: list[str]) -> _File | None:
    """Return a file that is there, can be read, and is about mypy; None for any other."""
    if not Path(path).is_file():
        return None
    try:
        sections = _toml(path) if path.lower().endswith(".toml") else _ini(path)
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        remarks.append(f"{path}: {error}")
        return None
    except (configparser.Error, _BadFileError) as error:
        remarks.append(f"{path}: {error}")
        return None
    if sections is None or (Path(path).name in _SHARED and "mypy" not in sections):
        return None
    return _File(path, sections)


def _ini(path: str) -> _Sections:
    parser = configparser.RawConfigParser()
    parser.read(path)
    return {name: dict(parser[name]) for name in parser.sections()}


def _toml(path: str) -> _Sections | None:
    """Return the sections as the other formats have them: one for each module of an override."""
    tool = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("tool", {})
    if not isinstance(tool, dict) or "mypy" not in tool:
        return None
    if not isinstance(tool["mypy"], dict):
        raise _BadFileError("tool.mypy must be a section")
    values = dict(tool["mypy"])
    overrides = values.pop("overrides", [])
    if not isinstance(overrides, list) or not all(isinstance(one, dict) for one in overrides):
        raise _BadFileError(
            "tool.mypy.overrides sections must be an array. Please make sure you are using double "
            "brackets like so: [[tool.mypy.overrides]]"
        )
    sections: dict[str, dict[str, Any]] = {"mypy": values}
    for override in overrides:
        for module in _modules(override):
            section = sections.setdefault(f"mypy-{module}", {})
            for key, value in override.items():
                if key != "module" and section.setdefault(key, value) != value:
                    raise _BadFileError(
                        "toml config file contains [[tool.mypy.overrides]] sections with "
                        f"conflicting values. Module '{module}' has two different values for "
                        f"'{key}'"
                    )
    return sections


def _modules(override: Mapping[str, Any]) -> list[str]:
    if "module" not in override:
        raise _BadFileError(
            "toml config file contains a [[tool.mypy.overrides]] section, but no module to "
            "override was specified."
        )
    modules = override["module"]
    if isinstance(modules, str):
        return [modules]
    if not isinstance(modules, list):
        raise _BadFileError(
            "toml config file contains a [[tool.mypy.overrides]] section with a module value that "
            "is not a string or a list of strings"
        )
    return modules


# Which values ------------------------------------------------------------------------------------


def _values(file: _File, name: str, remarks: list[str]) -> _Values:
    """Return the values of a section that can be used, by the names of settings."""
    found: _Values = {}
    for key, value in file.sections.get(name, {}).items():
        inverted = key not in _READERS and key.startswith("no_")
        setting = key[3:] if inverted else key
        reader = _READERS.get(setting)
        if reader is None or (inverted and reader is not _flag):
            continue
        try:
            read_value = reader(value, file)
        except ValueError as error:
            remarks.append(f"{file.path}: [{name}]: {key}: {error}")
            continue
        found[setting] = not read_value if inverted else read_value
    return found


def _flag(value: Any, _: _File) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in _ON:
        raise ValueError(f"Not a boolean: {value}")
    return _ON[str(value).lower()]


def _items(value: Any, separators: str = ",") -> Iterator[str]:
    """Yield the items of a list, or of a text with separators, after the last of which none is."""
    if isinstance(value, str):
        items = re.split(f"[{separators}]", value)
        yield from (item.strip() for item in (items if items[-1].strip() else items[:-1]))
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield from (item.strip() for item in value)
    else:
        raise ValueError(
            f"Expected a list or a stringified version thereof, but got: '{value}', of type "
            f"{type(value).__name__}."
        )


def _names(value: Any, _: _File) -> tuple[str, ...]:
    return tuple(_items(value))


def _text(value: Any, file: _File) -> str:
    return file.expanded(str(value))


def _plain(value: Any, _: _File) -> str:
    return str(value)


def _path(value: Any, file: _File) -> tuple[str, ...]:
    """Return folders. An empty one is the current folder, in TOML not after the last separator."""
    if isinstance(value, str) and not file.is_toml:
        value = re.split("[,:]", value)
    return tuple(file.expanded(item) for item in _items(value, ",:"))


def _globs(value: Any, file: _File) -> tuple[str, ...]:
    """Return paths, with what their patterns match now."""
    found: list[str] = []
    for item in _items(value):
        path = file.expanded(item)
        found += glob.glob(path, recursive=True) or [path]  # noqa: PTH207 - as they are written
    return tuple(found)


def _exclude(value: Any, file: _File) -> tuple[str, ...]:
    """Return regular expressions: several in TOML alone, for a comma may be part of one."""
    if isinstance(value, str):
        stripped = value.strip()
        return (stripped,) if stripped or not file.is_toml else ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"Not a list of regular expressions: {value}")
    return tuple(item.strip() for item in value if item.strip())


def _followed(value: Any, _: _File) -> str:
    if str(value) not in FOLLOWED:
        choices = ", ".join(f"'{choice}'" for choice in FOLLOWED)
        raise ValueError(f"invalid choice '{value}' (choose from {choices})")
    return str(value)


def _version(value: Any, _: _File) -> tuple[int, int]:
    found = re.fullmatch(r"(\d)\.(\d+)", str(value))
    if found is None or found[1] != "3":
        raise ValueError(f"Invalid python version '{value}' (expected format: 'x.y')")
    return max((3, int(found[2])), _OLDEST)


_READERS: Final[dict[str, _Reader]] = {
    "files": _globs,
    "packages": _names,
    "modules": _names,
    "exclude": _exclude,
    "exclude_gitignore": _flag,
    "mypy_path": _path,
    "namespace_packages": _flag,
    "explicit_package_bases": _flag,
    "scripts_are_modules": _flag,
    "show_absolute_path": _flag,
    "no_site_packages": _flag,
    "python_version": _version,
    "python_executable": _text,
    "cache_dir": _text,
    "platform": _plain,
    "always_true": _names,
    "always_false": _names,
    "follow_imports": _followed,
    "follow_imports_for_stubs": _flag,
    "follow_untyped_imports": _flag,
    "ignore_errors": _flag,
    "disable_error_code": _names,
    "enable_error_code": _names,
}
"""How the value of each option is read; raises ValueError where it is none."""


def in_comment(values: Mapping[str, str]) -> Section:
    """Return what the comments of a module say of it, leaving out what can't be used."""
    file = _File("", {"mypy": values})
    found = _values(file, "mypy", [])
    return Section(**{name: value for name, value in found.items() if name in _OF_MODULES})
