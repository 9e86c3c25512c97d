"""The digest of what is read of a definition: another one exactly where it says something else."""

from __future__ import annotations

import ast
import sys
import textwrap

import pytest

from shapecheck.analysis import Source, digest_of
from shapecheck.analysis.program.syntax import Lines

BODY = '''
total = add(
    first,
    second,
    "a # in a string",
    f"{first} and {{second}}",
    """
    # in a text
    """,
)
match total:
    case 1:
        if first:
            pass
        return second
'''


def digest(body: str) -> str:
    """Return the digest of a function's body."""
    text = f"def f(first, second):\n{textwrap.indent(body, '    ')}"
    return digest_of(Source("one", "one.py", text), "body f")


SAME = {
    "a comment in a statement": ("    first,\n", "    first,  # the first\n"),
    "a comment on a line of its own": ("    second,\n", "    # next\n    second,\n"),
    "an empty line": ("    second,\n", "\n\n    second,\n"),
    "another indentation": ("    second,\n", "          second,\n"),
    "a docstring": ("total = add(", '"""What it does."""\ntotal = add('),
    "a comment in a case": ("    case 1:\n", "    # one\n    case 1:\n"),
}
OTHER = {
    "what looks like a comment in a string": ("a # in", "a  # in"),
    "what looks like a comment in a text": ("    # in a text", "    # in the text"),
    "the indentation in a text": ("    # in a text", "  # in a text"),
    "the braces of a text": ("{{second}}", "{second}"),
    "what belongs to a condition": ("        return second", "            return second"),
    "a string that is used": ("total = add(", 'text = """What it does."""\ntotal = add('),
}


@pytest.mark.parametrize("name", SAME)
def test_what_says_the_same(name: str) -> None:
    assert BODY.count(SAME[name][0]) == 1
    assert digest(BODY.replace(*SAME[name])) == digest(BODY)


@pytest.mark.parametrize("name", OTHER)
def test_what_says_something_else(name: str) -> None:
    assert BODY.count(OTHER[name][0]) == 1
    assert digest(BODY.replace(*OTHER[name])) != digest(BODY)


def test_what_is_spelled_is_what_is_parsed() -> None:
    """A statement without what doesn't count is the same to Python."""
    path = sys.modules[textwrap.__name__].__file__
    assert path is not None
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        text = f"{file.read()}\n{BODY.replace('return second', 'pass')}"
    lines, count = Lines(text), 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Assign, ast.Return, ast.Expr)) and node.lineno != node.end_lineno:
            (again,) = ast.parse(lines.spelled(node)).body
            assert ast.dump(again) == ast.dump(node)
            count += 1
    assert count > 5


def test_a_message_leaves_comments_out() -> None:
    text = "f(\n    a,  # one\n    # two\n    b,\n)\n"
    (statement,) = ast.parse(text).body
    assert Lines(text).segment(statement) == "f(a, b,)"
