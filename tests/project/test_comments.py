"""Comments that ignore errors are those that mypy's parser takes for such."""

from __future__ import annotations

import pytest
from ast_serialize import parse

from shapecheck.project.comments import ignores

LINES = """\
x = 1  # type: ignore
x = 1  #type:ignore
x = 1  #\ttype:\tignore\t
x = 1  # type: ignore[a]
x = 1  # type: ignore [a, b,, c] # why
x = 1  # type: ignore[a]# why
x = 1  # type: ignore[]
x = 1  # type: ignore  # noqa
x = 1  # type: ignore# noqa
x = 1  # type: int  # type: ignore[a]
x = 1  # type: ignore noqa
x = 1  # type: ignore[a] noqa
x = 1  # type: ignore[a
x = 1  # type: ignore]
x = 1  # type: ignored
x = 1  # type: ignore-this
x = 1  # type : ignore
x = 1  # TYPE: ignore
x = 1  ## type: ignore
x = 1  # noqa # type: ignore
x = 1  # type: int # noqa # type: ignore
x = "# type: ignore"
x = '\\'# type: ignore'  # type: ignore[a]
x = r"\\" # type: ignore[a] "
x = f"{1}# type: ignore"  # type: ignore[b]
x = b"" "" # type: ignore[c]
""".splitlines()
TEXTS = [
    "import os\n" + "\n".join(LINES) + "\n",
    "x = 1\n\"\"\"\n# type: ignore\n\"\"\"  # type: ignore[a]\n''' # type: ignore\n'''\n",
    "x = (\n  1 +  # type: ignore[a]\n  # type: ignore[b]\n  2\n)\r\ny = 1  # type: ignore\r\n@f\n"
    "def g(): ...  # type: ignore[b]\n",
    "#!python\n\n  # type: ignore[a]\n@f\ndef g(): ...\n",
    '"""Text."""\n# type: ignore\nimport os\n',
    "# type: ignore",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_comments_as_mypy_reads_them(text: str) -> None:
    """The same lines and codes; the one that is about the module isn't among them."""
    found = ignores(text)
    lines = {line: [*codes] for line, codes in found.ignored.items() if line != found.above}
    assert lines == dict(parse("", text)[2])


@pytest.mark.parametrize(
    ("text", "hides"),
    [
        ("# type: ignore\nimport os\n", True),
        ("\n# why\n# type: ignore  # noqa\nx = 1\n", True),
        ("# type: ignore[shape]\nx = 1\n", False),
        ('"""Text."""\n# type: ignore\nx = 1\n', False),
        ("x = 1  # type: ignore\n", False),
        ("x = 1\n", False),
    ],
)
def test_a_comment_about_a_module(text: str, hides: bool) -> None:
    """It stands before all statements, of which a docstring is one, and has no codes."""
    assert ignores(text).hide_all is hides
