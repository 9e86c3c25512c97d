"""What is proposed for the functions of one module: from all that says something of them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from shapecheck import spec
from shapecheck.analysis import Options
from shapecheck.analysis.annotations.declarations import arguments_of, declaration, speaks
from shapecheck.analysis.check.tensor_evidence import shown
from shapecheck.analysis.program.syntax import is_none
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.values.model import OneOf, tensor_of
from shapecheck.codemod.project.files import PythonFile
from shapecheck.codemod.propose.compiled import compiler
from shapecheck.codemod.sources import docstrings
from shapecheck.codemod.sources.comments import Claim, Claims, Comments, given, may_be_none
from shapecheck.codemod.sources.record_check import contradiction
from shapecheck.codemod.sources.records import known, propose
from shapecheck.codemod.sources.static import (
    bound_again,
    ranks_asked,
    tensors_in,
    variables,
    wanted,
    words,
)
from shapecheck.codemod.write.annotation_types import (
    NONE,
    TensorType,
    TupleType,
    Type,
    either,
)
from shapecheck.codemod.write.edit import Slot
from shapecheck.codemod.write.naming import Names, category, named, proposals
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN, Value
from shapecheck.record.files import is_named
from shapecheck.record.store import Key, Recorded
from shapecheck.shapes import Run, Shape, Tensor

SOURCES: Final = ("torchtyping", "comments", "docstrings", "record", "static")


@dataclass(frozen=True, slots=True)
class Proposal:
    """An annotation for a slot, where it comes from, and the line that says so."""

    slot: Slot
    kind: Type
    origin: str
    line: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function whose annotations aren't written, and why."""

    path: Path
    line: int
    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to annotate: where from, in which style, and whether in spite of complaints."""

    origins: tuple[str, ...] = SOURCES
    style: str = "shapecheck"
    despite_complaints: bool = False
    record: Mapping[Key, Recorded] | None = None
    options: Options = field(default_factory=Options)


Proposed = dict[Slot, Proposal]
Said = tuple[Path, Slot, str]
"""What something other than the code says of a place: the origin of it."""
RANK: Final = "rank"
"""Stands for the origin where even the number of axes is wrong."""
Told = dict[str, tuple[Claim, str]]


class Proposer:
    """Collects what is said of the functions of a module, then proposes annotations for them.

    `waiting` are those of which a comment may say more once more is known, `disbelieved` is what
    has turned out not to be so. `apart` are the functions in which a name that other functions have
    for axes is that of one axis only.
    """

    def __init__(
        self, path: Path, file: PythonFile, settings: Settings, disbelieved: AbstractSet[Said]
    ) -> None:
        self.file, self.settings = file, settings
        self.disbelieved = {one[1:] for one in disbelieved if one[0] == path}
        self.comments = Comments(file.text)
        self.code = set(re.findall(r"[^\W\d]\w*", file.text))
        patterns = re.findall(r"""["']([^"'\n]*->[^"'\n]*)["']""", file.text)
        self.code.update(*map(words, patterns))
        self.by_name: defaultdict[str, list[tuple[Key, Recorded]]] = defaultdict(list)
        resolved = path.resolve()
        for key, seen in (settings.record or {}).items():
            if is_named(resolved, key.file):
                self.by_name[key.name].append((key, seen))
        self.waiting: set[tuple[str, int]] = set()
        self.apart: AbstractSet[str] = frozenset()
        self._told: dict[ast.AST, Told] = {}

    def said(self, one: Study) -> dict[str, Value]:
        """Return what a record, comments and the docstring say of a function's parameters."""
        said: dict[str, Value] = {}
        seen = self._recorded(one)
        if seen is not None:
            open_ = {n for n in _open_parameters(one) if not self._is_wrong(one, n, "record")}
            open_ -= self.of_several_shapes(one)
            said |= {n: v for n, v in known(seen, one).items() if n in open_}
        claimed = {
            name: told
            for name, told in self._claimed(one).items()
            if not self._is_wrong(one, name, told[1])
        }
        if claimed:
            self._told[one.function.node] = claimed
            claims = {name: claim for name, (claim, _) in claimed.items()}
            said |= given(claims, one)
        return said

    def of_several_shapes(self, one: Study) -> set[str]:
        """Return the parameters of which a text leaves open what calls that are seen show.

        Nor is it known who is wrong where a call hands over another number of axes than is said.
        """
        reads = "docstrings" in self.settings.origins
        doubtful = {name for name in one.params if self._is_wrong(one, name, RANK)}
        return doubtful | (docstrings.of_several_shapes(one) if reads else set())

    def ranks(self, one: Study) -> dict[str, Value]:
        """Return tensors of as many axes as is wrongly said what they are, by parameter."""
        return {
            name: Tensor(Shape(tuple(Size.of(Sym.suppose("_")) for _ in claim.text.entries)))
            for name, (claim, origin) in (self._claimed(one) if self.disbelieved else {}).items()
            if self._is_wrong(one, name, origin)
            and not (claim.text.groups or self._is_wrong(one, name, RANK))
        }

    def _is_wrong(self, one: Study, name: str, origin: str) -> bool:
        return (Slot(one.qualname, one.nth, name), origin) in self.disbelieved

    def _claimed(self, one: Study) -> Told:
        """Return what comments and the docstring say of parameters that may be annotated."""
        found: Told = {}
        open_ = _open_parameters(one)
        if "comments" in self.settings.origins:
            claims = self.comments.of(one).params
            found |= {n: (claim, "comments") for n, claim in claims.items() if n in open_}
        if "docstrings" in self.settings.origins:
            claims = docstrings.claims(one).params
            open_ = _open_parameters(one, [n for n, claim in claims.items() if claim.of_tensor])
            for name, claim in claims.items():
                if name in open_:
                    found.setdefault(name, (claim, "docstrings"))
        asked = ranks_asked(one.function.node)
        return {name: told for name, told in found.items() if _fits(told[0], asked.get(name, ()))}

    def proposals(self, one: Study) -> tuple[Proposed, list[Refusal]]:
        """Return annotations for a function, or why it can't have them."""
        found: Proposed = {}
        for name, kind, origin, line, local in self._of(one):
            if not local and self._is_wrong(one, name, origin):
                continue
            if not local and may_be_none(one, name):
                kind = either(kind, NONE)
            slot = Slot(one.qualname, one.nth, name, local)
            found.setdefault(slot, Proposal(slot, kind, origin, line))
        seen = self._recorded(one)
        signature = {s.name: p.kind for s, p in found.items() if not s.local}
        reason = None if seen is None else contradiction(seen, signature)
        if found and (reader := compiler(one.function)):
            reason = f"{reader} reads its annotations, and doesn't know shapes"
        if reason is not None:
            line = next(iter(found.values())).line
            return {}, [Refusal(self.file.path, line, one.qualname, reason)]
        return found, []

    def _of(self, one: Study) -> list[tuple[str, Type, str, int, int]]:
        """Return slots of a function with what is proposed for them, what counts most first."""
        origins, line = self.settings.origins, one.function.node.lineno
        claimed = self.comments.of(one) if "comments" in origins else Claims()
        if claimed.waits:
            self.waiting.add((one.qualname, one.nth))
        code = self.code - tensors_in(one)
        own = variables(one.function.node) - bound_again(one.function.node)
        hints = {**one.labels, **claimed.hints}
        names = Names(one.sizes, hints, code, own, named(one), one.qualname in self.apart)
        told = self._told.get(one.function.node, {})
        allowed = wanted(one)
        inferred = proposals(one, names, allowed - _numbers(one)) if "static" in origins else {}
        found = [
            (name, _annotation(claim, one.params[name], names), origin, claim.line, 0)
            for name, (claim, origin) in told.items()
        ]
        results = [(claimed.result, "comments")]
        each: list[Claim] = []
        if "docstrings" in origins:
            documented = docstrings.claims(one)
            results.append((documented.result, "docstrings"))
            each = documented.results
        for result, origin in results:
            if result is not None and "return" in allowed:
                kind = _annotation(_shown(result, one.result), one.result, names)
                found.append(("return", kind, origin, result.line, 0))
        if each and isinstance(one.result, tuple) and "return" in allowed:
            pairs = zip(each, one.result, strict=True)
            items = tuple(_annotation(_shown(said, v), v, names) for said, v in pairs)
            found.append(("return", TupleType(items), "docstrings", each[0].line, 0))
        for name, (claim, value) in claimed.locals.items():
            kind = _annotation(claim, one.values.get(value, UNKNOWN))
            found.append((name, kind, "comments", claim.line, 1))
        seen = self._recorded(one)
        if seen is not None and seen.kinds:
            open_ = _open_parameters(one)
            several = self.of_several_shapes(one)
            slots = [name for name in one.params if name in open_ and name not in several]
            slots += {"return"} & allowed if not several else set()
            recorded = propose(seen, one, slots, self.code)
            found += [(name, kind, "record", line, 0) for name, kind in recorded.items()]
        found += [(name, kind, "static", line, 0) for name, kind in inferred.items()]
        return found

    def _recorded(self, one: Study) -> Recorded | None:
        """Return what is recorded of a function, None if nothing is."""
        node = one.function.node
        lines = range(node.lineno - 2 * len(getattr(node, "decorator_list", ())), node.lineno + 1)
        some = (seen for key, seen in self.by_name.get(one.qualname, ()) if key.line in lines)
        return next(some, None)


