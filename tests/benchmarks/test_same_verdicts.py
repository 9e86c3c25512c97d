"""The command that compares two commits tells each program of which they don't say the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS
from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import same  # type: ignore[import-not-found]
from same import differences
from sameness.asking import _shapes  # type: ignore[import-not-found]
from sameness.heard import PASSING, lasting  # type: ignore[import-not-found]
from sameness.programs import Project, projects  # type: ignore[import-not-found]
from sameness.trees import ANSWERING, Answers, Tree, made  # type: ignore[import-not-found]


def test_programs_that_draw_the_same_are_not_told() -> None:
    assert list(differences({"a": "1: wrong", "b": ""}, {"a": "1: wrong", "b": ""}, False)) == []


def test_each_line_that_differs_is_told_below_its_program() -> None:
    before = {"a": "1: wrong\n2: odd", "b": "", "gone": "3: wrong", "quiet": ""}
    now = {"a": "1: wrong\n2: even", "b": "", "new": "4: wrong", "also quiet": ""}
    assert list(differences(before, now, False)) == [
        "~ a",
        "    -2: odd",
        "    +2: even",
        "~ gone: only before",
        "    -3: wrong",
        "~ new: only now",
        "    +4: wrong",
    ]


def test_long_differences_are_cut_unless_all_is_asked_for() -> None:
    now = "\n".join(str(line) for line in range(12))
    cut = list(differences({"a": ""}, {"a": now}, False))
    assert cut[-1] == "    ... and 4 more lines"
    assert len(list(differences({"a": ""}, {"a": now}, True))) == 13


def test_a_line_that_looks_like_the_head_of_a_diff_is_told() -> None:
    assert list(differences({"a": "--x"}, {"a": "++x"}, False)) == ["~ a", "    ---x", "    +++x"]


def test_what_was_compared_is_told_first() -> None:
    before = Answers({"a": "1: wrong", "b": ""}, projects=2, kept=2, seconds=0.1)
    now = Answers({"a": "1: wrong", "b": ""}, projects=2, kept=1, seconds=7.4)
    assert list(same.told("analysis", before, now, False)) == [
        "analysis: 2 programs in 2 projects (before: kept, now: 7 s, 1 project kept): the same"
    ]
    now = Answers({"a": "1: odd", "b": ""}, projects=1, kept=0, seconds=7.4)
    assert list(same.told("runtime", before, now, False)) == [
        "runtime: 2 tests (before: kept, now: 7 s): 1 differs",
        "  ~ a",
        "      -1: wrong",
        "      +1: odd",
    ]


# What is asked ----------------------------------------------------------------------------------


def test_the_programs_are_those_of_the_working_tree(tmp_path: Path) -> None:
    member = tmp_path / "corpus" / "member"
    member.mkdir(parents=True)
    (member / "net.py").write_text("import torch\n", "utf-8")
    (tmp_path / "corpus" / "empty").mkdir()
    found = {one.name: one for one in projects(tmp_path / "corpus", tmp_path / "cases")}
    assert {"examples", "corpus/member", "cases/basics", "cases/strict (strict)"} <= found.keys()
    assert "corpus/empty" not in found
    assert found["corpus/member"].count == 1
    assert [one.name for one in found.values() if one.strict] == [
        name for name in found if name.endswith(" (strict)")
    ]
    assert sum(one.count for one in found.values() if one.name.startswith("cases/")) > 1000
    program = next((tmp_path / "cases" / "basics").iterdir()).read_text("utf-8")
    assert "import torch" in program
    assert "# E: " not in program  # a mark is no part of a program


def test_a_project_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "corpus" / "member").mkdir(parents=True)
    path = tmp_path / "corpus" / "member" / "net.py"

    def digest() -> str:
        found = projects(tmp_path / "corpus", tmp_path / "cases")
        return str(next(one.digest for one in found if one.name == "corpus/member"))

    path.write_text("import torch\n", "utf-8")
    first = digest()
    assert digest() == first
    path.write_text("import torch \n", "utf-8")
    assert digest() != first
    path.write_text("import torch\n", "utf-8")
    path.rename(path.with_name("other.py"))
    assert digest() != first


def test_what_a_page_shows() -> None:
    page = (
        '<p>no shape</p>\n    <i class="q">f"{<i class="s known" data-s="b t">x</i>}"</i>\n'
        '<i class="s unknown">a &lt; b</i>\n<i class="k">def</i> f():'
    )
    assert _shapes(page) == 'f"{[known b t| x]}"\n[unknown None| a < b]'


# What passes ------------------------------------------------------------------------------------


def test_what_differs_from_run_to_run_is_left_out() -> None:
    said = "<f at 0x7f00aa11bb22> in /tmp/pytest-of-me/a.py took 1.25 seconds for 2.5 m"
    assert PASSING.sub("", said) == "<f at > in  took seconds for 2.5 m"


def test_an_error_shows_its_lines_wherever_they_are(tmp_path: Path) -> None:
    program, error = (
        "x = a + b\n",
        '"torch.add" ... [shape]\n  at {}:{}: x = a + b\n  note: line {}',
    )
    (tmp_path / "one.py").write_text(program, "utf-8")
    (tmp_path / "two.py").write_text("\n\n" + program, "utf-8")
    shown = lasting(error.format(tmp_path / "one.py", 1, 1))
    assert shown == '"torch.add" ... [shape]\n  at <x = a + b>: x = a + b\n  note: line <x = a + b>'
    assert lasting(error.format(tmp_path / "two.py", 3, 3)) == shown


def test_an_error_without_a_place_is_shown_as_it_is() -> None:
    assert lasting("wrong since line 7  [shape]") == "wrong since line 7  [shape]"


# Trees ------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one wrong program."""
    folder = tmp_path / "corpus" / "member"
    folder.mkdir(parents=True)
    (folder / "net.py").write_text(
        "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
        'def f(x: Float[Tensor, "a b"]) -> Float[Tensor, "b a"]:\n    return x\n',
        "utf-8",
    )
    (found,) = (
        one for one in projects(folder.parent, tmp_path / "cases") if one.name == "corpus/member"
    )
    return found


