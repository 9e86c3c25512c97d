"""`shapecheck check`: what is printed, in each format, and the exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cli.conftest import Command
from mypy_plugin.conftest import Project

from shapecheck.cli import _sources

NewProject = Callable[..., Project]

ATTENTION: Final = """\
from jaxtyping import Float
from torch import Tensor

width: int = "é"


def scores(
    q: Float[Tensor, "batch query d"], k: Float[Tensor, "batch key d"], é: Tensor
) -> Float[Tensor, "batch query key"]:
    return é.sum() * (q @ k)
"""
TEXT: Final = """\
attention.py:4:14: error: Incompatible types in assignment (expression has type "str", variable \
has type "int")  [assignment]
    4 | width: int = "é"
      |              ^^

attention.py:10:23: error: "@" can't multiply (batch query d) by (batch key d): the inner \
dimensions are d (axis -1) and key (axis -2)  [shape]
    10 |     return é.sum() * (q @ k)
       |                       ^^^^^
  note: left operand "q" is (batch query d) since line 8
  note: right operand "k" is (batch key d) since line 8
  note: "k.transpose(-2, -1)" would give (batch query key)

"""
COUNT: Final = """\
Found 2 errors in 1 file (checked 1 source file)
1 of them about shapes; --only-shapes leaves out the 1 other
"""
SHAPE_ERROR: Final = TEXT.partition("\n\n")[2]
WRONG: Final = "# @ error 1:0-1:1: seen, torch\n"


@pytest.fixture
def attention(new_project: NewProject) -> Project:
    """A project with two errors, one of them about shapes."""
    return new_project({"attention.py": ATTENTION}, fake=False)


def test_text_shows_the_source_and_the_notes(attention: Project) -> None:
    """What a person reads, and mypy's exit code."""
    done = attention.run("check", "attention.py", module="shapecheck")
    assert (done.stdout, done.stderr) == (TEXT + COUNT, "")
    assert done.returncode == attention.run("attention.py").returncode == 1


def test_only_shapes(attention: Project) -> None:
    """mypy's own errors aren't looked for, and neither mypy nor torch is imported."""
    done = attention.run("check", "attention.py", "--only-shapes", module="shapecheck")
    assert done.stdout == (
        f"{SHAPE_ERROR}Found 1 error in 1 file (checked 1 source file)\n"
        "The shapes of 4 of 6 tensor expressions are known (66 %); what hides most of the others:\n"
        "  2  what follows from errors: mend these\n"
    )
    assert done.returncode == 1
    attention.write({"attention.py": 'width: int = ""\n'})
    watched = (
        "import sys; from shapecheck.cli import main; code = main();"
        "print(code, {'mypy', 'torch'} & sys.modules.keys())"
    )
    done = attention.python("-c", watched, "check", "attention.py", "--only-shapes")
    assert done.stdout == "Success: no issues found in 1 source file\n0 set()\n"


def test_what_has_not_changed_costs_little(new_project: NewProject) -> None:
    """It takes neither op rules nor signatures, and nobody follows what is imported once more."""
    project = new_project(
        {
            "net.py": "import torch\n\ndef head(x: torch.Tensor):\n    return x[0]\n",
            "use.py": "from net import head\n\ndef both(x):\n    return head(x), head(x)\n",
            "wrong.py": "import torch\n\nx = torch.ones(2, 3) @ torch.ones(2, 3)\n",
        },
        fake=False,
    )
    watched = """
import sys
from shapecheck.cli import main
from shapecheck.project.definers import Definers
asked, of = [], Definers.of
Definers.of = lambda self, module, host: asked.append(module.name) or of(self, module, host)
main()
print([name for name in ("ops", "signatures") if f"shapecheck.{name}" in sys.modules], asked)
"""
    first, again = (
        project.python("-c", watched, "check", "--only-shapes").stdout.splitlines()
        for _ in range(2)
    )
    assert first[:-1] == again[:-1]
    assert first[-1] == "['ops', 'signatures'] ['use']"
    assert again[-1] == "[] []"
    project.write({"net.py": "def head(x):\n    return x[0]\n"})
    edited = project.python("-c", watched, "check", "--only-shapes").stdout.splitlines()
    assert edited[-1].endswith(" ['net', 'use']")


