"""einops patterns: laws, einops itself as the oracle, and the texts of errors."""

from __future__ import annotations

import random
from typing import Any

import einops
import pytest
import torch
from op_oracle import agrees, apply, forward, parse, refusal, show

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Facts

LAWS = [
    # two patterns that undo each other: first, lengths, second, lengths, input
    ("b (h d) -> b h d", {"h": "heads"}, "b h d -> b (h d)", {}, "b c"),
    ("b (h d) -> b h d", {"d": "dh"}, "b h d -> b (h d)", {}, "b c"),
    ("b (h d) -> b h d", {"h": "h"}, "b h d -> b (h d)", {}, "b (h d)"),
    ("b t (h d) -> (b h) t d", {"h": "n"}, "(b h) t d -> b t (h d)", {"h": "n"}, "b t c"),
    ("b c h w -> b (h w) c", {}, "b (h w) c -> b c h w", {"h": "h"}, "b c h w"),
    ("b c h w -> b h w c", {}, "b h w c -> b c h w", {}, "b c h w"),
    ("... d -> d ...", {}, "d ... -> ... d", {}, "a b c"),
    ("... (h d) -> ... h d", {"h": 8}, "... h d -> ... (h d)", {}, "a b 64"),
    ("b 1 d -> b d", {}, "b d -> b () d", {}, "b 1 d"),
    (
        "(a b c) d -> a b (c d)",
        {"a": "a", "b": "b"},
        "a b (c d) -> (a b c) d",
        {"d": "d"},
        "(a b c) d",
    ),
]


def lengths(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: dims.name(value) if isinstance(value, str) else value for key, value in given.items()
    }


@pytest.mark.parametrize(("first", "one", "second", "two", "shape"), LAWS)
def test_patterns_that_undo_each_other(
    first: str, one: dict[str, Any], second: str, two: dict[str, Any], shape: str
) -> None:
    x = parse(shape)
    middle = apply("einops.rearrange", x, first, **lengths(one))
    back = apply("einops.rearrange", middle, second, **lengths(two))
    facts = Facts()
    assert len(back.shape.dims) == len(x.shape.dims)
    for found, wanted in zip(back.shape.dims, x.shape.dims, strict=True):
        assert facts.same(found, wanted), f"{back.shape} isn't {x.shape}"


@pytest.mark.parametrize(
    ("op", "shape", "pattern", "given", "expected"),
    [
        ("rearrange", "b n (h d)", "b n (h d) -> b h n d", {"h": "h"}, "b h n d"),
        ("rearrange", "b n c", "b n (h d) -> b h n d", {"h": 8}, "b 8 n c//8"),
        ("rearrange", "b n 3*c", "b n (three c) -> three b n c", {"three": 3}, "3 b n c"),
        ("rearrange", "b h n d", "b h n d -> b n (h d)", {}, "b n (h d)"),
        (
            "rearrange",
            "b 3 224 224",
            "b c (h p) (w q) -> b (h w) (p q c)",
            {"p": 16, "q": 16},
            "b 196 768",
        ),
        ("rearrange", "b (x y z)", "b (x r) -> b x r", {"x": "x"}, "b x (y z)"),
        ("rearrange", "b (x y z)", "b (r z) -> b r z", {"z": "z"}, "b (x y) z"),
        ("rearrange", "*batch c", "... (h d) -> ... h d", {"h": 2}, "*batch 2 c//2"),
        ("rearrange", "*batch n d", "... n d -> ... (n d)", {}, "*batch (n d)"),
        ("rearrange", "b t d", "b ... -> b (...)", {}, "b (t d)"),
        ("rearrange", "b t d", "b ... -> (...) b", {}, "(t d) b"),
        ("repeat", "t d", "t d -> b t d", {"b": "b"}, "b t d"),
        ("repeat", "1 n d", "() n d -> b n d", {"b": "b"}, "b n d"),
        ("repeat", "b t", "b t -> b (t 2)", {}, "b (t 2)"),
        ("repeat", "d", "d -> 3 d", {}, "3 d"),
        ("reduce", "b c h w", "b c (h 2) (w 2) -> b c h w", {"reduction": "max"}, "b c h//2 w//2"),
        ("reduce", "b t d", "b t d -> b d", {"reduction": "mean"}, "b d"),
        ("reduce", "b t d", "b t d -> b 1 d", {"reduction": "mean"}, "b 1 d"),
        ("reduce", "*batch d", "... d -> ...", {"reduction": "sum"}, "*batch"),
        ("reduce", "b t d", "... -> ", {"reduction": "sum"}, ""),
    ],
)
def test_names(op: str, shape: str, pattern: str, given: dict[str, Any], expected: str) -> None:
    reduction = given.get("reduction")
    extra = {k: v for k, v in lengths(given).items() if k != "reduction"}
    args = (pattern,) if reduction is None else (pattern, reduction)
    assert show(apply(f"einops.{op}", parse(shape), *args, **extra)) == expected


