"""docs/settings.md tells all that can be set."""

from __future__ import annotations

import importlib.util
import inspect
import re

from repository import ROOT

import shapecheck
from shapecheck import pytest_plugin

spec = importlib.util.spec_from_file_location("page", ROOT / "benchmarks" / "settings_page.py")
assert spec is not None
assert spec.loader is not None
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)

TEXT = (ROOT / "docs" / "settings.md").read_text("utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    """`make settings` writes them anew."""
    assert page.written(TEXT) == TEXT


def test_each_command_has_a_table() -> None:
    """Each is a section of its name."""
    for name in page.commands():
        assert f"### {name}\n\n<!-- table: {name} -->" in TEXT, name


def test_each_variable_of_the_environment_is_told() -> None:
    """Whatever of that form the package or its build reads."""
    sources = [*(ROOT / "shapecheck").rglob("*.py"), ROOT / "hatch_build.py"]
    text = "".join(path.read_text("utf-8") for path in sources)
    read = set(re.findall(r"[\"'](SHAPECHECK(?:_[A-Z]+)*)[\"']", text))
    assert read > {"SHAPECHECK", "SHAPECHECK_DEBUG", "SHAPECHECK_SHARED", "SHAPECHECK_COMPILE"}
    assert not [name for name in read if f"`{name}`" not in TEXT]


def test_each_option_of_pytest_is_told() -> None:
    """Those that the plugin adds."""
    options = re.findall(r'"(--[\w-]+)"', inspect.getsource(pytest_plugin.pytest_addoption))
    assert len(options) == 3
    assert not [option for option in options if f"`{option}" not in TEXT]


def test_each_argument_of_the_decorator_and_the_hook_is_told() -> None:
    """By its name."""
    for function in (shapecheck.shapecheck, shapecheck.install_import_hook):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                assert f"{name}=" in TEXT, name
