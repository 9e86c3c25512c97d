"""Which parameters without annotation are tensors: what their use in the body shows."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Protocol

from shapecheck.analysis.annotations import classes, declarations
from shapecheck.analysis.check.ahead import ahead, unannotated
from shapecheck.analysis.check.symbolic import instance, start
from shapecheck.analysis.interpreter.shown_by_use import (
    has_one_kind_of_arrays,
    never_tensors,
    takes,
)
from shapecheck.analysis.program.declared import TensorDecl
from shapecheck.analysis.program.model import (
    Class,
    Dotted,
    Function,
    ModuleRef,
    Value,
    dotted,
    literal,
)
from shapecheck.analysis.program.syntax import (
    elements,
    given_to,
    is_none,
    kept_by_node,
    name_of,
    nodes_of,
    text_of,
    words_in,
)
from shapecheck.analysis.values.model import Bound, OpInstance, Ref
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Tensor
from shapecheck.signatures import Signature
from shapecheck.signatures.model import Param


class Seen(Protocol):
    """What is known of a function where its parameters are looked for: what they are, and more.

    `values` are what expressions of its body are worth, `params` what its parameters are.
    """

    @property
    def function(self) -> Function:
        """The function."""

    @property
    def params(self) -> Mapping[str, Value]:
        """What is known of its parameters."""

    @property
    def values(self) -> Mapping[ast.expr, Value]:
        """What its expressions are worth."""

    @property
    def nodes(self) -> Sequence[ast.AST]:
        """The nodes of its syntax."""


_FIRST: Final = frozenset(
    "input input1 tensor tensors tensors_and_pattern operands condition sorted_sequence anchor "
    "log_probs".split()
)
"""What signatures call an argument that is a tensor, or several, and never a size."""
_DEEPEST: Final = 16
"""Through so many calls a parameter is followed to see whether it is a tensor."""


def shown(
    function: Function,
    owner: Class | None,
    seen: Seen,
    counted: bool = True,
    arrays: bool = False,
) -> set[str]:
    """Return the parameters without annotation that their use shows to be tensors.

    `counted`: what is added to a tensor is one. It may be a number as well. `arrays`: what only
    arrays have shows one, too, where a module knows those of no other library.
    """
    candidates = {name for name in untold(function) if not _is_object(seen.params.get(name))}
    if not candidates or not seen.nodes:
        return set()
    told_by = {"telling"}
    if owner is not None and classes.is_module(owner) and function.name != "__init__":
        told_by.add("shared")
    if arrays and has_one_kind_of_arrays(function):
        told_by.add("arraylike")
    found: set[str] = set()
    others = _other_names(function.node, candidates)
    names = candidates | others.keys()
    made = _made_of_others(function.node, candidates, seen)
    kinds = (ast.Attribute, ast.Call, ast.BinOp)
    for node in (one for kind in kinds for one in nodes_of(kind, function.node)):
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) if not counted:
                continue
        for name in _tensors_in(node, seen, told_by, names):
            meant = {one.meant(node) for one in others.get(name, ())} if name in others else {name}
            line = getattr(node, "lineno", 0)
            found |= {one for one in meant if one not in made or line <= made[one]}
    return (found & candidates) - never_tensors(function)


def _made_of_others(function: ast.AST, params: Set[str], seen: Seen) -> dict[str, int]:
    """Return the lines behind which parameters are what something else makes of them.

    `x = torch.as_tensor(x)`, `x, mask = x`: what is done with it then says nothing of what was
    given.
    """
    found: dict[str, int] = {}
    for node in nodes_of(ast.Assign, function):
        match node:
            case ast.Assign(targets=[target], value=ast.Name(id=name), lineno=line):
                items = elements(target) or ()
                if name in params and any(name_of(item) == name for item in items):
                    found[name] = min(line, found.get(name, line))
            case ast.Assign(targets=[ast.Name(id=name)], value=value, lineno=line):
                call = _made_by(value)
                if call is None:
                    continue
                given = (*call.args, *(word.value for word in call.keywords))
                is_given = any(isinstance(one, ast.Name) and one.id == name for one in given)
                is_known = seen.values.get(call.func, UNKNOWN) is not UNKNOWN
                if (
                    name in params
                    and is_given
                    and is_known
                    and name not in set(_handed_over(call, seen))
                ):
                    found[name] = min(line, found.get(name, line))
    return found


def _made_by(node: ast.expr) -> ast.Call | None:
    """Return the call that `torch.tensor(x).unsqueeze(0)[:, None]` begins with; None for others."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() | ast.Subscript() as first)):
            return _made_by(first)
        case ast.Subscript(value=first):
            return _made_by(first)
        case ast.Call():
            return node
    return None