def test_a_package_that_nobody_can_import(new_project: NewProject) -> None:
    """Where mypy stops at a folder's name, its files are checked all the same, each by itself."""
    project = new_project({"lm-design/__init__.py": "", "lm-design/net.py": WRONG})
    arguments = ("lm-design", "--only-shapes", "--output", "json")
    done = project.run("check", *arguments, module="shapecheck")
    assert (done.stdout.count("seen, torch"), done.stderr) == (1, "")
    assert done.returncode == 1


def test_packages_below_src_where_paths_name_modules(command: Command, tmp_path: Path) -> None:
    """What lies in `src` is imported from there, also where folders don't say what is a package."""
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/net.py": "import torch\ndef rows():\n    return torch.zeros(2, 3)\n",
        "tools/a.py": "import tools.b\n",
        "tools/b.py": "import torch\nfrom pkg.net import rows\nrows() @ torch.zeros(2, 3)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = command("check", "--only-shapes", ".")
    assert done.stdout.startswith('tools/b.py:3:1: error: "@" can\'t multiply (2 3) by (2 3)')
    assert (done.returncode, done.stderr) == (1, "")


def test_options_with_only_shapes(new_project: NewProject) -> None:
    """Those are known that say which files are checked; the others are refused."""
    project = new_project({"a.py": WRONG, "b.py": WRONG})
    arguments = ("check", "--only-shapes", "--output", "json", "--", "--exclude", "a.py", ".")
    done = project.run(*arguments, module="shapecheck")
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == ["b.py"]
    done = project.run(*arguments, "--strict", module="shapecheck")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == (
        "shapecheck check: error: --strict isn't among the options of mypy that --only-shapes "
        "knows: those that say which files are checked, where modules are found and what is shown\n"
    )


@pytest.mark.parametrize("output", ["json", "sarif"])
def test_parts_of_a_run(new_project: NewProject, output: str) -> None:
    """Each part says its share; merged, they say what one run says."""
    project = new_project({f"{name}.py": WRONG for name in "abcdefgh"}, settings="files = .\n")
    check = ("check", "--only-shapes", "--output", output)
    parts = []
    for number in (1, 2, 3):
        done = project.run(*check, "--shard", f"{number}/3", module="shapecheck")
        project.write({f"part{number}": done.stdout})
        parts.append(done.stdout.count("seen, torch"))
    assert (sum(parts), min(parts) > 0) == (8, True)
    merging = ("check", "--merge", "part3", "part1", "part2", "--output")
    merged = project.run(*merging, output, module="shapecheck")
    assert (merged.stdout, merged.returncode) == (
        project.run(*check, module="shapecheck").stdout,
        1,
    )
    merged = project.run(*merging, "text", module="shapecheck")
    assert merged.stdout.endswith("\n\nFound 8 errors in 8 files\n")


def test_what_cannot_be_merged(new_project: NewProject) -> None:
    """A part that didn't come to its end leaves its mark; a file that is no report is refused."""
    project = new_project({"m.py": "def f(:\n"})
    part = project.run("check", "--only-shapes", "--output", "sarif", module="shapecheck").stdout
    project.write({"part": part, "none": "nothing"})
    done = project.run("check", "--merge", "part", module="shapecheck")
    assert done.stdout.endswith("Found 2 errors in 1 file (errors prevented further checking)\n")
    assert done.returncode == 2
    done = project.run("check", "--merge", "none", module="shapecheck")
    assert (done.stdout, done.returncode) == ("", 2)
    said = "shapecheck check: error: none is no report of --output json or sarif\n"
    assert done.stderr == said
    for arguments in (["--shard", "0/3", "--only-shapes"], ["--shard", "1/3"], ["--merge"]):
        assert project.run("check", *arguments, module="shapecheck").returncode == 2


def test_no_error_is_about_shapes(new_project: NewProject) -> None:
    """It says so; an import, of which mypy doesn't tell the column, is underlined whole."""
    project = new_project({"m.py": "def f() -> None:\n    import gone\n"})
    done = project.run("check", module="shapecheck")
    assert done.stdout == (
        'm.py:2:1: error: Cannot find implementation or library stub for module named "gone"  '
        "[import-not-found]\n    2 |     import gone\n      |     ^^^^^^^^^^^\n"
        "  note: See https://mypy.readthedocs.io/en/stable/running_mypy.html#missing-imports\n\n"
        "Found 1 error in 1 file (checked 1 source file)\n"
        "none of them about shapes; --only-shapes leaves out the 1 other\n"
    )


