"""What a signature is, and how a call is judged by it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.dims import IntSize, Size
from shapecheck.ops import (
    RULES,
    UNKNOWN,
    Call,
    DType,
    Fields,
    Repeated,
    Scalar,
    Unknown,
    Value,
    like,
)
from shapecheck.ops.agree import apart, mixed
from shapecheck.ops.arrays import promotion as of_arrays
from shapecheck.ops.arrays.create import as_array
from shapecheck.ops.call import TAKE_FREE, as_shape, as_tensor
from shapecheck.ops.promotion import promote_values
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import without
from shapecheck.ops.shape.first_class import batched, has_free
from shapecheck.shapes import Facts, Matcher, Misfit, Mismatch, Problem, Run, Shape, Tensor, has_run

Promote: TypeAlias = Callable[[dtypes.DTypes], dtypes.DTypes]

FOLLOW: Final[Mapping[str, Promote]] = {
    "T": lambda d: d,
    "E": lambda d: d,
    "F": dtypes.to_float,
    "A": dtypes.accumulate,
    "R": dtypes.to_real,
    "D": dtypes.to_double,
}
"""Dtypes that follow from the arguments: the same, or as floating, accumulated, real, double.

`E` is the same, of arguments that torch doesn't convert: integers and floats don't mix. Of arrays
they follow as numpy has it: see `ops.arrays.promotion`.
"""

CLAIMS: Final[Mapping[str, dtypes.DTypes]] = {
    **dtypes.CATEGORIES,
    "Whole": dtypes.INTEGER | dtypes.BOOL,
}
"""What a parameter or a result may be claimed to be, besides what annotations name."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """`F[Tensor, "*s"]`: a tensor of a dtype category (or one that follows) and a shape.

    `edit` is a change of the axes of a bound group, `Without["*s", dim, keepdim]`. `array`: it is
    one of numpy's, `F[ndarray, "*s"]`.
    """

    category: str
    text: spec.Spec | None
    edit: Edit | None = None
    array: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """A result that has one of the argument's shapes but for the axis named by a parameter.

    `Sizes[size]` is the shape that a parameter says.
    `Without["*s", dim, keepdim]` drops the axes (keeps them as 1 under keepdim),
    `With["*s", dim, "n"]` puts other dimensions in its place, `Insert["*s", dim, "n"]` puts new
    ones before it.
    """

    kind: str
    group: str
    dim: str
    keepdim: str | None
    text: spec.Spec | None


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its name, default, and what is known from its annotation.

    `tensor` is set for tensors, `scalar` for a union with numbers; `axis` names the group whose
    axis the parameter selects; `count` is the length that `Ints[n]` brings an int to; `other`:
    something else than a tensor may be given, of which the signature says nothing. `meets` is the
    group, `*#s`, that is all of its shape, and of that of others with which it broadcasts.
    `whole`: an int, and nothing else, is given.
    """

    name: str
    default: Value
    required: bool
    star: bool = False
    keyword_only: bool = False
    tensor: TensorForm | None = None
    axis: str | None = None
    new_axis: bool = False
    count: int = 0
    dtype: bool = False
    other: bool = False
    meets: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a signature returns: one of these is set, or none for an unknown value.

    `number` is `int`, `float` or `bool`. `blank`: the tensor is made, and no data is in it.
    `array`: what tensors there are in it are numpy's arrays. `fields` are the names of the items
    where it is a tuple.
    """

    tensor: TensorForm | None = None
    items: tuple[Result, ...] | None = None
    rule: str | None = None
    extra: tuple[Value, ...] = ()
    same: ast.expr | None = None
    nothing: bool = False
    number: str | None = None
    blank: bool = False
    array: bool = False
    fields: tuple[str, ...] = ()

    @property
    def has_arrays(self) -> bool:
        """Whether there are arrays in it."""
        return self.array or any(item.has_arrays for item in self.items or ())


NUMBERS: Final[Mapping[str, Callable[[], Value]]] = {
    "int": dims.unknown,
    "float": lambda: Scalar(dtypes.DEFAULT_FLOAT),
    "bool": lambda: Scalar(dtypes.BOOL),
}
"""What is known of a number by its type."""


class Evaluator(Protocol):
    """Evaluates the expressions that stand in a signature."""

    def size(self, source: str, scope: Mapping[str, Value]) -> IntSize | None:
        """Return the value of a `{...}` expression as a size, None where it isn't known."""
        ...

    def evaluate(self, node: ast.expr, scope: Mapping[str, Value], call: Call | None) -> Value:
        """Return the value of an expression over the arguments; other ops by dotted name."""
        ...


