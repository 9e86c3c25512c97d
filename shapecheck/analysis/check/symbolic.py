"""Instances of which only the class is known, for the check of its methods by themselves."""

from __future__ import annotations

import ast
import json
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.classes import defaults, find_method
from shapecheck.analysis.annotations.construction import (
    assigned,
    begun_at_zero,
    given_in_module,
    is_always_given,
    is_builder,
)
from shapecheck.analysis.check.size_evidence import (
    configurations_of,
    handed_to_layers,
    of_several_types,
    sizes_of,
)
from shapecheck.analysis.interpreter import body, first_class
from shapecheck.analysis.interpreter.chosen_alike import made_by
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.summaries import view
from shapecheck.analysis.kinds.construct import tell
from shapecheck.analysis.kinds.instances import is_changing, is_waiting
from shapecheck.analysis.kinds.module_children import LAYER, layer_class
from shapecheck.analysis.program.answers import Likeness, Told
from shapecheck.analysis.program.asking import asks, written
from shapecheck.analysis.program.declared import (
    AnyDecl,
    Declared,
    NoneDecl,
    ScalarDecl,
    UnionDecl,
)
from shapecheck.analysis.program.model import Class, Function, Value, literal
from shapecheck.analysis.program.modules import Program
from shapecheck.analysis.program.reading import digest
from shapecheck.analysis.program.syntax import elements, is_def
from shapecheck.analysis.values.heap import Renewing, inside, unknowns
from shapecheck.analysis.values.model import (
    Instance,
    OpInstance,
    Path,
    Ref,
    names_of,
    own_size,
)
from shapecheck.analysis.values.state import State
from shapecheck.analysis.values.written import Reader, Unwritable, Writer, Written
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only


def instance(
    cls: Class, path: str, alike: bool = True, by_default: bool = False
) -> tuple[State, Ref]:
    """Return a state with an instance of a class of which only the class is known.

    Its `__init__` is run with symbols for the arguments: ints are sizes of its own. With `alike`,
    two of them are the same where all calls in the module say so; `by_default` flags are what they
    are where nobody passes them.
    """
    question = ("symbolic", cls, path, alike, by_default)
    made = cls.module.recall(
        question,
        lambda: _symbolic(cls, path, alike=alike, by_default=by_default),
        _Symbolic(State(), Ref()),
        _BY_SIGHT,
        telling=_telling(cls, path, alike, by_default),
    )
    state = made.state.copy()
    if made.has_anonymous:
        state.change(Renewing({}, lambda symbol: not symbol.is_anonymous))
    return state, made.ref


def _telling(cls: Class, path: str, alike: bool, by_default: bool) -> _Telling | None:
    """Return what tells other processes of an instance of a class; None where they can't be."""
    if not cls.module.program.memory.tells:
        return None
    writer = Writer()
    try:
        return _Telling(writer, written("instance", writer.value(cls), path, alike, by_default))
    except Unwritable:
        return None


class _Telling:
    """Tells other processes of an instance of which only the class is known."""

    def __init__(self, writer: Writer, question: str) -> None:
        self._writer, self._question = writer, question

    def told(self, found: _Symbolic, is_limited: bool) -> Told | None:
        """Return what they are told."""
        state, writer = found.state, self._writer
        try:
            ref = writer.value(found.ref)
            parts = ref, writer.heap(state.heap), writer.facts(state.facts), found.has_anonymous
            return Told(self._question, digest(json.dumps(parts)), None)
        except (Unwritable, ValueError, RecursionError):
            return None


@asks("instance")
def _ask(program: Program, parts: list[Written]) -> None:
    """Make an instance again as another process has made it; raises ValueError for a wrong one."""
    of, path, *flags = parts
    cls = Reader(program).value(of)
    if not (isinstance(cls, Class) and isinstance(path, str)):
        raise ValueError("not an instance")
    instance(cls, path, *map(bool, flags))


def changed_by_flags(cls: Class) -> frozenset[str]:
    """Return the attributes of an instance that flags, as they are by default, make others."""
    return cls.module.recall(
        ("changed by flags", cls), lambda: _changed_by_flags(cls), frozenset[str]()
    )


def _changed_by_flags(cls: Class) -> frozenset[str]:
    seen = []
    for by_default in (False, True):
        state, ref = instance(cls, "self", by_default=by_default)
        content = state.instance_of(ref)
        attrs = {} if content is None else content.attrs
        seen.append({name: _seen(value, state) for name, value in attrs.items()})
    known, told = seen
    return frozenset(
        name
        for name in known.keys() | told.keys()
        if known.get(name) is None or known.get(name) != told.get(name)
    )


def _seen(value: Value, state: State) -> Hashable:
    """Return what is seen of a value; None where that can't be told."""
    found = view((value,), state.heap, state.facts)
    return None if found is None else found.key


