"""Runs the tables "Coming from ..." of docs/: what stands there gives what it says, on both sides.

A row is what the other system writes, what is written here, and the shape that this has, by the
shapes that the section gives to its tensors; in another column, where there is one, by methods of
views of the tensors. Where the other system is installed, both are run and have to give the same.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from repository import ROOT
from test_docs import PRELUDE, NoSources

from shapecheck.analysis import Options, Source, analyze_module

IMPORTS = {
    "tensorly": None,
    "namedtensor": None,
    "einops": "from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack\n"
    "from einops.layers.torch import EinMix, Rearrange, Reduce",
    "first_class_dims": "from functorch.dim import cat, dims, stack",
}
"""What makes a page's other system run, None where it isn't installed."""
TENSOR = re.compile(r"`(\w+)` (?:is )?`\(([^`]*)\)`(?: of (ints|bools))?")
AXIS = re.compile(r"(?:\([^)]*\)|[^\s()])+")
KINDS = {"": "Float", "ints": "Int", "bools": "Bool"}
DRAWN = "EinMix"
"""What has weights of its own, so that only the shape is the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a page's table, and the tensors that it is about: shapes and kinds by name."""

    page: str
    line: int
    code: str
    gives: str
    tensors: tuple[tuple[str, str, str], ...]
    theirs: bool
    of_views: bool = False

    def program(self) -> str:
        """Return a module that does what the row says, and reveals what it gives."""
        *first, last = self.code.split("; ")
        if self.of_views:
            first = [*(f"{name} = NamedTensor({name})" for name, *_ in self.tensors), *first]
            last = f"({last}).tensor"
        given = ", ".join(f'{name}: {KINDS[k]}[Tensor, "{s}"]' for name, s, k in self.tensors)
        body = "\n    ".join(
            [*first, f"found = {last}", "reveal_shape(found)", "return found, dims_of(found)"]
        )
        imports = (IMPORTS[self.page] or "") if self.theirs else ""
        imports += "\nfrom shapecheck.named import NamedTensor, distributions"
        return f"{imports}\n\n@shapecheck\ndef row({given}) -> object:\n    {body}\n"

    def arguments(self, size: int | None) -> dict[str, torch.Tensor]:
        """Return tensors for the row, whose dimensions are of one size or of several."""
        drawn, sizes, found = torch.Generator().manual_seed(0), dict[str, int](), {}
        for name, shape, kind in self.tensors:
            for dim in re.findall(r"[a-z]\w*", shape):
                sizes.setdefault(dim, size or 4 + 2 * (len(sizes) % 5))
            values = [_size(part, sizes) for part in AXIS.findall(shape)]
            found[name] = torch.rand(values, generator=drawn)
            if kind:
                found[name] = (found[name] * 2).long() if kind == "ints" else found[name] > 0.5
        return found


def _size(part: str, sizes: dict[str, int]) -> int:
    found = 1
    for name in part.strip("()").split():
        found *= sizes[name] if name in sizes else int(name)
    return found


def rows() -> Iterator[Row]:
    """Yield the rows of all pages; where both run, a row for each of the two."""
    for page, imports in IMPORTS.items():
        text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
        before, _, rest = text.partition("\n## Coming from ")
        section = rest.partition("\n## ")[0]
        tensors = tuple((name, s, kind) for name, s, kind in TENSOR.findall(section.split("|")[0]))
        for at, line in enumerate(section.splitlines(), before.count("\n") + 2):
            cells = line.strip("| ").split(" | ")
            if len(cells) < 3 or not cells[-1].startswith("`("):
                continue
            gives = cells[-1].strip("`")[1:-1]
            if imports is not None:
                yield Row(page, at, cells[0].strip("`"), gives, tensors, True)
            for of_views, cell in enumerate(cells[1:-1]):
                if cell.startswith("`"):
                    yield Row(page, at, cell.strip("`"), gives, tensors, False, bool(of_views))


ALL = [*rows()]


def named_by(shape: str) -> list[str | None]:
    """Return the dimensions of a shape as `dims_of` tells them: numbers have no name."""
    return [None if part.isdigit() else part for part in AXIS.findall(shape)]


def called(row: Row) -> str:
    """Return where a row stands, and in which column."""
    return f"{row.page}:{row.line}{'-theirs' * row.theirs}{'-views' * row.of_views}"


@pytest.mark.parametrize("row", ALL, ids=called)
def test_row(row: Row) -> None:
    said = [
        found.message
        for found in analyze_module(
            Source("example", "example.py", row.program() + PRELUDE), NoSources(), Options()
        )
    ]
    assert said == [f'Revealed shape is "{row.gives}"']
    for size in (None, 4):
        assert [*run(row, size)[1]] == named_by(row.gives)


@pytest.mark.parametrize(
    ("theirs", "here"),
    [(a, b) for a, b in itertools.pairwise(ALL) if a.theirs],
    ids=lambda r: f"{r.page}:{r.line}",
)
def test_both_give_the_same(theirs: Row, here: Row) -> None:
    if DRAWN not in theirs.code:
        torch.testing.assert_close(run(theirs, None)[0], run(here, None)[0])


def run(row: Row, size: int | None) -> tuple[torch.Tensor, tuple[object, ...]]:
    """Execute a row, and return what it gives, with its dimensions."""
    text, name = PRELUDE + row.program(), f"{called(row)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, object] = {"__name__": "row"}
    exec(compile(ast.parse(text), name, "exec"), names)
    function = names["row"]
    assert callable(function)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found, dimensions = function(**row.arguments(size))
    return found, dimensions


def test_each_page_has_a_table() -> None:
    assert {row.page for row in ALL} == {*IMPORTS}
