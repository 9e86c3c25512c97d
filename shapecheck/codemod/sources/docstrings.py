"""What docstrings say of shapes: in `Args:` and `Returns:` of any of the usual styles.

x: input of shape (N, C, H, W)      :param x: the points, `[*, N, 3]`      - Input: (N, C)
q, k: (b, t, d)                     from logits of shape (b, v)            masks in BxHxW format
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck import spec
from shapecheck.analysis.annotations.prose import (
    are_components,
    bracketed,
    is_prose,
    named,
    parse,
    placed,
)
from shapecheck.analysis.study.model import Study
from shapecheck.codemod.sources.comments import Claim, Claims, Spelling, judge
from shapecheck.codemod.sources.docstring_types import may_be_other
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Tensor

_SECTION: Final = re.compile(
    r"^(args|arguments|attributes|parameters|params|inputs?|returns?|outputs?|shapes?|keyword args)"
    r"\s*:?\s*$",
    re.IGNORECASE,
)
_ENTRY: Final = re.compile(
    r"^[-*]?\s*[`*]{0,2}(\w+(?:\s*,\s*\w+)*)[`]{0,2}\s*(\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*:(.*)$"
)
_PLAIN: Final = re.compile(r"^(\w+(?:\s*,\s*\w+)*)\s*:\s*([(\[].*)$")
_FIELD: Final = re.compile(r"^:(?:param(?:eter)?|arg)\s+(?:([^:]+?)\s+)?(\w+)\s*:(.*)$")
_TYPE_FIELD: Final = re.compile(r"^:type\s+(\w+)\s*:(.*)$")
_RETURNS: Final = re.compile(r"^:returns?\s*:(.*)$")
_SHAPE: Final = re.compile(r"(?i)\b(?:shaped?|sizes?|dims?|dimensions?)\b[^(\[.]{0,20}$")
_SEVERAL: Final = re.compile(
    r"(?i)\b(?:lists?|tuples?|dicts?|sequences?|iterables?)(?: of\b|\s*[\[(])"
    r"|\beach (?:is|has|one|of|with|tensor|item|element)\b"
)
_OTHERWISE: Final = re.compile(r"[)\]][`'\"]*(?:[^.()\[\]]*[\s,])?or\s+[`'\"]*[(\[]")
_AS: Final = re.compile(r"(?i)\b(?:in|as)(?: the)?(?: form)?$")
_FIRST: Final = re.compile(r"\s*`*\[[A-Z]\]`*(?:\s|$)")
_TIMES: Final = re.compile(r"\s[xX]\s")
_ATTRIBUTES: Final = re.compile(r"(?im)^attributes\s*:?\s*$")
_TYPED: Final = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)")
_GIVEN_BACK: Final = re.compile(
    r"(?i)\breturn(?:s|ing)?\s+(?:an?|the|its)\b|\b(?:the|its)\s+returned\b"
)
_TENSOR: Final = re.compile(r"(?i)\b(?:torch\.)?\w*tensors?\b")
_WHERE: Final = re.compile(r"(?i)\bwhere$")
_RESULT: Final = "return"
_RESULTS: Final = frozenset((_RESULT, "returns", "ret", "output", "outputs"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a docstring says of a parameter, or of the result, and of which type it calls it."""

    name: str
    prose: str
    kind: str


def claims(study: Study) -> Claims:
    """Return what the docstring of a function says of its parameters and of its result."""
    found = Claims()
    node = study.function.node
    if isinstance(node, ast.Lambda):
        return found
    text = ast.get_docstring(node, clean=True)
    if not text or not re.search(r"[(\[]|\d|[A-Z] ?x ?[A-Z]", text):
        return found
    line = node.body[0].lineno
    tensors = [name for name in study.params if name in study.bare]
    spelling = Spelling(study)
    bound = study.function.module.syntax.bindings
    entries = [*_entries(text)]
    others = {one.name for one in entries if may_be_other(one.kind, one.prose, bound)}
    for name, prose in ((one.name, one.prose) for one in entries if one.name not in others):
        if name == _RESULT and isinstance(study.result, tuple):
            found.results = found.results or _each(prose, study, spelling, line)
        if name == _RESULT and _are_several(prose):
            continue
        sizes = [one for one in study.params if one not in tensors]
        said = _shape(prose, tensors, sizes, name if name in study.params else None)
        if said is None:
            continue
        shape = spelling.of(said, study.params.get(name, UNKNOWN))
        if name not in study.params and name.lower() in _RESULTS:
            if judge(shape, study.result) is not False and found.result is None:
                found.result = Claim(spelling.of_result(shape, study.result), line)
            continue
        if name == "input" and name not in study.params and len(tensors) == 1:
            name = tensors[0]
        if name in study.params and judge(shape, study.params.get(name, UNKNOWN)) is not False:
            of_tensor = _TENSOR.search(prose) is not None and "array" not in prose.lower()
            found.params.setdefault(name, Claim(shape, line, of_tensor))
    for name, one in named(_without_results(text)):
        shape = spelling.of(one.result, study.params.get(name, UNKNOWN))
        if name in tensors and name not in others and judge(shape, study.params[name]) is not False:
            found.params.setdefault(name, Claim(shape, line, category=one.category))
    return found


