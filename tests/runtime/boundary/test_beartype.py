"""beartype and jaxtyping on functions with our types, as if they were jaxtyping's own."""

import copy
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import jaxtyping
import numpy as np
import pytest
import torch
from beartype import beartype
from beartype.door import is_bearable
from beartype.roar import BeartypeCallHintViolation
from beartype.vale import Is
from jaxtyping import jaxtyped
from repository import ROOT
from torch import Tensor

from shapecheck import Dim, Float, Int, shapecheck

Vocab, Batch = Dim("vocab", size=7), Dim("batch")


def ones(text: str) -> Tensor:
    return torch.ones([int(size) for size in text.split()])


# Each pair of annotations, sizes that fit them, and sizes that don't. The first ones are for all
# checkers, the others need jaxtyping to compare tensors.
ALONE: list[tuple[Any, str, str]] = [
    (Float[Tensor, "b c"], "2 3", "2"),
    (Float[Tensor, "2 c"], "2 3", "3 3"),
    (Float[Tensor, "n n"], "3 3", "3 4"),
    (Float[Tensor, "*b 3"], "2 4 3", "2 4"),
    (Float[Float[Tensor, "c"], "b"], "2 3", "2"),
    (Float["Tensor", "b c"], "2 3", "2"),
    (Float[Tensor, Vocab, Batch], "7 2", "6 2"),
    (Optional[Float[Tensor, "b c"]], "2 3", "2"),  # noqa: UP045 - as it is often written
    (Float[Tensor, "b c"] | Int[Tensor, "b"], "2 3", "2"),
]
TOGETHER: list[tuple[Any, Any, str, str]] = [
    (Float[Tensor, "b c"], Float[Tensor, "c"], "2 3, 3", "2 3, 2"),
    (Float[Tensor, "2*n"], Float[Tensor, "n"], "6, 3", "6, 2"),
    (Float[Tensor, "*a *b"], Float[Tensor, "*a"], "2 3 4, 2 3", "2 3 4, 3"),
    (Float[Tensor, "(h d)"], Float[Tensor, "h d"], "6, 2 3", "6, 2 4"),
    (Float[Tensor, "*#s c"], Float[Tensor, "*#s c"], "2 3 4, 1 4", "2 3 4, 2 4"),
    (Float[Tensor, "_ c"], Float[Tensor, "c"], "9 3, 3", "9 3, 9"),
    (Float[Tensor, Batch], Float[Tensor, Batch], "2, 2", "2, 3"),
    (Float[Tensor, "n"] | Int[Tensor, "n"], Float[Tensor, "n"] | None, "2, 2", "2, 3"),
    (Float[Tensor, "n m"] | Float[Tensor, "n"], Float[Tensor, "n"], "2, 2", "2, 3"),
    (jaxtyping.Float[Tensor, "n"], Float[Tensor, "n"], "2, 2", "2, 3"),
    (Float[Tensor, "n *g"], jaxtyping.Float[Tensor, "*g n"], "2 3, 3 2", "2 3, 2 2"),
]


def theirs(function: Any) -> Any:
    return jaxtyped(typechecker=beartype)(function)


def old_style(function: Any) -> Any:
    with pytest.warns(UserWarning, match="jaxtyping now prefers"):
        return jaxtyped(beartype(function))


@pytest.mark.parametrize("checker", [beartype, theirs, old_style])
@pytest.mark.parametrize(("annotation", "fits", "wrong"), ALONE)
def test_a_tensor_is_checked(checker: Any, annotation: Any, fits: str, wrong: str) -> None:
    def function(x: Any) -> Any:
        return x

    function.__annotations__ = {"x": annotation}
    taken = checker(function)
    function.__annotations__ = {"x": Any, "return": annotation}
    given = checker(function)
    taken(ones(fits))
    given(ones(fits))
    for value in (ones(wrong), ones(fits).to(torch.bool), 3):
        for one in (taken, given):
            with pytest.raises((jaxtyping.TypeCheckError, BeartypeCallHintViolation)):
                one(value)


@pytest.mark.parametrize("checker", [theirs, old_style])
@pytest.mark.parametrize(("a", "b", "fits", "wrong"), TOGETHER)
def test_the_tensors_of_a_call_agree(checker: Any, a: Any, b: Any, fits: str, wrong: str) -> None:
    def two(x: Any, y: Any) -> None: ...

    def result(x: Any, y: Any) -> Any:
        return y

    two.__annotations__ = {"x": a, "y": b}
    result.__annotations__ = {"x": a, "return": b}
    for function in (checker(two), checker(result)):
        function(*map(ones, fits.split(",")))
        with pytest.raises((jaxtyping.TypeCheckError, BeartypeCallHintViolation)):
            function(*map(ones, wrong.split(",")))


