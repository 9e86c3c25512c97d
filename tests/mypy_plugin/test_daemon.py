"""mypy's daemon, which drops all errors at each edit and finds those of other modules by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

FILES = {
    "m.py": "import re  # torch\n# @ error 1:0-1:2: text\n# @ note 1:0-1:2: a note\n",
    "other.py": "import m\nx: int = 1\n",
    "ignored.py": "import re  # type: ignore[shape]  # torch\n# @ error 1:0-1:2: text\n",
}
FOUND = "m.py:1: error: text  [shape]\nm.py:1: note: a note\n"


@pytest.fixture
def project(new_project: Callable[..., Project]) -> Iterator[Project]:
    """A project whose daemon is stopped at the end."""
    project = new_project(FILES, settings="warn_unused_ignores = True\n")
    yield project
    project.run("stop", module="mypy.dmypy")


def check(project: Project) -> str:
    """Let the daemon check the project."""
    done = project.run("run", "--", ".", module="mypy.dmypy")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.replace("Daemon started\n", "").split("Found")[0]


def test_edits(project: Project) -> None:
    """Errors come, stay while nothing or another module changes, go, and come again."""
    assert check(project) == FOUND
    assert check(project) == FOUND
    project.write({"other.py": "import m\nx: int = 2\n"})
    assert check(project) == FOUND
    project.write({"other.py": "import m\nx: int = 3\n", "new.py": "import re  # torch\n"})
    assert check(project) == FOUND
    project.write({"other.py": "def"})
    assert "other.py:1: error: " in project.run("run", "--", ".", module="mypy.dmypy").stdout
    project.write({"other.py": FILES["other.py"]})
    assert check(project) == FOUND
    project.write({"m.py": "import re  # torch\n"})
    assert check(project).startswith("Success")
    project.write({"m.py": FILES["m.py"]})
    assert check(project) == FOUND


def test_unused_ignores(project: Project) -> None:
    """A comment that hides one of our errors is used, also after an edit."""
    check(project)
    project.write({"ignored.py": FILES["ignored.py"] + "x = 1\n"})
    assert check(project) == FOUND
    project.write({"ignored.py": "import re  # type: ignore[shape]  # torch\n"})
    assert 'ignored.py:1: error: Unused "type: ignore" comment' in check(project)


def test_an_edit_of_a_module_that_another_looks_at(project: Project) -> None:
    """The looker shows what is new, though its types and mypy's errors in it are the same."""
    project.write(
        {
            "m.py": "import other  # torch\nx: int = ''\n"
            "def f() -> int:\n    return ''\n# @ look other\n",
            "other.py": "# says one\n",
        }
    )
    printed = check(project)
    assert "m.py:5: error: other says one" in printed
    assert printed.count("error") == 3
    project.write({"other.py": "# says three\n"})
    assert check(project) == printed.replace("one", "three")
    project.write({"other.py": "# says three\nimport re  # torch\n", "ignored.py": ""})
    assert check(project) == printed.replace("one", "three")


def test_a_crash(project: Project) -> None:
    """The daemon outlives it."""
    check(project)
    project.write({"m.py": "import re  # torch\n# @ crash\n"})
    assert "m.py:1: note: internal error in shapecheck" in check(project)
    project.write({"m.py": FILES["m.py"]})
    assert check(project) == FOUND
