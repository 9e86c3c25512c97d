"""Where values meet annotations: parameters, arguments, results, annotated locals."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import shapecheck.dims as dims
from shapecheck import dtypes, explain
from shapecheck.analysis.annotations.reader import (
    AnyDecl,
    CallableDecl,
    ClassDecl,
    Declared,
    DictDecl,
    FieldsDecl,
    ListDecl,
    ModuleDecl,
    NoneDecl,
    ScalarDecl,
    TensorDecl,
    TupleDecl,
    UnionDecl,
)
from shapecheck.analysis.interpreter.dict_contents import values
from shapecheck.analysis.interpreter.dtype_evidence import mind_declared
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import (
    Callback,
    DictContent,
    Instance,
    ListContent,
    OneOf,
    OpInstance,
    names_of,
    own_size,
)
from shapecheck.analysis.values.paths import AccessPath, is_one, one_of
from shapecheck.blame import UNFIT, Blame
from shapecheck.dims import HERE, DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import CountAt
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.shapes import Facts, Item, Matcher, Misfit, Run, Shape, Tensor

Symbolic = Callable[[str], DimExpr]


def declare(
    frame: Frame,
    declared: Declared,
    path: AccessPath,
    matcher: Matcher,
    name: Symbolic | None = dims.name,
    run: Callable[[str], Item] | None = None,
) -> Value:
    """Return the value of which only its annotation is known.

    `path` names it in the sizes that are its own; `name` and `run` make the dimensions of names
    that aren't bound yet (None: unknown ones).
    """
    if run is None:
        run = _new_run if name is None else lambda text: Run(Sym(text))
    match declared:
        case TensorDecl(text=None, dtype=dtype):
            return Tensor(Shape.unknown(), dtype)
        case TensorDecl(text=text, dtype=dtype):
            assert text is not None
            _bind_objects(frame, declared, matcher, name is not None)
            return Tensor(matcher.build(text, name, run), dtype)
        case ScalarDecl(kind="int"):
            return own_size(path) if name is not None else dims.unknown()
        case ScalarDecl(kind="float"):
            return Scalar(dtypes.DEFAULT_FLOAT)
        case ScalarDecl(kind="bool"):
            return Scalar(dtypes.BOOL)
        case NoneDecl():
            return None
        case UnionDecl(options=options):
            made = tuple(declare(frame, o, path, matcher, name, run) for o in options)
            return frame.state.either(*made)
        case ListDecl(element=element) | TupleDecl(items=None, element=element):
            inner = declare(frame, element, one_of(path + "[]"), matcher, name, run)
            count = _length(path) if name is not None else None
            kind = "list" if isinstance(declared, ListDecl) else "tuple"
            return frame.state.new(ListContent(None, _item(element, inner), kind, count))
        case TupleDecl(items=items):
            assert items is not None
            return tuple(
                declare(frame, item, path + f"[{index}]", matcher, name, run)
                for index, item in enumerate(items)
            )
        case DictDecl(value=value):
            return frame.state.new(
                DictContent(None, declare(frame, value, one_of(path + "[]"), matcher, name, run))
            )
        case FieldsDecl(fields=fields):
            return frame.state.new(DictContent(_fields(frame, fields, path, name is not None)))
        case CallableDecl():
            return Callback(declared)
        case ClassDecl(cls=cls):
            path = one_of(path) if name is None else path  # of a call's result
            return frame.state.new(Instance(cls, {}, path, fresh=True))
        case ModuleDecl(name=kind):
            found = frame.program.table.lookup_class(kind)
            return UNKNOWN if found is None else OpInstance(found, found.unknown())
    return UNKNOWN


def _bind_objects(frame: Frame, declared: TensorDecl, matcher: Matcher, own: bool = False) -> None:
    """Bind the names that are dimension objects to what they are here.

    `own`: the annotation is one of the body's own. A dimension that the body doesn't speak of is
    bound by what it meets, and has its size if there is one.
    """
    for name, dim in declared.dims:
        symbols = dims.symbols(dim.dim)
        if own:
            frame.dims |= symbols
        if name not in matcher.names and (symbols <= frame.dims or isinstance(dim.size, int)):
            matcher.names[name] = dim.dim if symbols <= frame.dims else dims.size_of(dim.size)


def _new_run(name: str) -> Item:
    return Run(Sym.fresh(name))


def leaves_open(value: Value) -> bool:
    """Whether a result's annotation leaves open how many axes a tensor has."""
    if isinstance(value, tuple):
        return any(map(leaves_open, value))
    if not isinstance(value, Tensor):
        return False
    runs = (item.symbol for item in value.shape.dims if isinstance(item, Run))
    return any(symbol.kind is Kind.UNKNOWN for symbol in runs)


