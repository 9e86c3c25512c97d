"""Which parameters of a constructor are sizes, where only what is done with them says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.analysis.annotations.classes import find_method, members
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.model import Class, Function, Value, dotted
from shapecheck.analysis.program.syntax import first_of, given_to, is_def, name_of, nodes, nodes_of
from shapecheck.ops import UNKNOWN


def sizes_of(init: Function) -> set[str]:
    """Return the names of a constructor's parameters that nothing but whole numbers can be.

    A layer's features are made of them, they are one of several sizes of a shape, are counted up
    to or divided with, there or in another method; also behind what they are assigned to.
    """
    return init.module.recall(("sizes of", init.node), lambda: _found(init), set[str]())


def configurations_of(init: Function) -> set[str]:
    """Return the variables of a constructor that sizes are read from, as `config.n_embd` is."""
    uses = _Uses(init)
    given = (one for call in nodes_of(ast.Call, init.node) for one in uses.whole(call))
    read = (part for one in given for part in nodes_of(ast.Attribute, one))
    return {part.value.id for part in read if isinstance(part.value, ast.Name)}


def of_several_types(init: Function) -> set[str]:
    """Return the variables of a constructor that are asked for their type, so that it isn't told.

    `if isinstance(size, int): size = (size, size)`
    """
    found = set[str]()
    for call in nodes_of(ast.Call, init.node):
        match call:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _]):
                found.add(name)
    return found


def handed_to_layers(init: Function) -> set[str]:
    """Return the parameters of a constructor with which nothing is done but to make layers."""
    read = reader(init.module)
    handed: set[ast.AST] = set()
    for call in nodes_of(ast.Call, init.node):
        if dotted(read.resolve(call.func)) is not None:
            handed.update(call.args, (word.value for word in call.keywords))
    names = [*nodes_of(ast.Name, init.node)]
    return {one.id for one in names} - {one.id for one in names if one not in handed}


def _found(init: Function) -> set[str]:
    uses = _Uses(init)
    uses.read(init.node, "")
    for name, method in members(init.owner).items() if init.owner is not None else ():
        if is_def(method) and method is not init.node:
            uses.read(method, f"{name} ")
    return uses.found()


class _Uses:
    """What is used as a size, and what is made of what.

    A variable is called by its method and its name, that of a constructor by its name alone, and
    an attribute by the name with a dot in front.
    """

    def __init__(self, init: Function) -> None:
        self._module, self._reader = init.module, reader(init.module)
        self._table = init.module.program.table
        self._sizes: set[str] = set()
        self._made: list[tuple[str, set[str]]] = []
        self._taken_apart: set[str] = set()

    def found(self) -> set[str]:
        """Return what is a size, or is what sizes are made of."""
        while any(
            target in self._sizes and not parts <= self._sizes for target, parts in self._made
        ):
            for target, parts in self._made:
                self._sizes |= parts if target in self._sizes else set()
        for target, parts in reversed(self._made):
            self._taken_apart |= parts if target in self._taken_apart else set()
        return self._sizes - self._taken_apart

    def read(self, function: ast.AST, prefix: str) -> None:
        """Note what a method does with its variables and with attributes."""
        for node in nodes(function):
            if type(node) not in _USING:  # most are names
                continue
            match node:
                case (
                    ast.Subscript(value=several)
                    | ast.Starred(value=several)
                    | ast.For(iter=several)
                    | ast.comprehension(iter=several)
                    | ast.Assign(
                        targets=[ast.Tuple()], value=(ast.Name() | ast.Attribute()) as several
                    )
                    | ast.Call(func=ast.Name(id="isinstance" | "len"), args=[several, *_])
                ):
                    self._taken_apart.add(_key(several, prefix) or "")
                case ast.Call():
                    for one in self.whole(node):
                        self._sizes.update(_factors(one, prefix))
                case ast.BinOp(op=ast.FloorDiv()):
                    self._sizes.update(_factors(node, prefix))
                case ast.Assign(targets=[target], value=value):
                    self._made += _pairs(target, value, prefix)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._made += _pairs(target, value, prefix)

    def whole(self, call: ast.Call) -> Iterator[ast.expr]:
        """Yield the arguments that have to be whole numbers."""
        called = self._called(call.func)
        name = dotted(called)
        if isinstance(called, Class):
            yield from _handed_on(called, call)
        elif name == "range":
            yield from call.args
        elif name is not None and name.startswith("einops."):
            yield from (word.value for word in call.keywords if word.arg)
        elif name is not None and (layer := self._table.lookup_class(name)) is not None:
            made = layer.method("__init__")
            given = given_to((param.name for param in made.params) if made else (), call)
            yield from (value for arg, value in given.items() if arg in _NUMBERS)
        else:
            yield from self._several(call, name)

    def _called(self, function: ast.expr) -> Value:
        """Return what the module or Python has under a name; UNKNOWN for a variable's method."""
        first = first_of(function)
        known = name_of(first) or ""
        if first is not function and not self._module.syntax.bound(known):
            return UNKNOWN
        return self._reader.resolve(function) if known else UNKNOWN

    def _several(self, call: ast.Call, name: str | None) -> Sequence[ast.expr]:
        """Return the sizes of a shape, `torch.zeros(n, d)` and `x.view(b, -1, d)`."""
        skipped = 0
        if name is None and isinstance(call.func, ast.Attribute):
            name, skipped = f"torch.Tensor.{call.func.attr}", 1
        signature = None if name is None else self._table.signature(name)
        params = () if signature is None else signature.params
        first = next((at for at, param in enumerate(params) if param.star), None)
        is_shape = first is not None and params[first].name in _SPELLED_OUT
        given = call.args[first - skipped :] if first is not None and is_shape else []
        match given:
            case [ast.Tuple(elts=several) | ast.List(elts=several)]:
                return several
        return given if len(given) > 1 else ()