def test_color(attention: Project) -> None:
    """Colours come on request, and change nothing but the colours."""
    plain = attention.run("check", "attention.py", "--color", "never", module="shapecheck")
    colored = attention.run("check", "attention.py", "--color", "always", module="shapecheck")
    assert "\x1b[1;31m^^^^^\x1b[0m" in colored.stdout
    assert without_color(colored.stdout) == plain.stdout


def test_json_is_what_mypy_prints(attention: Project) -> None:
    """The lines of `mypy --output=json`, with where each error ends."""
    done = attention.run("check", "attention.py", "--output", "json", module="shapecheck")
    mypy = attention.run("attention.py", "--output", "json", "--show-error-end")
    assert done.stdout == mypy.stdout
    assert [json.loads(line)["code"] for line in done.stdout.splitlines()] == [
        "assignment",
        "shape",
    ]


def test_github(attention: Project) -> None:
    """Workflow commands, with paths from the root of the checkout."""
    (attention.folder / "a b,c:%").mkdir()
    folder = attention.folder / "a b,c:%"
    (attention.folder / "attention.py").rename(folder / "m.py")
    attention.environment["GITHUB_WORKSPACE"] = str(attention.folder)
    attention.environment["MYPY_CACHE_DIR"] = "../cache"
    attention.folder = folder
    settings = ("--config-file", "../mypy.ini")
    done = attention.run("check", "m.py", "--output", "github", *settings, module="shapecheck")
    assert done.stdout == (
        "::error file=a b%2Cc%3A%25/m.py,line=4,endLine=4,col=14,endColumn=15,title=assignment::"
        'Incompatible types in assignment (expression has type "str", variable has type "int")\n'
        "::error file=a b%2Cc%3A%25/m.py,line=10,endLine=10,col=23,endColumn=27,title=shape::"
        '"@" can\'t multiply (batch query d) by (batch key d): the inner dimensions are d (axis '
        '-1) and key (axis -2)%0Aleft operand "q" is (batch query d) since line 8%0Aright operand '
        '"k" is (batch key d) since line 8%0A"k.transpose(-2, -1)" would give (batch query key)\n'
    )


def test_gitlab(attention: Project) -> None:
    """A Code Quality report: each finding is known again by a fingerprint without its line."""
    arguments = ("check", "attention.py", "--only-shapes", "--output", "gitlab")
    done = attention.run(*arguments, module="shapecheck")
    (issue,) = json.loads(done.stdout)
    before = issue.pop("fingerprint")
    assert issue == {
        "description": '"@" can\'t multiply (batch query d) by (batch key d): the inner dimensions '
        'are d (axis -1) and key (axis -2)\nleft operand "q" is (batch query d) since line 8\n'
        'right operand "k" is (batch key d) since line 8\n'
        '"k.transpose(-2, -1)" would give (batch query key)',
        "check_name": "shape",
        "severity": "major",
        "location": {"path": "attention.py", "lines": {"begin": 10, "end": 10}},
    }
    twice = "    q @ k\n    return"
    attention.write(
        {"attention.py": ATTENTION.replace("\n\ndef", "\n\n\n\ndef").replace("    return", twice)}
    )
    done = attention.run(*arguments, module="shapecheck")
    found = [one["fingerprint"] for one in json.loads(done.stdout)]
    assert found[0] == before
    assert len(set(found)) == 2