def of_several_shapes(study: Study) -> set[str]:
    """Return the parameters that the docstring says to have one shape or another."""
    node = study.function.node
    text = None if isinstance(node, ast.Lambda) else ast.get_docstring(node, clean=True)
    if not text or not _OTHERWISE.search(text):
        return set()
    return {one.name for one in _entries(text) if _OTHERWISE.search(one.prose)}


def _without_results(text: str) -> str:
    """Return a docstring without what it says of results: `the resized x of shape [b, m]`."""
    kept, section = [], ""
    for line in text.split("\n"):
        heading = _SECTION.match(line.strip())
        section = heading[1].lower().rstrip("s") if heading is not None else section
        if section not in ("return", "output") and not _RETURNS.match(line.strip()):
            kept.append(line)
    return "\n".join(kept)


def _each(prose: str, study: Study, spelling: Spelling, line: int) -> list[Claim]:
    """Return what is said of each of several results; none where that isn't said of each."""
    values = study.result if isinstance(study.result, tuple) else ()
    shapes = [spec.parse(text) for text, _ in _stated(prose, ()) or ()]
    if not all(isinstance(value, Tensor) for value in values) or len(shapes) != len(values):
        return []
    found = []
    for said, value in zip(shapes, values, strict=True):
        shape = spelling.of(said)
        if judge(shape, value) is False:
            return []
        found.append(Claim(spelling.of_result(shape, value), line))
    return found


def of_fields(node: ast.ClassDef, tensors: Sequence[str]) -> dict[str, Claim]:
    """Return what docstrings say of fields that are tensors: the class', and those under fields.

    Where a class has a constructor of its own, its `Args:` are about that.
    """
    found: dict[str, Claim] = {}
    for one, below in itertools.pairwise(node.body):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            shape = _plain(_text(below), tensors) if one.target.id in tensors else None
            if shape is not None:
                found.setdefault(one.target.id, Claim(shape, below.lineno))
    text = ast.get_docstring(node, clean=True) or ""
    if any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body):
        about = _ATTRIBUTES.search(text)
        text = text[about.start() :] if about else ""
    for entry in _entries(text):
        shape = _plain(entry.prose, tensors) if entry.name in tensors else None
        if shape is not None:
            found.setdefault(entry.name, Claim(shape, node.body[0].lineno))
    return found


def _plain(prose: str, tensors: Sequence[str]) -> spec.Spec | None:
    """Return the shape that a description states so that no value is needed to believe it.

    `[x, y, z]` are coordinates where nothing says "shape".
    """
    shape = _shape(prose, tensors)
    if shape is None or re.search(r"(?i)\bshaped?\b", prose):
        return shape
    return shape if all(name.isupper() for name in shape.names()) else None


