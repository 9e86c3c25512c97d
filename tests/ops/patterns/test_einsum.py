"""Sums over letters, against torch."""

from __future__ import annotations

import random

import pytest
import torch
from op_oracle import agrees, apply, parse, refusal, show

from shapecheck.ops import UNKNOWN


@pytest.mark.parametrize("seed", range(80))
def test_einsum_as_torch(seed: int) -> None:
    rng = random.Random(seed)
    letters = "abcd"
    sizes = {letter: rng.choice((1, 2, 3, 4)) for letter in letters}
    terms, tensors = [], []
    for _ in range(rng.randrange(1, 4)):
        chosen = [rng.choice(letters) for _ in range(rng.randrange(0, 4))]
        shape = [sizes[letter] if rng.random() < 0.95 else rng.choice((1, 5)) for letter in chosen]
        if rng.random() < 0.3:
            at = rng.randrange(len(chosen) + 1)
            chosen.insert(at, "...")
            shape[at:at] = rng.choice(((), (6,), (1, 6), (7, 6)))
        if rng.random() < 0.05:
            shape = shape[1:]
        terms.append("".join(chosen))
        tensors.append(torch.zeros(shape))
    equation = ",".join(terms)
    if rng.random() < 0.7:
        used = sorted(set("".join(terms).replace(".", "")))
        rng.shuffle(used)
        output = used[: rng.randrange(len(used) + 1)]
        if "..." in equation and rng.random() < 0.7:
            output.insert(rng.randrange(len(output) + 1), "...")
        if rng.random() < 0.05:
            output.append("z")
        equation += "->" + rng.choice(("", " ")).join(output)
    agrees(lambda *a: apply("torch.einsum", *a), torch.einsum, equation, *tensors)
    agrees(lambda *a: apply("torch.einsum", *a), torch.einsum, equation, tensors)


@pytest.mark.parametrize(
    ("equation", "operands", "expected"),
    [
        ("bhnd,bhmd->bhnm", ("b h n d", "b h m d"), "b h n m"),
        ("bij,bjk", ("b i j", "b j k"), "i k"),
        ("ij,jk", ("i j", "j k"), "i k"),
        ("ii->i", ("n n",), "n"),
        ("ii", ("n n",), ""),
        ("...d,de->...e", ("*batch d", "d e"), "*batch e"),
        ("b ... d, b d -> b ...", ("b n h d", "b d"), "b n h"),
        ("bhd,bhd->bh", ("b 1 d", "b h d"), "b h"),
        ("ba", ("a b",), "b a"),
    ],
)
def test_names(equation: str, operands: tuple[str, ...], expected: str) -> None:
    assert show(apply("torch.einsum", equation, *map(parse, operands))) == expected


def test_what_is_not_known() -> None:
    assert apply("torch.einsum", UNKNOWN, parse("a b")).shape.opaque
    assert apply("torch.einsum", "ab,bc->ac", UNKNOWN, parse("b c")).shape.rank == 2
    assert apply("torch.einsum", "ab,bc->ac", UNKNOWN).shape.opaque


@pytest.mark.parametrize(
    ("equation", "operands", "text"),
    [
        (
            "bhnd,bhmd->bhnm",
            ("b h n d", "b h m e"),
            'can\'t sum "bhnd,bhmd->bhnm": "d" is d in operand 1 and e in operand 2',
        ),
        (
            "bij,bjk->bik",
            ("b i j", "j k"),
            'can\'t sum "bij,bjk->bik": operand 2 (j k) has 2 axes, "bjk" names 3',
        ),
        ("ij,jk->ik", ("i j",), 'can\'t sum "ij,jk->ik": it names 2 operands, 1 is given'),
        ("ij->ik", ("i j",), 'can\'t sum "ij->ik": "k" is in the result and in no operand'),
        ("ij->ii", ("i j",), 'can\'t sum "ij->ii": "i" is in the result twice'),
        ("i1->i", ("i j",), "can't sum \"i1->i\": '1' isn't a letter"),
        ("ii->i", ("n m",), 'can\'t sum "ii->i": "i" is both n and m in operand 1'),
        ("i->j->k", ("n",), "can't sum \"i->j->k\": an equation has one '->'"),
        (
            "...i,...i->...",
            ("b h d", "b n d"),
            'can\'t sum "...i,...i->...": axis -1 of "..." is h before and n in operand 2',
        ),
    ],
)
def test_errors(equation: str, operands: tuple[str, ...], text: str) -> None:
    assert refusal(apply, "torch.einsum", equation, *map(parse, operands)) == text