def test_sarif(attention: Project) -> None:
    """The whole document. It is valid by the schema that it names."""
    (attention.folder / "a b").mkdir()
    (attention.folder / "attention.py").rename(attention.folder / "a b" / "m.py")
    done = attention.run("check", "a b", "--output", "sarif", "--only-shapes", module="shapecheck")
    document = json.loads(done.stdout)
    root = document["runs"][0].pop("originalUriBaseIds")
    assert root == {"SRCROOT": {"uri": f"{attention.folder.as_uri()}/"}}
    assert document == {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "shapecheck",
                        "version": "0.1.0",
                        "rules": [
                            {
                                "id": "shape",
                                "shortDescription": {"text": "Check the dimensions of tensors"},
                            }
                        ],
                    }
                },
                "invocations": [{"executionSuccessful": True, "exitCode": 1}],
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": "shape",
                        "ruleIndex": 0,
                        "level": "error",
                        "message": {
                            "text": '"@" can\'t multiply (batch query d) by (batch key d): the '
                            "inner dimensions are d (axis -1) and key (axis -2)\n"
                            'left operand "q" is (batch query d) since line 8\n'
                            'right operand "k" is (batch key d) since line 8\n'
                            '"k.transpose(-2, -1)" would give (batch query key)'
                        },
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {
                                        "uri": "a%20b/m.py",
                                        "uriBaseId": "SRCROOT",
                                    },
                                    "region": {
                                        "startLine": 10,
                                        "startColumn": 23,
                                        "endLine": 10,
                                        "endColumn": 28,
                                    },
                                }
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_sarif_tells_what_kept_mypy_from_its_work(new_project: NewProject) -> None:
    """A file that can't be parsed: no success, and where."""
    project = new_project({"m.py": "def f(:\n"})
    done = project.run("check", "--output", "sarif", module="shapecheck")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 2}]
    assert {result["ruleId"] for result in run["results"]} == {"syntax"}
    assert done.returncode == 2


def test_no_configuration_is_needed(new_project: NewProject) -> None:
    """The plugin is on where nothing says so, and [tool.shapecheck] applies."""
    program = """\
from torch import Tensor
from shapecheck import Float
from torch import nn

def f(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 10"]:
    return nn.Linear(512, 10)(x)
"""
    project = new_project({"m.py": program}, fake=False)
    (project.folder / "mypy.ini").unlink()
    project.environment["MYPY_CACHE_DIR"] = "cache"
    assert project.run("check", module="shapecheck").stdout == (
        "Success: no issues found in 1 source file\n"
    )
    project.write({"pyproject.toml": "[tool.shapecheck]\nstrict = true\n"})
    assert (
        '"nn.Linear(512, 10)" needs d to be 512' in project.run("check", module="shapecheck").stdout
    )


def test_the_configuration_of_mypy_is_respected(new_project: NewProject) -> None:
    """Which files, which options; the plugin is added to others."""
    files = {
        "src/m.py": "def f(x): return x\n# @ error 1:4-1:5: seen; torch\n",
        "other/n.py": "# @ error 1:0-1:1: not seen; torch\n",
        "own.py": "from mypy.plugin import Plugin\n\ndef plugin(version):\n    return Plugin\n",
    }
    project = new_project(files)
    settings = "[mypy]\nplugins = own.py\nfiles = src\ndisallow_untyped_defs = True\n"
    project.write({"mypy.ini": f"{settings}cache_dir = cache\n"})
    done = project.run("check", "--output", "json", module="shapecheck")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(error["file"], error["code"]) for error in said] == [
        ("src/m.py", "no-untyped-def"),
        ("src/m.py", "shape"),
    ]


def test_options_of_mypy(new_project: NewProject) -> None:
    """What follows `--` goes to mypy, and it says what it can't use."""
    project = new_project({"m.py": "def f(x): return x\n"})
    assert project.run("check", module="shapecheck").returncode == 0
    done = project.run("check", "m.py", "--", "--strict", module="shapecheck")
    assert "[no-untyped-def]" in done.stdout
    done = project.run("check", "--", "--nonsense", module="shapecheck")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: unrecognized arguments: --nonsense\n")


def test_files_with_the_same_module_name(new_project: NewProject) -> None:
    """Folders of scripts: mypy refuses two `train.py`, and here they are checked in turn."""
    files = {f"{name}/train.py": f"import model\nx: {name} = model.x\n" for name in ("int", "str")}
    files |= {f"{name}/model.py": f"x: {name}\n" for name in ("int", "str")}
    files["str/train.py"] += "# @ error 1:0-1:6: seen, torch\n"
    project = new_project(files)
    assert project.run(".").returncode == 2
    done = project.run("check", module="shapecheck")
    assert done.stdout == (
        "str/train.py:1:1: error: seen, torch  [shape]\n    1 | import model\n      | ^^^^^^\n\n"
        "Found 1 error in 1 file (checked 4 source files)\n"
    )


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        ({"net/flow/__init__.py": "", "net/flow/m.py": WRONG, "a.py": "import net.flow.m\n"}, "."),
        ({"net/model/types.py": WRONG, "a.py": "import re\n"}, "."),
        ({"My-Net/__init__.py": "", "My-Net/m.py": WRONG}, "My-Net"),
    ],
    ids=["found twice", "a name of Python's own", "the folder has no name that Python allows"],
)
def test_folders_that_mypy_cannot_name(
    new_project: NewProject, files: dict[str, str], folder: str
) -> None:
    """Where folders don't say what a module is called, files are named by their path."""
    project = new_project({})
    project.write({f"{folder}/mypy.ini": (project.folder / "mypy.ini").read_text()})
    project.write(files)
    project.folder = project.folder / folder
    done = project.run("check", "--output", "json", module="shapecheck")
    assert (done.stdout.count("seen, torch"), done.stderr) == (1, "")
    assert done.returncode == 1


