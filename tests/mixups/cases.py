"""Reads the programs of `*.diff`, and makes modules of them; README.md describes the format."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from lone_program import said_of
from paired_programs import paired_programs
from seeding import generator
from torch import Tensor

from shapecheck.analysis import Diagnostic
from shapecheck.rewriting import rewrite
from shapecheck.tensor_spec import TensorSpec, read

HERE = Path(__file__).parent
PRELUDE = """\
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypedDict
import einops
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, reduce, repeat
from torch import Tensor
from shapecheck import Bool, Complex, Float, Int, Num, assert_shape, named
"""
_numbers = itertools.count()


@dataclass(frozen=True)
class Case:
    """A program, right and wrong; `equal` are the groups of names whose sizes are mixed up.

    `found_by` is empty where both sides find what is wrong.
    """

    file: str
    name: str
    equal: tuple[tuple[str, ...], ...]
    right: str
    wrong: str
    found_by: str

    @property
    def id(self) -> str:
        """The case's name among those of all files."""
        return f"{self.file}/{self.name}"


@cache
def cases() -> tuple[Case, ...]:
    """Return all programs, in the order of their files."""
    found = []
    for path in sorted(HERE.glob("*.diff")):
        for name, head, right, wrong in paired_programs(path):
            groups, _, found_by = head.partition("; ")
            equal = tuple(tuple(group.split("=")) for group in groups.split())
            found.append(Case(path.stem, name, equal, right, wrong, found_by))
    return tuple(found)


def module(program: str, decorated: bool) -> ModuleType:
    """Execute a program, with `@shapecheck` on all that is in it or on nothing."""
    name = f"mixup_{next(_numbers)}"
    path = f"<{name}>"
    source = PRELUDE + program
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    tree = ast.parse(source, path)
    if decorated:
        rewrite(tree, "shapecheck.runtime.decorate.hook")
    made = ModuleType(name)
    exec(compile(tree, path, "exec", dont_inherit=True), vars(made))
    return made


def entry(made: ModuleType) -> tuple[Callable[..., Any], type | None]:
    """Return what a program is about: its function `f`, or `forward` of its last class."""
    if "f" in vars(made):
        return made.f, None
    cls = [c for c in vars(made).values() if isinstance(c, type) and c.__module__ == made.__name__]
    return cls[-1].forward, cls[-1]


def analysed(program: str, strict: bool = False) -> list[Diagnostic]:
    """Return the errors that the analysis finds in a program."""
    found = said_of(PRELUDE + program, strict)
    return [one for one in found if one.severity == "error"]


SMALLEST = 3
"""The smallest size of a dimension, so that an index of less is valid everywhere."""
ITEMS = 3
"""The length of a list."""


class Arguments:
    """Makes the arguments of a function from its annotations.

    A tensor is random, an int is the size of its name, a container has a few items, and an
    instance is made from its fields or the annotations of its `__init__`. `draw` says what the
    size of a name is, `rank` that of a group: each is asked once.
    """

    def __init__(self, draw: Callable[[str], int], rank: Callable[[str], tuple[int, ...]]) -> None:
        self.draw = cache(draw)
        self.rank = cache(rank)
        self.self: object = None
        self.seed = generator()

    def __getitem__(self, name: str) -> Any:
        if name == "self":
            return self.self
        if name in ("min", "max"):
            raise KeyError(name)
        return self.draw(name)

    def of(self, function: Any) -> dict[str, Any]:
        """Return the arguments of a function, or the fields of a class."""
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
        hints.pop("return", None)
        return {name: self.value(hint, name) for name, hint in hints.items()}

    def value(self, hint: Any, name: str = "") -> Any:
        """Return a value for an annotation."""
        found = read(hint)
        if found is not None:
            return self.tensor(found[1])
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint is int:
            return self.draw(name)
        if origin is list:
            return [self.value(args[0]) for _ in range(ITEMS)]
        if origin is dict:
            return {key: self.value(args[1]) for key in ("one", "two")}
        if origin is tuple:
            hints = args[:1] * ITEMS if args[-1] is ... else args
            return tuple(self.value(item) for item in hints)
        if type(None) in args:
            return self.value(args[0])
        plain = typing.is_typeddict(hint) or hasattr(hint, "_fields")
        return hint(**self.of(hint if plain else hint.__init__))

    def tensor(self, spec: TensorSpec) -> Tensor:
        """Return a random tensor; indices are valid for all sizes."""
        shape = self.shape(str(spec.shape))
        if spec.label == "Int":
            return torch.randint(0, SMALLEST, shape, generator=self.seed)
        if spec.label == "Bool":
            return torch.rand(shape, generator=self.seed) > 0.5
        dtype = torch.complex64 if spec.label == "Complex" else torch.float32
        return torch.rand(shape, generator=self.seed, dtype=dtype) + 0.5

    def shape(self, text: str) -> list[int]:
        """Return the sizes that an annotation stands for."""
        found: list[int] = []
        for part in re.findall(r"\([^)]*\)\S*|\S+", text):
            part = part.rpartition("=")[2].lstrip("#")
            if part.startswith("*"):
                found += self.rank(part.strip("*#"))
            else:
                size = re.sub("[ {}]", lambda sign: "*" if sign[0] == " " else "", part)
                found.append(eval(size, {}, self))
        return found
