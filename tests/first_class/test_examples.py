"""The examples of torchdim's README: clean and right as they are, found out where edited."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
from pathlib import Path
from typing import Any

import pytest
import torch
from first_class.cases import CASES, HEAD, Case, table
from repository import ROOT

from shapecheck import ShapeError, dims_of
from shapecheck.analysis import Options, Source, analyze_module

_numbers = itertools.count()


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def said(text: str) -> list[str]:
    """Return what the static side says of a module."""
    found = analyze_module(Source("case", "case.py", text), NoSources(), Options())
    return [one.message for one in found if one.severity == "error"]


def function(text: str, folder: Path) -> Any:
    """Return the last function of a module's text."""
    name = f"first_class_case_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    defined = [one for one in vars(module).values() if getattr(one, "__module__", "") == name]
    return defined[-1]


EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@EACH
def test_it_is_clean(case: Case) -> None:
    """The static side says nothing of the example as it is."""
    assert said(HEAD + case.source) == []


@EACH
def test_it_is_right_and_has_names(case: Case, tmp_path: Path) -> None:
    """At run time it gives what torch gives, under the names that its annotation says."""
    args = case.args()
    result = function(HEAD + case.source, tmp_path)(*args)
    torch.testing.assert_close(result, case.expected(*args), check_dtype=False)
    assert dims_of(result) == case.names


@EACH
def test_its_wrong_variant_is_found_before_it_runs(case: Case) -> None:
    """The static side finds the edit."""
    assert case.source.count(case.right) == 1
    assert said(HEAD + case.source.replace(case.right, case.wrong)) == [case.static]


@EACH
def test_its_wrong_variant_is_found_when_it_runs(case: Case, tmp_path: Path) -> None:
    """The run time finds the edit, or torch does."""
    wrong = function(HEAD + case.source.replace(case.right, case.wrong), tmp_path)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its text is compared whole
        wrong(*case.args())
    error = raised.value
    text = str(error).partition("  [shape")[0]
    told = text if isinstance(error, ShapeError) else f"{type(error).__name__}: {text}"
    assert told == case.runtime


def test_the_page_shows_all() -> None:
    """The table in the documentation is that of the cases."""
    page = ROOT / "docs" / "first_class_dims.md"
    assert table() in page.read_text("utf-8")
