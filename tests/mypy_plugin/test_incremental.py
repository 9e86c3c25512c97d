"""mypy's cache: a module is checked again when, and only when, what its analysis read has changed.

The stand-in for the analysis quotes a comment of another module, which is nothing to mypy's types.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mypy.nodes import MypyFile

from shapecheck.mypy_plugin._sources import ModuleFinder

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

FILES = {
    "looker.py": "import re  # torch\nimport pkg.told\n# @ look pkg.told\n",
    "pkg/__init__.py": "",
    "pkg/told.py": "# says one\n",
    "bystander.py": "import re  # torch\nimport pkg.told\n",
}
PARALLEL = ("-n", "2", ".")


def says(what: str, strict: bool = False) -> dict[str, list[str]]:
    """What mypy prints about the looker."""
    return {"looker.py": [f"3: error: pkg.told says {what} (strict: {strict})  [shape]"]}


@pytest.fixture
def project(new_project: Callable[..., Project]) -> Project:
    """A module that quotes another, and one that doesn't; checked once."""
    project = new_project(FILES)
    assert project.check() == says("one")
    return project


def checked_again(project: Project, *arguments: str) -> set[str]:
    """Return the modules of the project that mypy doesn't take from its cache."""
    log = project.run("-v", *(arguments or (".",))).stderr
    modules = {"looker", "bystander", "pkg.told", "pkg"}
    return {
        line.split("(", 1)[1].split(")", 1)[0]
        for line in log.splitlines()
        if "Scheduling SCC singleton" in line
    } & modules


def test_nothing_has_changed(project: Project) -> None:
    """A second run takes everything from the cache."""
    assert project.check() == says("one")
    assert checked_again(project) == set()


def imported(project: Project) -> str:
    """Return what Python says of the imports of a run."""
    command = [sys.executable, "-v", "-m", "mypy", "."]
    environment = {**os.environ, **project.environment}
    done = subprocess.run(
        command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "looker.py:3: error" in done.stdout
    return done.stderr


def test_what_a_run_with_nothing_new_imports(project: Project) -> None:
    """Neither the engine nor what its records are made of: importing these takes longer."""
    rooms = ("reported", "engine", "records")
    found = imported(project)
    assert [f"import 'shapecheck.engine.{room}'" in found for room in rooms] == [True, False, False]
    project.write({"pkg/told.py": "# says two\n"})
    found = imported(project)
    assert [f"import 'shapecheck.engine.{room}'" in found for room in rooms] == [True, True, True]


@pytest.mark.parametrize("how", [(".",), PARALLEL], ids=["one process", "parallel"])
def test_the_source_of_another_module_has_changed(project: Project, how: tuple[str, ...]) -> None:
    """The looker sees the new text; a module that only imports it isn't checked again."""
    project.write({"pkg/told.py": "# says three\n"})
    assert project.check(*how) == says("three")
    project.write({"pkg/told.py": "# says seventeen\n"})
    assert checked_again(project, *how) == {"looker", "pkg.told"}
    assert project.check(*how) == says("seventeen")


LOOKED_INTO = {
    "one.py": "def h(x):\n    return x\n",
    "two.py": "def h(x):\n    return x\n",
    "middle.py": "import one, two\n\ndef f(x):\n    return one.h(x)\n",
    "user.py": """\
from jaxtyping import Float
from torch import Tensor
import middle

def use(x: Float[Tensor, "a b"]) -> Float[Tensor, "a b"]:
    return middle.f(x)
""",
}


def test_what_rests_on_another_module_by_now(new_project: Callable[..., Project]) -> None:
    """mypy's types don't change, nor does what is said, until the other module does."""
    project = new_project(LOOKED_INTO, fake=False)
    assert project.check() == {}
    project.write({"middle.py": LOOKED_INTO["middle.py"].replace("one.h", "two.h")})
    assert project.check() == {}
    project.write({"one.py": "def h(x):\n    return x.mT\n"})
    assert project.check() == {}
    project.write({"two.py": "def h(x):\n    return x.mT\n"})
    assert [*project.check()] == ["user.py"]


def test_what_failed_is_tried_again(project: Project) -> None:
    """Whatever it was, it may not be there any more."""
    project.write({"looker.py": "# torch\n# @ crash\n"})
    assert "internal error" in str(project.check())
    assert checked_again(project) == {"looker"}
    project.write(FILES)
    assert project.check() == says("one")
    assert checked_again(project) == set()


def test_only_the_time_of_a_file_has_changed(project: Project) -> None:
    """A fresh checkout in CI is no change."""
    path = project.folder / "pkg" / "told.py"
    os.utime(path, ns=(0, 0))
    assert checked_again(project) == set()


def test_a_module_that_was_missing_appears(new_project: Callable[..., Project]) -> None:
    """What wasn't there is remembered too; mypy doesn't know of a module that nothing imports."""
    files = {**FILES, "looker.py": FILES["looker.py"].replace("import pkg.told\n", "import pkg\n")}
    del files["bystander.py"]
    told = files.pop("pkg/told.py")
    project = new_project(files)
    assert project.check("looker.py") == says("nothing")
    project.write({"pkg/told.py": told})
    assert project.check("looker.py") == says("one")
    (project.folder / "pkg" / "told.py").unlink()
    assert project.check("looker.py") == says("nothing")


def test_the_looker_no_longer_looks(project: Project) -> None:
    """A record that is no longer true is gone."""
    project.write({"looker.py": "import re  # torch\nimport pkg.told\n"})
    assert project.check() == {}
    project.write({"pkg/told.py": "# says three\n"})
    assert checked_again(project) == {"pkg.told"}


def damaged(database: Path) -> None:
    database.write_bytes(b"not a database, and longer than the first page of one" * 200)


def truncated(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:5000])