@dataclass(slots=True)
class Signature:
    """One op: how arguments bind, the result, and what `index.FLAGS` are said of it.

    `overloads` are further signatures of the same name, tried in order. `of_arrays`: it speaks of
    numpy's arrays, `gives_arrays`: its result does; `takes_arrays`: those that it is given are as
    tensors to it.
    """

    name: str
    params: tuple[Param, ...]
    variadic_keywords: bool
    result: Result
    evaluator: Evaluator
    flags: frozenset[str] = frozenset()
    overloads: tuple[Signature, ...] = ()
    gives_arrays: bool = field(init=False)
    of_arrays: bool = field(init=False)
    takes_arrays: bool = field(init=False)

    def __post_init__(self) -> None:
        """Find out whether it speaks of arrays."""
        self.gives_arrays = self.result.has_arrays
        self.of_arrays = self.gives_arrays or any(
            param.tensor is not None and param.tensor.array for param in self.params
        )
        self.takes_arrays = self.of_arrays or "arrays" in self.flags

    def with_arrays(self, value: Value, made: Callable[[Tensor], Value]) -> Value:
        """Return a result with what is `made` of each tensor in it that is an array."""
        return _with_arrays(self.result, value, made) if self.gives_arrays else value

    def is_given_tensors(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
        """Whether a tensor of torch is given where it wants an array of numpy."""
        bound = self.bind(args, kwargs) or {}
        return any(
            param.tensor is not None
            and param.tensor.array
            and isinstance(bound[param.name], Tensor)
            for param in self.params
            if param.name in bound
        )

    @property
    def gives_tensors(self) -> bool:
        """Whether a tensor may be in the result, as far as the signature says."""
        found = self.result
        is_plain = found.rule is None and found.same is None and found.items is None
        return self.flags.isdisjoint(("metadata", "plain")) and not (
            is_plain and found.tensor is None
        )

    def bind(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value] | None:
        """Bind arguments to parameters as Python does; None where they don't fit the signature."""
        bound: dict[str, Value] = {}
        given = list(args)
        if not NUMPY_WORDS.keys().isdisjoint(kwargs):
            own = {param.name for param in self.params}
            kwargs = {k if k in own else NUMPY_WORDS.get(k, k): v for k, v in kwargs.items()}
        for param in self.params:
            if param.star:
                bound[param.name] = _flatten(given)
                given = []
            elif given and not param.keyword_only:
                if param.name in kwargs:
                    return None
                bound[param.name] = given.pop(0)
            elif param.name in kwargs:
                bound[param.name] = kwargs[param.name]
            elif param.required:
                return None
            else:
                bound[param.name] = param.default
            if param.star and param.name in kwargs and not bound[param.name]:
                bound[param.name] = _flatten([kwargs[param.name]])
        if given:
            return None
        extra = {key: value for key, value in kwargs.items() if key not in bound}
        if extra and not self.variadic_keywords and not set(extra) <= _IGNORED:
            return None
        if self.variadic_keywords:
            bound["kwargs"] = extra
        return bound

    def apply(
        self,
        facts: Facts,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        label: str = "",
        instance: Mapping[str, Value] | None = None,
        *,
        meant: bool = False,
    ) -> Value:
        """Return what is known of the result of a call; raises `Mismatch` where it can't be.

        `instance` holds the attributes of the module that a method belongs to (`self.x`);
        `meant`: see `Call`.
        """
        if self.result.rule not in TAKE_FREE and (has_free(args) or has_free(kwargs.values())):
            return batched(
                lambda a, k: self.apply(facts, a, k, label, instance, meant=meant),
                self._selects,
                facts,
                args,
                kwargs,
            )
        for candidate in (self, *self.overloads):
            bound = candidate.bind(args, kwargs)
            if bound is not None and candidate.admits(bound):
                about = label or self.name, instance, meant
                known, given = facts.runs, dict(bound)
                found = candidate.run(facts, bound, *about)
                if facts.runs is not known and any(map(_stretches, given.values())):
                    given = {name: _refreshed(value, facts) for name, value in given.items()}
                    found = candidate.run(facts, given, *about)
                written = _into(facts, found, kwargs.get("out"))
                if instance is not None:
                    return written
                marked = _marked(written, candidate.result.blank, (*args, *kwargs.values()))
                return _with_fields(marked, candidate.result.fields)
        return UNKNOWN

    def _selects(self, argument: int | str) -> bool:
        """Whether an argument, by its position or its name, says which axes the op works on."""
        return any(
            param.axis is not None or param.name == "dim"
            for signature in (self, *self.overloads)
            for at, param in enumerate(signature.params)
            if argument in (at, param.name) or NUMPY_WORDS.get(str(argument)) == param.name
        )

    def admits(self, bound: Mapping[str, Value]) -> bool:
        """Whether the kinds of the arguments (tensor or not) are those of the parameters."""
        for param in self.params:
            value = bound[param.name]
            if param.tensor is None and isinstance(value, Tensor) and (param.axis or param.count):
                return False
            if param.other and not isinstance(value, Tensor):
                return False
            if param.axis and isinstance(value, bool):
                return False
            if self.overloads and param.tensor is not None and isinstance(value, str):
                return False
        return True

    def run(
        self,
        facts: Facts,
        bound: dict[str, Value],
        label: str,
        instance: Mapping[str, Value] | None,
        meant: bool = False,
    ) -> Value:
        """Judge one call whose arguments are bound."""
        for param in self.params:
            if param.count:
                bound[param.name] = spread(bound[param.name], param.count)
            if param.dtype and self.of_arrays:
                bound[param.name] = of_arrays.given(bound[param.name])
        operands = [value.shape for value in bound.values() if isinstance(value, Tensor)]
        for value in bound.values():
            if isinstance(value, (tuple, list)):
                operands += [item.shape for item in value if isinstance(item, Tensor)]
        operands = facts.resolved(operands)
        of_module = instance is not None
        call = Call(facts, label, operands, self.result.extra, meant, of_module)
        scope = bound if instance is None else {**bound, "self": instance}
        evaluate = lambda source: self.evaluator.size(source, scope)  # noqa: E731
        matcher = Matcher(facts, evaluate, beside=operands, of_module=of_module)
        kind = self._match(bound, matcher, call)
        for param in self.params:
            if param.axis is not None and (items := matcher.runs.get(param.axis)) is not None:
                self._check_axis(call, Shape(items), bound[param.name], param.new_axis)
        if self.result.rule is not None:
            arguments = {p.name: bound[p.name] for p in self.params}
            if self.variadic_keywords:
                arguments["kwargs"] = bound["kwargs"]
            if instance is not None:
                arguments["self"] = instance
            found = RULES[self.result.rule](call, **arguments)
        else:
            found = self._build(self.result, call, matcher, bound, kind, scope)
        below = _below_nothing(found)
        if below is None:
            return found
        if any(_below_nothing(Tensor(shape)) for shape in operands):
            return UNKNOWN  # a condition says that the operand can't be there
        axis, size = below
        raise Mismatch(Problem(f"axis {axis} of the result would be {size}", "can't fit"))

    @staticmethod
    def _check_axis(call: Call, shape: Shape, dim: Value, new: bool) -> None:
        if new:
            call.axis(shape, dim, insert=True)
        else:
            call.axes(shape, dim)

    def _match(self, bound: dict[str, Value], matcher: Matcher, call: Call) -> dtypes.DTypes | None:
        """Fit the arguments to the parameters; return the dtype that a result follows."""
        following: list[Value] = []
        checked: list[Value] = []  # what a result follows where no parameter does
        equal: list[tuple[str, Tensor]] = []
        meeting: dict[str, list[Tensor]] = {}
        for param in self.params:
            form, value = param.tensor, bound[param.name]
            if form is None or (value is None and not (param.meets and param.required)):
                continue
            if form.array and isinstance(value, (tuple, list, Repeated)):
                value = bound[param.name] = as_array(call, value)
            if form.category in FOLLOW:
                following.append(value)
            tensor = as_tensor(value)
            if form.category == "E":
                equal.append((param.name, tensor))
            if param.meets is not None:
                meeting.setdefault(param.meets, []).append(tensor)
                if not isinstance(value, Tensor):
                    checked.append(value)
                    continue
            elif not isinstance(value, Tensor):
                text = form.text
                if _is_number(value) and text is not None and text.groups == len(text.entries):
                    continue
                bound[param.name] = tensor
            if form.category not in FOLLOW:
                kind = _of_category(self._spoken(param, call), tensor, form.category)
                checked.append(replace(tensor, dtype=kind))
            if form.text is not None and param.meets is None:
                self._fit(param, form.text, tensor, matcher, bound)
        for group, tensors in meeting.items():
            matcher.runs[group] = call.broadcast(tensors).dims
        self._settle(matcher, bound)
        _one_kind(equal)
        promote = of_arrays.promoted if self.of_arrays else promote_values
        return promote(*(following or checked)) if following or checked else None

    def _spoken(self, param: Param, call: Call) -> str:
        """Return how a message calls a parameter: of an operator, it is an operand."""
        if call.label[:1].isidentifier() or not call.label:
            return f'"{param.name}"'
        tensors = [one.name for one in self.params if one.tensor is not None]
        sides = ("left ", "right ") if len(tensors) == 2 else ("",)
        at = tensors.index(param.name)
        return f"the {sides[at]}operand" if at < len(sides) else f'"{param.name}"'

    def _fit(
        self,
        param: Param,
        text: spec.Spec,
        tensor: Tensor,
        matcher: Matcher,
        bound: Mapping[str, Value],
    ) -> None:
        """Fit an argument to the shape of its parameter."""
        misfit = matcher.match(text, tensor.shape)
        if misfit is not None:
            raise Mismatch(self._problem(param, tensor, misfit, bound, matcher))

    def _settle(self, matcher: Matcher, bound: Mapping[str, Value]) -> None:
        """Solve what the arguments one by one have left open; the first is blamed."""
        misfit = matcher.settle()
        if misfit is not None:
            param = next(p for p in self.params if p.tensor is not None)
            raise Mismatch(self._problem(param, bound[param.name], misfit, bound, matcher))

    def _problem(
        self,
        param: Param,
        value: Value,
        misfit: Misfit,
        bound: Mapping[str, Value],
        matcher: Matcher,
    ) -> Problem:
        assert param.tensor is not None and param.tensor.text is not None
        others = [
            f'"{p.name}" {other}'
            for p in self.params
            if p is not param and isinstance(other := bound[p.name], Tensor)
        ]
        whole = value if isinstance(value, Tensor) else written(value)
        headline = f"can't take {whole}" + (f" with {' and '.join(others)}" if others else "")
        text = param.tensor.text
        if misfit.axis is None:
            many = "at least " if text.groups else ""
            count = len(text.entries) - text.groups
            return Problem(
                f'"{param.name}" has {_axes(as_tensor(value).shape)}, where {many}{count} '
                f"{'is' if count == 1 else 'are'} expected{_expected(text, matcher)}",
                headline,
                hints=("unsqueeze", "squeeze"),
            )
        wanted = _wanted(misfit)
        return Problem(
            f'axis {misfit.axis} of "{param.name}" is {misfit.actual}, where {wanted} is expected',
            headline,
            hints=("transpose", "swap"),
            about=(misfit.actual, misfit.value),
        )

    def _build(
        self,
        result: Result,
        call: Call,
        matcher: Matcher,
        bound: Mapping[str, Value],
        kind: dtypes.DTypes | None,
        scope: Mapping[str, Value],
    ) -> Value:
        if result.items is not None:
            return tuple(
                self._build(item, call, matcher, bound, kind, scope) for item in result.items
            )
        if result.same is not None:
            return self.evaluator.evaluate(result.same, scope, call)
        if result.nothing:
            return None
        if result.number is not None:
            return NUMBERS[result.number]()
        form = result.tensor
        if form is None:
            return UNKNOWN
        shape = (
            self._edit(form.edit, call, matcher, bound)
            if form.edit is not None
            else matcher.build(form.text)
            if form.text is not None
            else Shape.unknown()
        )
        inserted = (form.edit is not None and form.edit.kind == "Insert") or any(
            isinstance(value, Tensor) and value.inserted and value.shape == shape
            for value in bound.values()
        )
        return Tensor(shape, self._dtype(form.category, bound, kind), inserted)

    def _dtype(
        self, category: str, bound: Mapping[str, Value], kind: dtypes.DTypes | None
    ) -> dtypes.DTypes:
        for param in self.params:
            if param.dtype and bound[param.name] is not None:
                given = bound[param.name]
                return given.dtypes if isinstance(given, DType) else dtypes.ANY
        if category in FOLLOW:
            follow = of_arrays.FOLLOW if self.of_arrays else FOLLOW
            return dtypes.ANY if kind is None else follow[category](kind)
        return CLAIMS[category]

    def _edit(self, edit: Edit, call: Call, matcher: Matcher, bound: Mapping[str, Value]) -> Shape:
        dim = bound.get(edit.dim)
        if edit.kind == "Sizes":
            return _made_of(dim)
        shape = Shape(matcher.runs.get(edit.group, (Run(dims.Sym.fresh("...")),)))
        if edit.kind == "Insert":
            position = call.axis(shape, dim, insert=True)
            if position is None:
                return Shape.unknown() if shape.rank is None else Shape.of_rank(shape.rank + 1)
            assert edit.text is not None
            new = matcher.build(edit.text).dims
            return Shape((*shape.dims[:position], *new, *shape.dims[position:]))
        if edit.kind == "With":
            position = call.axis(shape, dim)
            if position is None:
                return Shape.unknown() if shape.rank is None else Shape.of_rank(shape.rank)
            assert edit.text is not None
            new = matcher.build(edit.text).dims
            return Shape((*shape.dims[:position], *new, *shape.dims[position + 1 :]))
        keepdim = False if edit.keepdim is None else bound.get(edit.keepdim, False)
        return without(call, shape, None if dim == () else dim, keepdim)


def _with_arrays(result: Result, value: Value, made: Callable[[Tensor], Value]) -> Value:
    match value:
        case tuple() if result.items is not None and len(result.items) == len(value):
            pairs = zip(result.items, value, strict=True)
            return like(value, (_with_arrays(one, item, made) for one, item in pairs))
        case tuple():
            return like(value, (_with_arrays(result, item, made) for item in value))
        case Repeated(element=element):
            return replace(value, element=_with_arrays(result, element, made))
        case Tensor() if result.array:
            return made(value)
    return value


def _made_of(sizes: Value) -> Shape:
    """Return the shape of given sizes; raises `Mismatch` for a negative one."""
    shape = as_shape(sizes)
    for item in shape.dims:
        if isinstance(item, int) and item < 0:
            headline = f"can't make a tensor of shape {shape}"
            raise Mismatch(Problem(f"{item} isn't a size", headline))
    return shape


def _is_number(value: Value) -> bool:
    return isinstance(value, (bool, int, float, complex, Size, Scalar))


def _of_category(spoken: str, tensor: Tensor, category: str) -> dtypes.DTypes:
    """Return the dtypes of an argument within a category; raises `Mismatch` if there are none.

    `spoken`: how a message calls the argument.
    """
    found = tensor.dtype & CLAIMS[category]
    if not found:
        reason = f"{spoken} must be {_said(category)}"
        headline = f"doesn't take {dtypes.describe(tensor.dtype)}"
        raise Mismatch(Problem(reason, headline, "shape-dtype"))
    return found


def _said(category: str) -> str:
    return dtypes.describe(CLAIMS[category])


def _one_kind(given: Sequence[tuple[str, Tensor]]) -> None:
    """Refuse arguments of several dtypes that torch doesn't convert to one."""
    for (first, one), (second, other) in itertools.pairwise(given):
        if mixed(one, other):
            kinds = " and ".join(dtypes.describe(tensor.dtype) for tensor in (one, other))
            reason = f'"{first}" and "{second}" must be of one dtype'
            raise Mismatch(Problem(reason, f"doesn't take {kinds}", "shape-dtype"))


def _axes(shape: Shape) -> str:
    count = len(shape.dims)
    return f"{count} {'axis' if count == 1 else 'axes'}"


def _expected(text: spec.Spec, matcher: Matcher) -> str:
    """Return the shape that a signature expects, so far as the other arguments say it.

    Its own names mean nothing to the reader, who may call something else by one of them.
    """
    found = []
    for entry in text.entries:
        match entry:
            case spec.Axis(expr=spec.Name(id=name)):
                found.append(str(matcher.names.get(name, "_")))
            case spec.Axis(expr=spec.Number()):
                found.append(str(entry))
            case spec.Group():
                found.append("...")
            case _:
                return ""
    return f" ({' '.join(found)})" if set(found) - {"_", "..."} else ""


def _wanted(misfit: Misfit) -> str:
    text = misfit.expected.removeprefix("{").removesuffix("}").removeprefix("self.")
    if misfit.value is None:
        return text
    if "{" not in misfit.expected:  # the signature's own names mean nothing to the reader
        return str(misfit.value)
    return str(misfit.value) if text == str(misfit.value) else f"{misfit.value} ({text})"


def _stretches(value: Value) -> bool:
    """Whether there is a tensor in a value that has the axes which the operation needs."""
    if isinstance(value, (tuple, list)):
        return any(map(_stretches, value))
    items = value.shape.dims if isinstance(value, Tensor) else ()
    return any(isinstance(item, Run) and item.symbol.stretches for item in items)


def _below_nothing(found: Value) -> tuple[int, int] | None:
    """Return an axis of a result along which there would be less than nothing, and its size."""
    if isinstance(found, (tuple, list)):
        return next(filter(None, map(_below_nothing, found)), None)
    if isinstance(found, Tensor):
        for axis, item in enumerate(found.shape.dims):
            if isinstance(item, int) and item < 0:
                return axis, item
    return None


def _refreshed(value: Value, facts: Facts) -> Value:
    """Return a value with what was learned of the tensors in it."""
    if isinstance(value, (tuple, list)):
        return type(value)(_refreshed(item, facts) for item in value)
    return value.with_shape(facts.shape(value.shape)) if isinstance(value, Tensor) else value


def _into(facts: Facts, result: Value, out: Value) -> Value:
    """Return a result as it is in the tensor that it is written to.

    torch gives that tensor another size where it needs one; names tell more.
    """
    if not isinstance(result, Tensor) or not isinstance(out, Tensor):
        return result
    found, given = facts.shape(result.shape), facts.shape(out.shape)
    if found.rank is not None and found.rank == given.rank:
        for axis, (one, other) in enumerate(zip(found.dims, given.dims, strict=True)):
            if apart(facts, one, other):
                reason = f"axis {axis} is {one} in the result and {other} there"
                raise Mismatch(
                    Problem(reason, f"can't write {found} into {given}", about=(one, other))
                )
    return replace(result, dtype=out.dtype)


def _with_fields(found: Value, names: tuple[str, ...]) -> Value:
    """Return a tuple with names for its items, if there are any for them."""
    if names and type(found) is tuple and len(found) == len(names):
        return Fields.of(names, found)
    return found


def _marked(found: Value, made: bool, given: Sequence[Value]) -> Value:
    """Return a result with whether data is in it: what is made only of blank tensors is blank."""
    if type(found) is tuple:
        return tuple(_marked(one, made, given) for one in found)
    if not isinstance(found, Tensor):
        return found
    parts = [part for one in given for part in (one if isinstance(one, (tuple, list)) else (one,))]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    blank = made or (all(tensor.blank for tensor in tensors) if tensors else found.blank)
    return found if found.blank is blank else replace(found, blank=blank)


def _flatten(args: Sequence[Value]) -> Value:
    if len(args) == 1 and isinstance(args[0], (tuple, list, Repeated, Unknown)):
        return tuple(args[0]) if isinstance(args[0], (tuple, list)) else args[0]
    return tuple(args)


def spread(value: Value, count: int) -> Value:
    """Bring an int, or a sequence of one, to a tuple of `count`; None and the unknown stay."""
    if value is None or isinstance(value, (str, Unknown)):
        return value
    if isinstance(value, (tuple, list)):
        if has_run(value):
            return (UNKNOWN,) * count
        return tuple(value) * count if len(value) == 1 else tuple(value)
    return (value,) * count


NUMPY_WORDS: Final = {"axis": "dim", "keepdims": "keepdim"}
"""numpy's words for parameters, which torch takes too, with torch's."""

_IGNORED: Final = frozenset(
    "out dtype device layout requires_grad pin_memory memory_format generator non_blocking "
    "copy inplace training".split()
)
"""Keywords that never change a shape; accepted by every signature."""
