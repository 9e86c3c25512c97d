"""Cells of a real notebook: checked before they run, and run as if nothing were there."""

from __future__ import annotations

from pathlib import Path

from notebooks import outputs_of, ran, text_of

SCORES = (
    "def scores(q: Float[Tensor, 'b q d'], k: Float[Tensor, 'b k d']) -> Float[Tensor, 'b q k']:\n"
    "    return q @ k"
)
MULTIPLIED = (
    '"@" can\'t multiply (b q d) by (b k d): '
    "the inner dimensions are d (axis -1) and k (axis -2)  [shape]"
)
NOTES = (
    '  note: left operand "q" is (b q d) since line 1\n'
    '  note: right operand "k" is (b k d) since line 1\n'
    '  note: "k.transpose(-2, -1)" would give (b q k)'
)


def test_each_cell_is_checked_over_those_before_it(tmp_path: Path) -> None:
    """In the words of all other messages, at places in cells."""
    found = ran(
        tmp_path,
        SCORES,
        "a, b = torch.zeros(2, 3), torch.zeros(4, 5)",
        "print('before')\nc = a @ b",
        "net = nn.Linear(3, 4)\nnet(a).shape",
        "def apply(x):\n    return net(x)",
        "apply(b)",
        "a = a.T\nd = a @ a.T",
        "a.T @ a.T",
    )
    assert found[0] == (
        f"cell 2, line 2: error: {MULTIPLIED}\n    2 |     return q @ k\n      |            ^^^^^\n"
        f"{NOTES}"
    )
    assert found[1] == ""
    assert found[2].startswith(
        'cell 4, line 2: error: "@" can\'t multiply (2 3) by (4 5): the inner dimensions are 3 '
        "(axis -1) and 4 (axis -2)  [shape]\n    2 | c = a @ b\n      |     ^^^^^\n"
        '  note: left operand "a" is (2 3) since cell 3, line 1\n'
        '  note: right operand "b" is (4 5) since cell 3, line 1\n'
        "before\n"
    )
    assert found[3] == "torch.Size([2, 4])"
    assert found[4] == ""
    assert found[5].startswith(
        'cell 6, line 2: error: "net" can\'t take (4 5): axis -1 of "input" is 5, where 3 '
        "(in_features) is expected  [shape]\n    2 |     return net(x)\n"
        "      |            ^^^^^^\n"
        "  note: called at cell 7, line 1 with x (4 5)\n"
    )
    assert found[6] == ""
    assert 'error: "@" can\'t multiply (2 3) by (2 3)' in found[7]


def test_what_a_cell_may_hold_besides(tmp_path: Path) -> None:
    """Magics, the shell, questions, `await`, and what isn't Python run as they do without us."""
    (tmp_path / "other.py").write_text("x = 7\n")
    found = ran(
        tmp_path,
        "%precision 3\n!echo shell\nx = torch.zeros(2, 3)\nx.shape?",
        "%%time\ny = x @ x",
        "import asyncio\nawait asyncio.sleep(0)\nx @ x.T @ x",
        "%%capture\nx @ x.T",
        "this isn't Python",
        "%run other.py",
        "x @ x",
        "%%writefile made.txt\n1",
        "del x",
        "x @ x",
    )
    assert "shapecheck" not in "".join(found)
    assert found[0].splitlines()[0] == "shell"
    assert found[1].startswith("cell 3, line 2: error: ")
    assert [bool("error: " in one and "cell" in one.split("error: ")[0]) for one in found] == [
        *(False, True, False, False, False, False, False, False, False, False),
    ]
    assert "SyntaxError" in found[4]
    assert (tmp_path / "made.txt").read_text() == "1\n"


def test_a_definition_that_is_replaced_says_nothing_of_what_it_made(tmp_path: Path) -> None:
    net = (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.linear = nn.Linear({}, 4)\n"
        "    def forward(self, x):\n"
        "        return self.linear(x)"
    )
    found = ran(
        tmp_path,
        net.format(3),
        "net = Net()\nnet(torch.zeros(2, 3)).shape",
        net.format(5),
        "net(torch.zeros(2, 3)).shape",
        "net = Net()\nnet(torch.zeros(2, 5)).shape",
        "net(torch.zeros(2, 3)).shape",
    )
    assert found[:5] == ["", *(["torch.Size([2, 4])", ""] * 2)][:3] + ["torch.Size([2, 4])"] * 2
    assert found[5].startswith("cell 4, line 6: error: ")


