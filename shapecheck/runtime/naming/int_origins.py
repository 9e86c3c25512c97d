"""Which dimension a plain int in the user's code is: `t` in `b, t, d = x.shape; y.view(b, t, -1)`.

At run time `x.shape` holds ints, which know nothing of names. So each reading of a shape is noted
by where it stands in the code; and where a size is passed to an op, its expression is followed back
in the source to the readings that it is made of. That is done once for a place in the code. What
was followed counts only if it comes to the very number that is passed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, TypeGuard

import torch

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Kind, Size, Sym, size_of
from shapecheck.dims.origins import AnyNumber, Mixed
from shapecheck.runtime.naming.call_names import CallNames
from shapecheck.runtime.naming.einops_packing import Packings, PackPlace
from shapecheck.runtime.naming.einops_recipes import RecipePlace, applied, is_of_einops
from shapecheck.runtime.naming.facts import value_of
from shapecheck.runtime.naming.keys import GETITEM, SETITEM
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record
from shapecheck.runtime.naming.size_expressions import (
    Assigned,
    CallPlace,
    Handed,
    Returning,
    call_place,
    handed,
    is_len,
    is_rounding,
    returning,
)
from shapecheck.runtime.source import is_ours, is_users, users_frame
from shapecheck.shapes import Run
from shapecheck.shapes import Tensor as Known

READ: Final[frozenset[Any]] = frozenset(
    (torch.Tensor.shape.__get__, torch.Tensor.size, torch.Tensor.__len__)  # type: ignore[attr-defined]
)
"""What gives the sizes of a tensor."""

GIVEN: Final[frozenset[Any]] = frozenset(
    getattr(owner, name)
    for owner, names in (
        (
            torch,
            "arange broadcast_to diag diagonal empty eye full linspace narrow normal ones rand "
            "randint randn randperm repeat_interleave reshape split tile topk tril_indices "
            "triu_indices unflatten zeros",
        ),
        (
            torch.Tensor,
            "broadcast_to diag diagonal expand narrow new_empty new_full new_ones new_zeros repeat "
            "repeat_interleave reshape split tile topk unflatten view",
        ),
        (
            torch.nn.functional,
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
            "adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d fold "
            "interpolate max_pool1d max_pool2d max_pool3d one_hot",
        ),
    )
    for name in names.split()
)
"""Ops that take sizes."""

INDEXING: Final[frozenset[Any]] = frozenset((GETITEM, SETITEM))

SPLITTING: Final[frozenset[Any]] = frozenset((torch.unflatten, torch.Tensor.unflatten))
"""Ops to which numbers mean something where no size was read, too: `x.unflatten(1, (-1, 2))`."""

CUTTING: Final[frozenset[Any]] = INDEXING | {torch.nn.functional.pad}
"""Ops that leave as much of an axis as the numbers say, or put as much to it."""

JOINING: Final[frozenset[Any]] = frozenset((torch.cat, torch.concat, torch.concatenate))
"""Ops that make an axis as many times as long as there are tensors in a list."""

_BY_NUMBERS: Final = CUTTING | JOINING | SPLITTING
"""Ops of which it matters how numbers are written, whatever else they are given."""

_SIGNED: Final = CUTTING | {
    torch.arange,
    torch.diag,
    torch.diagonal,
    torch.Tensor.diag,
    torch.Tensor.diagonal,
}
"""Ops that take numbers below 0 for what they are; elsewhere such a number is no size."""

_IN_PYTHON: Final = frozenset(
    func for func in GIVEN | READ | CUTTING if isinstance(func, FunctionType)
)
"""What is called by torch's own code, not by the user's."""

_BY_NAME: Final = frozenset((torch.narrow, torch.topk))
"""What is called by the operation by name too, which is given the same in the same order."""

_NOTED: Final = 4096
_WRAPPERS: Final = 16
"""So many functions that hand on what they are given may stand between a call and a function."""
_CALLERS: Final = 4
_CALLING_MODULES: Final = torch.nn.Module._call_impl.__code__.co_filename
Place = tuple[int, int]
"""The id of code, and an offset in it."""
Passed = tuple[Any, ...]
"""What decides which sizes are passed: a `CallPlace`, the plan whose parameters count and their
values, what decides what the function was given, and records."""
Outer = tuple[Any, ...]
"""What decides what a function was given: a `Handed`, the same of the caller or None, records."""
Told = Any
"""What is known of an argument: a dimension, a tuple of such, a `Share`, or None."""


Cut = tuple[dims.Composite, Sequence[int], Sequence[int]]
"""A dimension that einops cuts, the axes that this gives, and which of them are mere numbers."""


@dataclass(frozen=True, slots=True)
class Share:
    """What is known of a size that is computed with numbers of which nothing is known.

    It is made of the dimensions in `of`: `h // self.patch`. Of `b * c * (h // self.patch)`,
    `factor` is `b*c`.
    """

    of: frozenset[DimExpr]
    factor: DimExpr | None = None


@dataclass(frozen=True, slots=True)
class PassedSizes:
    """What is known of the sizes that are passed at one place.

    `records` are what the readings were of; `frame` is the call whose parameters count. `outer` is
    the call that led to the function, which gives it what is in `given`. `starts` are numbers of
    which only the places are known where they are passed, by how they are written, or by the axis
    of einops that has such a length. `returned` is what functions return that are called for a
    size. `cuts` is what einops cuts.
    """

    place: CallPlace
    records: tuple[Record | None, ...]
    frame: CallNames | None
    outer: PassedSizes | None = None
    given: Mapping[str, ast.expr] = field(default_factory=dict)
    starts: dict[str, Size] = field(default_factory=dict)
    returned: tuple[tuple[PassedSizes, Sequence[ast.expr]] | None, ...] = ()
    cuts: list[Cut] = field(default_factory=list)

    def values(self) -> dict[Sym, int]:
        """Return the values of all symbols in what is told."""
        found = {} if self.outer is None else self.outer.values()
        found.update(numbers([*self.starts.values()]))
        for returned in self.returned:
            found.update({} if returned is None else returned[0].values())
        for one in self.records:
            found.update(one.values if one is not None else {})
        if self.frame is not None:
            found.update(self.frame.symbols)
        return found

    def told(
        self,
        args: list[Any],
        kwargs: Mapping[str, Any],
        func: Callable[..., Any],
        names: Sequence[str] = (),
        values: Mapping[Sym, int] | None = None,
    ) -> tuple[list[Any], dict[str, Any], bool]:
        """Return an op's arguments with dimensions in the place of numbers that are known.

        Third, whether nothing is left that may be one: the other numbers stand in the source.
        `names` are those of the op's parameters: torch hands on by name what it was given by
        position, and the other way round. `values` are those of the symbols in the arguments.
        """
        if isinstance(self.place, RecipePlace):
            return self._by_recipe(self.place, args, kwargs, {**(values or {}), **self.values()})
        if isinstance(self.place, PackPlace):
            return self._by_packing(self.place, args, kwargs, {**(values or {}), **self.values()})
        if self.place.call is None:
            return args, dict(kwargs), True
        if isinstance(self.place.call, ast.Subscript):
            tensor, index, *assigned = args
            self._start_slices(self.place.call.slice, index)
            told = self._tell(self.place.call.slice)
            return [tensor, clear(index, told, self.values()), *assigned], dict(kwargs), False
        if func is torch.arange and len(args) > 1 and len(self.place.call.args) > 1:
            self._start(self.place.call.args[0], self.place.call.args[1], args[0])
        parts, named = self._given(self.place.call, len(args), kwargs, names)
        known = self.values()
        least = None if func in _SIGNED else 0
        found = [_fitted(arg, part, known, least) for arg, part in zip(args, parts, strict=True)]
        words = {name: _fitted(arg, named[name], known, least) for name, arg in kwargs.items()}
        both = [*zip(found, parts, strict=True), *((words[name], named[name]) for name in kwargs)]
        sure = all(_is_sure(one, part) for one, part in both)
        if func in CUTTING:  # lists say how much of each axis is left
            found = [_opened(one, part) for one, part in zip(found, parts, strict=True)]
            words = {name: _opened(one, named[name]) for name, one in words.items()}
        return found, words, sure

    def _by_recipe(
        self,
        place: RecipePlace,
        args: list[Any],
        kwargs: Mapping[str, Any],
        values: Mapping[Sym, int],
    ) -> tuple[list[Any], dict[str, Any], bool]:
        """Return the arguments of a step of einops: the axes that it cuts, or those that it adds.

        What is left of an axis beside lengths that are known is that axis by these.
        """
        tensor, sizes = args[0], args[1] if len(args) > 1 else None
        if not isinstance(tensor, Known) or not isinstance(sizes, tuple | list):
            return args, dict(kwargs), False
        lengths = [self._length(place, axis, one) for axis, one in enumerate(place.lengths)]
        told: list[Told] = [None] * len(sizes)
        for at, axis in place.added.items():
            told[at] = lengths[axis]
        for item, (known, left) in zip(tensor.shape.dims, place.parts, strict=False):
            whole = None if isinstance(item, Run) or _unclear(item) else item
            for axis in known:
                told[axis] = lengths[axis]
            if any(isinstance(lengths[axis], Share) for axis in known):
                continue  # they are made of other axes
            for axis in left:
                for part in known:
                    length = lengths[part]
                    if not _is_dim(length):
                        length = self.starts.setdefault(f"axis {part}", any_number(sizes[part]))
                    whole = _computed(ast.FloorDiv(), whole, length)
                told[axis] = whole
            if isinstance(item, dims.Composite) and left:
                unnamed = [axis for axis in known if not _is_named(lengths[axis])]
                self.cuts.append((item, sorted((*known, *left)), unnamed))
        values = {**values, **numbers([*self.starts.values()])}
        fitted = _fitted(sizes, tuple(told), values, 0)
        return [tensor, fitted, *args[2:]], dict(kwargs), _is_sure(fitted, tuple(told))

    def _by_packing(
        self,
        place: PackPlace,
        args: list[Any],
        kwargs: Mapping[str, Any],
        values: Mapping[Sym, int],
    ) -> tuple[list[Any], dict[str, Any], bool]:
        """Return the arguments of a step of einops' `unpack`."""
        tensor, given = args
        told = place.told(tensor, given, self.records)
        if any(isinstance(one, slice) for one in given):
            return [tensor, clear(given, told, values)], dict(kwargs), False
        fitted = _fitted(given, told, values, 0)
        return [tensor, fitted], dict(kwargs), _is_sure(fitted, told)

    def _length(self, place: RecipePlace, axis: int, length: int | None) -> Told:
        given = place.given(axis)
        return length if given is None else self._tell(given)

    def _start_slices(self, node: ast.expr, index: Any) -> None:
        if isinstance(node, ast.Tuple) and isinstance(index, tuple):
            for one, part in zip(node.elts, index, strict=False):
                self._start_slices(one, part)
        elif isinstance(node, ast.Slice) and isinstance(index, slice):
            self._start(node.lower, node.upper, index.start)

    def _start(self, lower: ast.expr | None, upper: ast.expr | None, actual: Any) -> None:
        """Note where something begins that ends so much later: `n : n + t` are t, whatever n is."""
        match lower, upper:
            case ast.Name() | ast.Attribute(), ast.BinOp(left=left, op=ast.Add(), right=right):
                text = ast.dump(lower)
                if (
                    type(actual) is int
                    and actual >= 0
                    and text in (ast.dump(left), ast.dump(right))
                ):
                    if not _is_dim(self._tell(lower)):
                        self.starts[text] = any_number(actual)

    def lists(self, count: int) -> bool:
        """Whether so many tensors that an op puts together stand in the source, one by one."""
        call = self.place.call
        if not isinstance(call, ast.Call):
            return True
        node = next(iter([*call.args, *(one.value for one in call.keywords)]), None)
        nodes = [node]
        if isinstance(node, ast.Name):
            nodes = [value for value, at in self.place.values.get(node.id, ()) if at is None]
        return bool(nodes) and all(_length(one) == count for one in nodes)

    def computed(self) -> frozenset[int]:
        """Return which sizes are written as arithmetic, `x.view(b, h // w, w)`, from the end."""
        return frozenset(at for at, node in self._sizes() if self._is_computed(node))

    def shares(self) -> dict[int, Share]:
        """Return what is known of sizes that are computed with numbers, by place from the end."""
        told = ((at, self._tell(node)) for at, node in self._sizes() if self._is_computed(node))
        return {at: one for at, one in told if isinstance(one, Share)}

    def _sizes(self) -> Iterator[tuple[int, ast.expr]]:
        """Yield the sizes that are given to a `view`, with the place of each from the end."""
        call, is_einops = self.place.call, isinstance(self.place, RecipePlace)
        nodes = call.args if isinstance(call, ast.Call) and not is_einops else []
        if len(nodes) == 1 and isinstance(nodes[0], ast.Tuple | ast.List):
            nodes = nodes[0].elts
        for at, node in enumerate(reversed(nodes)):
            if isinstance(node, ast.Starred):
                break
            yield -1 - at, node

    def _is_computed(self, node: ast.expr) -> bool:
        values = self.place.values.get(node.id, ()) if isinstance(node, ast.Name) else ()
        return isinstance(node, ast.BinOp) or any(isinstance(_part(*v), ast.BinOp) for v in values)

    def _given(
        self, call: ast.Call, count: int, kwargs: Mapping[str, Any], names: Sequence[str]
    ) -> tuple[list[Told], dict[str, Told]]:
        """Return what is told of so many arguments of an op, and of those that it gets by name."""
        keywords = {one.arg: one.value for one in call.keywords if one.arg is not None}
        told = [one for node in call.args for one in self._spread(node)]
        by_name = [name in keywords and name not in kwargs for name in names[:count]]
        flat = told[:count]
        behind = count - len(flat) - sum(by_name)  # the tensor itself comes first in a method
        if behind not in (0, 1):
            return [None] * count, dict.fromkeys(kwargs)
        parts = [
            flat[i - behind] if behind <= i < behind + len(flat) else None for i in range(count)
        ]
        for at, name in enumerate(names[:count]):
            if by_name[at]:
                parts[at] = self._tell(keywords[name])
        rest = dict(zip(names[count:], told[count - behind :], strict=False))
        return parts, {
            name: self._tell(keywords[name]) if name in keywords else rest.get(name)
            for name in kwargs
        }

    def _spread(self, node: ast.expr) -> list[Told]:
        if not isinstance(node, ast.Starred):
            return [self._tell(node)]
        inside = self._tell(node.value)
        return list(inside) if isinstance(inside, tuple) else [None]

    def _tell(self, node: ast.expr, depth: int = 0) -> Told:
        """Return the dimension, or the tuple of them, that an expression is."""
        if depth > 8:
            return None
        if node in self.place.index:
            return self._read(node)
        if node in self.place.called:
            returned = self._returned(self.place.called[node], None)
            return self._rounded(node, depth + 1) if returned is None else returned
        if self.starts and ast.dump(node) in self.starts:
            return self.starts[ast.dump(node)]
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return number
            case ast.Name(id=name) if name in self.place.values:
                known = [self._assigned(one, depth + 1) for one in self.place.values[name]]
                known.sort(key=lambda one: isinstance(one, Share))
                return next((one for one in known if one is not None), None)
            case ast.Name(id=name):
                return self._parameter(name)
            case ast.Tuple() | ast.List():
                parts = [self._spread(item) for item in node.elts]
                return tuple(one for part in parts for one in part)
            case ast.Slice(lower=lower, upper=upper, step=step):
                bounds = (lower, upper, step)
                return slice(*(None if one is None else self._tell(one) for one in bounds))
            case ast.Subscript(value=value, slice=part):
                return _item(self._tell(value, depth + 1), _literal(part))
            case ast.BinOp(left=left, op=op, right=right):
                return _computed(op, self._tell(left, depth + 1), self._tell(right, depth + 1))
            case ast.IfExp(body=body, orelse=orelse):
                both = [(one, self._tell(one, depth + 1)) for one in (body, orelse)]
                sure = _surely(both)
                return _share(*(told for _, told in both)) if sure is None else sure
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _computed(ast.Sub(), 0, self._tell(operand, depth + 1))
            case _:
                return None

    def _rounded(self, node: ast.expr, depth: int) -> Told:
        """Return what a number is made of that a call such as `ceil(h / 2)` gives."""
        if not is_rounding(node):
            return None
        return _share(*(self._tell(arg, depth) for arg in node.args))

    def _assigned(self, assigned: Assigned, depth: int) -> Told:
        """Return what a variable got, None where that branch wasn't taken."""
        value, at = assigned
        if value in self.place.called:
            return self._returned(self.place.called[value], at)
        whole = self._tell(value, depth)
        return whole if at is None else _item(whole, at)

    def _read(self, node: ast.AST) -> Told:
        found = self.records[self.place.index[node]]
        if found is None:
            return None
        whole = tuple(None if _unclear(dim) else dim for dim in found.dims)
        if is_len(node):
            return _item(whole, 0)
        if isinstance(node, ast.Call) and node.args:
            return _item(whole, _literal(node.args[0]))
        return whole

    def _returned(self, called: int, at: int | None) -> Told:
        """Return what the function that is called at a place has returned, or an item of it."""
        returned = self.returned[called] if called < len(self.returned) else None
        if returned is None:
            return None
        inside, results = returned
        if at is None:
            return _surely((one, inside._tell(one)) for one in results)
        items = [one.elts[at : at + 1] if isinstance(one, ast.Tuple) else () for one in results]
        return _surely((one[0], inside._tell(one[0])) if one else (None, None) for one in items)

    def _parameter(self, name: str) -> Told:
        """Return the dimension that a parameter is.

        One that is called like a dimension of the signature is that dimension.
        """
        if name not in self.place.params:
            return None
        if self.frame is not None:
            size: Size = self.frame.plan.size(name)
            if size.symbol in self.frame.symbols:
                return size
        if self.outer is None or name not in self.given:
            return None
        return self.outer._tell(self.given[name])


