"""After an edit the engine says what the analysis says, and asks it of what the edit changes."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from compilation import interpreted

from shapecheck import analysis
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.analysis.check import parts
from shapecheck.analysis.check.module import Checked, Checking
from shapecheck.analysis.check.parts import Part
from shapecheck.analysis.interpreter import budget, inlining
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Class, Function
from shapecheck.analysis.program.modules import Module
from shapecheck.engine import Database, Engine, ModuleRecord, Store

HEAD = "import torch\nfrom torch import Tensor, nn\nfrom shapecheck import Float, reveal_shape\n"
TEXTS = {
    "layers": f"""{HEAD}
WIDTH = 4

def halves(x):
    return x.chunk(2, dim=1)

def doubled(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 2*d"]:
    return torch.cat((x, x), 1)

class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, width * WIDTH)

    def forward(self, x):
        return self.up(x)

    def unused(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "d b"]:
        return x.T
""",
    "model": f"""{HEAD}
from layers import Block, doubled, halves

def run(x: Float[Tensor, "b 8"]) -> Float[Tensor, "b 4"]:
    left, _ = halves(x)
    return left

def wide(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 2*d"]:
    return doubled(x)

def deep(x: Float[Tensor, "b 3"]) -> Float[Tensor, "b 12"]:
    return Block(3)(x)

def wrong(x: Float[Tensor, "b d"]) -> Float[Tensor, "d b"]:
    y = x
    return y

reveal_shape(run(torch.zeros(2, 8)))
""",
}


class Shelf:
    """Files that are where a test puts them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.sources = {name: Source(name, f"{name}.py", text) for name, text in texts.items()}

    def source(self, module: str) -> Source | None:
        """Look the module up."""
        return self.sources.get(module)

    def version(self, module: str) -> str | None:
        """Say which text it has."""
        source = self.source(module)
        return None if source is None else source.text


class Program:
    """A program that is edited, and its engine."""

    def __init__(
        self, texts: Mapping[str, str], store: Store | None = None, *, stays: bool = False
    ) -> None:
        self.files = Shelf(texts)
        self.engine = Engine(self.files, Options(), store, stays=stays)

    def edit(self, module: str, old: str, new: str) -> None:
        """Put one text in the place of another, which is there once."""
        source = self.files.sources[module]
        assert source.text.count(old) == 1
        self.put(module, source.text.replace(old, new))

    def put(self, module: str, text: str) -> None:
        """Give a module another text."""
        self.files.sources[module] = Source(module, f"{module}.py", text)
        self.engine.renew([module])

    def remove(self, module: str) -> None:
        """Have a module be gone."""
        del self.files.sources[module]
        self.engine.renew([module])

    def looked_into(self) -> list[str]:
        """Check all modules; return the functions of which it isn't known that all is as it was."""
        with looked_into() as functions:
            for name in self.files.sources:
                self.engine.check(name)
        return functions

    def check(self) -> list[str]:
        """Check all modules; return which parts the analysis was asked of."""
        with noted() as asked:
            said = {name: [*self.engine.check(name)] for name in self.files.sources}
        afresh = Shelf({name: source.text for name, source in self.files.sources.items()})
        for name, source in afresh.sources.items():
            assert said[name] == analyze_module(source, afresh, Options())
        return sorted(asked)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Note of which parts the analysis is asked."""
    asked: list[str] = []
    check = Checking.check

    def noting(self: Checking, part: Part) -> object:
        asked.append(f"{self._module.name}: {part.key}")
        return check(self, part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checking, "check", noting)
        yield asked


@contextmanager
def looked_into() -> Iterator[list[str]]:
    """Note which functions are checked, where it isn't known that all is as it was."""
    names: list[str] = []
    check = parts._function

    def noting(
        module: Module, function: Function, owner: Class | None, key: str, effort: budget.Effort
    ) -> None:
        names.append(key)
        check(module, function, owner, key, effort)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_function", noting)
        yield names


@pytest.fixture
def program() -> Program:
    """The program, checked once."""
    program = Program(TEXTS)
    assert len(program.check()) == 13
    return program


EDITS = {
    "nothing": ("layers", "WIDTH = 4", "WIDTH = 4", []),
    "a comment": ("layers", "def halves(x):\n", "# here\ndef halves(x):\n    # and here\n", []),
    "the body of one that nobody looks into": (
        "layers",
        "return x.T",
        "return x.mT",
        ["layers: Block.unused"],
    ),
    "the body of one that is looked into": (
        "layers",
        "x.chunk(2, dim=1)",
        "x.chunk(4, dim=1)",
        ["layers: halves", "model: <module>", "model: run"],
    ),
    "a signature": (
        "layers",
        '"b 2*d"]:',
        '"b d+d"]:',
        ["layers: <annotations>", "layers: <module>", "layers: doubled", "model: wide"],
    ),
    "a constant that a constructor reads": (
        "layers",
        "WIDTH = 4",
        "WIDTH = 5",
        [
            "layers: <annotations>",
            "layers: <module>",
            "layers: Block.__init__",
            "layers: Block.forward",
            "layers: Block.unused",
            "model: deep",
        ],
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_asks_of_the_analysis(program: Program, name: str) -> None:
    """The parts for which something was read that is another thing now."""
    module, old, new, asked = EDITS[name]
    program.edit(module, old, new)
    assert program.check() == asked
    assert program.check() == []


@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_asks_of_a_process_that_stays(name: str) -> None:
    """No more than of one that doesn't, and the same is said."""
    program = Program(TEXTS, stays=True)
    program.check()
    module, old, new, asked = EDITS[name]
    program.edit(module, old, new)
    functions = program.looked_into()
    assert len(functions) == len(set(functions))
    assert {*functions} <= {one.partition(": ")[2] for one in asked}
    program.check()
    program.edit(module, new, old)
    program.check()


SAME = {
    "a result": ("layers", "return x.chunk", "one = 1\n    return x.chunk", {"halves"}),
    "a result that is found otherwise": ("layers", "x.chunk(2", "x.chunk(4 // 2", {"halves"}),
    "an instance": (
        "layers",
        "super().__init__()",
        "super().__init__()\n        one = 1",
        {"Block.__init__"},
    ),
    "a constant": ("layers", "WIDTH = 4", "WIDTH = 2 * 2", set()),
    "what a class has else": (
        "layers",
        "    def unused(",
        "    def more(self):\n        return 1\n\n    def unused(",
        {"Block.more"},
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_where_the_same_is_found_nothing_else_is_looked_into(name: str) -> None:
    """What rests on what an edit leaves as it was isn't found out again."""
    program = Program(TEXTS, stays=True)
    program.check()
    module, old, new, expected = SAME[name]
    program.edit(module, old, new)
    assert set(program.looked_into()) == expected
    program.check()


GIVING = f"""{HEAD}
class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)

    def scaled(self, x):
        return self.up(x)

    def forward(self, x):
        return self.scaled(x) * 2

def times(number):
    def multiplied(x):
        return x * number
    count = 1
    return multiplied

def shift(x):
    return x

def shifted():
    zero = shift(torch.zeros(4))
    return lambda x: x + zero
"""
TAKING = f"""{HEAD}
from giving import Block, shifted, times

def run(x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 8"]:
    return times(2)(Block()(x))

def moved(x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
    return shifted()(x)

def wrong(x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
    return Block()(x)
"""
MANY = "".join(f"    one_{at} = {at}\n" for at in range(4))
INSIDE = {
    "of a method that a method calls": ("return self.up(x)", "one = 1\n        return self.up(x)"),
    "beside a function that is given out": ("count = 1", "count = 2"),
    "below one who gives out a function": ("return x\n", "one = 1\n    return x\n"),
    "by which all takes longer": ("def shift(x):\n", f"def shift(x):\n{MANY}"),
}


@interpreted
@pytest.mark.parametrize("name", INSIDE)
def test_an_edit_that_changes_nothing_is_looked_into_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who calls what is edited is run again, wherever the call stands."""
    program = Program({"giving": GIVING, "taking": TAKING}, stays=True)
    program.check()
    assert len(program.engine.check("taking")) == 1
    program.edit("giving", *INSIDE[name])
    ran: list[str] = []
    run = inlining._run

    def noting(frame: Frame, call: inlining._Call, *rest: object) -> object:
        ran.append(call.function.name)
        return run(frame, call, *rest)

    monkeypatch.setattr(inlining, "_run", noting)
    edited = {"scaled", "times", "shift"}
    assert {one.rpartition(".")[2] for one in program.looked_into()} <= edited
    assert set(ran) <= edited
    monkeypatch.undo()
    program.check()


def test_a_function_in_which_the_same_goes_wrong_is_looked_into_alone() -> None:
    """Nobody who calls it is run again, where it asks for something that is another by now."""
    texts = {
        "sizes": "def size():\n    return 4\n",
        "giving": f"{HEAD}\nfrom sizes import size\n\n"
        "def product(x, y):\n    n = size()\n    return x @ y\n",
        "taking": f"{HEAD}\nfrom giving import product\n\n"
        'def wrong(x: Float[Tensor, "b 4"]):\n    return product(x, torch.zeros(3, 5))\n',
    }
    program = Program(texts, stays=True)
    program.check()
    program.edit("sizes", "4", "5")
    assert set(program.looked_into()) == {"size", "product"}
    assert len(program.engine.check("taking")) == 2
    program.check()
    program.edit("giving", "def product", "# Beside it.\n\ndef product")
    program.edit("sizes", "5", "6")
    program.check()


def test_what_is_said_of_a_part_is_known_where_it_stands_now() -> None:
    program = Program({"giving": GIVING, "taking": TAKING}, stays=True)
    program.check()
    before = program.engine.check("taking")
    program.edit("taking", "\ndef run(", "\ndef added(x):\n    return x\n\ndef run(")
    assert program.looked_into() == ["added"]
    after = program.engine.check("taking")
    assert [one.span.line - 3 for one in after] == [one.span.line for one in before] != []
    program.check()


def test_a_check_that_is_ended_early_leaves_nothing_wrong_behind() -> None:
    """What the analysis has found by then is in no record: it is said when the check is done."""
    program = Program({"giving": GIVING, "taking": TAKING}, stays=True)
    program.check()
    program.edit("giving", "nn.Linear(4, 8)", "nn.Linear(4, 4)")
    most = 4

    def before_part() -> None:
        nonlocal most
        most -= 1
        if most == 0:
            raise KeyboardInterrupt

    program.engine._before_part = before_part
    with pytest.raises(KeyboardInterrupt):
        program.engine.check("taking")
    program.check()


def test_an_edit_of_what_nobody_has_asked_for_leaves_all_else_known() -> None:
    program = Program(TEXTS, stays=True)
    program.check()
    program.engine.renew(["elsewhere"])
    module, old, new, expected = SAME["a result"]
    program.edit(module, old, new)
    assert set(program.looked_into()) == expected


@pytest.mark.parametrize(("length", "is_looked_into"), [(100, False), (246, True)])
def test_steps_more_in_what_a_long_function_calls(length: int, is_looked_into: bool) -> None:
    """It is looked into again where they may decide on a second look, of which it has no room."""
    head = f"{HEAD}\nfrom short import part\n\ndef long(x):\n    x = part(x)\n"
    texts = {
        "short": "def part(x):\n    return x.relu()\n",
        "long": head + "    x = x + 1\n" * length + "    return x\n",
    }
    program = Program(texts, stays=True)
    program.check()
    program.edit("short", "    return", "    one = 1\n" * 5 + "    return")
    assert set(program.looked_into()) == ({"part", "long"} if is_looked_into else {"part"})
    program.check()


def test_a_module_that_comes_makes_unknown_what_has_asked_for_it_alone() -> None:
    """Its functions have been looked into by nobody; those of a module beside it stay known."""
    asking = "import torch\nfrom late import width\n\ndef wide():\n    return torch.ones(width())\n"
    program = Program({**TEXTS, "asking": asking}, stays=True)
    program.check()
    program.put("late", "def width():\n    return 4\n")
    assert set(program.looked_into()) == {"wide", "width"}
    program.check()
    program.remove("late")
    assert set(program.looked_into()) == {"wide"}
    program.check()


def test_what_a_function_hands_on_is_the_same_wherever_that_stands() -> None:
    """Whether it changes a list that it is given is asked where its annotations tell the rest."""
    head = "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n"
    scaled = 'def scaled(x: Float[Tensor, "b d"], rows: list) -> Float[Tensor, "b d"]:\n'
    body = "    print(rows)\n    return x * 2\n"
    run = 'def run(x: Float[Tensor, "b d"]):\n    rows = [1]\n    return scaled(x, rows)[rows[0]]\n'
    texts = {"layers": head + scaled + body, "model": f"{head}from layers import scaled\n{run}"}
    program = Program(texts, stays=True)
    program.check()
    program.edit("layers", "x * 2", "x * 3")
    assert program.looked_into() == ["scaled"]
    program.check()
    program.edit("layers", "print(rows)", "rows.append(2)")
    assert {*program.looked_into()} == {"scaled", "run"}
    program.check()


def test_the_line_on_which_a_layer_is_made_moves_with_it() -> None:
    """A call leads to what goes wrong: what is remembered of the call has the line in its words."""
    text = (
        "import torch\nfrom torch import Tensor, nn\nfrom shapecheck import Float\n\n"
        "class Net(nn.Module):\n    def __init__(self, width=2):\n        super().__init__()\n"
        "        self.first = nn.Linear(2, width)\n        self.second = nn.Linear(3, 3)\n\n"
        '    def forward(self, x: Float[Tensor, "b 2"]) -> Float[Tensor, "b 3"]:\n'
        "        return self.second(self.first(x))\n\n"
        "def run():\n    return Net(8)(torch.zeros(2, 2))\n"
    )
    program = Program({"model": text}, stays=True)
    program.check()
    for number in range(2):
        program.put("model", text.replace("class Net", "\n" * number + "class Net"))
        said = "".join(one.message for one in program.engine.check("model"))
        assert f"since line {9 + number}" in said
        program.check()


def test_what_python_takes_for_equal_is_another_result() -> None:
    """With True in the place of 1, an axis is added where one was taken."""
    text = f"{HEAD}X = 1\n\ndef g():\n    return X\n\ndef f(x: Float[Tensor, 'b d']) -> "
    text += "Float[Tensor, 'b']:\n    return x[:, g()]\n"
    program = Program({"one": text}, stays=True)
    program.check()
    assert not program.engine.check("one")
    program.edit("one", "X = 1\n", "X = True\n")
    program.check()
    assert program.engine.check("one")


def test_an_edit_and_back(program: Program) -> None:
    program.edit("layers", "dim=1", "dim=0")
    program.check()
    program.edit("layers", "dim=0", "dim=1")
    assert program.check() == ["layers: halves", "model: <module>", "model: run"]


def test_what_is_said_moves_with_its_lines(program: Program) -> None:
    """What `wrong` does is said three lines further down; outside of functions it is found anew."""
    before = [one.span.line for one in program.engine.check("model") if one.severity == "error"]
    program.edit("model", "def run(", "\n\n\ndef run(")
    assert program.check() == ["model: <module>"]
    after = [one.span.line for one in program.engine.check("model") if one.severity == "error"]
    assert after == [line + 3 for line in before] != []


def test_what_speaks_of_lines_is_found_anew() -> None:
    text = f'{HEAD}def f(x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:\n    return x @ x\n'
    program = Program({"one": text})
    program.check()
    program.edit("one", "def f", "VALUE = 3\n\n\ndef f")
    assert program.check() == ["one: <annotations>", "one: <module>", "one: f"]
    assert 'left operand "x" is (b d) since line 7' in str(program.engine.check("one"))


def test_modules_come_and_go(program: Program) -> None:
    layers = program.files.sources["layers"].text
    program.remove("layers")
    assert program.check()
    program.put("layers", layers)
    assert "model: run" in program.check()


def test_a_module_that_is_broken_for_a_while(program: Program) -> None:
    layers = program.files.sources["layers"].text
    program.put("layers", f"{layers}\ndef broken(:\n")
    with pytest.raises(SyntaxError):
        program.engine.check("layers")
    assert program.engine.check("model")
    program.put("layers", layers)
    program.check()


def test_no_such_module(program: Program) -> None:
    with pytest.raises(LookupError):
        program.engine.check("nowhere")


def test_another_process_takes_what_is_kept(tmp_path: Path) -> None:
    """From the file, all that still holds: nothing is asked again, or what an edit changes."""
    Program(TEXTS, Store(Database(tmp_path), "maker")).check()
    again = Program(TEXTS, Store(Database(tmp_path), "maker"))
    assert again.check() == []
    edited = Program(TEXTS, Store(Database(tmp_path), "maker"))
    edited.edit("layers", "dim=1", "dim=0")
    assert edited.check() == ["layers: halves", "model: <module>", "model: run"]
    other = Program(TEXTS, Store(Database(tmp_path), "another maker"))
    assert len(other.check()) == 13


def test_each_version_of_a_module_is_kept(tmp_path: Path) -> None:
    """Who goes back and forth between two branches finds both."""
    for text in ("dim=1", "dim=0", "dim=1"):
        branch = {**TEXTS, "layers": TEXTS["layers"].replace("dim=1", text)}
        Program(branch, Store(Database(tmp_path), "maker")).engine.check("layers")
    last = Program(TEXTS, Store(Database(tmp_path), "maker"))
    with noted() as asked:
        last.engine.check("layers")
    assert asked == []


def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    """Nothing is kept, and nothing fails."""
    (tmp_path / "file").write_text("")
    store = Store(Database(tmp_path / "file" / "below"), "maker")
    assert len(Program(TEXTS, store).check()) == 13
    assert len(Program(TEXTS, store).check()) == 13


def test_old_versions_leave(tmp_path: Path) -> None:
    """Who edits a module all day keeps the last few of its texts."""
    database = Database(tmp_path)
    program = Program(TEXTS, Store(database, "maker"))
    for number in range(20):
        program.put("layers", f"{TEXTS['layers']}\nVALUE = {number}\n")
        program.engine.check("layers")
    rows = database.rows("SELECT version FROM said WHERE module = 'layers' ORDER BY rowid", ())
    texts = [text for (text,) in rows]
    assert [text.rpartition(" ")[2] for text in texts] == [f"{n}\n" for n in range(12, 20)]


def test_a_database_that_has_grown_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The half that was found last stays."""
    Program(TEXTS, Store(Database(tmp_path), "maker")).check()
    monkeypatch.setattr("shapecheck.engine.database.MOST_BYTES", 1)
    rows = Database(tmp_path).rows("SELECT module FROM said", ())
    assert rows == [("model",)]


def test_many_processes_make_the_file_at_once(tmp_path: Path) -> None:
    """Each of them keeps what it finds."""
    program = (
        "import sys; from pathlib import Path; from shapecheck.engine import Database\n"
        "database = Database(Path(sys.argv[1]))\n"
        "database.write('INSERT INTO born VALUES (?)', (sys.argv[2],))\n"
    )
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        command = [sys.executable, "-c", program, str(folder)]
        several = [subprocess.Popen([*command, str(number)]) for number in range(8)]
        assert [one.wait() for one in several] == [0] * 8
        assert len(Database(folder).rows("SELECT * FROM born", ())) == 9


def test_a_damaged_row_is_found_out_again(tmp_path: Path) -> None:
    """A message with one letter changed isn't said."""
    database = Database(tmp_path)
    Program(TEXTS, Store(database, "maker")).check()
    database.write("UPDATE said SET said = replace(said, 'axis', 'axes')", ())
    database.write("UPDATE said SET parts = replace(parts, 'b', 'c') WHERE module = 'layers'", ())
    assert len(Program(TEXTS, Store(database, "maker")).check()) == 13


def _as_found(part: Checked) -> tuple[object, ...]:
    """Return what is compared: of what stood there, only what was read for it."""
    rests_on = part.rests_on
    read = {key: rests_on.digests[key] for key in rests_on.read()}
    said = dataclasses.replace(part, rests_on=dataclasses.replace(rests_on, digests=read))
    return dataclasses.astuple(said)


def test_what_is_found_alone_is_what_is_found_together() -> None:
    """What is said of a part doesn't depend on which were checked before it."""
    for name in TEXTS:
        files = Shelf(TEXTS)
        together = analysis.begin(files.sources[name], files, Options())
        found = {part.key: together.check(part) for part in together.parts}
        for part in together.parts:
            files = Shelf(TEXTS)
            alone = analysis.begin(files.sources[name], files, Options())
            (same,) = (one for one in alone.parts if one.key == part.key)
            assert _as_found(alone.check(same)) == _as_found(found[part.key])


@interpreted
def test_an_edit_that_takes_the_steps_of_what_comes_after_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What got few steps, since others had taken too many, is found anew when these take fewer."""
    monkeypatch.setattr(budget, "MODULE_STEPS", 300)
    monkeypatch.setattr(budget, "BRIEF_STEPS", 20)
    monkeypatch.setattr(budget, "STEPS_A_LINE", 0)
    short = "\n\ndef short(x: Float[Tensor, 'b d']):\n    x = x + 1\n    return x\n"
    long = short.replace("    x = x + 1\n", "    x = x + 1\n" * 90).replace("short", "long")
    wrong = long.replace("return x", "return x @ x.T @ x.T").replace("long", "wrong")
    for stays in (False, True):
        database = Database(tmp_path / str(stays))
        program = Program({"all": HEAD + short + wrong}, Store(database, "maker"), stays=stays)
        edits = ((short, True), (long, False), (short, True), (long + long, False), (long, False))
        for first, is_found in edits:
            program.put("all", HEAD + first + wrong)
            program.check()
            found = {one.severity for one in program.engine.check("all")}
            assert ("error" in found) == is_found


def test_what_was_checked_without_counting_is_not_checked_again(tmp_path: Path) -> None:
    """It is good for who counts, too, who knows then that it isn't counted."""

    def engine(folder: str, *, counts: bool) -> Engine[Shelf]:
        store = Store(Database(tmp_path / folder), "maker")
        return Engine(Shelf(TEXTS), Options(), store, counts=counts)

    assert engine("plain", counts=False).record("model").covered is None
    again = engine("plain", counts=True)
    assert (again.record("model").covered, again.analysed) == (None, 0)
    found = engine("counted", counts=True).record("model").covered
    assert found is not None
    assert (found.known, found.tensors) == (11, 11)
    again = engine("counted", counts=False)
    assert (again.record("model").covered, again.analysed) == (found, 0)


def test_an_edit_counts_what_it_changes() -> None:
    """What is known of the other parts is kept, and no more is done than without counting."""
    text = TEXTS["model"].replace("y = x\n", "y = x.nonzero()\n")
    analysed = []
    for counts in (False, True):
        files = Shelf(TEXTS)
        engine = Engine(files, Options(), counts=counts)
        before = engine.record("model").covered
        done = engine.analysed
        files.sources["model"] = dataclasses.replace(files.sources["model"], text=text)
        engine.renew(["model"])
        after = engine.record("model").covered
        analysed.append(engine.analysed - done)
    assert analysed[0] == analysed[1] < 6
    fresh = Engine(Shelf({**TEXTS, "model": text}), Options(), counts=True).record("model").covered
    assert after == fresh != before


def test_what_an_editor_is_shown_of_a_line(program: Program) -> None:
    """That of the part which has the line; outside of all functions that of the module itself."""
    text = program.files.sources["model"].text
    fresh = Shelf(TEXTS)
    checking = analysis.begin(fresh.sources["model"], fresh, Options())
    own = {part.lines: checking.look(part) for part in checking.parts}
    for line in range(1, len(text.splitlines()) + 1):
        lines = next((one for one in own if one[0] <= line <= one[1]), checking.parts[-1].lines)
        look = program.engine.look("model", line)
        assert look == own[lines]
        assert program.engine.look("model", line) is look
    assert len({id(program.engine.look("model", line)) for line in range(1, 99)}) == len(own)


def test_what_an_editor_is_shown_after_an_edit(program: Program) -> None:
    before = program.engine.look("model", 7)
    program.edit("layers", "x.chunk(2, dim=1)", "x.chunk(4, dim=1)")
    after = program.engine.look("model", 7)
    assert (
        before
        != after
        == Program({name: one.text for name, one in program.files.sources.items()}).engine.look(
            "model", 7
        )
    )
    program.put("plain", "VALUE = 1\n")
    assert program.engine.look("plain", 1) is None
    assert program.engine.look("nowhere", 1) is None


def test_a_check_that_is_ended_before_a_part() -> None:
    """It is called before each part that is checked, and nothing is kept of what it ends."""
    calls: list[int] = []
    most = 3

    def before_part() -> None:
        calls.append(1)
        if len(calls) > most:
            raise KeyboardInterrupt

    engine = Engine(Shelf(TEXTS), Options(), before_part=before_part)
    with pytest.raises(KeyboardInterrupt):
        engine.check("layers")
    assert (len(calls), engine.analysed) == (4, 3)
    most = 100
    calls.clear()
    said = engine.check("layers")
    assert [*said] == analyze_module(Shelf(TEXTS).sources["layers"], Shelf(TEXTS), Options())
    assert (len(calls), engine.analysed) == (7, 10)
    engine.check("layers")
    assert len(calls) == 7


def test_whether_a_record_is_of_now(program: Program) -> None:
    """To the letter: also of a module of which nothing was read that has changed."""
    record = program.engine.record("model")
    assert program.engine.is_of_now(record) is True
    program.edit("layers", "return x.T", "return x.mT")
    assert program.engine.is_of_now(record) is False
    assert program.engine.holds(record)
    assert program.engine.is_of_now(program.engine.record("model"))
    program.edit("layers", "x.chunk(2, dim=1)", "x.chunk(4, dim=1)")
    assert not program.engine.holds(record)


def test_what_still_holds_is_noted_for_others(tmp_path: Path) -> None:
    """Who comes next finds the versions that others have now."""
    Program(TEXTS, Store(Database(tmp_path), "maker")).check()
    edited = {**TEXTS, "layers": TEXTS["layers"].replace("return x.T", "return x.mT")}
    for _ in range(2):
        engine = Program(edited, Store(Database(tmp_path), "maker")).engine
        known = engine.known("model")
        assert known is not None
        was_of_now = engine.is_of_now(known)
        engine.check("model")
    assert was_of_now


def test_a_module_that_is_not_checked(tmp_path: Path) -> None:
    """What is said of it holds until what it rests on changes; it is kept for others if asked."""
    said = (analysis.Diagnostic(analysis.Span(1, 0, 1, 1), "too long", "note"),)
    program = Program(TEXTS, Store(Database(tmp_path), "maker"))
    record = program.engine.without_parts("model", said, [("layers", "body halves")], keep=True)
    assert (record.said, record.has_parts) == (said, False)
    assert record.covered == analysis.NO_TENSORS
    assert record.versions == {name: TEXTS[name] for name in ("model", "layers")}
    other = Program(TEXTS, Store(Database(tmp_path), "maker"))
    assert other.engine.check("model") == said == program.engine.check("model")
    program.edit("layers", "return x.T", "return x.mT")
    assert program.engine.check("model") == said
    program.edit("layers", "x.chunk(2, dim=1)", "x.chunk(4, dim=1)")
    assert program.engine.check("model") != said
    kept = Program(TEXTS, Store(Database(tmp_path / "other"), "maker"))
    kept.engine.without_parts("model", said)
    again = Program(TEXTS, Store(Database(tmp_path / "other"), "maker"))
    assert again.engine.known("model") is None


def test_what_nothing_has_changed_of_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(TEXTS, Store(Database(tmp_path), "maker"))
    program.check()
    monkeypatch.setattr(Database, "write", lambda *given: pytest.fail("it is written again"))
    record = program.engine.record("model")
    assert program.engine.record("model") is record
    again = Program(TEXTS, Store(Database(tmp_path), "maker"))
    assert again.check() == []


def test_a_record_of_which_it_can_not_be_read_what_it_rests_on(program: Program) -> None:
    """It is of no use where anything has changed."""
    said = program.engine.check("model")
    versions = {name: TEXTS[name] for name in TEXTS}
    program.edit("layers", "return x.T", "return x.mT")
    program.engine.adopt(ModuleRecord("model", dict(versions), (), text="[1]"))
    assert program.engine.check("model") == said
    program.engine.adopt(ModuleRecord("model", dict(versions), said))
    assert [one for one in program.check() if one.startswith("model")] != []
