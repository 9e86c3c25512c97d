"""Where values meet annotations: parameters, arguments, results, annotated locals."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

import shapecheck.dims as dims
from shapecheck import dtypes, explain, hints
from shapecheck.analysis.annotations.declarations import speaks
from shapecheck.analysis.annotations.making import Making, Symbolic, bind_objects
from shapecheck.analysis.interpreter.batches import single
from shapecheck.analysis.interpreter.braces import sizes_over_keys
from shapecheck.analysis.interpreter.dict_contents import values
from shapecheck.analysis.interpreter.dtype_evidence import mind_declared
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.lost_names import where_lost
from shapecheck.analysis.program.declared import (
    AnyDecl,
    ArrayDecl,
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
    alternatives,
)
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import (
    Array,
    ByName,
    DictContent,
    ListContent,
    OneOf,
    options,
    tensor_of,
)
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.analysis.values.paths import AccessPath
from shapecheck.blame import UNFIT, Blame
from shapecheck.dims import Kind, Size, Sym, symbol_of
from shapecheck.explain import Message
from shapecheck.hints import Wanted
from shapecheck.ops import UNKNOWN, Unknown
from shapecheck.shapes import CertainFacts, Item, Matcher, Misfit, Run, Shape, Tensor
from shapecheck.spec import Spec


def declare(
    frame: Frame,
    declared: Declared,
    path: AccessPath,
    matcher: Matcher,
    name: Symbolic | None = dims.name,
    run: Callable[[str], Item] | None = None,
    calling: bool = False,
) -> Value:
    """Return the value of which only its annotation is known.

    `path` names it in the sizes that are its own; `name` and `run` make the dimensions of names
    that aren't bound yet (None: unknown ones). `calling`: axes without names are called by these.
    """
    if run is None:
        run = _new_run if name is None else _named_run
    making = Making(frame.state, frame.program.table, frame.dims, matcher, name, run, calling)
    return making.value(declared, path)


def given_back(
    frame: Frame,
    result: Declared,
    given: Iterable[tuple[Declared, Value]],
    label: str,
    matcher: Matcher,
    calling: bool = False,
) -> Value:
    """Return what a function gives of which nothing but its annotations is known.

    What is written for one number, `Callable[[float], float]`, is called with many, too, and then
    says nothing of what it gives.
    """
    if any(_is_number(declared) and _is_array(value) for declared, value in given) and not speaks(
        result
    ):
        return UNKNOWN
    return declare(frame, result, label, matcher, None, calling=calling)


def _is_number(declared: Declared) -> bool:
    return all(isinstance(one, (ScalarDecl, NoneDecl)) for one in alternatives(declared))


def _is_array(value: Value) -> bool:
    """Whether a value may be a tensor, or array, that has axes."""
    held = (one.tensor if isinstance(one, Array) else one for one in options(value))
    return any(isinstance(one, Tensor) and one.shape.rank != 0 for one in held)


def _new_run(name: str) -> Item:
    return Run(Sym.fresh(name))


def _named_run(name: str) -> Item:
    return Run(Sym(name))


# Whether a value fits ----------------------------------------------------------------------------

Found: TypeAlias = tuple[Misfit | None, Tensor | None, TensorDecl | None]
"""What doesn't fit, the tensor that doesn't, and the annotation that it doesn't fit."""

_FITS: Final[Found] = (None, None, None)
_VIEW: Final = "view"
"""What a misfit expects where a tensor by name is in the place of a plain one."""

D = TypeVar("D", bound=Declared)
_Check: TypeAlias = Callable[[Frame, D, Value, Matcher], Found]
CHECKS: Final[dict[type, Callable[..., Found]]] = {}
"""What fits a value to a declaration, by the kind that is declared."""


def _checks(kind: type[D]) -> Callable[[_Check[D]], _Check[D]]:
    """Register what fits values to a declared kind."""

    def register(check: _Check[D]) -> _Check[D]:
        CHECKS[kind] = check
        return check

    return register