class Readings:
    """The shapes that the user's code has read, by where; one object for a thread.

    What is noted and what is passed are kept by the code's identity: to hash code takes longer than
    most ops. It is held on to, so that nothing else gets its id.
    """

    def __init__(self) -> None:
        self.noted: Outcomes[Place, tuple[CodeType, int, Record]] = Outcomes(_NOTED)
        self.places: Outcomes[tuple[int, int, bool], tuple[CodeType, CallPlace | None]]
        self.places = Outcomes(_NOTED)
        self.recipes: Outcomes[tuple[int, int, str], tuple[CallPlace | None, RecipePlace]]
        self.recipes = Outcomes(_NOTED)
        self.packings = Packings()
        self.calls: Outcomes[tuple[int, int, int], tuple[CodeType, CodeType, Handed | bool]]
        self.calls = Outcomes(_NOTED)
        self.returning: Outcomes[int, tuple[CodeType, Returning | None]] = Outcomes(_NOTED)
        self.returned: Outcomes[Place, tuple[CodeType, int, Returning, int, dict[int, Record]]]
        self.returned = Outcomes(_NOTED)

    def note(self, func: Any, caller: FrameType, known: Record | None) -> None:
        """Note what is known of a tensor whose sizes are read here."""
        if func in _IN_PYTHON:
            caller = users_frame(caller) or caller
        caller = _behind_modes(caller)
        code = caller.f_code
        where = (id(code), caller.f_lasti)
        found = self.returning.get(id(code))
        if known is None:
            self.noted.pop(where, None)
        else:
            self.noted.keep(where, (code, id(caller), known))
            found = found or self.returning.keep(id(code), (code, returning(code)))
        if found is not None and found[1] is not None:
            self._note_for_caller(found[1], caller, known)

    def _note_for_caller(self, found: Returning, callee: FrameType, known: Record | None) -> None:
        """Note a reading that a function may return, by where it is called."""
        caller, _ = self._called_at(callee)
        if caller is None:
            return
        where = id(caller.f_code), caller.f_lasti
        before = self.returned.get(where)
        if before is None or before[1:4] != (id(caller), found, id(callee)):
            before = caller.f_code, id(caller), found, id(callee), {}
            self.returned.keep(where, before)
        if known is None:
            before[4].pop(callee.f_lasti, None)
        else:
            before[4][callee.f_lasti] = known

    def at(self, func: Any, caller: FrameType, frame: CallNames) -> Passed | None:
        """Return what decides which sizes are passed here, None if nothing is known of them."""
        if func in _IN_PYTHON or func in _BY_NAME:
            caller = users_frame(caller) or caller
        caller = _behind_modes(caller)
        if is_of_einops(caller.f_code):
            return self._at_recipe(caller, frame) or self.packings.at(caller, frame)
        always = func in _BY_NUMBERS and not (func in SPLITTING and is_ours(caller.f_code))
        place = self._place(caller, always)
        return None if place is None else self._passed(place, caller, frame, always)

    def _at_recipe(self, caller: FrameType, frame: CallNames) -> Passed | None:
        """Return what decides which sizes einops passes."""
        step = applied(caller)
        if step is None:
            return None
        call = None if step.user is None else self._place(step.user, always=True)
        key = id(step.recipe), id(call), step.step
        found = self.recipes.get(key)
        if found is None:
            found = self.recipes.keep(key, (call, step.place(call)))
        place = found[1]
        if call is None or step.user is None:
            return (place, None, (), None)
        return self._passed(place, step.user, frame, True)

    def _place(self, caller: FrameType, always: bool) -> CallPlace | None:
        code, offset = caller.f_code, caller.f_lasti
        found = self.places.get((id(code), offset, always))
        if found is None:
            found = code, call_place(code, offset, always)
            self.places.keep((id(code), offset, always), found)
        return found[1]

    def _passed(
        self, place: CallPlace, caller: FrameType, frame: CallNames, always: bool
    ) -> Passed | None:
        code = caller.f_code
        plan = frame.plan if place.params and frame.plan and frame.plan.code is code else None
        records = self._records(place, caller)
        outer = self._outer(caller) if place.params else None
        if outer is not None and not _tells_any(outer, place.params):
            outer = None
        if plan is None:
            known = always or outer is not None or any(records)
            return (place, None, (), outer, *records) if known else None
        values = tuple([frame.symbols.get(plan.symbol(name)) for name in place.params])
        return (place, plan, values, outer, *records)

    def _outer(self, callee: FrameType, most: int = _CALLERS) -> Outer | None:
        """Return what decides what a function was given, None if nothing is known of it."""
        caller, found = self._called_at(callee)
        if caller is None or isinstance(found, bool):
            return None
        outer = self._outer(caller, most - 1) if found.place.params and most else None
        return (found, outer, *self._records(found.place, caller))

    def _called_at(self, callee: FrameType) -> tuple[FrameType | None, Handed | bool]:
        """Return the frame that called a function, wrappers apart, and what it gave to it."""
        caller, found = callee.f_back, self._handed(callee.f_back, callee)
        for _ in range(_WRAPPERS):
            if caller is None or found is not True:
                break
            caller = caller.f_back
            found = self._handed(caller, callee)
        return (None, False) if found is True else (caller, found)

    def _records(self, place: CallPlace, frame: FrameType) -> list[Any]:
        """Return what the readings were of that sizes are made of, and what calls returned."""
        code, number = frame.f_code, id(frame)
        found: list[Any] = [self._record(code, offsets, number) for offsets in place.reads]
        return found + [self._returned(code, offsets, number) for offsets in place.calls]

    def _returned(self, code: CodeType, offsets: tuple[int, ...], number: int) -> Any:
        for offset in offsets:
            found = self.returned.get((id(code), offset))
            if found is not None and found[1] == number:
                read = found[4]
                parts = [
                    next((read[one] for one in at if one in read), None)
                    for at in found[2].place.reads
                ]
                return (found[2], *parts)
        return None

    def _handed(self, caller: FrameType | None, callee: FrameType) -> Handed | bool:
        if caller is None:
            return False
        code, inner = caller.f_code, callee.f_code
        key = id(code), caller.f_lasti, id(inner)
        found = self.calls.get(key)
        if found is None:
            by_module = code.co_filename == _CALLING_MODULES
            found = code, inner, by_module or handed(caller, callee)
            self.calls.keep(key, found)
        return found[2]

    def _record(self, code: CodeType, offsets: tuple[int, ...], caller: int) -> Record | None:
        for offset in offsets:
            found = self.noted.get((id(code), offset))
            if found is not None and found[1] == caller:
                return found[2]
        return None


