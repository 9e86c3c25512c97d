"""What an abstract method takes and gives, by the methods that override it.

class Loss:  def forward(self, x): raise NotImplementedError     <- what all of these have in common
class L1(Loss):  def forward(self, x: Float[Tensor, "b d"]) -> Float[Tensor, ""]: ...
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis.annotations.classes import ancestry
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.program.model import Class
from shapecheck.analysis.program.syntax import is_empty
from shapecheck.analysis.study.model import Study
from shapecheck.codemod.project.project import Function
from shapecheck.codemod.sources.comments import may_be_none
from shapecheck.codemod.sources.static import wanted
from shapecheck.codemod.write.annotation_types import NONE, Type, either

_NAMES: Final = re.compile(r"(?<![\w.])[^\W\d]\w*")

_Place = tuple[str, int, str]
"""A class, by its file and its line, and the name of a method."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method: where it stands, the methods that it overrides, and its parameters in order.

    `open` are those of an abstract method that may be annotated, `return` among them, `optional`
    those that may be None.
    """

    function: Function
    line: int
    place: _Place
    overrides: tuple[_Place, ...]
    params: tuple[str, ...]
    is_abstract: bool
    open: frozenset[str]
    optional: frozenset[str]


def method(one: Study, function: Function) -> Method | None:
    """Return what there is to know of a method, None for a function."""
    owner, node = one.function.owner, one.function.node
    if owner is None:
        return None
    classes = [base for base in ancestry(owner) if isinstance(base, Class)]
    places = [(base.module.source.path, base.node.lineno, one.function.name) for base in classes]
    own = owner.module.source.path, owner.node.lineno, one.function.name
    is_abstract = _is_abstract(node)
    return Method(
        function,
        node.lineno,
        own,
        tuple(place for place in places if place != own),
        tuple(argument.arg for argument in arguments_of(node)),
        is_abstract,
        frozenset(_open(one)) if is_abstract else frozenset(),
        frozenset(name for name in one.params if may_be_none(one, name)),
    )


def inherited(
    methods: Iterable[Method], proposed: Mapping[Function, Mapping[str, Type]]
) -> Iterator[tuple[Method, str, Type]]:
    """Yield the parameters, and `return`, of abstract methods that can be annotated, and how."""
    overriding: defaultdict[_Place, list[Method]] = defaultdict(list)
    abstract: list[Method] = []
    for one in methods:
        if one.is_abstract:
            abstract.append(one)
            continue
        for place in one.overrides:
            overriding[place].append(one)
    for one in abstract:
        signatures = [_signature(other, proposed) for other in overriding[one.place]]
        for slot, kind in _common(signatures).items():
            if slot in one.open:
                yield one, slot, either(kind, NONE) if slot in one.optional else kind


def _is_abstract(node: ast.AST) -> bool:
    """Whether a function has no body to speak of, or only says that it isn't there."""
    return all(is_empty(one) or isinstance(one, ast.Raise) for one in getattr(node, "body", [node]))


def _open(one: Study) -> set[str]:
    """Return what of a method may be annotated: nothing shows that its parameters are tensors."""
    bare = {a.arg for a in arguments_of(one.function.node) if a.annotation is None}
    return (wanted(one) | bare) - {"self", "cls"}


def _signature(one: Method, proposed: Mapping[Function, Mapping[str, Type]]) -> dict[str, Type]:
    """Return what is proposed for a method, in the order of its parameters."""
    kinds = proposed.get(one.function, {})
    return {slot: kinds[slot] for slot in (*one.params, "return") if slot in kinds}


def _common(signatures: Sequence[Mapping[str, Type]]) -> dict[str, Type]:
    """Return what all signatures say, but for the names in them; those of the first are kept."""
    if not signatures:
        return {}
    first, *rest = signatures
    names: list[dict[str, str]] = [{} for _ in rest]
    found = {}
    for slot, kind in first.items():
        if any("{" in one.text for one in kind.tensors()):
            continue  # an attribute of one class
        trials = [dict(one) for one in names]
        if all(
            slot in other and _is_alike(kind, other[slot], trial)
            for other, trial in zip(rest, trials, strict=True)
        ):
            found[slot], names = kind, trials
    return found


def _is_alike(one: Type, other: Type, names: dict[str, str]) -> bool:
    """Whether two types are the same but for names; extends what the names of one stand for."""
    a, b = one.source("Tensor"), other.source("Tensor")
    if _NAMES.sub("_", a) != _NAMES.sub("_", b):
        return False
    types = {"Tensor", "None", *(x.category for kind in (one, other) for x in kind.tensors())}
    for x, y in zip(_NAMES.findall(a), _NAMES.findall(b), strict=True):
        if (x in types or y in types) and x != y:
            return False
        if names.setdefault(x, y) != y:
            return False
    return len(set(names.values())) == len(names)
