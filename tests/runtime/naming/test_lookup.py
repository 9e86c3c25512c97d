"""The compiled look-up of ops: it does what Python does, and leaves to that what it must."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
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


def rows_of(x: Tensor) -> int:
    return x.shape[0]


def split_in(x: Tensor, rows: int) -> Tensor:
    return x.view(rows, 2, -1)


def handing(*args: Any, **kwargs: Any) -> Any:
    return split_in(*args, **kwargs)


def size_that_is_read(x: Tensor, y: Tensor) -> Tensor:
    return torch.ones(x.shape[0], 2)


def size_that_is_given(x: Tensor, y: Tensor) -> Tensor:
    rows = x.size(0)
    return x.view(rows, 2, -1)


def bound_that_is_read(x: Tensor, y: Tensor) -> Tensor:
    return torch.ones(9, 4)[: x.shape[0]]


def size_that_is_returned(x: Tensor, y: Tensor) -> Tensor:
    return torch.ones(rows_of(x), 2)


def size_that_is_handed_over(x: Tensor, y: Tensor) -> Tensor:
    return split_in(x, x.shape[0])


def size_that_is_handed_on(x: Tensor, y: Tensor) -> Tensor:
    return handing(x, rows=x.shape[0])


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
    "a format of memory": lambda x, y: x.contiguous(memory_format=torch.contiguous_format),
    "an index that is a mask": lambda x, y: x[:, MASK[0]],
    "an index of numbers": lambda x, y: x[torch.tensor([0, 2, 1])],
    "an index that is a list": lambda x, y: x[[0, 1]],
    "an index of more": lambda x, y: x[True],
    "a size that is read": size_that_is_read,
    "a size that is given": size_that_is_given,
    "a bound that is read": bound_that_is_read,
    "a size that is returned": size_that_is_returned,
    "a size that is handed over": size_that_is_handed_over,
    "a size that is handed on": size_that_is_handed_on,
    "a number that is handed over": lambda x, y: split_in(x, 3),
    "a shape of another": lambda x, y: x.view(y.shape),
    "part of a shape": lambda x, y: x.reshape((*x.shape[:-1], 2, 2)),
}
LEFT: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "an assignment": lambda x, y: x.__setitem__(0, 1.0),
    "a complex number": lambda x, y: x * 1j,
    "a length": lambda x, y: [len(x)],
    "a function in Python": lambda x, y: torch.split(x, x.shape[0], 0),
}
SEVERAL: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "values and places": lambda x, y: x.max(dim=1),
    "chunks": lambda x, y: x.chunk(2, 1),
    "a list of several": torch.broadcast_tensors,
    "one of them without names": lambda x, y: torch.unique(x, return_inverse=True),
}


REAL: Any = mode.lookup


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The ops that are left to Python from here on."""
    found: list[object] = []
    key, note = mode.key_of, mode.Readings.note

    def key_of(func: Any, *given: Any) -> Any:
        found.append(func)
        return key(func, *given)

    def noted(self: Any, func: Any, *given: Any) -> None:
        found.append(func)
        note(self, func, *given)

    monkeypatch.setattr(mode, "key_of", key_of)
    monkeypatch.setattr(mode.Readings, "note", noted)
    return found


Named = tuple[tuple[object, ...], tuple[int, ...]] | None


def names_of(
    op: Callable[[Tensor, Tensor], Any], before_last: Callable[[], None] = lambda: None
) -> list[list[Named]]:
    """Run an op three times in one call; return the names that the results got."""
    found: list[list[Named]] = []

    @shapecheck
    def call(x: Float[Tensor, "a b"], y: Float[Tensor, "a b"]) -> None:
        for time in range(3):
            if time == 2:
                before_last()
            result = op(x, y)
            parts = result if isinstance(result, tuple | list) else (result,)
            assert state.frame is not None
            frame = state.frame
            known = [frame.of(part) if isinstance(part, Tensor) else None for part in parts]
            found.append([None if one is None else (one.dims, one.sizes) for one in known])

    call(torch.randn(3, 4), torch.randn(3, 4))
    return found


