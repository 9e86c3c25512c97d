"""Names in a module's annotations that look like slips of the pen: notes, and none in doubt.

A name that nothing binds is a new dimension, so that a slip in it passes: `"bacth channels"` as a
result says nothing of `batch`. See decisions.md, "A slip is told where nothing else explains it".
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from shapecheck.analysis.annotations.declarations import Declaration, declaration, names_of
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.host import Span
from shapecheck.analysis.program.model import Class, Function
from shapecheck.analysis.program.modules import Module

_SHORTEST: Final = 4
"""Of shorter names each letter means something."""

_MANY: Final = 5
"""As many annotations that say a name are full of it."""

_CODE: Final = "shape-annotation"


@dataclass(frozen=True, slots=True)
class _Said:
    """An annotation, and the names of dimensions in it."""

    node: ast.expr
    names: frozenset[str]


def tell(
    module: Module,
    functions: Sequence[tuple[Function, Class | None]],
    others: Sequence[ast.expr],
) -> None:
    """Note what looks like a slip in the heads of functions and in other annotations."""
    assert module.reporter is not None
    every = [*_heads(functions), *(_said(module, node) for node in others)]
    uses = Counter(name for one in every for name in one.names)
    told: set[str] = set()
    for function, _ in functions:
        for wrong, right in _only_in_result(declaration(function), uses):
            node = getattr(function.node, "returns", None)
            if node is not None and wrong not in told and _is_nowhere_else(module, node, wrong):
                told.add(wrong)
                text = f'"{wrong}" is in the result only: did you mean "{right}"?'
                module.reporter.note_at(_place(module, node, wrong), text, _CODE)
    for wrong, right in _alone(every, uses):
        node = next(one.node for one in every if wrong in one.names)
        if wrong not in told and _is_nowhere_else(module, node, wrong):
            text = f'"{wrong}" is said once, "{right}" {uses[right]} times: did you mean "{right}"?'
            module.reporter.note_at(_place(module, node, wrong), text, _CODE)
    for node, text in _turned(functions):
        module.reporter.note(node, text, _CODE)


def _heads(functions: Sequence[tuple[Function, Class | None]]) -> Iterator[_Said]:
    for function, _ in functions:
        says = declaration(function)
        for param in says.params:
            if param.node is not None and param.node.annotation is not None:
                yield _Said(param.node.annotation, frozenset(names_of(param.declared)))
        returns = getattr(function.node, "returns", None)
        if returns is not None:
            yield _Said(returns, frozenset(names_of(says.result)))


def _said(module: Module, node: ast.expr) -> _Said:
    return _Said(node, frozenset(names_of(reader(module).read(node))))


def _place(module: Module, node: ast.expr, name: str) -> Span:
    """Return where an annotation says a name; where its text begins if that is on several lines."""
    module.syntax.placed()
    for part in ast.walk(node):
        match part:
            case ast.Constant(value=str(text)) if name in _WORD.findall(text):
                span = module.lines.span(part)
                found = re.search(rf"\b{name}\b", module.lines.segment(part))
                if found is None or span.line != span.end_line:
                    return span
                start = span.column + found.start()
                return Span(span.line, start, span.line, start + len(name))
    return module.lines.span(node)


_WORD: Final = re.compile(r"[^\W\d]\w*")


def _is_nowhere_else(module: Module, node: ast.expr, name: str) -> bool:
    """Whether one annotation alone says a word in the whole text: a variable's is no slip."""
    module.syntax.quoted()
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    here = sum(_WORD.findall(text).count(name) for text in texts if isinstance(text, str))
    return here > 0 and _WORD.findall(module.source.text).count(name) == here


# A letter too many, too few, or another one -------------------------------------------------------


