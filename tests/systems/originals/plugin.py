"""The pytest plugin that runs one system's tests through its adapter, and writes what came of each.

pytest -p systems.originals.plugin --original torchdim --checkout FOLDER --outcomes FILE TESTS
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import TestCase, TestLoader

import hypothesis
import pytest
from systems.originals.suites import Suite

EXPECTED, UNEXPECTED = "fail as expected", "pass where they are expected to fail"
_suite: list[Suite] = []
_outcomes: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    for option in ("--original", "--checkout", "--outcomes"):
        parser.addoption(option)


def pytest_configure(config: pytest.Config) -> None:
    suite = suite_of(config.getoption("--original"))
    suite.install(Path(config.getoption("--checkout")))
    _suite.append(suite)
    hypothesis.settings.register_profile(
        "originals",
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("originals")


def suite_of(system: str) -> Suite:
    """Return the suite of a system, which the module of its name has."""
    suite: Suite = importlib.import_module(f"systems.originals.{system}").SUITE
    return suite


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> None:
    """Put in the place of the tests of a class what the adapter makes of them."""
    if isinstance(obj, type) and issubclass(obj, TestCase):
        for test in TestLoader().getTestCaseNames(obj):
            function = inspect.unwrap(getattr(obj, test))
            if not getattr(getattr(obj, test), "__unittest_skip__", False):
                file = collector.path.stem
                setattr(obj, test, _through_adapter(function, f"{file}.{name}.{test}"))


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Put in the place of each test that is a function what the adapter makes of it."""
    for item in items:
        if isinstance(item, pytest.Function) and item.cls is None:
            name = f"{item.path.stem}.{item.name}"
            drawn = getattr(item.obj, "hypothesis", None)
            if drawn is None:
                item.obj = _through_adapter(item.obj, name)
            else:
                drawn.inner_test = _through_adapter(drawn.inner_test, name)


def _through_adapter(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    [suite] = _suite
    left = suite.left.get(name)
    return suite.decorate(_without(function, None if left is None else left.line))


def _without(function: Callable[..., Any], line: str | None) -> Callable[..., Any]:
    """Return a function without the statements of its body in which a line stands."""
    if line is None:
        return function
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    [defined] = tree.body
    assert isinstance(defined, ast.FunctionDef)
    kept = [one for one in defined.body if line not in ast.unparse(one)]
    assert len(kept) == len(defined.body) - 1, line
    defined.body = kept
    ast.increment_lineno(tree, first - 1)
    names: dict[str, Any] = {}
    exec(compile(tree, inspect.getfile(function), "exec"), function.__globals__, names)
    found: Callable[..., Any] = names[function.__name__]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    [suite] = _suite
    with suite.around():
        return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file, *inner = report.nodeid.split("::")
    name = ".".join((Path(file).stem, *inner))
    outcome = report.outcome
    if hasattr(report, "wasxfail"):  # the system itself expects it to fail
        outcome = EXPECTED if outcome == "skipped" else UNEXPECTED
    if outcome != "passed" or _outcomes.get(name, "passed") == "passed":
        _outcomes[name] = outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    Path(session.config.getoption("--outcomes")).write_text(json.dumps(_outcomes), "utf-8")