def has_new_names(value: Value) -> bool:
    """Whether a result's annotation has names that no parameter has."""
    if isinstance(value, tuple):
        return any(map(has_new_names, value))
    if not isinstance(value, Tensor):
        return False
    sizes = (item for item in value.shape.dims if isinstance(item, Size))
    return any(size.symbol is not None and size.symbol.kind is Kind.UNKNOWN for size in sizes)


def resolved(frame: Frame, value: Value) -> Value:
    """Return tensors with all that is known here of their sizes put in."""
    if isinstance(value, tuple):
        return tuple(resolved(frame, item) for item in value)
    if not isinstance(value, Tensor):
        return value
    return replace(value, shape=Shape(frame.state.facts.items(value.shape.dims)))


def closer(frame: Frame, promised: Value, found: Value) -> Value:
    """Return what a result's annotation says, with what a look into the function adds to it."""
    if isinstance(promised, tuple) and isinstance(found, tuple) and len(promised) == len(found):
        return tuple(closer(frame, p, f) for p, f in zip(promised, found, strict=True))
    if not isinstance(promised, Tensor) or not isinstance(found, Tensor):
        return promised
    said = frame.state.facts.shape(promised.shape)
    shape = Shape(frame.state.facts.items(found.shape.dims))
    if said.rank is not None and said.rank == shape.rank:
        _count(frame, said, shape)
        return promised
    vague = any(isinstance(item, Run) and not item.symbol.has_name for item in shape.dims)
    if said.rank is not None or vague or shape.least_rank < said.least_rank:
        return promised
    _call_as_promised(said, shape)
    dtype = promised.dtype & found.dtype or promised.dtype
    return replace(promised, shape=shape, dtype=dtype)


def _count(frame: Frame, said: Shape, found: Shape) -> None:
    """Learn which numbers, and which sizes of instances, a result has names for.

    What is made of the caller's own names stays new: the caller may have that under its name too.
    """
    for name, dim in zip(said.known or (), found.known or (), strict=True):
        if all(symbol.kind is Kind.OWN for symbol in dims.symbols(dim)):
            frame.state.facts.unify(name, dim)


def _call_as_promised(said: Shape, found: Shape) -> None:
    """Give unknown dimensions of a result the names that its annotation has for them."""
    at = next(i for i, item in enumerate(said.dims) if isinstance(item, Run))
    behind = len(said.dims) - at - 1
    inner = found.dims[at : len(found.dims) - behind]
    labels: list[str] = [*map(str, said.dims[:at]), *_labels(said.dims[at], len(inner))]
    labels += map(str, said.dims[at + 1 :])
    for item, label in zip(found.dims, labels, strict=True):
        if isinstance(item, Size) and (symbol := item.symbol) is not None:
            symbol.label(label)


def _labels(run: Item, count: int) -> list[str]:
    """Return names for the dimensions that a run of an annotation turned out to be."""
    assert isinstance(run, Run)
    name = run.symbol.name.removeprefix("#")
    if name in ("...", ""):
        return ["_"] * count
    return [name] if count == 1 else [f"{name}[{axis}]" for axis in range(count)]


def _length(path: AccessPath) -> Size:
    """Return how many items the list at a path has."""
    return dims.own(f"len({path})", CountAt(path) if is_one(path) else HERE)


