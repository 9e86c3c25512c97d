"""What is read of texts, whole or a part short, and what is said of those that say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import expected
import pytest

from shapecheck.dims import Dim
from shapecheck.spec import (
    Axis,
    Binary,
    Braces,
    Call,
    Entry,
    Expr,
    Group,
    Merge,
    Name,
    Negate,
    Number,
    Spec,
    SpecError,
    Wild,
    expr_names,
    parse,
    parse_pattern,
)
from shapecheck.spec.dialects import is_description, of_annotated, of_text
from shapecheck.spec.objects import in_objects, is_of_objects, of_objects

FOLDER = Path(__file__).parent


def parted(texts: str, by: str = "|") -> list[str]:
    """Return texts that stand apart by a sign, and on several lines."""
    return texts.replace("\n", by).strip(by).split(by)


def tree(node: Expr | Entry) -> str:
    """Return an expression, or an entry, with what each part of it is."""
    match node:
        case Axis():
            marks = [mark for mark in ("broadcast", "leaf") if getattr(node, mark)]
            return " ".join([tree(node.expr), *marks])
        case Group():
            marks = [
                mark for mark in ("broadcast", "leaf", "filled", "anonymous") if getattr(node, mark)
            ]
            return " ".join(["group", str(node.name), *marks])
        case Number(value):
            return f"number {value}"
        case Name(id):
            return f"name {id}"
        case Wild():
            return "anything"
        case Braces(source):
            return f"braces {source}"
        case Negate(operand):
            return f"minus ({tree(operand)})"
        case Binary(op, left, right):
            return f"({tree(left)}) {op} ({tree(right)})"
        case Call(function, args):
            return f"{function} of {', '.join(map(tree, args))}"
        case Merge(parts):
            return f"merge of {', '.join(map(tree, parts))}"
    raise AssertionError(node)


def wrong(error: SpecError) -> str:
    """Return what is said of a text, and of which part of it."""
    return f"! {' / '.join(str(error).splitlines())} [{error.start}:{error.end}]"


def read(parse_: Callable[[str], Spec | None], text: str) -> str:
    """Return what is read of a text, or what is said of it."""
    try:
        found = parse_(text)
    except SpecError as error:
        return wrong(error)
    if found is None:
        return "nothing"
    names = [name for entry in found.entries for name in expr_names(entry)]
    return (
        f"{'; '.join(map(tree, found.entries)) or 'no axes'} => {found!s}, "
        f"{found.least} axes at least, {found.groups} groups, names {' '.join(names)}"
    )


TEXTS = """\
b t 3|*batch #n ?k _ ... *#s|+s *_rest _x *|rgb=3 height=_ w=2*k|2*n+1 n-1 -n
h//2 w%2 2**n n**2|-(-h//4) (h+1)//2|min(a,b) max(a,2*b,3)|(h d) (b *s) (h d)*2
{n} {self.d_k}+1 {f(x)[0]}|#(h d) #2*n #3|(h (w d))|a*b+c*d-e//f%g**2|*a b *c|é naïve|b,t
[b t]|b t; c|b*|*|**b|a b)|{n|{}|1.5 n|0 -1|b..c|b....|#*s|##b|?#b|#?b|?*s|*?s|a=|=3|a=b=c
a-b|a -b|a- b|2n|n2|min(a)|max()|f(a)|a//0|2**-n|-2**n|(a)|()|( a )
"""


def shorter(text: str) -> Iterator[str]:
    """Yield a text, and what is left of it without one character, or behind one."""
    yield text
    for at in range(len(text)):
        yield text[:at] + text[at + 1 :]
    for at in range(1, len(text)):
        yield text[:at]


def test_annotations(request: pytest.FixtureRequest) -> None:
    some = dict.fromkeys(one for text in parted(TEXTS) for one in shorter(text))
    expected.check(FOLDER / "texts.txt", {f"'{one}'": read(parse, one) for one in some}, request)


PATTERNS = """\
b (h d) -> b h d|b ... d -> (...) b d|a, b c -> c|() 1 a -> a|a -> b -> c|a|-> a|a ->
a_ -> a_|a (b|a b) -> a|a.. -> a|a? -> a|a+b -> c|2 a -> a|_ a -> a|*a b -> b|... ... -> a
(a ...) -> a|a,,b -> c
"""


def pattern(text: str) -> str:
    try:
        inputs, output = parse_pattern(text)
    except SpecError as error:
        return wrong(error)
    sides = [" ; ".join(map(tree, side.entries)) for side in inputs]
    right = "no output" if output is None else " ; ".join(map(tree, output.entries))
    return f"{' | '.join(sides)} -> {right}"


def test_patterns(request: pytest.FixtureRequest) -> None:
    some = dict.fromkeys(one for text in parted(PATTERNS) for one in shorter(text))
    expected.check(FOLDER / "patterns.txt", {f"'{one}'": pattern(one) for one in some}, request)


OTHERS = """\
shape: (b, c), dtype: float32¦[b, c]¦(b, c)¦b x c x 3¦(b,)¦b * c¦(batch size, n)
batch size¦n¦Input tensor of shape (b, c)¦a mask¦the batch¦An image
batch_size sequence length¦b c d¦(b, 2^n, n / 2)¦Shape: [b c]¦shape=(b, c)
size (b, c): float¦(b, c) float32¦b | c¦B, T, C¦b, c¦3¦...¦a¦tokens¦hidden dim
(b, c) in [0, 1]¦[b, c] dtype¦b\u00d7c¦b X c¦b x¦x c¦(b c)¦(b + 1, c-1)¦[[b, c]]¦shape:
shape: b¦unknown¦any
"""


def test_texts_of_others(request: pytest.FixtureRequest) -> None:
    """A part short of them as well, where that is one of several words."""
    said: dict[str, str] = {}
    for text in parted(OTHERS, "¦"):
        for one in dict.fromkeys(
            (text, *(text.rsplit(" ", k)[0] for k in range(1, 4)), text.upper())
        ):
            prose = "prose, " if is_description(one) else ""
            said[f"'{one}'"] = prose + read(of_text, one)
    rows: list[tuple[object, ...]] = [
        *((), ("b c",), ("b", "c"), ("b", 3), ("b", ...), (3, 4), (True, "b c"), (None, "b", "c")),
        *(
            ("a mask",),
            ("a mask", "b c"),
            ("b", "the"),
            ("the mask", "c"),
            ("b c", "d e"),
            ("b", "c d"),
        ),
        *(("(b",), ("b", "("), (1.5, "b"), (..., "b"), (0, "b"), (-1, "b")),
    ]
    for row in rows:
        said[str(row)] = read(lambda _, row=row: of_annotated(row), "")  # type: ignore[misc]
    expected.check(FOLDER / "others.txt", said, request)


def test_objects(request: pytest.FixtureRequest) -> None:
    """What stands for dimension objects in an annotation."""
    one, two = Dim("one"), Dim("two", size=3)
    said: dict[str, str] = {}
    for dim in (
        one,
        two,
        one + two,
        2 * one,
        one * 2,
        one * two,
        one // 2,
        one - 1,
        1 + one,
        one % 2,
    ):
        spec, objects = of_objects((dim, 3, "b", ...))
        whole = [is_of_objects(entry.expr) for entry in spec.entries if isinstance(entry, Axis)]
        called = ", ".join(f"{name} is {found}" for name, found in objects)
        names = {str(name): f"new_{name}" for name, _ in objects}
        renamed = Spec(in_objects(spec.entries, names))
        found = read(lambda _, spec=spec: spec, "")  # type: ignore[misc]
        said[str(dim)] = f"{found}, objects {whole}, {called}, renamed {renamed}"
    expected.check(FOLDER / "objects.txt", said, request)
