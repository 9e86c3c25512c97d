"""Follows docs/developers/adding_an_op.md, "Add a torch op", word by word in a copy of the project.

Each block that names a file is put where it says, in the order of the page. No test imports the
rule: it is found by its place, or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import test_docs
from repository import ROOT

PAGE: Final = ROOT / "docs" / "developers" / "adding_an_op.md"
SECTION: Final = "## Add a torch op"
ANALYSE: Final = """\
import sys
from pathlib import Path
import shapecheck, test_docs
from shapecheck.analysis import Options
assert Path(shapecheck.__file__).is_relative_to(Path.cwd()), shapecheck.__file__
sys.stdout.write(test_docs.analysed(sys.stdin.read(), "example.py", Options()))
"""


def test_the_page_is_followed_word_by_word(tmp_path: Path) -> None:
    """What the page says of its example is so once its files are where it puts them."""
    for folder in ("shapecheck", "stubs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    outputs, tests = [], []
    blocks = section()
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind in ("python", "pyi") and block.name is not None:
            path = tmp_path / block.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
            tests += [block.name] if block.name.startswith("tests/") else []
        elif block.kind == "python":
            expected = following.text if following and following.kind == "text" else ""
            printed = run(tmp_path, "-c", ANALYSE, given=block.text)
            assert printed == expected, f"{PAGE.name}:{block.line}"
            outputs.append(printed)
    assert len(outputs) > 1, "the page has no example to follow"
    assert tests, "the page has no test"
    options = ("-q", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider")
    assert " passed" in run(tmp_path, "-m", "pytest", *options, *tests)


def test_the_page_puts_its_rule_among_the_rules() -> None:
    """The rule's file is in a folder of `shapecheck/ops/` that exists; the page names no other."""
    rules = [b.name for b in section() if b.name and b.name.startswith("shapecheck/")]
    assert len(rules) == 1
    assert re.fullmatch(r"shapecheck/ops/\w+/\w+\.py", rules[0])
    assert (ROOT / rules[0]).parent.is_dir()
    assert not (ROOT / rules[0]).exists()


def section() -> list[test_docs.Block]:
    """Return the blocks of the worked example."""
    lines = PAGE.read_text("utf-8").splitlines()
    begin = lines.index(SECTION)
    end = next(n for n, line in enumerate(lines) if n > begin and line.startswith("## "))
    return [block for block in test_docs.read(PAGE) if begin < block.line < end]


def run(copy: Path, *arguments: str, given: str = "") -> str:
    """Run Python on the copy, and return what it prints."""
    path = os.pathsep.join([str(copy), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
