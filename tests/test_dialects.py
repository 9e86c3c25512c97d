"""Annotations of other libraries: the table of docs/dialects.md, and calls that are checked."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, Optional, Union

import pytest
import torch
from dialect_packages import install, packages
from repository import ROOT
from torch import Tensor

from shapecheck import ShapeError, shapecheck
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.tensor_spec import read

IMPORTS = """\
from typing import Annotated, Any
import torch
from beartype.vale import Is
from torch import Tensor
from torchtyping import TensorType, is_float, is_named
from dltype import BoolTensor, FloatTensor, IntTensor
from vllm.utils.tensor_schema import TensorShape
"""
STATIC = """\
from shape_extensions import Elements, IntTuple, IntVar
from shapecheck import reveal_shape
B, T, D, Bs = IntVar("B"), IntVar("T"), IntVar("D"), IntVar("Bs")
def f(x: {}) -> None:
    reveal_shape(x)
"""
_ROW = re.compile(
    r"^\| [^|]+ \| `(?P<said>.+)` \| `(?P<read>[^`]*)` \| (?P<checked>yes|no) \|$", re.MULTILINE
)
PAGE = (ROOT / "docs/dialects.md").read_text("utf-8")
ROWS = [(row["said"], row["read"].strip(), row["checked"] == "yes") for row in _ROW.finditer(PAGE)]


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def test_all_rows_are_found() -> None:
    """Each line of the table is one."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and "`" in line]
    assert len(ROWS) == len(lines) > 20


@pytest.mark.parametrize(("said", "shape", "checked"), ROWS)
def test_static(said: str, shape: str, checked: bool) -> None:
    """The analysis reads each form as the table says."""
    source = Source("case", "case.py", IMPORTS + STATIC.format(said))
    (found,) = analyze_module(source, NoSources(), Options())
    assert found.message == f'Revealed shape is "{shape}"'


@pytest.mark.parametrize(("said", "shape"), [row[:2] for row in ROWS if row[2]])
def test_run_time(said: str, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does `@shapecheck`; what the annotation is read as is the same."""
    install(monkeypatch)
    scope: dict[str, Any] = {}
    exec(IMPORTS, scope)
    found = read(eval(said, scope))
    text = "..." if found is None else re.sub(r"\w+=", "", str(found[1].shape))
    assert text.replace("(", "").replace(")", "") == shape.replace("(", "").replace(")", "")


def floats(*shape: int) -> Tensor:
    """Return a float32 tensor."""
    return torch.zeros(shape)


def ints(*shape: int) -> Tensor:
    """Return an int64 tensor."""
    return torch.zeros(shape, dtype=torch.int64)


def _decorated(parameters: str) -> Callable[..., Any]:
    """Return a checked function that returns its first argument."""
    with pytest.MonkeyPatch.context() as patch:
        install(patch)
        scope: dict[str, Any] = {"Optional": Optional, "Union": Union, "shapecheck": shapecheck}
        text = f"{IMPORTS}@shapecheck\ndef f({parameters}) -> Any:\n    return x\n"
        exec(compile(text, "<a program>", "exec"), scope)
    function: Callable[..., Any] = scope["f"]
    return function


_DL = 'Annotated[Tensor, FloatTensor["b c"]]'
_VARIES = 'TensorShape("n", "p", 3, dynamic_dims={"p"})'
_LIST = f"Annotated[Union[Tensor, list[Tensor]], {_VARIES}]"
CALLS: list[tuple[str, list[Any], list[Any]]] = [
    (
        'x: TensorType["b": ..., "c"], y: TensorType["c"]',
        [floats(2, 4, 3), floats(3)],
        [floats(2, 4, 3), floats(4)],
    ),
    ('x: TensorType["c", "c"]', [floats(3, 3)], [floats(3, 4)]),
    ('x: TensorType["n", float]', [floats(2)], [ints(2)]),
    ('x: TensorType["n", is_float]', [floats(2).half()], [ints(2)]),
    ("x: Optional[TensorType[3, -1]]", [floats(3, 9)], [floats(4, 9)]),
    ('x: list[TensorType["n"]]', [[floats(2), floats(2)]], [[floats(2), floats(3)]]),
    ("x: TensorType[()]", [floats()], [floats(1)]),
    (
        f"x: {_DL}, y: Annotated[Tensor, IntTensor['b c/2']]",
        [floats(2, 5), ints(2, 2)],
        [floats(2, 5), ints(2, 3)],
    ),
    (f"x: {_DL} | None", [None], [floats(3)]),
    ("x: Annotated[Tensor, IntTensor['n']]", [ints(2)], [floats(2)]),
    (
        "x: Annotated[Tensor, FloatTensor['n isqrt(n) n+1']]",
        [floats(4, 2, 5)],
        [floats(4, 2, 4)],
    ),
    (f"x: {_DL}, y: list[{_DL}]", [floats(2, 3), [floats(2, 3)]], [floats(2, 3), [floats(3, 2)]]),
    ("x: Annotated[Tensor, BoolTensor[None]]", [floats() > 0], [floats(1) > 0]),
    (
        'x: Annotated[Tensor, TensorShape("n", 3)], y: Annotated[Tensor, TensorShape("n", 2)]',
        [floats(4, 3), floats(4, 2)],
        [floats(4, 3), floats(5, 2)],
    ),
    (f"x: {_LIST}", [floats(4, 7, 3)], [floats(4, 7, 2)]),
    (f"x: {_LIST}", [[floats(7, 3), floats(8, 3)]], [[floats(7, 3), floats(8, 4)]]),
    ('x: Annotated[Tensor | None, TensorShape("n", 3)]', [None], [floats(3, 4)]),
    (
        'x: Annotated[Tensor, TensorShape("n")], y: Annotated[list[Tensor], TensorShape("k", "n")]',
        [floats(4), [floats(4)]],
        [floats(4), [floats(3)]],
    ),
    (
        'x: Annotated[tuple[Tensor, ...], TensorShape("k", 4)]',
        [(floats(4), floats(4))],
        [(floats(4), floats(3))],
    ),
    ('x: Annotated[Tensor, "B", "T", 3]', [floats(2, 4, 3)], [floats(2, 4, 4)]),
    (
        'x: Annotated[Tensor, "shape: (b, t)"], y: Annotated[Tensor, "[t, b]"]',
        [floats(2, 3), floats(3, 2)],
        [floats(2, 3), floats(2, 3)],
    ),
    (
        'x: Annotated[Tensor, "Input tensor"], y: Annotated[Tensor, Is[lambda x: True], "n"]',
        [floats(2, 3), floats(3)],
        [floats(2, 3), floats(3, 3)],
    ),
    (
        'x: Annotated[Tensor, "batch +features"], y: Annotated[Tensor, "+features"]',
        [floats(2, 3, 4), floats(3, 4)],
        [floats(2), floats()],
    ),
]


@pytest.mark.parametrize(("parameters", "right", "wrong"), CALLS)
def test_calls(parameters: str, right: list[Any], wrong: list[Any]) -> None:
    """A call that fits is left alone, one that doesn't is refused."""
    function = _decorated(parameters)
    assert function(*right) is right[0]
    with pytest.raises(ShapeError):
        function(*wrong)


def test_methods_that_a_library_puts_into_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """They aren't the program's, and are left as they are."""
    library = type(sys)("some_library")
    exec("def item(self, at: 'Nothing[0]') -> 'int':\n    return 'a text'", vars(library))
    monkeypatch.setitem(sys.modules, "some_library", library)

    class Batch:
        def own(self, x: Annotated[Tensor, "n 3"]) -> None: ...

    Batch.__getitem__ = library.item  # type: ignore[attr-defined]
    shapecheck(Batch)
    assert Batch()[0] == "a text"  # type: ignore[index]
    with pytest.raises(ShapeError):
        Batch().own(floats(2, 4))


def test_stand_ins_have_what_the_real_ones_have() -> None:
    """The names that programs import are there, whichever it is."""
    found = packages()
    assert {"TensorType", "is_float"} <= vars(found["torchtyping"]).keys()
    assert {"FloatTensor", "TensorTypeBase"} <= vars(found["dltype"]).keys()
