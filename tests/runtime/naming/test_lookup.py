"""The compiled look-up of ops: it finds what the rules said, and leaves to Python what it must."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, shapecheck
from shapecheck.runtime.naming import mode
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.keys import GETITEM, key_of
from shapecheck.runtime.naming.lookup import Lookup, _kept, keep, kept
from shapecheck.runtime.naming.records import Record

pytestmark = pytest.mark.skipif(Lookup is None, reason="there was no C compiler")

LINEAR = nn.Linear(4, 5)
MASK = torch.rand(3, 4) > 0.5
FOUND: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "two tensors": lambda x, y: x + y,
    "an int": lambda x, y: x + 2,
    "a float": lambda x, y: x * 2.5,
    "a bool": lambda x, y: torch.argsort(x, 1, True),
    "a bool by name": lambda x, y: x.sum(dim=1, keepdim=True),
    "none": lambda x, y: torch.clamp(x, None, 2),
    "a text": lambda x, y: torch.einsum("ab,cb->ac", x, y),
    "a tuple of tensors": lambda x, y: torch.cat((x, y), dim=1),
    "a list of tensors": lambda x, y: torch.stack([x, y], 1),
    "a tuple of numbers": lambda x, y: x.permute((1, 0)),
    "a dtype": lambda x, y: x.to(torch.float64),
    "a device": lambda x, y: x.to(torch.device("cpu")),
    "parameters": lambda x, y: LINEAR(x),
    "parameters by name": lambda x, y: F.layer_norm(x, (4,), weight=torch.ones(4), bias=None),
    "a tensor without names": lambda x, y: torch.where(MASK, x, y),
    "sizes": lambda x, y: x.reshape(3, 2, 2),
    "an index": lambda x, y: x[0],
    "a new axis": lambda x, y: x[:, None],
    "an ellipsis": lambda x, y: x[..., None],
    "a part": lambda x, y: x[:, 1:3],
    "one part": lambda x, y: x[1:],
}
LEFT: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "an index that is a mask": lambda x, y: x[MASK],
    "an index that is a list": lambda x, y: x[[0, 1]],
    "an index of more": lambda x, y: x[True],
    "an assignment": lambda x, y: x.__setitem__(0, 1.0),
    "several results": lambda x, y: x.max(dim=1),
    "a complex number": lambda x, y: x * 1j,
    "a shape": lambda x, y: x.shape,
}


class Counted:
    """Stands before the compiled look-up, and remembers what it answered."""

    def __init__(self) -> None:
        self.answers: list[object] = []

    def __call__(self, *given: Any) -> Any:
        assert mode._find is not None
        self.answers.append(REAL(*given))
        return self.answers[-1]


REAL: Any = mode._find


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the look-up answers from here on."""
    counted = Counted()
    monkeypatch.setattr(mode, "_find", counted)
    return counted.answers


def names_of(op: Callable[[Tensor, Tensor], Any]) -> list[object]:
    """Run an op three times in one call; return the names that the results got."""
    found: list[object] = []

    @shapecheck
    def call(x: Float[Tensor, "a b"], y: Float[Tensor, "a b"]) -> None:
        for _ in range(3):
            result = op(x, y)
            assert state.frame is not None
            known = state.frame.of(result) if isinstance(result, Tensor) else None
            found.append(None if known is None else (known.dims, known.sizes))

    call(torch.randn(3, 4), torch.randn(3, 4))
    return found