def test_what_mypy_warns_of_is_said_once(new_project: NewProject) -> None:
    """An option that it doesn't know, for one."""
    project = new_project({"m.py": "x = 1\n"})
    settings = (project.folder / "mypy.ini").read_text()
    project.write({"mypy.ini": f"{settings}nonsense = 1\n"})
    done = project.run("check", module="shapecheck")
    assert done.stderr == "mypy.ini: [mypy]: Unrecognized option: nonsense = 1\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("files", "arguments", "stdout", "stderr"),
    [
        ({}, ["."], "", "There are no .py[i] files in directory '.'\n"),
        ({}, ["gone.py"], "gone.py: error: Cannot read file: No such file or directory\n\n", ""),
        (
            {"m.py": "def f(:\n"},
            ["m.py"],
            "m.py:1:8: error: Expected a parameter or the end of the parameter list  [syntax]\n"
            "    1 | def f(:\n      |        ^\n\n"
            "m.py:2:2: error: Unexpected EOF while parsing  [syntax]\n    2 |\n      | ^\n\n",
            "",
        ),
        (
            {"pyproject.toml": "[tool.shapecheck]\nstrikt = true\n", "m.py": ""},
            ["m.py"],
            'pyproject.toml:2: error: unknown key "strikt" in [tool.shapecheck]; did you mean '
            '"strict"?\n    2 | strikt = true\n\n',
            "",
        ),
    ],
)
def test_what_cannot_be_checked(
    new_project: NewProject, files: dict[str, str], arguments: list[str], stdout: str, stderr: str
) -> None:
    """Exit code 2, and what is wrong."""
    project = new_project(files)
    done = project.run("check", *arguments, module="shapecheck")
    count = "2 errors" if "syntax" in stdout else "1 error"
    summary = f"Found {count} in 1 file (errors prevented further checking)\n" if stdout else ""
    assert (done.stdout, done.stderr) == (stdout + summary, stderr)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("files", "arguments", "stdout", "stderr"),
    [
        ({}, ["."], "", "There are no .py[i] files in directory '.'"),
        ({}, ["--", "-p", "gone"], "", "Can't find package 'gone'"),
        ({}, ["--", "-m", "gone"], "", 'Cannot find module "gone"'),
        ({}, ["m.py", "--", "-p", "pkg"], "", "either paths or modules can be checked in one run"),
        ({}, ["--", "--follow-imports=maybe"], "", "invalid choice: 'maybe'"),
        ({}, ["--", "--exclude=(", "."], "", "is an invalid regular expression"),
        ({}, ["--config-file", "gone.ini"], "", "there is no configuration file gone.ini"),
        ({}, ["gone.py"], "gone.py: error: Cannot read file: No such file or directory\n", ""),
        ({"m.py": "def f(:\n"}, ["m.py"], "m.py:1:8: error: Expected a parameter or the", ""),
        (
            {"pyproject.toml": "[tool.shapecheck]\nstrikt = true\n", "m.py": ""},
            ["m.py"],
            'pyproject.toml:2: error: unknown key "strikt" in [tool.shapecheck]; did you mean',
            "",
        ),
        (
            {
                "pyproject.toml": '[tool.shapecheck]\nstubs = ["own"]\n',
                "own/lib.pyi": "def f(\n",
                "m.py": "import torch\nx = torch.zeros(2)\n",
            },
            ["m.py"],
            "own/lib.pyi:1: error: ",
            "",
        ),
    ],
)
def test_what_cannot_be_checked_without_mypy(
    command: Command,
    tmp_path: Path,
    files: dict[str, str],
    arguments: list[str],
    stdout: str,
    stderr: str,
) -> None:
    """Exit code 2, and what is wrong."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = command("check", "--only-shapes", *arguments)
    assert (done.stdout == "") == (stdout == "")
    assert done.stdout.startswith(stdout)
    assert stderr in done.stderr
    assert (done.stderr == "") == (stderr == "")
    assert done.returncode == 2


NOT_TEXT: Final = b'name = "\xff"\n'
UNREADABLE: Final = """\
a.py: error: Cannot decode file: 'utf-8' codec can't decode byte 0xff in position 8: invalid start \
byte