def check(frame: Frame, declared: Declared, value: Value, matcher: Matcher) -> Found:
    """Fit a value to a declaration, binding its names."""
    return CHECKS[type(declared)](frame, declared, value, matcher)


def _check_each(frame: Frame, pairs: Iterable[tuple[Declared, Value]], matcher: Matcher) -> Found:
    for declared, value in pairs:
        found = check(frame, declared, value, matcher)
        if found[0] is not None:
            return found
    return _FITS


def _holds_no_shape(frame: Frame, declared: Declared, value: Value, matcher: Matcher) -> Found:
    """Let any value pass: that it is of another type is mypy's own to say."""
    return _FITS


_WITHOUT_SHAPE: Final = (ScalarDecl, NoneDecl, AnyDecl, CallableDecl, ClassDecl, ModuleDecl)
CHECKS.update(dict.fromkeys(_WITHOUT_SHAPE, _holds_no_shape))


@_checks(TensorDecl)
def _check_tensor(frame: Frame, declared: TensorDecl, value: Value, matcher: Matcher) -> Found:
    bind_objects(declared, matcher, frame.dims)
    tensor = tensor_of(value)
    mind_declared(frame, declared.dtype, tensor)
    if tensor is None:
        if isinstance(value, ByName) and declared.text is not None:
            return Misfit(None, _VIEW), value.tensor, declared
        if value is UNKNOWN and declared.text is not None:
            matcher.loosen(declared.text)
        return _FITS
    if not tensor.dtype & declared.dtype:
        return Misfit(None, "dtype"), tensor, declared
    if declared.text is None:
        return _FITS
    alone = single(frame, tensor)
    before = None if alone is tensor else _bindings(matcher)
    misfit = _misfit(declared.text, tensor.shape, matcher)
    if misfit is not None and before is not None:
        _restore(matcher, before)
        if _misfit(declared.text, alone.shape, matcher) is None:
            return None, alone, declared
        _restore(matcher, before)
    return misfit, tensor, declared


def _misfit(text: Spec, shape: Shape, matcher: Matcher) -> Misfit | None:
    """Return where a shape doesn't fit an annotation, which then binds none of its names."""
    matcher.beside = (shape,)
    names, runs = dict(matcher.names), dict(matcher.runs)
    misfit = matcher.match(text, shape) or matcher.settle()
    if misfit is not None:
        matcher.names, matcher.runs = names, runs
    return misfit


@_checks(ArrayDecl)
def _check_array(frame: Frame, declared: ArrayDecl, value: Value, matcher: Matcher) -> Found:
    match [option for option in options(value) if option is not None]:
        case [Array(tensor=tensor)]:
            return check(frame, declared.tensor, tensor, matcher)
        case [Unknown()]:
            return check(frame, declared.tensor, UNKNOWN, matcher)
    return _FITS


@_checks(ListDecl)
def _check_list(frame: Frame, declared: ListDecl, value: Value, matcher: Matcher) -> Found:
    return _check_elements(frame, declared.element, value, matcher)


@_checks(TupleDecl)
def _check_tuple(frame: Frame, declared: TupleDecl, value: Value, matcher: Matcher) -> Found:
    match declared.items, value:
        case None, _:
            return _check_elements(frame, declared.element, value, matcher)
        case tuple(items), tuple() if len(items) == len(value):
            return _check_each(frame, zip(items, value, strict=True), matcher)
    return _FITS


def _check_elements(frame: Frame, element: Declared, value: Value, matcher: Matcher) -> Found:
    if isinstance(value, Tensor):
        return _FITS
    known, any_item = iterate(frame, value)
    each = known if known is not None else (any_item,)
    return _check_each(frame, ((element, item) for item in each), matcher)


@_checks(DictDecl)
def _check_dict(frame: Frame, declared: DictDecl, value: Value, matcher: Matcher) -> Found:
    content = frame.state.dict_of(value)
    held = values(content) if content is not None else ()
    return _check_each(frame, ((declared.value, one) for one in held), matcher)


