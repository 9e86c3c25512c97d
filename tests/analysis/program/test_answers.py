"""What is said of a module doesn't depend on which modules were analysed before it."""

from __future__ import annotations

import ast
import gc
import itertools
import random
import weakref
from types import ModuleType

import pytest
from compilation import interpreted
from repository import ROOT

import shapecheck.dims as dims
from shapecheck.analysis import Diagnostic, Options, Source, analyze_module
from shapecheck.analysis.check import module
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program import answers, modules
from shapecheck.analysis.program.modules import forget_memos
from shapecheck.analysis.program.reading import Reading
from shapecheck.analysis.program.syntax import forget_kept

HEAD = """\
import torch
import torch.nn as nn
from torch import Tensor
from shapecheck import Float, reveal_shape
"""
PACKAGE = {
    "pack.layers": """
from pack import sizes

def conv(channels, out):
    return nn.Conv2d(channels, out, 3, padding=sizes.PADDING)

def halves(x):
    return x.chunk(2, dim=1)

def chosen(x):
    return x.nonzero()

class Block(nn.Module):
    def __init__(self, width, wider=None):
        super().__init__()
        wider = wider or width * sizes.RATIO
        self.up = nn.Linear(width, wider)
        self.down = nn.Linear(wider, width)
        self.rest = []

    def forward(self, x):
        return self.down(self.up(x))
""",
    "pack.sizes": """
from pack import layers

PADDING = 1
RATIO = 4

def deep(n, x):
    if n == 0:
        return x
    return deep(n - 1, layers.halves(x)[0])

def widths(count):
    found = []
    for i in range(count):
        found.append(2 ** i)
    return found
""",
    "pack.model": """
from pack.layers import Block, chosen, conv, halves
from pack.sizes import deep, widths

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = conv(3, 8)
        self.block = Block(16)
        self.blocks = nn.Sequential(*[Block(w, 8) for w in widths(3)])

    def forward(self, x: Float[Tensor, "b 3 h 16"]) -> Float[Tensor, "b h 16"]:
        x = self.conv(x)
        reveal_shape(x)
        reveal_shape(deep(2, x))
        mine = chosen(x)
        reveal_shape(mine)
        n = mine.shape[0]
        reveal_shape(torch.zeros(n))
        self.block.rest.append(x)
        y, _ = halves(x)
        return self.block(y)[:, 0]
""",
    "pack.other": """
from pack.layers import Block, chosen, halves
from pack.model import Net
from pack.sizes import deep

def run(x: Float[Tensor, "b 7"], net: Net) -> Float[Tensor, "b 7"]:
    k = chosen(x).shape[0]
    reveal_shape(torch.zeros(k))
    Block(16)(x)
    halves(torch.zeros(3))
    reveal_shape(deep(1, torch.zeros(2, 8)))
    return net(x)
""",
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


class Shelf:
    """A host that has these modules."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources

    def source(self, module: str) -> Source | None:
        """Look the module up."""
        return self.sources.get(module)


def shelf(texts: dict[str, str]) -> dict[str, Source]:
    """Return sources for modules of these texts."""
    return {name: Source(name, f"{name}.py", HEAD + text) for name, text in texts.items()}


@pytest.mark.parametrize("order", list(itertools.permutations(PACKAGE)), ids=" ".join)
def test_the_order_makes_no_difference(order: tuple[str, ...]) -> None:
    sources = shelf(PACKAGE)
    together = Shelf(sources)
    for name in order:
        found = analyze_module(sources[name], together, Options())
        assert found == analyze_module(sources[name], Shelf(sources), Options())


def test_what_is_found_in_the_package() -> None:
    """The test above would also pass where nothing is said at all."""
    sources = shelf(PACKAGE)
    together = Shelf(sources)
    said = {
        name: [one.message for one in analyze_module(sources[name], together, Options())]
        for name in PACKAGE
    }
    assert said == {
        "pack.layers": [],
        "pack.sizes": [],
        "pack.model": [
            'Revealed shape is "b 8 h 16"',
            'Revealed shape is "b 2 h 16"',
            'Revealed shape is "nonzero 4"',
            'Revealed shape is "nonzero"',
        ],
        "pack.other": [
            'Revealed shape is "nonzero"',
            '"Block(16)" with x (b 7) fails in "Block.forward": "self.up" can\'t '
            'take (b 7): axis -1 of "input" is 7, where 16 (in_features) is '
            "expected",
            "the failing line is pack.layers.py:26: return self.down(self.up(x))",
            '"halves" with x (3) fails in "halves": "chunk" has no axis 1 in (3): '
            "a tensor with 1 axis allows -1 to 0",
            "the failing line is pack.layers.py:12: return x.chunk(2, dim=1)",
            'Revealed shape is "2 4"',
            'argument "x" of "net" is (b 7), declared "b 3 h 16": it has 2 axes, declared 4',
        ],
    }


def test_examples_one_after_the_other() -> None:
    together = Shelf({})
    for path in EXAMPLES:
        source = Source(path.stem, path.name, path.read_text("utf-8"))
        found = analyze_module(source, together, Options())
        assert found == analyze_module(source, Shelf({}), Options())


def test_a_module_is_read_again_when_it_has_changed() -> None:
    """A host that lives on, such as an editor's, hands in a new text under the same name."""
    caller = {"caller": "from lib import f\n\ndef g() -> None:\n    f(torch.zeros(2))\n"}
    texts = {"lib": 'def f(x: Float[Tensor, "3"]) -> None: ...\n', **caller}
    host = Shelf(shelf(texts))
    analyze_module(host.sources["lib"], host, Options())
    assert len(errors(analyze_module(host.sources["caller"], host, Options()))) == 1
    host.sources = shelf({**texts, "lib": 'def f(x: Float[Tensor, "2"]) -> None: ...\n'})
    analyze_module(host.sources["lib"], host, Options())
    assert not analyze_module(host.sources["caller"], host, Options())


def test_every_module_that_a_result_rests_on_is_asked_for() -> None:
    """Also where what was found in it was known already."""
    sources = shelf(PACKAGE)
    asked: list[str] = []

    class Listening(Shelf):
        def source(self, module: str) -> Source | None:
            asked.append(module)
            return super().source(module)

    host = Listening(sources)
    for _ in range(2):
        asked.clear()
        analyze_module(sources["pack.model"], host, Options())
        assert {"pack.layers", "pack.sizes"} <= set(asked)


def test_a_process_that_stays_keeps_nothing_of_what_it_has_analysed() -> None:
    sources = [Source(path.stem, path.name, path.read_text("utf-8")) for path in EXAMPLES[:8]]

    def kept() -> int:
        for source in sources:
            analyze_module(source, Shelf({}), Options())
        # As after every so many modules: how many came before would else count.
        forget_kept()
        dims.forget()
        forget_memos()
        gc.collect()
        return len(gc.get_objects())

    kept()
    first = kept()
    assert kept() - first < 500
    assert kept() - first < 500


def test_a_host_that_stays_keeps_no_more_each_time() -> None:
    sources = [Source(path.stem, path.name, path.read_text("utf-8")) for path in EXAMPLES[:8]]
    host = Shelf({source.name: source for source in sources})

    def kept() -> int:
        for source in sources:
            analyze_module(source, host, Options())
        dims.forget()  # as after every so many modules
        gc.collect()
        return len(gc.get_objects())

    for _ in range(3):
        first = kept()
    rounds = [kept() for _ in range(4)]
    assert rounds[-1] - first < 200


@interpreted
def test_what_a_run_leaves_behind_goes_without_being_looked_for() -> None:
    text = """
def double(x: Float[Tensor, "tokens {width}"], width: int) -> Float[Tensor, "tokens {2 * width}"]:
    return torch.cat([x, x], -1)

def plain(x, y):
    return x + y

def run(x: Float[Tensor, "tokens 8"]) -> Float[Tensor, "tokens 16"]:
    return plain(double(x, 8), torch.zeros(16))
"""
    gc.collect()
    gc.disable()
    try:
        assert not analyze_module(Source("runs", "runs.py", HEAD + text), Shelf({}), Options())
        left = [one for one in gc.get_objects() if isinstance(one, Frame)]
    finally:
        gc.enable()
    assert [one for one in left if one.module.name == "runs"] == []


def test_versions_of_a_file_do_not_pile_up() -> None:
    host = Shelf({})
    for version in range(40):
        text = HEAD + PACKAGE["pack.sizes"] + f"VERSION = {version}\n"
        analyze_module(Source("edited", "edited.py", text), host, Options())
    gc.collect()
    trees = [one for one in gc.get_objects() if isinstance(one, ast.Module) and one.body]
    versions = [one for one in trees if ast.unparse(one.body[-1]).startswith("VERSION = ")]
    # By its last functions that were asked about, some hang on until others are asked about.
    assert len(versions) <= 20


@interpreted
@pytest.mark.parametrize("forgetting", [(answers, "MOST"), (modules, "MOST_TEXT")])
def test_forgetting_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch, forgetting: tuple[ModuleType, str]
) -> None:
    sources = shelf(PACKAGE)
    together = Shelf(sources)
    monkeypatch.setattr(*forgetting, 0)
    for name in (*PACKAGE, *PACKAGE):
        found = analyze_module(sources[name], together, Options())
        assert found == analyze_module(sources[name], Shelf(sources), Options())


