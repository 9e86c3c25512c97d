"""Calls that are drawn, against all assignments of sizes to the names of their annotations.

What a function is given and gives fits if there is an assignment by which all of it does.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from types import CodeType
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, shapecheck

Shape: TypeAlias = tuple[int, ...]
Names: TypeAlias = Mapping[str, Any]

TEXTS = (
    *(
        "n",
        "m",
        "n m",
        "m n",
        "n n",
        "*s",
        "*s n",
        "n *s",
        "m *s n",
        "3 n",
        "_ n",
        "n ...",
        "... n",
    ),
    *("n+1 n", "n n+1", "2*n m", "n-1 m", "n*m n", "n//2 n", "*s n+1", "n+1", "min(n,2) n", "*s"),
    *("(n m) n", "(2 n) m", "(*s) *s", "(n *s) *s n", "+s n", "*s"),
)
MEANT = {
    "(n m) n": "n*m n",
    "(2 n) m": "2*n m",
    "(*s) *s": "prod(s) *s",
    "(n *s) *s n": "n*prod(s) *s n",
}
"""The sizes that a merged dimension has."""
GROUPS: tuple[Shape, ...] = ((), (1,), (2,), (3,), (2, 3), (1, 2))


@dataclass(frozen=True, slots=True)
class Slot:
    """What a parameter or the result is: a tensor, or a pair of them, or None perhaps."""

    texts: tuple[str, ...]
    optional: bool

    def __str__(self) -> str:
        parts = [f'Float[Tensor, "{text}"]' for text in self.texts]
        whole = parts[0] if len(parts) == 1 else f"tuple[{', '.join(parts)}]"
        return f"{whole} | None" if self.optional else whole

    def holds(self, given: tuple[Shape, ...] | None, names: Names) -> bool:
        """Whether what is given, of which these are the shapes, is as annotated."""
        if given is None:
            return self.optional
        return all(
            any(shape == one for one in spelled(text, shape, names))
            for text, shape in zip(self.texts, given, strict=True)
        )


@functools.cache
def code(entry: str) -> CodeType:
    return compile(entry, entry, "eval")


def spelled(text: str, shape: Shape, names: Names) -> Iterator[Shape]:
    """Yield what an annotation says of a tensor of a shape where the names are these."""
    for left_out in range(len(shape) + 1):
        found: list[int] = []
        for entry in MEANT.get(text, text).split():
            if entry == "...":
                found += shape[len(found) : len(found) + left_out]
            elif entry[0] in "*+":
                found += names[entry[1:]]
            elif entry == "_":
                found += shape[len(found) : len(found) + 1]
            else:
                found.append(eval(code(entry), {}, names))
        if "+s" not in text or names["s"]:
            yield tuple(found)
        if "..." not in text:
            return


def drawn(rng: random.Random, slot: Slot, names: Names) -> tuple[Shape, ...] | None:
    """Return what fits, or almost."""
    if slot.optional and rng.random() < 0.4:
        return None
    found: list[Shape] = []
    for text in slot.texts:
        like = tuple(rng.choices((1, 2, 3, 4), k=rng.randrange(4)))
        shape = list(rng.choice([*spelled(text, like, names)] or [()]))
        if shape and rng.random() < 0.15:
            shape[rng.randrange(len(shape))] += 1
        if rng.random() < 0.05:
            shape.append(2)
        found.append(tuple(shape))
    return tuple(found)


def assignments(slots: list[Slot], shapes: list[tuple[Shape, ...] | None]) -> Iterator[Names]:
    """Yield all that may be what the names of annotations are where these are the shapes."""
    every = [shape for given in shapes for shape in given or ()]
    largest = max((size for shape in every for size in shape), default=0)
    ends = itertools.combinations(range(6), 2)
    groups = {(), *(shape[start:stop] for (start, stop), shape in itertools.product(ends, every))}
    texts = "".join(text for slot in slots for text in slot.texts).replace("min", "")
    with_groups = "*s" in texts or "+s" in texts
    sizes = [range(largest + 2) if name in texts else [0] for name in "nm"]
    for n, m, s in itertools.product(*sizes, groups if with_groups else [()]):
        yield {"n": n, "m": m, "s": s, "min": min, "prod": prod}


def value(given: tuple[Shape, ...] | None) -> Any:
    made = None if given is None else tuple(torch.zeros(shape) for shape in given)
    return made[0] if made is not None and len(made) == 1 else made


def function(slots: list[Slot]) -> Callable[..., Any]:
    """Return a function of some parameters that gives what it is told to."""
    *given, result = slots
    head = ", ".join(f"x{at}: {slot}" for at, slot in enumerate(given))
    space: dict[str, Any] = {"Float": Float, "Tensor": Tensor}
    exec(f"def f({head}, result=None) -> {result}: return result", space)
    return shapecheck(space["f"])


def refused(checked: Callable[..., Any], given: list[Any], result: Any) -> bool:
    try:
        checked(*given, result=result)
    except ShapeError:
        return True
    return False


@pytest.mark.parametrize("mode", ["full", "boundary"])
@pytest.mark.parametrize("seed", range(40))
def test_calls(seed: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    rng = random.Random(seed)
    for _ in range(4):
        slots = [
            Slot(tuple(rng.choices(TEXTS, k=rng.choice((1, 1, 1, 2)))), rng.random() < 0.3)
            for _ in range(rng.choice((2, 3, 4)))
        ]
        checked = function(slots)
        for _ in range(6):
            names = {
                "n": rng.randrange(1, 8),
                "m": rng.randrange(1, 8),
                "s": rng.choice(GROUPS),
                "min": min,
                "prod": prod,
            }
            shapes = [drawn(rng, slot, names) for slot in slots]
            fit = any(
                all(slot.holds(one, every) for slot, one in zip(slots, shapes, strict=True))
                for every in assignments(slots, shapes)
            )
            *given, result = map(value, shapes)
            said = ", ".join(map(str, slots))
            assert refused(checked, given, result) is not fit, f"{said} of {shapes}"
