"""What the imports of a module bind, those that we add, and those that nothing needs any more."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import libcst as cst
from libcst import matchers as m

from shapecheck.analysis.program.syntax import flatten, lines_of

SHAPED: Final = (
    "Float Float16 BFloat16 Float32 Float64 Int Int8 Int16 Int32 Int64 UInt UInt8 UInt16 UInt32 "
    "UInt64 Integer Bool Complex Complex64 Complex128 Num Real Inexact Shaped"
).split()
LIBRARIES: Final = ("shapecheck", "jaxtyping")
MARK: Final = "by shapecheck annotate"
_KINDS: Final = {"": "Shaped", "Float": "Float", "Long": "Int64", "Int": "Int32", "Bool": "Bool"}
TENSOR_TYPES: Final = {f"torch.{kind}Tensor": category for kind, category in _KINDS.items()}
"""The types that are given a shape, and of which category each of them is."""
_IN_TEXT: Final = re.compile(r"\b[^\W\d]\w*(?=\s*\[)")
"""A name in a text that may be an annotation: `"Float[Tensor, 'b c']"`."""


class Bindings:
    """What the imports of a module's top level bind, and how its annotations spell tensors.

    `imported` maps names to what they stand for, `spelled` counts spellings of tensor types,
    `taken` are all names in the module, `used` those that it uses. `usable` are the imports that
    are there when the first function or class is met, and stand for the same in all scopes.
    """

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.imported: dict[str, str] = {}
        self.spelled: Counter[str] = Counter()
        self.used: set[str] = set()
        self.spaced = _is_spaced(tree, text)
        above, others = self._imports(tree)
        for node in ast.walk(tree):
            others |= self._others(node)
            for part in ("annotation", "returns"):
                annotation = getattr(node, part, None)
                if isinstance(annotation, ast.expr):
                    self.spelled.update(_spellings(annotation))
        is_lazy = self.imported.get("annotations") == "__future__.annotations"
        self.usable = ({*self.imported} if is_lazy else above) - others
        self.taken = {*self.imported, *self.used, *others}

    def _imports(self, tree: ast.Module) -> tuple[set[str], set[str]]:
        """Read the imports; return what those bind above all scopes, and what two of them bind."""
        above, others = set[str](), set[str]()
        first = next((one.lineno for one in tree.body if _has_scopes(one)), math.inf)
        unseen = {*_only_for_checking(tree)}
        for statement in flatten(tree.body):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            for name, meaning in _bound(statement):
                if self.imported.get(name, meaning) != meaning:
                    others.add(name)
                self.imported[name] = meaning
                if statement.lineno < first and statement not in unseen:
                    above.add(name)
        return above, others

    def _others(self, node: ast.AST) -> set[str]:
        """Note the names that a node uses; return those that it binds to something else."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.used.add(name)
            case ast.Constant(value=str(text)):
                self.used |= names_in(text)
            case ast.Import() | ast.ImportFrom():
                return {n for n, full in _bound(node) if self.imported.get(n) != full}
            case _:
                return _names_bound(node)
        return set()

    def meaning(self, node: cst.BaseExpression) -> str:
        """Return the dotted name that an expression stands for, "" if it isn't one."""
        name = dotted(node)
        head, _, rest = name.partition(".")
        if head not in self.imported:
            return name if name in ("list", "tuple", "dict") else ""
        return ".".join(filter(None, (self.imported[head], rest)))

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression spells a tensor type without a shape."""
        return self.meaning(node) in TENSOR_TYPES

    def is_shaped(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is `Float[Tensor, "b c"]`, from one of the libraries."""
        return isinstance(node, cst.Subscript) and self.category(node.value) is not None

    def category(self, node: cst.BaseExpression) -> str | None:
        """Return which of our types an expression spells, if any."""
        library, _, name = self.meaning(node).rpartition(".")
        return name if library in LIBRARIES and name in SHAPED else None


def _spellings(annotation: ast.expr) -> Iterator[str]:
    """Yield the names in an annotation, and each dotted one as a whole, too."""
    for inner in ast.walk(annotation):
        if isinstance(inner, (ast.Name, ast.Attribute)):
            yield ast.unparse(inner)


def _has_scopes(statement: ast.stmt) -> bool:
    """Whether a function or a class is in a statement."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(one, scopes) for one in ast.walk(statement))


def _bound(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds, each with what it stands for."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            yield alias.asname or alias.name, f"{module}.{alias.name}"
        else:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, alias.name if alias.asname else top


def _names_bound(node: ast.AST) -> set[str]:
    """Return the names that a node itself binds, in whatever way but by an import."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.arg(arg=name):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return {node.name} if node.name else set()
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
    is_type = type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple")  # of Python 3.12 on
    return {node.name} if is_type else set()  # type: ignore[attr-defined]


def names_in(text: str) -> set[str]:
    """Return the names that a text uses if it is an annotation."""
    return {*_IN_TEXT.findall(text)} if len(text) < _LONGEST else set()


_LONGEST: Final = 200


