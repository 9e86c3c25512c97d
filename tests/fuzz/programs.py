"""Random PyTorch programs: functions and classes of all kinds, annotated or not, right or wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fuzz import annotations
from fuzz.expressions import Expressions

HEAD = """\
from __future__ import annotations
import dataclasses, enum, functools, itertools, math
from dataclasses import dataclass, field
from typing import Annotated, Any, Callable, Generic, Iterator, Literal, NamedTuple, Optional
from typing import Protocol, TypedDict, TypeVar, Union, overload
import einops, einx, jaxtyping as jt, numpy as np, torch, torchvision
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor
import shapecheck.named
from shapecheck import Bool, Complex, Float, Float32, Int, Num, Shaped, UInt8, assert_shape, dims
from shapecheck import dims_of, disabled, named, names, reveal_shape
from shapecheck import shapecheck as checked

T = TypeVar("T")
Image = Float[Tensor, "h w"]
Batch, Time = dims("batch time")
"""
MOST_DEPTH = 3
CLASSES = ("A", "B", "C")
METHODS = (
    *("forward", "forward", "forward", "step", "__call__", "__getitem__", "__len__", "__iter__"),
    *(
        "__getattr__",
        "__enter__",
        "__add__",
        "__eq__",
        "__init_subclass__",
        "__post_init__",
        "__new__",
    ),
)
BASES = (
    *("nn.Module", "nn.Module", "nn.Module", "", "nn.Sequential", "nn.ModuleList", "NamedTuple"),
    *("TypedDict", "Protocol", "Generic[T]", "enum.Enum", "nn.Linear", "A", "B", "dict", "Tensor"),
)
DECORATORS = (
    *(
        "@checked",
        "@torch.no_grad()",
        "@staticmethod",
        "@classmethod",
        "@property",
        "@functools.cache",
    ),
    *(
        "@functools.wraps(print)",
        "@torch.jit.script",
        "@checked(dims='b n')",
        "@unknown",
        "@overload",
    ),
    *(
        "@dataclass",
        "@dataclass(frozen=True, slots=True)",
        "@(lambda f: f)",
        "@functools.cached_property",
    ),
)


class Program(Expressions):
    """Writes one program line by line; it compiles, whatever else it does."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.lines: list[str] = []
        self.depth = 0
        self.in_loop = self.in_class = self.in_function = self.is_async = False

    def text(self) -> str:
        """Return a new program."""
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            if self.rng.random() < 0.4:
                self.klass()
            else:
                self.function(self.one_of(("f", "g", "f2")))
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            self.statement()
        return HEAD + "\n".join(self.lines) + "\n"

    # Writing

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a head; what is written meanwhile is its block."""
        self.line(head)
        known = self.tensors[:], self.ints[:], self.others[:]
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1
        if self.rng.random() < 0.5:
            self.tensors, self.ints, self.others = known

    def body(self, head: str, most: int = 3) -> None:
        """Write a head, and a block of a few statements."""
        with self.block(head):
            for _ in range(self.rng.randint(1, most)):
                self.statement()

    # Definitions

    def function(self, name: str, first: str = "") -> None:
        """Write a function, with what may stand around it."""
        rng = self.rng
        while rng.random() < 0.2:
            self.line(self.one_of(DECORATORS))
        kept = self.tensors, self.ints, self.others, self.in_loop, self.in_class, self.in_function
        outer = self.is_async
        self.tensors, self.ints = self.tensors[:], self.ints[:]
        self.in_loop = self.in_class = False
        self.in_function = True
        self.is_async = rng.random() < 0.04
        params = self.parameters(first)
        back = f" -> {annotations.any_kind(rng)}" if rng.random() < 0.6 else ""
        head = "async def" if self.is_async else "def"
        with self.block(f"{head} {name}({params}){back}:"):
            if rng.random() < 0.1:
                self.line(repr(f"Take x of shape ({annotations.text(rng)})."))
            for _ in range(rng.randint(1, 5)):
                self.statement()
            if rng.random() < 0.8:
                self.line(f"return {self.result()}")
        self.tensors, self.ints, self.others, self.in_loop, self.in_class, self.in_function = kept
        self.is_async = outer
        self.others = [*self.others, name] if not first else self.others

    def parameters(self, first: str) -> str:
        """Return the parameters of a function, and know them."""
        rng, given = self.rng, [first] if first else []
        defaults = False
        for name in ("x", "m", "v")[: rng.choice((0, 1, 2, 2, 3))]:
            said = f": {annotations.any_kind(rng)}" if rng.random() < 0.75 else ""
            defaults = defaults or rng.random() < 0.1
            default = f" = {self.one_of(('None', '2', '()', '[]'))}" if defaults else ""
            given.append(f"{name}{said}{default}")
            self.tensors.append(name)
        if rng.random() < 0.1 and not defaults and given:
            given.append("/")
        said = f": {annotations.tensor(rng)}" if rng.random() < 0.5 else ""
        given.append(self.one_of(("*", "*xs" + said)) if rng.random() < 0.2 else "*")
        given += [f"n{self.one_of((': int', '', ': Any'))} = 2", "flag: bool = False"]
        self.ints += ["n"]
        if rng.random() < 0.1:
            given.append("**more" + said)
        return ", ".join(given)

    def klass(self) -> None:
        """Write a class."""
        rng, name = self.rng, self.one_of(CLASSES)
        while rng.random() < 0.2:
            self.line(self.one_of(DECORATORS))
        base = self.one_of(BASES)
        kept, self.in_class = (self.in_class, self.in_function), True
        with self.block(f"class {name}{f'({base})' if base and base != name else ''}:"):
            for _ in range(rng.choice((0, 0, 1, 2))):
                default = f" = {self.anything(1)}" if rng.random() < 0.3 else ""
                self.line(f"{self.one_of(('a', 'e', 'n'))}: {annotations.any_kind(rng)}{default}")
            if rng.random() < 0.7:
                self.constructor(base)
            for _ in range(rng.choice((0, 1, 1, 2))):
                self.tensors += ["self.w", "self(x)", "self.e"]
                self.ints += ["self.d"]
                self.function(self.one_of(METHODS), self.one_of(("self", "self", "self", "cls")))
        self.in_class, self.in_function = kept
        self.tensors = [one for one in self.tensors if not one.startswith("self")]
        self.ints = [one for one in self.ints if not one.startswith("self")]
        self.others = [*self.others, name, f"{name}({self.integer(0)})"]

    def constructor(self, base: str) -> None:
        """Write a constructor that makes modules, parameters and sizes."""
        rng = self.rng
        self.ints += ["n"]
        with self.block(f"def __init__(self, d{self.one_of((': int', ''))} = 4, n=2, *given):"):
            if rng.random() < 0.9:
                self.line("super().__init__()")
            made: list[Callable[[], str]] = [
                lambda: f"self.d = {self.integer(1)}",
                lambda: f"self.e = {self.module(0)}",
                lambda: f"self.e = nn.ModuleList([{self.module(0)} for i in range(n)])",
                lambda: f"self.e = nn.ModuleDict({{'a': {self.module(0)}}})",
                lambda: f"self.w = nn.Parameter({self.new()})",
                lambda: f"self.register_buffer('w', {self.new()})",
                lambda: f"self.w: {annotations.any_kind(rng)} = {self.tensor(1)}",
                lambda: f"setattr(self, {self.one_of((repr('w'), 'n'))}, {self.anything(1)})",
                lambda: f"self.e = self.{self.one_of(('e', 'forward', 'd', 'w'))}",
                lambda: f"self.e, self.d = {self.anything(1)}, n",
            ]
            for _ in range(rng.randint(1, 4)):
                self.line(rng.choice(made)())
        self.ints.pop()

    # Statements

    def result(self) -> str:
        """Return what a function may return."""
        draw = self.rng.random()
        if draw < 0.75:
            return self.tensor()
        return self.sequence(2) if draw < 0.9 else self.anything(2)

    def statement(self) -> None:
        """Write a statement."""
        simple = (
            self.assign,
            self.assign,
            self.assign,
            self.assign,
            self.unpack,
            self.plain,
            self.change,
        )
        blocks = (
            *(
                self.branch,
                self.branch,
                self.loop,
                self.loop,
                self.attempt,
                self.within,
                self.match,
            ),
            *(self.nested, self.generator),
        )
        some = simple if self.depth >= MOST_DEPTH or self.rng.random() < 0.7 else blocks
        self.rng.choice(some)()

    def assign(self) -> None:
        """Write an assignment of one value to a name."""
        rng, name = self.rng, self.one_of(("y", "z", "u", "x", "v"))
        draw = rng.random()
        if draw < 0.12:
            self.line(f"k = {self.integer(2)}")
            self.ints.append("k")
            return
        value = self.sequence(2) if draw < 0.2 else self.tensor()
        said = f": {annotations.any_kind(rng)}" if rng.random() < 0.25 else ""
        self.line(f"{name}{said} = {value}")
        self.tensors.append(name)

    def unpack(self) -> None:
        """Write an assignment to several targets."""
        name = self.one_of(self.tensors) if self.tensors else "n"
        target = self.one_of(
            ("b, n", "b, *k", "(b, n), k", "b, n, k", "*b,", "[b, n]", "b[0], n", "b.z, n")
        )
        value = self.one_of((f"{name}.shape", f"{name}.size()", self.sequence(1), self.anything(1)))
        self.line(f"{target} = {value}")
        self.ints += [one for one in ("b", "n", "k") if one in target.replace("*", "").split(", ")]

    def plain(self) -> None:
        """Write an expression, an assertion, or a jump."""
        t, rng = self.tensor(), self.rng
        said = repr(annotations.text(rng))
        made = [
            *(t, f"assert {self.condition(1)}", f"assert {self.condition(1)}, {self.anything(0)}"),
            *(f"reveal_shape({t})", f"reveal_type({t})", f"assert_shape({t}, {said})"),
            *(f"u = named({t}, {said})", f"print({t})", f"isinstance({t}, Float[Tensor, {said}])"),
            *(f"dims_of({t})", "raise ValueError(n)", "del x", "import torch as n", "global zz"),
            *("type: ignore = 3", "...", f"x.y = {t}", "x: Tensor", f"[].append({t})"),
        ]
        made += ["break", "continue"] if self.in_loop else []
        made += [f"return {t}", f"yield {t}"] if self.in_function and not self.is_async else []
        made += [f"await {t}"] if self.is_async else []
        self.line(rng.choice(made))

    def change(self) -> None:
        """Write a statement that changes a value in place."""
        name, t = self.one_of(self.tensors) if self.tensors else "q", self.tensor()
        name = "q" if "(" in name else name
        operator = self.one_of(("+=", "-=", "*=", "@=", "//=", "**=", ">>=", "|="))
        self.line(
            self.one_of(
                (
                    f"{name} {operator} {t}",
                    f"{name}[{self.index(1)}] = {t}",
                    f"{name}[{self.index(1)}] {operator} {t}",
                    f"del {name}[{self.index(1)}]",
                    f"{name}.append({t})",
                    f"{name}.update({self.anything(1)})",
                    f"{name}.w = {t}",
                )
            )
        )

    def branch(self) -> None:
        """Write an `if`."""
        self.body(f"if {self.condition(2)}:", 2)
        if self.rng.random() < 0.3:
            self.body(f"elif {self.condition(2)}:", 2)
        if self.rng.random() < 0.5:
            self.body("else:", 2)

    def loop(self) -> None:
        """Write a loop."""
        outer, self.in_loop = self.in_loop, True
        target = self.one_of(("i", "y", "i, y", "_", "(i, y)", "i, *y", "y.z", "q[0]"))
        if self.rng.random() < 0.75:
            self.body(f"for {target} in {self.iterable(2)}:")
        else:
            self.body(f"while {self.condition(1)}:")
        self.in_loop = outer
        if self.rng.random() < 0.15:
            self.body("else:", 1)

    def attempt(self) -> None:
        """Write a `try`."""
        self.body("try:", 2)
        caught = self.one_of(
            ("ValueError", "(ValueError, TypeError)", "Exception", "n", "torch.Tensor")
        )
        self.body(f"except {caught}{self.one_of(('', ' as error'))}:", 1)
        if self.rng.random() < 0.3:
            self.body("else:", 1)
        if self.rng.random() < 0.3:
            self.body("finally:", 1)

    def within(self) -> None:
        """Write a `with`."""
        used = (
            "torch.no_grad()",
            "open('f') as y",
            "names()",
            "disabled()",
            f"{self.tensor(1)} as (y, z)",
        )
        self.body(f"with {self.one_of(used)}:", 2)

    def match(self) -> None:
        """Write a `match`."""
        name = self.one_of(self.tensors) if self.tensors else "n"
        with self.block(f"match {self.one_of((name, f'{name}.shape', f'{name}.ndim', '(n, x)'))}:"):
            for case in self.rng.sample(
                (
                    *("case 2:", "case (b, n):", "case [b, *k]:", "case Tensor(shape=(b, 2)):"),
                    *("case {'a': y, **more}:", "case None | 1:", "case int() as k if k > 2:"),
                    *("case A(w=y):", "case torch.float32:", "case (2, (3 | 4) as k):", "case -1:"),
                ),
                2,
            ):
                self.body(case, 1)

    def nested(self) -> None:
        """Write a function or a class in another."""
        if self.rng.random() < 0.15 and not self.in_class:
            self.klass()
        else:
            self.function(self.one_of(("inner", "g")))

    def generator(self) -> None:
        """Write a generator, and take what it gives."""
        said = f" -> Iterator[{annotations.tensor(self.rng)}]" if self.rng.random() < 0.4 else ""
        with self.block(f"def gen(){said}:"):
            self.line(f"y = yield {self.tensor(1)}")
            self.line(
                self.one_of(
                    (f"yield from {self.sequence(1)}", f"yield {self.tensor(1)}", "return y")
                )
            )
        self.line(
            self.one_of(("y = next(gen())", "y, z = gen()", "y = [*gen()]", "y = gen().send(x)"))
        )
        self.tensors.append("y")
