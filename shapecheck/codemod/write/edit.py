"""Writes annotations into source text, and takes them out again; every other byte stays.

A parameter without annotation gets one that says `torch.Tensor` by a name that the user's own
annotations don't use. The import that comes with the annotations says which name that is:

    from shapecheck import Float  # by shapecheck annotate: torch.Tensor
    from shapecheck import Float  # by shapecheck annotate: torch.Tensor, x = 1

So `strip` knows an annotation that was written where there was none from one that was put around
a `Tensor`, and takes both back to what they were. The second form says that parameters without an
annotation had spaces around their `=`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import libcst as cst

from shapecheck.analysis.study.study import qualnames
from shapecheck.codemod.write.annotation_types import (
    DictType,
    Either,
    ListType,
    TensorType,
    TupleType,
    Type,
)
from shapecheck.codemod.write.imports import (
    LIBRARIES,
    MARK,
    Bindings,
    Mark,
    added,
    dotted,
    find_mark,
)
from shapecheck.codemod.write.pieces import LINE, Piece, pieces_of


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an annotation: a parameter, the result (`return`) or a local of a function.

    `function` is the qualified name, `nth` tells apart functions of the same name. `local` counts,
    from 1, the assignments to a local variable of this name; 0 stands for a parameter or `return`.
    With `FIELD` it is a field that is annotated in the body of a class, and that's the class' name.
    """

    function: str
    nth: int
    name: str
    local: int = 0


FIELD: Final = -1


class Annotated(NamedTuple):
    """A module's text with its annotations, and the slots whose types don't fit or say no more."""

    text: str
    unfit: frozenset[Slot] = frozenset()


@dataclass(slots=True)
class Names:
    """How a module spells what annotations are made of.

    `tensor` is for where there was no annotation; `shaped` maps our types to their names here;
    `needed` are the lines of imports to add, without their mark.
    """

    tensor: str
    shaped: dict[str, str] = field(default_factory=dict)
    needed: list[tuple[str, str]] = field(default_factory=list)


# Writing ------------------------------------------------------------------------------------------


def annotate(text: str, wanted: Mapping[Slot, Type], style: str = "shapecheck") -> Annotated:
    """Write annotations into a module's text; `style` is the library that they come from.

    What has a shape already stays as it is. Raises `cst.ParserSyntaxError`.
    """
    if not wanted:
        return Annotated(text)
    functions = {slot.function for slot in wanted if slot.local != FIELD}
    whole = {slot.function for slot in wanted if slot.local > 0}
    has_fields = any(slot.local == FIELD for slot in wanted)
    head, rest = pieces_of(text, functions, whole)
    bindings = Bindings(text)
    mark = find_mark(cst.parse_module(head))
    writer = _Writer(bindings, wanted, _names(bindings, wanted, style, mark), mark)
    if has_fields:
        head, rest = pieces_of(writer.with_fields(text), functions, whole)
    module = cst.parse_module(head).visit(writer)
    changed = [one.text if one.outer is None else writer.function_of(one) for one in rest]
    unfit = frozenset(wanted.keys() - writer.written)
    if not writer.used:
        return Annotated(text, unfit)
    return Annotated(_with_imports(module, writer, style, mark).code + "".join(changed), unfit)


def classes(tree: ast.AST) -> Iterator[tuple[ast.ClassDef, str, int]]:
    """Yield the classes in a tree, in order: the qualified name, how many had it before."""
    counts: Counter[str] = Counter()
    for node, name in qualnames(tree):
        if isinstance(node, ast.ClassDef):
            yield node, name, counts[name]
            counts[name] += 1


def fields_of(node: ast.ClassDef) -> dict[str, ast.AnnAssign]:
    """Return the fields that are annotated in the body of a class, each where it is first."""
    found: dict[str, ast.AnnAssign] = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found.setdefault(one.target.id, one)
    return found