def _tells_any(outer: Outer, params: Iterable[str]) -> bool:
    """Whether anything is known of what a function was given for some parameters."""
    found, further, *records = outer
    if any(records) or any(isinstance(found.given.get(one), ast.Constant) for one in params):
        return True
    return further is not None and _tells_any(further, found.place.params)


def tells(passed: Passed | None) -> bool:
    """Whether anything may be known of the sizes that are passed."""
    return passed is not None and any(passed[1:])


def _behind_modes(caller: FrameType) -> FrameType:
    """Return the user's frame, or einops', where a mode such as `torch.device(...)` is between."""
    if caller.f_code.co_name != "__torch_function__":
        return caller
    frame: FrameType | None = caller
    while frame is not None and not is_of_einops(frame.f_code) and not is_users(frame.f_code):
        frame = frame.f_back
    return frame or caller


def passed_sizes(passed: Passed, frame: CallNames) -> PassedSizes:
    """Return what is known of the sizes that are passed in a call."""
    place, plan, _, outer, *records = passed
    inner, given = _handed_sizes(outer)
    return _sizes(place, records, None if plan is None else frame, inner, given)


def _sizes(
    place: CallPlace,
    records: Sequence[Any],
    frame: CallNames | None = None,
    outer: PassedSizes | None = None,
    given: Mapping[str, ast.expr] | None = None,
) -> PassedSizes:
    """Return what is known of sizes from what the readings were of, and what calls returned."""
    reads = len(place.reads)
    returned = tuple(
        one and (_sizes(one[0].place, one[1:]), one[0].results) for one in records[reads:]
    )
    return PassedSizes(place, tuple(records[:reads]), frame, outer, given or {}, {}, returned)


