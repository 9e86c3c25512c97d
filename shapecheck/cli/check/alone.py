"""`--only-shapes`: the analysis by itself.

mypy's configuration holds, and those of its options that say what is checked and shown.
"""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from shapecheck.cli._commands import CommandError
from shapecheck.project.checking import check
from shapecheck.project.configuration import Configured, read, with_values
from shapecheck.project.findings import Finding, Outcome
from shapecheck.project.settings import FOLLOWED, Settings
from shapecheck.project.sharding import Shard
from shapecheck.project.targets import TargetError

_SWITCHES: Final = (
    "namespace-packages",
    "explicit-package-bases",
    "scripts-are-modules",
    "exclude-gitignore",
    "follow-untyped-imports",
)
_LISTS: Final = (
    "exclude",
    "always-true",
    "always-false",
    "disable-error-code",
    "enable-error-code",
)


def found_alone(options: Namespace, *, is_shared: bool = True) -> tuple[list[Finding], Outcome]:
    """Check what the command line or the configuration names.

    `is_shared`: with what the team keeps, where that is configured. Raises `CommandError` where
    what is to be checked isn't there, and for options that are about types.
    """
    told = _read_options(options.rest)
    path = options.config_file or told.pop("config_file", None)
    if path is not None and not Path(path).exists():
        raise CommandError(f"there is no configuration file {path}")
    configured: Configured = read(path)
    settings = _settings(configured.settings, told, options.paths)
    try:
        found, outcome = check(settings, options.shard or Shard(), is_shared=is_shared)
    except TargetError as error:
        raise CommandError(str(error)) from None
    outcome.remarks += configured.remarks
    if options.verbose and outcome.effort:
        outcome.remarks.append(outcome.effort)
    return found, outcome


def _settings(settings: Settings, told: dict[str, Any], paths: Sequence[str]) -> Settings:
    """Return the settings with what the command line says; what it names is all that is checked."""
    files = (*paths, *told.pop("files", ()))
    packages, modules = told.pop("packages", ()), told.pop("modules", ())
    if files and (packages or modules):
        raise CommandError("either paths or modules can be checked in one run, not both")
    if files or packages or modules:
        settings = replace(settings, files=files, packages=packages, modules=modules)
    settings = with_values(settings, told)
    if settings.explicit_package_bases and not settings.namespace_packages:
        raise CommandError("explicit_package_bases means nothing without namespace_packages")
    return settings


def _read_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what options of mypy say, by the names of settings."""
    parser = _Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for switch in _SWITCHES:
        parser.add_argument(f"--{switch}", action="store_true")
        parser.add_argument(f"--no-{switch}", action="store_false", dest=switch.replace("-", "_"))
    for name in _LISTS:
        parser.add_argument(f"--{name}", action="append")
    parser.add_argument("--show-absolute-path", action="store_true")
    parser.add_argument("--hide-absolute-path", action="store_false", dest="show_absolute_path")
    parser.add_argument("--no-site-packages", action="store_true")
    parser.add_argument("--config-file")
    parser.add_argument("--follow-imports", choices=FOLLOWED)
    parser.add_argument("--python-version", type=_version)
    parser.add_argument("--python-executable")
    parser.add_argument("--platform")
    parser.add_argument("--cache-dir")
    parser.add_argument(
        "--no-incremental", action="store_const", const=os.devnull, dest="cache_dir"
    )
    parser.add_argument("-p", "--package", action="append", dest="packages")
    parser.add_argument("-m", "--module", action="append", dest="modules")
    parser.add_argument("files", nargs="*")
    told, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise CommandError(
            f"{unknown[0]} isn't among the options of mypy that --only-shapes knows: those that "
            "say which files are checked, where modules are found and what is shown"
        )
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(told).items()
    }


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with options as the other commands do."""

    def error(self, message: str) -> Any:
        raise CommandError(message)


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if major != "3" or not minor.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no version of Python 3")
    return 3, int(minor)
