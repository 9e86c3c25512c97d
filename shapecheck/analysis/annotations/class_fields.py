"""The fields of dataclasses, of attrs and of pydantic, as the body of the class writes them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis.program.model import Class
from shapecheck.analysis.program.syntax import SETTERS, last_word, parsed_expression, text_of
from shapecheck.ops.call import only

HOOKS: Final = ("__post_init__", "__attrs_post_init__", "model_post_init")
"""What a generated constructor calls once it has filled the fields."""
_MAKERS: Final = frozenset(("field", "Field", "ib", "attrib"))
_QUOTED: Final = ("InitVar[", "dataclasses.InitVar[")
_FACTORIES: Final = frozenset(("default_factory", "factory"))


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `name: annotation = field(...)` in the body of `owner`.

    `is_kept` is False for an `InitVar`, which goes to `__post_init__` only, `is_given` for one that
    the constructor doesn't take. `is_converted`: what is given isn't what is kept.
    """

    name: str
    annotation: ast.expr
    owner: Class
    default: ast.expr | None = None
    factory: ast.expr | None = None
    is_kept: bool = True
    is_given: bool = True
    is_converted: bool = False


def field(name: str, node: ast.AnnAssign, owner: Class) -> Field:
    """Return what an annotated name in the body of a class says of a field."""
    annotation, is_kept = _without_init_var(node.annotation)
    match node.value:
        case ast.Call(func=func, keywords=keywords) if last_word(func) in _MAKERS:
            said = {word.arg: word.value for word in keywords if word.arg is not None}
            return Field(
                name,
                annotation,
                owner,
                said.get("default"),
                next((said[word] for word in _FACTORIES if word in said), None),
                is_kept,
                not _is_false(said.get("init")),
                "converter" in said,
            )
    return Field(name, annotation, owner, node.value, is_kept=is_kept)


def _is_false(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=False):
            return True
    return False


def _without_init_var(annotation: ast.expr) -> tuple[ast.expr, bool]:
    """Return an annotation without the `InitVar` around it, and whether there was none."""
    match annotation:
        case ast.Constant(value=str(text)) if text.lstrip().startswith(_QUOTED):
            annotation = parsed_expression(text.strip())
    match annotation:
        case ast.Subscript(value=head, slice=inner) if last_word(head) == "InitVar":
            return inner, False
    return annotation, True


def set_by_name(node: ast.AST) -> set[str]:
    """Return the attributes that `setattr(self, "name", value)` and its like set in a function."""
    return {
        text
        for call in only(ast.walk(node), ast.Call)
        if last_word(call.func) in SETTERS
        for text in map(text_of, call.args)
        if text is not None
    }