@dataclass(frozen=True, slots=True)
class _Symbolic:
    """A symbolic instance: the state that it is in, and itself.

    `has_anonymous`: there are unknowns in it that get called after variables.
    """

    state: State
    ref: Ref
    has_anonymous: bool = False

    def seen(self) -> Hashable:
        """Return what a method sees of it; None where that can't be told."""
        found = view((self.ref,), self.state.heap, self.state.facts, self.has_anonymous)
        return None if found is None else found.key


class _BySight(Likeness):
    """Whether the methods of a class begin with the same."""

    def are_alike(self, one: _Symbolic, other: _Symbolic) -> bool:
        seen = one.seen()
        return seen is not None and seen == other.seen()


_BY_SIGHT: Final = _BySight()


def check_init(cls: Class) -> None:
    """Check the `__init__` that a class defines itself; what is found out is `instance`'s."""
    question, home = ("symbolic", cls, "self", True, False), cls.module.name
    memory = cls.module.program.memory
    again = lambda: _symbolic(cls, "self")  # noqa: E731
    telling = _telling(cls, "self", alike=True, by_default=False)
    with memory.answering(
        question, home=home, again=again, likeness=_BY_SIGHT, telling=telling
    ) as keep:
        keep(_symbolic(cls, "self", quiet=False))


def begin(state: State, ref: Ref, function: Function) -> None:
    """Let a method be checked on its instance: one that builds it finds only its fields."""
    content = state.instance_of(ref)
    if content is not None and is_builder(content.cls, function.name):
        state.put(ref, replace(content, fresh=False))


def start(
    function: Function,
    owner: Class | None,
    around: State | None,
    alike: bool = True,
    by_default: bool = False,
) -> tuple[State, dict[str, Value]]:
    """Return the state in which a function's body begins, and the value of its `self`.

    `alike` and `by_default` are as for `instance`.
    """
    node = function.node
    if around is not None and owner is None:
        return State(heap=dict(around.heap), facts=around.facts.copy()), {}
    if owner is None or not is_def(node) or not node.args.args:
        return State(), {}
    kinds = set(declarations.decorator_names(function.module, node))
    first = node.args.args[0].arg
    if "builtins.staticmethod" in kinds:
        return State(), {}
    if "builtins.classmethod" in kinds:
        return State(), {first: owner}
    state, ref = instance(owner, "self", alike, by_default)
    begin(state, ref, function)
    return state, {first: ref}


def flags(cls: Class) -> dict[str, ast.expr]:
    """Return the flags that the constructor of a class has, with their defaults.

    No annotation says anything of them but that they are ratios, or sizes that may be left out;
    nor does their use say that they are sizes. And more is done with them than to hand them to
    layers, as with `nn.Dropout(drop)`. A list of numbers is one.
    """
    return cls.module.recall(("flags", cls), lambda: _flags(cls), dict[str, ast.expr]())


