"""Calls of ops in files, and what is said of them and of the calls beside them.

Calls are the lines that aren't indented: `T("b t 3")` is a tensor, with a dtype perhaps, a letter
a name, `some` a size of which nothing is known, and `mine` one of the program's own. Below each
stands what is said of it, and what else is said of the same call where a tensor has other axes, a
name is another one, or a number is another one or unknown (`_`). `pytest --update` writes that
anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
from op_oracle import parse

from shapecheck import dims, dtypes
from shapecheck.dims import Sym
from shapecheck.ops import UNKNOWN, DType, Repeated
from shapecheck.ops.call import Fields, Packed
from shapecheck.ops.patterns.pattern import as_length
from shapecheck.shapes import Facts, Free, Mismatch, Run, Shape, Tensor
from shapecheck.signatures import Table

TENSOR = re.compile(r'T\("([^"]*)"')
TEXT = re.compile(r'(T\()?"([^"]*)"')
SIZES = re.compile(r"(?<!\w)\(([^()\"\[\]]+,[^()\"\[\]]*)\)")
AXIS = re.compile(r"\([^)]*\)|\S+")
KINDS = {"float16", "float32", "float64", "int8", "int32", "int64", "bool", "complex64"}
NUMBER = re.compile(r"(?<![\w\"./*])(?<![/*+-] )-?\d+(?![\w\".])")


NAMED = {name: dims.Dim(name) for name in "btdkz"} | {"ten": dims.Dim("ten", size=10)}
"""Dimension objects, by their names."""


class Dotted:
    """Something by its dotted name, which is called as an op or made as a module."""

    def __init__(self, name: str, facts: Facts, stubs: Table) -> None:
        self._name, self._facts, self._stubs = name, facts, stubs

    def __getattr__(self, name: str) -> Any:
        return Dotted(f"{self._name}.{name}", self._facts, self._stubs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple(one._attrs if isinstance(one, Made) else one for one in args)
        cls = self._stubs.lookup_class(self._name)
        if cls is not None:
            attrs = cls.construct(args, kwargs)
            assert attrs is not None, f"the arguments don't fit {self._name}"
            return Made(self._name, cls, attrs, self._facts)
        signature = self._stubs.signature(self._name)
        assert signature is not None, f"there is no signature of {self._name}"
        return signature.apply(self._facts, args, kwargs, self._name)


class Made:
    """A module or another object, made of its arguments."""

    def __init__(self, name: str, cls: Any, attrs: Any, facts: Facts) -> None:
        self._name, self._cls, self._attrs, self._facts = name, cls, attrs, facts

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = self._cls.method(name)
        if found is None:
            return self._cls.attribute(name, self._attrs)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = found.apply(self._facts, args, kwargs, self._name, self._attrs)
            is_other = name == "expand" and isinstance(given, dict)
            return Made(self._name, self._cls, given, self._facts) if is_other else given

        return call


BARE: Mapping[str, Callable[[], Sym]] = {
    "?": lambda: Sym.untold("x"),
    "~": lambda: Sym.suppose("..."),
}
"""The axes of a parameter without annotation, and of one that is studied."""


def tensor(text: str, dtype: str = "") -> Tensor:
    """Return a tensor from its axes; any dtype is possible where none is given."""
    kind = dtypes.of(dtype) if dtype else dtypes.ANY
    return Tensor(Shape((Run(BARE[text]()),)), kind) if text in BARE else parse(text, kind)


def told(value: Any) -> str:
    """Return what a rule gives, in words."""
    if isinstance(value, Tensor):
        kind = "" if value.dtype == dtypes.ANY else f" {dtypes.describe(value.dtype)}"
        marks = [mark for mark in ("inserted", "blank") if getattr(value, mark)]
        marks += [f"over {' '.join(map(str, value.free))}"] if value.free else []
        marks += ["and more"] if value.more else []
        return f"({value.shape.text()}){kind}" + "".join(f" {mark}" for mark in marks)
    if isinstance(value, Fields):
        named = zip(value.names, value, strict=True)
        return f"[{', '.join(f'{key} {told(one)}' for key, one in named)}]"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, Repeated):
        return f"{value.count} times {told(value.element)}"
    if isinstance(value, Packed):
        return f"packed {told(value.data)}, {value.batch} of them"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {told(one)}' for key, one in value.items())}}}"
    return str(value)


def named(facts: Facts, stubs: Table) -> dict[str, Any]:
    """Return what the names in a call stand for."""
    free = [Free(Sym.fresh(name)) for name in "ijk"]
    facts.atoms = {dim.bound: 1 for dim in free}  # to no size, before an index binds them
    names = {letter: dims.name(letter) for letter in ascii_lowercase}
    return {
        **names,
        **{
            name: Dotted(name, facts, stubs)
            for name in "torch einops einx fancy_einsum functorch shapecheck lib".split()
        },
        "T": tensor,
        "_": UNKNOWN,
        "many": lambda element, count: Repeated(element, as_length(count)),
        "some": dims.unknown("some"),
        "rest": Run(Sym.fresh("...")),
        "mine": dims.own("mine"),
        "new": Tensor(parse("b t").shape, inserted=True),
        "Dim": lambda name: NAMED[name].dim,
        **{dim.symbol.name.upper(): dim for dim in free},
        "dtype": lambda name: DType(dtypes.of(name)),
    }


def result(source: str, stubs: Table) -> Any:
    """Return what a call gives, or the `Mismatch` that it raises."""
    try:
        return eval(source, named(Facts(), stubs))
    except Mismatch as error:
        return error


def outcome(source: str, stubs: Table) -> str:
    """Return what is said of a call, and what is learned of its names."""
    facts = Facts()
    given = named(facts, stubs)
    free = [one for one in given.values() if isinstance(one, Free)]
    try:
        found = told(eval(source, given))
    except Mismatch as error:
        problem = error.problem
        hints = f", hints {' '.join(problem.hints)}" if problem.hints else ""
        about = ", ".join(
            f"({one.text()})" if isinstance(one, Shape) else str(one) for one in problem.about
        )
        return f"{problem.headline}: {problem.reason} [{problem.code}]{hints}" + (
            f", about {about}" if about else ""
        )
    atoms = facts.atoms.items() - {(dim.bound, 1) for dim in free}
    learned = [
        f"{dims.Size.of(atom)} is {size}"
        for atom, size in facts.atoms.items()
        if (atom, size) in atoms
    ]
    rows = [f"{Run(row)} is ({Shape(facts.items(it)).text()})" for row, it in facts.runs.items()]
    return "; ".join([found, *learned, *rows])


def others(text: str) -> Iterator[str]:
    """Yield the axes of other tensors in the place of one: more, fewer, others, unknown."""
    axes = AXIS.findall(text)
    yield "..."
    yield f"z {text}".strip()
    if axes:
        yield " ".join(["...", *axes[1:]])
        yield " ".join([*axes[:-1], "..."])
        yield " ".join(axes[1:])
        yield " ".join([*axes[:-1], "z"])
        yield " ".join(["1", *axes[1:]])


def patterns(text: str) -> Iterator[str]:
    """Yield names or patterns in the place of one: others, and such as are a part short."""
    words = text.split(" ")
    yield "z"
    if len(words) > 1:
        yield " ".join(words[1:])
        yield " ".join(words[:-1])
        yield " ".join([words[0], *words])
        yield " ".join([*words[:-1], "z"])


def beside(source: str) -> Iterator[tuple[str, str]]:
    """Yield calls beside a call, each behind what is another thing in it."""
    bare = re.sub(r'"[^"]*"', lambda text: "~" * len(text[0]), source)
    changes = [
        *((match.span(1), [*others(match[1])]) for match in TENSOR.finditer(source)),
        *((match.span(), ["_", "9", "-3"]) for match in NUMBER.finditer(bare)),
        *(
            (match.span(2), [*patterns(match[2])])
            for match in TEXT.finditer(source)
            if not match[1] and match[2] not in KINDS
        ),
        *((match.span(), ["_", "False"]) for match in re.finditer("True|None", bare)),
        *((match.span(), ["_", "True"]) for match in re.finditer("False", bare)),
    ]
    for (start, stop), several in changes:
        old = source[start:stop]
        quote = '"' if source[start - 1 : start] == '"' else ""
        for new in several:
            if new != old:
                about = f"{quote}{new}{quote} for {quote}{old}{quote}"
                yield about, source[:start] + new + source[stop:]


def with_rows(source: str) -> Iterator[str]:
    """Yield calls with `rest`, which is any number of sizes, for some sizes at an end of several.

    No first-class dimension is among them.
    """
    for match in SIZES.finditer(source):
        items = [one.strip() for one in match[1].split(",") if one.strip()]
        if re.search(r"\b[IJK]\b", source) or any(re.search("=|None", one) for one in items):
            continue
        for count in range(len(items) + 1):
            for new in (["rest", *items[count:]], [*items[: len(items) - count], "rest"]):
                yield f"{source[: match.start()]}({', '.join(new)},){source[match.end() :]}"


def admits(source: str, instance: str, stubs: Table) -> bool:
    """Whether what is said of a call may be so where it is another, which is right."""
    found, known = (result(one, stubs) for one in (source, instance))
    if isinstance(known, Mismatch):
        return True
    if isinstance(found, Tensor) and isinstance(known, Tensor):
        ranks = found.shape.rank, known.shape.rank
        return None in ranks or (ranks[0] == ranks[1] and _may_be(found.shape, known.shape))
    if isinstance(found, tuple) and isinstance(known, tuple):
        return len(found) == len(known) or any(isinstance(one, Run) for one in found)
    return not isinstance(found, Mismatch)


def _may_be(one: Shape, other: Shape) -> bool:
    pairs = zip(one.dims, other.dims, strict=True)
    return not any(
        dims.compare(dims.size_of(x), dims.size_of(y)).relation is dims.Relation.DIFFERENT
        for x, y in pairs
        if not isinstance(x, Run) and not isinstance(y, Run)
    )


def written(calls: list[str], stubs: Table, alone: bool) -> str:
    """Return a file's text: calls, and what is said of them and, once each, of those beside them.

    Where that is what is said of the call itself, only how many there are of them is told. `alone`:
    nothing is said of others.
    """
    lines: list[str] = []
    for call in calls:
        own = outcome(call, stubs)
        lines += [call, f"    {own}"]
        if alone:
            continue
        found: dict[str, list[str]] = {}
        for about, other in beside(call):
            found.setdefault(outcome(other, stubs), []).append(about)
        same = found.pop(own, [])
        lines += [f"    so are {len(same)} others"] if same else []
        lines += [f"    {', '.join(abouts)} -> {said}" for said, abouts in found.items()]
    return "\n".join(lines) + "\n"


def with_bare(call: str) -> Iterator[str]:
    """Yield a call with each of its tensors in turn as a bare parameter."""
    for match in TENSOR.finditer(call):
        for bare in BARE:
            yield call[: match.start(1)] + bare + call[match.end(1) :]


def calls_of(path: Path) -> list[str]:
    """Return the calls of a file."""
    return [one for one in path.read_text("utf-8").splitlines() if one and one[0] != " "]


def check(path: Path, stubs: Table, request: pytest.FixtureRequest, alone: bool = False) -> None:
    """Compare what is said of the calls of a file with what stands there."""
    found = written(calls_of(path), stubs, alone)
    if request.config.getoption("--update"):
        path.write_text(found, "utf-8")
    assert found.splitlines() == path.read_text("utf-8").splitlines()
