"""Small programs of several modules that import each other, drawn from pieces."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

HEAD: Final = """\
import torch
import torch.nn as nn
from torch import Tensor
from jaxtyping import Float
"""
AXES: Final = ("b", "c", "d", "e", "t")
SIZES: Final = (2, 3, 4, 8)
FEWEST, MOST = 4, 8
PACKAGE: Final = "pkg"


def program(rng: random.Random) -> dict[str, str]:
    """Return a new program: a few modules, some in a package that hands names on."""
    count = rng.randint(FEWEST, MOST)
    names = [f"{PACKAGE}.m{i}" if rng.random() < 0.5 else f"m{i}" for i in range(count)]
    defined: dict[str, list[str]] = {}
    tree: dict[str, str] = {}
    for name in names:
        text, own = module(rng, name, defined)
        defined[name] = own
        tree[f"{name.replace('.', '/')}.py"] = text
    inside = [name for name in names if "." in name]
    if inside:
        tree[f"{PACKAGE}/__init__.py"] = _handed_on(rng, inside, defined)
        tree["user.py"] = (
            HEAD
            + f"import {PACKAGE}\nfrom {PACKAGE} import *\n"
            + _uses(rng, [own for name in inside for own in defined[name]])
        )
    if rng.random() < 0.5:  # a circle
        first, last = names[0], names[-1]
        path = f"{first.replace('.', '/')}.py"
        tree[path] = f"import {last}\n{tree[path]}"
    return tree


def module(rng: random.Random, name: str, others: dict[str, list[str]]) -> tuple[str, list[str]]:
    """Return a new module that imports others, and the names that it defines."""
    mark = name.rpartition(".")[2]
    lines, known = [HEAD], []
    for other in rng.sample(sorted(others), min(len(others), rng.randint(0, 3))):
        statement, names = _imported(rng, other, others[other])
        lines.append(statement)
        known += names
    own: list[str] = []
    for number in range(rng.randint(1, 4)):
        text, new = rng.choice(PIECES)(rng, f"{mark}_{number}")
        lines.append(text)
        own += new
    lines.append(_uses(rng, known + own))
    return "\n".join(lines), own


def _imported(rng: random.Random, module: str, names: list[str]) -> tuple[str, list[str]]:
    how = rng.randrange(4)
    if how == 0 or not names:
        return f"import {module}\n", [f"{module}.{name}" for name in names]
    if how == 1:
        return f"from {module} import *\n", names
    if how == 2:
        return f"from {module} import {', '.join(names)}\n", names
    return (
        f"from {module} import " + ", ".join(f"{n} as {n}_too" for n in names) + "\n",
        [f"{name}_too" for name in names],
    )


def _handed_on(rng: random.Random, inside: list[str], defined: dict[str, list[str]]) -> str:
    lines = []
    for name in inside:
        names = defined[name]
        short = name.rpartition(".")[2]
        if names and rng.random() < 0.5:
            lines.append(f"from {name} import {', '.join(f'{n} as {n}' for n in names)}\n")
        else:
            lines.append(f"from .{short} import *\n")
    return "".join(lines)


def _uses(rng: random.Random, names: list[str]) -> str:
    """Return functions that call what is known, with sizes that fit or don't."""
    lines = []
    for number in range(rng.randint(1, 3)):
        lines.append(f'def use_{number}(x: Float[Tensor, "b {rng.choice(SIZES)}"], n: int = 3):')
        used = rng.sample(names, min(len(names), rng.randint(0, 4)))
        lines += [f"    {_use(rng, name)}" for name in used]
        if rng.random() < 0.3:
            lines.append("    reveal_type(x)")
        lines.append(f"    return x{rng.choice(('', '.sum(-1)', '.T', '[0]'))}\n")
    return "\n".join(lines) + "\n"


def _use(rng: random.Random, name: str) -> str:
    short = name.rpartition(".")[2]
    zeros = f"torch.zeros({rng.choice(SIZES)}, {rng.choice(SIZES)})"
    if short.startswith("Net"):
        return f"h = {name}({rng.choice(SIZES)})({rng.choice(('x', zeros))})"
    if short.startswith("Alias"):
        return f"a: {name} = {zeros}"
    if short.startswith("mat"):
        return f"h = {name}({zeros}, {rng.choice(('x', zeros))})"
    if short.startswith("SIZE"):
        return f"h = x.reshape(-1, {name}) @ {zeros}"
    return f"h = {name}(x) @ {zeros}"


def _matmul(rng: random.Random, mark: str) -> tuple[str, list[str]]:
    first, second, third = rng.sample(AXES, 3)
    inner = rng.choice((second, second, first))
    text = f'''
def mat_{mark}(
    x: Float[Tensor, "{first} {second}"], y: Float[Tensor, "{inner} {third}"]
) -> Float[Tensor, "{first} {third}"]:
    """Multiply."""
    return x @ y
'''
    return text, [f"mat_{mark}"]


def _helper(rng: random.Random, mark: str) -> tuple[str, list[str]]:
    body = rng.choice(
        ("x.sum(-1, keepdim=True)", "torch.cat([x, x], -1)", "x.transpose(0, 1)", "x[:, :2]")
    )
    return f"\ndef helper_{mark}(x):\n    y = {body}\n    return y\n", [f"helper_{mark}"]


def _nested_helper(rng: random.Random, mark: str) -> tuple[str, list[str]]:
    text = f"""
def inner_{mark}(x, n):
    return x.repeat(1, n)


def outer_{mark}(x):
    for _ in range({rng.randint(1, 3)}):
        x = inner_{mark}(x, {rng.choice(SIZES)})
    return x
"""
    return text, [f"outer_{mark}"]


def _layers(rng: random.Random, mark: str) -> tuple[str, list[str]]:
    size, other = rng.choice(SIZES), rng.choice(SIZES)
    text = f"""
class Net_{mark}(nn.Module):
    def __init__(self, width: int = {size}) -> None:
        super().__init__()
        self.first = nn.Linear({size}, width)
        self.second = nn.Linear({rng.choice(("width", str(other)))}, {other})

    def forward(self, x: Float[Tensor, "b {size}"]) -> Float[Tensor, "b {other}"]:
        return self.second(self.first(x).relu())
"""
    return text, [f"Net_{mark}"]


def _alias(rng: random.Random, mark: str) -> tuple[str, list[str]]:
    text = f"""
SIZE_{mark} = {rng.choice(SIZES)}
Alias_{mark} = Float[Tensor, "b {rng.choice(SIZES)}"]


def named_{mark}(x: Alias_{mark}) -> Alias_{mark}:
    return x * torch.ones({rng.choice(SIZES)})
"""
    return text, [f"SIZE_{mark}", f"Alias_{mark}", f"named_{mark}"]


Piece = Callable[[random.Random, str], tuple[str, list[str]]]
PIECES: Final[tuple[Piece, ...]] = (_matmul, _helper, _nested_helper, _layers, _alias)
