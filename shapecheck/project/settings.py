"""What holds for a run, and for each module in it, as mypy's configuration says it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from shapecheck.project import codes

NORMAL: Final = "normal"
SILENT: Final = "silent"
FOLLOWED: Final = (NORMAL, SILENT, "skip", "error")


@dataclass(frozen=True, slots=True)
class Section:
    """What is said of some modules; None where nothing is.

    The codes are added to those that other sections say of the same modules.
    """

    follow_imports: str | None = None
    follow_imports_for_stubs: bool | None = None
    follow_untyped_imports: bool | None = None
    ignore_errors: bool | None = None
    disable_error_code: tuple[str, ...] = ()
    enable_error_code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleSettings:
    """What holds for one module, or for each of which no section says anything else."""

    follow_imports: str = NORMAL
    follow_imports_for_stubs: bool = False
    follow_untyped_imports: bool = False
    ignore_errors: bool = False
    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()

    def changed(self, section: Section) -> ModuleSettings:
        """Return what holds where a section says otherwise, which may enable what it disables."""
        disabling, enabling = set(section.disable_error_code), set(section.enable_error_code)
        said = {
            name: value
            for name in (
                "follow_imports",
                "follow_imports_for_stubs",
                "follow_untyped_imports",
                "ignore_errors",
            )
            if (value := getattr(section, name)) is not None
        }
        return replace(
            self,
            **said,
            disabled=(self.disabled | disabling) - enabling,
            enabled=(self.enabled - disabling) | enabling,
        )

    def shows(self, code: str) -> bool:
        """Whether errors with a code are shown."""
        if code in self.disabled:
            return False
        return code in self.enabled or codes.parent(code) not in self.disabled


@dataclass(frozen=True)
class Settings:
    """What holds for a run. Paths are as they were written, from the current folder.

    `exclude`: regular expressions. `mypy_path`: more folders that modules are imported from, those
    of the environment first. `cache_dir`: mypy's, beside which is
    kept what was found. `packages_of`: the Python whose packages are found, None for none.
    `every`: what holds for all modules; `sections`: what is said of some, by the pattern of their
    names, in the order in which it is said. `config_file`: the file in which this stands.
    """

    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclude_gitignore: bool = False
    mypy_path: tuple[str, ...] = ()
    namespace_packages: bool = True
    explicit_package_bases: bool = False
    scripts_are_modules: bool = False
    show_absolute_path: bool = False
    python_version: tuple[int, int] = sys.version_info[:2]
    platform: str = sys.platform
    always_true: tuple[str, ...] = ()
    always_false: tuple[str, ...] = ()
    packages_of: str | None = sys.executable
    cache_dir: str = ".mypy_cache"
    every: ModuleSettings = ModuleSettings()
    sections: Mapping[str, Section] = field(default_factory=dict)
    config_file: str | None = None

    def of(self, module: str) -> ModuleSettings:
        """Return what holds for a module.

        A section of just this module says most, then patterns with a star inside, of which the
        last wins, then patterns that end in a star, of which the longest wins.
        """
        known = self._by_pattern
        return known[module] if module in known else self._inherited(module, known)

    def _inherited(self, name: str, known: Mapping[str, ModuleSettings]) -> ModuleSettings:
        parts = name.split(".")
        keys = (".".join((*parts[:length], "*")) for length in range(len(parts), 0, -1))
        found = next((known[key] for key in keys if key in known), self.every)
        if not name.endswith(".*"):
            for pattern, section in self._unstructured:
                if pattern.match(name):
                    found = found.changed(section)
        return found

    @cached_property
    def _unstructured(self) -> list[tuple[re.Pattern[str], Section]]:
        return [(_compiled(name), one) for name, one in self.sections.items() if "*" in name[:-1]]

    @cached_property
    def _by_pattern(self) -> Mapping[str, ModuleSettings]:
        """Return what holds by names of modules and patterns that end in a star.

        Each rests on those that are wider, and so comes after them: `a.*`, `a.b.*`, `a.b`.
        """
        names = [name for name in self.sections if "*" not in name[:-1]]
        wide = sorted(name for name in names if name.endswith(".*"))
        found: dict[str, ModuleSettings] = {}
        for name in (*wide, *(name for name in names if not name.endswith(".*"))):
            found[name] = self._inherited(name, found).changed(self.sections[name])
        return found

    def display(self, path: str) -> str:
        """Return a path as messages show it."""
        if self.show_absolute_path:
            return os.path.abspath(path)  # noqa: PTH100 - no link is followed
        here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
        return os.path.normpath(path).removeprefix(here)


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern, in which a star stands for any number of parts, also none."""
    first, *parts = pattern.split(".")
    expression = ".*" if first == "*" else re.escape(first)
    for part in parts:
        expression += r"(\..*)?" if part == "*" else re.escape(f".{part}")
    return re.compile(rf"{expression}\Z")