def _fits(claim: Claim, ranks: Collection[int]) -> bool:
    """Whether a shape that is claimed has as many axes as a body asks for, where it asks."""
    return bool(claim.text.groups) or {*ranks} <= {len(claim.text.entries)}


def _numbers(one: Study) -> set[str]:
    """Return the parameters that may be numbers: tensors are added to them, and no more."""
    ints = {size for size, text in one.sizes.items() if text.isidentifier()}
    open_ = {
        name
        for name in one.bare
        if (value := tensor_of(one.params.get(name, UNKNOWN))) is not None
        and all(isinstance(item, Run) or item in ints for item in value.shape.dims)
        and value.shape.dims
    }
    return open_ - shown(one.function, one.function.owner, one, counted=False) if open_ else open_


def is_loose(proposal: Proposal) -> bool:
    """Whether the analysis alone says so, and leaves open how many axes there are."""
    texts = (spec.parse(one.text) for one in proposal.kind.tensors())
    return proposal.origin == "static" and any(text.groups for text in texts)


def is_vague(proposal: Proposal) -> bool:
    """Whether the analysis alone says so, and not of each axis what it is."""
    return proposal.origin == "static" and any(
        isinstance(getattr(entry, "expr", None), spec.Wild) or getattr(entry, "name", "") is None
        for one in proposal.kind.tensors()
        for entry in spec.parse(one.text).entries
    )


