"""Values are read as they were written, by whoever knows the program."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis import Options, Source
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, ModuleRef, Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.values.model import (
    FILES,
    Callback,
    DictContent,
    Instance,
    Items,
    ListContent,
    Namespace,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Ref,
    names_of,
    own_size,
)
from shapecheck.analysis.values.paths import one_of
from shapecheck.analysis.values.written import Reader, Unwritable, Writer, Written
from shapecheck.dims import Kind, Size, Sym
from shapecheck.dims.origins import LoopHead
from shapecheck.ops import UNKNOWN, DType, Fields, Scalar, Sizes
from shapecheck.shapes import Facts, Run, Shape, Tensor

TEXT = """
def plain(x, n=2):
    return x

class Net:
    def forward(self, x):
        return x
"""


class Host:
    """One module, `net`."""

    def source(self, module: str) -> Source | None:
        """Look the module up."""
        return Source(module, "net.py", TEXT) if module == "net" else None


HOST = Host()
PROGRAM = Program(HOST, Options())


def written(value: object, writer: Writer | None = None) -> Written:
    """Write a value as it is in a file."""
    return json.loads(json.dumps((writer or Writer()).value(value)))


def module() -> Module:
    """Return the module."""
    found = PROGRAM.module("net")
    assert found is not None
    return found


def made(name: str) -> Any:
    """Return a definition of the module."""
    return module().syntax.definition(name)


def function(name: str) -> Function:
    """Return a function of the module."""
    return Function(made(name), module())


def a_class() -> Class:
    """Return the class of the module."""
    return Class(made("Net"), module())


def layer() -> OpInstance:
    """Return a layer with sizes."""
    cls = PROGRAM.table.lookup_class("torch.nn.Linear")
    assert cls is not None
    return OpInstance(cls, {"in_features": own_size("n"), "out_features": 4, "bias": True})


def sizes() -> tuple[Value, ...]:
    """Return sizes of all kinds, some of the same unknown."""
    b, d, x, y = dims.name("b"), own_size("self.d"), dims.unknown(), dims.unknown()
    return (
        *(b, d, x, x + y, x * y * 2 - d, d // 4, (d + 1) // 2, d**2, 2**d, dims.merge((b, x))),
        dims.joined((b, d)) if hasattr(dims, "joined") else b + d,
        Size.of(Sym.one_of("[b|d]", (b, d))),
        Size.of(Sym("_", Kind.UNKNOWN, LoopHead((3, 4), ("x", 1)))),
        Size.of(Sym("n", Kind.OWN, names_of("1312", "fields"))),
        own_size(one_of("self.blocks") + ".width"),
    )


VALUES: dict[str, Callable[[], object]] = {
    "plain ones": lambda: (None, True, 1, "a", 1.5, float("inf"), 2j, b"a", ..., slice(1, None)),
    "a number without end": lambda: float("nan"),
    "the only ones": lambda: (UNKNOWN, NOTHING, FILES),
    "collections": lambda: ([1, (2,)], {"a": 1, 2: "b"}, Sizes((1, 2)), Fields.of(("a",), (1,))),
    "a set": lambda: frozenset(("b", "a")),
    "sizes": sizes,
    "sets of sizes": lambda: frozenset((frozenset(sizes()[:3]), frozenset(sizes()[1:2]))),
    "a tensor": lambda: Tensor(Shape((*sizes()[:2], Run(Sym.fresh("...")))), dtypes.FLOAT),
    "a tensor of which more is known": lambda: Tensor(Shape((1,)), dtypes.INT64, inserted=True),
    "numbers and dtypes": lambda: (DType(dtypes.FLOAT), Scalar(dtypes.FLOAT, own_size("n"), 2)),
    "names": lambda: (
        Dotted("torch.float"),
        ModuleRef("net"),
        Path("cfg.width"),
        Path(one_of("a")),
    ),
    "definitions": lambda: (function("plain"), function("Net.forward"), a_class()),
    "a layer": layer,
    "values in others": lambda: (
        OneOf((None, Tensor.unknown())),
        Partial(function("plain"), (1,), (("n", 2),)),
        Items(None, 1, own_size("n")),
    ),
}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_what_is_written_is_read(make: Callable[[], object]) -> None:
    """It is written the same again, and so is another one that is made like it."""
    first = written(make())
    assert written(Reader(PROGRAM).value(first)) == first
    assert written(make()) == first


def test_origins_are_written_before_anything_is_collected() -> None:
    """What dataclasses with slots are made of is still there then, and isn't what they are."""
    code = (
        "import gc, sys; gc.disable()\n"
        "from shapecheck.analysis.values.written import Writer\n"
        "from shapecheck.dims import Untold\n"
        "from shapecheck.dims.origins import Default, EqualPart, OfInstance\n"
        "from shapecheck.dims import HERE, Sym\n"
        "for one in Untold('x'), Default(HERE, 4), OfInstance('self'), EqualPart(Sym('d'), 2):\n"
        "    print(Writer().value(one)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        *("symbols.Untold", "origins.Default", "origins.OfInstance", "origins.EqualPart")
    ]