pkg/__init__.py:1:8: error: Expected a parameter or the end of the parameter list  [syntax]
    1 | def f(:
      |        ^

pkg/__init__.py:2:2: error: Unexpected EOF while parsing  [syntax]
    2 |
      | ^

b.py: error: Cannot decode file: 'utf-8' codec can't decode byte 0xff in position 8: invalid start \
byte

m.py:3:1: error: seen, torch  [shape]
    3 | f(pkg.n.x)
      | ^

Found 5 errors in 4 files (checked 2 source files; 3 others can't be read)
"""


def test_the_others_are_checked_where_a_file_cannot_be_read(new_project: NewProject) -> None:
    """Each such file is told, and what imports it is checked without; exit code 2, as mypy's.

    Once they can be read, nothing is left over in mypy's cache.
    """
    program = "from a import f\nimport pkg.n\nf(pkg.n.x)\n# @ error 3:0-3:1: seen, torch\n"
    project = new_project({"m.py": program, "pkg/n.py": "x = 1\n"})
    project.write({"pkg/__init__.py": "def f(:\n"})
    for name in ("a.py", "b.py"):
        (project.folder / name).write_bytes(NOT_TEXT)
    done = project.run("check", module="shapecheck")
    # mypy meets the files in any order.
    assert sorted(done.stdout.split("\n\n")) == sorted(UNREADABLE.split("\n\n"))
    assert (done.stderr, done.returncode) == ("", 2)
    project.write({"a.py": "def f(x: str) -> None: ...\n", "b.py": "", "pkg/__init__.py": ""})
    done = project.run("check", "--output", "json", module="shapecheck")
    codes = {json.loads(line)["code"] for line in done.stdout.splitlines()}
    assert (codes, done.returncode) == ({"arg-type", "shape"}, 1)


def test_an_import_that_cannot_be_read(new_project: NewProject) -> None:
    """It isn't one of the files that were asked for, and stops all, as mypy does."""
    project = new_project({"m.py": "import a\n", "a.py": "def f(:\n"})
    done = project.run("check", "m.py", module="shapecheck")
    assert done.stdout.endswith("Found 2 errors in 1 file (errors prevented further checking)\n")
    assert done.returncode == 2


CRASHES: Final = """\
from mypy.plugin import Plugin


class Own(Plugin):
    def get_function_hook(self, fullname):
        raise KeyError("no such thing")


def plugin(version):
    return Own
"""


def test_a_crash_of_mypy(new_project: NewProject) -> None:
    """What mypy says, that not everything was checked, and how to learn more; exit code 2."""
    project = new_project({"own.py": CRASHES, "m.py": "print(len(''))\n"})
    project.write({"mypy.ini": "[mypy]\nplugins = own.py\ncache_dir = cache\n"})
    done = project.run("check", "m.py", module="shapecheck")
    assert (done.stdout, done.returncode) == ("", 2)
    assert ": error: INTERNAL ERROR" in done.stderr
    last = "mypy crashed, and not everything was checked; SHAPECHECK_DEBUG=1 shows the traceback\n"
    assert done.stderr.endswith(last)
    assert "KeyError" not in done.stderr
    project.environment["SHAPECHECK_DEBUG"] = "1"
    done = project.run("check", "m.py", module="shapecheck")
    assert "KeyError: 'no such thing'" in done.stderr
    assert done.stderr.endswith("mypy crashed, and not everything was checked\n")


def test_mypy_is_killed(new_project: NewProject) -> None:
    """A signal, as on a machine that is out of memory, is named."""
    kill = "import os\n\nos.kill(os.getpid(), 9)\n"
    project = new_project({"own.py": kill, "m.py": ""})
    project.write({"mypy.ini": "[mypy]\nplugins = own.py\ncache_dir = cache\n"})
    done = project.run("check", "m.py", module="shapecheck")
    assert (done.stdout, done.returncode) == ("", 2)
    said = "mypy was ended by the signal SIGKILL, and not everything was checked\n"
    assert done.stderr == said


def test_a_reader_that_has_had_enough(attention: Project) -> None:
    """`shapecheck check | head -1` ends without a traceback."""
    attention.write({"m.py": "".join(f"x{i}: int = ''\n" for i in range(3000))})
    shell = f"{sys.executable} -m shapecheck check m.py | head -1"
    done = subprocess.run(
        shell,
        shell=True,
        cwd=attention.folder,
        env={**os.environ, **attention.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("m.py:1:11: error:")
    assert done.stderr == ""


def test_marks_in_source(tmp_path: Path) -> None:
    """Tabs, wide characters, long lines, many lines, and columns that can't be."""
    path = tmp_path / "m.py"
    path.write_text(
        "\tx = '日本' + y\n" + "f(" + "a, " * 100 + "bad)\n" + "(\n" * 9 + ")\n", "utf-8"
    )
    (line,) = _sources.marked(str(path), 1, 12, 1, 13)
    assert (line.before, line.marked, line.after) == ("    x = '日本' + ", "y", "")
    assert line.indent == 17
    (line,) = _sources.marked(str(path), 2, 302, 2, 305)
    assert (line.before, line.marked, line.after) == ("… " + "a, " * 13, "bad", ")")
    shown = _sources.marked(str(path), 3, 0, 12, 1)
    assert [line.number for line in shown] == [3, 4, 5, 6, None, 12]
    (line,) = _sources.marked(str(path), 1, 99, 1, 5)
    assert line.width == 1
    assert _sources.marked(str(path), 99, 0, 99, 1) == []
    assert _sources.marked("gone.py", 1, 0, 1, 1) == []


def without_color(text: str) -> str:
    """Remove escape sequences."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_where_all_errors_are_hidden(new_project: NewProject) -> None:
    """That is no success either."""
    wrong = "import torch\ntorch.rand(2) + torch.rand(3)\n"
    files = {"a.py": wrong, "b.py": f"# type: ignore\n{wrong}", "c.py": "x = 1\n"}
    project = new_project(files, fake=False)
    hidden = (
        "Nothing is said of {} of {} files: `ignore_errors` in the settings, or `# type: ignore` "
        "on top of them, hides it\n"
    )
    check = "check", "--only-shapes"
    done = project.run(*check, "a.py", "b.py", module="shapecheck")
    assert done.stdout.endswith(f"tensor expressions are known\n{hidden.format(1, 2)}")
    assert done.returncode == 1
    project.write({"mypy.ini": "[mypy]\nignore_errors = True\n"})
    done = project.run(*check, "a.py", "c.py", module="shapecheck")
    assert done.stdout == f"No issues found in 2 source files\n{hidden.format(1, 2)}"
    done = project.run(*check, "c.py", module="shapecheck")
    assert done.stdout == "Success: no issues found in 1 source file\n"


def test_where_nothing_says_a_shape(new_project: NewProject) -> None:
    """That is no success; it is said beside what programs read, too, and the exit code stays 0."""
    bare = "import torch\n\ndef f(x):\n    return x.relu()\n\nasync def g() -> None: ...\n"
    said = "from shapecheck import Float\nimport torch\nx: Float[torch.Tensor, 'b'] | None = None\n"
    other = "def f(): ...\n"
    project = new_project({"bare.py": bare, "other.py": other, "said.py": said}, fake=False)
    advice = (
        "0 of 2 functions say a shape, so that only what their code shows is checked; "
        "`shapecheck annotate` can find and write them\n"
    )
    done = project.run("check", "bare.py", "other.py", module="shapecheck")
    assert done.stdout == f"No issues found in 2 source files\n{advice}"
    assert done.returncode == 0
    done = project.run("check", "bare.py", "--output", "json", module="shapecheck")
    assert (done.stdout, done.stderr, done.returncode) == ("", advice, 0)
    done = project.run("check", "bare.py", "said.py", module="shapecheck")
    assert done.stdout == "Success: no issues found in 2 source files\n"
    done = project.run("check", "other.py", module="shapecheck")
    assert done.stdout == "Success: no issues found in 1 source file\n"