@interpreted
def test_what_takes_too_much_room_is_let_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = shelf(PACKAGE)
    host = Shelf(sources)
    first, *others = sources.values()
    analyze_module(first, host, Options())
    module_there = module.program_of(host, Options(), first.name).module(first.name)
    assert module_there is not None
    there = weakref.ref(module_there)
    del module_there
    monkeypatch.setattr(modules, "MOST_TEXT", 1)
    monkeypatch.setattr(modules, "_OFTEN", 1 << 40)  # nobody looks for it
    gc.disable()
    try:
        for source in others:
            analyze_module(source, host, Options())
        assert there() is None
    finally:
        gc.enable()


def errors(found: list[Diagnostic]) -> list[Diagnostic]:
    """Return the errors among diagnostics."""
    return [one for one in found if one.severity == "error"]


def test_an_answer_rests_on_what_the_answers_rest_on_that_it_is_made_from() -> None:
    memory = answers.Memory()
    memory.begin()

    def leaf() -> int:
        memory.asked.add("one")
        return 1

    def middle() -> int:
        memory.asked.add("two")
        return memory.recall("leaf", leaf, 0)

    def top() -> int:
        return memory.recall("middle", middle, 0)

    memory.recall("top", top, 0)
    assert answers.places(memory.asked) == {"one", "two"}
    with memory.noting() as asked:
        memory.find("top")
    assert answers.places(asked) == {"one", "two"}
    memory.forget({"two"})
    known = [q for q in ("leaf", "middle", "top") if memory.find(q) is not answers.MISSING]
    assert known == ["leaf"]
    memory.forget({"one"})
    assert memory.find("leaf") is answers.MISSING


