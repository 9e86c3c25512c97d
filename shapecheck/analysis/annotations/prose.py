"""Shapes as people write them in comments and docstrings: from prose to the annotation language.

# (B, T, C)            "B T C"
# [..., N, 3]          "... N 3"
# B x T x C            "B T C"
# Nx3 points           "N 3"
# (B, T) -> (B, T, C)  "B T" to "B T C"
# (B, T) x (T, C) = (B, C)  "B T" and "T C" to "B C"
# Float["b n d"]       "b n d"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from shapecheck import dtypes, spec

_ARROW: Final = re.compile(r"\s*(?:-+>|=+>|→|⇒|⟶|\bbecomes\b)\s*")
_LEAD: Final = re.compile(
    r"(?i)^(?:(?:\w+ )?(?:shapes?|sizes?|dims?|dimensions?)\s*(?:is|are|of|=|:|→)?\s*:?\s*"
    r"|[A-Za-z_][\w.]*\s*(?::|=|is)\s*"
    r"|(?:(?:a |the )?(?:\w+ )?tensor )?(?:of|with) (?:shape|size)\s*:?\s*)+"
)
_NAMED: Final = re.compile(
    r"(?<![\w.])((?:[A-Za-z_]\w*(?:, *and +|, *| +and +))*[A-Za-z_]\w*)"
    r"\s*(?::|\b(?:is|are|(?:has|have|of) shape)\b|\.shape\s*(?:[:=]+|is)?)\s*(?=[(\[])"
)
_LABELLED: Final = re.compile(r"#+\s*([A-Za-z_]\w*)\s+\[([^\[\]]*)\]\s*$")
_ANNOTATION: Final = (
    r"""(?:\w+\.)*([A-Z]\w*)\[(?:[\w.]+\s*,\s*)?(?P<quote>["'])([^"']*)(?P=quote)\]"""
)
_WRITTEN: Final = re.compile(_ANNOTATION)
_WRITTEN_FOR: Final = re.compile(rf"(?<![\w.])([A-Za-z_]\w*)\s*:\s*{_ANNOTATION}")
_GIVES: Final = re.compile(r"^[#:! ]*(?:-+>|→)\s*")
_KIND: Final = re.compile(r"(?i)(?:tuples?|pairs?|lists?|ranges?|intervals?|coordinates?)\b")
_VALUE: Final = re.compile(r"[A-Za-z_][\w.]*\s*=")
_SHAPE_WORD: Final = re.compile(r"(?i)\b(?:shaped?|sizes?|dims?|dimensions?)\b")
_STEP: Final = re.compile(r"^[A-Z][\w -]{0,40}[:;]\s*")
_TIMES: Final = re.compile(r"\s+[xX\u00d7]\s+|\s*\u00d7\s*")
_WORD: Final = r"[^\W\d]\w*"
_PART: Final = r"(?:[A-Z](?:[A-Z\d]|_\w+)?'?|[1-9]\d*|\((?:[A-Z\d][-+*/A-Z\d]*|[A-Za-z]\w*)\))"
_JOINED: Final = re.compile(rf"(?<![\w.]){_PART}(?:x{_PART})+(?!\w|\.\d)")
_SPACED: Final = re.compile(
    rf"(?<![\w.])(?<!\w x )(?:{_PART}|[a-z]\w*)"
    rf"(?: x (?:{_PART}(?!\w)|[a-z]\w*))+(?! x \w)(?!\w|\.\d)"
)
_PARTED: Final = ((_SPACED, re.compile(" x ")), (_JOINED, re.compile(r"x(?=[A-Z\d(])(?![^(]*\))")))
"""Each with what is between its parts, of which one may be called `nx`."""
_LITTLE: Final = frozenset(
    "an as at be by do go he if in is it me my no of ok on or so to up us we"
    " and are but for has not our that the they this with you".split()
)
_OPEN, _CLOSE = "([", {"(": ")", "[": "]"}


LONGEST: Final = 1_000
"""A comment of more characters says no shape: it is code, or data."""

_LONGEST_SHAPE: Final = 1 << 8
"""Within as many characters the bracket is closed around a shape."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says: the shape of what there is then, and of what it was made from.

    `sure`: it is plainly a shape. Else it may be prose or a value, and the analysis must agree.
    `category`: of which elements it is, `Float`, where that is said.
    """

    result: spec.Spec
    inputs: tuple[spec.Spec, ...] = ()
    sure: bool = True
    category: str = ""


def comment(text: str, known: Collection[str] = ()) -> Said | None:
    """Return the shape that a comment states, None where it is about something else.

    `known` are names of dimensions: `[N] floats` speaks of one, `[m] along the way` of metres.
    """
    said = (_GIVES.sub("", text) or text).lstrip("#:! ").rstrip()
    if written := _WRITTEN.match(said):
        return _written(*written.group(1, 3)) if _may_follow(said[written.end() :]) else None
    text = bracketed(said)
    if not text or len(text) > 300 or _is_code(text):
        return None
    sides = [side.strip() for side in _ARROW.split(text)]
    if len(sides) == 1:
        sides = _equation(text)
    if len(sides) > 1:
        return _arrow(sides) or _described(sides)
    explicit = _SHAPE_WORD.match(text) is not None or _LEAD.match(text) is not None
    body = _LEAD.sub("", text, count=1)
    found = _leading(body)
    if found is not None:
        inside, rest = found
        entries = parse(inside)
        if entries is None or is_prose(inside) or not _may_follow(rest):
            return None
        named = _SHAPE_WORD.search(text[: len(text) - len(body)]) is not None
        is_remark = len(entries.entries) < 2 and rest.strip(" .`") and not named
        if is_remark and not ({*entries.names()} & {*known}):
            return None
        is_value = _VALUE.match(text) is not None or are_components(entries) or text != said
        is_plain = _is_plain(entries, inside, rest, named) and (named or not is_value)
        return Said(entries, sure=is_plain)
    words = _bare(body, explicit)
    return None if words is None else Said(words, sure=False)


def are_letters(text: spec.Spec) -> bool:
    """Whether a text is nothing but letters for three axes or more, `B, H, W, C`."""
    names = [*text.names()]
    is_whole = len({*names}) == len(text.entries) > 2
    return is_whole and all(len(name) == 1 and name.isupper() for name in names)


def is_of_result(text: str) -> bool:
    """Whether a comment begins with an arrow: behind a head it speaks of what is returned."""
    return _GIVES.match(text) is not None


def _written(category: str, text: str) -> Said | None:
    """Return what an annotation says that stands in a text, as `Float["b n d"]`."""
    if category not in dtypes.CATEGORIES:
        return None
    try:
        return Said(spec.parse(text), category=category)
    except spec.SpecError:
        return None


def _arrow(sides: list[str]) -> Said | None:
    """Read `(b, t, c) -> (b, c, t)`; what goes in may be several shapes."""
    last = _leading(sides[-1])
    if last is None:
        words = _bare(sides[-1], False)
        before = [_bare(_STEP.sub("", side), False) for side in sides[:-1]]
        if words is None or not all(before):
            return None
        return Said(words, tuple(one for one in before if one is not None), sure=False)
    result = parse(last[0])
    if result is None or not _may_follow(last[1]):
        return None
    inputs = [parse(inside) for side in sides[:-1] for inside in groups(side)]
    if not inputs or not all(one is not None for one in inputs):
        return None
    return Said(result, tuple(one for one in inputs if one is not None))


def _equation(text: str) -> list[str]:
    """Return the sides of `[b, t, d] x [b, d, s] = [b, t, s]`; all as one of what is none."""
    left, equals, right = text.rpartition("=")
    is_one = equals and len([*groups(left)]) > 1 and len([*groups(right)]) == 1
    return [left.strip(), right.strip()] if is_one else [text]


def _described(sides: list[str]) -> Said | None:
    """Read `[N, 3] -> x, y, z`: one shape, and what is along its last axis."""
    first = _leading(sides[0])
    if first is None or any(True for side in sides[1:] for _ in groups(side)):
        return None
    found = parse(first[0]) if not first[1].strip() else None
    return None if found is None or len(found.entries) < 2 else Said(found, sure=False)


def _may_follow(rest: str) -> bool:
    """Whether a text may stand behind a shape: no second shape, no operator."""
    rest = rest.strip("`'\" ")
    if _KIND.match(rest):
        return False
    if re.search(r"\bor\b\s*[`'\"]*[(\[]", rest) or re.match(r"[-+*/@.\w]*[(\[=]", rest):
        return False
    return not re.match(r"[-+*/@%=<>]|[xX\u00d7\u00b7]\s*[(\[]", rest)


def _is_plain(entries: spec.Spec, inside: str, rest: str, named: bool) -> bool:
    """Whether what stands in brackets can't be meant as anything but a shape."""
    if named:
        return True
    words = [e for e in entries.entries if not isinstance(e, spec.Axis) or not _is_number(e)]
    if not words or (len(entries.entries) < 2 and not inside.rstrip().endswith(",")):
        return False
    if rest.lstrip().startswith(","):
        return False
    is_separated = "," in inside or _TIMES.search(inside) or _JOINED.fullmatch(inside)
    return bool(is_separated) and (not rest.strip(" .,;:") or _is_short(entries))


def is_prose(inside: str) -> bool:
    """Whether what stands between brackets, without commas, has words in it that are no sizes."""
    return "," not in inside and not _LITTLE.isdisjoint(inside.lower().split())


def are_components(text: spec.Spec) -> bool:
    """Whether names are those of the components of a vector: `x, y, z` or `qw, qx, qy, qz`."""
    names = list(text.names())
    if len(names) < 2 or len(names) != len(text.entries):
        return False
    return len({name[:-1] for name in names}) == 1 and all(name[-1] in "xyzw" for name in names)


def names_in(text: str) -> Iterator[str]:
    """Yield the names in what may be shapes in a text: those in brackets, between commas."""
    for inside in groups(text):
        found = parse(inside) if "," in inside else None
        if found is not None and not are_components(found):
            yield from found.names()


def _is_number(entry: spec.Axis) -> bool:
    return isinstance(entry.expr, spec.Number)


def _is_short(entries: spec.Spec) -> bool:
    """Whether all names are as short as prose never is, or made of several words."""
    return all(len(name) <= 2 or "_" in name or name.isupper() for name in entries.names())


def named(text: str) -> Iterator[tuple[str, Said]]:
    """Yield the shapes that a text gives to names: `q: (b, t, d), k.shape = [b, s, d]`."""
    for found in _WRITTEN_FOR.finditer(text):
        if (said := _written(*found.group(2, 4))) is not None:
            yield found[1], said
    if labelled := _LABELLED.match(text):  # preds [B, D]
        entries = parse(labelled[2])
        if entries is not None and all(map(str.isupper, entries.names())):
            if _is_plain(entries, labelled[2], "", False):
                yield labelled[1], Said(entries)
    text = bracketed(text)
    for found in _NAMED.finditer(text):
        end = _closed(text, found.end())
        inside, rest = text[found.end() + 1 : end], text[end + 1 :] if end is not None else ""
        entries = parse(inside) if end is not None else None
        if entries is not None and _is_plain(entries, inside, "", False):
            if _may_follow(rest.lstrip(",;. ")):
                for name in re.split(r"\W+and +|\W+| and ", found[1]):
                    yield name, Said(entries)


def bracketed(text: str) -> str:
    """Return a text with brackets around the shapes whose sizes only an `x` joins.

    `Nx3 points` becomes `(N, 3) points`. `3x3` is a kernel, or a number of times: it stays. Words
    that may be prose, `B x length x (dim)`, are sizes beside two others.
    """

    def written(joint: re.Pattern[str], found: re.Match[str]) -> str:
        before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
        parts = joint.split(found[0])
        is_part = re.search(r"[(\[,+*/=-]$", before) or re.match(r"[)\],+*/=]|-(?!-*>)", after)
        may_be_prose = any(part.strip("(")[0].islower() for part in parts)
        told = any(part[0].isupper() or (part[0] == "(" and may_be_prose) for part in parts)
        is_shape = not is_part and told and len(parts) > 1 + may_be_prose
        sizes = (re.sub(rf"^\(({_WORD})\)$", r"\1", part) for part in parts)
        return f"({', '.join(sizes)})" if is_shape else found[0]

    for pattern, joint in _PARTED:
        text = pattern.sub(partial(written, joint), text)
    return text


def groups(text: str) -> Iterator[str]:
    """Yield what stands in the outermost brackets of a text, those of calls and indices apart."""
    return (inside for _, inside in placed(text))


def placed(text: str) -> Iterator[tuple[int, str]]:
    """Yield what `groups` does, each behind where its bracket is opened."""
    at = 0
    while at < len(text):
        found = _closed(text, at) if text[at] in _OPEN else None
        if found is None or (at and (text[at - 1].isalnum() or text[at - 1] in "_])")):
            at += 1
            continue
        yield at, text[at + 1 : found]
        at = found + 1


def _closed(text: str, start: int) -> int | None:
    """Return where the bracket is closed that is opened at `start`; None where it is far away."""
    waiting: list[str] = []
    for at in range(start, min(len(text), start + _LONGEST_SHAPE)):
        if text[at] in _OPEN:
            waiting.append(_CLOSE[text[at]])
        elif text[at] in ")]":
            if text[at] != waiting.pop():
                return None
            if not waiting:
                return at
    return None


def _leading(text: str) -> tuple[str, str] | None:
    """Return what stands in the brackets that a text begins with, and what follows them."""
    text = text.lstrip("`'\"$ ")
    text = re.sub(r"^(?:torch\.)?(?:Size|Tensor|FloatTensor|LongTensor)(?=[(\[])", "", text)
    if not text or text[0] not in _OPEN:
        return None
    end = _closed(text, 0)
    if end is None:
        return None
    inside, rest = text[1:end], text[end + 1 :]
    if text[0] == "[":  # [P, 2] (row, col)
        rest = re.sub(r"^\s+\([^()]*\)", "", rest)
    if inside.startswith("[") and inside.endswith("]"):  # torch.Size([2, 3])
        inside = inside[1:-1]
    return inside, rest


def _bare(text: str, explicit: bool) -> spec.Spec | None:
    """Read `B x T x C`, `B, T, C` and `b t c` without brackets: the whole text, all short."""
    text = text.strip("`. ")
    if _TIMES.search(text):
        parts = _TIMES.split(text)
        if not all(re.fullmatch(rf"{_WORD}|\d+", part) for part in parts):
            return None
        return parse(text)
    words = text.replace(",", " ").split()
    if len(words) < 2 or not all(re.fullmatch(rf"(?:{_WORD}|\d+|\.\.\.)", word) for word in words):
        return None
    names = [word for word in words if word[0].isalpha()]
    if (
        _LITTLE.intersection(map(str.lower, words))
        or not names
        or any(len(word) > 2 and "_" not in word for word in names)
    ):
        return None
    return parse(text) if explicit or any(len(word) == 1 for word in names) else None


def _is_code(text: str) -> bool:
    """Whether a comment is code that somebody has switched off."""
    if re.match(r"(?i)(?:type|noqa|pylint|pragma|fmt|todo|fixme)\b\s*:?", text):
        return True
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1:
        return True
    statement = body[0]
    if isinstance(statement, ast.AnnAssign):  # Shape: (b, t)
        return statement.value is not None
    if not isinstance(statement, ast.Expr):
        return not isinstance(statement, ast.Assign)
    if not isinstance(statement.value, ast.Call):
        return False
    called = statement.value.func
    if isinstance(called, ast.List):  # [P, 2] (row, col)
        return False
    return not isinstance(called, ast.Name) and ast.unparse(called) != "torch.Size"


def parse(inside: str) -> spec.Spec | None:
    """Return the shape that stands between brackets, None where it isn't one."""
    inside = inside.strip().replace("…", "...")
    if not inside:
        return None
    if "," in inside:
        parts = _split(inside)
    elif _TIMES.search(inside):
        parts = _TIMES.split(inside)
    elif _JOINED.fullmatch(inside):
        parts = inside.split("x")
    elif re.search(r"[-+*/]", inside):
        parts = [inside]
    else:
        parts = inside.split()
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    entries = _counted([_entry(part.strip()) for part in parts])
    if not entries or not all(entries):
        return None
    try:
        found = spec.parse(" ".join(entry for entry in entries if entry is not None))
    except spec.SpecError:
        return None
    return found if found.groups <= 1 else None


def _counted(entries: list[str | None]) -> list[str | None]:
    """Return dimensions without those that only show what a `...` stands for: `1, 1, ..., 1`."""

    def stem(entry: str | None) -> str:
        return re.sub(r"(?<=[^\W\d])_?(?:\d+|[dDkKmMnN])$", "", entry or "")

    if entries.count("...") != 1 or not 0 < (at := entries.index("...")) < len(entries) - 1:
        return entries
    last, before = entries[at + 1], entries[:at]
    if stem(last) != stem(before[-1]):
        return entries
    while before and stem(before[-1]) == stem(last):
        before.pop()
    return [*before, *entries[at : at + 1], *entries[at + 2 :]]


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _entry(text: str) -> str | None:
    """Return one dimension in the annotation language, None where it can't be one."""
    is_primed = text.endswith("'") and not text.startswith("'")  # t', which is no t
    text = text.strip("`'\"$ ").replace("\u00d7", "*")
    if text in ("...", "*"):
        return "..."
    if text in ("?", "-1", "None", "_") or (is_primed and re.fullmatch(_WORD, text)):
        return "_"
    if re.fullmatch(rf"\*{_WORD}", text) or re.fullmatch(rf"{_WORD}|\d+", text):
        return text
    if re.fullmatch(rf"{_WORD}(?:\.{_WORD})+", text):
        return "{" + text + "}"
    compact = re.sub(r"(?<![*/])/(?![/])", "//", re.sub(r"\s*([-+*/()])\s*", r"\1", text))
    compact = re.sub(r"\b(\d+)(?=(?!x\d)[A-Za-z_(])", r"\1*", compact)
    compact = re.sub(rf"\b({_WORD}(?:\.{_WORD})+)\b", r"{\1}", compact)
    if " " in compact or not re.fullmatch(r"[\w+\-*/(){}.]+", compact):
        return None
    try:
        spec.parse(compact)
    except spec.SpecError:
        return None
    return compact