def _handed_on(cls: Class, call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a class of the program is given that its constructor uses as a size."""
    init = find_method(cls, "__init__")
    if init is not None:
        given = given_to((one.arg for one in arguments_of(init.node)[1:]), call)
        yield from (given[name] for name in sorted(sizes_of(init) & given.keys()))


def _pairs(target: ast.expr, value: ast.expr, prefix: str) -> Iterator[tuple[str, set[str]]]:
    """Yield what is assigned and what it is made of; `*x.shape, n` is as many as are wanted."""
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for one, other in zip(reversed(targets), reversed(values), strict=False):
                if isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
                    break
                yield from _pairs(one, other, prefix)
        case _:
            key = _key(target, prefix)
            if key is not None:
                yield key, set(_factors(value, prefix))


def _factors(node: ast.expr, prefix: str) -> Iterator[str]:
    """Yield the variables and attributes that a sum or a product is made of."""
    match node:
        case ast.BinOp(
            left=left, op=ast.Mult() | ast.Add() | ast.Sub() | ast.FloorDiv(), right=right
        ):
            yield from _factors(left, prefix)
            yield from _factors(right, prefix)
        case _:
            key = _key(node, prefix)
            if key is not None:
                yield key


def _key(node: ast.expr, prefix: str) -> str | None:
    match node:
        case ast.Name(id=name):
            return prefix + name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f".{name}"
    return None


_USING: Final = frozenset(
    (
        ast.Subscript,
        ast.Starred,
        ast.For,
        ast.comprehension,
        ast.Assign,
        ast.AnnAssign,
        ast.Call,
        ast.BinOp,
    )
)
"""The kinds of syntax that say something of what they are made of."""

_NUMBERS: Final = frozenset(
    "in_features out_features in1_features in2_features in_channels out_channels num_channels "
    "num_features num_groups groups input_size hidden_size num_layers num_embeddings "
    "embedding_dim embed_dim d_model num_heads nhead dim_feedforward upscale_factor "
    "kernel_size stride".split()
)
"""What layers call sizes and counts; a window may be a tuple, which then is taken apart."""

_SPELLED_OUT: Final = frozenset("dims repeats shape size sizes".split())
"""What signatures call the whole numbers of which any number may be given."""
