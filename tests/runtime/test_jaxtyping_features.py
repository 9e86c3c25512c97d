"""Runs the tables of docs/jaxtyping.md: both accept, both refuse, and where they differ."""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import jaxtyping
import pytest
import torch
from beartype import beartype
from jaxtyping import Float, Float32, Int, Shaped, jaxtyped
from repository import ROOT
from torch import Tensor

import shapecheck as shapecheck_types
from shapecheck import ShapeError, assert_shape, shapecheck

PAGE = (ROOT / "docs" / "jaxtyping.md").read_text("utf-8")
Checker = Callable[[Any], Any]


def theirs(function: Any) -> Any:
    return jaxtyped(typechecker=beartype)(function)


def table(section: str) -> Iterator[list[str]]:
    """Yield the cells of a section's table."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    for line in text.splitlines()[1:]:
        if line.startswith("| ") and not line.startswith(("| feature", "| |", "| in jaxtyping")):
            yield [cell.strip(" `") for cell in re.split(r" ?\|(?= |$)", line)[1:-1]]


def refuses(call: Callable[[], Any]) -> str | None:
    """Return what is said of a call, None if it goes through."""
    try:
        call()
    except (jaxtyping.TypeCheckError, ShapeError) as error:
        return str(error)
    return None


# Annotations --------------------------------------------------------------------------------------


def parts(text: str) -> tuple[list[str], str | None]:
    """Cut `"n d, d -> n"` into the parts of arguments and the result."""
    arguments, arrow, result = text.partition(" -> ")
    return [part.strip() for part in arguments.split(",")], result.strip() if arrow else None


def run(checker: Checker, annotations: str, shapes: str, plain: bool = True) -> str | None:
    """Call a function with these annotations on tensors of these shapes.

    `plain`: with jaxtyping's own types, by both.
    """
    names, result = parts(annotations)
    sizes, given = parts(shapes)
    outcome = None if given is None else torch.zeros([int(n) for n in given.split()])

    def one(a: Any) -> Any:
        return outcome

    def two(a: Any, b: Any) -> Any:
        return outcome

    function: Any = {1: one, 2: two}[len(names)]
    kind = Float if checker is theirs or plain else shapecheck_types.Float
    function.__annotations__ = {
        name: kind[Tensor, text] for name, text in zip("ab", names, strict=False)
    }
    if result is not None:
        function.__annotations__["return"] = kind[Tensor, result]
    tensors = [torch.zeros([int(n) for n in size.split()]) for size in sizes]
    return refuses(lambda: checker(function)(*tensors))


@pytest.mark.parametrize("checker", [theirs, shapecheck])
@pytest.mark.parametrize(("feature", "annotations", "fits", "wrong"), table("Annotations"))
def test_annotations(
    checker: Checker, feature: str, annotations: str, fits: str, wrong: str
) -> None:
    assert run(checker, annotations, fits) is None
    if wrong or feature == "any number of axes":
        assert run(checker, annotations, wrong) is not None


def test_every_feature_of_the_table_is_told_apart() -> None:
    features = [cells[0] for cells in table("Annotations")]
    assert len(features) == len(set(features)) >= 17


# Everything else ----------------------------------------------------------------------------------


def test_dtypes() -> None:
    names = (
        "BFloat16 Bool Complex Complex128 Complex64 Float Float16 Float32 Float64 Inexact Int "
        "Int16 Int32 Int64 Int8 Integer Num Real Shaped UInt UInt8"
    ).split()
    kinds = [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.bfloat16]
    kinds += [torch.float32, torch.float64, torch.complex64, torch.complex128]
    for name in names:
        for kind in kinds:

            def function(x: Any) -> None: ...

            function.__annotations__ = {"x": getattr(jaxtyping, name)[Tensor, ""]}
            x = torch.zeros((), dtype=kind)
            said = [refuses(lambda: checker(function)(x)) for checker in (theirs, shapecheck)]  # noqa: B023
            assert (said[0] is None) == (said[1] is None), (name, kind)


@pytest.mark.parametrize("checker", [theirs, shapecheck])
def test_the_other_forms(checker: Checker) -> None:
    Image = Float[Tensor, "c h w"]

    @checker
    def first(images: Float32[Image, "b"]) -> Image:
        return images[0]

    assert refuses(lambda: first(torch.zeros(2, 3, 4, 5))) is None
    assert refuses(lambda: first(torch.zeros(3, 4, 5))) is not None

    @checker
    def full(size: int, wrong: bool) -> Float[Tensor, "{size}"]:
        return torch.zeros(size + wrong)

    assert refuses(lambda: full(3, False)) is None
    assert refuses(lambda: full(3, True)) is not None

    class Some:
        value = 5

        @checker
        def full(self, wrong: bool) -> Float[Tensor, "{self.value}+3"]:
            return torch.zeros(self.value + 3 + wrong)

    assert refuses(lambda: Some().full(False)) is None
    assert refuses(lambda: Some().full(True)) is not None

    @checker
    def forms(
        a: Optional[Float[Tensor, "n"]],  # noqa: UP045 - as it is written there
        b: Union[Float[Tensor, "n"], Int[Tensor, "n m"]],  # noqa: UP007
        c: tuple[Float[Tensor, "n"], int],
    ) -> None: ...

    n, m = torch.zeros(3), torch.zeros(3, 2, dtype=torch.int64)
    assert refuses(lambda: forms(n, n, (n, 1))) is None
    assert refuses(lambda: forms(None, m, (n, 1))) is None
    assert refuses(lambda: forms(n, torch.zeros(4), (n, 1))) is not None
    assert refuses(lambda: forms(n, n, (torch.zeros(4), 1))) is not None

    @checker
    def inside(x: Tensor) -> bool:
        return isinstance(x, Float[Tensor, "a b"]) and not isinstance(x, Float[Tensor, "a"])

    assert inside(torch.zeros(2, 3))


@pytest.mark.parametrize("checker", [theirs, shapecheck])
def test_a_dtype_of_ones_own(checker: Checker) -> None:
    class Byte(jaxtyping.AbstractDtype):
        dtypes = ["uint8", "int8"]  # noqa: RUF012 - as it is written there

    @checker
    def read(x: Byte[Tensor, "n"]) -> None: ...

    assert refuses(lambda: read(torch.zeros(3, dtype=torch.uint8))) is None
    assert refuses(lambda: read(torch.zeros(3))) is not None


def test_a_block_of_ones_own() -> None:
    x, y = torch.zeros(3), torch.zeros(4)
    with jaxtyped("context"):  # type: ignore[attr-defined]
        assert isinstance(x, Float[Tensor, "n"])
        assert not isinstance(y, Float[Tensor, "n"])

    @shapecheck
    def block(z: Shaped[Tensor, "..."]) -> None:
        assert_shape(x, "n")
        assert_shape(y, "n")

    with pytest.raises(ShapeError, match=r'"y" is \(4\), declared "n": axis 0 is 4, declared n'):
        block(x)


# Where they differ --------------------------------------------------------------------------------


def test_under_compile(difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        torch._dynamo.reset()

        @checker
        def double(x: Float[Tensor, "b d"], y: Float[Tensor, "b"]) -> Float[Tensor, "b d"]:
            return x * y[:, None]

        compiled = torch.compile(double, backend="eager")
        try:
            for size in (2, 3, 5):
                compiled(torch.zeros(size, 4), torch.zeros(size))
        except Exception:  # noqa: BLE001 - jaxtyping's depends on how dynamo fails
            return "rejected"
        return "accepted"

    difference("correct input of another size under `torch.compile`", outcome)


@pytest.fixture
def difference() -> Callable[..., None]:
    """Compare what both do with the line of the table."""

    def compare(line: str, outcome: Callable[[Checker], str]) -> None:
        (cells,) = [
            cells for cells in table("Where they differ") if cells[0].strip("`") == line.strip("`")
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [outcome(theirs), outcome(shapecheck)] == cells[1:]

    return compare


A = Float[Tensor, "n"]
ITEMS: list[tuple[str, Any, Any]] = [
    ("sizes of the items of a `list` against each other", list[A], [3, 4]),
    ("sizes of the values of a `dict` against each other", dict[str, A], {"a": 3, "b": 4}),
    ("sizes of the items of a `tuple[..., ...]` against each other", tuple[A, ...], (3, 4)),
]


@pytest.mark.parametrize(("line", "annotation", "sizes"), ITEMS)
def test_items(line: str, annotation: Any, sizes: Any, difference: Any) -> None:
    def made(size: Any) -> Any:
        return (
            {k: torch.zeros(n) for k, n in size.items()}
            if isinstance(size, dict)
            else type(size)(torch.zeros(n) for n in size)
        )

    def outcome(checker: Checker) -> str:
        def function(x: Any) -> None: ...

        function.__annotations__ = {"x": annotation}
        # beartype looks at one item of a list, chosen at random
        said = [refuses(lambda: checker(function)(made(sizes))) for _ in range(8)]
        return "not compared" if None in said else "compared"

    difference(line, outcome)


EQUATIONS = [
    ("`2*n` in an argument before the one with `n`", "2*n, n", "6, 3", "6, 2", "solved"),
    ("`n-1` in the only argument", "n-1", "2", " ", "solved"),
    ("two groups, `*a *b`, in one annotation", "*a *b, *a", "2 3 4, 2 3", "2 3 4, 3", "resolved"),
    ("`(h d)`, merged in this order", "(h d), h d", "6, 2 3", "6, 2 4", "checked"),
]


@pytest.mark.parametrize(("line", "annotations", "fits", "wrong", "word"), EQUATIONS)
def test_equations(
    line: str, annotations: str, fits: str, wrong: str, word: str, difference: Any
) -> None:
    def outcome(checker: Checker) -> str:
        try:
            accepted = run(checker, annotations, fits, False) is None
            refused = run(checker, annotations, wrong, False) is not None
        except Exception:  # noqa: BLE001 - a NameError, a SyntaxError, a ValueError
            return "an error of its own"
        return word if accepted and refused else "an error of its own"

    difference(line, outcome)


def test_equal_sizes(difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        @checker
        def scores(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
            return q @ k

        return (
            "found"
            if refuses(lambda: scores(torch.zeros(3, 3), torch.zeros(3, 3)))
            else ("not found")
        )

    difference("two dimensions of equal size, mixed up in the body", outcome)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("the message names the axis that is wrong", r"axis 1 is 5, declared d \(here 4\)"),
        ("the message names the argument that bound its size", 'd is 4 from argument "x"'),
    ],
)
def test_messages(line: str, words: str, difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        @checker
        def add(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> None: ...

        said = refuses(lambda: add(torch.zeros(3, 4), torch.zeros(3, 5)))
        assert said is not None
        return "yes" if re.search(words, said) else "no"

    difference(line, outcome)


def test_fields(difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        @checker
        @dataclass
        class Batch:
            x: Float[Tensor, "b d"]

        batch = Batch(torch.zeros(2, 3))

        def assign() -> None:
            batch.x = torch.zeros(3)

        return "checked" if refuses(assign) else "not checked"

    difference("an assignment to a field of a checked dataclass", outcome)


def test_generators(difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        @checker
        def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
            yield x[:, 0]

        return "checked" if refuses(lambda: list(rows(torch.zeros(2, 3)))) else "not checked"

    difference("what a generator yields", outcome)


def test_variables(difference: Any) -> None:
    def outcome(checker: Checker) -> str:
        ours = checker is shapecheck

        @(shapecheck(variables=True) if ours else checker)
        def rows(x: Float[Tensor, "n d"]) -> Tensor:
            y: Float[Tensor, "d n"] = x
            return y

        found = refuses(lambda: rows(torch.zeros(2, 3)))
        return "checked on request" if found else "not checked"

    difference("annotated local variables", outcome)


def test_every_difference_is_tested() -> None:
    """By its line; the lines of the table stand in this file."""
    text = Path(__file__).read_text("utf-8")
    for cells in table("Where they differ"):
        assert f'"{cells[0]}' in text or f'"`{cells[0]}' in text
