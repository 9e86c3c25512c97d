"""`self.mask` is a `Tensor` where a class has registered it, though torch says `Tensor | Module`.

What `register_buffer` makes an attribute of a module mypy finds by `Module.__getattr__` alone, and
its result can neither be indexed nor called. A buffer that may be None is left to mypy.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from mypy.nodes import MemberExpr
from mypy.types import Instance, TypeVarType, UnionType, get_proper_type

from shapecheck.mypy_plugin._names import MODULE, REGISTERING, TENSOR
from shapecheck.mypy_plugin._rechecking import always
from shapecheck.project.relevance import is_library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.checker import TypeChecker
    from mypy.nodes import TypeInfo
    from mypy.plugin import AttributeContext, ClassDefContext
    from mypy.types import Type

    from shapecheck.mypy_plugin._sources import SourceReader

_METADATA: Final = "shapecheck"
_REGISTERED: Final = "registered"


class Buffers:
    """The two hooks: one keeps what a class registers in its methods, the other answers with it.

    mypy has what is kept in its cache, with the class, and checks again what imports it when it is
    another.
    """

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader
        self._split: tuple[str, list[str]] | None = None
        """The text of the module that was asked about last, and its lines."""

    def keep(self, ctx: ClassDefContext) -> None:
        """Keep with a module's class the names of the tensors that its methods register."""
        info = ctx.cls.info
        names = sorted(self._registered(ctx, info)) if info.has_base(MODULE) else []
        if names:
            info.metadata[_METADATA] = {_REGISTERED: names}

    def _registered(self, ctx: ClassDefContext, info: TypeInfo) -> Iterator[str]:
        module = ctx.api.modules.get(info.module_name)
        read = module and self._reader.read(info.module_name, module.path)
        text = read[0].text if read else ""
        if not _mentions(text):
            return
        # Imported late: a run in which nothing has changed needs no syntax.
        from shapecheck.analysis.program.syntax import lines_of

        if self._split is None or self._split[0] is not text:
            self._split = text, lines_of(text)
        # The class alone: a large module of many classes would be gone through for each of them.
        own = "\n".join(self._split[1][ctx.cls.line - 1 : ctx.cls.end_line])
        if not _mentions(own):
            return
        with suppress(SyntaxError, ValueError, RecursionError):
            tree = ast.parse(f"if True:\n{own}" if own[0].isspace() else own)
            found = (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef))
            yield from _tensors(next(found))


def attribute(ctx: AttributeContext) -> Type:
    """Return what an attribute of a module is, by what its class and those above it register."""
    owner, known = get_proper_type(ctx.type), get_proper_type(ctx.default_attr_type)
    if isinstance(owner, TypeVarType):
        owner = get_proper_type(owner.upper_bound)
    if not (isinstance(owner, Instance) and isinstance(known, UnionType)):
        return ctx.default_attr_type
    checker = cast("TypeChecker", ctx.api)
    if any(_is_elsewhere(one, checker) for one in owner.type.mro):
        always(checker)
    name = ctx.context.name if isinstance(ctx.context, MemberExpr) else ""
    kept = (one.metadata.get(_METADATA, {}).get(_REGISTERED, ()) for one in owner.type.mro)
    if any(name in names for names in kept):
        for option in map(get_proper_type, known.items):
            if isinstance(option, Instance) and option.type.fullname == TENSOR:
                return option
    return ctx.default_attr_type


def _mentions(text: str) -> bool:
    return any(name in text for name in REGISTERING)


def _is_elsewhere(info: TypeInfo, checker: TypeChecker) -> bool:
    """Whether a class is in another module of the project than the one that is being checked."""
    module = checker.modules.get(info.module_name)
    return module is not None and module is not checker.tree and not is_library(module.path)


def _tensors(node: ast.ClassDef) -> set[str]:
    """Return the names that a class registers in its methods, and never for None."""
    found: dict[str, bool] = {}
    for call in (one for method in node.body for one in ast.walk(method)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr in REGISTERING and ast.unparse(call.func.value) == "self":
            what = REGISTERING[call.func.attr]
            given = dict(zip(("name", what), call.args, strict=False))
            given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
            name, value = given.get("name"), given.get(what)
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                is_none = value is None or ast.unparse(value) == "None"
                found[name.value] = not is_none and found.get(name.value, True)
    return {name for name, is_tensor in found.items() if is_tensor}