def test_what_has_no_unknowns_is_the_same() -> None:
    value = (
        dims.name("b"),
        own_size("n") // 2,
        Dotted("torch.float"),
        function("plain"),
        a_class(),
    )
    assert Reader(PROGRAM).value(written(value)) == value


def test_a_heap() -> None:
    """What lies on it is read with what refers to it, in circles as well."""
    items, instance, around = Ref(), Ref(), Ref()
    heap = {
        items: ListContent((1, instance)),
        instance: Instance(a_class(), {"items": items, "more": around}, "self"),
        around: DictContent({"a": Ref()}),
    }
    writer = Writer()
    value, contents = written((items, items), writer), json.loads(json.dumps(writer.heap(heap)))
    assert value == ["tuple", ["at", 0], ["at", 0]]
    reader = Reader(PROGRAM)
    one, other = reader.value(value)
    found = reader.heap(contents)
    assert one is other
    assert len(found) == 4
    assert found[one].items[1] in found
    assert found[found[one].items[1]].attrs["items"] is one
    again = Writer()
    assert written((one, other), again) == value
    assert json.loads(json.dumps(again.heap(found))) == contents


def test_what_has_changed() -> None:
    """A content that is another object and says the same hasn't; all is of what was written."""
    first, second, third = Ref(), Ref(), Ref()
    before = {first: ListContent((1,)), second: Namespace({"a": 1})}
    after = {
        first: ListContent((1,)),
        second: Namespace({"a": True, "b": third}),
        third: ListContent((first,)),
    }
    writer = Writer()
    writer.value((first, second))
    writer.heap(before)
    reader = Reader(PROGRAM, writer)
    changes = json.loads(json.dumps(writer.changes(before, after)))
    assert [at for at, _ in changes] == [1, 2]
    found = reader.changes(changes)
    assert second in found
    new = found[second].attrs["b"]
    assert new not in after
    assert found == {
        second: Namespace({"a": True, "b": new}),
        new: ListContent((first,)),
    }


def test_what_has_no_content() -> None:
    """Of what an answer gives that is none of what was seen, nothing else is told."""
    writer = Writer()
    writer.heap({})
    reader = Reader(PROGRAM, writer)
    value = written(Ref(), writer)
    changes = writer.changes({}, {})
    assert changes == [[0]]
    reader.value(value)
    with pytest.raises(ValueError, match="nothing is told of something"):
        reader.changes(changes)


def test_what_is_written_behind_something_is_of_the_same() -> None:
    """Sizes, what lies on the heap, and what has its number in one process alone."""
    size, ref, head = dims.unknown(), Ref(), LoopHead((3, 4), ("x", 1))
    seen = (
        *(size, ref, Size.of(Sym("_", Kind.UNKNOWN, head)), Path(one_of("self.blocks"))),
        Size.of(Sym("n", Kind.OWN, names_of("1312", "fields"))),
    )
    writer = Writer()
    writer.value(seen)
    assert Reader(PROGRAM, writer).value(written((*seen, size + 1), writer)) == (*seen, size + 1)


def test_facts() -> None:
    x, run = Sym.fresh("x"), Sym.fresh("...")
    facts = Facts({x: 4, own_size("n").atom: dims.name("b")}, {run: (2, Size.of(x))}, True)
    facts.told_apart = frozenset((x,))
    first = json.loads(json.dumps(Writer().facts(facts)))
    found = Reader(PROGRAM).facts(first)
    assert json.loads(json.dumps(Writer().facts(found))) == first
    assert (len(found.atoms), len(found.runs), found.under_unknown_condition) == (2, 1, True)


def nested(times: int) -> Value:
    """Return a tuple in a tuple in a tuple."""
    found: Value = ()
    for _ in range(times):
        found = (found,)
    return found


AROUND: Any = object()
NAMELESS: Any = ast.parse("lambda: 1", mode="eval").body


@pytest.mark.parametrize(
    "make",
    [
        lambda: Function(made("plain"), module(), home=AROUND),
        lambda: Function(NAMELESS, module()),
        lambda: Class(made("Net"), module(), home=AROUND),
        lambda: Callback("declared"),
        lambda: nested(100),
        lambda: tuple(map(nested, [1] * 600)),
        lambda: frozenset((1.5,)),
        object,
    ],
)
def test_what_is_not_written(make: Callable[[], object]) -> None:
    with pytest.raises(Unwritable):
        Writer().value(make())


def test_what_a_module_has_made_is_not_written() -> None:
    """It is this one thing, whoever asks."""
    ref = Ref()
    ref.origin = ListContent((1,))
    writer = Writer()
    writer.value(ref)
    with pytest.raises(Unwritable, match="what a module has made"):
        writer.heap({})


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "1.5",
        '["nothing that there is"]',
        '["s", 0]',
        '["at", 1]',
        '["tuple", ["s", 0]]',
        '["function", "net", "gone", null, ["tuple"], false]',
        '["function", "nowhere", "plain", null, ["tuple"], false]',
        '["class", "net", "gone"]',
        '["layer", "torch.nn.Nothing", ["dict"]]',
        '["model.Run"]',
        '["float", "x"]',
        '["symbol", true, "x", 7, ["here"], null]',
    ],
)
def test_what_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - in whichever words
        Reader(PROGRAM).value(json.loads(text))