def test_dtypes() -> None:
    ints = parse("b t", dtypes.INT64)
    assert apply("einops.reduce", ints, "b t -> b", "any").dtype == dtypes.BOOL
    assert (
        apply("einops.reduce", parse("b t", dtypes.BOOL), "b t -> b", "sum").dtype == dtypes.INT64
    )
    assert refusal(apply, "einops.reduce", ints, "b t -> b", "mean") == (
        "can't take the mean: the tensor is int64, a mean needs Float"
    )


@pytest.mark.parametrize("seed", range(150))
def test_as_einops(seed: int) -> None:
    """Random patterns with every size and axis wrong now and then."""
    rng = random.Random(seed)
    names = ["a", "b", "c", "d"][: rng.randrange(1, 5)]
    sizes = {name: rng.choice((1, 2, 3, 4)) for name in names}
    order = list(names)
    rng.shuffle(order)
    left, shape, given = _side(rng, order, sizes)
    op = rng.choice(("rearrange", "repeat", "reduce"))
    right_names = list(names)
    rng.shuffle(right_names)
    if op == "reduce" or rng.random() < 0.05:
        right_names = right_names[: rng.randrange(len(names) + 1)]
    if op == "repeat" and rng.random() < 0.7:
        right_names.insert(rng.randrange(len(right_names) + 1), "r")
        if rng.random() < 0.9:
            given["r"] = sizes["r"] = rng.choice((1, 2, 3))
        sizes.setdefault("r", 2)
    right, _, _ = _side(rng, right_names, sizes)
    if rng.random() < 0.3:
        left, shape = ["...", *left], [*rng.choice(([], [5], [5, 2])), *shape]
        right.insert(rng.randrange(len(right) + 1), "...")
    if rng.random() < 0.1 and shape:
        shape[rng.randrange(len(shape))] = rng.choice((1, 5, 6))
    if rng.random() < 0.05:
        shape.append(2)
    if rng.random() < 0.05:
        given["z"] = 2
    pattern = " ".join(left) + "->" + " ".join(right)
    x = torch.zeros(shape)
    args: tuple[Any, ...] = (pattern,) if op != "reduce" else (pattern, "max")
    agrees(lambda *a, **k: apply(f"einops.{op}", *a, **k), getattr(einops, op), x, *args, **given)


def _side(
    rng: random.Random, names: list[str], sizes: dict[str, int]
) -> tuple[list[str], list[int], dict[str, int]]:
    """Group names into axes; returns the text, the sizes and what has to be given."""
    text, shape, given = [], [], {}
    rest = list(names)
    while rest:
        count = rng.choice((1, 1, 2, 3))
        group, rest = rest[:count], rest[count:]
        size = 1
        for name in group:
            size *= sizes[name]
        text.append(group[0] if len(group) == 1 else f"({' '.join(group)})")
        shape.append(size)
        for name in rng.sample(group, len(group) - 1):
            given[name] = sizes[name]
        if rng.random() < 0.1:
            text.append(rng.choice(("1", "()")))
            shape.append(1)
    return text, shape, given


