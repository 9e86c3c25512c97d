"""The changes of our own source that tests should notice are of what runs."""

from __future__ import annotations

import ast
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from survivors.__main__ import drawn, told  # type: ignore[import-not-found]
from survivors.changes import changes  # type: ignore[import-not-found]
from survivors.packages import PACKAGES  # type: ignore[import-not-found]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("if a < b: f()", ["if a <= b: f()", "if True: f()", "if False: f()", "if a < b: pass"]),
        ("x.y = 1", ["x.y = 2", "pass"]),
        ("x = not a", ["x = (a)"]),
        ("x = a and b", ["x = a or b"]),
        ("x = a + b - 1", ["x = a - b - 1", "x = a + b + 1", "x = a + b - 2"]),
        (
            "x = a if b else c",
            ["x = a if True else c", "x = a if False else c", "x = c if b else a"],
        ),
        ("x = f(a, b=c)", ["x = f(a)"]),
        ("raise E('no such thing')", ["raise E('XXno such thing')", "pass"]),
        ("x: 'int | None' = y", []),
        ("assert a < b", []),
        ("for a in zip(b, strict=True): f()", ["for a in zip(b, strict=True): pass"]),
        ("import a", []),
        ("'a text that says something'", []),
    ],
)
def test_changes(line: str, changed: list[str]) -> None:
    """Each operator, number, condition and statement is changed, and nothing that doesn't run."""
    assert sorted(edit.apply(line) for edit in changes(line)) == sorted(changed)


@pytest.mark.parametrize("name", ["spec", "engine"])
def test_the_changes_of_a_package(name: str) -> None:
    """They are the same each time, differ from each other and from the source, and parse."""
    package = PACKAGES[name]
    found = drawn(package, ROOT, 6, 1)
    assert found == drawn(package, ROOT, 6, 1)
    assert len(set(found)) == 6
    lines = [f"  {at} survives: {one}" for at, one in enumerate(found)]
    assert {*found} <= {*told(package, ROOT, lines)}
    for one in found:
        text = one.edit.apply(one.text)
        assert text != one.text
        ast.parse(text)


def test_what_is_named_exists() -> None:
    for package in PACKAGES.values():
        for path in (*package.sources, *package.tests, *package.left_out):
            assert (ROOT / path.split("::")[0]).exists()