def _open_parameters(one: Study, told: Collection[str] = ()) -> Collection[str]:
    """Return the parameters that may be annotated if a text says that they have a shape.

    Where there is numpy, a shape alone doesn't make a tensor. `told` are said to be some.
    """
    says = declaration(one.function)
    arrays = any(
        root in one.function.module.syntax.bindings for root in ("np", "numpy", "jnp", "tf")
    )
    every = arguments_of(one.function.node)
    bare = {argument.arg for argument in every if argument.annotation is None} - {"self", "cls"}
    return {
        param.name
        for param in says.params
        if not speaks(param.declared)
        and (
            param.declared.has_tensor
            or (
                param.name in bare
                and (param.default is None or is_none(param.default))
                and (not arrays or param.name in (*one.bare, *told))
            )
        )
    }


def _shown(claim: Claim, result: Value) -> Claim:
    """Return what is claimed of a result, an axis of size 1 left open unless the code shows it.

    What is written as 1 is often so only until it is expanded.
    """
    tensor = tensor_of(result)
    shape = Shape.unknown() if tensor is None else tensor.shape
    entries = claim.text.entries
    open_ = next((at for at, one in enumerate(entries) if isinstance(one, spec.Group)), None)
    words = []
    for at, entry in enumerate(entries):
        axis = at if open_ is None or at < open_ else at - len(entries)
        is_one = isinstance(entry, spec.Axis) and entry.expr == spec.Number(1)
        words.append("_" if is_one and shape.at(axis) != 1 else str(entry))
    return replace(claim, text=spec.parse(" ".join(words)))


def _annotation(claim: Claim, value: Value, names: Names | None = None) -> Type:
    """Return the annotation of the shape that is claimed for a value, which may be None."""
    options = value.options if isinstance(value, OneOf) else (value,)
    tensor = next((option for option in options if isinstance(option, Tensor)), Tensor.unknown())
    text = claim.text if names is None else names.grouped(claim.text, value)
    kind = TensorType(claim.category or category(tensor), str(text))
    return either(kind, NONE) if None in options else kind