@pytest.mark.parametrize("seed", range(40))
def test_pack_and_unpack_as_einops(seed: int) -> None:
    rng = random.Random(seed)
    before, after = rng.randrange(3), rng.randrange(2)
    front, back = [2, 3][:before], [4][:after]
    pattern = " ".join([*["i", "j"][:before], "*", *["k"][:after]])
    tensors = []
    for _ in range(rng.randrange(1, 4)):
        shape = [*front, *rng.choice(([], [5], [6, 2])), *back]
        if rng.random() < 0.1 and shape:
            shape[0] += 1
        tensors.append(torch.zeros(shape))
    agrees(lambda *a: apply("einops.pack", *a), einops.pack, tensors, pattern)
    try:
        packed, shapes = einops.pack(tensors, pattern)
    except (RuntimeError, ValueError):
        return
    plain = [tuple(one) for one in shapes]
    agrees(lambda *a: apply("einops.unpack", *a), einops.unpack, packed, plain, pattern)
    if len(plain) > 1:
        plain[-1] = (-1,)
        agrees(lambda *a: apply("einops.unpack", *a), einops.unpack, packed, plain, pattern)


def test_pack_names() -> None:
    packed, shapes = apply("einops.pack", [parse("b n d"), parse("b h w d")], "b * d")
    assert show(packed) == "b h*w+n d"
    assert [tuple(map(str, one)) for one in shapes] == [("n",), ("h", "w")]
    back = apply("einops.unpack", packed, shapes, "b * d")
    assert show(back) == ("b n d", "b h w d")
    one, single = apply("einops.pack", [parse("*batch n d")], "* d")
    assert one.shape.rank == 2
    assert show(apply("einops.unpack", one, single, "* d")) == ("*batch n d",)


def test_einsum() -> None:
    q, k = parse("b h i d"), parse("b h j d")
    assert show(apply("einops.einsum", q, k, "b h i d, b h j d -> b h i j")) == "b h i j"
    assert show(apply("einops.einsum", parse("*batch d"), parse("o d"), "... d, o d -> ... o")) == (
        "*batch o"
    )
    assert refusal(apply, "einops.einsum", q, parse("b h j e"), "b h i d, b h j d -> b h i j") == (
        'can\'t sum "b h i d, b h j d -> b h i j": "d" is d in operand 1 and e in operand 2'
    )
    assert refusal(apply, "einops.einsum", q, k, "b h i d, b h d -> b h i") == (
        'can\'t sum "b h i d, b h d -> b h i": operand 2 (b h j d) has 4 axes, "b h d" names 3'
    )


def test_layers() -> None:
    name = "einops.layers.torch.Rearrange"
    assert show(forward(name, (("b c h w -> b (c h w)",), {}), parse("b 16 5 5"))) == "b 400"
    patches = "b c (h p1) (w p2) -> b (h w) (p1 p2 c)"
    assert show(forward(name, ((patches,), {"p1": 4, "p2": 4}), parse("b 3 32 32"))) == "b 64 48"
    name = "einops.layers.torch.Reduce"
    assert show(forward(name, (("b c h w -> b c", "mean"), {}), parse("b c 7 7"))) == "b c"
    name = "einops.layers.torch.EinMix"
    init = (("b t (h c) -> b t d",), {"weight_shape": "h c d", "h": 8, "c": 64, "d": 512})
    assert show(forward(name, init, parse("b t 512"))) == "b t 512"


def test_parse_shape() -> None:
    found = apply("einops.parse_shape", parse("b c h w"), "b _ h w")
    assert {key: str(value) for key, value in found.items()} == {"b": "b", "h": "h", "w": "w"}


def test_a_list_is_stacked() -> None:
    both = [parse("t d"), parse("t d")]
    assert show(apply("einops.rearrange", both, "b t d -> t (b d)")) == "t (2 d)"
    assert apply("einops.rearrange", UNKNOWN, "b t d -> t b d").shape.rank == 3
    assert apply("einops.rearrange", parse("b t"), UNKNOWN).shape.opaque