@pytest.mark.parametrize("name", FOUND)
def test_an_op_is_found_and_has_the_names_that_python_gives_it(
    name: str, answers: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time the rule says it, then it is found: the names are those without the C part."""
    found = names_of(FOUND[name])
    assert isinstance(answers[-1], Record | mode.Placed)
    monkeypatch.setattr(mode, "_find", None)
    assert found == names_of(FOUND[name])
    assert found[0] is not None
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", LEFT)
def test_what_it_does_not_know_is_left_to_python(name: str, answers: list[object]) -> None:
    """It answers None, each time, and the result is what Python says."""
    names_of(LEFT[name])
    assert set(answers) == {None}


def test_an_op_without_names_is_not_looked_at(answers: list[object]) -> None:
    """False: no operand has a name, so that nothing is to be known of the result."""

    @shapecheck
    def call(x: Float[Tensor, "a b"]) -> None:
        plain = torch.ones(3)
        _ = plain + 1, plain[0], torch.cat((plain, plain)), F.relu(plain)

    call(torch.randn(3, 4))
    assert answers.count(False) == 5  # and `torch.ones`


@pytest.mark.parametrize("name", FOUND)
def test_keys_are_equal(name: str) -> None:
    """The key that Python makes leads the compiled look-up to the very same record."""
    seen: list[tuple[Any, ...]] = []

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append((func, args, kwargs))
            return func(*args, **(kwargs or {}))

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    with Watching():
        FOUND[name](x, y)
    func, args, kwargs = seen[-1]
    known = Record()
    frame = CallNames({}, {}, None)
    frame.alone = True
    frame.name(x, known)
    frame.name(y, known)
    key = key_of(func, args, kwargs or {}, frame)
    outcome = Record()
    look = Lookup(
        {key: outcome},
        *(tuple(mode.PLAIN), Tensor, nn.Parameter, Record, mode.Placed, GETITEM),
        *(frozenset(), frozenset(), mode.transforming),
    )
    assert look(frame.table, True, False, func, args, kwargs) is outcome


def test_a_dead_tensor_is_not_found() -> None:
    """Another tensor at the same place in memory has no names."""
    frame = CallNames({}, {}, None)
    first, second = torch.ones(2), torch.ones(2)
    keep(frame.table, first, Record())
    frame.table[id(second)] = frame.table.pop(id(first))
    look = REAL
    assert look(frame.table, True, False, torch.relu, (second,), None) is False


def test_wrong_use_is_told() -> None:
    """A defect in shapecheck can't end the process."""
    for given in ((), (1, 2, 3, 4, 5, 6), ({}, True, False, torch.relu, [], None)):
        with pytest.raises(TypeError, match=r"expected \(table, alone, read, func, args, kwargs\)"):
            REAL(*given)
    with pytest.raises(TypeError, match=r"expected \(table, tensor, record\)"):
        keep({})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="cannot create weak reference to 'int' object"):
        keep({}, 1, Record())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable type"):
        REAL({}, True, False, [], (), None)
    for too_few in ((), ({}, {}, True, "head"), (1, {}, True, "head", "rest")):
        with pytest.raises(TypeError, match=r"expected \(cache, table, checked, head, rest, "):
            kept(*too_few)
    with pytest.raises(TypeError, match="unhashable type"):
        kept({}, {}, True, [], "rest")


def test_what_is_kept_for_operations_by_name_is_found_as_in_python() -> None:
    """By two parts of a key and the records of tensors, which must have the sizes of these."""
    x, y, moved, plain = (torch.randn(3, 4) for _ in range(4))
    table: Any = {}
    known = Record()
    known.sizes = (3, 4)
    for tensor in (x, y, moved):
        keep(table, tensor, known)
    table[id(plain)] = table[id(x)]  # of another tensor, which was at the same place in memory
    moved.t_()
    cache = {("sum", "a", known): 0, ("dot", "b", known, known): 1, ("cat", "a"): 2}
    for find in (kept, _kept):
        assert find(cache, table, True, "sum", "a", x) == 0
        assert find(cache, table, True, "dot", "b", x, y) == 1
        assert find(cache, table, True, "cat", "a") == 2
        assert find(cache, table, True, "sum", "b", x) is None
        assert find(cache, table, True, "sum", "a", moved) is None
        assert find(cache, table, False, "sum", "a", moved) == 0
        assert find(cache, table, True, "dot", "b", x, moved) is None
        assert find(cache, table, False, "sum", "a", plain) is None
        assert find(cache, table, False, "sum", "a", torch.ones(3, 4)) is None


