"""Shapes as other libraries and people write them, read into our language.

    "shape: (B, L, D)"            a text beside a tensor's type in `Annotated`
    "batch": ..., "channels", 3   the items of torchtyping's `TensorType[...]`
    "b c/2 isqrt(n)"              the text of dltype's `FloatTensor[...]`
    "bn", 3, "h", "w"             what vLLM's `TensorShape(...)` takes

What such a form allows and our language can't say is any size; `None` stands for any shape.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import EllipsisType
from typing import Final, TypeAlias

from shapecheck.spec.nodes import Axis, Entry, Group, Name, Number, Spec, Wild
from shapecheck.spec.parser import SpecError, parse

Word: TypeAlias = "str | int | EllipsisType"
"""One dimension that stands by itself: its name, its size, or `...` for any number of them."""

Slot: TypeAlias = "tuple[str | None, Word | None]"
"""A dimension as torchtyping writes it, `"name": size`; None where one of the two is missing."""


def named(text: str) -> Name:
    """Return the dimension of a name that may be any text, `"in-features"` or `"2*n"`."""
    word = re.sub(r"\W", "_", text.strip()) or "unnamed"
    return Name(word if word[0].isalpha() else f"d{word}")


def of_slots(slots: Iterable[Slot]) -> Spec:
    """Read what torchtyping's `TensorType[...]` has in its brackets, its dtypes left out."""
    return Spec(tuple(_slot(name, size) for name, size in slots))


def _slot(name: str | None, size: Word | None) -> Entry:
    known = None if name is None else named(name)
    label = None if known is None else known.id
    match size:
        case EllipsisType():
            return Group(label)
        case str():
            return Axis(named(size), label=label)
        case int() if size >= 0:
            return Axis(Number(size), label=label)
    return Axis(known or Wild())


def of_words(words: Iterable[Word], free: Collection[str] = ()) -> Spec:
    """Read names and sizes one by one, as vLLM's `TensorShape` has them; `free` aren't checked."""
    return Spec(tuple(_word(word, free) for word in words))


def _word(word: Word, free: Collection[str]) -> Entry:
    match word:
        case EllipsisType():
            return Group(None)
        case str() if word in free:
            return Axis(Wild(f"_{named(word).id}"))
        case str():
            return Axis(named(word))
    return Axis(Number(word)) if word >= 0 else Axis(Wild())


_ROOT: Final = re.compile(r"\bisqrt\(")


def of_dltype(text: str) -> Spec:
    """Read the text of dltype, where `/` is division without a rest and `^` a power.

    Raises `SpecError`.
    """
    return Spec(tuple(_dltype(piece) for piece in text.split()))


def _dltype(piece: str) -> Entry:
    if _ROOT.search(piece):
        return Axis(Wild())
    size = re.sub(r"/+", "//", piece).replace("^", "**")
    (entry,) = parse(size).entries
    return entry


# Texts in `Annotated` ---------------------------------------------------------------------------

_LED: Final = re.compile(r"\s*(?:tensor\s+of\s+)?shape\s*[:=]?\s*(?=[(\[])", re.IGNORECASE)
_ROW: Final = re.compile(r"\s*[(\[](?P<row>[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*)[)\]]\s*")
_ELEMENT_TYPE: Final = re.compile(
    r"[,;]?\s*(?:dtype\s*[:=]?\s*)?(?:torch\.)?"
    r"(?:u?int\d*|b?float\d*|complex\d*|bool|long|half|double)?\s*"
)
_TIMES: Final = re.compile("\\s*\N{MULTIPLICATION SIGN}\\s*")
_UNCLEAR: Final = re.compile(r"\S+(?:\s+x\s+\S+)+")
"""`b x c` may be two dimensions and may be three."""
_WORDS: Final = re.compile(r"[^\W\d_]+")
_ARTICLE: Final = re.compile(r"\s*an?\s", re.IGNORECASE)
_JOINING: Final = frozenset("the of for from with and or is are that this which to per as".split())
_SIZES: Final = frozenset(
    """
    batch batches batchsize row rows column columns col cols channel channels dim dims dimension
    dimensions timestep timesteps seq seqlen vocab classes heads frames tokens steps samples
    """.split()
)
_COUNTED: Final = _SIZES | frozenset(
    """
    size length len width height depth time step frame sequence sequences token word words feature
    features hidden embed embedding model group groups query queries key keys value values source
    target point points nodes edges views rays cameras patches pixels bins layers layer experts
    agents envs num horizon window windows chunk chunks blocks pages slots beams space latent
    proposals boxes objects vertices faces samples sample in out
    """.split()
)
"""What sizes are called by, alone or beside such a name; other words may be anything."""