@pytest.mark.parametrize(
    ("shape", "pattern", "given", "text"),
    [
        ("b n d", "b h n d -> b n (h d)", {}, "the tensor has 3 axes, the left side 4"),
        ("b n d", "b n d -> b n", {}, '"d" is on one side only'),
        ("b n d", "b n d -> b n d h", {}, '"h" is on one side only'),
        ("b n d", "b n n -> b n n", {}, '"n" is twice on the left side'),
        ("b n d", "b n d -> b ... n d", {}, "'...' is on the right side only"),
        ("b n d", "b n d", {}, "the pattern has no '->'"),
        (
            "b n 10",
            "b n (h d) -> b h n d",
            {"h": 3},
            'axis 2 is 10, which 3 doesn\'t divide, in "(h d)"',
        ),
        (
            "b n c",
            "b n (h d) -> b h n d",
            {},
            "the sizes of h and d can't be told from their product c",
        ),
        ("b n c", "b n c -> b n c", {"c": "d"}, 'axis 2 is c, where "c" is d'),
        ("b n c", "b n c -> b n c", {"k": 4}, '"k" is given and isn\'t in the pattern'),
        ("b 2 c", "b 1 c -> b c", {}, "axis 1 is 2, where 1 is expected"),
        (
            "b n (h d)",
            "b n (d h) -> b h n d",
            {"h": "h"},
            'axis 2 is (h d), where "(d h)" takes it apart as (d h)',
        ),
        (
            "b n (h d)",
            "b n (d h) -> b h n d",
            {"h": "h", "d": "d"},
            'axis 2 is (h d), where "(d h)" is (d h)',
        ),
        (
            "b n c",
            "b n (c 2) -> b n c",
            {},
            "a number other than 1 can't stand in the pattern of rearrange",
        ),
        ("b n c", "b n c+1 -> b n c", {}, "'c+1' isn't a name, a number, '...' or '(a b)'"),
        ("b n c", "b ((n) c) -> b n c", {}, "the tensor has 3 axes, the left side 2"),
        ("b n c", "b ((n c) d) -> b n c d", {}, "parentheses can't stand in parentheses"),
        ("b n c", "b (n c -> b n c", {}, "'(' is never closed"),
    ],
)
def test_errors(shape: str, pattern: str, given: dict[str, Any], text: str) -> None:
    tensor = parse(shape)
    found = refusal(apply, "einops.rearrange", tensor, pattern, **lengths(given))
    assert found == f'can\'t rearrange {tensor} by "{pattern}": {text}'


@pytest.mark.parametrize(
    ("op", "shape", "args", "text"),
    [
        (
            "repeat",
            "t d",
            ("t d -> b t d",),
            'can\'t repeat (t d) by "t d -> b t d": the size of "b" isn\'t given',
        ),
        (
            "repeat",
            "t d",
            ("t d -> t",),
            'can\'t repeat (t d) by "t d -> t": "d" is on the left side only',
        ),
        (
            "reduce",
            "t d",
            ("t d -> t e", "mean"),
            'can\'t reduce (t d) by "t d -> t e": "e" is on the right side only',
        ),
        (
            "reduce",
            "t d",
            ("t d -> t", "avg"),
            'has no reduction "avg": there are min, max, sum, mean, prod, any and all',
        ),
        ("pack", "t d", ("b d",), "can't pack by \"b d\": the pattern needs one '*'"),
        (
            "unpack",
            "t d",
            ([(2,)], "b * d"),
            'can\'t unpack (t d) by "b * d": the tensor has 2 axes, the pattern 3',
        ),
        (
            "unpack",
            "b 7",
            ([(2,), (4,)], "b *"),
            'can\'t unpack (b 7) by "b *": the pieces add up to 6, axis 1 is 7',
        ),
    ],
)
def test_other_errors(op: str, shape: str, args: tuple[Any, ...], text: str) -> None:
    tensor: Any = [parse(shape)] if op == "pack" else parse(shape)
    assert refusal(apply, f"einops.{op}", tensor, *args) == text


def test_unpack_more_than_there_is() -> None:
    packed = "the pieces beside -1 add up to 12, axis 1 is 10"
    said = refusal(apply, "einops.unpack", parse("b 10 d"), [(-1,), (12,)], "b * d")
    assert said == f'can\'t unpack (b 10 d) by "b * d": {packed}'
    assert show(apply("einops.unpack", parse("b n d"), [(-1,), (12,)], "b * d")) == (
        "b n-12 d",
        "b 12 d",
    )


def test_a_weight_without_lengths() -> None:
    name = "einops.layers.torch.EinMix"
    init = (("b t d -> b t k",), {"weight_shape": "d k", "d": 16})
    assert refusal(forward, name, init, parse("b t 16")) == (
        'can\'t mix (b t 16) by "b t d -> b t k": '
        '"k" is given no length, which an axis of the weight "d k" needs'
    )
