"""The part of Python that stands in signatures, against Python itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecheck.dims import Sym, name, substitute
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Run, Shape, Tensor
from shapecheck.signatures.evaluate import evaluate

n, m = name("n"), name("m")
SCOPE: dict[str, Any] = {"a": 2, "b": 5, "yes": True, "no": False, "none": None, "pair": (3, 4)}
SCOPE["word"] = "same"
SYMBOLIC: dict[str, Any] = {
    **SCOPE,
    "n": n,
    "x": Tensor(Shape((n, m, 3))),
    "some": Tensor(Shape((n, Run(Sym("batch"))))),
    "self": {"width": 7},
    "what": UNKNOWN,
    "rows": (Run(Sym("batch")), n),
}


class Nothing:
    """A table without any op; each module has a field `depth`."""

    def signature(self, name: str) -> None:
        return None

    def field(self, owner: Mapping[str, Any], name: str) -> Any:
        return 9 if name == "depth" else UNKNOWN


def found(text: str, scope: Mapping[str, Any] = SYMBOLIC) -> Any:
    return evaluate(Nothing(), ast.parse(text, mode="eval").body, scope, None)


numbers = st.one_of(st.sampled_from(["a", "b", "pair[0]", "pair[-1]"]), st.integers(0, 4).map(str))


def extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner),
        st.builds("(-{})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("({} if {} == {} else {})".format, inner, inner, inner, inner),
        st.builds("({}, {})[{}]".format, inner, inner, st.sampled_from(["0", "1", "-1"])),
    )


conditions = st.recursive(
    st.sampled_from(
        ["yes", "no", "none", "none is None", "a is not None", "a == 2", "word == 'x'"]
    ),
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner), st.builds("({} or {})".format, inner, inner)
    ),
    max_leaves=4,
)


@given(st.recursive(numbers, extended, max_leaves=6), conditions)
def test_of_what_is_known_it_is_what_python_says(number: str, condition: str) -> None:
    for text in (number, condition, f"{number} if {condition} else len(pair)"):
        try:
            expected = eval(text, {}, dict(SCOPE))
        except ZeroDivisionError:
            expected = UNKNOWN
        value = found(text, SCOPE)
        assert value == expected
        assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n + 1", n + 1),
        ("2 * n // 2", n),
        ("-n", -n),
        ("x.shape[0]", n),
        ("x.shape[-1]", 3),
        ("len(x.shape)", 3),
        ("some.shape[0]", n),
        ("int(n)", n),
        ("self.width + 1", 8),
        ("self.depth", 9),
        ("rows[1]", n),
        ("not yes", False),
        ("'a' if n is not None else 'b'", "a"),
        ("no or n", n),
        ("yes and n", n),
        ("no and what", False),
        ("yes or what", True),
    ],
)
def test_of_sizes(text: str, value: object) -> None:
    assert found(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "gone",
        "what + 1",
        "word + 1",
        "a / 2",
        "a << 1",
        "n // 0",
        "~a",
        "not n",
        "n == 3",
        "3 == n",
        "what is None",
        "a < b",
        "1 if n else 2",
        "1 if what else 2",
        "1 if x else 2",
        "what and yes",
        "x.shape[5]",
        "x.dtype",
        "some.shape[1]",
        "some.shape[-1]",
        "len(some.shape)",
        "len(a)",
        "rows[0]",
        "rows[2]",
        "pair['a']",
        "self.height",
        "a.real",
        "torch.zeros(3)",
        "[a for a in pair]",
    ],
)
def test_what_is_not_known(text: str) -> None:
    assert found(text) is UNKNOWN


def test_the_smaller_of_sizes() -> None:
    """One of them that isn't known leaves open which it is."""
    size = found("min(n, 3)")
    assert [substitute(size, {Sym("n"): value}) for value in (2, 5)] == [2, 3]
    assert found("max(a, 3)") == 3
