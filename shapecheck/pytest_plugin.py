"""`pytest --shapecheck=PACKAGE`: a package is checked while its tests run.

pytest loads this module in every run where shapecheck is installed. So it imports nothing of the
run time, and torch with it, unless it is asked to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--shapecheck` and `--shapecheck-record`."""
    group = parser.getgroup("shapecheck")
    group.addoption(
        "--shapecheck-record",
        metavar="FILE",
        help="record the shapes that functions are called with, for `shapecheck annotate`: of the "
        "packages that --shapecheck names, which are then not checked, or of all below the root",
    )
    group.addoption(
        "--shapecheck",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="check the shapes in this package while its tests run, as if @shapecheck were on all "
        "of its functions and classes; may be given several times, and '.' means all packages in "
        "the root folder and its src",
    )

    group.addoption(
        "--shapecheck-variables",
        action="store_true",
        help="with --shapecheck: check annotated local variables too",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the import hook before the first conftest.py imports the package."""
    asked: list[str] = early_config.known_args_namespace.shapecheck
    record: str | None = early_config.known_args_namespace.shapecheck_record
    if record:
        _record(early_config, record, asked)
        return
    if not asked:
        return
    packages = [name for given in asked for name in _packages(given, early_config.rootpath)]
    from shapecheck.runtime.hook import install_import_hook

    try:
        variables: bool = early_config.known_args_namespace.shapecheck_variables
        hook = install_import_hook(*packages, variables=variables)
    except ValueError as error:
        raise pytest.UsageError(f"--shapecheck: {error}") from None
    early_config.add_cleanup(hook.uninstall)


def _record(config: pytest.Config, file: str, asked: list[str]) -> None:
    """Install the hook that records. Raises `pytest.UsageError`."""
    from shapecheck.record import hook
    from shapecheck.record.store import RecordProblem, create

    path = Path(file).absolute()
    try:
        create(path)
    except RecordProblem as error:
        raise pytest.UsageError(f"--shapecheck-record: {error}") from None
    packages = tuple(name for given in asked for name in _packages(given, config.rootpath))
    installed = hook.start(path, config.rootpath, packages)
    config.add_cleanup(installed.uninstall)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was recorded, or which shape errors there were."""
    file: str | None = config.getoption("--shapecheck-record")
    if file:
        from shapecheck.record import hook
        from shapecheck.record.store import RecordProblem, load

        hook.flush()
        try:
            found = load(Path(file).absolute())
        except RecordProblem as error:
            terminalreporter.write_line(f"shapecheck: {error}", red=True)
            return
        calls = sum(one.calls for one in found.values())
        told = f"{calls:,} calls of {len(found):,} functions in {file}"
        terminalreporter.write_line(f"shapecheck: {told}")
    elif config.getoption("--shapecheck"):
        failed = terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", [])
        errors = sum("ShapeError: " in str(report.longrepr) for report in failed)
        ending = "no shape error" if not errors else f"{errors} failed with a shape error"
        terminalreporter.write_line(f"shapecheck: {ending}", red=bool(errors))


def _packages(given: str, root: Path) -> list[str]:
    """Return the names that an argument stands for. Raises `pytest.UsageError`."""
    if given != ".":
        return given.split(",")
    files = (*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py"))
    found = sorted({path.parent.name for path in files})
    names = [name for name in found if name not in ("test", "tests", "docs")]
    if not names:
        raise pytest.UsageError(f"--shapecheck=.: there is no package in {root} or in its src")
    return names


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is checked."""
    asked: list[str] = config.getoption("--shapecheck")
    if not asked:
        return None
    names = [name for given in asked for name in _packages(given, config.rootpath)]
    return f"shapecheck: checks the shapes in {', '.join(names)}"
