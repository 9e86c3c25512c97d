"""The code that checks calls, whole, of each form of function: what a call costs is in it.

`pytest --update` writes `codegen.txt` anew. That the code accepts what it should is tested in
`boundary`.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from shapecheck import Bool, Dim, Float, Float32, Shaped, shapecheck
from shapecheck.runtime.decorate import codegen, decorator

WRITTEN = Path(__file__).with_name("codegen.txt")
one, other = Dim("n"), Dim("n")


def plain(x: Float[Tensor, "b n"], y: Float[Tensor, "n"], scale: float = 1.0) -> None: ...
def all_kinds(
    x: Float[Tensor, "b"],
    /,
    y: Float[Tensor, "b"] | None = None,
    *more: int,
    z: Any = 3,
    **rest: str,
) -> None: ...
def keywords(*, x: Float[Tensor, "b"], y: int = 2) -> Float[Tensor, "b"]: ...
def positional(x: Float[Tensor, "b"], y: int, /) -> int: ...
def marked(_x: Float[Tensor, "b"], __y: Float[Tensor, "b"]) -> Float[Tensor, "b"]: ...
def groups(
    x: Float[Tensor, "*s d"], y: Float[Tensor, "*s"], z: Float[Tensor, "... d"]
) -> Float[Tensor, "*s"]: ...
def filled(x: Float[Tensor, "*s ..."], y: Float[Tensor, ""]) -> Float[Tensor, "..."]: ...
def numbers(x: Float32[Tensor, "3 #b _ #4 b"], y: Shaped[Tensor, "#b"]) -> None: ...
def formulas(
    x: Float[Tensor, "h w"], y: Float[Tensor, "2*h-w #h//2 -(-h//2)"]
) -> Float[Tensor, "min(h,w) max(h,2) h**2%w"]: ...
def merged(x: Float[Tensor, "*s h d"]) -> Float[Tensor, "(h d) (*s d) (*s)"]: ...
def braced(x: Float[Tensor, "b"], n: int) -> Float[Tensor, "b {n} {n}+1"]: ...
def maybe(
    x: Float[Tensor, "b n"] | None, y: Float[Tensor, "b"], z: Bool[Tensor, "m"] | None = None
) -> Float[Tensor, "b m"] | None: ...
def maybe_first(x: Float[Tensor, "b n"] | None, y: Float[Tensor, "*s"] | None) -> None: ...
def several(x: Float[Tensor, "b"]) -> tuple[Float[Tensor, "b"], int, Float[Tensor, "k"]]: ...
def pair(x: Float[Tensor, "b"]) -> tuple[Float[Tensor, "b"], Float[Tensor, "b"]]: ...
def three(
    x: Float[Tensor, "b"],
) -> tuple[Float[Tensor, "b k"], Float[Tensor, "k"], Float[Tensor, "2*k"] | None]: ...
def in_three(
    x: Float[Tensor, "b"],
) -> tuple[tuple[Float[Tensor, "b"], Float[Tensor, "k"]], Float[Tensor, "k"]]: ...
def wild(x: Float[Tensor, "b"]) -> Float[Tensor, "b (b _)"]: ...
def nested(
    x: list[Float[Tensor, "b"]], y: tuple[Float[Tensor, "b"], int]
) -> dict[str, Float[Tensor, "b"]]: ...
def unsolved(
    x: Float[Tensor, "2*n"], y: Float[Tensor, "*s 2*m"] | None
) -> Float[Tensor, "n m"]: ...
def leaves(x: Float[Tensor, "?n ?n"], y: Float[Tensor, "*#s d"]) -> Float[Tensor, "*#s d"]: ...
def unusual_later(
    x: Float[Tensor, "*s d"], y: Float[Tensor, "?n ?n"], z: Float[Tensor, "2*k k"]
) -> Float[Tensor, "*s d k"]: ...
def unusual_result(x: Float[Tensor, "*s d"], n: int) -> Float[Tensor, "*r {n} 2*k *s"]: ...
def maybe_other(x: Float[Tensor, "b"]) -> Float[Tensor, "b k"] | None: ...
def maybe_group(x: Float[Tensor, "b"]) -> Float[Tensor, "b *s"] | None: ...
def none_at_all(x: Float[Tensor, ""], y: Float[Tensor, "..."], z: Float[Tensor, "_ 1"]) -> None: ...
def other_values(x: int | str, y: Sequence[int], z: Callable[[], int]) -> str: ...
def objects(x: Float[Tensor, one, other], y: Float[Tensor, one]) -> Float[Tensor, other]: ...
def each(x: Float[Tensor, "b"]) -> Iterator[Float[Tensor, "b"]]:
    yield x


def each_plain(x: Float[Tensor, "b"]) -> Any:
    yield x


async def soon(x: Float[Tensor, "b"]) -> Float[Tensor, "b"]:
    return x


async def each_soon(x: Float[Tensor, "b"]) -> AsyncIterator[Float[Tensor, "b"]]:
    yield x


@functools.wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> None: ...


FUNCTIONS = [
    *(plain, all_kinds, keywords, positional, marked, groups, filled, numbers, formulas),
    *(
        merged,
        braced,
        maybe,
        maybe_first,
        several,
        pair,
        three,
        in_three,
        wild,
        nested,
        unsolved,
        leaves,
        other_values,
        objects,
    ),
    *(unusual_later, unusual_result, maybe_other, maybe_group, none_at_all),
    *(each, each_plain, soon, each_soon, wrapped),
]


def code_of(function: Callable[..., Any], mode: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the code that checks a function."""
    monkeypatch.setenv("SHAPECHECK", mode)
    written: list[str] = []
    compiling = "    if _compiling():"
    made = codegen._made

    def note(plan: Any, lines: Sequence[str], name: str, space: dict[str, Any]) -> Any:
        written[:] = lines
        return made(plan, lines, name, space)

    with monkeypatch.context() as patch:
        patch.setattr(codegen, "_made", note)
        patch.setattr(codegen, "HAS_COMPTIME", True)  # as in torches that have all there is
        patch.setattr(codegen, "IMPORT_COMPTIME", "import comptime as {name}")
        patch.setattr(codegen, "FX_TRACING", "{fx}.is_tracing")
        vars(shapecheck(function))[decorator.MARK].compile()
    if function is not plain and compiling in written:  # the same in each of them
        begin = written.index(compiling)
        behind = (
            at for at, line in enumerate(written) if line.startswith("    if ") and at > begin
        )
        del written[begin + 1 : next(behind)]
    text = "\n".join(written)
    for number, dim in enumerate((one, other), 1):
        text = text.replace(f"v_n{dim.bases[0].dim.symbol.serial}", f"v_n_{number}")  # type: ignore[union-attr]
    return text


def test_the_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names carried through the ops, and without."""
    texts = [
        f"# {function.__name__}, {mode}\n{code_of(function, mode, monkeypatch)}\n"
        for function in FUNCTIONS
        for mode in ("boundary", "full")
    ]
    if request.config.getoption("--update"):
        WRITTEN.write_text("\n".join(texts), "utf-8")
    assert WRITTEN.read_text("utf-8").split("\n# ") == "\n".join(texts).split("\n# ")


def test_calls_that_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many at most; then all are forgotten."""
    monkeypatch.setattr(codegen, "_REMEMBERED", 2)
    known = codegen.Remembered()
    for key in "ab":
        known.put(key, key.upper())
    assert (known.get("a"), known.get("b")) == ("A", "B")
    known.put("c", "C")
    assert [known.get(key) for key in "abc"] == [None, None, "C"]


def test_code_that_takes_the_place_of_a_function() -> None:
    """It is called as the function is."""
    made = vars(shapecheck(plain))[decorator.MARK].compile()
    assert made.__code__.co_name == "plain"
