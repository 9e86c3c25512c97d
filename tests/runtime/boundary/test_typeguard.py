"""typeguard on functions with our types: the text in the brackets is no code, and is checked."""

import asyncio
import importlib
import inspect
import os
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import typeguard
import typeguard._transformer
from repository import ROOT
from torch import Tensor
from typeguard import TypeCheckError, install_import_hook, typechecked

from shapecheck import Float, shapecheck

PROGRAM = """
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Optional

import jaxtyping
import shapecheck
from shapecheck import Float, Int, dims
from torch import Tensor

Batch, Time = dims("batch time")

def plain(x: Float[Tensor, "b c"]) -> Float[Tensor, "b c"]:
    return x

def text(x: "Float[Tensor, 'b c']") -> "list[Float[Tensor, 'b c']]":
    return [x]

def dotted(x: shapecheck.Float[Tensor, "b c"]) -> None: ...
def theirs(x: jaxtyping.Float[Tensor, "b c"]) -> None: ...
def objects(x: Float[Tensor, Batch, Time]) -> None: ...
def around(x: Float[Float[Tensor, "c"], "b"]) -> None: ...
def optional(x: Optional[Float[Tensor, "b c"]] = None) -> None: ...
def union(x: Float[Tensor, "b c"] | Int[Tensor, "b"]) -> None: ...
def items(*xs: Float[Tensor, "b c"]) -> None: ...
def described(x: Annotated[Float[Tensor, "b c"], "what a camera sees; in RGB"]) -> None: ...
def listed(x: list[Float[Tensor, "b c"]]) -> None: ...
def mapped(x: dict[str, Float[Tensor, "b c"]]) -> None: ...
def paired(x: tuple[Float[Tensor, "b c"], int]) -> None: ...
def result(x: Tensor) -> Float[Tensor, "b c"]:
    return x

def variable(x: Tensor) -> None:
    y: Float[Tensor, "b c"] = x

def rows(x: Tensor) -> Iterator[Float[Tensor, "b c"]]:
    yield x

async def later(x: Float[Tensor, "b c"]) -> Float[Tensor, "b c"]:
    return x

async def rows_later(x: Float[Tensor, "b c"]) -> AsyncIterator[Float[Tensor, "b c"]]:
    yield x

class Model:
    def forward(self, x: Float[Tensor, "b c"]) -> None: ...

    @staticmethod
    def alone(x: Float[Tensor, "b c"]) -> None: ...

    @classmethod
    def made(cls, x: Float[Tensor, "b c"]) -> None: ...
"""

CALLS: dict[str, Callable[[Any, Tensor], Any]] = {
    name: lambda m, x, name=name: getattr(m, name)(x)
    for name in (
        "plain text dotted theirs objects around optional union items described result variable"
    ).split()
} | {
    "list": lambda m, x: m.listed([x]),
    "dict": lambda m, x: m.mapped({"a": x}),
    "tuple": lambda m, x: m.paired((x, 1)),
    "generator": lambda m, x: list(m.rows(x)),
    "coroutine": lambda m, x: asyncio.run(m.later(x)),
    "asynchronous generator": lambda m, x: asyncio.run(anext(m.rows_later(x))),
    "method": lambda m, x: m.Model().forward(x),
    "static method": lambda m, x: m.Model.alone(x),
    "class method": lambda m, x: m.Model.made(x),
}


@pytest.fixture(scope="module", params=["", "from __future__ import annotations\n"])
def module(request: Any, tmp_path_factory: Any) -> Iterator[ModuleType]:
    """The program, with typeguard's import hook over it."""
    name = f"program_for_typeguard_{len(request.param)}"
    path = tmp_path_factory.mktemp("typeguard")
    (path / f"{name}.py").write_text(request.param + PROGRAM)
    sys.path.insert(0, str(path))
    try:
        with install_import_hook([name]):
            yield importlib.import_module(name)
    finally:
        sys.path.remove(str(path))
        sys.modules.pop(name, None)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_tensor_is_checked_by_its_annotation(call: Any, module: ModuleType) -> None:
    call(module, torch.ones(2, 3))
    for wrong in (torch.ones(2), torch.ones(2, 3, dtype=torch.int64), 3):
        with pytest.raises(TypeCheckError):
            call(module, wrong)


def test_hints_and_signatures_are_found(module: ModuleType) -> None:
    hints = typing.get_type_hints(module.plain, include_extras=True)
    assert hints == {"x": Float[Tensor, "b c"], "return": Float[Tensor, "b c"]}
    assert typing.get_type_hints(module.plain) == {"x": Tensor, "return": Tensor}
    signature = inspect.signature(module.plain, eval_str=True)
    assert signature.parameters["x"].annotation == Float[Tensor, "b c"]