def tree(folder: Path, tmp_path: Path, seed: int = 0, keeps: bool = True) -> Tree:
    return Tree("it", folder, tmp_path / "cache", seed, keeps)


WRONG = 'returned value "x" is (a b), declared "b a": axis 0 is a, declared b  [shape]'
CHANGED = """

from dataclasses import replace
_said = analyze_module
def analyze_module(source, host, options):
    found = _said(source, host, options)
    return [replace(one, message=one.message.replace("declared", "promised")) for one in found]
"""


def copied(tree: Path, folder: Path) -> None:
    for name in ANSWERING:
        shutil.copytree(tree / name, folder / name)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A tree whose analysis says it in another word."""
    copied(ROOT, tmp_path / "changed")
    with (tmp_path / "changed" / "shapecheck" / "analysis" / "__init__.py").open("a") as out:
        out.write(CHANGED)
    return tmp_path / "changed"


def test_a_tree_is_asked_once(tmp_path: Path, project: Project) -> None:
    first = tree(ROOT, tmp_path).answers("analysis", [project])
    again = tree(ROOT, tmp_path).answers("analysis", [project])
    assert (first.kept, again.kept, again.projects) == (0, 1, 1)
    assert first.said == again.said
    assert "returned value" in first.said["corpus/member/net.py"]


def test_another_seed_is_asked_apart_and_says_the_same(tmp_path: Path, project: Project) -> None:
    for kind in ("analysis", "annotate", "coverage"):
        before = tree(ROOT, tmp_path).answers(kind, [project])
        now = tree(ROOT, tmp_path, seed=1).answers(kind, [project])
        assert (now.kept, now.said) == (0, before.said)


def test_what_is_not_committed_is_not_kept(tmp_path: Path, project: Project) -> None:
    for _ in range(2):
        assert tree(ROOT, tmp_path, keeps=False).answers("analysis", [project]).kept == 0


def test_what_is_made_by_running_a_tree_is_no_part_of_it() -> None:
    assert made(Path("runtime/_lookup.cpython-311-x86_64-linux-gnu.so"))
    assert made(Path("runtime/__pycache__/api.cpython-311.pyc"))
    assert not made(Path("runtime/_lookup.c"))


# The command ------------------------------------------------------------------------------------


def run(
    monkeypatch: pytest.MonkeyPatch, project: Project, now: Path, cache: Path, *arguments: str
) -> int:
    """Compare this tree with another on one project."""
    monkeypatch.setattr(same, "projects", lambda corpus, scratch: [project])
    monkeypatch.setattr(
        same, "laid_out", lambda commit, folder: copied(now if commit else ROOT, folder)
    )
    options = ["--against", "", "--now", "changed", "--only", "analysis", "--cache", str(cache)]
    monkeypatch.setattr(sys, "argv", ["same.py", *options, *arguments])
    return int(same.main())


def test_a_difference_is_found_and_shown_whole(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    project: Project,
    changed: Path,
) -> None:
    assert run(monkeypatch, project, changed, tmp_path / "cache") == 1
    head, *rest = capsys.readouterr().out.splitlines()
    assert re.sub(r"\d+ s", "N s", head) == (
        "analysis: 1 program in 1 project (before: N s, now: N s): 1 differs"
    )
    assert rest == [
        "  ~ corpus/member/net.py",
        f"      -7:12-7:13: error: {WRONG}  | return x",
        f"      +7:12-7:13: error: {WRONG.replace('declared', 'promised')}  | return x",
        "something differs",
    ]


def test_sameness_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    project: Project,
) -> None:
    assert run(monkeypatch, project, ROOT, tmp_path / "cache", "--hash-seed", "3") == 0
    said = re.sub(r"\d+ s", "N s", capsys.readouterr().out)
    assert said == (
        "analysis: 1 program in 1 project (before: N s, now: N s): the same\nthe same\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "no-such-commit"], "there is no commit no-such-commit to compare with"),
        (["--now", "no-such-commit"], "there is no commit no-such-commit to compare with"),
        (["--corpus", "/no/such/folder"], "there is no folder /no/such/folder"),
        (["--corpus", __file__], f"there is no folder {__file__}"),
    ],
)
def test_what_cannot_be_compared_is_told(arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "same.py"), "--only", "analysis", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"same: {said}\n")