def _handed_sizes(outer: Outer | None) -> tuple[PassedSizes | None, Mapping[str, ast.expr]]:
    """Return what is known of what a function was given, and what that is by parameter."""
    if outer is None:
        return None, {}
    found, further, *records = outer
    around, given = _handed_sizes(further)
    return _sizes(found.place, records, None, around, given), found.given


# Values -------------------------------------------------------------------------------------------


def _unclear(dim: DimExpr) -> bool:
    return any(isinstance(symbol.origin, Mixed) for symbol in dims.symbols(dim))


def _literal(node: ast.expr) -> int | slice | None:
    """Return the number or the slice that an index is written as."""
    try:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if one is None else ast.literal_eval(one) for one in parts))
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, int) else None


def _length(node: ast.expr | None) -> int | None:
    """Return how many items a list has by what is written, None if a program decides."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return None if any(isinstance(one, ast.Starred) for one in items) else len(items)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _length(left), _length(right)
            return None if first is None or second is None else first + second
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            length, times = _length(left), _literal(right)
            return length * times if length is not None and isinstance(times, int) else None
    return None


def _surely(found: Iterable[tuple[ast.expr | None, Told]]) -> Told:
    """Return what is known of a value that is one of these; None where they may differ.

    What is written as a constant is told apart by its value.
    """
    known = [told for node, told in found if not isinstance(node, ast.Constant)]
    return known[0] if known and all(one == known[0] for one in known) else None


def _is_named(told: Told) -> bool:
    return _is_dim(told) and bool(dims.symbols(told))


def _item(whole: Told, at: int | slice | None) -> Told:
    if not isinstance(whole, tuple) or at is None:
        return None
    try:
        return whole[at]
    except (IndexError, TypeError, ValueError):
        return None


def _is_dim(told: Told) -> TypeGuard[DimExpr]:
    return isinstance(told, int | Size | dims.Composite)


def _computed(op: ast.operator, left: Told, right: Told) -> Told:
    if not _is_dim(left) or not _is_dim(right):
        return _share(left, right, factor=isinstance(op, ast.Mult))
    a, b = size_of(left), size_of(right)
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() if b != 0:
            return dims.floordiv(a, b)
        case _:
            return _share(left, right)


def _share(*told: Told, factor: bool = False) -> Share | None:
    """Return what is known of a number that is made of others; `factor`: it is their product."""
    of = frozenset[DimExpr]()
    known = list[DimExpr]()
    for one in told:
        if isinstance(one, Share):
            of |= one.of
            known += () if one.factor is None else (one.factor,)
        elif _is_dim(one):
            of |= {one} if dims.symbols(one) else frozenset()
            known.append(one)
    product = dims.product(map(size_of, known)) if factor and known else None
    return Share(of, product) if of else None


def _part(node: ast.expr, at: int | None) -> ast.expr:
    """Return the expression that is one item of what is assigned, if it stands there by itself."""
    if at is None or not isinstance(node, ast.Tuple | ast.List):
        return node
    items = [one for one in node.elts if not isinstance(one, ast.Starred)]
    return items[at] if len(items) == len(node.elts) and at < len(items) else node


def _fitted(actual: Any, told: Told, values: Mapping[Sym, int], least: int | None = None) -> Any:
    """Return what is told of an argument, as far as it comes to the actual number.

    A number below `least` is no size, whatever it is made of: `x.expand(b, t-2)` keeps an axis
    where `t` is 1.
    """
    if isinstance(actual, tuple | list):
        if not isinstance(told, tuple) or len(told) != len(actual):
            return actual
        return [_fitted(one, dim, values, least) for one, dim in zip(actual, told, strict=True)]
    if least is not None and type(actual) is int and actual < least:
        return actual
    if type(actual) is not int or told is None or isinstance(told, int | tuple | Share):
        return actual
    return told if value_of(told, values) == actual else actual


def clear(index: Any, told: Told, values: Mapping[Sym, int]) -> Any:
    """Return an index with symbols for the bounds of slices that may be anything.

    `told` is what is known of it. With 5 for `t`, `t-2` isn't 3: `x[t-2:]` are two items.
    """
    if isinstance(index, tuple):
        fits = isinstance(told, tuple) and len(told) == len(index)
        parts = told if fits else (None,) * len(index)
        return tuple(clear(one, part, values) for one, part in zip(index, parts, strict=True))
    if not isinstance(index, slice):
        return index
    actual = (index.start, index.stop, index.step)
    known = (told.start, told.stop, told.step) if isinstance(told, slice) else (None,) * 3
    return slice(*(_bound(one, dim, values) for one, dim in zip(actual, known, strict=True)))


def _bound(actual: Any, told: Told, values: Mapping[Sym, int]) -> Any:
    return _open(_fitted(actual, told, values), told)


def _open(found: Any, told: Told) -> Any:
    """Return a symbol for a number that may be anything."""
    if type(found) is not int or _is_sure(found, told):
        return found
    return any_number(found) if found >= 0 else -any_number(-found)


def any_number(value: int, name: str = "_") -> Size:
    """Return a symbol for a number that may be another one the next time, called so in messages."""
    return Size.of(Sym(name, Kind.OWN, AnyNumber(value)))


def _opened(found: Any, told: Told) -> Any:
    if not isinstance(found, tuple | list):
        return found
    parts = told if isinstance(told, tuple) and len(told) == len(found) else [None] * len(found)
    return [_open(one, part) for one, part in zip(found, parts, strict=True)]


def untold(func: Any, arg: Any) -> Any:
    """Return what an op is told of how much it leaves, where nothing is known of the numbers."""
    return clear(arg, None, {}) if func in INDEXING else _opened(arg, None)


def numbers(given: Any) -> dict[Sym, int]:
    """Return the values of the symbols for numbers that may be anything."""
    if isinstance(given, slice):
        given = (given.start, given.stop, given.step)
    if isinstance(given, tuple | list):
        return {symbol: value for one in given for symbol, value in numbers(one).items()}
    found = dims.symbols(given) if isinstance(given, Size | dims.Composite) else ()
    return {s: s.origin.value for s in found if isinstance(s.origin, AnyNumber)}


def is_by_number(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether numbers decide how much of an axis an op leaves, or how many times it takes it.

    A list of two that isn't written out is taken for one that always has two.
    """
    if func in JOINING:
        return bool(args) and isinstance(args[0], list | tuple) and len(args[0]) > 2
    return func in CUTTING and (func not in INDEXING or _has_bounds(args[1]))


def leaves_a_rest(
    caller: FrameType, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> bool:
    """Whether a user who takes an axis apart leaves it open how long a part is: `(-1, 2)`.

    Operations by name say what the parts are.
    """
    if is_ours(caller.f_code):
        return False
    sizes = args[2] if len(args) > 2 else (kwargs or {}).get("sizes")
    return isinstance(sizes, tuple | list) and -1 in sizes


def _has_bounds(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_has_bounds, index))
    return isinstance(index, slice) and int in map(type, (index.start, index.stop, index.step))


def _is_sure(found: Any, told: Told) -> bool:
    """Whether an argument has no number in it that may be anything, by what is told of it."""
    if isinstance(found, tuple | list):
        parts = told if isinstance(told, tuple) and len(told) == len(found) else [None] * len(found)
        return all(_is_sure(one, part) for one, part in zip(found, parts, strict=True))
    return type(found) is not int or found == told


def is_told(value: Any) -> bool:
    """Whether sizes are all told of, but for 1 and the -1 that is left to the op."""
    if isinstance(value, tuple | list):
        return all(is_told(one) for one in value)
    return isinstance(value, Size | dims.Composite) or value in (1, -1)