def within(calls: dict[int, list[int]], first: int, depth: int) -> frozenset[int]:
    """Return what can be reached from one by so few calls."""
    below = (within(calls, one, depth - 1) for one in calls[first]) if depth else ()
    return frozenset((first,)).union(*below)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_only_so_deep_is_the_same_in_any_order(seed: int) -> None:
    """Whatever is known by then, an answer holds what stands within so many questions."""
    draw, deepest = random.Random(seed), 3
    calls = {at: draw.sample(range(at), min(at, draw.randrange(3))) for at in range(24)}
    memory = answers.Memory()
    memory.begin()

    def found(one: int) -> frozenset[int]:
        below = (ask(called) for called in calls[one])
        return frozenset((one,)).union(*below)

    def ask(one: int) -> frozenset[int]:
        return memory.recall(one, lambda: found(one), frozenset[int](), deepest=deepest)

    for one in draw.sample(range(24), 24):
        if draw.random() < 0.2:
            memory.recall(("another", one), lambda one=one: ask(one), None)
        memory.begin_part()
        assert ask(one) == within(calls, one, deepest - 1)


def test_what_is_found_anew_after_an_edit_looks_no_deeper() -> None:
    """An answer that an edit makes look further down isn't taken where that is too deep."""
    calls: dict[int, list[int]] = {0: [], 1: [0], 3: [], 4: [3], 5: [4]}
    body = Reading("here", "3", lambda: ())
    memory = answers.Memory()
    memory.stays = True

    def found(one: int) -> frozenset[int]:
        if one == 3:
            memory.asked.add(body)
        below = (ask(called) for called in calls[one])
        return frozenset((one,)).union(*below)

    def ask(one: int) -> frozenset[int]:
        return memory.recall(one, lambda: found(one), frozenset[int](), deepest=3)

    memory.begin()
    assert ask(3) == {3}
    calls[3], body.is_gone = [1], True
    body = Reading("here", "3", lambda: ())
    memory.edited("here")
    memory.begin_part()
    assert ask(5) == {5, 4, 3}
    assert ask(3) == {3, 1, 0}


def test_a_call_in_a_function_with_any_number_of_axes_is_known_again() -> None:
    text = (
        HEAD + 'def f(x: Float[Tensor, "... d"], y: Float[Tensor, "b c"]):\n    return y.relu()\n'
    )
    source = Source("stays", "stays.py", text)

    def results() -> int:
        host = Shelf({})
        analyze_module(source, host, Options())
        return len(module.program_of(host, Options(), "stays").memo.results)

    first = results()
    assert first
    assert results() == first


STARRED = {
    "big": "from big.first import *\nfrom big.net import *\nfrom big.last import *\n",
    "big.first": "def inner(x):\n    return x\n",
    "big.last": "def other(x):\n    return x\n",
    "big.net": "def net(x):\n    return torch.cat([x, x])\n",
    "big.sizes": "def flat(x):\n    return x.flatten()\n",
}
USER = """
from big import sizes, net, other

def f(x: Float[Tensor, "b d"]) -> None:
    reveal_shape(sizes.flat(x))
    reveal_shape(net(x))
    reveal_shape(other(x))
"""


def test_a_module_of_a_package_is_not_looked_for_in_all_that_it_imports() -> None:
    """Of two thousand modules that a package imports by `*` none has to be read for it."""
    asked: list[str] = []

    class Listening(Shelf):
        def source(self, module: str) -> Source | None:
            asked.append(module)
            return super().source(module)

    host = Listening(shelf({**STARRED, "user": USER}))
    found = [one.message for one in analyze_module(host.sources["user"], host, Options())]
    assert found == [f'Revealed shape is "{shape}"' for shape in ("(b d)", "2*b d", "b d")]
    asked.clear()
    only_sizes = "from big import sizes\n\ndef f(x: Tensor) -> None:\n    sizes.flat(x)\n"
    host = Listening(shelf({**STARRED, "user": only_sizes}))
    analyze_module(host.sources["user"], host, Options())
    assert not {"big.first", "big.last", "big.net"} & set(asked)