def _fields(
    frame: Frame, fields: Iterable[tuple[str, Declared]], path: AccessPath, named: bool
) -> dict[Value, Value]:
    """Return the values of a TypedDict's keys; the names in its annotations are its own."""
    origin = names_of(path, "keys")
    matcher = Matcher(frame.state.facts)
    return {
        key: declare(
            frame,
            declared,
            path + f"[{key!r}]",
            matcher,
            (lambda text: dims.own(text, origin)) if named else None,
            lambda text: Run(Sym(text, Kind.UNKNOWN, origin)),
        )
        for key, declared in fields
    }


def _item(declared: Declared, value: Value) -> Value:
    """What any item of a collection is: an int is another one each time."""
    if isinstance(declared, ScalarDecl) and declared.kind == "int":
        return UNKNOWN
    if isinstance(declared, TupleDecl) and declared.items is not None and isinstance(value, tuple):
        return tuple(map(_item, declared.items, value))
    return value


Found = tuple[Misfit | None, Tensor | None, TensorDecl | None]
"""What doesn't fit, the tensor that doesn't, and the annotation that it doesn't fit."""

_FITS: Found = (None, None, None)


def check(frame: Frame, declared: Declared, value: Value, matcher: Matcher) -> Found:
    """Fit a value to a declaration, binding its names."""
    match declared:
        case TensorDecl():
            _bind_objects(frame, declared, matcher)
            mind_declared(frame, declared.dtype, _only_tensor(value))
            return _check_tensor(declared, value, matcher)
        case UnionDecl(options=options):
            return _check_union(frame, options, value, matcher)
        case FieldsDecl(fields=fields):
            content = frame.state.content(value)
            given = (content.items if isinstance(content, DictContent) else None) or {}
            own = Matcher(matcher.facts)  # the names in a TypedDict are its own
            pairs = ((kind, given[key]) for key, kind in fields if key in given)
            return _check_each(frame, pairs, own)
        case DictDecl(value=kind):
            content = frame.state.content(value)
            if isinstance(content, DictContent):
                return _check_each(frame, ((kind, one) for one in values(content)), matcher)
        case TupleDecl(items=items) if items is not None:
            if isinstance(value, tuple) and len(items) == len(value):
                return _check_each(frame, zip(items, value, strict=True), matcher)
        case TupleDecl(element=element) | ListDecl(element=element):
            if not isinstance(value, Tensor):
                known, any_item = iterate(frame, value)
                each = known if known is not None else (any_item,)
                return _check_each(frame, ((element, item) for item in each), matcher)
    return _FITS


def _check_tensor(declared: TensorDecl, value: Value, matcher: Matcher) -> Found:
    tensor = _only_tensor(value)
    if tensor is None:
        if value is UNKNOWN and declared.text is not None:
            matcher.loosen(declared.text)
        return _FITS
    if not tensor.dtype & declared.dtype:
        return Misfit(None, "dtype"), tensor, declared
    if declared.text is None:
        return _FITS
    matcher.beside = (tensor.shape,)
    names, runs = dict(matcher.names), dict(matcher.runs)
    misfit = matcher.match(declared.text, tensor.shape) or matcher.settle()
    if misfit is not None:
        matcher.names, matcher.runs = names, runs
    return misfit, tensor, declared


def _check_each(frame: Frame, pairs: Iterable[tuple[Declared, Value]], matcher: Matcher) -> Found:
    for declared, value in pairs:
        found = check(frame, declared, value, matcher)
        if found[0] is not None:
            return found
    return _FITS


def _only_tensor(value: Value) -> Tensor | None:
    if isinstance(value, OneOf):
        some = [option for option in value.options if option is not None]
        return some[0] if len(some) == 1 and isinstance(some[0], Tensor) else None
    return value if isinstance(value, Tensor) else None


