"""From what a person types to the ops and modules that it may mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from shapecheck.signatures import Definition, OpClass, Table

PREFIXES: Final = {
    "F": ("torch.nn.functional",),
    "nn": ("torch.nn",),
    "Tensor": ("torch.Tensor",),
    "x": ("torch.Tensor",),
    "dist": ("torch.distributions", "torch.distributed"),
    "optim": ("torch.optim",),
    "np": ("numpy",),
}
"""What people call the modules that they import."""
_OPERATORS: Final = {
    "@": "torch.matmul",
    "+": "torch.add",
    "-": "torch.sub",
    "*": "torch.mul",
    "/": "torch.div",
    "//": "torch.floor_divide",
    "%": "torch.remainder",
    "**": "torch.pow",
    "==": "torch.eq",
    "!=": "torch.ne",
    "<": "torch.lt",
    "<=": "torch.le",
    ">": "torch.gt",
    ">=": "torch.ge",
    "&": "torch.bitwise_and",
    "|": "torch.bitwise_or",
    "^": "torch.bitwise_xor",
    "~": "torch.bitwise_not",
    "<<": "torch.bitwise_left_shift",
    ">>": "torch.bitwise_right_shift",
    "[]": "torch.Tensor.__getitem__",
}
_HOMES: Final = (
    "torch",
    "torch.Tensor",
    "torch.nn.functional",
    "torch.nn",
    "einops",
    "torch.linalg",
    "torch.fft",
)
"""Where a bare name is looked for first: the earlier, the more likely it is meant."""
_OTHER_HOMES: Final = (
    "torch.utils.data",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.nn.parallel",
    "torch.distributed",
    "torch.distributed.fsdp",
    "torch.amp",
    "torch.cuda",
)
"""Where bare names without a signature come from, too."""
_OF_CLASSES: Final = ("__init__", "forward", "__call__")
_CLOSE: Final = 0.7


@dataclass(frozen=True, slots=True)
class Op:
    """A function, or a class where `is_class`, by the name under which it is shown.

    `definitions`: of a function, its overloads; of a class, its constructor, then its methods, a
    module's `forward` before the others. `operator`: what it was asked for by, if that is one.
    """

    name: str
    definitions: tuple[Definition, ...]
    is_class: bool = False
    operator: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """The other names of which the same signature holds."""
        names = (name for one in self.definitions for name in one.names)
        return () if self.is_class else tuple(dict.fromkeys(n for n in names if n != self.name))


def find(table: Table, asked: str) -> list[Op]:
    """Return the ops and modules of a name, the likeliest first; each signature once.

    The name is dotted or not, `F.softmax` and `nn.Linear` too, or an operator.
    """
    known = [name for name in _full(asked) if _op(table, name)]
    names = known or sorted(_ending(table, _plain(asked)), key=_likely)
    found: dict[tuple[Definition, ...], Op] = {}
    for name in names:
        op = _op(table, name)
        if op is not None:
            found.setdefault(op.definitions, replace(op, operator=_operator(asked)))
    return list(found.values())


def library_names(asked: str) -> list[str]:
    """Return the dotted names that a name may stand for that has no signature."""
    name = _plain(asked)
    if "." in name:
        return _full(name)
    return [name, *(f"{home}.{name}" for home in (*_HOMES, *_OTHER_HOMES))]


def _plain(asked: str) -> str:
    asked = asked.strip().removesuffix("()").lstrip(".")
    return _OPERATORS.get(asked) or _OPERATORS.get(asked.removesuffix("="), asked)


def _operator(asked: str) -> str:
    """Return the operator that is asked for, of `+=` the `+`; nothing where it is a name."""
    asked = asked.strip()
    return next((one for one in (asked, asked.removesuffix("=")) if one in _OPERATORS), "")


def _full(asked: str) -> list[str]:
    """Return the dotted names that a name may be short for; `.view` is a method of tensors."""
    plain = _plain(asked)
    head, dot, rest = plain.partition(".")
    if dot and head in PREFIXES:
        return [f"{home}.{rest}" for home in PREFIXES[head]]
    return [f"torch.Tensor.{plain}", plain] if asked.strip().startswith(".") else [plain]


def siblings(table: Table, found: list[Op]) -> list[str]:
    """Return the other ops that were meant perhaps: of this name, and of its other spelling."""
    first = found[0]
    last = first.name.rpartition(".")[2]
    names = [op.name for op in found[1:]]
    spelled = (name for name in table.all_names() if name.lower().endswith(f".{last.lower()}"))
    other = {name for name in spelled if name.rpartition(".")[2] != last}
    homes = (name for name in sorted(other, key=_likely) if name.rpartition(".")[0] in _HOMES)
    return [*names, *homes]


def _op(table: Table, name: str) -> Op | None:
    owner, _, method = name.rpartition(".")
    if method in _OF_CLASSES and table.lookup_class(owner) is not None:
        name = owner
    definitions = table.definitions(name)
    if definitions:
        return Op(name, tuple(definitions))
    known = table.lookup_class(name)
    if known is None:
        return None
    signatures = map(known.method, _methods(table, known))
    stated = [one for s in signatures if s is not None for one in table.definitions(s.name)]
    return Op(name, tuple(stated), is_class=True) if stated else None


def _methods(table: Table, known: OpClass) -> list[str]:
    """Return the names of a class's methods that people call, inherited ones included."""
    names: set[str] = set()
    left = [known]
    while left:
        one = left.pop()
        names |= {name for name in one.methods if not name.startswith("_")}
        left += filter(None, map(table.lookup_class, one.bases))
    return ["__init__", *sorted(names, key=lambda name: (name != "forward", name))]


def _ending(table: Table, name: str) -> Iterator[str]:
    """Yield the dotted names that end in a name."""
    yield from (full for full in set(table.all_names()) if full.endswith(f".{name}"))


def _likely(name: str) -> tuple[int, int, str]:
    home = name.rpartition(".")[0]
    return _HOMES.index(home) if home in _HOMES else len(_HOMES), len(name), name


def near_misses(table: Table, asked: str) -> list[str]:
    """Return the names that are most like one that there isn't, in the way it was written."""
    last = asked.rpartition(".")[2]
    by_last: dict[str, str] = {}
    for name in sorted(set(table.all_names()), key=_likely):
        short = name.rpartition(".")[2]
        if not short.startswith("_"):
            by_last.setdefault(short, name)
    close = difflib.get_close_matches(last, by_last, n=4, cutoff=_CLOSE)
    lower = {short.lower(): short for short in reversed(by_last)}
    if last.lower() in lower:
        close.insert(0, lower[last.lower()])
    return [by_last[short] for short in dict.fromkeys(close)]