def from_elsewhere(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 77")
        connection.commit()


def changed(project: Project, statement: str) -> None:
    """Change what is kept of a project."""
    (database,) = project.folder.glob("cache/*/shapecheck/shapecheck.sqlite")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("damage", [damaged, truncated, from_elsewhere, Path.unlink])
def test_a_damaged_database(project: Project, damage: Callable[[Path], None]) -> None:
    """What mypy has in its cache isn't trusted without it; it is made anew."""
    (database,) = project.folder.glob("cache/*/shapecheck/shapecheck.sqlite")
    damage(database)
    for ending in ("-wal", "-shm"):
        Path(f"{database}{ending}").unlink(missing_ok=True)
    assert checked_again(project) == {"looker", "bystander", "pkg.told", "pkg"}
    assert checked_again(project) == set()
    assert project.check() == says("one")


def test_damaged_rows(project: Project) -> None:
    """What can't be read isn't known, and is found out again when somebody needs it."""
    changed(project, "UPDATE said SET versions = '[', parts = '{}', said = '3'")
    assert checked_again(project) == set()
    assert project.check() == says("one")
    project.write({"pkg/told.py": "# says two\n"})
    assert "looker" in checked_again(project)
    assert project.check() == says("two")


@pytest.mark.parametrize("content", ["''", "told || ' '", "substr(told, 40)", "x'ff'", "3"])
def test_damaged_rows_of_what_was_reported(project: Project, content: str) -> None:
    """mypy's cache isn't trusted without it."""
    changed(project, f"UPDATE reported SET told = {content}")
    assert "looker" in checked_again(project)
    assert checked_again(project) == set()
    assert project.check() == says("one")


@pytest.mark.parametrize("content", ["''", "file || ' '", "substr(file, 40)", "x'ff'", "3"])
def test_damaged_rows_of_files(project: Project, content: str) -> None:
    """It changes nothing of what is said."""
    changed(project, f"UPDATE files SET file = {content}")
    assert checked_again(project) == set()
    project.write({"pkg/told.py": "# says two\n"})
    assert project.check() == says("two")


@pytest.mark.parametrize("how", [(".",), PARALLEL], ids=["one process", "parallel"])
def test_the_settings_have_changed(project: Project, how: tuple[str, ...]) -> None:
    """All modules of the project are checked again."""
    project.write({"pyproject.toml": "[tool.shapecheck]\nstrict = true\n"})
    assert project.check(*how) == says("one", strict=True)
    project.write({"pyproject.toml": ""})
    assert project.check(*how) == says("one")


def test_torch_stays_in_the_cache(new_project: Callable[..., Project]) -> None:
    """Settings have no bearing on libraries."""
    project = new_project({**FILES, "looker.py": FILES["looker.py"].replace("re ", "torch ")})
    assert project.check() == says("one")
    project.write({"pyproject.toml": "[tool.shapecheck]\nstrict = true\n"})
    log = project.run("-v", ".").stderr
    assert "SCC singleton (looker)" in log
    assert "SCC singleton (torch" not in log


def test_a_signature_file_of_the_user_has_changed(project: Project) -> None:
    """The project is checked again."""
    project.write(
        {
            "pyproject.toml": '[tool.shapecheck]\nstubs = ["my_stubs"]\n',
            "my_stubs/lib.pyi": "",
        }
    )
    project.check()
    assert checked_again(project) == set()
    project.write({"my_stubs/lib.pyi": "# new"})
    assert "looker" in checked_again(project)


def test_without_a_cache(new_project: Callable[..., Project]) -> None:
    """Nothing is recorded when mypy keeps nothing."""
    project = new_project({**FILES, "looker.py": "# torch\nimport pkg.told\n# @ look pkg.told\n"})
    assert project.check("--no-incremental", "looker.py") == says("one")
    assert not list(project.folder.glob("**/looker.json"))


def test_cycles(new_project: Callable[..., Project]) -> None:
    """Modules that import and look at each other."""
    project = new_project(
        {
            "a.py": "import re  # torch\nimport b\n# says a\n# @ look b\n",
            "b.py": "import re  # torch\nimport a\n# says b\n# @ look a\n",
        }
    )
    printed = {
        "a.py": ["4: error: b says b (strict: False)  [shape]"],
        "b.py": ["4: error: a says a (strict: False)  [shape]"],
    }
    assert project.check() == printed
    assert project.check() == printed
    project.write({"b.py": "import re  # torch\nimport a\n# says cc\n# @ look a\n"})
    printed["a.py"] = ["4: error: b says cc (strict: False)  [shape]"]
    assert project.check() == printed
    assert project.check(*PARALLEL) == printed


def test_a_module_of_a_shadow_file(project: Project) -> None:
    """What mypy reads in place of a file, the analysis reads too."""
    project.write({"shadow.py": "# says boo\n"})
    printed = project.check("--shadow-file", "pkg/told.py", "shadow.py", ".")
    assert printed == says("boo")


def test_a_module_has_to_do_with_tensors_now(new_project: Callable[..., Project]) -> None:
    """It wasn't looked at before, though what it imports is the same to mypy."""
    project = new_project(
        {
            "user.py": "from helper import value\n# @ error 1:0-1:4: looked at\n",
            "helper.py": "value = 1\n",
        }
    )
    assert project.check() == {}
    assert checked_again(project) == set()
    project.write({"helper.py": "value = 1  # torch\n"})
    assert project.check() == {"user.py": ["1: error: looked at  [shape]"]}
    project.write({"helper.py": "value = 1\n"})
    assert project.check() == {}


@pytest.mark.parametrize("edited", ["nothing", "last.py", "folder/looker.py"])
def test_modules_that_mypy_does_not_follow(
    new_project: Callable[..., Project], edited: str
) -> None:
    """It loads them whenever it likes then, and each is looked for from another folder."""
    files = {
        "told.py": "import re  # torch\n# says one\n",
        "seen.py": "import re  # torch\nimport folder.beside\n# @ look folder.beside\n",
        "folder/looker.py": "import told  # torch\n\n# @ look told\n# @ look folder.beside\n",
        "folder/beside.py": "# says two\n",
        "last.py": "value = 1\n",
    }
    project = new_project(files)
    settings = "--follow-imports=skip", "."
    found = project.check(*settings)
    assert found["folder/looker.py"] == [
        "3: error: told says one (strict: False)  [shape]",
        "4: error: folder.beside says nothing (strict: False)  [shape]",
    ]
    if edited != "nothing":
        project.write({edited: files[edited] + "\nother = 2\n"})
    assert project.check(*settings) == found
    assert checked_again(project, *settings) == set()


def test_a_module_of_which_mypy_has_lost_sight(new_project: Callable[..., Project]) -> None:
    """It isn't among the modules that are checked because the analysis once read it."""
    texts = {
        "user.py": "import pkg  # torch\n# @ look pkg.m\n",
        "pkg/__init__.py": "from .m import *\n",
        "pkg/m.py": "import re  # torch\n# @ error 1:0-1:2: text\n# says one\n",
    }
    project = new_project(texts)
    assert set(project.check("user.py")) == {"user.py", "pkg/m.py"}
    (project.folder / "pkg/__init__.py").unlink()
    for _ in range(2):
        assert set(project.check("user.py")) == {"user.py"}


def test_a_package_that_mypy_has_not_loaded_yet(tmp_path: Path) -> None:
    """It is where it was the last time; of what is checked mypy says where each module is."""
    library = tmp_path / "site-packages" / "layers" / "__init__.py"
    own = tmp_path / "old" / "net.py"
    for path in (library, own):
        path.parent.mkdir(parents=True)
        path.write_text("", "utf-8")
    finder = ModuleFinder(())
    finder.remembered = {"layers": str(library), "net": str(own)}
    looker = ("model", str(tmp_path / "model.py"))
    for loaded in ({}, {"model": MypyFile([], [])}):
        finder.modules = loaded
        assert finder.find("layers", looker) == str(library)
        assert finder.find("net", looker) == (None if loaded else str(own))
    library.unlink()
    assert finder.find("layers", looker) is None
