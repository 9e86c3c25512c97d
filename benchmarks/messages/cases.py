"""Reads the mistakes of `bugs/*.toml`, and what other tools said of them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE: Final = Path(__file__).resolve().parent
MEASURED: Final = HERE / "measured.json"
IMPORTS: Final = """\
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A program with a mistake, and the same without it."""

    wrong: str
    right: str


@dataclass(frozen=True, slots=True)
class Bug:
    """A mistake, in the spelling of each tool.

    `sizes` are those that names need for the right program to run; the others are free.
    """

    title: str
    ours: Program
    torchtyc: Program
    pyrefly: Program
    pyrefly_note: str | None
    sizes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Group:
    """The mistakes of one file."""

    title: str
    bugs: tuple[Bug, ...]


def program(text: str) -> Program:
    """Read a program whose lines begin with a space, `-` (wrong only) or `+` (right only)."""
    lines = [line or " " for line in text.strip("\n").split("\n")]
    wrong, right = (
        "".join(f"{line[1:]}\n" for line in lines if line[0] in f" {sign}") for sign in "-+"
    )
    return Program(wrong, right)


def bug(entry: dict[str, Any]) -> Bug:
    """Read one entry of a file."""
    return Bug(
        entry["title"],
        program(entry["program"]),
        program(entry.get("torchtyc", entry["program"])),
        program(entry["pyrefly"]),
        entry.get("pyrefly_note"),
        entry.get("sizes", {}),
    )


@cache
def groups() -> tuple[Group, ...]:
    """Return all files, in their order."""
    found = []
    for path in sorted((HERE / "bugs").glob("*.toml")):
        read = tomllib.loads(path.read_text("utf-8"))
        found.append(Group(read["title"], tuple(bug(entry) for entry in read["bug"])))
    return tuple(found)


def bugs() -> tuple[Bug, ...]:
    """Return all mistakes, in the order of the page."""
    return tuple(bug for group in groups() for bug in group.bugs)


@cache
def measured() -> dict[str, Any]:
    """Return what `others` has written."""
    found: dict[str, Any] = json.loads(MEASURED.read_text("utf-8"))
    return found
