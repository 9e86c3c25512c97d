"""Random expressions: what is plausible where they stand, and now and then what is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from fuzz.calls import Op, Param, ops

NAMES = ("b", "n", "d", "h", "w", "c", "t")
SIZES = ("1", "2", "3", "4", "5", "8", "16")
ODD = (
    *("0", "-1", "True", "10**9", "2**63", "-(2**63)", "10**30", "n >> 1", "1 << n", "~n", "-n"),
    *("n // 0", "n % 0", "2 ** -n", "n ** n", "7 // -2", "divmod(n, 3)[1]", "round(n / 2)"),
    *(
        "1e400",
        "float('nan')",
        "0.5",
        "None",
        "'x'",
        "''",
        "b'x'",
        "...",
        "slice(None)",
        "[]",
        "{}",
    ),
    *(
        "()",
        "{1, 2}",
        "(lambda: 0)",
        "torch.float32",
        "int",
        "print",
        "object()",
        "1j",
        "NotImplemented",
    ),
    *("range(3)", "[[1, 2], [3]]", "type(n)", "n and 3", "not n", "n if flag else 2", "max(n, 2)"),
    *("min([n, 3])", "sum((1, n))", "len('abc')", "abs(-n)", "int('3')", "pow(n, 2, 5)", "'a' * n"),
    *("n is None", "1 < n < 4", "f'{n}'", "(n := 3)", "[*range(2)]", "{**{}}", "__name__"),
)
PATTERNS = (
    *("b c -> c b", "b c -> (b c)", "b (h d) -> b h d", "b c h w -> b (h w) c", "... d -> d ..."),
    *(
        "b n d -> b n",
        "b c -> b c 1",
        "b () c -> b c",
        "(b 2) c -> b 2 c",
        "b c -> b c d",
        "a a -> a",
    ),
    *(
        "b ... -> b (...)",
        "b c",
        "b -> -> c",
        "(b (c)) d -> b",
        "",
        "b_ 2b -> b_",
        "b c → c b",
        "* a",
    ),
)
EINSUMS = (
    *(
        "ij,jk->ik",
        "bij,bjk->bik",
        "...i,...j->...ij",
        "ii->i",
        "i,i",
        "b h q d, b h k d -> b h q k",
    ),
    *(
        "ij->",
        "i j -> j i",
        "ij,jk",
        "",
        "->",
        "ij,jk->iz",
        "i->ii",
        "a.b->a",
        "ij,,jk->ik",
        "IJ->JI",
    ),
)
DTYPES = (
    "torch.float32",
    "torch.long",
    "torch.bool",
    "torch.complex64",
    "torch.half",
    "int",
    "'x'",
)
WILD = (0.0, 0.01, 0.06, 0.15)
"""How often a value of any kind stands where another one belongs, program by program."""


class Expressions:
    """Writes expressions over the names that a scope knows, kind by kind."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.wrong = rng.choice(WILD)
        self.tensors: list[str] = []
        self.ints: list[str] = []
        self.others: list[str] = []

    def one_of(self, choices: Sequence[str]) -> str:
        """Return one of some texts."""
        return self.rng.choice(choices)

    # Values, by their kinds. `depth` is how many calls may still stand within each other.

    def tensor(self, depth: int = 2) -> str:
        """Return what is most often a tensor."""
        rng = self.rng
        if rng.random() < self.wrong:
            return self.anything(depth)
        if depth <= 0 or rng.random() < 0.35:
            return self.one_of(self.tensors) if self.tensors else self.new()
        return rng.choice(self._tensors())(depth - 1)

    def _tensors(self) -> list[Callable[[int], str]]:
        t, i = self.tensor, self.integer
        return [
            self.op,
            self.op,
            self.op,
            self.op,
            self.method,
            self.method,
            self.patterned,
            lambda d: self.new(),
            lambda d: f"{t(d)} {self.one_of(('+', '-', '*', '/', '@', '**', '//', '%'))} {t(d)}",
            lambda d: f"{t(d)} {self.one_of(('<', '==', '>=', '&', '|', '^', '<<'))} {i(d)}",
            lambda d: f"({t(d)})[{self.index(d)}]",
            lambda d: f"({t(d)}).{self.one_of(('reshape', 'view', 'expand'))}({self.sizes(d)})",
            lambda d: (
                f"({t(d)}).{self.one_of(('T', 'mT', 'H', 'data', 'grad', 'real', 'nothing'))}"
            ),
            lambda d: f"({t(d)} if {self.condition(d)} else {t(d)})",
            lambda d: f"torch.{self.one_of(('cat', 'stack'))}({self.sequence(d)}, {self.axis()})",
            lambda d: f"[{t(d)} for {self.one_of(('i', 'x', '_'))} in {self.iterable(d)}][{i(d)}]",
            lambda d: f"sum({self.sequence(d)})",
            lambda d: f"(lambda x, *a, k={i(d)}: {t(d)})({t(d)})",
            lambda d: f"{self.sequence(d)}[{i(d)}]",
            lambda d: f"{{'a': {t(d)}, **{{}}}}[{self.one_of(('0', repr('a'), repr('z')))}]",
            lambda d: f"max({t(d)}, {t(d)}, key=lambda v: v.sum())",
            lambda d: f"getattr({t(d)}, {self.one_of((repr('T'), repr('x y'), 'n'))})",
            lambda d: f"{self.module(d)}({t(d)})",
            lambda d: f"{self.one_of('-~+')}({t(d)})",
            lambda d: f"({self.one_of(('y', 'z'))} := {t(d)})",
            lambda d: f"{self.one_of(self.others)}({t(d)})" if self.others else self.new(),
            lambda d: f"next(iter({self.sequence(d)}))",
            lambda d: f"nn.Sequential({self.module(d)}, {self.module(d)})({t(d)})",
            lambda d: (
                f"functools.reduce(torch.{self.one_of(('add', 'matmul'))}, {self.sequence(d)})"
            ),
        ]

    def new(self) -> str:
        """Return a new tensor."""
        how = self.one_of(("zeros", "ones", "rand", "randn", "empty", "zeros"))
        return f"torch.{how}({self.sizes(1)})"

    def integer(self, depth: int = 1) -> str:
        """Return what is most often a number."""
        draw = self.rng.random()
        if draw < self.wrong:
            return self.anything(depth)
        if draw < 3 * self.wrong:
            return self.one_of(ODD)
        if draw < 0.55 or depth <= 0:
            return self.one_of((*SIZES, *self.ints))
        if draw < 0.75 and self.tensors:
            at = self.one_of(("0", "-1", "1", "2", "n", "-9"))
            asked = self.one_of((f"shape[{at}]", f"size({at})", "ndim"))
            return f"{self.one_of(self.tensors)}.{asked}"
        operator = self.one_of(("+", "-", "*", "//", "%", "**", ">>", "<<", "&", "|"))
        return f"({self.integer(depth - 1)} {operator} {self.integer(depth - 1)})"

    def axis(self) -> str:
        """Return an axis."""
        return self.one_of(
            ("0", "1", "-1", "2", "-2", "-3", "n", "dim=1", "dim=(0, 1)", "9", "None")
        )

    def sizes(self, depth: int) -> str:
        """Return the arguments of something that takes sizes."""
        count = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        if self.rng.random() < 0.15 and self.tensors:
            name = self.one_of(self.tensors)
            return self.one_of(
                (
                    f"{name}.shape",
                    f"*{name}.shape[:-1], 2",
                    f"{name}.size()",
                    f"*{name}.shape[::-1]",
                )
            )
        given = ", ".join(self.integer(depth) for _ in range(count))
        return given if self.rng.random() < 0.7 else f"({given},)" if count else "()"

    def sequence(self, depth: int) -> str:
        """Return a list or a tuple, most often of tensors."""
        t, few = self.tensor, range(self.rng.choice((0, 1, 2, 2, 3)))
        made: list[Callable[[], str]] = [
            lambda: f"[{', '.join(t(depth - 1) for _ in few)}]",
            lambda: f"[{', '.join(t(depth - 1) for _ in few)}]",
            lambda: f"({''.join(t(depth - 1) + ', ' for _ in few)})",
            lambda: (
                f"({t(depth - 1)}).{self.one_of(('split', 'chunk', 'unbind'))}({self.integer(0)})"
            ),
            lambda: f"[{t(depth - 1)} for i in {self.iterable(depth - 1)}]",
            lambda: f"[*{t(depth - 1)}, {t(depth - 1)}]",
            lambda: f"list(zip({t(depth - 1)}, {self.iterable(depth - 1)}))",
            lambda: f"[{t(depth - 1)}] * {self.integer(0)}",
            lambda: f"tuple(map(torch.relu, {t(depth - 1)}))",
            lambda: f"sorted([{t(depth - 1)}], key=len, reverse=True)",
        ]
        return self.rng.choice(made)()

    def iterable(self, depth: int) -> str:
        """Return something to go through."""
        made = (
            "range(n)",
            "range(3)",
            "range(0, 9, -1)",
            "enumerate([1, 2])",
            "'ab'",
            "{1: 2}.items()",
        )
        if self.rng.random() < 0.6 or depth <= 0:
            return self.one_of(made)
        return self.one_of((self.tensor(depth - 1), f"zip({self.sequence(depth)}, range(n))"))

    def index(self, depth: int) -> str:
        """Return what stands between the brackets of an index."""
        parts = [
            *("0", "-1", ":", "1:", ":-1", "::2", "None", "...", "n", ":n", "[0, 1]", "True"),
            *("::-1", "5:2", "[[0], [1]]", "torch.arange(3)", "()", "slice(1, n)", "[True, False]"),
        ]
        some = [self.one_of(parts) for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3, 4)))]
        if self.rng.random() < 0.2:
            some.append(self.tensor(depth - 1))
        return ", ".join(some)

    def condition(self, depth: int) -> str:
        """Return a condition."""
        name = self.one_of(self.tensors) if self.tensors else "n"
        made = (
            *("flag", "n > 2", "not flag", f"{name}.ndim == 2", f"{name}.shape[0] == n", "True"),
            *(f"{name}.shape == (2, 3)", f"isinstance({name}, Tensor)", f"{name} is not None"),
            *(
                "n in (1, 2)",
                f"{name}.dim() in range(n)",
                f"hasattr({name}, 'x')",
                f"callable({name})",
            ),
            *(f"len({name}.shape) > 1 and flag", f"{name}.size() == {name}.shape", f"{name}.any()"),
            *(
                f"isinstance({name}, Float[Tensor, 'b c'])",
                "(k := n) and k",
                f"{name}.is_floating_point()",
            ),
        )
        return self.one_of(made) if self.rng.random() < 0.9 else self.anything(depth)

    def anything(self, depth: int) -> str:
        """Return a value of any kind."""
        kinds: list[Callable[[], str]] = [
            lambda: self.one_of(ODD),
            lambda: self.one_of(ODD),
            lambda: self.one_of((*self.tensors, *self.ints, *self.others, "n")),
            lambda: self.sequence(min(depth, 1)),
            lambda: self.module(0),
            lambda: f"nn.{self.one_of(('Linear', 'Module', 'ReLU'))}",
        ]
        return self.rng.choice(kinds)()

    # Calls of ops

    def patterned(self, depth: int) -> str:
        """Return a call with an einops or einsum pattern."""
        t = self.tensor(depth)
        said = repr(self.one_of(PATTERNS))
        how = self.one_of(("'mean'", "'max'", "'q'", "n"))
        packed = repr(self.one_of(("* c", "b *", "*", "b", "* *")))
        made = (
            f"rearrange({t}, {said})",
            f"rearrange({t}, {said}, {self.one_of(NAMES)}={self.integer(0)})",
            f"einops.reduce({t}, {said}, {how})",
            f"einops.repeat({t}, {said}, d={self.integer(0)})",
            f"torch.einsum({self.one_of(EINSUMS)!r}, {t}, {self.tensor(depth)})",
            f"torch.einsum({self.one_of(EINSUMS)!r}, {t})",
            f"einops.einsum({t}, {self.tensor(depth)}, {self.one_of(EINSUMS)!r})",
            f"einops.pack([{t}, {self.tensor(depth)}], {packed})[0]",
        )
        return self.one_of(made)

    def op(self, depth: int) -> str:
        """Return a call of a function."""
        functions = [one for one in ops() if not one.is_class]
        return self.call(self.rng.choice(functions), depth)

    def method(self, depth: int) -> str:
        """Return a call of a function as a method of its first argument."""
        functions = [one for one in ops() if not one.is_class and one.name.startswith("torch.")]
        one = self.rng.choice(functions)
        short = one.name.rpartition(".")[2] + ("_" if self.rng.random() < 0.1 else "")
        return f"({self.tensor(depth)}).{short}({self.arguments(one.params[1:], depth)})"

    def module(self, depth: int) -> str:
        """Return a new module."""
        classes = [one for one in ops() if one.is_class and one.name.startswith("torch.nn.")]
        return self.call(self.rng.choice(classes), depth)

    def call(self, one: Op, depth: int) -> str:
        """Return a call of a function, or of a class."""
        return f"{one.name}({self.arguments(one.params, depth)})"

    def arguments(self, params: Sequence[Param], depth: int) -> str:
        """Return arguments for some parameters; some by name, some left out, some of no use."""
        rng, given, named = self.rng, [], False
        for param in params:
            if (param.is_optional and rng.random() < 0.6) or rng.random() < 0.02:
                named = True
                continue
            value = self.argument(param, depth)
            if param.stars == "*":
                given += [] if named else [value for _ in range(rng.choice((0, 1, 2)))]
            elif param.stars:
                given.append(f"{self.one_of(NAMES)}={value}")
                named = True
            else:
                named = named or param.is_keyword or rng.random() < 0.05
                given.append(f"{param.name}={value}" if named else value)
        if rng.random() < 0.03:
            given.append(self.one_of(("**{}", "what=1", "dim=0")))
        return ", ".join(_each_once(given))

    def argument(self, param: Param, depth: int) -> str:
        """Return a value for a parameter, by what its annotation says."""
        rng, said, name = self.rng, param.annotation, param.name
        if rng.random() < self.wrong:
            return self.anything(depth)
        if "None" in said and rng.random() < 0.2:
            return "None"
        if "Tensor" in said or said in ("T", "F"):
            return self.tensor(depth)
        if "Axis" in said or "Axes" in said or name in ("dim", "dims", "axis"):
            return self.one_of(("0", "1", "-1", "-2", "2", "(0, 1)", "'b'", "[-1]", "n"))
        if said.startswith("Ints"):
            return self.one_of((self.integer(1), f"({self.sizes(0)})", "(2, 2)", "[n, 1]", "2"))
        if "bool" in said:
            return self.one_of(("True", "False", "flag", "n", "None"))
        if "int" in said:
            return self.integer(1)
        if "float" in said or "Number" in said:
            return self.one_of(("0.5", "1", "n", "-2.0", "1e-5", "float('inf')"))
        if "DType" in said:
            return self.one_of(DTYPES)
        if "str" in said:
            return repr(self.one_of(("mean", "sum", "none", "same", "b", "b c -> c b", "ij", "")))
        if "list" in said or name in ("tensors", "sequences"):
            return self.sequence(depth)
        kinds = (self.tensor, self.integer, self.sequence, self.anything)
        return self.rng.choice(kinds)(max(depth, 1) - 1)


def _each_once(given: list[str]) -> list[str]:
    """Return arguments without those whose name has been given: that wouldn't compile."""
    seen: set[str] = set()
    kept = []
    for one in given:
        name, equals, _ = one.partition("=")
        if equals and name.isidentifier():
            if name in seen:
                continue
            seen.add(name)
        kept.append(one)
    return kept
