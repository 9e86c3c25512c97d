"""A text tells by itself that it doesn't bind a name only where a parser says so too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from compilation import interpreted
from repository import ROOT

from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.analysis.program import modules
from shapecheck.analysis.program.reading import NOTED
from shapecheck.analysis.program.syntax import Syntax, syntax
from shapecheck.analysis.program.unparsed import Unparsed

BINDING = [
    "x = 1",
    "\tx = 1",
    "if a:\n    x = 1",
    "a = x = 1",
    "a, x = b",
    "[a, x] = b",
    "a, (x) = b",
    "*x, a = b",
    "a, * x = b",
    "x: int = 1",
    "x: int",
    "x += 1",
    "x//=1",
    "x @= 1",
    "def x(): ...",
    "async  def  x (): ...",
    "class x: ...",
    "class\tx(a): ...",
    "import x",
    "import a, x",
    "import x.a",
    "import x . a",
    "import a as x",
    "from a import x",
    "from a import x as x",
    "from a import (\n    b,\n    x,\n)",
    "from a import (  # all\n    b, x  # the last\n)",
    "from a import \\\n    x",
    "from a import b as \\\n    x",
    "for x in a: ...",
    "for a, x in b: ...",
    "for x[0], x in b: ...",
    "with a as x: ...",
    "with a as (b, x): ...",
    "a = 1; x = 2",
    "if a: x = 2",
    "try: ...\nexcept a: x = 1",
    "x \\\n  = 1",
    "x\\\n= 1",
    "x\f= 1",
    "from a import *",
    "from a import \\\n  *",
    "import a, x.b",
    "import \\\n x.b",
    "a = \\\n x = 1",
    "a =x= 1",
    "a = x \\\n = 1",
    "if a:\n    from b import*",
    "\uff58 = 1",
]
SILENT = [
    "",
    "y = 1",
    "xs = 1",
    "y = x",
    "y = x + 1",
    "y = f(x.a)",
    "y = x.a",
    "x.a = 1",
    "import a.x",
    "import x as y",
    "from x import y",
    "# x = 1 is what we had",
    '"""Of the x in it."""',
    "def y():\n    return x",
]


def source(text: str) -> Source:
    """Return a module with a text."""
    return Source("m", "m.py", text)


def leaves_out(text: str, name: str) -> bool:
    """Whether a text tells that it doesn't bind a name."""
    return Unparsed(source(text)).leaves_out(name)


@pytest.mark.parametrize("text", BINDING)
def test_what_may_be_bound_isnt_left_out(text: str) -> None:
    assert not leaves_out(text, "x")


@pytest.mark.parametrize("text", SILENT)
def test_what_is_only_spoken_of_is_left_out(text: str) -> None:
    assert leaves_out(text, "x")


def texts() -> Iterator[str]:
    """Yield real modules."""
    for path in sorted((ROOT / "shapecheck" / "analysis").rglob("*.py")):
        yield path.read_text("utf-8")


def test_a_parser_agrees_and_reads_the_same() -> None:
    count = 0
    for text in [*SILENT, *texts()]:
        parsed, unparsed = Syntax(source(text)), Unparsed(source(text))
        for word in {*re.findall(r"\w+", text), "absent"}:
            if not word.isidentifier():
                continue
            outer, NOTED.readings = NOTED.readings, set()
            try:
                if unparsed.leaves_out(word):
                    count += 1
                    assert not parsed.bound(word)
                    assert "*" not in parsed.bindings
                    assert len({(one.key, one.digest) for one in NOTED.readings}) == 1
            finally:
                NOTED.readings = outer
    assert count > 10_000


class World:
    """A host with modules in memory."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def source(self, module: str) -> Source | None:
        """Return a module."""
        text = self.texts.get(module)
        return None if text is None else Source(module, f"{module}.py", text)


@interpreted
def test_a_package_that_imports_all_it_has_is_parsed_as_far_as_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []

    def noted(source: Source) -> Syntax:
        parsed.append(source.name)
        return syntax(source)

    monkeypatch.setattr(modules, "syntax", noted)
    user = Source(
        "user", "user.py", "import torch\nfrom pack import wide\nwide(torch.zeros(2, 3))\n"
    )
    pack = {
        "pack": "from pack.a import *\nfrom pack.b import *\nfrom pack.c import *\n",
        "pack.a": "import torch\n\ndef wide(x):\n    return x @ x\n",
        "pack.b": "def narrow(x):\n    return wide(x)\n",
        "pack.c": "from pack.d import *\n",
        "pack.d": "wider = 1\n",
    }
    (error, *_) = analyze_module(user, World(pack), Options())
    assert "can't multiply" in error.message
    assert parsed == ["user", "pack", "pack.c", "pack.a"]
