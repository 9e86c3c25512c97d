"""Random programs, run in torch and analysed: what the analysis says of them must be true.

A program is drawn statement by statement. Its sizes are numbers, so that torch decides each
question: whether it raises, where, and what each shape is.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from seeding import seed

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from shapecheck import reveal_shape
"""
FLAGS = ("f0", "f1", "f2")
DEF = f"def program({', '.join(f'{flag}: bool' for flag in FLAGS)}, n: int):"
EINSUMS = ("ij,jk->ik", "ij,ij->i", "bij,bjk->bik")
PATTERNS = ("a b -> b a", "a b c -> a (c b)", "(a 2) b -> a b 2")


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


class Writer:
    """Writes a random program; `real` holds the tensors of its straight-line part."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.names: list[str] = []
        self.flags = list(FLAGS)
        self.fresh = itertools.count()

    def program(self) -> str:
        """Return the source of one program."""
        for _ in range(2):
            self._new(1, f"torch.rand({self._sizes()})")
        for _ in range(self.rng.randint(3, 9)):
            self._statement(1)
        return f"{HEAD}{DEF}\n" + "\n".join(self.lines) + "\n"

    def _sizes(self) -> list[int]:
        return [self.rng.choice((1, 2, 3, 4, 6)) for _ in range(self.rng.randint(0, 4))]

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _new(self, depth: int, expression: str, name: str | None = None) -> None:
        name = name or f"x{next(self.fresh)}"
        self._line(depth, f"{name} = {expression}")
        self._line(depth, f"reveal_shape({name})")
        if depth == 1 and name not in self.names:
            self.names.append(name)

    def _statement(self, depth: int) -> None:
        kind = self.rng.random()
        if kind < 0.7 or depth > 2:
            again = self.rng.choice(self.names) if self.rng.random() < 0.35 or depth > 1 else None
            self._new(depth, self._expression(), again)
        elif kind < 0.8 and self.flags:
            flag = self.flags.pop()
            self._line(depth, f"if {flag}:")
            self._statement(depth + 1)
            if self.rng.random() < 0.6:
                self._line(depth, "else:")
                self._statement(depth + 1)
        elif kind < 0.9:
            self._line(depth, f"for i{depth} in range({self.rng.choice(('n', '2', '3'))}):")
            self._statement(depth + 1)
            if self.rng.random() < 0.3 and self.flags:
                flag = self.flags.pop()
                self._line(depth + 1, f"if {flag}:")
                self._line(depth + 2, self.rng.choice(("break", "continue")))
                self._statement(depth + 1)
        else:
            self._several(depth)

    def _several(self, depth: int) -> None:
        """Write a statement about a list, a shape, a function or an exception."""
        rng, x, y = self.rng, self._name(), self._name()
        made, again = f"x{next(self.fresh)}", f"y{next(self.fresh)}"
        kind = rng.randrange(8)
        if kind == 0:
            self._line(depth, f"{made}s = []")
            self._line(depth, f"for i in range({rng.choice(('n', '3'))}):")
            self._line(depth + 1, f"{made}s.append({x} + i)")
            self._new(depth, f"torch.{rng.choice(('stack', 'cat'))}({made}s)", made)
        elif kind == 1:
            self._new(depth, f"torch.stack([t * 2 for t in {x}])", made)
        elif kind == 2:
            self._line(depth, f"{made}a, {made}b = {x}.shape")
            self._new(depth, f"torch.zeros({made}b, {made}a * 2, {made}a // 2)", made)
        elif kind == 3:
            self._line(depth, f"if {x}.ndim == {rng.randint(1, 3)}:")
            self._new(depth + 1, f"{x}.unsqueeze(0)", x)
            self._line(depth, f"elif {x}.shape[-1] == {rng.choice((1, 2, 3))}:")
            self._new(depth + 1, f"{x}.flatten()", x)
        elif kind == 4:
            self._line(depth, f"def {again}(a, b={y}):")
            self._line(depth + 1, f"return torch.{rng.choice(('add', 'matmul', 'mul'))}(a, b)")
            self._new(depth, f"{again}({x})", made)
        elif kind == 5:
            self._line(depth, "try:")
            self._new(depth + 1, f"{x}.sum(0)", x)
            self._line(depth + 1, "int('x')")
            self._line(depth, "except ValueError:")
            self._new(depth + 1, f"{x}.unsqueeze(-1)", x)
        elif kind == 6:
            self._line(depth, f"{made}d = {{'a': {x}, 'b': {y}.relu()}}")
            self._new(depth, f"torch.cat([v.flatten() for v in {made}d.values()])", made)
        else:
            self._line(depth, f"{made}k = {rng.randint(0, 3)}")
            self._line(depth, f"while {made}k < 3:")
            self._line(depth + 1, f"{made}k += 1")
            self._new(depth + 1, self._expression(), x)

    def _name(self) -> str:
        return self.rng.choice(self.names)

    def _axis(self) -> int:
        return self.rng.randint(-3, 2)

    def _expression(self) -> str:
        rng, x, y, i, j = self.rng, self._name(), self._name(), self._axis(), self._axis()
        keep = rng.choice(("", ", keepdim=True"))
        size = rng.choice((1, 2, 3, 4, 6))
        few = ", ".join(map(str, self._sizes())) or "1"
        forms: list[Callable[[], str]] = [
            lambda: f"{x}.relu()",
            lambda: f"{x}.{rng.choice(('sum', 'mean', 'argmax', 'logsumexp', 'amin'))}({i}{keep})",
            lambda: f"{x}.max({i}{keep}).values",
            lambda: f"{x}.transpose({i}, {j})",
            lambda: f"{x}.permute({', '.join(map(str, self._permutation()))})",
            lambda: f"{x}.{rng.choice(('reshape', 'view'))}({few})",
            lambda: f"{x}.reshape({rng.choice((f'{size}, -1', f'-1, {size}', '-1'))})",
            lambda: f"{x}.reshape({x}.shape[0], -1)",
            lambda: f"{x}.{rng.choice(('squeeze', 'unsqueeze', 'cumsum', 'softmax'))}({i})",
            lambda: f"torch.{rng.choice(('cat', 'stack'))}([{x}, {y}], dim={i})",
            lambda: f"{x} {rng.choice('+-*/@')} {y}",
            lambda: f"{x} {rng.choice('+*')} {rng.choice(('1', '2.5', 'n'))}",
            lambda: f"{x}[{rng.choice(('0', '-1', '1:', ':2', '::2', 'None', '..., None'))}]",
            lambda: (
                f"{x}[{rng.choice((':, 0', '..., -1', '0, 1:', ':, None', '[0, 0]', 'n - 1:'))}]"
            ),
            lambda: f"{x}.expand({rng.choice((f'{size}, -1', '-1, -1', few))})",
            lambda: f"{x}.repeat({few})",
            lambda: f"{x}.flatten({rng.choice(('', '1', '0, 1', '-2'))})",
            lambda: f"{x}.chunk({rng.choice((2, 3))}, dim={i})[{rng.choice((0, -1))}]",
            lambda: f"{x}.split({size}, dim={i})[-1]",
            lambda: f"F.pad({x}, ({rng.choice(('1, 1', '0, 2, 1, 0'))}))",
            lambda: f"torch.flip({x}, ({i},)).roll(1, {j})",
            lambda: f"nn.Linear({size}, {rng.choice((2, 5))})({x})",
            lambda: f"{x}.new_zeros({x}.shape[{rng.choice(('0', '-1', '1:', ':-1'))}])",
            lambda: f"torch.zeros(*{x}.shape[:-1], {size})",
            lambda: f"torch.where({x} > 0, {x}, {y})",
            lambda: f"torch.einsum('{rng.choice(EINSUMS)}', {x}, {y})",
            lambda: f"rearrange({x}, '{rng.choice(PATTERNS)}')",
            lambda: f"{x}.unbind({i})[0]",
            lambda: f"torch.diag({x})",
            lambda: f"{x}.T if {x}.ndim == 2 else {y}",
            lambda: f"F.{rng.choice(('max_pool2d', 'avg_pool2d'))}({x}, 2)",
            lambda: f"torch.outer({x}, {y})",
            lambda: f"{x}.narrow({i}, 0, {size})",
            lambda: f"{x}.movedim({i}, {j})",
            lambda: f"sum([{x}, {y}])",
            lambda: f"{x}.diff(dim={i})",
            lambda: f"torch.broadcast_to({x}, ({few},))",
            lambda: (
                f"nn.Conv2d({size}, 2, {rng.choice((1, 2, 3))}, padding={rng.choice((0, 1))})({x})"
            ),
            lambda: f"torch.bmm({x}, {y})",
        ]
        return rng.choice(forms)()

    def _permutation(self) -> list[int]:
        axes = list(range(self.rng.randint(1, 4)))
        self.rng.shuffle(axes)
        return axes


Seen = dict[int, list[tuple[int, ...]]]


def executed(source: str) -> tuple[Seen, list[int | None]]:
    """Run a program in every way; return the shapes at each line, and where each run raised."""
    shapes: Seen = defaultdict(list)

    def reveal(tensor: torch.Tensor) -> torch.Tensor:
        shapes[sys._getframe(1).f_lineno].append(tuple(tensor.shape))
        return tensor

    space: dict[str, object] = {}
    exec(compile(source, "program.py", "exec"), space)
    space["reveal_shape"] = reveal
    program = space["program"]
    assert callable(program)
    raised: list[int | None] = []
    for flags in itertools.product((False, True), repeat=len(FLAGS)):
        for n in (1, 2, 3):
            seed(0)
            try:
                program(*flags, n)
            except Exception as error:  # noqa: BLE001  # any is an answer
                frame = error.__traceback__
                lines = []
                while frame is not None:
                    if frame.tb_frame.f_code.co_filename == "program.py":
                        lines.append(frame.tb_lineno)
                    frame = frame.tb_next
                raised.append(lines[0])
            else:
                raised.append(None)
    return shapes, raised


def fits(shape: tuple[int, ...], text: str) -> bool:
    """Whether a real shape is one that a revealed text describes."""
    return any(_is_one(shape, items) for items in _readings(text))


def _is_one(shape: tuple[int, ...], known: list[str]) -> bool:
    if "..." in known:
        at = known.index("...")
        left, right = known[:at], known[at + 1 :]
        if len(shape) < len(left) + len(right):
            return False
        return _is_one(shape[:at], left) and _is_one(shape[len(shape) - len(right) :], right)
    return len(shape) == len(known) and all(
        not item.lstrip("-").isdigit() or int(item) == size
        for item, size in zip(known, shape, strict=True)
    )


def _readings(text: str) -> list[list[str]]:
    """Return the items of a revealed text, once for each combination of what is `3|4`."""
    found: list[list[str]] = [[]]
    for item in _cut(text, " "):
        options = [[one] for one in _cut(item, "|")]
        if item.startswith("["):
            options = [items for one in _cut(item[1:-1], "|") for items in _readings(one)]
        found = [[*items, *option] for items in found for option in options]
    return found


def _cut(text: str, mark: str) -> list[str]:
    """Split a text at a mark outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part] if mark == " " else parts


