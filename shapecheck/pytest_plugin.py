"""`pytest --shapecheck=PACKAGE`: a package is checked while its tests run.

pytest loads this module in every run where shapecheck is installed. So it imports nothing of the
run time, and torch with it, unless it is asked to.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--shapecheck`."""
    parser.getgroup("shapecheck").addoption(
        "--shapecheck",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="check the shapes in this package while its tests run, as if @shapecheck were on all "
        "of its functions and classes; may be given several times, and '.' means all packages in "
        "the root folder and its src",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the import hook before the first conftest.py imports the package."""
    asked: list[str] = early_config.known_args_namespace.shapecheck
    if not asked:
        return
    packages = [name for given in asked for name in _packages(given, early_config.rootpath)]
    from shapecheck.runtime.hook import install_import_hook

    try:
        hook = install_import_hook(*packages)
    except ValueError as error:
        raise pytest.UsageError(f"--shapecheck: {error}") from None
    early_config.add_cleanup(hook.uninstall)


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