@dataclass(frozen=True, slots=True)
class _OtherName:
    """Another name of a parameter, `h = x`, on these lines: until it is something else."""

    param: str
    first: int
    last: float

    def meant(self, node: ast.AST) -> str:
        """Return the parameter where a node means it by that name, else ''."""
        return self.param if self.first < getattr(node, "lineno", 0) <= self.last else ""


def _other_names(function: ast.AST, params: Set[str]) -> dict[str, list[_OtherName]]:
    """Return the other names of parameters that are given to them in the order of the lines."""
    stored: dict[str, list[int]] = {}
    for one in nodes_of(ast.Name, function):
        if not isinstance(one.ctx, ast.Load):
            stored.setdefault(one.id, []).append(one.lineno)
    found: dict[str, list[_OtherName]] = {}
    for node in nodes_of(ast.Assign, function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=param), lineno=line):
                lines = stored[name]
                is_param = param in params and all(one >= line for one in stored.get(param, ()))
                if is_param and name not in params and line == min(lines):
                    last = min((one for one in lines if one > line), default=math.inf)
                    found.setdefault(name, []).append(_OtherName(param, line, last))
    loops = [one for one in _loops(function) if one[1] in params and one[0] not in params]
    asked = {*_told_apart(function), *_asked_for_none(function)} if loops else set[str]()
    for name, given, loop in loops:
        if name not in asked and all(one >= loop.lineno for one in stored.get(given, ())):
            last = loop.end_lineno or loop.lineno
            found.setdefault(name, []).append(_OtherName(given, loop.lineno - 1, last))
    return found


def _loops(function: ast.AST) -> Iterator[tuple[str, str, ast.For | ast.expr]]:
    """Yield the variables of loops over variables that stand there, each with one and the loop.

    `for layer, x in zip(self.layers, (query, key, value))`
    """
    for loop in nodes_of(ast.For, function):
        for name, given in _paired(loop.target, loop.iter):
            yield name, given, loop
    built: list[ast.ListComp | ast.GeneratorExp] = [*nodes_of(ast.ListComp, function)]
    built += nodes_of(ast.GeneratorExp, function)
    for made in built:
        for part in made.generators:
            for name, given in _paired(part.target, part.iter):
                yield name, given, made


