"""The fields of dataclasses, of attrs and of pydantic, as the body of the class writes them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from shapecheck.analysis.program.model import Class

HOOKS: Final = ("__post_init__", "__attrs_post_init__", "model_post_init")
"""What a generated constructor calls once it has filled the fields."""
_MAKERS: Final = frozenset(("field", "Field", "ib", "attrib"))
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
    made = node.value
    if not isinstance(made, ast.Call) or _last_word(made.func) not in _MAKERS:
        return Field(name, annotation, owner, made, is_kept=is_kept)
    said = {word.arg: word.value for word in made.keywords if word.arg is not None}
    given = said.get("init")
    return Field(
        name,
        annotation,
        owner,
        said.get("default"),
        next((said[word] for word in _FACTORIES if word in said), None),
        is_kept,
        not (isinstance(given, ast.Constant) and given.value is False),
        "converter" in said,
    )


def _without_init_var(annotation: ast.expr) -> tuple[ast.expr, bool]:
    """Return an annotation without the `InitVar` around it, and whether there was none."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        if not annotation.value.lstrip().startswith(("InitVar[", "dataclasses.InitVar[")):
            return annotation, True
        annotation = ast.parse(annotation.value.strip(), mode="eval").body
    if isinstance(annotation, ast.Subscript) and _last_word(annotation.value) == "InitVar":
        return annotation.slice, False
    return annotation, True


def _last_word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def set_by_name(node: ast.AST) -> set[str]:
    """Return the attributes that `setattr(self, "name", value)` and its like set in a function."""
    return {
        given.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and _last_word(call.func) in ("setattr", "__setattr__")
        for given in call.args
        if isinstance(given, ast.Constant) and isinstance(given.value, str)
    }
