"""Runs the programs of `*.test`; README.md describes the format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapecheck.analysis import Options, Source, analyze_module

HERE = Path(__file__).parent
PRELUDE = """\
import math, random
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, TypedDict
import torch, einops
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, reduce, repeat
from torch import Tensor
from shapecheck import Bool, Float, Int, Num, Shaped, assert_shape, reveal_shape, shapecheck
"""
OFFSET = PRELUDE.count("\n")
MARK = re.compile(r"  # (?=[ENW]: \d+: )")


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def cases() -> list[tuple[Path, str, str]]:
    """Return the file, name and program of every case."""
    found = []
    for path in sorted(HERE.rglob("*.test")):
        for part in re.split(r"^\[case ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name, _, program = part.partition("]\n")
            found.append((path, name, program.rstrip() + "\n"))
    return found


def said(program: str) -> list[list[str]]:
    """Return what the analysis says of each line of a program, strict if it begins so."""
    options = Options(strict=program.startswith("# strict"))
    source = Source("case", "case.py", PRELUDE + program)
    lines: list[list[str]] = [[] for _ in program.split("\n")]
    for found in analyze_module(source, NoSources(), options):
        kind = found.severity[0].upper()
        code = f" [{found.code}]" if kind != "N" else ""
        message = re.sub(r"(?<=\bline )\d+", _in_program, found.message)
        text = f"{kind}: {found.span.column + 1}: {message}{code}"
        lines[found.span.line - 1 - OFFSET].append(text)
    return lines


def _in_program(line: re.Match[str]) -> str:
    return str(int(line[0]) - OFFSET)


def split(line: str) -> tuple[str, list[str]]:
    """Return a line's code and its marks."""
    code, *marks = MARK.split(line)
    return code, marks


def marked(program: str) -> str:
    """Return a program with the marks that the analysis gives."""
    lines = [split(line)[0] for line in program.split("\n")]
    found = said("\n".join(lines))
    return "\n".join("  # ".join([line, *marks]) for line, marks in zip(lines, found, strict=True))


ALL = cases()


@pytest.mark.parametrize(("path", "name", "program"), ALL, ids=[f"{p.stem}-{n}" for p, n, _ in ALL])
def test_case(path: Path, name: str, program: str, request: pytest.FixtureRequest) -> None:
    """The analysis says exactly what is marked."""
    if request.config.getoption("--update"):
        text = path.read_text("utf-8")
        head = f"[case {name}]\n"
        path.write_text(
            text.replace(head + program.rstrip(), head + marked(program).rstrip(), 1), "utf-8"
        )
        return
    assert marked(program) == program


def test_names_are_unique() -> None:
    """Each case can be named."""
    names = [(path, name) for path, name, _ in ALL]
    assert len(names) == len(set(names))