class Told(Record):
    """A record that tells when it goes."""

    gone: ClassVar[list[int]] = []

    def __del__(self) -> None:
        self.gone.append(id(self))
        vars(self).clear()


@pytest.mark.parametrize("checked", [True, False])
def test_code_of_others_may_clear_the_table_while_a_shape_is_read(checked: bool) -> None:
    """The record is still there when its sizes are asked for."""
    table: Any = {}
    alive: list[bool] = []

    class Clearing(torch.Tensor):
        @property
        def shape(self) -> Any:  # type: ignore[override]
            before = len(Told.gone)
            table.clear()
            alive.append(len(Told.gone) == before)
            return torch.Size([2])

    x = torch.ones(2).as_subclass(Clearing)
    for _ in range(100):
        record = Told()
        record.sizes = (2,)
        keep(table, x, record)
        cache = {("sum", "a"): 1}
        del record
        assert kept(cache, table, checked, "sum", "a", x) is None
    assert alive == [True] * 100 * checked


class Emptying(torch.overrides.TorchFunctionMode):
    """Empties a list or a dict of arguments whenever a tensor is asked for its shape."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == vars(torch._C.TensorBase)["shape"].__get__:
            self.given.clear()
        return func(*args, **(kwargs or {}))


def test_code_of_others_may_change_the_arguments_while_a_shape_is_read() -> None:
    """A list that has become shorter is left to Python."""
    for _ in range(100):
        several = [torch.ones(2) for _ in range(3)]
        with Emptying(several):
            assert REAL({}, True, False, torch.cat, (several,), None) is None
        words = {"input": torch.ones(2), "other": torch.ones(2)}
        with Emptying(words):
            assert REAL({}, True, False, torch.add, (), words) is False


def test_a_shape_that_cannot_be_read_is_the_callers_error() -> None:
    class Failing(torch.Tensor):
        @property
        def shape(self) -> Any:  # type: ignore[override]
            raise KeyError("shape")

    x = torch.ones(2).as_subclass(Failing)
    table: Any = {}
    keep(table, x, Record())
    with pytest.raises(KeyError):
        kept({}, table, True, "sum", "a", x)


def test_a_table_of_other_things_has_nothing() -> None:
    x = torch.ones(2)
    for odd in (1, (), (1,), (1, 2), [x], (x, Record())):
        assert kept({}, {id(x): odd}, True, "sum", "a", x) is None  # type: ignore[dict-item]
        assert REAL({id(x): odd}, True, False, torch.relu, (x,), None) is False


def test_nothing_is_held_or_lost() -> None:
    """As many references afterwards as before, whatever the answer is."""
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    frame = CallNames({}, {}, None)
    known = Record()
    keep(frame.table, x, known)
    calls: list[tuple[Any, ...]] = [
        (torch.cat, ((x, y),), {"dim": 1}),
        (torch.add, (x, 1.5), None),
        (torch.add, (x, 1j), None),
        (torch.add, (y, True), None),
        (GETITEM, (x, (slice(None), slice(1, 2), None)), None),
        (GETITEM, (x, ([0],)), None),
        (torch.cat, ([x] * 40,), None),
        (torch.cat, ([[[[[[x]]]]]],), None),
    ]
    known.sizes = (3, 4)
    cache = {("sum", "a", known): known}
    REAL(frame.table, True, False, *calls[0])
    gc.collect()
    objects = [x, y, known, frame.table, GETITEM, torch.Size, tuple, list, slice, float, bool, None]
    before = [sys.getrefcount(one) for one in objects]
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        for func, args, kwargs in calls:
            REAL(frame.table, True, False, func, args, kwargs)
        keep(frame.table, x, known)
        for tensor in (x, y, 1):
            kept(cache, frame.table, True, "sum", "a", tensor)
            kept(cache, frame.table, False, "sum", "b", tensor)
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))
    assert sys.getallocatedblocks() - blocks < 500
