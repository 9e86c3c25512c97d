"""`pytest --shapecheck=PACKAGE`: a package is checked while its tests run.

pytest loads this module in every run where shapecheck is installed. So it imports nothing of the
run time, and torch with it, unless it is asked to.
"""

from __future__ import annotations

import difflib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from shapecheck.extras import is_installed, needs

if TYPE_CHECKING:
    from shapecheck.record.hook import RecordingHook
    from shapecheck.runtime.decorate.hook import ImportHook

_OUTPUT: Final = "shapecheck"
_HOOK: Final = pytest.StashKey["ImportHook | RecordingHook"]()
_FOUND: Final = pytest.StashKey[dict[str, list[str]]]()
"""What was checked or recorded of each package, by its name."""
_Reason = tuple[str, bool]
"""Why the hook found nothing of a package, and whether that is because there is no such package."""

_REASONS: Final = pytest.StashKey[dict[str, _Reason]]()
"""Why nothing was of a package."""


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
        nargs="?",
        const=".",
        default=[],
        metavar="PACKAGE",
        help="check the shapes in this package while its tests run, in all of its functions and "
        "classes, and nothing else of their annotations; may be given several times, and without a "
        "name it means all packages in the root folder and its src",
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
    if not is_installed("torch"):
        raise pytest.UsageError(needs("--shapecheck", "torch"))
    from shapecheck.runtime.decorate.hook import install_import_hook

    try:
        variables: bool = early_config.known_args_namespace.shapecheck_variables
        hook = install_import_hook(*packages, variables=variables)
    except ValueError as error:
        said = str(error).removeprefix("install_import_hook: ")
        raise pytest.UsageError(f"--shapecheck: {said}") from None
    early_config.add_cleanup(hook.uninstall)
    early_config.stash[_HOOK] = hook


def _refuse_path(name: str) -> None:
    """Raise `pytest.UsageError` for a path where a module's name should stand."""
    path = Path(name)
    if "/" in name or (path.suffix == ".py" and path.exists()):
        parts = path.with_suffix("").parts if path.suffix == ".py" else path.parts
        said = f'"{name}" is no name of a module; did you mean "{".".join(parts)}"?'
        if path.exists():
            said += f" To check all packages in the tests there: --shapecheck=. {name}"
        raise pytest.UsageError(f"--shapecheck: {said}")


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
    root, here = config.rootpath, config.invocation_params.dir
    # Tests that lie elsewhere bring a root of their own; the project is where pytest was started.
    installed = hook.start(path, root if here.is_relative_to(root) else here, packages)
    config.add_cleanup(installed.uninstall)
    config.stash[_HOOK] = installed


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was recorded, or which shape errors there were."""
    if _HOOK not in config.stash:
        return
    file: str | None = config.getoption("--shapecheck-record")
    done, line, is_bad = "recorded" if file else "checked", "", False
    found = config.stash.get(_FOUND, {})
    if file:
        line, is_bad = _recorded(Path(file))
    elif _is_off():
        line, is_bad = "nothing is checked: SHAPECHECK is off", True
    else:
        reports = terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", [])
        errors = sum("ShapeError: " in str(report.longrepr) for report in reports)
        if errors:
            line, is_bad = f"{errors} failed with a shape error", True
        elif found:
            count = len(set().union(*found.values()))
            modules = "1 module" if count == 1 else f"{count} modules"
            line = f"no shape error in {modules} of {', '.join(sorted(found))}"
    if line:
        terminalreporter.write_line(f"shapecheck: {line}{_on_rank()}", red=is_bad)
    for package, (reason, _) in sorted(config.stash.get(_REASONS, {}).items()):
        if package not in found:
            terminalreporter.write_line(f"shapecheck: {package} isn't {done}: {reason}", red=True)


def _on_rank() -> str:
    """Return which of several pytest this is, under `torchrun -m pytest`: each tells its own."""
    from shapecheck import distributed

    rank = distributed.launched()
    return "" if rank is None else distributed.line([rank])[1:]


def _is_off() -> bool:
    from shapecheck.runtime import settings

    return settings.mode() is settings.Mode.OFF


def _recorded(file: Path) -> tuple[str, bool]:
    """Return what to say of a record, and whether it is bad news."""
    from shapecheck.record import hook
    from shapecheck.record.store import RecordProblem, in_words, load

    hook.flush()
    try:
        recorded = load(file.absolute())
    except RecordProblem as error:
        return str(error), True
    calls = sum(one.calls for one in recorded.values())
    if not calls:
        return f"{file} holds no calls: no function that is to be recorded was called", True
    return f"{in_words(calls, len(recorded))} in {file}", False


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest-xdist has found out."""
    output = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if output is not None:
        _gather(node.config, *output)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Find out what the hook saw; a package that there isn't fails a run that else succeeds."""
    config = session.config
    if _HOOK not in config.stash:
        return
    found, reasons = _outcome(config.stash[_HOOK])
    if hasattr(config, "workerinput"):
        config.workeroutput[_OUTPUT] = (found, reasons)  # type: ignore[attr-defined]
        return
    if not getattr(config.option, "numprocesses", None):
        _gather(config, found, reasons)
    known = config.stash.get(_FOUND, {})
    missing = [
        package
        for package, (_, is_missing) in config.stash.get(_REASONS, {}).items()
        if package not in known and is_missing
    ]
    if missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def _outcome(hook: ImportHook | RecordingHook) -> tuple[dict[str, list[str]], dict[str, _Reason]]:
    """Return the modules that the hook found, by package, and why it found none of the others."""
    found: dict[str, list[str]] = {}
    reasons: dict[str, _Reason] = {}
    for package in hook.packages:
        modules = [n for n in hook.loaded if n == package or n.startswith(f"{package}.")]
        if modules:
            found[package] = sorted(modules)
        elif package in sys.modules:
            reasons[package] = "it was imported before shapecheck could begin", False
        elif _exists(package):
            reasons[package] = "these tests don't import it", False
        else:
            here = {name.partition(".")[0] for name in sys.modules}
            close = difflib.get_close_matches(package, here, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            reasons[package] = f"there is no such package{hint}", True
    return found, reasons


def _exists(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _gather(
    config: pytest.Config, found: dict[str, list[str]], reasons: dict[str, _Reason]
) -> None:
    """Put together what several processes have found out."""
    known = config.stash.setdefault(_FOUND, {})
    for package, modules in found.items():
        known[package] = sorted({*known.get(package, ()), *modules})
    whys = config.stash.setdefault(_REASONS, {})
    for package, reason in reasons.items():
        # The same one is told whichever process ends first: the alphabet has "it was imported
        # before" in front of what says less.
        whys[package] = min(whys.get(package, reason), reason)


def _packages(given: str, root: Path) -> list[str]:
    """Return the names that an argument stands for. Raises `pytest.UsageError`."""
    if not given:
        raise pytest.UsageError("--shapecheck= names no package; without = it means all packages")
    if given != ".":
        named = list(filter(None, map(str.strip, given.split(","))))
        for name in named:
            _refuse_path(name)
        return named
    files = (*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py"))
    found = sorted({path.parent.name for path in files})
    names = [name for name in found if name not in ("test", "tests", "docs")]
    if not names:
        raise pytest.UsageError(f"--shapecheck=.: there is no package in {root} or in its src")
    return names


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is checked or recorded."""
    asked: list[str] = config.getoption("--shapecheck")
    if not asked:
        return None
    names = [name for given in asked for name in _packages(given, config.rootpath)]
    verb = "records" if config.getoption("--shapecheck-record") else "checks"
    return f"shapecheck: {verb} the shapes in {', '.join(names)}"
