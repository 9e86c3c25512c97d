"""The second process finds what the first one would, or the first one does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="with one core there is no second process",
)

SHORT = {
    "one.py": "import re, two  # torch\n# @ process\n# @ error 1:0-1:6: of one\n# @ look two\n",
    "two.py": "import re  # torch\n# @ process\n# @ error 1:0-1:6: of two\n# says hello\n",
}
MUCH = f"{'#' * 60_000}\n"
FILES = {name: text + MUCH for name, text in SHORT.items()}


def said(one: str, two: str) -> dict[str, list[str]]:
    """What mypy prints where these processes have analysed the modules."""
    return {
        "one.py": [
            "1: error: of one  [shape]",
            f"2: note: found in the {one} process",
            "4: error: two says hello (strict: False)  [shape]",
        ],
        "two.py": ["1: error: of two  [shape]", f"2: note: found in the {two} process"],
    }


def run_program(project: Project, program: str, *arguments: str) -> str:
    """Run a program that calls mypy by its API, in the project; return what it printed."""
    return project.python("-c", program, *arguments).stdout


def test_the_processes_share_the_modules(new_project: Callable[..., Project]) -> None:
    """What one of them is at isn't waited for idly; mypy's cache doesn't know who found what."""
    project = new_project({name: f"{text}# @ meet\n" for name, text in FILES.items()})
    assert project.check() == said("first", "second")
    assert project.check() == said("first", "second")


def test_one_core(new_project: Callable[..., Project]) -> None:
    """With one core to use, there is no second process."""
    project = new_project(FILES)
    core = min(os.sched_getaffinity(0))
    program = f"import os; os.sched_setaffinity(0, [{core}]); from mypy.main import main; main()"
    printed = run_program(project, program, ".")
    assert "found in the first process" in printed
    assert "found in the second process" not in printed


def test_little_to_analyse(new_project: Callable[..., Project]) -> None:
    """It would take longer to start a second process than to do it all in one."""
    assert new_project(SHORT).check() == said("first", "first")


def test_an_edit_of_much_that_is_known(new_project: Callable[..., Project]) -> None:
    """Where all has been analysed before, one process does what an edit asks for."""
    project = new_project(FILES)
    project.check()
    project.write({"two.py": f"{FILES['two.py']}# and more\n"})
    assert project.check() == said("first", "first")


def test_parallel_mypy_has_processes_of_its_own(new_project: Callable[..., Project]) -> None:
    """mypy's workers use the cores already."""
    assert new_project(FILES).check("-n", "2", ".") == said("first", "first")


def test_the_second_process_dies(new_project: Callable[..., Project]) -> None:
    """The first one does all that is missing."""
    project = new_project({**FILES, "two.py": FILES["two.py"] + "# @ die ahead\n"})
    assert project.check() == said("first", "first")


def test_a_crash_is_reported_once(new_project: Callable[..., Project]) -> None:
    """The first process crashes over the module again, and says so."""
    project = new_project({"two.py": f"# torch\n# @ crash\n{MUCH}"})
    (line,) = project.check()["two.py"]
    assert "internal error in shapecheck, please report: KeyError" in line


def test_a_module_that_only_mypy_finds(new_project: Callable[..., Project]) -> None:
    """What the second process couldn't see counts for nothing."""
    project = new_project({"a/one.py": FILES["one.py"], "b/two.py": FILES["two.py"]})
    assert project.check("a/one.py", "b/two.py") == {
        "a/one.py": said("first", "second")["one.py"],
        "b/two.py": said("first", "second")["two.py"],
    }


def test_a_module_of_a_folder_that_shadows_python(new_project: Callable[..., Project]) -> None:
    """The second process doesn't import what lies in the folder that mypy is run in."""
    project = new_project({**FILES, "pickle.py": "raise SystemExit\n"})
    program = "import sys; sys.path.pop(0); from mypy.main import main; main()"
    assert "found in the second process" in run_program(project, program, "one.py")
