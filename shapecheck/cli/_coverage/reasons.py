"""Why a shape isn't known, in words."""

from __future__ import annotations

from typing import Final

from shapecheck.signatures import Table

_PLAIN: Final = {
    "parameter without a shape": "a parameter without an annotation",
    "open annotation": "an annotation that leaves it open",
    "function that isn't analysed": "a function that isn't analysed to its end",
    "BinOp": "arithmetic that can't be, or with what isn't known",
    "UnaryOp": "arithmetic that can't be, or with what isn't known",
    "Compare": "a comparison that can't be, or of what isn't known",
    "Tuple": "a tuple of what isn't known",
    "List": "a list of what isn't known",
    "ListComp": "a list of what isn't known",
    "GeneratorExp": "a row of what isn't known",
    "IfExp": "either of two values",
    "BoolOp": "either of several values",
    "Dict": "a dict of what isn't known",
    "Lambda": "a lambda",
    "Await": "what is awaited",
    "Starred": "what a * unpacks",
}
_DATA: Final = "sizes depend on data, or on what isn't known"


def in_words(reason: str, table: Table) -> str:
    """Return what a reason of the analysis means to the reader."""
    if reason in _PLAIN:
        return _PLAIN[reason]
    if reason.startswith(".") and reason.endswith("()"):
        method = reason.strip(".()")
        if table.signature(f"torch.Tensor.{method}") is None:
            return f"{reason} of a tensor has no rule"
        return f"{reason}: {_DATA}"
    if reason.startswith("call of "):
        return f"what {reason.removeprefix('call of ').removesuffix('()')}() gives isn't known"
    if reason.startswith("name "):
        return f'the name "{reason.removeprefix("name ")}" isn\'t known'
    root, dot, rest = reason.partition(".")
    if root == "builtins":
        return f"what {rest}() gives isn't known"
    if dot and root and root != "self" and reason.replace(".", "").isidentifier():
        if not table.knows(root):
            return f"{reason}: an untyped library"
        if table.signature(reason) is None and table.lookup_class(reason) is None:
            return f"{reason} has no rule"
        return f"{reason}: {_DATA}"
    if reason.endswith("[]"):
        return f"{reason.removesuffix('[]')}[...]: {_DATA}"
    return f'"{reason}" isn\'t known here'