def _check_union(
    frame: Frame, options: tuple[Declared, ...], value: Value, matcher: Matcher
) -> Found:
    """Fit a value to one of several declarations; a branch that fails leaves no binding behind."""
    if isinstance(value, (Tensor, OneOf)):
        if any(isinstance(option, ListDecl) and option.admits_tensors for option in options):
            return _FITS
    worst = _FITS
    before = _Bindings.of(matcher)
    fitting: list[_Bindings] = []
    for option in options:
        if not _kind_fits(frame, option, value):
            continue
        before.restore(matcher)
        found = check(frame, option, value, matcher)
        if found[0] is None:
            fitting.append(_Bindings.of(matcher))
        elif worst[0] is None or (worst[0].axis is None and found[0].axis is not None):
            worst = found
    if len(fitting) == 1:
        fitting[0].restore(matcher)
        return _FITS
    before.restore(matcher)
    if not fitting:
        return worst
    for name, bound in fitting[0].names.items():
        if all(other.names.get(name) == bound for other in fitting):
            matcher.names[name] = bound
    return _FITS


@dataclass(frozen=True, slots=True)
class _Bindings:
    """What a matcher has bound, learned and left open at a point."""

    names: dict[str, DimExpr]
    runs: dict[str, tuple[Item, ...]]
    pending: list[Any]
    facts: Facts

    @staticmethod
    def of(matcher: Matcher) -> _Bindings:
        return _Bindings(
            dict(matcher.names), dict(matcher.runs), list(matcher.pending), matcher.facts.copy()
        )

    def restore(self, matcher: Matcher) -> None:
        matcher.names, matcher.runs = dict(self.names), dict(self.runs)
        matcher.pending = list(self.pending)
        matcher.facts.atoms, matcher.facts.runs = self.facts.atoms, self.facts.runs


def _kind_fits(frame: Frame, declared: Declared, value: Value) -> bool:
    """Whether a value is of the kind that one option of a union declares."""
    if isinstance(value, (Tensor, OneOf)):
        return isinstance(declared, TensorDecl)
    content = frame.state.content(value)
    match declared:
        case AnyDecl():
            return isinstance(content, (ListContent, DictContent)) or isinstance(value, tuple)
        case TupleDecl(items=items) if isinstance(value, tuple):
            return items is None or len(items) == len(value)
        case ListDecl():
            return isinstance(content, ListContent)
        case DictDecl() | FieldsDecl():
            return isinstance(content, DictContent)
    return False


def message(
    frame: Frame,
    subject: str,
    found: Found,
    matcher: Matcher,
    text: str | None,
    blame: Blame = UNFIT,
) -> Message:
    """Return the message for what `check` found; `blame` says which annotation isn't kept."""
    misfit, tensor, declared = found
    assert misfit is not None and tensor is not None and declared is not None
    if misfit.expected == "dtype":
        actual, wanted = dtypes.describe(tensor.dtype), dtypes.describe(declared.dtype)
        text = f"{subject} is {actual}, declared {wanted}"
        return Message(text, "shape-dtype", blame=blame)
    assert declared.text is not None
    said = explain.boundary(
        subject,
        frame.state.facts.shape(tensor.shape),
        declared.text,
        misfit,
        text,
        frame.state.facts,
        matcher.names,
        matcher.evaluate,
        tensor.free,
    )
    return replace(said, blame=blame)


def declare_local(frame: Frame, declared: Declared, value: Value, node: ast.AnnAssign) -> Value:
    """Check a value against the annotation of the local it is assigned to, and learn from it.

    Names that no parameter has and this annotation was the first to bind are bound anew: in a loop,
    they are of another size each time.
    """
    matcher = frame.matcher
    for name in [name for name, first in frame.introduced.items() if first is node]:
        matcher.names.pop(name, None)
        matcher.runs.pop(name, None)
    known = {*matcher.names, *matcher.runs}
    taught = _declare_local(frame, declared, value, node)
    new = (name for name in (*matcher.names, *matcher.runs) if name not in known)
    frame.introduced.update(dict.fromkeys(new, node))
    return taught


