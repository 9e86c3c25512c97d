"""Operations by name on what functions gave: by the names of those functions, on both sides."""

from __future__ import annotations

import contextlib
import io
import linecache
import tempfile
from pathlib import Path

import pytest
from lone_program import said_of

from shapecheck import ShapeError

HEAD = """\
import torch
from dataclasses import dataclass
from shapecheck import Float, dims_of, named, names, shapecheck
from shapecheck.named import NamedTensor
from torch import Tensor, nn

@shapecheck
def encode(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    return x * 2

@shapecheck
def embed(x: Float[Tensor, "m e"]) -> Float[Tensor, "m e"]:
    return x * 2

@shapecheck
def halves(x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n d"], list[Float[Tensor, "d n"]]]:
    return x * 2, [x.T, x.T]

@shapecheck
def untold(x: Float[Tensor, "n d"]) -> Tensor:
    return x * 2

@shapecheck
class Cell(nn.Module):
    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        self.state = x.tanh()
        return self.state

def total(x, name):
    return named.sum(x, name)

y, z, cell = encode(torch.rand(4, 6)), embed(torch.rand(4, 6)), Cell()
"""

# What is computed, and what its dimensions are called at run time.
RIGHT = {
    'named.order(y, "d n")': ("d", "n"),
    'named.sum(named.order(y, "d n"), "n")': ("d",),
    'named.rename(y, k="n")': ("k", "d"),
    'named.sum(named.rename(y, k="n"), "k")': ("d",),
    'named.softmax(z, "e")': ("m", "e"),
    'named.dot(y, encode(torch.rand(5, 6)), "d")': ("n", "n"),
    'named.dot(y, named(torch.rand(4, 6), "n d"), "d")': ("n",),
    'named.cat([y, encode(torch.rand(5, 6))], "n")': ("n+n", "d"),
    'named.align(y, named(torch.rand(4), "n"))[1]': ("n", None),
    'named.op(y, nn.Linear(6, 3), e="d")': ("n", "e"),
    'named.sum(named.op(y, nn.Linear(6, 3), e="d"), "e")': ("n",),
    'named.order(halves(torch.rand(4, 6))[0], "d n")': ("d", "n"),
    'named.order(encode(named(torch.rand(4, 6), "b t")), "d n")': ("d", "n"),
    'named.order(encode(torch.rand(4, 6, requires_grad=True)), "d n")': ("d", "n"),
    'total(y, "n")': ("d",),
    'NamedTensor(y).sum("n").tensor': ("d",),
    "(NamedTensor(y) + NamedTensor(z)).tensor": ("m", "e", "n", "d"),
    '(NamedTensor(y) + NamedTensor(named(torch.rand(6), "d"))).tensor': ("n", "d"),
    'NamedTensor(y).relu().mul(2)[{"n": 0}].tensor': ("d",),
    # No other op goes by these names.
    "y + z": (None, None),
    'named.order(y, "d n") + z.T': (None, None),
    'named.order(y, "d n") + named.order(z, "e m")': (None, None),
    "y @ z.T": (None, None),
    "NamedTensor(y).tensor + z": (None, None),
    "torch.nn.functional.mse_loss(y, z)": (),
    # What outlives a call has the names that it had there.
    '(cell(torch.rand(4, 6)), named.sum(cell.state, "n"))[1]': ("d",),
}

# Where names are carried outside of calls.
CARRIED = {
    'named.order(y, "d n")': ("d", "n"),
    'named.order(encode(named(torch.rand(4, 6), "b t")), "t b")': ("t", "b"),
    "y + z": (None, None),
}

# What is wrong, and what both sides say.
WRONG = {
    'named.order(y, "d m")': ('"named.order" has no dimension "m" in (n d): it has "n" and "d"'),
    'named.sum(named.order(y, "d n"), "b")': (
        '"named.sum" has no dimension "b" in (d n): it has "d" and "n"'
    ),
    'named.dot(y, z, "d")': (
        '"named.dot" has no dimension "d" in operand 1 (m e): it has "m" and "e"'
    ),
    'NamedTensor(y).sum("m")': '"sum" has no dimension "m" in (n d): it has "n" and "d"',
    'named.sum(torch.rand(4, 6), "n")': (
        '"named.sum" has no dimension "n" in (4 6): none of its dimensions has a name; '
        'named(x, "...") gives names'
    ),
    'total(torch.rand(4, 6), "n")': (
        '"named.sum" has no dimension "n" in (4 6): none of its dimensions has a name; '
        'named(x, "...") gives names'
    ),
}

INSIDE = """\
@shapecheck
def inside(x: Float[Tensor, "4 6"]) -> None:
    named.order(encode(x), "d n")


inside(torch.rand(4, 6))
"""


def outcome(text: str) -> object:
    """Return what a program leaves as `found`, or the first line of its error."""
    with tempfile.TemporaryDirectory(prefix="shapecheck-results-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, "utf-8")
        linecache.checkcache(str(path))
        variables: dict[str, object] = {"__name__": "program", "__file__": str(path)}
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(text, str(path), "exec"), variables)
            except ShapeError as error:
                return str(error).partition("  [shape")[0]
    return variables["found"]


def errors(text: str) -> list[str]:
    """Return the errors that the static side tells of a program."""
    return [one.message for one in said_of(text) if one.severity == "error"]


SCRIPT = "found = dims_of({})\n"
FUNCTION = "def run():\n    return dims_of({})\n\nfound = run()\n"


@pytest.mark.parametrize("form", [SCRIPT, FUNCTION], ids=["script", "function"])
@pytest.mark.parametrize("expression", RIGHT)
def test_results_are_found_by_the_names_of_their_functions(expression: str, form: str) -> None:
    text = HEAD + form.format(expression)
    assert errors(text) == []
    assert outcome(text) == RIGHT[expression]


@pytest.mark.parametrize("expression", CARRIED)
def test_results_where_names_are_carried(expression: str) -> None:
    text = (
        HEAD.replace("\ny, z", "\nnames.on()\ny, z") + f"{SCRIPT.format(expression)}names.off()\n"
    )
    assert errors(text) == []
    assert outcome(text) == CARRIED[expression]


@pytest.mark.parametrize("form", [SCRIPT, FUNCTION], ids=["script", "function"])
@pytest.mark.parametrize("expression", WRONG)
def test_other_names_are_refused(expression: str, form: str) -> None:
    text = HEAD + form.format(expression)
    assert [one.partition("\n")[0] for one in errors(text)] == [WRONG[expression]]
    assert outcome(text) == WRONG[expression]


@pytest.mark.parametrize(
    "expression", ['named.order(untold(torch.rand(4, 6)), "d n")', "named.sum(cell.state, 'n')"]
)
def test_nothing_is_said_where_it_is_not_known_what_dimensions_are_called(expression: str) -> None:
    assert errors(f"{HEAD}cell(torch.rand(4, 6))\n{expression}\n") == []


def test_a_result_that_has_two_names_is_found_by_none_but_these() -> None:
    text = HEAD + 'named.order(encode(named(torch.rand(4, 6), "b t")), "k n")\n'
    assert errors(text) == [
        '"named.order" has no dimension "k" in (b t): it has "b" and "t"',
    ]


def test_inside_of_a_call_they_are_those_of_the_call() -> None:
    said = (
        '"named.order" has no dimension "d" in (4 6): none of its dimensions has a name; '
        'named(x, "...") gives names'
    )
    assert errors(HEAD + INSIDE) == [said]
    assert outcome(HEAD + INSIDE) == said