def _only_in_result(says: Declaration, uses: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the names that only a result has, with the name of a parameter that was meant.

    That isn't in the result itself.
    """
    given = names_of(*(param.declared for param in says.params))
    result = names_of(says.result)
    for name in sorted(result - given):
        meant = [other for other in sorted(given - result) if is_slip(name, other)]
        if uses[name] == 1 and len(meant) == 1:
            yield name, meant[0]


def _alone(every: Sequence[_Said], uses: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the names that are said once, with the one that the module is full of.

    Where both stand in one annotation, they are two.
    """
    often = [name for name, count in uses.items() if count >= _MANY]
    for one in every if often else ():
        for name in sorted(one.names):
            if uses[name] == 1 and len(name) >= _SHORTEST:
                meant = [other for other in often if is_slip(name, other)]
                if len(meant) == 1 and meant[0] not in one.names:
                    yield name, meant[0]


def is_slip(name: str, meant: str) -> bool:
    """Whether a name is another one with two letters exchanged, or with one wrong.

    It isn't where both are words as they are: `head` and `heads`, `batch` and `patch`, `dim1` and
    `dim2`. Of names like `src_len` one part alone is another one.
    """
    parts, others = name.split("_"), meant.split("_")
    if len(parts) != len(others):
        return False
    different = [(a, b) for a, b in zip(parts, others, strict=True) if a != b]
    return len(different) == 1 and _is_slip(*different[0])


def _is_slip(word: str, meant: str) -> bool:
    if min(len(word), len(meant)) < _SHORTEST or not (word + meant).isalpha():
        return False
    if word[0] != meant[0] and sorted(word) != sorted(meant):
        return False
    if word.lower() == meant.lower() or {word, meant} == {"from", "form"}:
        return False
    short, long = sorted((word, meant), key=len)
    if len(short) == len(long):
        at = [i for i in range(len(word)) if word[i] != meant[i]]
        if len(at) == 2 and at[1] == at[0] + 1:
            return word[at[0]] == meant[at[1]] and word[at[1]] == meant[at[0]]
        return len(at) == 1 and len(word) > _SHORTEST
    if len(long) - len(short) != 1 or len(short) < _SHORTEST:
        return False
    is_inflected = long[:-1] == short and long[-1] in _ENDINGS and long[-1] != short[-1]
    return not is_inflected and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


_ENDINGS: Final = "denrsy"
"""The letters that make another word of one: `heads`, `encoder`, `cached`."""


# Height and width ---------------------------------------------------------------------------------


_Parameter: TypeAlias = tuple[Function, ast.expr, tuple[str, ...]]
"""Of which function, its annotation, and the dimensions in it."""


def _turned(functions: Sequence[tuple[Function, Class | None]]) -> Iterator[tuple[ast.expr, str]]:
    """Yield the parameters that say width before height where others of their name don't.

    They are those of the methods of one class, or of the overloads of one function.
    """
    alike: dict[tuple[object, str], list[_Parameter]] = defaultdict(list)
    for function, owner in functions:
        group = owner.node if owner is not None else function.name
        for param in declaration(function).params:
            texts = list(param.declared.texts())
            if param.node is not None and param.node.annotation is not None and len(texts) == 1:
                words = tuple(str(entry) for entry in texts[0].entries)
                alike[group, param.name].append((function, param.node.annotation, words))
    for (_, name), said in alike.items():
        for _, node, words in said:
            upright = _upright(words)
            twins = [(other, at) for other, at, text in said if text == upright]
            if upright != words and twins and sum(text == words for *_, text in said) == 1:
                (other, at), text = twins[0], " ".join(upright)
                where = f'"{name}" of "{other.name}" (line {at.lineno})'
                found = f'"{" ".join(words)}" says width before height, unlike {where}'
                yield _text_in(node), f'{found}: did you mean "{text}"?'


def _upright(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return dimensions with the height before the width."""
    for i in range(len(words) - 1):
        for width, height in _PAIRS:
            if words[i + 1] == re.sub(width, height, words[i]) != words[i]:
                return (*words[:i], words[i + 1], words[i], *words[i + 2 :])
    return words


_PAIRS: Final = (
    (r"(?<![a-z])w(?![a-z])", "h"),
    (r"(?<![A-Z])W(?![A-Z])", "H"),
    ("width", "height"),
)
"""What width and height are called, as a whole name or as a part of one: `w`, `img_w`, `w2`."""


def _text_in(node: ast.expr) -> ast.expr:
    texts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return texts[0] if len(texts) == 1 else node