def _paired(target: ast.expr, values: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield the variables of a loop with those that it takes one after the other."""
    match target, values:
        case ast.Name(id=name), ast.Tuple(elts=items) | ast.List(elts=items):
            yield from ((name, item.id) for item in only(items, ast.Name))
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=parts):
            for one, part in zip(targets, parts, strict=False):
                yield from _paired(one, part)
        case ast.Tuple(elts=[_, one]), ast.Call(func=ast.Name(id="enumerate"), args=[part, *_]):
            yield from _paired(one, part)


def untold(function: Function) -> set[str]:
    """Return the parameters without annotation that may be tensors."""
    found = {
        param.name
        for param in unannotated(function)
        if param.default is None or is_none(param.default)
    }
    return found - set(_told_apart(function.node)) if found else found


def shown_sizes(function: Function, seen: Seen) -> set[str]:
    """Return the parameters without annotation that their use shows to be ints.

    One of several sizes is, what a size is divided by, and a number of things, as the steps of
    `torch.linspace`; a size alone may be several.
    """
    candidates = {
        param.name
        for param in unannotated(function)
        if _is_int(param.default) and seen.params.get(param.name, UNKNOWN) is UNKNOWN
    }
    if not candidates or not seen.nodes:
        return set()
    found: set[str] = set()
    for node in (*nodes_of(ast.Call, function.node), *nodes_of(ast.BinOp, function.node)):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args):
                if _takes_sizes(name, receiver, seen):
                    found |= _sizes_among(name, args)
                found |= _counts(node, seen)
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod(), right=ast.Name(id=name)):
                if isinstance(seen.values.get(left), Size):
                    found.add(name)
    return found & candidates


def _is_int(default: ast.expr | None) -> bool:
    """Whether there is no default, or a number of things."""
    given = literal(default)
    return default is None or (type(given) is int and given > 0)


def _is_object(value: Value) -> bool:
    return isinstance(value, (Ref, Class))


def _sizes_among(name: str, args: Sequence[ast.expr]) -> set[str]:
    """Return the variables that are one of several sizes which a method of this name is given."""
    first = elements(args[0]) if args else None
    loose = args if name not in ("full", "repeat") and len(args) > 1 else ()
    return {one.id for one in only((*loose, *(first or ())), ast.Name)}


def _counts(call: ast.Call, seen: Seen) -> set[str]:
    """Return the variables of which a function of torch wants one number of things."""
    name = dotted(seen.values.get(call.func, UNKNOWN))
    signature = None if name is None else seen.function.module.program.table.signature(name)
    wanted = list[ast.expr]()
    for one in () if signature is None else (signature, *signature.overloads):
        names = [param.name for param in one.params if not param.keyword_only]
        if len(call.args) <= len(names):
            given = given_to((param.name for param in one.params), call)
            wanted += (value for at, value in given.items() if at in _COUNTED)
            wanted += elements(given.get("size", call)) or ()
    return {one.id for one in only(wanted, ast.Name)}


_COUNTED: Final = frozenset(("num_classes", "num_samples", "steps"))
"""What parameters are called that want a number of things, as `torch.linspace(0, 1, steps)`."""


def _told_apart(function: ast.AST) -> Iterator[str]:
    """Yield the names that a body asks whether they are tensors, or of another type.

    Where anything else is an error, they are.
    """
    expected = {inner for test in _all_demanded(function) for inner in nodes_of(ast.Call, test)}
    for node in nodes_of(ast.Call, function):
        match node:
            case (
                ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _])
                | ast.Call(func=ast.Attribute(attr="is_tensor"), args=[ast.Name(id=name)])
                | ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)])
            ) if node not in expected:
                yield name


def _asked_for_none(function: ast.AST) -> frozenset[str]:
    """Return the names that a body asks whether they are None, and goes on with either way."""
    tests = _all_demanded(function)
    expected = {inner for test in tests for inner in nodes_of(ast.Compare, test)}
    return frozenset(
        node.left.id
        for node in nodes_of(ast.Compare, function)
        if isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and is_none(node.comparators[0])
        and node not in expected
    )


def _all_demanded(function: ast.AST) -> Iterator[ast.expr]:
    """Yield what must hold, or must not, for a body to go on."""
    for node in (*nodes_of(ast.Assert, function), *nodes_of(ast.If, function)):
        test = _demanded(node)
        if test is not None:
            yield test


def _demanded(node: ast.AST) -> ast.expr | None:
    """Return what must hold, or must not, for a body to go on."""
    match node:
        case ast.Assert(test=test) | ast.If(test=test, body=[*_, ast.Raise()]):
            return test
    return None


def _tensors_in(node: ast.AST, seen: Seen, told_by: Set[str], names: Set[str]) -> Iterator[str]:
    """Yield the names that one node of a body shows to be tensors, by flags of what they have.

    `names` are those that matter.
    """
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in names:
            is_asked = _is(attr, "property", seen) and any(_is(attr, f, seen) for f in told_by)
            if is_asked or ("shared" in told_by and _is(attr, "shared", seen)):
                yield name
        case ast.Call(func=func):
            match func:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in names:
                    # It must be called: an image has a `size` too.
                    is_told = any(_is(attr, flag, seen) for flag in told_by)
                    is_told = is_told and not _is(attr, "property", seen)
                    if (is_told and _may_take(attr, node, seen)) or _says_dim(node):
                        yield name
            yield from _handed_over(node, seen)
        case ast.BinOp(left=ast.Name(), op=ast.MatMult(), right=ast.Name()) if (
            "arraylike" in told_by
        ):
            yield from (one.id for one in only((node.left, node.right), ast.Name))
        case ast.BinOp(
            left=left, op=ast.MatMult() | ast.Add() | ast.Sub() | ast.Mult(), right=right
        ):
            for one, other in ((left, right), (right, left)):
                if isinstance(seen.values.get(other), Tensor):
                    yield from _origin(one, seen)


def _may_take(method: str, call: ast.Call, seen: Seen) -> bool:
    """Whether a method of tensors may be called with what a call has."""
    table = seen.function.module.program.table
    return takes(table, method, call.args, lambda one: seen.values.get(one, UNKNOWN))


def _says_dim(node: ast.Call) -> bool:
    """Whether a call names axes as torch does, by number: arrays have an `axis`."""
    numbers = (ast.Constant, ast.UnaryOp, ast.Tuple)
    given = (word.value for word in node.keywords if word.arg == "dim")
    return any(isinstance(one, numbers) and text_of(one) is None for one in given)


def _is(name: str, flag: str, seen: Seen) -> bool:
    """Whether a flag is said of the method or the attribute of tensors of this name."""
    return f"torch.Tensor.{name}" in seen.function.module.program.table.flagged(flag)


def _takes_sizes(name: str, receiver: ast.expr, seen: Seen) -> bool:
    """Whether a function of this name, or a method of what may be a tensor, is given sizes."""
    owner = seen.values.get(receiver)
    sized = seen.function.module.program.table.flagged("sized")
    if f"torch.{name}" in sized:
        return not _is_object(owner)
    is_method = f"torch.Tensor.{name}" in sized  # a function of this name is given a tensor first
    return is_method and not isinstance(owner, (Ref, Class, Dotted, ModuleRef))


def _changes(name: str, seen: Seen) -> bool:
    """Whether a method gives a tensor where it is asked of one, and else something else."""
    signature = seen.function.module.program.table.signature(f"torch.Tensor.{name}")
    return signature is not None and _is(name, "shared", seen) and signature.gives_tensors


def _origin(node: ast.expr, seen: Seen) -> Iterator[str]:
    """Yield the name that must be a tensor if an expression is one: `x` of `x.float().mT`."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield from _origin(value, seen)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if _changes(attr, seen):
            yield from _origin(value, seen)


def _handed_over(node: ast.Call, seen: Seen) -> Iterator[str]:
    """Yield the names that a call hands over where only tensors are taken."""
    target = seen.values.get(node.func, UNKNOWN)
    match target, node:
        case (Function() as called, _) | (Bound(function=Function() as called), _):
            yield from _taken(called, node, isinstance(target, Bound), seen)
        case Ref(), ast.Call(
            func=ast.Attribute(value=ast.Name(id="self"), attr=attr), args=[ast.Name(id=name), *_]
        ):
            if not _may_take_list(seen.function, attr):
                yield name  # to a module that is an attribute of this one
        case _:
            for param, argument in _by_parameter(target, node, seen):
                is_first = param.name in _FIRST and (
                    dotted(target) is not None or _takes_rows(target, seen)
                )
                if (param.tensor is not None and not param.other) or is_first:
                    for item in elements(argument) or [argument]:
                        yield from _origin(item, seen)


def _taken(called: Function, node: ast.Call, is_bound: bool, seen: Seen) -> Iterator[str]:
    """Yield the names that a call gives a function of the program which takes tensors there."""
    shown = shown_alone(called)
    declared = declarations.declaration(called).params[is_bound:]
    for param, argument in zip(declared, node.args, strict=False):
        if param.kind != "positional":
            return
        if isinstance(param.declared, TensorDecl) or param.name in shown:
            yield from _origin(argument, seen)


def _may_take_list(function: Function, attr: str) -> bool:
    """Whether a module that is an attribute of a method's instance is called with lists, perhaps.

    Its `forward` takes what it is given item by item, or only hands it on to one that does so.
    """
    called = _forward_of(function.owner, attr)
    if called is None:
        return False
    question = ("may take list", called.node, called.owner)
    return called.module.recall(
        question, lambda: _takes_list_perhaps(called), False, deepest=_DEEPEST
    )


def _takes_list_perhaps(forward: Function) -> bool:
    given = [one.arg for one in declarations.arguments_of(forward.node)[1:2]]
    if not given or given[0] in shown_alone(forward):
        return False
    return given[0] in _taken_by_item(forward.node) or any(
        _may_take_list(forward, node.func.attr)
        for node in nodes_of(ast.Call, forward.node)
        if isinstance(node.func, ast.Attribute)
        and name_of(node.func.value) == "self"
        and any(name_of(one) in given for one in node.args[:1])
    )


def _forward_of(owner: Class | None, attr: str) -> Function | None:
    """Return the `forward` of a module that instances of a class have as an attribute."""
    if owner is None:
        return None
    state, ref = instance(owner, "self")
    content = state.instance_of(ref)
    held = None if content is None else state.instance_of(content.attrs.get(attr, UNKNOWN))
    return None if held is None else classes.find_method(held.cls, "forward")


@kept_by_node(256)
def _taken_by_item(function: ast.AST) -> frozenset[str]:
    """Return the variables that a body takes items of, or that others are a part of: `f = x[1:]`.

    Tensors have items, too.
    """
    parts = {
        name_of(target): name_of(value)
        for node in nodes_of(ast.Assign, function)
        for target, value in ((node.targets[0], _whole(node.value)),)
    }
    found: set[str | None] = set()
    for node in nodes_of((ast.Subscript, ast.For, ast.comprehension, ast.Starred), function):
        match node:
            case ast.Subscript(value=value, slice=ast.Name() | ast.UnaryOp()):
                found.add(name_of(value))
            case ast.Subscript(value=value, slice=ast.Constant(value=int())):
                found.add(name_of(value))
            case ast.For(iter=given) | ast.comprehension(iter=given) | ast.Starred(value=given):
                found |= {name_of(one) for one in nodes_of(ast.Name, given)}
    for node in nodes_of(ast.Assign, function):
        if elements(node.targets[0]) is not None:
            found.add(name_of(node.value))
    waiting = [*found]
    while waiting:
        whole = parts.get(waiting.pop())
        if whole is not None and whole not in found:
            found.add(whole)
            waiting.append(whole)
    return frozenset(one for one in found if one is not None)


def _whole(node: ast.expr) -> ast.expr:
    """Return what a slice is of: `x` of `x[1:][::-1]`, and of `x`."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    return node


def optional(function: Function, seen: Seen) -> frozenset[str]:
    """Return the parameters that may be None as far as a body shows.

    It asks whether they are, or only hands them to parameters that may be.
    """
    handed: set[str] = set()
    for node in nodes_of(ast.Call, function.node):
        target = seen.values.get(node.func, UNKNOWN)
        called = target.function if isinstance(target, Bound) else target
        if isinstance(called, Function):
            handed |= _handed_to_optional(called, node, isinstance(target, Bound))
    return _asked_for_none(function.node) | (handed - _looked_into(function.node))


def _looked_into(function: ast.AST) -> set[str | None]:
    """Return the variables that a body takes something of, as nobody does of None."""
    found = {name_of(node.value) for node in nodes_of(ast.Attribute, function)}
    return found | {name_of(node.value) for node in nodes_of(ast.Subscript, function)}


def _handed_to_optional(called: Function, node: ast.Call, is_bound: bool) -> set[str]:
    """Return the variables that a call hands to parameters which may be None."""
    params = declarations.declaration(called).params[is_bound:]
    asked = _asked_for_none(called.node)
    used = _looked_into(called.node) | shown_alone(called)
    may_be = {
        one.name
        for one in params
        if (one.default is not None and is_none(one.default))
        or (one.declared.may_be_none and one.name not in used)
        or one.name in asked
    }
    places = [one.name if one.kind == "positional" else "" for one in params]
    given = [*zip(places, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
    return {name for at, one in given if at in may_be and (name := name_of(one)) is not None}


def shown_alone(function: Function) -> Set[str]:
    """Return the parameters of a function that its use of them shows to be tensors, by itself."""
    question = ("shown", function.node, function.owner)
    return function.module.recall(
        question, lambda: _shown_alone(function), frozenset[str](), deepest=_DEEPEST
    )


def _shown_alone(function: Function) -> Set[str]:
    seen = ahead(function, *start(function, function.owner, None))
    return shown(function, function.owner, seen, arrays=True)


def _takes_rows(target: Value, seen: Seen) -> bool:
    """Whether a layer of this kind takes packed sequences too, of which a function says nothing."""
    return isinstance(target, OpInstance) and not _packs(seen.function.node)


@kept_by_node(64)
def _packs(function: ast.AST) -> bool:
    """Whether a function mentions packed sequences."""
    return any("pack" in word for word in words_in(function))


def _by_parameter(target: Value, node: ast.Call, seen: Seen) -> Iterator[tuple[Param, ast.expr]]:
    """Yield the parameters of a library's function, each with an argument that a call gives it."""
    signature, bound = _signature(target, seen)
    params = () if signature is None else signature.params[bound:]
    positional = [param for param in params if not param.keyword_only]
    yield from zip(positional, node.args, strict=False)
    for param in [param for param in positional if param.star][-1:]:
        yield from ((param, argument) for argument in node.args[len(positional) :])
    by_name = {param.name: param for param in params}
    yield from ((by_name[k.arg], k.value) for k in node.keywords if k.arg in by_name)


def _signature(target: Value, seen: Seen) -> tuple[Signature | None, int]:
    """Return the signature of what is called, and how many parameters are bound already."""
    table = seen.function.module.program.table
    match target:
        case Dotted(name=name) if _is_functional(name):
            return table.signature(name), 0
        case Bound(receiver=Tensor(), name=name, function=None):
            return table.signature(f"torch.Tensor.{name}"), 1
        case OpInstance():
            return target.cls.method("forward"), 0
    return None, 0


def _is_functional(name: str) -> bool:
    """Whether a name is that of a library's function, and of no class or module."""
    root, _, rest = name.partition(".")
    is_op = name.count(".") == 1 or name.startswith("torch.nn.functional.")
    return (root == "einops" or (root == "torch" and is_op)) and rest[:1].islower()