def test_the_decorator_checks_too() -> None:
    @typechecked
    def head(x: Float[Tensor, "b c"]) -> Float[Tensor, "c"]:
        return x[0]

    head(torch.ones(2, 3))
    with pytest.raises(TypeCheckError) as caught:
        head(torch.ones(3))
    assert str(caught.value) == 'argument "x" (torch.Tensor) doesn\'t fit Float[..., "b c"]'


def test_a_project_may_hand_the_types_on(tmp_path: Path) -> None:
    (tmp_path / "types_of_project.py").write_text("from shapecheck import Float")
    (tmp_path / "program.py").write_text(
        "import types_of_project as own\n"
        "from torch import Tensor\n"
        "from types_of_project import Float as F\n"
        "from shapecheck.types import *\n"
        "def plain(x: F[Tensor, 'b c']) -> own.Float[Tensor, 'b c']:\n"
        "    y: Float32[Tensor, 'b c'] = x\n"
        "    return y\n"
    )
    said = run(CHECKED.format(imports="import typeguard"), PYTHONPATH=str(tmp_path))
    assert said == "found\n"


def test_the_names_of_the_caller_are_others() -> None:
    @typechecked
    def helper(x: Float[Tensor, "d n"]) -> None: ...

    @shapecheck
    def caller(x: Float[Tensor, "n d"]) -> None:
        helper(x)

    caller(torch.ones(2, 3))


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_importing_the_types_imports_no_checker() -> None:
    run(
        "import sys, shapecheck, shapecheck.types\n"
        "from shapecheck import Float\n"
        "Float[int, '...']\n"
        "found = {'typeguard', 'beartype', 'jaxtyping', 'torch'} & sys.modules.keys()\n"
        "assert not found, found"
    )


CHECKED = (
    "import torch\n"
    "{imports}\n"
    "with typeguard.install_import_hook(['program']):\n"
    "    import program\n"
    "program.plain(torch.ones(2, 3))\n"
    "try:\n"
    "    program.plain(torch.ones(2))\n"
    "except typeguard.TypeCheckError:\n"
    "    print('found')"
)


@pytest.mark.parametrize(
    ("imports", "disabled"),
    [
        ("from shapecheck import Float; import typeguard", ""),  # by typeguard's entry point
        ("import typeguard", ""),
        ("import typeguard; from shapecheck import Float", "1"),
    ],
)
def test_in_any_order_of_imports(imports: str, disabled: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from __future__ import annotations\n" + PROGRAM)
    environment = {"PYTHONPATH": str(tmp_path)}
    if disabled:
        environment["TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD"] = disabled
    assert run(CHECKED.format(imports=imports), **environment) == "found\n"


@pytest.mark.parametrize("disabled", ["", "1"])
def test_our_own_calls_compare_what_typeguard_finds(disabled: str) -> None:
    environment = {"TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD": disabled} if disabled else {}
    said = run(
        "import torch\n"
        "from shapecheck import Float, ShapeError, shapecheck\n"
        "@shapecheck\n"
        "def joined(xs: list[Float[torch.Tensor, 'n d']]) -> None: ...\n"
        "joined([torch.ones(2, 3)])\n"
        "try:\n"
        "    joined([torch.ones(2, 3), torch.ones(2, 4)])\n"
        "except ShapeError as error:\n"
        "    print(str(error).splitlines()[0])\n",
        **environment,
    )
    assert said == (
        'item 1 of argument "xs" of "joined" is (2 4), declared "n d": axis 1 is 4, '
        "declared d (here 3)  [shape]\n"
    )


def test_what_of_typeguard_is_private() -> None:
    """Where the text in brackets isn't code; see `shapecheck.checkers.typeguard`."""
    names = typeguard._transformer.annotated_names
    assert "torch.Tensor" not in names
    assert all(one in names for one in ("typing.Annotated", "shapecheck.Float", "jaxtyping.Int8"))


def test_a_typeguard_without_it_is_said_once() -> None:
    said = run(
        "import typeguard._transformer\n"
        "del typeguard._transformer.annotated_names\n"
        "import torch\n"
        "from shapecheck import Float\n"
        "for _ in range(2):\n"
        "    typeguard.check_type(torch.ones(2), Float[torch.Tensor, 'b'])\n",
        TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert said.count("put @shapecheck in the place of @typechecked") == 1
    assert "this typeguard has no _transformer.annotated_names" in said
