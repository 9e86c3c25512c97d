"""Each form that a signature may have: what is read, what is said of calls, and what is no form.

`signatures.txt` has the signatures, `forms.txt` the calls; see `op_calls`.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import expected
import op_calls
import pytest

from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Shape, Tensor
from shapecheck.signatures import StubError, Table
from shapecheck.signatures.index import files
from shapecheck.signatures.model import Result

FOLDER = Path(__file__).parent


@pytest.fixture(name="stubs")
def _stubs(tmp_path: Path) -> Table:
    shutil.copy(FOLDER / "signatures.txt", tmp_path / "lib.pyi")
    shipped = FOLDER.parents[1] / "stubs"
    return Table([tmp_path, shipped])


def test_calls(stubs: Table, request: pytest.FixtureRequest) -> None:
    op_calls.check(FOLDER / "forms.txt", stubs, request)


def plain(result: Result) -> str:
    """Return what is read of a result, with expressions as they are written."""
    text = "" if result.same is None else f" is {ast.unparse(result.same)}"
    items = "" if result.items is None else f" of {', '.join(map(plain, result.items))}"
    rest = [
        f"{name} {value}"
        for name in ("rule", "extra", "number", "nothing", "blank", "array", "fields", "tensor")
        if (value := getattr(result, name))
    ]
    return f"{', '.join(rest)}{items}{text}"


def test_what_is_read(stubs: Table, request: pytest.FixtureRequest) -> None:
    said: dict[str, str] = {}
    for name in stubs.names("lib"):
        signature = stubs.signature(name)
        assert signature is not None
        for number, one in enumerate((signature, *signature.overloads)):
            params = "; ".join(map(str, one.params))
            more = " and keywords" if one.variadic_keywords else ""
            said[f"{name} {number}"] = f"{params}{more} => {plain(one.result)}"
            said[f"{name} {number} gives tensors"] = str(one.gives_tensors)
    expected.check(FOLDER / "read.txt", said, request)


BAD = """\
def f(input: Nonsense["n"]) -> None: ...
def f(input: Float[Tensor, 3]) -> None: ...
def f(input: Float[Tensor, "(n"]) -> None: ...
def f(input: Axis[3]) -> None: ...
def f(input: Float[Tensor, "n"]): ...
def f(input: Float[Tensor, "n"]) -> 3: ...
def f(input: Float[Tensor, "n"]) -> Nonsense: ...
def f(input: Float[Tensor, "n"]) -> Float["n"]: ...
def f(input: Float[Tensor, "n"]) -> Rule["nonsense"]: ...
def f(input: Float[Tensor, "n"]) -> Rule[3]: ...
def f(input: Float[Tensor, "n"]) -> Rule["matmul"]: ...
def f(left: Any, right: Any) -> Rule["matmul"]: ...
def f(input: Any, other: Any) -> Fields[3, int]: ...
def f(input: Float[Tensor, "*s"], dim: Axis["*t"]) -> None: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Without["*t", dim]]: ...
def f(input: Float[Tensor, "*s"]) -> Float[Tensor, Without["*s", dim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Without["*s", dim, keepdim]]: ...
def f(input: Float[Tensor, "*s"]) -> Float[Tensor, Without["*s"]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Without["*s", 3]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Without[dim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Without[dim, dim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Sizes["*s"]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Sizes[dim, dim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, With["*s", dim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Insert["*s", dim, keepdim]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Insert["*s", dim, "{size}"]]: ...
def f(input: Float[Tensor, "*s"], dim: int) -> Float[Tensor, Insert[3, dim, "n"]]: ...
def f(input: Float[Tensor, "{size}"]) -> None: ...
def f(input: Any) -> tuple[Float[Tensor, "{size}"], int]: ...
def f(input: Float[Tensor, "*s"]) -> Float[Tensor, Sizes[size]]: ...
@nonsense§def f(input: Any) -> None: ...
@also(3)§def f(input: Any) -> None: ...
@example()§def f(input: Any) -> None: ...
@example("x: n | x", "g")§def f(input: Any) -> None: ...
@reduces("g")§def f(input: Any) -> None: ...
x = 3
class C(Module):§    x = 3
class C(Module):§    def f(self, input: Nonsense[3]) -> None: ...
"""


@pytest.mark.parametrize("text", BAD.splitlines())
def test_what_is_no_form(tmp_path: Path, text: str, request: pytest.FixtureRequest) -> None:
    """Which file, which line, and why, whichever name is asked for first."""
    (tmp_path / "lib.pyi").write_text("import torch\n\n" + text.replace("§", "\n"))
    stubs = Table([tmp_path])
    with pytest.raises(StubError) as error:
        _ = [stubs.signature(name) for name in [*stubs.names("lib")]]
    said = str(error.value).replace(str(tmp_path), "")
    assert (error.value.path, f"{error.value.line}") == (tmp_path / "lib.pyi", said.split(":")[1])
    rows = dict(
        line.split(" -> ! ") for line in (FOLDER / "refused.txt").read_text("utf-8").splitlines()
    )
    if request.config.getoption("--update"):
        rows[text] = said
        lines = [f"{one} -> ! {rows[one]}" for one in BAD.splitlines() if one in rows]
        (FOLDER / "refused.txt").write_text("\n".join(lines) + "\n", "utf-8")
    assert said == rows.get(text)


NAMES = """\
@method
@also("other", "torch.linalg.third")
@inplace
@example("x: n | x", "other")
@reduces("f")
@telling
def f(input: T[Tensor, "n"]) -> T[Tensor, "n"]: ...
@property
def g(input: Any) -> Any: ...
@method
def h_(input: Any) -> Any: ...
@also("Second", "lib.deep.Third")
@example("C(3) | x: n | x")
class C(Module):
    width: int = 4
    size: Float[Tensor, "{self.width}"]
    @also("call", "lib.run")
    def forward(self, input: Any) -> Any: ...
class D(C):
    pass
import torch.nn as nn
class E(nn.Module):
    pass
class F(f().g): ...
"""


def test_what_a_file_defines(tmp_path: Path) -> None:
    """By all the names that it has."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "_private.pyi").write_text(NAMES)
    (tmp_path / "lib" / "sub.pyi").write_text(NAMES)
    (tmp_path / "note.txt").write_text("no signatures")
    found = files(tmp_path, keep=False)
    assert [(one.path.name, one.prefix) for one in found] == [
        ("_private.pyi", "lib"),
        ("sub.pyi", "lib.sub"),
    ]
    first = found[0]
    assert [one.names for one in first.functions] == [
        [
            *("lib.f", "lib.other", "torch.linalg.third", "torch.Tensor.f", "torch.Tensor.other"),
            *("lib.f_", "lib.other_", "torch.Tensor.f_", "torch.Tensor.other_"),
        ],
        ["lib.g"],
        ["lib.h_", "torch.Tensor.h_"],
        ["lib.C.forward", "lib.C.call", "lib.run"],
    ]
    assert [sorted(one.flags) for one in first.functions] == [
        *(["reduces", "telling"], ["property"], [], []),
    ]
    assert first.functions[0].flags["reduces"] == ["lib.f", "torch.Tensor.f"]
    assert first.functions[1].is_property
    assert not first.functions[0].is_property
    assert first.examples == {
        **dict.fromkeys(("lib.other", "torch.Tensor.other"), "x: n | x"),
        **dict.fromkeys(("lib.C", "lib.Second", "lib.deep.Third"), "C(3) | x: n | x"),
    }
    c, d, e, f = first.classes
    assert (e.bases, f.bases) == (["torch.nn.Module"], [])
    assert first.imports == {"nn": "torch.nn"}
    assert (c.name, c.also, c.bases) == ("lib.C", ["lib.Second", "lib.deep.Third"], ["lib.Module"])
    assert (c.methods, c.constants, [*c.fields]) == (["forward", "call"], {"width": 4}, ["size"])
    assert (d.bases, d.methods) == (["lib.C"], [])
    stubs = Table([tmp_path])
    assert stubs.lookup_class("lib.Second") is stubs.lookup_class("lib.C")
    assert [stubs.describes(one) for one in ("lib", "lib.deep", "torch", "li", "lib.C.x")] == [
        *(True, True, True, False, False),
    ]
    assert stubs.knows("lib")
    assert not stubs.knows("torch")
    assert stubs.is_property("lib.g")
    assert not stubs.is_property("lib.f")
    (definition, *_) = stubs.definitions("lib.g")
    assert (definition.names, definition.line) == (("lib.g",), 9)
    assert definition.text == "def g(input: Any) -> Any: ..."
    assert stubs.definitions("lib.gone") == []
    assert {"lib.f", "lib.C", "lib.Second", "lib.sub.D"} <= {*stubs.all_names()}


def test_which_folder_describes_a_package(tmp_path: Path) -> None:
    """An earlier one goes before."""
    for folder, text in (("own", NAMES), ("shipped", NAMES.replace('"n"', '"n 2"'))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lib.pyi").write_text(text)
        (tmp_path / folder / f"{folder}.pyi").write_text(
            text.replace("def f", "def only").replace('"f"', '"only"')
        )
    stubs = Table([tmp_path / "own", tmp_path / "shipped"])
    assert [stubs.ships(one) for one in ("lib", "own", "shipped")] == [False, False, True]
    f = stubs.signature("lib.f")
    assert f is not None
    assert len(f.overloads) == 1
    assert [one.path.parent.name for one in stubs.definitions("lib.f")] == ["own", "shipped"]
    assert stubs.has("shipped.only")


def test_arrays(stubs: Table) -> None:
    """A tensor of torch isn't one; what is made of arrays in a result is made of these alone."""
    tensor = Tensor(Shape((3,)))
    asked = []
    for name in ("arrays", "array", "arrays_of", "takes_arrays", "same", "several"):
        one = stubs.signature(f"lib.{name}")
        assert one is not None
        asked.append((name, one.of_arrays, one.gives_arrays, one.takes_arrays))
        if name == "arrays":
            assert one.is_given_tensors((tensor,), {})
            assert one.is_given_tensors((1,), {"other": tensor})
            assert not one.is_given_tensors((1, 2), {})
            assert not one.is_given_tensors((1, 2, 3), {})
            made = one.with_arrays((tensor, tensor, tensor), lambda given: given.shape)
            assert made == (tensor.shape, tensor, tensor.shape)
        elif name == "arrays_of":
            made = one.with_arrays((tensor, [tensor], 3), lambda given: given.shape)
            assert made == (tensor.shape, [tensor], 3)
        elif name == "same":
            assert one.with_arrays(tensor, lambda given: given.shape) is tensor
            assert not one.is_given_tensors((tensor,), {})
    assert asked == [
        ("arrays", True, True, True),
        ("array", True, True, True),
        ("arrays_of", True, True, True),
        ("takes_arrays", False, False, True),
        ("same", False, False, False),
        ("several", False, False, False),
    ]


def test_what_a_class_is_asked(stubs: Table) -> None:
    """What it has of those that it is derived from, too."""
    derived, alone = stubs.lookup_class("lib.Derived"), stubs.lookup_class("lib.Without")
    assert derived is not None
    assert alone is not None
    in_a_shape = [derived.is_in_a_shape(one) for one in ("width", "depth", "kernel", "wid", "more")]
    assert in_a_shape == [True, True, False, False, False]
    assert not alone.is_in_a_shape("width")
    assert derived.unknown() == {
        **dict.fromkeys(("width", "bias", "kernel", "more"), UNKNOWN),
        "depth": 3,
        "name": "base",
        "__class__": "lib.Derived",
    }
    assert alone.construct((), {}) == alone.unknown() == {"__class__": "lib.Without"}
    assert derived.construct((4, True, 2, None, 5), {}) is None
    assert derived.construct((4,), {"kernel": 2}) == {
        "width": 4,
        "bias": True,
        "kernel": (2, 2),
        "more": None,
        "depth": 3,
        "name": "base",
        "__class__": "lib.Derived",
    }
    assert derived.method("__init__") is stubs.signature("lib.Derived.__init__")
    assert derived.method("forward") is stubs.signature("lib._Base.forward")
    assert derived.method("gone") is None
