# ruff: noqa: E501 - expectations stand on the line
"""How findings of the analysis come out of mypy. The programs say what the stand-in finds.

Expectations stand on the line, as in mypy's own tests: `# E: ...`, `# N: ...`; a line without one
must be clean. Two messages on a line are divided by ` # `.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

SETTINGS = """
[mypy-unused]
warn_unused_ignores = True
[mypy-without_code]
enable_error_code = ignore-without-code
[mypy-enabled_sub_code]
disable_error_code = shape
enable_error_code = shape-dtype
[mypy-disabled_sub_code]
disable_error_code = shape-broadcast
[mypy-disabled]
disable_error_code = shape
[mypy-ignored]
ignore_errors = True
"""

CASES = {
    "order": """\
import torch
a = b = torch.zeros(3)
a @ b  # E: second  [shape-dtype] # N: of second # N: of second, too # E: third  [shape] # N: of third
x: int = a @ b  # E: first  [shape] # N: of first # E: Incompatible types in assignment (expression has type "Tensor", variable has type "int")  [assignment]
# @ error 4:0-4:2: first
# @ note 4:0-4:2: of first
# @ error 3:0-3:1 shape-dtype: second
# @ note 3:0-3:1: of second
# @ note 3:0-3:1: of second, too
# @ error 3:0-3:5: third
# @ note 3:0-3:5: of third
""",
    "unknown_code": """\
import torch  # E: text  [shape]
# @ error 1:0-1:2 shape-new: text
""",
    "ignored_line": """\
import torch  # type: ignore[shape]
import torch  # type: ignore
import torch  # type: ignore[shape-broadcast]
import torch  # type: ignore[assignment] # E: text  [shape] # N: Error code "shape" not covered by "type: ignore[assignment]" comment # N: a note
# @ error 1:0-1:2: text
# @ note 1:0-1:2: a note
# @ error 2:0-2:2: text
# @ note 2:0-2:2: a note
# @ error 3:0-3:2 shape-broadcast: text
# @ error 4:0-4:2: text
# @ note 4:0-4:2: a note
""",
    "ignored_sub_code": """\
import torch  # type: ignore[shape]
# @ error 1:0-1:2 shape-broadcast: text
# @ note 1:0-1:2: a note
""",
    "ignored_on_the_last_line": """\
import torch
torch.zeros(
    3,
)  # type: ignore[shape]
# @ error 2:0-4:1: text
# @ note 2:0-4:1: a note
""",
    "unused": """\
import torch  # type: ignore[shape]
import torch  # type: ignore[shape] # E: Unused "type: ignore" comment  [unused-ignore]
import torch  # type: ignore[shape-dtype, shape] # E: Unused "type: ignore[shape]" comment, use narrower [shape-dtype] instead of [shape] code  [unused-ignore]
import torch  # type: ignore[shape]
import torch  # type: ignore[shape-broadcast] # E: Unused "type: ignore" comment  [unused-ignore] # E: text  [shape] # N: Error code "shape" not covered by "type: ignore[shape-broadcast]" comment
import torch  # type: ignore[shape-broadcast] # E: Unused "type: ignore" comment  [unused-ignore] # E: text  [shape-dtype] # N: Error code "shape-dtype" not covered by "type: ignore[shape-broadcast]" comment
import torch  # type: ignore[shape, assignment] # E: Unused "type: ignore[assignment]" comment  [unused-ignore]
torch.zeros(
    3,
)  # type: ignore[shape]
# @ error 1:0-1:2: text
# @ error 3:0-3:2 shape-dtype: text
# @ error 4:0-4:2 shape-broadcast: text
# @ error 4:0-4:2 shape-strict: text
# @ error 5:0-5:2: text
# @ error 6:0-6:2 shape-dtype: text
# @ error 7:0-7:2 shape-annotation: text
# @ error 8:0-10:1 shape-ragged: text
""",
    "without_code": """\
import torch  # type: ignore # E: "type: ignore" comment without error code (consider "type: ignore[shape-dtype]" instead)  [ignore-without-code]
# @ error 1:0-1:2 shape-dtype: text
""",
    "enabled_sub_code": """\
import torch  # E: another  [shape-dtype]
# @ error 1:0-1:2 shape-broadcast: text
# @ error 1:0-1:2: text
# @ error 1:0-1:2 shape-dtype: another
""",
    "disabled_sub_code": """\
import torch  # E: another  [shape]
# @ error 1:0-1:2 shape-broadcast: text
# @ note 1:0-1:2: a note
# @ error 1:0-1:2: another
""",
    "disabled": """\
import torch
# @ error 1:0-1:2 shape-broadcast: text
# @ note 1:0-1:2: a note
# @ error 1:0-1:2: another
""",
    "disabled_by_comment": """\
# mypy: disable-error-code="shape-dtype"
import torch  # E: another  [shape]
# @ error 2:0-2:2 shape-dtype: text
# @ note 2:0-2:2: a note
# @ error 2:0-2:2: another
""",
    "ignored": """\
