"""Random functions whose local variables are annotated, and rightly so."""

from __future__ import annotations

import itertools
import random

Dims = tuple[str, ...]

HEAD = """\
import torch
import torch.nn as nn
from torch import Tensor
from shapecheck import Float

"""
NAMES = ("N", "D", "E")


class Writer:
    """Writes one function. What it knows of a variable are its dimensions, in annotations' words.

    `sizes` are those of the parameters' names, and the int `k`. `called` says which local name a
    dimension has; numbers may share it with one other dimension of their size, but not in a tensor
    that has both. A dimension that begins with `?` is as large as the data have it.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        sizes = dict(zip(NAMES, rng.sample((3, 4, 5, 6, 7), len(NAMES)), strict=True))
        self.sizes = {**sizes, "k": rng.choice((2, 8, *sizes.values()))}
        self.params: dict[str, Dims] = {}
        self.known: dict[str, Dims] = {}
        self.called: dict[str, str] = {}
        self.lines: list[str] = []
        self.fresh = itertools.count()

    def program(self) -> str:
        """Return the source of a module with the function `f`."""
        for name in ("x", "y", "z"):
            self.params[name] = tuple(self.rng.sample(NAMES, self.rng.choice((1, 2, 2, 2, 3))))
        self.known = dict(self.params)
        params = [f'{name}: Float[Tensor, "{" ".join(of)}"]' for name, of in self.params.items()]
        for _ in range(self.rng.randint(3, 8)):
            self.statement(1)
        result, of = self.pick()
        self.lines.append(f"    return {result}")
        back = "Tensor"
        if not any("?" in dim for dim in of):
            said = (self.spelled(dim, of) for dim in of)
            back = f'Float[Tensor, "{" ".join(said).replace("_", "...")}"]'
            back = "Tensor" if back.count("...") > 1 else back
        body = "\n".join(self.lines)
        return f"{HEAD}def f({', '.join(params)}, k: int, flag: bool) -> {back}:\n{body}\n"

    # Annotations

    def value(self, dim: str) -> int | None:
        """Return the size of a dimension, None where the data have it."""
        return None if "?" in dim else eval(dim.replace("{k}", "k"), {}, dict(self.sizes))

    def spelled(self, dim: str, beside: Dims) -> str:
        """Return what an annotation calls a dimension that has these beside it."""
        draw = self.rng.random()
        if draw < 0.05:
            return "_"
        if draw < 0.55 and "?" not in dim:
            return dim
        if dim not in self.called:
            taken = {self.called.get(other) for other in beside}
            named = {name: self.named(name) for name in self.called.values() if name not in taken}
            shared = [
                name
                for name, others in named.items()
                if self.value(dim) == self.value(others[0])
                and sum(not one.isdigit() for one in (dim, *others)) < 2
            ]
            self.called[dim] = self.rng.choice([*shared, f"C{next(self.fresh)}"])
        called = self.called[dim]
        # Two axes of one tensor are different dimensions, so one name can't be both.
        also = (other for other in beside if other != dim and self.called.get(other) == called)
        return dim if any(also) else called

    def named(self, name: str) -> Dims:
        """Return the dimensions that have a local name."""
        return tuple(dim for dim, other in self.called.items() if other == name)

    def annotation(self, of: Dims) -> str:
        """Return an annotation for these dimensions."""
        said = [self.spelled(dim, of) for dim in of]
        if said and self.rng.random() < 0.1:
            said[0] = "..."
        optional = " | None" if self.rng.random() < 0.1 else ""
        return f'Float[Tensor, "{" ".join(said)}"]{optional}'

    # Statements

    def assign(self, depth: int, code: str, of: Dims) -> None:
        """Write an assignment to a new variable, most often with an annotation."""
        name = f"v{next(self.fresh)}"
        said = f": {self.annotation(of)}" if self.rng.random() < 0.8 else ""
        self.lines.append(f"{'    ' * depth}{name}{said} = {code}")
        self.known[name] = of

    def pick(self) -> tuple[str, Dims]:
        """Return a variable."""
        return self.rng.choice(list(self.known.items()))

    def pairs(self) -> list[tuple[str, Dims, str, Dims]]:
        """Return all pairs of variables."""
        every = self.known.items()
        return [(a, of, b, other) for (a, of), (b, other) in itertools.product(every, every)]

    def statement(self, depth: int) -> None:
        """Write a statement, or none where what was drawn can't be."""
        blocks = (self.loop, self.branch, self.growing) if depth < 3 else ()
        self.rng.choice((self.new, self.of_one, self.of_one, self.of_one, self.of_two, *blocks))(
            depth
        )

    def new(self, depth: int) -> None:
        """Make a tensor of sizes of all kinds."""
        of: list[str] = []
        sizes: list[str] = []
        for _ in range(self.rng.choice((1, 2, 2))):
            name, dims = self.pick()
            at = self.rng.randrange(len(dims)) if dims else None
            number = str(self.rng.choice((1, 2, *self.sizes.values())))
            kinds = [(number, number), ("{k}", "k")]
            kinds += [] if at is None else [(dims[at], f"{name}.shape[{at}]")]
            dim, size = self.rng.choice(kinds)
            of.append(dim)
            sizes.append(size)
        how = self.rng.choice(("torch.zeros({})", "torch.rand({})", "x.new_ones(({},))"))
        self.assign(depth, how.format(", ".join(sizes)), tuple(of))

    def of_one(self, depth: int) -> None:
        """Compute something from one tensor."""
        name, of = self.pick()
        certain = not any("?" in dim for dim in of)
        made = [(f"{name} * 2", of), (f"{name}.relu()", of), (name, of)]
        if len(of) < 3:
            made += [
                (f"{name}[None]", ("1", *of)),
                (f"torch.stack([{name}, {name}], -1)", (*of, "2")),
            ]
        if len(of) == 2:
            made.append((f"{name}.T", of[::-1]))
        if len(of) == 1:
            made.append((f"{name}[{name} > 0.5]", (f"?{next(self.fresh)}",)))
        if len(of) == 1 and certain:
            made.append((f"{name}.repeat(2)", (f"2*({of[0]})",)))
        if len(of) > 1 and certain:
            made.append((f"{name}.flatten(0, 1)", (f"({of[0]})*({of[1]})", *of[2:])))
        if of:
            at = self.rng.randrange(len(of))
            out, dim = self.rng.choice((("k", "{k}"), ("7", "7"), ("5", "5")))
            made.append((f"{name}.sum({at})", (*of[:at], *of[at + 1 :])))
            made.append((f"{name}.mean({at}, keepdim=True)", (*of[:at], "1", *of[at + 1 :])))
            made.append((f"nn.Linear({name}.shape[-1], {out})({name})", (*of[:-1], dim)))
            size = self.value(of[0])
            if size is not None and size > 2:
                made.append((f"{name}[1:]", (f"{of[0]}-1", *of[1:])))
                made.append((f"{name}[:2]", ("2", *of[1:])))
        self.assign(depth, *self.rng.choice(made))

    def of_two(self, depth: int) -> None:
        """Compute something from two tensors that fit."""
        made: list[tuple[str, Dims]] = []
        for a, of, b, other in self.pairs():
            if len(of) == len(other) == 2 and of[1] == other[0]:
                made.append((f"{a} @ {b}", (of[0], other[1])))
            if of == other or (other and of[-len(other) :] == other and len({*of}) == len(of)):
                made.append((f"{a} + {b}", of))
            if of and len(of) == len(other) and of[1:] == other[1:]:
                if "?" not in of[0] + other[0]:
                    made.append((f"torch.cat(({a}, {b}))", (f"{of[0]}+{other[0]}", *of[1:])))
        self.assign(depth, *self.rng.choice(made))

    def block(self, depth: int) -> None:
        """Write statements whose variables no other block knows."""
        before = dict(self.known)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth)
        self.known = before

    def loop(self, depth: int) -> None:
        """Write a loop over the same sizes."""
        self.lines.append(f"{'    ' * depth}for _ in range(2):")
        self.block(depth + 1)

    def branch(self, depth: int) -> None:
        """Write an `if`."""
        self.lines.append(f"{'    ' * depth}if flag:")
        self.block(depth + 1)
        if self.rng.random() < 0.5:
            self.lines.append(f"{'    ' * depth}else:")
            self.block(depth + 1)

    def growing(self, depth: int) -> None:
        """Write a loop in which a name stands for another size each time."""
        pad, at, local = "    " * depth, f"i{next(self.fresh)}", f"L{next(self.fresh)}"
        name, of = self.pick()
        first = f"{name}.shape[0], " if of else ""
        front = f"{self.spelled(of[0], of)} " if of else ""
        a, b = f"v{next(self.fresh)}", f"v{next(self.fresh)}"
        over = self.rng.choice(("(2, 3)", "[k, k + 1]", "range(2, 4)"))
        self.lines += [
            f"{pad}for {at} in {over}:",
            f'{pad}    {a}: Float[Tensor, "{front}{local}"] = torch.rand({first}{at})',
            f'{pad}    {b}: Float[Tensor, "{front}{local}"] = {a}.exp()',
        ]