def test_what_calls_decide_waits_for_them(tmp_path: Path) -> None:
    """A layer whose sizes are to be alike is wrong only where it is made of others."""
    residual = (
        "class Residual(nn.Module):\n"
        "    def __init__(self, width, out):\n"
        "        super().__init__()\n"
        "        self.linear = nn.Linear(width, out)\n"
        "    def forward(self, x):\n"
        "        return x + self.linear(x)"
    )
    found = ran(
        tmp_path,
        residual,
        "def build():\n    return Residual(4, 4)",
        "net = build()\nnet(torch.zeros(2, 4)).shape",
        "1",
    )
    assert found == ["", "", "torch.Size([2, 4])", "1"]
    found = ran(tmp_path, residual, "def build():\n    return Residual(4, 5)", "net = build()", "2")
    assert found[:2] == ["", ""]
    assert found[2].startswith('cell 2, line 6: error: "+" can\'t broadcast')
    assert found[3] == "2"


def test_errors_at_run_time_stand_in_cells_too(tmp_path: Path) -> None:
    call = "scores(torch.zeros(2, 3, 3), torch.zeros(2, 3, 3))"
    _, found = ran(tmp_path, "%shapecheck off", f"@shapecheck\n{SCORES}\n{call}")
    assert "<shapecheck" not in found
    assert "site-packages" not in found
    assert found.endswith(
        f"ShapeError: {MULTIPLIED}\n  at cell 3, line 3: return q @ k\n"
        + NOTES.replace("line 1", "line 2")
        + "\n  here b=2, q=3, d=3, k=3"
    )


def test_cells_with_an_error_are_held_back_where_that_is_asked_for(tmp_path: Path) -> None:
    found = ran(
        tmp_path,
        "%shapecheck hold",
        "print('ran')\ntorch.zeros(2, 3) @ torch.zeros(2, 3)",
        "print('ran')",
        "%shapecheck on",
        "print('ran')\ntorch.zeros(2, 3) @ torch.zeros(2, 3)",
        "%shapecheck off",
        "torch.zeros(2, 3) @ torch.zeros(2, 3)",
        "%shapecheck perhaps",
        "%shapecheck",
        "%unload_ext shapecheck",
        "%shapecheck",
    )
    assert found[0] == "shapecheck hold: each cell is checked, and one with an error isn't run"
    assert found[1].endswith("The cell wasn't run. %shapecheck on runs cells with errors, too.")
    assert "\nran" not in found[1]
    assert found[2] == "ran"
    assert "[shape]" in found[4]
    assert "\nran\n" in found[4]
    assert "[shape]" not in found[6]
    assert found[7] == "UsageError: %shapecheck takes on, off, hold or nothing, not 'perhaps'"
    assert found[8] == "shapecheck off: cells aren't checked"
    assert "UsageError" in found[10]


def test_what_a_notebook_shows_of_our_objects(tmp_path: Path) -> None:
    net = "nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(4)])"
    shown = outputs_of(
        tmp_path,
        f"trace({net})(torch.zeros(2, 3))",
        "from shapecheck.named import NamedTensor\nNamedTensor(torch.zeros(2, 3), 'b t')",
        f"@shapecheck\n{SCORES}\ntry:\n    scores(torch.zeros(2, 3, 3), torch.zeros(2, 3, 3))\n"
        "except TypeError as error:\n    kept = error\nkept",
        f"print(trace({net})(torch.zeros(2, 3)))",
    )
    trace, tensor, error = (outputs[-1].data["text/html"] for outputs in shown[:3])
    assert "0 to 3" in trace
    assert "4 x Sequential" in trace
    assert "<script" not in trace
    assert "cell 2, line 1" in trace
    assert "<b>(b=2, t=3)</b> float32, cpu" in tensor
    assert error.startswith("<pre")
    assert "cell 4, line 3" in error
    assert text_of(shown[3]).count("\n") > 8


def test_nothing_of_a_check_is_seen_by_the_program(tmp_path: Path) -> None:
    """The analysis isn't there, and neither are its folder, its limits and its names."""
    (found,) = ran(
        tmp_path,
        "import os, sys\n"
        "print(os.getcwd(), 'shapecheck.analysis.check' in sys.modules, Out)\n"
        "print(sys.getrecursionlimit(), [name for name in dir() if 'notebook' in name])",
    )
    assert found == f"{tmp_path} False {{}}\n1000 []"


def test_settings_that_are_wrong_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\nstrct = true\n")
    found = ran(tmp_path, "x = 1", "x = 2")
    assert found[0].startswith("shapecheck: cells aren't checked: ")
    assert "strct" in found[0]
    assert found[1] == ""