def straight(source: str, line: int) -> bool:
    """Whether all lines of the program's body up to a line are simple statements."""
    return not re.search(r"^        ", "\n".join(source.split("\n")[:line]), re.MULTILINE)


def judge(source: str) -> str | None:
    """Return what is wrong with what the analysis says of a program, None if nothing is."""
    shapes, raised = executed(source)
    found = analyze_module(Source("program", "program.py", source), NoSources(), Options())
    internal = [d for d in found if "internal error" in d.message]
    if internal:
        return internal[0].message
    errors = [d for d in found if d.severity == "error" and d.code != "shape-broadcast"]
    if errors and not any(raised):
        return f"a false alarm, line {errors[0].span.line}: {errors[0].message}"
    wrong = None if errors else _wrong_shape(shapes, found)
    if wrong is not None:
        return wrong
    first = raised[0]
    empty = any(0 in shape for real in shapes.values() for shape in real)
    if first is not None and set(raised) == {first} and straight(source, first) and not empty:
        broadcasts = any(d.code == "shape-broadcast" for d in found)
        if not any(d.span.line <= first for d in errors) and not broadcasts:
            return f"missed on line {first}: {source.split(chr(10))[first - 1].strip()}"
    return None


def _wrong_shape(shapes: Seen, found: list[Diagnostic]) -> str | None:
    said: dict[int, list[str]] = defaultdict(list)
    for diagnostic in found:
        match = re.fullmatch(r'Revealed shape is "(.*)"', diagnostic.message)
        said[diagnostic.span.line].append(match[1] if match else "...")
    for line, real in shapes.items():
        for shape in real:
            if said.get(line) and not any(fits(shape, text) for text in said[line]):
                return f"line {line} is {shape}, revealed {said[line]}"
    return None


@settings(max_examples=200, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_random_programs(rng: random.Random) -> None:
    """No crash, no false alarm, no wrong shape, and no certain error missed."""
    source = Writer(rng).program()
    wrong = judge(source)
    assert wrong is None, f"{wrong}\n\n{source}"