@_checks(FieldsDecl)
def _check_fields(frame: Frame, declared: FieldsDecl, value: Value, matcher: Matcher) -> Found:
    content = frame.state.dict_of(value)
    given = (content.items if content is not None else None) or {}
    # the names in a TypedDict are its own
    own = Matcher(matcher.facts, sizes_over_keys(frame, given))
    pairs = ((kind, given[key]) for key, kind in declared.fields if key in given)
    return _check_each(frame, pairs, own)


@_checks(UnionDecl)
def _check_union(frame: Frame, declared: UnionDecl, value: Value, matcher: Matcher) -> Found:
    """Fit a value to one of several declarations; a branch that fails leaves no binding behind."""
    if isinstance(value, VALUES[TensorDecl]):
        if any(option.admits_tensors for option in declared.options):
            return _FITS
    if isinstance(value, ByName):
        tensors = [one for one in declared.options if not isinstance(one, NoneDecl)]
        if all(isinstance(option, TensorDecl) for option in tensors):
            return check(frame, tensors[0], value, matcher)
        return _FITS
    worst = _FITS
    before = _bindings(matcher)
    fitting: list[Matcher] = []
    for option in declared.options:
        if not _is_of_kind(frame, option, value):
            continue
        _restore(matcher, before)
        found = check(frame, option, value, matcher)
        if found[0] is None:
            fitting.append(_bindings(matcher))
        elif worst[0] is None or (worst[0].axis is None and found[0].axis is not None):
            worst = found
    if len(fitting) == 1:
        _restore(matcher, fitting[0])
        return _FITS
    _restore(matcher, before)
    if not fitting:
        return worst
    for name, bound in fitting[0].names.items():
        if all(other.names.get(name) == bound for other in fitting):
            matcher.names[name] = bound
    return _FITS


def _bindings(matcher: Matcher) -> Matcher:
    """Return a copy with what a matcher has bound, learned and left open at a point."""
    return replace(
        matcher,
        names=dict(matcher.names),
        runs=dict(matcher.runs),
        pending=list(matcher.pending),
        facts=matcher.facts.copy(),
    )


def _restore(matcher: Matcher, kept: Matcher) -> None:
    matcher.names, matcher.runs = dict(kept.names), dict(kept.runs)
    matcher.pending = list(kept.pending)
    matcher.facts.atoms, matcher.facts.runs = kept.facts.atoms, kept.facts.runs


VALUES: Final[Mapping[type[Declared], tuple[type, ...]]] = {
    TensorDecl: (Tensor, OneOf),
    ArrayDecl: (Array, OneOf),
    ListDecl: (ListContent,),
    TupleDecl: (tuple,),
    DictDecl: (DictContent,),
    FieldsDecl: (DictContent,),
    AnyDecl: (ListContent, DictContent, tuple),
    **dict.fromkeys((ScalarDecl, NoneDecl, CallableDecl, ClassDecl, ModuleDecl, UnionDecl), ()),
}
"""The values, or contents of the heap, that a kind is about as one option of a union."""


def _is_of_kind(frame: Frame, declared: Declared, value: Value) -> bool:
    """Whether a value is of the kind that one option of a union declares."""
    content = frame.state.content(value)
    if not isinstance(value if content is None else content, VALUES[type(declared)]):
        return False
    match declared, value:
        case TupleDecl(items=tuple(items)), tuple():
            return len(items) == len(value)
    return True