def _names(bindings: Bindings, wanted: Mapping[Slot, Type], style: str, mark: Mark | None) -> Names:
    """Decide how the annotations of a module are spelled."""
    usable = {n: full for n, full in bindings.imported.items() if n in bindings.usable}
    # An import that nothing uses isn't made use of: `strip` couldn't tell it from one of ours.
    by_meaning = {full: name for name, full in usable.items() if name in bindings.used}
    names = Names(_tensor(bindings, usable, mark))
    for kind in sorted({one.category for w in wanted.values() for one in w.tensors()}):
        known = [by_meaning.get(f"{library}.{kind}") for library in (style, *LIBRARIES)]
        name = next((found for found in known if found is not None), None)
        names.shaped[kind] = name or _free(kind, bindings)
    return names


def _tensor(bindings: Bindings, usable: Mapping[str, str], mark: Mark | None) -> str:
    """Return a spelling of `torch.Tensor` that no annotation of the user's has."""
    if mark is not None and mark.tensor:
        return mark.tensor
    known = [name for name, full in usable.items() if full == "torch.Tensor"]
    known += [f"{name}.Tensor" for name, full in usable.items() if full == "torch"]
    free = [name for name in known if not bindings.spelled[name]]
    if free:
        return free[0]
    return "Tensor" if "Tensor" not in bindings.taken else _free("AnyTensor", bindings)


def _free(name: str, bindings: Bindings) -> str:
    """Return a name that nothing in the module has, like this one."""
    while name in bindings.taken:
        name += "_"
    return name


class _Walker(cst.CSTTransformer):
    """Knows in which function it is, and how many assignments it has seen there to each name."""

    def __init__(self) -> None:
        self._outer: list[str] = []
        self._inside: list[tuple[str, int]] = []
        self._nth: Counter[str] = Counter()
        self._assigned: list[Counter[str]] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._outer.append(node.name.value)

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.BaseStatement:
        self._outer.pop()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        qualname = ".".join([*self._outer, node.name.value])
        self._inside.append((qualname, self._nth[qualname]))
        self._nth[qualname] += 1
        self._outer += [node.name.value, "<locals>"]
        self._assigned.append(Counter())

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.BaseStatement:
        del self._outer[-2:]
        self._assigned.pop()
        return self.function(updated_node, *self._inside.pop())

    def function(self, node: cst.FunctionDef, qualname: str, nth: int) -> cst.FunctionDef:
        """Return a function as it is to be."""
        return node

    def target(self, node: cst.BaseExpression) -> Slot | None:
        """Return the slot of a local variable that is assigned."""
        if not self._inside or not isinstance(node, cst.Name):
            return None
        self._assigned[-1][node.value] += 1
        return Slot(*self._inside[-1], node.value, self._assigned[-1][node.value])


_INNER: Final = (cst.BaseExpression, cst.Parameters, cst.Annotation, cst.EmptyLine)
"""Nodes in which there is no statement."""