def _declare_local(frame: Frame, declared: Declared, value: Value, node: ast.AnnAssign) -> Value:
    owner = "" if frame.function is None else frame.function.name
    blame = Blame("unfit", "local", owner, frame.segment(node.target))
    if isinstance(declared, TensorDecl):
        assert node.value is not None
        return teach(frame, declared, value, node.value, blame)
    if isinstance(declared, AnyDecl):
        return value
    if value is not UNKNOWN:
        assert node.value is not None
        matcher = frame.fit()
        found = check(frame, declared, value, matcher)
        if found[0] is None:
            return value
        subject = f'an item of "{_short(frame.segment(node.value))}"'
        frame.error(node.value, message(frame, subject, found, matcher, None, blame))
    return declare(frame, declared, frame.segment(node.target), frame.fit(), None)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def teach(
    frame: Frame,
    declared: TensorDecl,
    value: Value,
    node: ast.expr,
    blame: Blame = UNFIT,
) -> Value:
    """Check a tensor against an annotation; what was unknown takes the annotation."""
    if declared.text is None:
        return Tensor(Shape.unknown(), declared.dtype) if value is UNKNOWN else value
    matcher = frame.fit()
    _bind_objects(frame, declared, matcher, own=True)
    if not isinstance(value, Tensor):
        if value is not UNKNOWN:
            return value
        return Tensor(_build(frame, matcher, declared), declared.dtype)
    found = check(frame, declared, value, matcher)
    while found[0] is not None and _turns_out(frame, found[0]):
        found = check(frame, declared, value, matcher)
    misfit = found[0]
    if misfit is not None:
        subject = f'"{_short(frame.segment(node))}"'
        frame.error(node, message(frame, subject, found, matcher, frame.segment(node), blame))
        matcher.pending = []
        return Tensor(_build(frame, matcher, declared), declared.dtype)
    built = _build(frame, matcher, declared)
    known = frame.state.facts.shape(value.shape)
    if known.rank is None or built.rank is None:
        shape = built if known.rank is None else known
        return replace(value, shape=shape, dtype=value.dtype & declared.dtype, inserted=False)
    for item, new in zip(known.dims, built.dims, strict=True):
        _name(frame, item, new, matcher)
    shape = Shape(tuple(_taught(frame, item) for item in known.dims))
    return replace(value, shape=shape, dtype=value.dtype & declared.dtype, inserted=False)


def _turns_out(frame: Frame, misfit: Misfit) -> bool:
    """Whether a name that a local gave to what was unknown turns out to be another dimension's."""
    name, facts = dims.name(misfit.expected), frame.state.facts
    if misfit.expected not in frame.introduced or misfit.value != name or facts.dim(name) != name:
        return False
    symbol = name.symbol
    if symbol is None or not isinstance(misfit.actual, int | Size):
        return False
    facts.learn(symbol, misfit.actual)
    return True


def _build(frame: Frame, matcher: Matcher, declared: TensorDecl) -> Shape:
    """Return what a body's annotation says; in a call that is looked into, names are unknowns."""
    assert declared.text is not None
    if frame.depth:
        return matcher.build(declared.text, dims.unknown, _new_run)
    return matcher.build(declared.text, dims.name, lambda text: Run(Sym(text)))


def _name(frame: Frame, item: Item, new: Item, matcher: Matcher) -> None:
    """Call an unknown dimension by the new name that an annotation gives it."""
    if not isinstance(item, Size) or not isinstance(new, Size) or item is not new:
        return
    symbol = item.symbol
    if symbol is None or symbol.kind is not Kind.UNKNOWN or frame.depth:
        return
    for text, bound in list(matcher.names.items()):
        if bound == item:
            named = dims.name(text)
            matcher.names[text] = named
            frame.state.facts.learn(symbol, named)


def _taught(frame: Frame, item: Item) -> Item:
    if isinstance(item, Size) and (symbol := item.symbol) and symbol.kind is Kind.UNKNOWN:
        return frame.state.facts.dim(item)
    return item
