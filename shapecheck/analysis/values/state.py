"""The state of the program at a point, and what holds where paths meet."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

import shapecheck.dims as dims
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.heap import Moving, inside, reachable
from shapecheck.analysis.values.model import (
    Array,
    ByName,
    Content,
    DictContent,
    Instance,
    ListContent,
    Namespace,
    OneOf,
    OpInstance,
    Ref,
    options,
)
from shapecheck.analysis.values.paths import one_of
from shapecheck.dims import DimExpr, Kind, Origin, Size, Sym, atoms_of
from shapecheck.dims.origins import LoopHead
from shapecheck.ops import UNKNOWN, DType, Fields, Scalar, Sizes, like
from shapecheck.ops.call import are_dims, as_tensor, only
from shapecheck.shapes import Facts, Item, Run, Shape, Tensor, either, has_run

_Content = TypeVar("_Content", ListContent, DictContent, Instance)
_TO_FILL: Final = frozenset(("list", "dict"))
_ITEMS = 128
"""As many items of a list are known one by one."""


class State:
    """The variables with the lines that set them, the heap, and the facts at a point.

    `sources` are the expressions to which variables were set, where each is set to one alone.
    """

    __slots__ = ("facts", "heap", "since", "sources", "vars")

    def __init__(
        self,
        vars: dict[str, Value] | None = None,
        since: dict[str, int] | None = None,
        heap: dict[Ref, Content] | None = None,
        facts: Facts | None = None,
        sources: dict[str, ast.expr] | None = None,
    ) -> None:
        self.vars = {} if vars is None else vars
        self.since = {} if since is None else since
        self.heap = {} if heap is None else heap
        self.facts = Facts() if facts is None else facts
        self.sources = {} if sources is None else sources

    def copy(self) -> State:
        """Return an independent copy."""
        variables, since, heap = dict(self.vars), dict(self.since), dict(self.heap)
        return State(variables, since, heap, self.facts.copy(), dict(self.sources))

    def new(self, content: Content) -> Ref:
        """Put new content on the heap; a copy of a list or dict is none that this may be."""
        ref = Ref()
        self.heap[ref] = content if isinstance(content, Instance) else _alike(content, ())
        return ref

    def content(self, value: Value) -> Content:
        """Return what the heap holds for a value, None for what isn't there or isn't known."""
        return self.heap.get(value, value.origin) if isinstance(value, Ref) else None

    def list_of(self, value: Value) -> ListContent | None:
        """Return the content of a list, None for what is none or isn't known."""
        return self._look(value, ListContent)

    def dict_of(self, value: Value) -> DictContent | None:
        """Return the content of a dict, None for what is none or isn't known."""
        return self._look(value, DictContent)

    def container_of(self, value: Value) -> ListContent | DictContent | None:
        """Return the content of a list or dict, None for what is neither or isn't known."""
        content = self.content(value)
        return content if isinstance(content, (ListContent, DictContent)) else None

    def instance_of(self, value: Value) -> Instance | None:
        """Return the content of an instance of an analysed class, None for what is none."""
        return self._look(value, Instance)

    def items_of(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a tuple or list, None for what is neither or isn't known."""
        content = self.list_of(value)
        held = value if content is None else content.items
        return held if isinstance(held, tuple) else None

    def _look(self, value: Value, kind: type[_Content]) -> _Content | None:
        content = self.content(value)
        return content if isinstance(content, kind) else None

    def put(self, owner: Value, content: Content) -> None:
        """Replace what the heap holds for a value that is on it.

        What may be the same list, dict or namespace isn't known any more.
        """
        if isinstance(owner, Ref):
            before = self.content(owner)
            if before is not None and (before.like or owner.is_among):
                for other in () if isinstance(content, Instance) else self._others(owner):
                    self.heap[other] = None
            self.heap[owner] = content

    def know(self, ref: Ref, content: Content) -> None:
        """Know something else of what lies on the heap, which hasn't been changed."""
        self.heap[ref] = content

    def put_all(self, changes: Mapping[Ref, Content]) -> None:
        """Replace what the heap holds in several places, as a call does that didn't see others."""
        for ref, content in changes.items():
            if ref.is_among:
                before = self.content(ref)
                for other in self._others(ref):
                    if other not in changes:
                        self.heap[other] = _weakened(self.content(other), before, content)
        self.heap.update(changes)

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        """Put something into an instance as its attribute, which others may be that are like it."""
        content = self.instance_of(owner)
        if content is None or not isinstance(owner, Ref):
            return
        for other in self._others(owner):
            held = self.instance_of(other)
            if held is not None:
                self.heap[other] = held.with_attrs({**held.attrs, name: UNKNOWN})
        self.heap[owner] = content.with_attrs({**content.attrs, name: value})

    def find_attribute(self, owner: Value, name: str, value: Value) -> None:
        """Keep what an attribute of an instance has been all along."""
        content = self.instance_of(owner)
        if content is not None:
            self.put(owner, content.with_attrs({**content.attrs, name: value}))

    def _others(self, owner: Ref) -> list[Ref]:
        """Return what may be the same as something: what it is one of, and what is one of these."""
        found = {owner: None}
        waiting = [owner]
        while waiting:
            new = [ref for ref in _like(self.content(waiting.pop())) if ref not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        waiting = [ref for ref in found if ref.is_among]
        while waiting:
            one = waiting.pop()
            new = [r for r, held in self.heap.items() if one in _like(held) and r not in found]
            found.update(dict.fromkeys(new))
            waiting += [ref for ref in new if ref.is_among]
        del found[owner]
        return [*found]

    def either(self, *values: Value) -> Value:
        """Return what holds of each of several values, at least one."""
        joiner = _Joiner(self, self, None)
        joined = values[0]
        for value in values[1:]:
            joined = joiner.value(joined, value, ())
        self.heap.update(joiner.made())
        return joined

    def element(self, content: ListContent) -> Value:
        """Return what holds of any item of a list, UNKNOWN if it has none."""
        if content.items is None:
            return content.element
        return self.either(*content.items) if content.items else UNKNOWN

    def extended(self, content: ListContent, other: ListContent) -> ListContent:
        """Return a list with the items of another behind its own."""
        if content.items is not None and other.items is not None:
            if len(content.items) + len(other.items) <= _ITEMS:
                return ListContent((*content.items, *other.items), kind=content.kind)
        parts = [self.element(p) for p in (content, other) if p.items != () and not p.blank]
        counts = content.length, other.length
        total = None if None in counts else sum(count for count in counts if count is not None)
        return ListContent(None, self.either(*parts) if parts else UNKNOWN, content.kind, total)

    def duplicate(self, value: Value, made: dict[Ref, Ref]) -> Value:
        """Return a deep copy of a value; `made` are the copies of what was copied before."""
        match value:
            case tuple():
                return like(value, (self.duplicate(item, made) for item in value))
            case Ref():
                content = self.content(value)
                if content is None:
                    return UNKNOWN
                if value not in made:
                    made[value] = self.new(None)
                    copy = content.changed(lambda inner: self.duplicate(inner, made))
                    self.put(made[value], copy)
                return made[value]
        return value

    def forget(self, value: Value) -> None:
        """Give up what is known of everything that can be reached from a value."""
        content = self.content(value)
        if content is None:
            return
        self.put(value, None)
        for inner in content.values:
            self.forget(inner)

    def kept(self, value: Value, outer: State) -> dict[Ref, Content]:
        """Return the heap that a call leaves behind, which began with the heap of `outer`.

        That is what was there before, as it is now, and of what is new all that can be reached from
        there or from the call's result `value`.
        """
        heap: dict[Ref, Content] = {}
        found = [value]
        for ref, before in outer.heap.items():
            heap[ref] = content = self.heap[ref]
            if content is not before:
                found += inside(content)
        if len(self.heap) == len(heap):
            return heap
        # What was there and is as it was leads to nothing new.
        heap.update((ref, self.heap[ref]) for ref in reachable(found, self.heap, outer.heap))
        return heap

    def sweep(self, outer: State) -> None:
        """Forget what is new on the heap since `outer` and can't be reached from a variable."""
        self.heap = self.kept(tuple(self.vars.values()), outer)

    def adopt(self, origin: Origin) -> None:
        """Make the dimension names of a function sizes of the program's own, of this origin."""
        self.change(_Adopting(origin))

    def change(self, moving: Moving) -> None:
        """Put other things in the place of those on the heap and in the facts."""
        facts = self.facts
        facts.atoms = {
            atom: moving.size(size)
            for before, size in facts.atoms.items()
            for atom in islice(atoms_of(moving.size(Size.of(before))), 1)
        }
        facts.runs = {moving.run(symbol): moving.items(run) for symbol, run in facts.runs.items()}
        for ref, content in self.heap.items():
            if content is not None:
                self.heap[ref] = moving.content(content)

    def join(
        self, other: State, place: object = None, heads: dict[object, Ref] | None = None
    ) -> State:
        """Return what holds on both of two paths.

        `place` identifies a loop head: what differs gets a symbol, or an identity from `heads`,
        that is the same each time round, so that a fixpoint can be seen.
        """
        joiner = _Joiner(self, other, place, heads)
        return joiner.state(joiner.variables())

    def join_with(self, value: Value, other: State, its_value: Value) -> tuple[Value, State]:
        """Return what holds on both of two paths, and of the values that they give."""
        joiner = _Joiner(self, other, None)
        variables = joiner.variables()
        joined = joiner.value(value, its_value, ())
        return joined, joiner.state(variables)


class _Adopting(Moving):
    """Puts sizes of the program's own in the place of dimension names."""

    def __init__(self, origin: Origin) -> None:
        super().__init__({})
        self._origin = origin
        self._one_of: dict[Sym, Sym] = {}

    def symbol(self, symbol: Sym) -> Sym:
        if symbol.options and symbol not in self._one_of:
            self._one_of[symbol] = Sym.one_of(symbol.name, tuple(map(self.value, symbol.options)))
        if symbol.kind is not Kind.NAME:
            return self._one_of.get(symbol, symbol)
        return Sym(symbol.name, Kind.OWN, self._origin)

    def run(self, symbol: Sym) -> Sym:
        if symbol.kind is not Kind.NAME:
            return self.symbol(symbol)
        return Sym(symbol.name, Kind.UNKNOWN, self._origin)


def _only_there(one: State, other: State) -> set[Sym]:
    """Return the rows of axes that aren't told of tensors in the place of which `other` has None.

    What a path needs of a mask holds where there is one: `if mask is not None: b, t = mask.shape`.
    """
    runs = one.facts.runs
    if not runs:
        return set()
    found = {
        item.symbol
        for name, absent in other.vars.items()
        if absent is None and isinstance(value := one.vars.get(name), Tensor)
        for item in value.shape.dims
        if isinstance(item, Run) and item.symbol in runs and item.symbol.is_untold
    }
    if found:
        tensors = only(other.vars.values(), Tensor)
        found -= {item.symbol for one in tensors for item in only(one.shape.dims, Run)}
    return found


class _Joiner:
    def __init__(
        self,
        left: State,
        right: State,
        place: object,
        heads: dict[object, Ref] | None = None,
    ) -> None:
        self.left, self.right, self.place, self.heads = left, right, place, heads
        self.heap: dict[Ref, Content] = {}

    def variables(self) -> dict[str, Value]:
        """Join the variables, over a heap that has what is the same on both sides."""
        mine, theirs = self.left, self.right
        others = theirs.heap
        self.heap = {r: c for r, c in mine.heap.items() if r in others and others[r] is c}
        merged = {**mine.vars}
        for name, value in mine.vars.items():
            other = theirs.vars.get(name, value)
            if other is not value:
                merged[name] = self.value(value, other, (name,))
        for name, value in theirs.vars.items():
            merged.setdefault(name, value)
        return merged

    def state(self, variables: dict[str, Value]) -> State:
        """Join all else, and return the state with these variables."""
        mine, theirs, heap = self.left, self.right, self.heap
        since, sources = {**theirs.since}, {**mine.sources, **theirs.sources}
        for name, line in () if mine.since == since else mine.since.items():
            if since.setdefault(name, line) < line:
                since[name] = line
                if name in mine.sources:
                    sources[name] = mine.sources[name]
        for side in (mine.heap, theirs.heap):
            for ref in [ref for ref in side if ref not in heap]:
                if ref not in heap:
                    self.ref(ref)
        facts = mine.facts.join(theirs.facts)
        for one, other in ((mine, theirs), (theirs, mine)):
            for symbol in _only_there(one, other):
                facts.take_over(symbol, one.facts)
        return State(variables, since, heap, facts, sources)

    def ref(self, ref: Ref) -> None:
        a, b = self.left.heap.get(ref), self.right.heap.get(ref)
        if ref not in self.left.heap or ref not in self.right.heap:
            self.heap[ref] = a if ref in self.left.heap else b
            return
        self.heap[ref] = None
        content = self.content(a, b, (ref.serial,))
        like = _like(a) if self.place is not None else (*dict.fromkeys((*_like(a), *_like(b))),)
        self.heap[ref] = _alike(content, like)

    def content(self, a: Content, b: Content, key: tuple[object, ...]) -> Content:
        if a is b:
            return a
        join = CONTENTS.get(type(a))
        if join is None or type(a) is not type(b):
            return None
        return join(self, a, b, key)

    def sequence(
        self, a: ListContent, b: ListContent, key: tuple[object, ...]
    ) -> ListContent | None:
        """Join what two paths know of a list."""
        if a.kind != b.kind:
            return None
        if a.items is not None and b.items is not None and len(a.items) == len(b.items):
            pairs = enumerate(zip(a.items, b.items, strict=True))
            items = tuple(self.value(x, y, (*key, i)) for i, (x, y) in pairs)
            return ListContent(items, kind=a.kind)
        count = a.length if a.length == b.length else None
        blank = all(side.blank or side.items == () for side in (a, b))
        return ListContent(None, self.elements(a, b, key), a.kind, count, blank=blank)

    def mapping(
        self, a: DictContent, b: DictContent, key: tuple[object, ...]
    ) -> DictContent | None:
        """Join what two paths know of a dict."""
        if a.kind != b.kind:
            return None
        default = a.default if a.default == b.default else NOTHING
        if a.items is not None and b.items is not None and a.items.keys() == b.items.keys():
            items = {k: self.value(v, b.items[k], (*key, k)) for k, v in a.items.items()}
            return DictContent(items, kind=a.kind, default=default)
        known: dict[Value, Value] = {}
        mine, theirs = (side.known if side.items is None else side.items for side in (a, b))
        for name in (*mine, *(name for name in theirs if name not in mine)):
            each = [
                held.get(name, side.element)
                for side, held in ((a, mine), (b, theirs))
                if name in held or (side.items is None and not side.blank)
            ]
            known[name] = self.value(each[0], each[-1], (*key, name))
        others = [side.element for side in (a, b) if side.items is None and not side.blank]
        element = self.value(others[0], others[-1], (*key, "element")) if others else UNKNOWN
        return DictContent(None, element, a.kind, known, not others, default)

    def instance(self, a: Instance, b: Instance, key: tuple[object, ...]) -> Instance | None:
        """Join what two paths know of an instance."""
        if a.cls != b.cls:
            return None
        whole = a.whole and b.whole
        attrs: dict[str, Value] = {}
        for name in dict.fromkeys((*a.attrs, *b.attrs)):
            x, y = (side.attrs.get(name, UNKNOWN) for side in (a, b))
            # decisions.md, "An attribute that only some paths of a constructor assign is what they
            # assign"
            only = (name in a.attrs) != (name in b.attrs)
            if only and whole and name not in a.defaults:
                attrs[name] = y if x is UNKNOWN else x
            else:
                attrs[name] = self.value(x, y, (*key, name))
        path = a.path if a.path == b.path else one_of(a.path or b.path or "")
        fresh = a.fresh or b.fresh
        return Instance(a.cls, attrs, path, whole=whole, fresh=fresh, defaults=a.defaults)

    def namespace(self, a: Namespace, b: Namespace, key: tuple[object, ...]) -> Namespace:
        """Join what two paths know of a namespace."""
        both = [name for name in a.attrs if name in b.attrs]
        attrs = {name: self.value(a.attrs[name], b.attrs[name], (*key, name)) for name in both}
        whole = a.whole and b.whole and len(a.attrs) == len(b.attrs) == len(both)
        return Namespace(attrs, whole)

    def elements(self, a: ListContent, b: ListContent, key: tuple[object, ...]) -> Value:
        found: list[Value] = []
        for side in (a, b):
            if not side.blank:
                found.extend(side.items if side.items is not None else (side.element,))
        if not found:
            return UNKNOWN
        joined = found[0]
        for value in found[1:]:
            joined = self.value(joined, value, (*key, "element"))
        return joined

    def value(self, a: Value, b: Value, key: tuple[object, ...]) -> Value:
        if a is b:
            return a
        join = _VALUES.get(type(a))
        if join is not None and join is _VALUES.get(type(b)):
            return join(self, a, b, key)
        if type(a) is type(b) and a == b:
            return a
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return self.numbers(a, b, key)
        return self.union(a, b, key)

    def tensors(self, a: Tensor, b: Tensor, key: tuple[object, ...]) -> Tensor:
        return Tensor(
            Shape(self.items(a.shape.dims, b.shape.dims, key)),
            a.dtype | b.dtype,
            a.inserted and b.inserted,
            tuple(dim for dim in a.free if dim in b.free),
            a.more or b.more or {*a.free} != {*b.free},
            a.blank and b.blank,
            None if None in (a.called, b.called) else a.called or b.called,
        )

    def arrays(self, a: Array, b: Array, key: tuple[object, ...]) -> Array:
        return Array(self.tensors(a.tensor, b.tensor, key))

    def views(self, a: ByName, b: ByName, key: tuple[object, ...]) -> ByName:
        return ByName(self.tensors(a.tensor, b.tensor, key), a.hidden & b.hidden)

    def tuples(self, a: tuple[Value, ...], b: tuple[Value, ...], key: tuple[object, ...]) -> Value:
        if has_run(a) or has_run(b):
            if are_dims(a) and are_dims(b):
                return like(a, self.items(a, b, key))
            return UNKNOWN
        if len(a) == len(b):
            pairs = enumerate(zip(a, b, strict=True))
            return like(a, (self.value(x, y, (*key, i)) for i, (x, y) in pairs))
        return UNKNOWN

    def numbers(self, a: Value, b: Value, key: tuple[object, ...]) -> Value:
        if type(a) is type(b) and a == b:
            return a
        return Scalar(as_tensor(a).dtype | as_tensor(b).dtype)

    def dtypes(self, a: DType, b: DType, key: tuple[object, ...]) -> DType:
        return DType(a.dtypes | b.dtypes)

    def refs(self, a: Ref, b: Ref, key: tuple[object, ...]) -> Value:
        left, right = self.held(self.left, a), self.held(self.right, b)
        match left, right:
            case Instance(cls=one), Instance(cls=other) if one != other:
                return OneOf((a, b)) if self.place is None else UNKNOWN
        content = self.content(left, right, key)
        if content is None:
            return self.lost(a, b)
        ref = self.merged(a, key)
        # decisions.md, "What is one of several is changed with them"
        like = (a, b) if self.place is None else _like(left) if ref is a else (a,)
        self.heap[ref] = _alike(content, like)
        return ref

    def held(self, side: State, ref: Ref) -> Content:
        """Return what one of the sides holds, or what was joined before."""
        return side.content(ref) if ref in side.heap else self.heap.get(ref, ref.origin)

    def made(self) -> dict[Ref, Content]:
        """Return what has come to be, as one of what was there before."""
        for ref, content in self.heap.items():
            if content is not None and any(one in self.heap for one in _like(content)):
                like = tuple(self._spelled_out(content))
                self.heap[ref] = _alike(content, like)
        return self.heap

    def _spelled_out(self, content: Content) -> Iterator[Ref]:
        for one in _like(content):
            if one in self.heap:
                yield from self._spelled_out(self.heap[one])
            else:
                yield one

    def merged(self, a: Ref, key: tuple[object, ...]) -> Ref:
        """Return the identity of what may be either of two; at a loop's head, the same again."""
        # decisions.md, "A loop is run until what it takes over stays the same"
        if self.heads is None:
            return Ref()
        ref = self.heads.get((self.place, key))
        if ref is None or (ref is not a and (ref in self.left.heap or ref in self.right.heap)):
            ref = self.heads[self.place, key] = Ref()
        return ref

    def lost(self, a: Value, b: Value) -> Value:
        """Return what isn't known; a list or dict that it may be is filled out of sight."""
        for side, value in ((self.left, a), (self.right, b)):
            for one in only(options(value), Ref):
                content = self.held(side, one)
                if isinstance(content, (ListContent, DictContent)) and is_to_fill(content):
                    self.heap[one] = None
        return UNKNOWN

    def union(self, a: Value, b: Value, key: tuple[object, ...]) -> Value:
        if a is UNKNOWN or b is UNKNOWN:
            return self.lost(a, b)
        found = list(options(a))
        for extra in options(b):
            for index, option in enumerate(found):
                join = _OPTIONS.get(type(option))
                if join is None or type(option) is not type(extra):
                    continue
                merged = join(self, option, extra, (*key, "option"))
                if merged is UNKNOWN:
                    return UNKNOWN
                if merged is not NOTHING:
                    found[index] = merged
                    break
            else:
                found.append(extra)
        if len(found) > 4:
            return self.lost(a, b)
        return OneOf(tuple(found)) if len(found) > 1 else found[0]

    def equal(self, a: Value, b: Value, key: tuple[object, ...]) -> Value:
        """Return the value that both are, `NOTHING` where they differ."""
        return a if a == b else NOTHING

    def items(
        self, a: tuple[Item, ...], b: tuple[Item, ...], key: tuple[object, ...]
    ) -> tuple[Item, ...]:
        if a == b:
            return a
        left, right = self.left.facts, self.right.facts
        a, b = left.shape(Shape(a)).dims, right.shape(Shape(b)).dims
        pairs = list(zip(a, b, strict=False))
        if len(a) == len(b) and all(x == y for x, y in pairs if _any_run(x, y)):
            return tuple(
                x if isinstance(x, Run) else self.dim(x, y, (*key, i))  # type: ignore[arg-type]
                for i, (x, y) in enumerate(pairs)
            )
        front = self.shared(pairs)
        back = self.shared(zip(reversed(a[len(front) :]), reversed(b[len(front) :]), strict=False))
        # decisions.md, "Where paths meet, a size or a rank is one of several"
        if self.place is not None:
            return (
                *front,
                Run(Sym("...", Kind.UNKNOWN, LoopHead(self.place, key))),
                *reversed(back),
            )
        middles = (part[len(front) : len(part) - len(back)] for part in (a, b))
        return (*front, *either(*middles), *reversed(back))

    def shared(self, pairs: Iterable[tuple[Item, Item]]) -> list[Item]:
        """Return the items that two shapes have in common at one end."""
        found: list[Item] = []
        for x, y in pairs:
            if isinstance(x, Run) or isinstance(y, Run):
                if x != y or not x.symbol.has_name:  # type: ignore[union-attr]  # the same run
                    break
            elif not self.agree(x, y):
                break
            found.append(x)
        return found

    def agree(self, x: DimExpr, y: DimExpr) -> bool:
        return x == y or self.left.facts.dim(x) == self.right.facts.dim(y)

    def dim(self, x: DimExpr, y: DimExpr, key: tuple[object, ...]) -> DimExpr:
        if self.agree(x, y):
            return x
        if self.place is None:
            return dims.either(x, y)
        return Size.of(Sym("_", Kind.UNKNOWN, LoopHead(self.place, key)))


def _like(content: Content) -> tuple[Ref, ...]:
    """Return what something on the heap is one of."""
    return () if content is None else content.like


def _alike(content: Content, like: tuple[Ref, ...]) -> Content:
    return content if content is None or content.like == like else replace(content, like=like)


def is_to_fill(content: ListContent | DictContent) -> bool:
    """Whether a list or dict is begun empty, for others to fill it."""
    return content.items is not None and not content.items and content.kind in _TO_FILL


def _weakened(content: Content, before: Content, after: Content) -> Content:
    """Return what is known of what may be something else that has changed."""
    if not isinstance(after, Instance) or not isinstance(before, Instance):
        return None
    if not isinstance(content, Instance):
        return content
    old, new = before.attrs, after.attrs
    names = [name for name, value in old.items() if value is not UNKNOWN and value != new.get(name)]
    return content.with_attrs({**content.attrs, **dict.fromkeys(names, UNKNOWN)})


CONTENTS: Final[dict[type, Callable[..., Content]]] = {
    ListContent: _Joiner.sequence,
    DictContent: _Joiner.mapping,
    Instance: _Joiner.instance,
    Namespace: _Joiner.namespace,
}
"""What holds of what is one of two contents of one type."""

_VALUES: Final[dict[type, Callable[..., Value]]] = {
    Tensor: _Joiner.tensors,
    Array: _Joiner.arrays,
    ByName: _Joiner.views,
    int: _Joiner.dim,
    Size: _Joiner.dim,
    tuple: _Joiner.tuples,
    Sizes: _Joiner.tuples,
    Fields: _Joiner.tuples,
    Ref: _Joiner.refs,
    bool: _Joiner.numbers,
    float: _Joiner.numbers,
    Scalar: _Joiner.numbers,
    DType: _Joiner.dtypes,
}
"""What holds of what is one of two values that are joined in the same way."""

_NUMBERS: Final = frozenset((bool, int, float, Scalar, Size))

_OPTIONS: Final[dict[type, Callable[..., Value]]] = {
    Tensor: _Joiner.value,
    Array: _Joiner.value,
    ByName: _Joiner.value,
    Ref: _Joiner.refs,
    OpInstance: _Joiner.equal,
    type(None): _Joiner.equal,
}
"""What one option becomes that another of its type is joined to; the others stay apart."""


def _any_run(x: Item, y: Item) -> bool:
    return isinstance(x, Run) or isinstance(y, Run)


@dataclass(frozen=True, slots=True)
class Yielded:
    """A value that a generator yields, and the state in which it does.

    `once`: the program gets to this point, and just once.
    """

    value: Value
    state: State
    once: bool