@pytest.mark.parametrize("name", {**FOUND, **SEVERAL})
def test_an_op_is_found_and_has_the_names_that_python_gives_it(
    name: str, left: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time the rule says it, then it is found: the names are those without the C part."""
    op = {**FOUND, **SEVERAL}[name]
    found = names_of(op, left.clear)
    assert left == []
    monkeypatch.setattr(mode, "lookup", None)
    assert found == names_of(op)
    assert left
    assert any(found[0])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", LEFT)
def test_what_it_does_not_know_is_left_to_python(name: str, left: list[object]) -> None:
    """Each time, and the result is what Python says."""
    names_of(LEFT[name], left.clear)
    assert left


def test_an_op_without_names_is_not_looked_at(left: list[object]) -> None:
    """No operand has a name, so that nothing is to be known of the result."""

    @shapecheck
    def call(x: Float[Tensor, "a b"]) -> None:
        plain = torch.ones(3)
        _ = plain + 1, plain[0], torch.cat((plain, plain)), F.relu(plain)

    call(torch.randn(3, 4))
    assert left == []


FOLLOWED = ("size", "shape", "bound", "handed")
KEYED = [name for name in FOUND if not any(word in name for word in FOLLOWED)]


@pytest.mark.parametrize("name", KEYED)
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
    frame = framed(x, y, known=known)
    outcome = Record()
    result = made({key_of(func, args, kwargs or {}, frame): outcome})(
        mode.thread_mode(), frame, func, args, kwargs
    )
    assert frame.of(result) is outcome


def made(cache: dict[Any, Any], **other: Any) -> Any:
    """Make a look-up of its own."""

    def unexpected(*given: Any) -> Any:
        raise AssertionError(given)

    return Lookup(
        **{
            "cache": cache,
            "plain": tuple(mode.PLAIN),
            "opaque": (torch.memory_format,),
            "tensor": Tensor,
            "parameter": nn.Parameter,
            "shape": torch.Size,
            "record": Record,
            "placed": mode.Placed,
            "likely": mode._Likely,
            "constant": ast.Constant,
            "getitem": GETITEM,
            "kinds": {},
            "transforming": mode.transforming,
            "levels": set(),
            "lasting": {},
            "name": unexpected,
            "hand_down": unexpected,
            "retell": lambda *_: None,
            "fault": unexpected,
            **other,
        }
    )


def framed(*tensors: Tensor, known: Record) -> CallNames:
    """Return a call in which tensors have names."""
    frame = CallNames({}, {}, None)
    frame.alone = True
    for tensor in tensors:
        frame.name(tensor, known)
    return frame


def looked_up(look: Any, frame: CallNames, func: Any, *args: Any, **kwargs: Any) -> Any:
    return look(mode.thread_mode(), frame, func, args, kwargs or None)


def test_a_dead_tensor_is_not_found() -> None:
    """Another tensor at the same place in memory has no names."""
    first, second = torch.ones(2), torch.ones(2)
    frame = framed(first, known=Record())
    frame.table[id(second)] = frame.table.pop(id(first))
    result = looked_up(made({}), frame, torch.relu, second)
    assert frame.of(result) is None


def test_wrong_use_is_told() -> None:
    """A defect in shapecheck can't end the process."""
    frame = framed(known=Record())
    for given in ((), (1, frame, 3, 4, 5), (1, frame, torch.relu, [], None)):
        with pytest.raises(TypeError, match=r"expected \(mode, frame, func, args, kwargs\)"):
            REAL(*given)
    with pytest.raises(TypeError, match=r"expected \(table, tensor, record\)"):
        keep({})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="cannot create weak reference to 'int' object"):
        keep({}, 1, Record())  # type: ignore[arg-type]
    for odd in (REAL(None, None, torch.relu, (), None), looked_up(REAL, frame, [])):
        assert odd is REAL
    for too_few in ((), ({}, {}, True, "head"), (1, {}, True, "head", "rest")):
        with pytest.raises(TypeError, match=r"expected \(cache, table, checked, head, rest, "):
            kept(*too_few)
    with pytest.raises(TypeError, match="unhashable type"):
        kept({}, {}, True, [], "rest")
    with pytest.raises(TypeError, match="missing required argument 'plain'"):
        Lookup(cache={})  # type: ignore[call-arg]