import torch
# @ error 1:0-1:2: text
# @ note 1:0-1:2: a note
""",
    "ignored_by_comment": """\
# mypy: ignore-errors
import torch
# @ error 2:0-2:2: text
""",
    "reveal": """\
import torch
x = torch.zeros(3)
y = x @ reveal_type(x)  # N: Revealed type is "torch._tensor.Tensor" # N: Revealed shape is "3"
x @ reveal_type(x)  # type: ignore # (both are hidden)
reveal_type(x @ y)  # E: text  [shape] # N: Revealed type is "torch._tensor.Tensor" # N: Revealed shape is "?"
# @ note 3:8-3:22: Revealed shape is "3"
# @ note 4:4-4:18: Revealed shape is "3"
# @ error 5:0-5:17: text
# @ note 5:12-5:13: Revealed shape is "?"
""",
    "unannotated": """\
import torch
def f(x):
    return x @ x  # E: text  [shape]
# @ error 3:11-3:16: text
""",
    "stub": """\
from torch import Tensor
def f(x: Tensor) -> Tensor: ...  # E: text  [shape]
# @ error 2:0-2:2: text
""",
    "no_tensors": """\
x = 1
# @ error 1:0-1:2: text
""",
    "no_tensors_imported": """\
import re
import sys
from no_tensors import x
# @ error 1:0-1:2: text
""",
    "imported_tensors": """\
from imported_package import f
f(1)  # E: text  [shape]
# @ error 2:0-2:2: text
""",
    "imported_package/__init__": "from imported_package.inner import f as f\n",
    "imported_package/inner": "import torch\ndef f(x: int) -> torch.Tensor: ...  # type: ignore[empty-body]\n",
    "crash": """\
import torch  # N: internal error in shapecheck, please report: KeyError in analyze_module (analysis/__init__.py:*); SHAPECHECK_DEBUG=1 shows the traceback
x: int = "" # E: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]
# @ error 1:0-1:2: text
# @ crash
""",
}


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    """All cases as modules of one project, checked once."""
    files = {f"{name}.py{'i' * (name == 'stub')}": text for name, text in CASES.items()}
    return new_project(files, settings=SETTINGS)


@pytest.fixture(scope="module")
def printed(project: Project) -> dict[str, list[str]]:
    """What mypy prints about the cases, with an empty cache of theirs."""
    return project.check()


@pytest.mark.parametrize("name", CASES)
def test_case(printed: dict[str, list[str]], name: str) -> None:
    """Each line draws what it says."""
    path = f"{name}.py{'i' * (name == 'stub')}"
    found = "\n".join(printed.get(path, []))
    found = re.sub(r"\(analysis/__init__.py:\d+\)", "(analysis/__init__.py:*)", found)
    assert found.splitlines() == expected(CASES[name])


@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["warm", "parallel"])
def test_the_same_again(
    project: Project, printed: dict[str, list[str]], how: tuple[str, ...]
) -> None:
    """Results from mypy's cache are those of the first run, and parallel workers agree."""
    if how:
        for path in project.folder.rglob("*.py*"):
            path.write_text(f"{path.read_text()}\n")
    assert project.check(*how, ".") == printed


def test_columns(new_project: Callable[..., Project]) -> None:
    """A range in mypy's output is that of the diagnostic: columns from 1, the end inclusive."""
    text = "import torch\né = 1; torch\n# @ error 2:7-2:12: text\n"
    project = new_project({"m.py": text})
    done = project.run("m.py", "--show-error-end")
    assert done.stdout.startswith("m.py:2:8:2:12: error: text  [shape]")


def test_the_traceback_of_a_crash(new_project: Callable[..., Project]) -> None:
    """Under SHAPECHECK_DEBUG=1 the note has the whole traceback."""
    project = new_project({"m.py": CASES["crash"]})
    project.environment["SHAPECHECK_DEBUG"] = "1"
    done = project.run("m.py")
    assert "Traceback (most recent call last)" in done.stdout
    assert "KeyError: 'no such thing'" in done.stdout


def test_syntax_that_python_does_not_know(new_project: Callable[..., Project]) -> None:
    """A module that Python can't parse is skipped, and a note says why."""
    text = "# torch\ntype Rows[T] = list[T]\nprint(t'{1}')\n"
    project = new_project({"m.py": text})
    done = project.run("m.py", "--python-version=3.14")
    if sys.version_info >= (3, 14):
        assert "skipped" not in done.stdout
    else:
        assert "m.py:1: note: skipped by shapecheck: the Python that runs it, 3." in done.stdout


def expected(text: str) -> list[str]:
    """Return what mypy should print about a program, from its comments."""
    kinds = {"E": "error", "N": "note"}
    return [
        f"{number}: {kinds[kind]}: {message}"
        for number, line in enumerate(text.splitlines(), start=1)
        for kind, message in re.findall(r" # ([EN]): (.*?)(?= # |$)", line)
    ]