def _flags(cls: Class) -> dict[str, ast.expr]:
    init = find_method(cls, "__init__")
    if init is None:
        return {}
    params = [one for one in declarations.declaration(init).params if one.default is not None]
    bare = {one.name for one in params if isinstance(one.declared, AnyDecl)}
    sizes = sizes_of(init) if bare else set[str]()
    handed = handed_to_layers(init)
    found: dict[str, ast.expr] = {}
    for param in params:
        default = param.default
        assert default is not None
        if param.name in sizes and literal(default) not in (0, None):
            continue  # -1 stands for no size at all
        is_bare = param.name in bare
        is_single = _is_plain(default) and param.name not in handed
        if is_single and not is_always_given(init, param.name):
            if is_bare or _is_calculated_with(param.declared):
                found[param.name] = default
        elif is_bare and _lists_numbers(default):
            found[param.name] = default
    return found


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression is a constant, or is calculated of some: `1 / 16`."""
    match node:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) and _is_plain(right)
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
    return False


def _lists_numbers(node: ast.expr) -> bool:
    """Whether an expression spells out numbers of things, `[64, 128, 256]`."""
    items = elements(node)
    return bool(items) and all(_is_number_of_things(item) for item in items or ())


def _is_number_of_things(node: ast.expr) -> bool:
    given = literal(node)
    return type(given) is int and given > 0


def _symbolic(
    cls: Class, path: str, quiet: bool = True, alike: bool = True, by_default: bool = False
) -> _Symbolic:
    state = State()
    ref = state.new(Instance(cls, {}, path, whole=True, fresh=True, defaults=defaults(cls)))
    init = find_method(cls, "__init__")
    if init is None:
        if (layer := layer_class(cls)) is not None:
            state.set_attribute(ref, LAYER, OpInstance(layer, layer.unknown()))
        return _Symbolic(state, ref)
    for one, same in _given_alike(cls, init) if alike else ():
        if one.atom is not None:
            state.facts.learn(one.atom, same)
    itself: dict[str, Value] = {one.arg: ref for one in declarations.arguments_of(init.node)[:1]}
    values = {**_supposed(init), **(_defaults(cls, init, state) if by_default else {}), **itself}
    frame = body.check_body(init, state, values, quiet=quiet)
    ends = [*(end for _, end in frame.returns), *([frame.state] if frame.alive else [])]
    end = ends[0] if ends else state
    for other in ends[1:]:
        end = end.join(other)
    forget_changing(end)
    first_class.forget(end.facts)
    tell(Frame(cls.module, end), ref)
    end.vars, end.since = {}, {}
    end.facts.under_unknown_condition = False
    end.adopt(names_of(path, "fields"))
    end.facts.features = _features(end, ref, init)
    held = (value for content in end.heap.values() for value in inside(content))
    return _Symbolic(end, ref, any(s.is_anonymous for v in held for s in unknowns(v)))


def _features(state: State, ref: Ref, init: Function) -> frozenset[Sym]:
    """Return the sizes that layers give which a constructor makes under no condition."""
    content = state.instance_of(ref)
    if content is None or not is_def(init.node):
        return frozenset()
    targets = (one.targets for one in only(init.node.body, ast.Assign))
    always = {one.attr for several in targets for one in only(several, ast.Attribute)}
    layers = only((content.attrs.get(name) for name in always), OpInstance)
    sizes = (size for layer in layers for size in made_by(layer))
    return frozenset(size.symbol for size in sizes if size.symbol is not None)


def _defaults(cls: Class, init: Function, state: State) -> dict[str, Value]:
    """Return what flags are where nobody passes them, and what is 1: a multiple of a size is it."""
    frame = Frame(cls.module, state, quiet=True)
    given = {param.name: literal(param.default) for param in declarations.declaration(init).params}
    ones = {name: one for name, one in given.items() if type(one) is int and one == 1}
    return {**ones, **{name: frame.eval(node) for name, node in flags(cls).items()}}


def _supposed(init: Function) -> dict[str, Value]:
    """Return what parameters without annotation hold: sizes, where they are used as such.

    Where the program is to suppose it, all are that may be. One that may be left out is given;
    where it is left out, the others are what they are by default, too.
    """
    arguments = declarations.arguments_of(init.node)
    bare = {one.arg for one in arguments[1:] if one.annotation is None}
    configurations = set[str]()
    if bare and init.module.program.supposing:
        bare -= of_several_types(init)
    elif bare:
        configurations = bare & configurations_of(init)
        bare = configurations | (bare & sizes_of(init))
    found: dict[str, Value] = {}
    for param in declarations.declaration(init).params:
        default = param.default
        if param.name in bare and default is None:
            found[param.name] = Path(param.name, may_agree=param.name in configurations)
        elif param.name in bare and type(literal(default)) is int:
            found[param.name] = own_size(param.name, literal(default))
        elif literal(default) is None and (param.name in bare or _may_be_left_out(param.declared)):
            found[param.name] = own_size(param.name, None)
    return found


def _is_calculated_with(declared: Declared) -> bool:
    """Whether a type is that of what sizes are made with: a ratio, a flag, or a size or None."""
    return declared in (ScalarDecl("float"), ScalarDecl("bool")) or _may_be_left_out(declared)


def _may_be_left_out(declared: Declared) -> bool:
    """Whether a type is that of a size or None."""
    match declared:
        case UnionDecl(options=options):
            return {*options} == {ScalarDecl("int"), NoneDecl()}
    return False


def _given_alike(cls: Class, init: Function) -> list[tuple[Size, Size]]:
    """Return the sizes of a constructor that every call in its module gives one expression.

    Or two that the module asserts to be equal.
    """
    asserted = cls.module.syntax.equated(cls.name)
    params = {param.name: param for param in declarations.declaration(init).params[1:]}
    pairs: set[tuple[str, str]] | None = None
    for given in given_in_module(cls, init):
        texts = {n: ast.dump(v) for n, v in given.items() if literal(v) is UNKNOWN}
        alike = {
            (a, b)
            for a in texts
            for b in texts
            if a < b and (texts[a] == texts[b] or frozenset((texts[a], texts[b])) in asserted)
        }
        pairs = alike if pairs is None else pairs & alike

    def size(name: str) -> Size:
        return own_size(name, literal(params[name].default))

    return [(size(one), size(other)) for one, other in sorted(pairs or ())]


def forget_changing(state: State) -> None:
    """Give up on attributes that methods other than those of the construction assign.

    That goes for what the constructor makes as well, as a buffer that is filled later. A layer that
    another one takes the place of has to work before that, too. An attribute that is set to 0 waits
    for a number of a derived class.
    """
    for ref, content in [*state.heap.items()]:
        if is_waiting(content):
            state.put(ref, None)  # wherever it lies: `{"hits": []}`
        if not isinstance(content, Instance):
            continue
        changing = assigned(content.cls)
        zeros = {name for name, value in content.attrs.items() if type(value) is int and not value}
        waiting = zeros & begun_at_zero(content.cls) if zeros else zeros
        attrs = {
            name: value
            for name, value in content.attrs.items()
            if name not in waiting and not is_changing(state, changing, name, value)
        }
        state.put(ref, replace(content, attrs=attrs, whole=False))