def test_arrays_of_numpy() -> None:
    """Rank, sizes and dtype, of each and against each other; a tensor is no array."""

    @jaxtyped(typechecker=beartype)
    def both(
        a: Float[np.ndarray, "b c"], b: Float[np.ndarray, "c"], c: Int[Tensor, "b"] | None = None
    ) -> None: ...

    both(np.zeros((2, 3)), np.zeros(3, np.float32))
    both(np.zeros((2, 3)), np.zeros(3), torch.zeros(2, dtype=torch.int64))
    wrong: list[tuple[Any, ...]] = [
        (np.zeros((2, 3)), np.zeros(2)),
        (np.zeros((2, 3, 4)), np.zeros(3)),
        (np.zeros((2, 3), int), np.zeros(3)),
        (torch.zeros(2, 3), np.zeros(3)),
        (np.zeros((2, 3)), np.zeros(3), torch.zeros(3, dtype=torch.int64)),
    ]
    for arguments in wrong:
        with pytest.raises(jaxtyping.TypeCheckError):
            both(*arguments)
    assert isinstance(np.zeros((2, 3)), Float[np.ndarray, "b c"])
    assert not isinstance(np.zeros(2), Float[np.ndarray, "b c"])
    assert not isinstance(np.zeros((2, 3), int), Float[np.ndarray, "b c"])


def test_the_message_is_jaxtypings() -> None:
    @theirs
    def outer(x: Float[Tensor, "b c"], y: Float[Tensor, "c"]) -> None: ...

    with pytest.raises(jaxtyping.TypeCheckError) as caught:
        outer(ones("2 3"), ones("4"))
    said = str(caught.value)
    assert "The problem arose whilst typechecking parameter 'y'." in said
    assert said.endswith("for each jaxtyping axis annotation are as follows.\nb=2\nc=3")


def test_expressions_over_the_arguments() -> None:
    class Model:
        width = 5

        @theirs
        def forward(self, n: int, more: int) -> Float[Tensor, "{self.width}+{n} {n}"]:
            return torch.ones(self.width + n + more, n)

    Model().forward(2, 0)
    with pytest.raises(jaxtyping.TypeCheckError):
        Model().forward(2, 1)

    @beartype  # which knows nothing of the other arguments
    def alone(n: int) -> Float[Tensor, "{n} c"]:
        return torch.ones(n + 1, 2)

    alone(3)


def test_a_dataclass() -> None:
    @theirs
    @dataclass
    class Pair:
        x: Float[Tensor, "b c"]
        y: Float[Tensor, "c"]

    Pair(ones("2 3"), ones("3"))
    with pytest.raises(jaxtyping.TypeCheckError):
        Pair(ones("2 3"), ones("2"))


def test_isinstance_in_a_call_of_jaxtypings() -> None:
    @jaxtyped(typechecker=None)
    def body(x: Tensor) -> list[bool]:
        kinds = [Float[Tensor, "n d"], Float[Tensor, "d n"], jaxtyping.Float[Tensor, "n _"]]
        return [isinstance(x, kind) for kind in kinds]

    assert body(ones("2 3")) == [True, False, True]
    with jaxtyped("context"):  # type: ignore[attr-defined]
        assert isinstance(ones("2"), Float[Tensor, "n"])
        assert not isinstance(ones("3"), Float[Tensor, "n"])
    assert isinstance(ones("3"), Float[Tensor, "n"])
    assert isinstance(ones("2"), Float[Tensor, "n"])


@pytest.mark.parametrize("checker", [beartype, theirs])
def test_the_names_of_a_caller_of_ours_are_others(checker: Any) -> None:
    @checker
    def helper(x: Float[Tensor, "d n"]) -> None: ...

    @shapecheck
    def caller(x: Float[Tensor, "n d"]) -> None:
        helper(x)

    caller(ones("2 3"))


