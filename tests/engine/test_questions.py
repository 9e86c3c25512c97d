"""After an edit, another process asks what was asked of what was edited, and mostly no more."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from compilation import IS_COMPILED

from shapecheck.analysis import Diagnostic, Options, ask_again
from shapecheck.analysis.interpreter import budget, inlining
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.engine import Database, Engine, ModuleRecord, Store
from tests.engine.test_engine import HEAD, Shelf, noted

LAYERS = f"""{HEAD}
WIDTH = 4

def halves(x):
    first, second = x.chunk(2, dim=1)
    return first, second

class Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.shifted(x) * self.weight

    def shifted(self, x):
        if x.ndim == 2:
            return x
        return x.flatten(1)

def kept(items):
    for item in items:
        item = item + 1
    return items
"""
MODEL = f"""{HEAD}
from layers import Scale, halves, kept

def left(x: Float[Tensor, "b 8"]) -> Float[Tensor, "b 4"]:
    return halves(x)[0]

def scaled(x: Float[Tensor, "b 8"]) -> Float[Tensor, "b 8"]:
    return Scale(8)(x)

def every(x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    return kept([x, x])[0]

class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = Scale(width)

    def forward(self, x: Float[Tensor, "b width"]) -> Float[Tensor, "b width"]:
        return self.scale(x)
"""
TEXTS = {"layers": LAYERS, "model": MODEL}


@contextmanager
def ran() -> Iterator[list[str]]:
    """Note which functions are run for what a call of them gives."""
    names: list[str] = []
    run = inlining._run

    def noting(frame: Frame, call: inlining._Call, *others: Any) -> Any:
        names.append(call.function.name)
        return run(frame, call, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inlining, "_run", noting)
        yield names


class Processes:
    """One process after the other, each with an engine of its own and what is kept by all.

    `ran` are the functions that the last one has run, which what is compiled doesn't tell.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.texts = dict(TEXTS)

    def edit(self, old: str, new: str, module: str = "layers") -> None:
        """Put one text in the place of another, which is there once."""
        assert self.texts[module].count(old) == 1
        self.texts[module] = self.texts[module].replace(old, new)

    def check(self) -> list[str]:
        """Check all in another process; return which parts the analysis was asked of.

        What is said is what is said where nothing was kept.
        """
        engine = Engine(Shelf(self.texts), Options(), Store(Database(self._folder), "maker"))
        with noted() as asked, ran() as self.ran:
            said = {name: [*engine.check(name)] for name in self.texts}
        afresh = Engine(Shelf(self.texts), Options())
        self.said = []
        for name in self.texts:
            assert [*map(_told, said[name])] == [*map(_told, afresh.check(name))]
            self.said += [one.message for one in said[name]]
        return asked


def _told(one: Diagnostic) -> tuple[object, ...]:
    """Return what is told of a diagnostic: all but which lines of others it led through."""
    return one.span, one.message, one.severity, one.code


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    """A program that was checked by one."""
    found = Processes(tmp_path)
    assert len(found.check()) == 14
    assert found.check() == found.said == []
    return found


SAME = {
    "a function": ("    first, second = x", "    unused = 1\n    first, second = x", "halves"),
    "a method": ("        if x.ndim == 2:", "        if 2 == x.ndim:", "Scale.shifted"),
    "a constructor": (
        "        self.weight = nn.Parameter(torch.ones(width))",
        "        ones = torch.ones(width)\n        self.weight = nn.Parameter(ones)",
        "Scale.__init__",
    ),
    "a loop": ("        item = item + 1", "        item = item + 2", "kept"),
    "what takes a few steps more": (
        "    return first, second",
        "    for name in ('a', 'b'):\n        name = name + 'c'\n    return first, second",
        "halves",
    ),
}


@pytest.mark.parametrize(("old", "new", "part"), SAME.values(), ids=SAME)
def test_what_gives_the_same(processes: Processes, old: str, new: str, part: str) -> None:
    """Nobody who calls it is checked again: neither here, nor after the edit is taken back."""
    processes.edit(old, new)
    asked = processes.check()
    assert f"layers: {part}" in asked
    assert not [one for one in asked if one.startswith("model")]
    assert processes.check() == []


OTHER: dict[str, tuple[str, str, list[str]]] = {
    "a function": ("x.chunk(2, dim=1)", "x.chunk(2, dim=0)", ["left"]),
    "a method": ("x.flatten(1)", "x.flatten(0)", []),
    "a method that is called": (
        "        if x.ndim == 2:\n            return x\n",
        "        if x.ndim == 2:\n            return x[:, 1:]\n",
        ["scaled", "Net.forward"],
    ),
    "what is changed": (
        "    return items",
        "    items[0] = items[0].T\n    return items",
        ["every"],
    ),
}


@pytest.mark.parametrize(("old", "new", "callers"), OTHER.values(), ids=OTHER)
def test_what_gives_something_else(
    processes: Processes, old: str, new: str, callers: list[str]
) -> None:
    """Those who get it are checked again, and say what a check of all would."""
    processes.edit(old, new)
    asked = [one.removeprefix("model: ") for one in processes.check() if one.startswith("model")]
    assert asked == callers
    assert bool(processes.said) is bool(callers)
    processes.edit(new, old)
    processes.check()
    assert processes.said == []


def test_an_edit_after_the_other(processes: Processes) -> None:
    """What was asked again is asked from then on; what was taken at first goes on to count."""
    text = "    return first, second"
    for number in range(6):
        processes.edit(text, f"    unused_{number} = {number}\n{text}")
        assert processes.check()[0] == "layers: halves"
    processes.edit("x.chunk(2, dim=1)", "x.chunk(4, dim=1)")
    assert "model: left" in processes.check()
    assert len(processes.said) == 1


@pytest.mark.parametrize("length", range(2, 16))
def test_what_comes_close_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """Where a few steps more are too many for who asks, it is checked again."""
    monkeypatch.setattr(budget, "MAX_STEPS", 100)
    processes = Processes(tmp_path)
    tail = "    y = y + 1\n" * length
    processes.texts["layers"] += f"\ndef long(x):\n    y = halves(x)[0]\n{tail}    return y\n"
    processes.texts["model"] = (
        f"{HEAD}\nfrom layers import long\n\n"
        'def wrong(x: Float[Tensor, "b 8"]) -> Float[Tensor, "b 5"]:\n    return long(x)\n'
    )
    processes.check()
    processes.edit(
        "    return first, second",
        "    a = 1\n    b = a\n    c = b\n    d = c\n    return first, second",
    )
    processes.check()


def test_a_question_that_is_none(processes: Processes) -> None:
    """It comes out of a record that may be anyone's: there is no answer, and nothing else."""
    shelf = Shelf(processes.texts)
    for question in (
        "",
        "1",
        "[]",
        "{}",
        '["nothing"]',
        '["call"]',
        '["call", 1, 2, 3, 4, 5, 6, 7, 8]',
        '["instance", ["class", "layers", "None"], "self", true, true]',
        '["instance", ["class", "nowhere", "Net"], "self", true, true]',
        '["instance", "self", "self", true, true]',
        '["changes in", "layers", "nothing"]',
        '["changes in", "nowhere", "halves"]',
        "[" * 10_000 + "]" * 10_000,
    ):
        assert ask_again(shelf, Options(), "model", question) is None
    found = ask_again(shelf, Options(), "model", '["changes in","layers","halves"]')
    assert found is not None
    assert [one.text for one in found.asked] == ['["changes in","layers","halves"]']


INNER = {
    "a shape": "    return x.flatten(1)",
    "sizes that nobody knows": "    return x.nonzero(), x",
    "the same size twice": "    y = x.nonzero()[:, 0]\n    return y, y * 2",
    "what it is given": "    return x",
    "a list": "    return [x, x.T]",
    "a dict in a tuple": "    return {'a': x}, 1.5",
    "an instance": "    return Scale(x.shape[1])",
    "a function": "    return halves",
    "a class": "    return Scale",
    "a slice": "    return slice(1, None)",
    "what is learned of sizes": "    return x + torch.ones(len(x), 8)",
    "what is changed": "    GIVEN.append(x)\n    return GIVEN",
    "what a loop makes": "    for _ in x:\n        x = x[:, :-1]\n    return x",
    "one among several": "    return [Scale(n) for n in range(len(x))]",
    "a branch": "    return x if x.ndim == 2 else x[0]",
}
CALLERS = f"""{HEAD}
from layers import outer

def is_right(x: Float[Tensor, "b 8"], n: int):
    found = outer(x, [])
    return found

def is_wrong(x: Float[Tensor, "b 8"]) -> Float[Tensor, "b 5"]:
    found = outer(x, [x])
    return found

def is_used(x: Float[Tensor, "b d"]):
    given = []
    found, *more = outer(x, given)
    return found + x, given[0] @ x, more[0](x)
"""


def with_inner(folder: Path, inner: str) -> Processes:
    """Return a program, which was checked, in which a call asks what another one gives."""
    processes = Processes(folder)
    processes.texts["layers"] += (
        f"\ndef inner(x, GIVEN):\n{inner}\n"
        "\ndef outer(x, given):\n    found = inner(x, given)\n    return found\n"
    )
    processes.texts["model"] = CALLERS
    processes.check()
    return processes


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_what_is_asked_inside(tmp_path: Path, inner: str) -> None:
    """What was answered there isn't found out anew, and is what it would be if it were."""
    processes = with_inner(tmp_path, inner)
    said = processes.said
    for edit in range(3):
        processes.edit("    found = inner(", f"    unused_{edit} = 1\n    found = inner(")
        asked = processes.check()
        assert IS_COMPILED or "outer" in processes.ran
        assert "inner" not in processes.ran
        assert asked == ["layers: outer"]
        assert processes.said == said


def test_what_takes_too_long_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That isn't found out anew either."""
    monkeypatch.setattr(budget, "MAX_STEPS", 100)
    processes = with_inner(tmp_path, "    x = x + 1\n" * 60 + "    return x")
    processes.edit("    found = inner(", "    unused = 1\n    found = inner(")
    processes.check()
    assert IS_COMPILED or "outer" in processes.ran
    assert "inner" not in processes.ran


@pytest.mark.parametrize(
    "answer", ["", "1", "[]", "[[[], false, false, false], [], [], [], []]", "[" * 10_000]
)
def test_an_answer_that_is_none(tmp_path: Path, answer: str) -> None:
    """It comes out of a record that may be anyone's: it is found out anew."""
    processes = with_inner(tmp_path, INNER["a list"])
    said = processes.said
    store = Store(Database(tmp_path), "maker")
    for name, text in processes.texts.items():
        record = store.find(name, text)
        assert record is not None
        readings, _, others = record.text.partition("\n")
        questions, parts = json.loads(others)
        for question in questions:
            question[1] = answer
        text = f"{readings}\n{json.dumps([questions, parts])}"
        store.keep(ModuleRecord(name, record.versions, record.said, text=text))
    processes.edit("    found = inner(", "    unused = 1\n    found = inner(")
    processes.check()
    assert IS_COMPILED or "inner" in processes.ran
    assert processes.said == said


def _edits(draw: random.Random) -> Callable[[str], str]:
    """Return an edit of a line of the layers, which may change what they give or may not."""
    old, new = draw.choice(
        [
            ("chunk(2", "chunk(4"),
            ("chunk(4", "chunk(2"),
            ("dim=1", "dim=0"),
            ("dim=0", "dim=1"),
            ("return x\n", "return x * 1\n"),
            ("return x * 1\n", "return x.T\n"),
            ("return x.T\n", "return x\n"),
            ("x.flatten(1)", "x.flatten(0)"),
            ("torch.ones(width)", "torch.ones(width + 1)"),
            ("torch.ones(width + 1)", "torch.ones(width)"),
            ("return items", "items.append(items[0])\n    return items"),
            ("item = item + 1", "item = item + 1 + 1"),
            ("* self.weight", "+ self.weight"),
            ("WIDTH = 4", "WIDTH = 5"),
            ("WIDTH", "# Wide.\n\nWIDTH"),
        ]
    )
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_edits(tmp_path: Path, seed: int) -> None:
    """After each, what is said is what is said where nothing was kept."""
    draw = random.Random(seed)
    processes = Processes(tmp_path)
    for _ in range(12):
        for _ in range(draw.randrange(1, 3)):
            processes.texts["layers"] = _edits(draw)(processes.texts["layers"])
        processes.check()
