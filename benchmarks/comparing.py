"""What a person's annotations and those that were found again have to do with each other."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from calling import made_up

from shapecheck import dtypes, spec
from shapecheck.analysis.annotations.declarations import arguments_of
from shapecheck.analysis.study.study import qualnames
from shapecheck.codemod.sources.record_check import contradiction
from shapecheck.codemod.write.annotation_types import (
    NONE,
    DictType,
    ListType,
    Plain,
    TensorType,
    TupleType,
    Type,
    either,
)
from shapecheck.record.store import Recorded

Slots = dict[str, Type]
CLASSES: Final = {
    "equal": "equal up to names",
    "alike": "spelled differently",
    "finer": "more precise",
    "coarser": "less precise",
    "other": "contradicting",
    "missing": "not annotated",
}
_OTHER: Final = Plain("object")


def annotations(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, Slots]]:
    """Yield functions with the annotations in them that have a shape, by parameter and `return`."""
    for node, name in qualnames(tree):
        if isinstance(node, ast.FunctionDef):
            pairs = [(a.arg, a.annotation) for a in arguments_of(node)] + [("return", node.returns)]
            slots = {slot: kind_of(one) for slot, one in pairs if one is not None}
            yield name, node, {slot: kind for slot, kind in slots.items() if any(kind.tensors())}


def kind_of(node: ast.expr) -> Type:
    """Return what an annotation says of shapes."""
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return either(kind_of(left), kind_of(right))
        case ast.Subscript(value=head, slice=inside):
            name = ast.unparse(head).rpartition(".")[2]
            items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            match items:
                case [array, ast.Constant(value=str(text))] if name in dtypes.CATEGORIES:
                    return _OTHER if "ndarray" in ast.unparse(array) else TensorType(name, text)
            kinds = tuple(map(kind_of, items))
            if name in ("Optional", "Union"):
                return either(*kinds, *([NONE] if name == "Optional" else []))
            if name.lower() in ("list", "sequence", "iterable"):
                return ListType(kinds[0])
            if name.lower() in ("dict", "mapping"):
                return DictType("str", kinds[-1])
            if name.lower() == "tuple":
                endless = len(items) > 1 and ast.unparse(items[-1]) == "..."
                return TupleType(kinds[:1] if endless else kinds, endless)
    return _OTHER


def tokens(text: str) -> list[str]:
    """Return names, expressions in braces, numbers and operators of a shape, in order.

    What stands left of `=` is for the reader.
    """
    canonical = re.sub(r"\w+=", "", str(spec.parse(text)))
    return re.findall(r"\{[^}]*\}|[^\W\d]\w*|\d+|\.\.\.|\S| ", canonical)


def untied(node: ast.FunctionDef, tree: ast.Module) -> set[str]:
    """Return the groups, `*batch`, that nothing else in a function has: they say what `...` says.

    Names of an instance (`dims="batch"`) are had by all of its methods.
    """
    texts = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    counts = Counter(
        name for text in texts if isinstance(text, str) for name in re.findall(r"[*#]+(\w+)", text)
    )
    shared = {
        name
        for n in ast.walk(tree)
        if isinstance(n, ast.keyword) and n.arg == "dims"
        for name in re.findall(r"\w+", ast.unparse(n.value))
    }
    return {name for name, count in counts.items() if count == 1} - shared


def opened(text: str, groups: set[str]) -> str:
    """Return a shape with `...` for those of its groups."""
    return re.sub(r"(?<![\w*#])\*(\w+)", lambda m: "..." if m[1] in groups else m[0], text)


def same(one: str, other: str, names: dict[str, str]) -> bool:
    """Whether two shapes are equal up to the names in them; extends what names stand for."""
    try:
        a, b = tokens(one), tokens(other)
    except spec.SpecError:
        return False
    trial = dict(names)
    for x, y in zip(a, b, strict=False):
        is_name = x[0].isalpha() or x[0] in "_{"
        if not is_name or not (y[0].isalpha() or y[0] in "_{"):
            if x != y:
                return False
        elif trial.setdefault(x, y) != y:
            return False
    if len(a) != len(b) or len(set(trial.values())) < len(trial):
        return False
    names.update(trial)
    return True


def compare(before: str, after: str, show: bool) -> Counter[str]:
    """Count the places that a person annotated, by what became of them."""
    tree, again = ast.parse(before), ast.parse(after)
    new = {name: (node, slots) for name, node, slots in annotations(again)}
    counts: Counter[str] = Counter()
    for name, node, slots in annotations(tree):
        names: dict[str, str] = {}
        other, found = new.get(name, (node, {}))
        sound: set[str] = set()
        loose, loose_again = untied(node, tree), untied(other, again)
        for slot, kind in slots.items():
            counts["places"] += 1
            if slot not in found:
                what = "missing"
            else:
                mine, theirs = [*kind.tensors()], [*found[slot].tensors()]
                counts["dtype"] += [o.category for o in mine] == [o.category for o in theirs]
                if len(mine) == len(theirs) and all(
                    same(one.text, two.text, names)
                    or same(opened(one.text, loose), opened(two.text, loose_again), names)
                    for one, two in zip(mine, theirs, strict=True)
                ):
                    what = "equal"
                    sound.add(slot)
                else:
                    some = sound | {slot}
                    is_sound = _fits(tree, node, name, {s: found[s] for s in some})
                    is_fine = _fits(again, other, name, {s: slots[s] for s in some})
                    what = _JUDGED[is_sound, is_fine]
            counts[what] += 1
            if show and what != "equal":
                theirs = [*found[slot].tensors()] if slot in found else []
                print(f"  {what}: {name}({slot}): {_shown(kind)} -> {_shown(found.get(slot))}")
    return counts


_JUDGED: Final = {
    (True, True): "alike",
    (True, False): "coarser",
    (False, True): "finer",
    (False, False): "other",
}


def _fits(tree: ast.Module, node: ast.FunctionDef, name: str, kinds: Mapping[str, Type]) -> bool:
    """Whether calls that are made up after a function's annotations fit others."""
    try:
        calls = made_up(tree, node, name)
        return contradiction(Recorded(len(calls), calls), kinds) is None
    except (spec.SpecError, ArithmeticError):
        return False


def _shown(kind: Type | None) -> str:
    if kind is None:
        return "nothing"
    some = [f'{one.category} "{one.text}"' for one in kind.tensors()]
    return ", ".join(some) + (" | None" if NONE in getattr(kind, "options", ()) else "")
