"""What mypyc has compiled, in a wheel that was built so; `make test-compiled` runs this."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import shapecheck
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.analysis.host import Host
from shapecheck.dims.algebra import atoms_of
from shapecheck.engine import Engine

PACKAGE = Path(shapecheck.__file__).parent
ROOMS = ("dims", "shapes", "ops", "signatures", "analysis")

only_compiled = pytest.mark.skipif(
    "SHAPECHECK_COMPILED" not in os.environ, reason="the package isn't compiled here"
)


@only_compiled
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_compiled(room: str) -> None:
    """Each room has its modules beside their sources, and they are what is imported."""
    made = [path for path in (PACKAGE / room).rglob("*") if path.suffix in (".so", ".pyd")]
    assert made
    for path in made:
        source = path.with_name(path.name.partition(".")[0] + ".py")
        assert source.is_file()
        name = source.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        assert import_module(name).__file__ == str(path)


class Alone(Host):
    """A program of one module."""

    def source(self, module: str) -> Source | None:
        return None


def test_a_defect_is_told_with_its_line() -> None:
    """A traceback goes through what is compiled as through what isn't: by file and line."""
    with pytest.raises((AttributeError, TypeError)) as caught:
        atoms_of("n")  # type: ignore[arg-type]
    inner = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert Path(inner.filename).name == "algebra.py"
    assert inner.name == "atoms_of"
    assert inner.lineno


@pytest.fixture
def _as_mypy_runs() -> Iterator[None]:
    """The depth to which mypy lets calls be nested."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1 << 14)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("_as_mypy_runs")
@pytest.mark.parametrize(
    "text",
    [
        "x = " + "+".join(["y"] * 4000),
        "x = y" + "[0]" * 4000,
        "x = y" + ".a()" * 4000,
        "def f(x: " + "|".join(["int"] * 9000) + "): ...",
        "def f0(x): return x.view(7)\n"
        + "".join(f"def f{i}(x): return f{i - 1}(x)\n" for i in range(1, 3000))
        + "f2999(3)",
    ],
    ids=["sum", "items", "calls", "options", "functions"],
)
def test_what_is_nested_deeply_ends_no_process(text: str) -> None:
    """Compiled calls aren't counted: what an analysis goes down is bounded otherwise."""
    assert not analyze_module(Source("m", "m.py", text + "\n"), Alone(), Options())


def test_what_is_found_goes_from_one_process_to_another() -> None:
    """The plugin's second process sends records, with all that is said of each part."""
    text = (
        "import torch\nfrom torch import Tensor\nfrom shapecheck import Float\n"
        'def g(x):\n    return x @ x\n\ndef f(x: Float[Tensor, "b d"]):\n    return g(x) @ x\n\n'
        "f(torch.zeros(2, 3))\n"
    )
    engine = Engine(OneModule(text), Options())
    record = engine.record("one")
    sent = pickle.loads(pickle.dumps(record))
    assert sent.said == record.said != ()
    assert (sent.text, sent.versions) == (record.text, record.versions)


class OneModule:
    """A program of one module."""

    def __init__(self, text: str) -> None:
        self._source = Source("one", "one.py", text)

    def source(self, module: str) -> Source | None:
        """Return the module."""
        return self._source if module == "one" else None

    def version(self, module: str) -> str | None:
        """Return which one it is."""
        return "1" if module == "one" else None
