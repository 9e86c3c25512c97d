"""Runs the tables of docs/travel.md: what becomes of names on each way that a tensor takes."""

# ruff: noqa: F401 - the expressions of the page use these imports

from __future__ import annotations

import copy
import io
import linecache
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from repository import ROOT
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import default_collate

from shapecheck import Float, dims_of, disabled, named, shapecheck

PAGE = ROOT / "docs" / "travel.md"


class Sub(Tensor): ...


def helper(x: Tensor) -> Tensor:
    return turned(x)


@shapecheck
def turned(x: Tensor) -> Tensor:
    return x.T


@shapecheck
def rows(x: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
    return x.T


@shapecheck
def fresh(x: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    return torch.cat([x, x])


def enclosing(x: Tensor) -> Tensor:
    found = []

    @shapecheck
    def inside(y: Float[Tensor, "k"]) -> None:
        found.append(dims_of(x * 1))

    inside(torch.ones(2))
    return found[0]  # type: ignore[return-value]  # its names


def in_a_thread(x: Tensor) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: dims_of(x * 1)).result()


def paused(x: Tensor) -> Tensor:
    with disabled():
        return x * 1


def saved(y: Tensor) -> Tensor:
    file = io.BytesIO()
    torch.save(y, file)
    file.seek(0)
    return torch.load(file)  # type: ignore[no-any-return]


def gradient(x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    (found,) = torch.autograd.grad(x.sum(), x)
    return found


def seen(row: Tensor) -> Tensor:
    SEEN.append(dims_of(row))
    return row


SEEN: list[Any] = []


def lines() -> Iterator[tuple[str, str, str]]:
    """Yield the section, the expression and the names of every line of a table."""
    section = ""
    for line in PAGE.read_text("utf-8").splitlines():
        section = line[3:] if line.startswith("## ") else section
        if line.startswith("|") and not line.startswith(("|---", "| | expression")):
            _, expression, names = line.removesuffix(" |").rsplit("| ", 2)
            yield section, re.findall(r"`([^`]+)`", expression)[-1], names.strip("` ")


@pytest.mark.parametrize(("section", "expression", "names"), lines())
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_line_of_a_table(section: str, expression: str, names: str) -> None:
    def evaluate(x: Tensor) -> Any:
        SEEN.clear()
        path = f"<{expression}>"  # as bounds are read in the source
        linecache.cache[path] = (len(expression), None, [expression], path)
        result = eval(compile(expression, path, "eval"), {**globals(), "x": x, "y": x})
        if SEEN:
            return SEEN[0]
        return result if isinstance(result, tuple) else dims_of(result)

    @shapecheck
    def inside(x: Float[Tensor, "b t"]) -> Any:
        return evaluate(x)

    wanted = tuple(None if name == "_" else name for name in re.findall(r"\([^)]*\)|\S+", names))
    for _ in range(2):
        x = torch.rand(2, 3)
        found = evaluate(named(x, "b t")) if section == "Out of the process" else inside(x)
        assert found == wanted