class _Writer(_Walker):
    def __init__(
        self, bindings: Bindings, wanted: Mapping[Slot, Type], names: Names, mark: Mark | None
    ) -> None:
        super().__init__()
        self.bindings, self.wanted, self.names = bindings, wanted, names
        self.with_locals = {(slot.function, slot.nth) for slot in wanted if slot.local}
        self.spaced = bindings.spaced if mark is None else mark.spaced
        self.used: set[str] = set()
        self.written: set[Slot] = set()
        self.is_bare = False

    def function_of(self, piece: Piece) -> str:
        """Return the text of a function, or of its head, with its annotations."""
        above = "if 1:\n" if piece.text[:1].isspace() else ""
        self._outer = list(piece.outer or ())
        code = cst.parse_module(above + piece.text + piece.below).visit(self).code
        return code.removeprefix(above).removesuffix(piece.below)

    def with_fields(self, text: str) -> str:
        """Return a module's text with the shapes of fields, which go around their types."""
        lines = LINE.findall(text)
        for node, name, nth in [*classes(ast.parse(text))][::-1]:
            for field_, one in [*fields_of(node).items()][::-1]:
                slot = Slot(name, nth, field_, FIELD)
                if slot in self.wanted:
                    self._put_field(lines, one.annotation, slot)
        return "".join(lines)

    def _put_field(self, lines: list[str], annotation: ast.expr, slot: Slot) -> None:
        """Put a shape into the lines in which a type stands; one of several lines is left alone."""
        if annotation.end_lineno != annotation.lineno:
            return
        line = lines[annotation.lineno - 1].encode()
        start, end = annotation.col_offset, annotation.end_col_offset or 0
        inner = self._more(cst.parse_expression(line[start:end].decode()), slot)
        if inner is not None:
            code = cst.Module([]).code_for_node(inner).encode()
            lines[annotation.lineno - 1] = (line[:start] + code + line[end:]).decode()

    def function(self, node: cst.FunctionDef, qualname: str, nth: int) -> cst.FunctionDef:
        def param(one: cst.Param) -> cst.Param:
            slot = Slot(qualname, nth, one.name.value)
            return self._param(one, slot) if slot in self.wanted else one

        node = node.with_changes(params=each_param(node.params, param))
        result = Slot(qualname, nth, "return")
        if result not in self.wanted:
            return node
        if node.returns is None:
            returns = cst.Annotation(
                self._new(result),
                whitespace_before_indicator=cst.SimpleWhitespace(" "),
                whitespace_after_indicator=cst.SimpleWhitespace(" "),
            )
            return node.with_changes(returns=returns)
        return node.with_changes(returns=self._around(node.returns, result))

    def _param(self, node: cst.Param, slot: Slot) -> cst.Param:
        if node.annotation is not None:
            return node.with_changes(annotation=self._around(node.annotation, slot))
        annotation = cst.Annotation(
            self._new(slot),
            whitespace_before_indicator=cst.SimpleWhitespace(""),
            whitespace_after_indicator=cst.SimpleWhitespace(" "),
        )
        if node.default is None or not isinstance(node.equal, cst.AssignEqual):
            return node.with_changes(annotation=annotation)
        equal = node.equal if self.spaced else swapped(node.equal)
        return node.with_changes(annotation=annotation, equal=equal)

    def on_visit(self, node: cst.CSTNode) -> bool:
        return not isinstance(node, _INNER) and super().on_visit(node)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return bool(self._inside) and self._inside[-1] in self.with_locals

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.BaseSmallStatement:
        slots = [self.target(one.target) for one in updated_node.targets]
        slot = slots[0] if len(slots) == 1 else None
        if slot is None or slot not in self.wanted:
            return updated_node
        target = updated_node.targets[0]
        return cst.AnnAssign(
            target=target.target,
            annotation=cst.Annotation(
                self._new(slot),
                whitespace_before_indicator=cst.SimpleWhitespace(""),
                whitespace_after_indicator=cst.SimpleWhitespace(" "),
            ),
            value=updated_node.value,
            equal=cst.AssignEqual(target.whitespace_before_equal, target.whitespace_after_equal),
            semicolon=updated_node.semicolon,
        )

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.BaseSmallStatement:
        slot = self.target(updated_node.target)
        if slot is None or slot not in self.wanted:
            return updated_node
        return updated_node.with_changes(annotation=self._around(updated_node.annotation, slot))

    def _new(self, slot: Slot) -> cst.BaseExpression:
        """Return an annotation for where there was none."""
        self.is_bare = True
        self.written.add(slot)
        return self._expression(self.wanted[slot], self.names.tensor)

    def _expression(self, kind: Type, tensor: str) -> cst.BaseExpression:
        text = kind.source(tensor)
        for one in kind.tensors():
            if one.is_any:
                continue
            self.used.add(one.category)
            name = self.names.shaped[one.category]
            text = (
                re.sub(rf"\b{one.category}\[", f"{name}[", text) if name != one.category else text
            )
        return cst.parse_expression(text)

    def _around(self, annotation: cst.Annotation, slot: Slot) -> cst.Annotation:
        """Put shapes around the tensors of a type; it is left alone if none fits or says more."""
        inner = self._more(annotation.annotation, slot)
        return annotation if inner is None else annotation.with_changes(annotation=inner)

    def _more(self, node: cst.BaseExpression, slot: Slot) -> cst.BaseExpression | None:
        """Return a type with what is wanted, if that fits and says more."""
        inner = self._put(node, self.wanted[slot])
        if inner is None or inner.deep_equals(node):
            return None
        self.written.add(slot)
        return inner

    def _put(self, node: cst.BaseExpression, kind: Type) -> cst.BaseExpression | None:
        if self.bindings.is_tensor(node):
            options = kind.options if isinstance(kind, Either) else (kind,)
            some = [option for option in options if isinstance(option, TensorType)]
            if len(some) != 1:
                return None
            shaped = self._expression(some[0], dotted(node))
            return shaped.with_changes(
                lpar=getattr(node, "lpar", ()), rpar=getattr(node, "rpar", ())
            )
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
            left = self._put(node.left, kind)
            right = self._put(node.right, kind)
            if (left is None) == (right is None):
                return None
            return node.with_changes(**({"right": right} if left is None else {"left": left}))
        if not isinstance(node, cst.Subscript):
            return None
        return self._inside_subscript(node, kind)

    def _inside_subscript(self, node: cst.Subscript, kind: Type) -> cst.BaseExpression | None:
        outer = self.bindings.meaning(node.value).rpartition(".")[2].lower()
        inner: list[Type | None]
        if outer == "optional":
            inner = [kind]
        elif outer == "tuple" and isinstance(kind, TupleType):
            inner = [*kind.items]
        elif outer in ("list", "sequence") and isinstance(kind, ListType):
            inner = [kind.element]
        elif outer in ("dict", "mapping") and isinstance(kind, DictType):
            inner = [None, kind.value]
        else:
            return None
        if len(inner) != len(node.slice):
            return None
        elements, is_changed = [], False
        for element, part in zip(node.slice, inner, strict=True):
            found = None
            if part is not None and isinstance(element.slice, cst.Index):
                found = self._put(element.slice.value, part)
            if found is not None:
                element = element.with_changes(slice=cst.Index(found))
                is_changed = True
            elements.append(element)
        return node.with_changes(slice=elements) if is_changed else None


