"""Reads the programs of `*.diff` files, which are there twice: right and wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Paired(NamedTuple):
    """A program, right and wrong; `head` is what stands behind its name."""

    name: str
    head: str
    right: str
    wrong: str


def paired_programs(path: Path) -> Iterator[Paired]:
    """Yield the programs of a file, in its order."""
    for part in re.split(r"^\[case ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("]\n")
        name, _, head = title.partition(": ")
        lines = [line or " " for line in body.rstrip().split("\n")]
        right, wrong = (
            "".join(f"{line[1:]}\n" for line in lines if line[0] in f" {sign}") for sign in "+-"
        )
        yield Paired(name, head, right, wrong)
