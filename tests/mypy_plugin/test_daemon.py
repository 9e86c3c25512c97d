"""mypy's daemon, which drops all errors at each edit and finds those of other modules by itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.mypy_plugin.conftest import TYPED_CALLS, by_file

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


def check(project: Project, target: str = ".") -> str:
    """Let the daemon check the project."""
    done = project.run("run", "--", target, module="mypy.dmypy")
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


def test_a_module_that_an_import_reaches(project: Project) -> None:
    """What the daemon checks again in it comes sorted with what the analysis has found."""
    assert check(project, "other.py") == FOUND
    text = "import re  # torch\n\ndef f() -> None:\n    reveal_type(1)\n\n# @ error 6:0-6:2: text\n"
    project.write({"new.py": text, "other.py": "import m, new\nx: int = 1\n"})
    note, error = 'new.py:4: note: Revealed type is "Literal[1]?"', "new.py:6: error: text  [shape]"
    assert check(project, "other.py") == f"{FOUND}{note}\n{error}\n"


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


def test_what_another_looks_at_is_deleted_first(project: Project) -> None:
    """No module is updated, and the looker shows that it is gone."""
    project.write({"m.py": "import re  # torch\n# @ look other\n", "other.py": "# says one\n"})
    assert "m.py:2: error: other says one" in check(project)
    (project.folder / "other.py").unlink()
    assert "m.py:2: error: other says nothing" in check(project)


def test_a_crash(project: Project) -> None:
    """The daemon outlives it."""
    check(project)
    project.write({"m.py": "import re  # torch\n# @ crash\n"})
    assert "m.py:1: note: internal error in shapecheck" in check(project)
    project.write({"m.py": FILES["m.py"]})
    assert check(project) == FOUND


WHOLE = (".",)
SPACE = {
    "space/m.py": "import re  # torch\n# @ error 1:0-1:2: text\n# @ note 1:0-1:2: a note\n",
    "space/told.py": "# says one\n",
    "space/looker.py": "import space.told  # torch\n# @ look space.told\n",
    "space/ignoring.py": "import space.told  # torch\n# @ look space.told  # type: ignore[shape]\n",
    "unused.py": "import re  # type: ignore[shape]  # torch\n",
    "used.py": "import re  # type: ignore[shape]  # torch\n# @ error 1:0-1:2 shape-dtype: text\n",
    "shown.py": "import re\n# torch\nreveal_type(re)\n# @ note 3:0-3:15: a shape\n",
    "plain.py": "x: int = ''\n",
    "same_place.py": "import re  # torch\nundefined\n# @ error 2:0-2:9: text\n",
}
# What is written (None is deleted), and what is checked then. Each step follows the one before.
STEPS: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = [
    ("the start", {}, WHOLE),
    ("another text is looked at", {"space/told.py": "# says two\n"}, WHOLE),
    ("a file is deleted", {"plain.py": None}, WHOLE),
    (
        "a new file with an error of mypy's below ours, and another that imports it",
        {
            "imported.py": "import re  # torch\n# @ error 1:0-1:2: text\nundefined\n",
            "importing.py": "import imported\n",
        },
        WHOLE,
    ),
    ("the other is edited", {"importing.py": "import imported\nx = 1\n"}, WHOLE),
    ("the new file is gone", {"imported.py": None, "importing.py": None}, WHOLE),
    ("fewer files", {}, ("space/m.py", "shown.py")),
    ("other files", {}, ("space/looker.py", "unused.py")),
    ("all files", {}, WHOLE),
    ("a file has another name", {"space/m.py": None, "space/n.py": SPACE["space/m.py"]}, WHOLE),
    ("what is looked at is deleted", {"space/told.py": None}, WHOLE),
    ("it is there again", {"space/told.py": "# says three\n"}, WHOLE),
    ("a stub takes its place", {"space/told.pyi": "# says four\n"}, WHOLE),
    (
        "the stub is about tensors",
        {"space/told.pyi": "import torch_names\n# says five\n", "torch_names.py": ""},
        WHOLE,
    ),
    ("the stub is gone", {"space/told.pyi": None}, WHOLE),
    ("a stub with errors beside it", {"space/looker.pyi": "x: int = ''\n"}, WHOLE),
    ("it is gone, too", {"space/looker.pyi": None}, WHOLE),
    ("the folder becomes a package", {"space/__init__.py": ""}, WHOLE),
    ("a file can't be parsed", {"space/n.py": "def"}, WHOLE),
    ("it can", {"space/n.py": SPACE["space/m.py"]}, WHOLE),
    (
        "a module without errors of its own",
        {"used.py": "# mypy: ignore-errors\nx: int = ''\n"},
        WHOLE,
    ),
    ("other settings", {"pyproject.toml": "[tool.shapecheck]\nstrict = true\n"}, WHOLE),
]


def test_steps(new_project: Callable[..., Project]) -> None:
    """After each step the daemon says what mypy says that has seen nothing of the project."""
    settings = "warn_unused_ignores = True\nexplicit_package_bases = True\n"
    project = new_project(SPACE, settings=settings)
    untouched = project.folder / "cache"
    try:
        for step, files, arguments in STEPS:
            for name in [name for name, text in files.items() if text is None]:
                (project.folder / name).unlink()
            project.write({name: text for name, text in files.items() if text is not None})
            shutil.copytree(untouched, project.folder / "fresh")
            cold = project.run("--cache-dir=fresh", *arguments).stdout
            shutil.rmtree(project.folder / "fresh")
            printed = project.run("run", "--", *arguments, module="mypy.dmypy").stdout
            assert (step, by_file(printed)) == (step, by_file(cold))
    finally:
        project.run("stop", module="mypy.dmypy")


NET = """\
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor, n: int) -> Tensor:
        return x
"""
USES = {
    "calling.py": "from net import Net\ndef call(net: Net) -> None:\n    net(net.mean, 1)\n",
    "reading.py": "from net import Net\ndef read(net: Net) -> None:\n    net.mean[0]\n",
}


def test_types_that_the_plugin_tells(new_project: Callable[..., Project]) -> None:
    """A call of a module is checked again with its `forward`, what reads a buffer with that."""
    project = new_project({"net.py": NET, "pyproject.toml": TYPED_CALLS, **USES})
    edits = [  # to texts of another length: the daemon counts whole seconds
        ("n: int", "n: bytes", 'calling.py:3: error: Argument 2 to "forward" of "Net" has'),
        ('"mean"', '"means"', 'reading.py:3: error: Value of type "Tensor | Module" is not index'),
    ]
    try:
        for old, new, printed in edits:
            project.write({"net.py": NET})
            assert check(project).startswith("Success")
            project.write({"net.py": NET.replace(old, new)})
            assert printed in check(project)
    finally:
        project.run("stop", module="mypy.dmypy")


def test_a_new_file_that_can_not_be_parsed(project: Project) -> None:
    """The daemon outlives it, also where it is checked alone."""
    check(project)
    for text in ("def\n", "def\n\n"):
        project.write({"new.py": text})
        done = project.run("run", "--", "new.py", module="mypy.dmypy")
        assert "Traceback" not in done.stdout + done.stderr
    project.write({"new.py": ""})
    assert check(project) == FOUND
