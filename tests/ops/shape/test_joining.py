"""Joining and splitting, against torch."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from op_oracle import agrees, apply, parse, refusal, show

import shapecheck.dims as dims
from shapecheck.ops import UNKNOWN, Repeated


def check(name: str, *args: Any, **kwargs: Any) -> None:
    real = torch
    for part in name.split(".")[1:]:
        real = getattr(real, part)
    exact = kwargs.pop("exact", True)
    agrees(lambda *a, **k: apply(name, *a, **k), real, *args, exact=exact, **kwargs)


def shapes_like(rng: random.Random, rank: int) -> list[int]:
    return [rng.choice((1, 2, 3, 4)) for _ in range(rank)]


@pytest.mark.parametrize("seed", range(60))
def test_cat_and_stack(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randrange(0, 4)
    base = shapes_like(rng, rank)
    parts = []
    dim = rng.randrange(-rank - 1, rank + 1)
    for _ in range(rng.randrange(1, 4)):
        shape = list(base)
        if rank and rng.random() < 0.6:
            shape[dim if -rank <= dim < rank else 0] = rng.randrange(0, 5)
        if rank and rng.random() < 0.15:
            shape[rng.randrange(rank)] = rng.randrange(1, 5)
        if rng.random() < 0.05:
            shape = [0]
        if rng.random() < 0.05:
            shape = [*shape, 2]
        dtype = rng.choice((torch.float32, torch.int64, torch.float32))
        parts.append(torch.zeros(shape, dtype=dtype))
    check("torch.cat", parts, dim)
    check("torch.stack", parts, dim)
    for name in ("hstack", "vstack", "dstack", "column_stack", "block_diag"):
        args = parts if name == "block_diag" else [parts]
        check(f"torch.{name}", *args)


@pytest.mark.parametrize("seed", range(60))
def test_splitting(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randrange(1, 4)
    shape = [rng.choice((1, 2, 3, 4, 6, 7)) for _ in range(rank)]
    x = torch.zeros(shape)
    dim = rng.randrange(-rank - 1, rank + 1)
    size = shape[dim] if -rank <= dim < rank else 3
    cut = rng.randrange(0, size + 1)
    check("torch.split", x, rng.randrange(1, 5), dim)
    check("torch.Tensor.split", x, rng.choice(([cut, size - cut], [cut, size])), dim)
    check("torch.tensor_split", x, rng.choice((rng.randrange(1, 4), (cut, size), (2, 1))), dim)
    check("torch.unbind", x, dim)
    check("torch.hsplit", x, rng.randrange(1, 4))
    check("torch.vsplit", x, rng.randrange(1, 4))
    count = rng.randrange(1, 5)
    if -rank <= dim < rank and len(torch.chunk(x, count, dim)) == count:
        check("torch.chunk", x, count, dim)


def test_chunk_of_a_number_is_torchs() -> None:
    for size in range(12):
        for count in range(1, 6):
            real = [part.shape[0] for part in torch.zeros(size).chunk(count)]
            found = apply("torch.chunk", parse(str(size) if size else "0"), count)
            assert [part.shape.dims[0] for part in found] == real


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("torch.cat", (["b t d", "b s d"], 1), "b s+t d"),
        ("torch.cat", (["b t d", "b t d"], -1), "b t 2*d"),
        ("torch.cat", (["b 1 d", "b (h w) d"], 1), "b h*w+1 d"),
        ("torch.cat", (["*batch n d", "*batch n e"], -1), "*batch n d+e"),
        ("torch.cat", (["*batch n d", "*batch n d"], -2), "*batch 2*n d"),
        ("torch.cat", (["b t d"], -1), "b t d"),
        ("torch.stack", (["b t", "b t", "b t"], 0), "3 b t"),
        ("torch.stack", (["b t", "b t"], -1), "b t 2"),
        ("torch.stack", (["*batch d", "*batch d"], -1), "*batch d 2"),
        ("torch.Tensor.split", ("b t 3*d", "=d", 2), ("b t d", "b t d", "b t d")),
        ("torch.Tensor.split", ("b t d+e", ["=d", "=e"], -1), ("b t d", "b t e")),
        ("torch.chunk", ("b t 3*d", 3, -1), ("b t d", "b t d", "b t d")),
        ("torch.chunk", ("b 2*(h//2)", 2, -1), ("b h//2", "b h//2")),
        ("torch.chunk", ("b {inner}*2 t", 2, 1), ("b <inner> t", "b <inner> t")),
        ("torch.unbind", ("3 b h", 0), ("b h", "b h", "b h")),
        ("torch.unbind", ("b h 2", -1), ("b h", "b h")),
        ("torch.vstack", (["d", "d"],), "2 d"),
        ("torch.tensor_split", ("2*n", 2), ("n", "n")),
        ("torch.nn.utils.rnn.pad_sequence", (["t d", "s d"], True), "2 max(s,t) d"),
        ("torch.cartesian_prod", ("a", "b"), "a*b 2"),
    ],
)
def test_names(name: str, args: tuple[Any, ...], expected: Any) -> None:
    assert show(apply(name, *map(spelled, args))) == expected


def spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [spelled(item) for item in value]
    if isinstance(value, str):
        return dims.name(value[1:]) if value.startswith("=") else parse(value)
    return value


def test_an_unknown_number_of_pieces_is_unknown() -> None:
    for size in (4, dims.name("d")):
        for op in ("split", "chunk"):
            if (op, size) == ("chunk", 4):
                continue  # as many as asked for
            pieces = apply(f"torch.Tensor.{op}", parse("b t"), size, 1)
            assert isinstance(pieces, Repeated)
            assert (str(pieces.element), str(pieces.count)) == ("(b _)", "_")
    pieces = apply("torch.unbind", parse("b t"), 1)
    assert isinstance(pieces, Repeated)
    assert (str(pieces.element), str(pieces.count)) == ("(b)", "t")
    assert apply("torch.cat", UNKNOWN).shape.opaque


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        (
            "torch.cat",
            (["b t d", "b s e"], 1),
            "can't concatenate (b t d) and (b s e) along axis 1: "
            "axis 2 is d in operand 1 and e in operand 2",
        ),
        (
            "torch.cat",
            (["b t d", "b t d", "b t e"], 1),
            "can't concatenate (b t d) and (b t e) along axis 1: "
            "axis 2 is d in operand 1 and e in operand 3",
        ),
        (
            "torch.cat",
            (["b t d", "b d"], 1),
            "can't concatenate (b t d) and (b d) along axis 1: "
            "operand 1 has 3 axes, operand 2 has 2 axes",
        ),
        (
            "torch.cat",
            (["*batch n d", "*batch m e"], -1),
            "can't concatenate (*batch n d) and (*batch m e) along axis -1: "
            "axis -2 is n in operand 1 and m in operand 2",
        ),
        (
            "torch.cat",
            (["b t", "b t"], 2),
            "has no axis 2 in (b t): a tensor with 2 axes allows -2 to 1",
        ),
        (
            "torch.stack",
            (["b t", "b s"], 0),
            "can't stack (b t) and (b s): axis 1 is t in operand 1 and s in operand 2",
        ),
        ("torch.stack", ([],), "can't stack no tensors: there is nothing in the list"),
        (
            "torch.Tensor.split",
            ("b 3*d", ["=d", "=d"], 1),
            "can't split axis 1 of (b 3*d) into [d, d]: the pieces add up to 2*d, axis 1 is 3*d",
        ),
        (
            "torch.split",
            ("4 10", [3, 6], -1),
            "can't split axis -1 of (4 10) into [3, 6]: the pieces add up to 9, axis -1 is 10",
        ),
        (
            "torch.hsplit",
            ("b 7", 2),
            "can't split axis 1 of (b 7) into 2 equal pieces: 7 isn't divisible by 2",
        ),
    ],
)
def test_errors(name: str, args: tuple[Any, ...], text: str) -> None:
    assert refusal(apply, name, *map(spelled, args)) == text