def test_both_decorators_on_one_function() -> None:
    @shapecheck
    @theirs
    def turned(x: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
        return x.T

    turned(ones("2 3"))


def test_other_metadata_beside_ours() -> None:
    """beartype refuses a type of whose metadata only some are its own."""

    @beartype
    def described(x: Annotated[Float[Tensor, "b c"], "what a camera sees"]) -> None: ...

    @beartype
    def positive(x: Annotated[Float[Tensor, "b c"], Is[lambda x: bool((x > 0).all())]]) -> None: ...

    described(ones("2 3"))
    with pytest.raises(BeartypeCallHintViolation):
        described(3)
    positive(ones("2 3"))
    for wrong in (ones("2"), -ones("2 3")):
        with pytest.raises(BeartypeCallHintViolation):
            positive(wrong)


def test_a_type_stays_what_it_was() -> None:
    kind = Float[Tensor, "b c"]
    assert is_bearable(ones("2 3"), kind)
    assert not is_bearable(ones("2"), kind)
    (spec,) = kind.__metadata__
    (beside, _) = Annotated[kind, "more"].__metadata__
    assert spec == beside
    assert beside == spec
    assert len({spec, beside}) == 1
    for same in (copy.deepcopy(kind), pickle.loads(pickle.dumps(kind))):
        assert same == kind
        assert is_bearable(ones("2 3"), same)
        assert not is_bearable(ones("2"), same)
    assert not hasattr(spec, "sizes")


def test_in_compiled_code() -> None:
    @theirs
    def scale(x: Float[Tensor, "b c"], y: Float[Tensor, "c"]) -> Float[Tensor, "b c"]:
        return x * y

    torch._dynamo.reset()
    compiled = torch.compile(scale, backend="eager", fullgraph=True)
    for sizes in (("2 3", "3"), ("4 5", "5")):
        compiled(*map(ones, sizes))
    assert torch.vmap(theirs(scale), in_dims=(0, None))(ones("2 4 3"), ones("3")).shape == (2, 4, 3)


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_the_import_hook_of_jaxtyping(future: str, tmp_path: Path, monkeypatch: Any) -> None:
    name = f"program_for_jaxtyping_{len(future)}"
    (tmp_path / f"{name}.py").write_text(
        f"{future}from shapecheck import Float\n"
        "from torch import Tensor\n"
        "def first(x: Float[Tensor, 'b c'], y: Float[Tensor, 'c']) -> Float[Tensor, 'c']:\n"
        "    return x[0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with jaxtyping.install_import_hook(name, "beartype.beartype"):
        first: Callable[[Tensor, Tensor], Tensor] = importlib.import_module(name).first
    first(ones("2 3"), ones("3"))
    with pytest.raises(jaxtyping.TypeCheckError):
        first(ones("2 3"), ones("2"))
    del sys.modules[name]


def test_typeguard_in_its_place_says_that_it_checks_nothing() -> None:
    """Of jaxtyping's own types as of ours: it has no source for what jaxtyping gives it."""
    from typeguard import InstrumentationWarning, typechecked

    def first(x: Float[Tensor, "b c"]) -> None: ...

    with pytest.warns(InstrumentationWarning, match="not typechecking"):
        jaxtyped(typechecker=typechecked)(first)


def test_what_of_jaxtyping_is_private(monkeypatch: Any) -> None:
    """What it keeps of a call; see `shapecheck.runtime.boundary.other_checkers`."""
    import jaxtyping._storage

    from shapecheck.runtime.boundary import other_checkers

    monkeypatch.setattr(other_checkers, "_warned", set())

    @theirs
    def both(x: Float[Tensor, "n"], y: Float[Tensor, "n"]) -> None: ...

    monkeypatch.delattr(jaxtyping._storage, "get_shape_memo")
    with pytest.warns(RuntimeWarning, match="put @shapecheck in the place of @jaxtyped") as said:
        both(ones("2"), ones("3"))
    assert len(said) == 1
    with pytest.raises(jaxtyping.TypeCheckError):
        both(ones("2"), ones("3 3"))


def test_annotations_that_are_text_above_the_decorator(tmp_path: Path) -> None:
    """beartype looks them up among the globals of what the decorator has made."""
    (tmp_path / "program.py").write_text(
        "from __future__ import annotations\n"
        "import torch\n"
        "from beartype import beartype\n"
        "from beartype.roar import BeartypeCallHintParamViolation\n"
        "from torch import Tensor\n"
        "from shapecheck import Float, shapecheck\n"
        "@beartype\n"
        "@shapecheck\n"
        'def sums(x: Float[Tensor, "b n"]) -> Float[Tensor, "b"]:\n'
        "    return x.sum(-1)\n"
        "sums(torch.ones(2, 3))\n"
        "try:\n"
        "    sums(torch.ones(2))\n"
        "except BeartypeCallHintParamViolation:\n"
        '    print("refused")\n'
    )
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("refused\n", "")