def spoken(frame: Frame, value: Value, subject: str, text: str | None) -> tuple[str, str | None]:
    """Return what a value is called, and its source text, so as to speak of what doesn't fit in it.

    Of a list or a dict that is one of its items, which has no text of its own.
    """
    if isinstance(value, tuple) or frame.state.content(value) is not None:
        return f"an item of {subject}", None
    return subject, text


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
        actual, wanted = dtypes.describe(tensor.dtype), dtypes.declared(declared.dtype)
        text = f"{subject} is {actual}, declared {wanted}"
        return Message(text, "shape-dtype", blame=blame)
    assert declared.text is not None
    if misfit.expected == _VIEW:
        said = f'{subject} is NamedTensor, declared a tensor "{declared.text}"; write .tensor'
        return Message(said, blame=blame)
    told = explain.boundary(
        subject,
        frame.state.facts.shape(tensor.shape),
        declared.text,
        misfit,
        text,
        frame.state.facts,
        matcher.names,
        matcher.evaluate,
        tensor.free,
        same_names=blame.part in ("result", "yielded", "local"),
    )
    numbers = numbers_in(tensor, misfit.actual, misfit.value)
    return replace(told, blame=blame, numbers=numbers)


def wanted(frame: Frame, declared: Declared) -> Wanted | None:
    """Return what says whether a tensor certainly is what is declared; None where no shape is."""
    match declared:
        case TensorDecl(text=text) if text is not None:

            def fits(tensor: Tensor) -> bool:
                facts = CertainFacts.of(frame.state.facts)
                return hints.fits(
                    text, tensor.shape, frame.matcher.names, frame.matcher.evaluate, facts
                )

            return fits
    return None


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
    assert node.value is not None
    match declared:
        case TensorDecl():
            return teach(frame, declared, value, node.value, blame, promises=frame.promised)
        case ArrayDecl(tensor=inner) if isinstance(value, (Array, Unknown)):
            known = value.tensor if isinstance(value, Array) else UNKNOWN
            taught = teach(frame, inner, known, node.value, blame, promises=frame.promised)
            return Array(taught) if isinstance(taught, Tensor) else taught
        case AnyDecl() | ArrayDecl():
            return value
    if value is not UNKNOWN:
        matcher = frame.fit(promises=frame.promised)
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
    promises: Collection[str] | None = None,
) -> Value:
    """Check a tensor against an annotation; what was unknown takes the annotation.

    `promises`: see `Matcher`.
    """
    if declared.text is None:
        return Tensor(Shape.unknown(), declared.dtype) if value is UNKNOWN else value
    matcher = frame.fit(promises=promises)
    bind_objects(declared, matcher, frame.dims, own=True)
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
        said = message(frame, subject, found, matcher, frame.segment(node), blame)
        if promises is not None:
            said = replace(said, notes=(*where_lost(frame, node, value, misfit), *said.notes))
        frame.error(node, said)
        matcher.pending = []
        if frame.caught:  # nothing takes what an error keeps the program from
            return value
        return Tensor(_build(frame, matcher, declared), declared.dtype)
    built = _build(frame, matcher, declared)
    known = frame.state.facts.shape(value.shape)
    if known.rank is None or known.rank != built.rank:
        # Where both have a rank, it was supposed to be a batch and is a single item.
        shape = known if known.rank is not None and built.rank is None else built
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
    match name.symbol, misfit.actual:
        case Sym() as symbol, (int() | Size()) as actual:
            facts.learn(symbol, actual)
            return True
    return False


def _build(frame: Frame, matcher: Matcher, declared: TensorDecl) -> Shape:
    """Return what a body's annotation says; in a call that is looked into, names are unknowns."""
    assert declared.text is not None
    if frame.depth:
        return matcher.build(declared.text, dims.unknown, _new_run)
    return matcher.build(declared.text, dims.name, _named_run)


def _name(frame: Frame, item: Item, new: Item, matcher: Matcher) -> None:
    """Call an unknown dimension by the new name that an annotation gives it."""
    symbol = symbol_of(item)
    if item is not new or symbol is None or symbol.kind is not Kind.UNKNOWN or frame.depth:
        return
    for text, bound in list(matcher.names.items()):
        if bound == item:
            named = dims.name(text)
            matcher.names[text] = named
            frame.state.facts.learn(symbol, named)


def _taught(frame: Frame, item: Item) -> Item:
    match item:
        case Size(symbol=Sym(kind=Kind.UNKNOWN)):
            return frame.state.facts.dim(item)
    return item