def is_description(text: str) -> bool:
    """Whether a text beside a tensor's type is prose, `"Input tensor"`, and no shape.

    It is where it has a word that joins others, or where all that stands in it are whole words
    of which some say no size.
    """
    if not _JOINING.isdisjoint(word.lower() for word in _WORDS.findall(text)):
        return True
    if _ARTICLE.match(text) and not _COUNTED.issuperset(_whole_words(text)):
        return True
    words = _whole_words(text)
    if not words or len(words) < len(text.split()):
        return False
    return _SIZES.isdisjoint(words) or not _COUNTED.issuperset(words)


def _whole_words(text: str) -> list[str]:
    """Return what in a text stands by itself and is a word."""
    pieces = (piece.strip(".,:;!()[]") for piece in text.split())
    return [piece.lower() for piece in pieces if _is_word(piece)]


def _is_word(piece: str) -> bool:
    """Whether something is written as words of a language are, not as names of sizes may be."""
    return len(piece) > 2 and piece.isalpha()


def of_annotated(items: Sequence[object]) -> Spec | None:
    """Read what stands beside a tensor's type in `Annotated`; None where that is no shape.

    Either one text has all dimensions, `"b c"` or `"shape: (b, c)"`, or each has a text, a size or
    `...` for itself. What is neither text nor size is another library's. Raises `SpecError` for a
    text that is meant as a shape and isn't one.
    """
    said = [item for item in items if _is_word_of_shape(item)]
    texts = [item for item in said if isinstance(item, str)]
    if not texts:
        return None
    if len(said) > 1 and all(len(text.split()) == 1 for text in texts):
        return None if any(map(is_description, texts)) else Spec(tuple(_each(said)))
    found = (of_text(text) for text in texts)
    return next((one for one in found if one is not None), None)


def _is_word_of_shape(item: object) -> bool:
    return isinstance(item, (str, int, EllipsisType)) and not isinstance(item, bool)


def _each(items: Iterable[object]) -> Iterator[Entry]:
    for item in items:
        yield from parse("..." if item is ... else str(item)).entries


def of_text(text: str) -> Spec | None:
    """Read one text beside a tensor's type, None if it is prose.

    Raises `SpecError` for a text that is meant as a shape and isn't one.
    """
    row = _row(text)
    if row is not None:
        return row
    if is_description(text) or _UNCLEAR.fullmatch(text.strip()):
        return None
    try:
        return parse(text)
    except SpecError:
        if " | " in text or not _COUNTED.issuperset(_whole_words(text)):
            return None
        raise


def _row(text: str) -> Spec | None:
    """Read `"shape: (b, c), dtype: float32"`, `"[b, c]"` and the like with a cross between."""
    led = _LED.match(text)
    rest = text if led is None else text[led.end() :]
    found = _ROW.match(rest)
    if found is not None and _ELEMENT_TYPE.fullmatch(rest, found.end()):
        pieces = [piece.strip() for piece in found["row"].split(",")]
        if led is not None or len(pieces) > 1 or rest.lstrip()[0] == "[":
            return _pieces([piece for piece in pieces if piece])
    pieces = _TIMES.split(text.strip())
    return _pieces(pieces) if len(pieces) > 1 else None


def _pieces(pieces: Sequence[str]) -> Spec | None:
    """Read dimensions that stand apart, `2^n` and spaces around operators allowed."""
    entries: list[Entry] = []
    for piece in pieces:
        size = re.sub(r"\s*([-+*/%^]+)\s*", r"\1", piece).replace("^", "**")
        size = re.sub(r"(?<!/)/(?!/)", "//", size)
        try:
            read = parse(size).entries
        except SpecError:
            read = ()
        if len(read) != 1:
            return None
        entries += read
    return Spec(tuple(entries))