def each_param(params: cst.Parameters, change: object) -> cst.Parameters:
    """Return parameters with each one changed."""
    assert callable(change)
    changes: dict[str, object] = {
        part: [change(one) for one in getattr(params, part)]
        for part in ("posonly_params", "params", "kwonly_params")
    }
    for part in ("star_arg", "star_kwarg"):
        one = getattr(params, part)
        changes[part] = change(one) if isinstance(one, cst.Param) else one
    return params.with_changes(**changes)


def swapped(equal: cst.AssignEqual) -> cst.AssignEqual:
    """Return the `=` of a default with spaces for none and none for spaces.

    So an annotated default has spaces around it, as is usual, and gets back those that it had.
    """
    before, after = equal.whitespace_before, equal.whitespace_after
    if not isinstance(before, cst.SimpleWhitespace) or not isinstance(after, cst.SimpleWhitespace):
        return equal
    if (before.value, after.value) not in (("", ""), (" ", " ")):
        return equal
    new = cst.SimpleWhitespace("" if before.value else " ")
    return cst.AssignEqual(new, new)


# Imports ------------------------------------------------------------------------------------------


def _with_imports(module: cst.Module, writer: _Writer, style: str, mark: Mark | None) -> cst.Module:
    """Return a module with the imports that its new annotations need, after those it has."""
    missing = []
    for kind in sorted(writer.used):
        name = writer.names.shaped[kind]
        if writer.bindings.imported.get(name, "").rpartition(".")[2] != kind:
            missing.append(kind if name == kind else f"{kind} as {name}")
    lines = []
    tensor = writer.names.tensor
    head = tensor.partition(".")[0]
    if writer.is_bare and head not in writer.bindings.imported:
        lines.append("from torch import Tensor" + (f" as {tensor}" if tensor != "Tensor" else ""))
    if missing:
        lines.append(f"from {style} import {', '.join(missing)}")
    if not lines and writer.is_bare and mark is None:
        kind = min(writer.used)  # which is imported already: this line only says how to strip
        name = writer.names.shaped[kind]
        library = writer.bindings.imported[name].rpartition(".")[0]
        lines.append(f"from {library} import {kind}" + (f" as {name}" if name != kind else ""))
    said = f": {tensor}{', x = 1' * writer.spaced}" if writer.is_bare else ""
    return added(module, [f"{line}  # {MARK}{said}" for line in lines])