def test_an_error_of_the_op_is_told_once_and_goes_on() -> None:
    """What Python says of it is raised; if it has nothing to say, the op's own error is."""
    x, told = torch.ones(3, 4), list[object]()
    known = Record()
    frame = framed(x, known=known)
    keys = [(torch.Tensor.view, known, 5), (torch.relu, known), (torch.abs, known)]
    cache = dict.fromkeys(keys, known)

    def say(error: Exception, *given: Any) -> None:
        told.append((error, *given))
        if len(told) > 1:
            raise KeyError("in our words") from error

    look = made(cache, retell=say)
    with pytest.raises(RuntimeError, match="is invalid for input of size 12") as raised:
        looked_up(look, frame, torch.Tensor.view, x, 5)
    assert told == [(raised.value, frame, torch.Tensor.view, (x, 5), {})]
    with pytest.raises(KeyError, match="in our words") as raised_instead:
        looked_up(look, frame, torch.Tensor.view, x, 5)
    assert isinstance(raised_instead.value.__cause__, RuntimeError)


def test_an_exception_that_ends_the_program_is_not_looked_at() -> None:
    x, known = torch.ones(2), Record()
    frame = framed(x, known=known)

    def interrupted(x: Tensor) -> Tensor:
        raise KeyboardInterrupt

    look = made({(interrupted, known): known}, retell=None)
    with pytest.raises(KeyboardInterrupt):
        looked_up(look, frame, interrupted, x)


def test_a_defect_is_reported_and_the_op_goes_on() -> None:
    """A record is kept for what has no names: the result is the op's, and it is told."""
    x, known, told = torch.ones(2), Record(), list[object]()
    frame = framed(x, known=known)

    def report(func: object, error: Exception) -> None:
        told.append((func, str(error)))

    look = made({(Tensor.tolist, known): known}, fault=report)
    assert looked_up(look, frame, Tensor.tolist, x) == [1, 1]
    assert told == [(Tensor.tolist, "cannot create weak reference to 'list' object")]


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
        frame = framed(known=Record())
        several = [torch.ones(2) for _ in range(3)]
        with Emptying(several):
            assert looked_up(REAL, frame, torch.cat, several) is REAL
        words = {"input": torch.ones(2), "other": torch.ones(2)}
        with Emptying(words), pytest.raises(TypeError, match="invalid combination"):
            REAL(mode.thread_mode(), frame, torch.add, (), words)


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
        frame = framed(known=Record())
        frame.table[id(x)] = odd  # type: ignore[assignment]
        assert torch.equal(looked_up(made({}), frame, torch.relu, x), x)


def test_nothing_is_held_or_lost() -> None:
    """As many references afterwards as before, whatever the answer is."""
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    known = Record()
    known.sizes = (3, 4)
    frame = framed(x, known=known)
    size = torch.Tensor.size
    calls: list[tuple[Any, ...]] = [
        (torch.cat, ((x, y),), {"dim": 1}),
        (torch.add, (x, 1.5), None),
        (torch.add, (x, 1j), None),
        (torch.add, (y, True), None),
        (GETITEM, (x, (slice(None), slice(1, 2), None)), None),
        (GETITEM, (x, ([0],)), None),
        (torch.cat, ([x] * 60,), None),
        (torch.cat, ([[[[[[x]]]]]],), None),
        (torch.chunk, (x, 2), None),
        (size, (x, 0), None),
        (size, (y, 0), None),
        (torch.Tensor.view, (x, 3, 4), None),
        (torch.Tensor.view, (x, 5), None),
    ]
    cache = {("sum", "a", known): known}
    outcomes = {
        (torch.add, known, float): known,
        (torch.chunk, known, 2): (known, None),
        (torch.Tensor.view, known, 5): known,
    }
    kinds = {size: 1, torch.Tensor.view: 2, GETITEM: 4}
    look = made(outcomes, kinds=kinds)
    this = mode.thread_mode()

    def every() -> None:
        for func, args, kwargs in calls:
            with suppress(RuntimeError):
                look(this, frame, func, args, kwargs)
        keep(frame.table, x, known)
        for tensor in (x, y, 1):
            kept(cache, frame.table, True, "sum", "a", tensor)
            kept(cache, frame.table, False, "sum", "b", tensor)

    for _ in range(20):
        every()
    gc.collect()
    objects = [x, y, known, frame.table, GETITEM, torch.Size, tuple, list, slice, float, bool, None]
    before = [sys.getrefcount(one) for one in objects]
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        every()
    frame.table.clear()
    frame.name(x, known)
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))
    assert sys.getallocatedblocks() - blocks < 500
