"""Assignments to annotated fields of decorated classes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, dataclass, field
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from shapecheck import Float, Int, ShapeError, disabled, shapecheck


@shapecheck
@dataclass
class Batch:
    x: Float[Tensor, "n d"]
    mask: Float[Tensor, "n"] | None = None
    pieces: list[Float[Tensor, "k k"]] = field(default_factory=list)
    label: int = field(default_factory=int)
    shared: ClassVar[Float[Tensor, "n"]] = torch.ones(1)


@shapecheck(dims="d")
class Memory(nn.Module):
    state: Float[Tensor, "n d"]
    weight: Float[Tensor, "d {self.k}"]
    later: Later

    def __init__(self, d: int, k: int) -> None:
        super().__init__()
        self.d = d
        self.k = k
        self.weight = nn.Parameter(torch.ones(d, k))
        self.state = torch.zeros(1, d)

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n {self.k}"]:
        self.state = x * 2
        return x @ self.weight


Later = Int[Tensor, ""]


def test_what_fits_is_assigned() -> None:
    batch = Batch(torch.ones(2, 3))
    batch.mask = torch.ones(2)
    keep = torch.tensor([0])
    batch.x = batch.x[keep]  # and its mask in the next statement
    batch.mask = batch.mask[keep]
    batch.pieces = [torch.ones(2, 2), torch.ones(2, 2)]
    batch.mask = None
    batch.label = "not a shape"  # type: ignore[assignment]
    assert batch.x.shape == (1, 3)
    memory = Memory(3, 4)
    memory(torch.ones(5, 3))
    memory.later = torch.tensor(1)
    assert memory.state.shape == (5, 3)
    assert isinstance(memory.weight, nn.Parameter)


@pytest.mark.parametrize(
    ("assign", "text"),
    [
        (
            lambda b, m: setattr(b, "x", torch.ones(2)),
            'attribute "x" of "Batch" is (2), declared "n d": it has 1 axis, declared 2  [shape]',
        ),
        (
            lambda b, m: setattr(b, "x", torch.ones(2, 2).int()),
            'attribute "x" of "Batch" is int32, declared Float  [shape-dtype]',
        ),
        (
            lambda b, m: setattr(b, "mask", torch.ones(2, 2)),
            'attribute "mask" of "Batch" is (2 2), declared "n": it has 2 axes, declared 1  '
            "[shape]",
        ),
        (
            lambda b, m: setattr(b, "pieces", [torch.ones(2, 2), torch.ones(3, 3)]),
            'item 1 of attribute "pieces" of "Batch" is (3 3), declared "k k": axis 0 is 3, '
            "declared k (here 2)  [shape]",
        ),
        (
            lambda b, m: setattr(m, "state", torch.ones(2, 4)),
            'attribute "state" of "Memory" is (2 4), declared "n d": axis 1 is 4, declared d '
            "(here 3)  [shape]",
        ),
        (
            lambda b, m: setattr(m, "weight", nn.Parameter(torch.ones(3, 5))),
            'attribute "weight" of "Memory" is (3 5), declared "d {self.k}": axis 1 is 5, declared '
            "{self.k} (here 4)  [shape]",
        ),
        (
            lambda b, m: setattr(m, "later", torch.ones(1)),
            'attribute "later" of "Memory" is float32, declared Int  [shape-dtype]',
        ),
    ],
)
def test_what_does_not_fit(assign: Callable[[Batch, Memory], None], text: str) -> None:
    batch, memory = Batch(torch.ones(2, 3)), Memory(3, 4)
    state = batch.x, memory.state
    with pytest.raises(ShapeError) as caught:
        assign(batch, memory)
    assert str(caught.value).splitlines()[0] == text
    assert f"  at {__file__}:" in str(caught.value)
    assert (batch.x, memory.state) == state  # by identity


def test_construction_compares_all_fields() -> None:
    with pytest.raises(ShapeError, match='argument "mask" of "Batch"'):
        Batch(torch.ones(2, 3), torch.ones(3))
    with pytest.raises(ShapeError, match='argument "pieces" of "Batch"'):
        Batch(torch.ones(2, 3), pieces=[torch.ones(2, 3)])
    assert Batch(torch.ones(2, 3)).pieces == []


@pytest.mark.parametrize("slots", [False, True])
def test_expressions_over_other_fields(slots: bool) -> None:
    factor = 2

    @shapecheck
    @dataclass(slots=slots)
    class Head:
        weight: Float[Tensor, "{width} {classes}"]
        wide: Float[Tensor, "{factor * width}"]
        scale: InitVar[int]
        width: int
        classes: int = 10
        scaled: Float[Tensor, "{scale}"] | None = None
        value: int = 5
        last: Float[Tensor, "{value}"] | None = None

    head = Head(torch.ones(8, 20), torch.ones(16), 3, 8, 20, torch.ones(3))
    head.weight = torch.ones(8, 20)
    head.scaled = torch.ones(4)  # of the argument nothing is left
    for name, size in {"weight": (20, 8), "wide": (8,), "last": (4,)}.items():
        with pytest.raises(ShapeError, match=f'attribute "{name}" of .* axis 0 is {size[0]}'):
            setattr(head, name, torch.ones(size))
    with pytest.raises(ShapeError, match='argument "weight" of "Head" is'):
        Head(torch.ones(8, 20), torch.ones(16), 3, 8)


def test_copies_and_disabled() -> None:
    batch = Batch(torch.ones(2, 3))
    assert copy.deepcopy(batch).x.shape == (2, 3)
    assert pickle.loads(pickle.dumps(batch)).x.shape == (2, 3)
    with disabled():
        batch.x = torch.ones(1)


def test_a_frozen_dataclass_stays_frozen() -> None:
    @shapecheck
    @dataclass(frozen=True)
    class Frozen:
        x: Float[Tensor, "n"]

    with pytest.raises(FrozenInstanceError):
        Frozen(torch.ones(2)).x = torch.ones(2, 2)  # type: ignore[misc]
    with pytest.raises(ShapeError):
        Frozen(torch.ones(2, 2))


def test_a_class_that_assigns_in_its_own_way() -> None:
    @shapecheck
    class Logged:
        x: Float[Tensor, "n"]

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, "last", name)
            object.__setattr__(self, name, value)

    logged = Logged()
    logged.x = torch.ones(2)
    assert vars(logged)["last"] == "x"
    with pytest.raises(ShapeError):
        logged.x = torch.ones(2, 2)

    @shapecheck
    class Plain:
        count: int

    assert "__setattr__" not in vars(Plain)


def test_inherited_fields() -> None:
    class Child(Batch):
        pass

    child = Child(torch.ones(2, 3))
    with pytest.raises(ShapeError):
        child.x = torch.ones(1)


def test_compiles_into_one_graph() -> None:
    memory = Memory(3, 4)
    torch._dynamo.reset()
    compiled = torch.compile(memory, fullgraph=True, backend="eager")
    x = torch.ones(2, 3)
    assert torch.equal(compiled(x), memory(x))
    assert torch.equal(memory.state, x * 2)