def _text(statement: ast.stmt) -> str:
    """Return the text that a statement consists of, "" for any other statement."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return " ".join(value.value.split()) if is_text else ""  # type: ignore[union-attr]


def _entries(text: str) -> Iterator[_Entry]:
    """Yield what a docstring describes: parameters, with all that it says of each, and the result.

    The result is called `return`, and so is what stands under `Returns:` without a name.
    """
    section, name, prose, kind, depth = "", "", "", "", 0
    is_underlined = False
    for line in [*text.expandtabs().split("\n"), ""]:
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        found = _begin(bare, section, is_underlined)
        heading = _SECTION.match(bare)
        if heading is not None or found is not None or not bare or (name and indent < depth):
            typed = _TYPED.match(prose)
            kind = typed[1] if typed is not None and not kind else kind
            yield from (_Entry(one.strip(), prose, kind) for one in name.split(",") if one)
            name = prose = kind = ""
        if heading is not None:
            section, is_underlined = heading[1].lower().rstrip("s"), False
        elif found is not None:
            name, prose, kind, depth = found.name, found.prose, found.kind, indent
        elif bare and not set(bare) - {"-"}:
            is_underlined = True
        elif bare and section in ("return", "output"):
            name, prose, depth = (name or _RESULT), f"{prose}\n{bare}", indent
        elif bare and name:
            prose = f"{prose} {bare}"


def _begin(line: str, section: str, is_underlined: bool) -> _Entry | None:
    """Return what a line begins to describe, and what it says of it already.

    Behind the name is a type where the heading of the section is underlined.
    """
    if found := _FIELD.match(line):
        return _Entry(found[2], found[3], found[1] or "")
    if found := _TYPE_FIELD.match(line):
        return _Entry(found[1], found[2], found[2])
    if found := _RETURNS.match(line):
        return _Entry(_RESULT, found[1], "")
    if section in ("return", "output"):
        return None
    if section and (found := _ENTRY.match(line)):
        name = found[1].lower() if section == "shape" else found[1]
        return _Entry(name, f"{found[2] or ''} {found[3]}", found[3] if is_underlined else "")
    if not section and (found := _PLAIN.match(line)):  # x: [b, t, d]
        return _Entry(found[1], found[2], "")
    return None


def _shape(
    prose: str, tensors: Sequence[str], others: Sequence[str] = (), name: str | None = None
) -> spec.Spec | None:
    """Return the one shape that a description states; None where it states two, or none.

    `others` are parameters that aren't tensors, but may be sizes. `name` is the parameter that is
    described, where it is one: what is made of that has a shape of its own.
    """
    found = dict(_stated(prose, tensors, others, name) or ())
    explicit = [text for text, told in found.items() if told]
    some = explicit or list(found)
    return spec.parse(some[0]) if len(some) == 1 else None


def _stated(
    prose: str, tensors: Sequence[str], others: Sequence[str] = (), name: str | None = None
) -> list[tuple[str, bool]] | None:
    """Return the shapes that a description states, and which it calls so; None if it is unclear.

    Values are in brackets too: `in (w, x, y, z) format`, `(x1, y1, x2, y2)`, or the `tensors` that
    are given. What isn't called a shape isn't one then.
    """
    if _OTHERWISE.search(prose):  # one of them may be written in a way that can't be read
        return None
    found: list[tuple[str, bool]] = []
    plainly = re.sub(r"[`$]|:math:", "", prose)
    prose = bracketed(plainly)
    for at, inside in placed(prose):
        shape = None if is_prose(inside) else parse(inside)
        before = prose[:at].rstrip("`$([ ")
        told = _SHAPE.search(before) is not None
        if _SEVERAL.search(before) and (told or shape is not None):
            return None
        if told and shape is None:
            return None
        if shape is None:
            continue
        names = list(shape.names())
        is_joined = "," in inside or _TIMES.search(inside) is not None
        are_short = all(_is_short(name) or name in others for name in names)
        plain = len(shape.entries) > 1 and is_joined and are_short
        counted = sum(name[-1].isdigit() for name in names) > 2
        if _WHERE.search(before) and not told:  # (H, W) are the sides
            continue
        is_told_as = inside in plainly and _AS.search(before) is not None
        is_value = counted or {*names} & {*tensors} or are_components(shape) or is_told_as
        leads = not before and _FIRST.match(prose) is not None
        plain = leads or (plain and not is_value)
        if told or (plain and (names or shape.groups)):
            if name is not None and _is_of_another(name, before):
                return None
            found.append((str(shape), told))
    return found


def _are_several(prose: str) -> bool:
    """Whether what is said of a result has a line for each of several, with its shape."""
    lines = [line for line in prose.split("\n") if _ENTRY.match(line)]
    return sum(_shape(line, ()) is not None for line in lines) > 1


def _is_of_another(name: str, before: str) -> bool:
    """Whether a sentence, up to a shape, speaks of what a parameter gives: `x[i] is of size`."""
    sentence = re.split(r"[.;]\s", before)[-1]
    part = rf"\b{name}(?:\[|\(|\.(?!(?:shape|size|dim|ndim)\b)\w)"
    return _GIVEN_BACK.search(sentence) is not None or re.search(part, sentence) is not None


def _is_short(name: str) -> bool:
    return len(name) <= 2 or "_" in name or name.isupper()
