"""What is known of the cells that have run, and what isn't any more."""

from __future__ import annotations

import pytest

from shapecheck.notebook.past import Past


def past_of(*cells: str) -> Past:
    past = Past()
    for number, text in enumerate(cells, 1):
        past.add(number, text)
    return past


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x = 1\n# said\n\ny = 2\n", "z = x"], "x = 1\ny = 2\nz = x\n"),
        (["x = 1; y = 2\n"], "x = 1; y = 2\n"),
        (["@once\ndef f():\n    return 1\n"], "@once\ndef f():\n    return 1\n"),
        # A variable that has another value is that of the last cell, as in a module.
        (["x = 1", "x = x + 1", "x = x + 1"], "x = 1\nx = x + 1\nx = x + 1\n"),
        # The same definition once more changes nothing.
        (["import torch", "import torch"], "import torch\nimport torch\n"),
        (
            ["class Net: ...", "net = Net()", "class Net: ..."],
            "class Net: ...\nnet = Net()\nclass Net: ...\n",
        ),
        # What an earlier definition has made is of that one.
        (
            ["class Net: ...", "net = Net()\nx = 1", "class Net: size = 2"],
            "net = __unknown__\nx = 1\nclass Net: size = 2\n",
        ),
        (
            ["def f(): ...", "def g(): f()", "y = g()\nz = y", "def f(): return 1"],
            "def g(): f()\ny = __unknown__\nz = __unknown__\ndef f(): return 1\n",
        ),
        (
            ["def f(): ...", "some = []\nsome.append(f())", "f = 2"],
            "some = []\nsome = __unknown__\nf = 2\n",
        ),
        # An import in other words is the same one.
        (
            [
                "import torch\nfrom torch import nn",
                "x = nn.f()",
                "import torch.nn as nn, torch, os",
            ],
            "import torch\nfrom torch import nn\nx = nn.f()\nimport torch.nn as nn, torch, os\n",
        ),
        (
            ["from m import *", "x = f()", "from m import *"],
            "from m import *\nx = f()\nfrom m import *\n",
        ),
        (["from a import f, g", "from b import f"], "g = __unknown__\nfrom b import f\n"),
    ],
)
def test_the_text_of_what_has_run(cells: list[str], expected: str) -> None:
    assert past_of(*cells).text() == expected


@pytest.mark.parametrize(
    ("cell", "failed_at", "expected"),
    [
        ("x = 1\ny = 2\nz = 3", 2, "x = 1\ny = __unknown__\n"),
        ("x = []\nfill(x)\nz = 3", 2, "x = []\nx = __unknown__\n"),
        ("x = 1\nfor y in z:\n    x = f(y)\nw = 1", 3, "x = 1\nx = y = __unknown__\n"),
        ("import torch\ntorch.zeros(-1)\n", 2, "import torch\n"),
        ("x = 1\ny = 2", 0, "x = __unknown__\n"),
    ],
)
def test_a_cell_that_failed_has_run_up_to_there(cell: str, failed_at: int, expected: str) -> None:
    past = Past()
    past.add(1, cell, failed_at)
    assert past.text() == expected


def test_what_is_seen_to_be_the_same_is_still_known() -> None:
    past = past_of("x = make()\ny = make()")
    past.add(2, "show(x, y)", failed_at=1, unaltered={"x"})
    assert past.text() == "x = make()\ny = make()\ny = __unknown__\n"


def test_a_cell_is_checked_over_what_holds_with_it() -> None:
    past = past_of("def f(): ...", "x = f()\ny = 1")
    assert past.before("def f(): return 2").text() == "x = __unknown__\ny = 1\n"
    assert past.text() == "def f(): ...\nx = f()\ny = 1\n"


def test_a_long_past_keeps_its_definitions_and_its_end() -> None:
    past = past_of("import torch\ndef f(): ...", "a = 1\nb = 2\nc = 3", "a = 4\nd = 5")
    past.shorten(2)
    assert past.text() == "import torch\ndef f(): ...\na = b = c = __unknown__\na = 4\nd = 5\n"
    assert past.length == 3


def test_lines_are_those_of_the_cells() -> None:
    past = past_of("import torch\n\nx = 1", "y = (\n    2\n)\n")
    assert past.places() == [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)]