def _only_for_checking(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements under `if TYPE_CHECKING:`, which aren't run."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from flatten(node.body)


def _is_spaced(tree: ast.Module, text: str) -> bool:
    """Whether most defaults of parameters without annotation have spaces around their `=`."""
    lines, counts = lines_of(text), Counter[str]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.arguments):
            continue
        every = [*node.posonlyargs, *node.args]
        given = [*every[len(every) - len(node.defaults) :], *node.kwonlyargs]
        pairs = zip(given, [*node.defaults, *node.kw_defaults], strict=True)
        for one, default in pairs:
            if default is not None and one.annotation is None and one.lineno == default.lineno:
                line = lines[one.lineno - 1].encode()
                between = line[one.end_col_offset : default.col_offset].decode(errors="replace")
                counts[between] += 1
    return counts[" = "] > counts["="]


def dotted(node: cst.CSTNode) -> str:
    """Return the text of a dotted name, "" for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr.value}" if owner else ""
    return ""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the comment at an import that we added says.

    `tensor` is the spelling of the tensors in annotations where there was none, `spaced` that these
    parameters have the spaces around their `=` that they had before.
    """

    tensor: str
    spaced: bool = False


def find_mark(module: cst.Module) -> Mark | None:
    """Return what the imports say that were added to a module, None if there are none."""
    for line in module.body:
        found = mark_of(line)
        if found is not None and found.tensor:
            return found
    return next((f for f in map(mark_of, module.body) if f is not None), None)


def mark_of(line: cst.BaseStatement) -> Mark | None:
    """Return the mark of a statement, None if it is the user's own."""
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    comment = line.trailing_whitespace.comment
    if comment is None:
        return None
    found = re.fullmatch(rf"# {MARK}(?:: ([\w.]+)(, x = 1)?)?", comment.value)
    return None if found is None else Mark(found[1] or "", found[2] is not None)


def added(module: cst.Module, lines: Sequence[str]) -> cst.Module:
    """Return a module with more imports behind its first ones."""
    if not lines:
        return module
    parsed = [
        cst.parse_statement(f"{line}{module.default_newline}", module.config_for_parsing)
        for line in lines
    ]
    at = import_position(module)
    body = [*module.body[:at], *parsed, *module.body[at:]]
    return module.with_changes(body=body)


def import_position(module: cst.Module) -> int:
    """Return the index in a module's body behind the imports that are above all functions.

    Where there are none, it is behind the docstring. What comes before an import may matter to
    what it imports: an environment variable, a path.
    """
    text = m.Expr(m.OneOf(m.SimpleString(), m.ConcatenatedString()))
    docstring = m.SimpleStatementLine(body=[text, m.ZeroOrMore()])
    imports = m.SimpleStatementLine(
        body=[m.ZeroOrMore(), m.OneOf(m.Import(), m.ImportFrom()), m.ZeroOrMore()]
    )
    at = 1 if module.body and m.matches(module.body[0], docstring) else 0
    for number, line in enumerate(module.body):
        if m.findall(line, m.FunctionDef() | m.ClassDef()):
            break
        at = number + 1 if m.matches(line, imports) else at
    return at


def without_unused(
    module: cst.Module, libraries: Collection[str], names: Collection[str]
) -> cst.Module:
    """Return a module without the imports of these names, from libraries, that nothing uses now.

    Of the imports that we added, it is without all that nothing uses, and those that the user has
    too.
    """
    used = _Used()
    module.visit(used)
    own = {name for line in module.body if mark_of(line) is None for name in _imported(line)}
    body: list[cst.BaseStatement] = []
    for line in module.body:
        if mark_of(line) is not None and not (_imported(line) - own) & used.names:
            continue
        kept = _trimmed(line, libraries, {*names} - used.names)
        if kept is not None:
            body.append(kept)
    return module.with_changes(body=body)


def _imported(line: cst.BaseStatement) -> set[str]:
    """Return the names that are imported from modules in a statement, functions in it apart."""
    found: set[str] = set()
    for part in m.findall(line, m.ImportFrom()) if not _is_scope(line) else ():
        if isinstance(part, cst.ImportFrom) and not isinstance(part.names, cst.ImportStar):
            found |= {dotted(a.asname.name if a.asname else a.name) for a in part.names}
    return found


def _is_scope(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.FunctionDef, cst.ClassDef))


def _trimmed(
    line: cst.BaseStatement, libraries: Collection[str], unused: Collection[str]
) -> cst.BaseStatement | None:
    """Return an import from one of the libraries without these names."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return line
    part = line.body[0]
    if not isinstance(part, cst.ImportFrom) or isinstance(part.names, cst.ImportStar):
        return line
    if part.module is None or part.relative or dotted(part.module) not in libraries:
        return line
    kept = [
        alias
        for alias in part.names
        if dotted(alias.asname.name if alias.asname else alias.name) not in unused
    ]
    if len(kept) == len(part.names):
        return line
    if not kept:
        return None
    if kept[-1] is not part.names[-1]:
        kept[-1] = kept[-1].with_changes(comma=part.names[-1].comma)
    return line.with_changes(body=[part.with_changes(names=kept)])


class _Used(cst.CSTVisitor):
    """The names that a module uses, imports apart."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._is_public = False

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Assign(self, node: cst.Assign) -> None:
        self._is_public = any(m.matches(t.target, m.Name("__all__")) for t in node.targets)

    def leave_Assign(self, original_node: cst.Assign) -> None:
        self._is_public = False

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = node.evaluated_value
        if isinstance(value, str):
            self.names |= {value} if self._is_public else names_in(value)
