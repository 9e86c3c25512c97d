"""The types that docstrings give to parameters: which of them aren't surely a tensor's.

x : Tensor | Callable      x (int, optional): the width      x : float tensor, shape [N, C]
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from shapecheck import dtypes

_TENSOR: Final = re.compile(
    r"(?:BFloat16|Bool|Byte|Char|Complex|Double|Float|Half|Int|Long|Named|Short)?[Tt]ensors?"
)
_NUMBERS: Final = frozenset(("bool", "boolean", "complex", "float", "int", "integer", "number"))
_OTHERS: Final = frozenset(
    "any callable dict function generator iterable iterator list mapping module optimizer sequence"
    " str string tuple".split()
)
_ARRAYS: Final = frozenset((*dtypes.CATEGORIES, "Array", "ArrayLike", "NDArray"))
_WRAPPED: Final = frozenset(("Parameter", "Variable"))
_CHOICE: Final = re.compile(r"\s*\|\s*|,?\s+or\s+")
_UNION: Final = re.compile(r"\b(?:typing\.)?(?:Optional|Union)\[(.*)\]")
_REMARK: Final = re.compile(
    r"^\s*optional\b,?|,\s*(?:optional|required|defaults?\b.*)\s*$", re.IGNORECASE
)
_NAME: Final = re.compile(r"(?:\w+\.)*(\w+)")
_CLASS: Final = re.compile(r"[A-Z]\w*[a-z]\w*")
_HUMPS: Final = re.compile(r"[a-z\d][A-Z]")


def may_be_other(kind: str, prose: str, bound: Container[str]) -> bool:
    """Whether a parameter of this type may be something else than a tensor.

    A number is what a tensor is made of where the rest of its `prose` speaks of one. `bound` are
    the names in the module: an unknown word is a class only if it is written as one.
    """
    plain = re.sub(r":\w+:(?=`)|[`~*]", "", kind)
    plain = _UNION.sub(lambda found: found[1].replace(",", " or "), plain)
    options = [_REMARK.sub("", one).strip() for one in _CHOICE.split(plain)]
    if any(_is_other(one, bound) for one in options):
        return True
    numbers = [one.partition(",")[0].lower() in _NUMBERS for one in options]
    is_of_tensor = "tensor" in prose.lower() or "(" in plain or "[" in plain
    return any(numbers) and (not all(numbers) or not is_of_tensor)


def _is_other(kind: str, bound: Container[str]) -> bool:
    """Whether a type is a container's, a callable's or a class'."""
    found = _NAME.match(kind)
    if found is None or _TENSOR.fullmatch(found[1]):
        return False
    name, rest = found[1], kind[found.end() :].lstrip()
    if name.lower() in _OTHERS:
        return not rest or rest[0] in "[(," or rest.startswith("of ")
    if not _CLASS.fullmatch(name) or name in _ARRAYS or name in _WRAPPED or name == "None":
        return False
    is_class = "." in found[0] or _HUMPS.search(name) is not None or name in bound
    return is_class and (not rest or rest[0] == "[" or rest in ("instance", "object"))
