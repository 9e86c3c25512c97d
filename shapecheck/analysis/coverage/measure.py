"""Says of which tensor-valued expressions the shape is known, and why not of the others.

An expression counts where its value is a tensor, or where it isn't known and is likely to be one:
the result of an op, of a tensor's method, of an operator on tensors, of a call with tensors that
is used for something, or a name bound to one of these. Each use of a variable is an expression.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.coverage.causes import Causes, fallback
from shapecheck.analysis.coverage.source_words import operands, within
from shapecheck.analysis.coverage.watching import Analysis, Grade
from shapecheck.analysis.host import Body, Cause, Coverage, Seen
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.program.reading import Definition
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.program.syntax import is_def, last_word, name_of
from shapecheck.analysis.values.model import Bound
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Unknown, only
from shapecheck.shapes import Tensor


def of_function(analysis: Analysis, function: Function) -> Coverage:
    """Count what is known in a function, and in those that are nested in it."""
    assert is_def(function.node)
    codes = [code for _, code in _codes(analysis, function, "")]
    found = Coverage.of_all(code.coverage() for code in codes)
    return replace(found, gives=codes[0].why_result())


def of_own_code(analysis: Analysis) -> Coverage:
    """Count what is known in a module's own code."""
    return _own_code(analysis).coverage()


def bodies(analysis: Analysis) -> list[Body]:
    """Return what is seen in a module's own code, and in each of its functions, in order."""
    own = _own_code(analysis)
    found = [Body("", 1, False, own.seen())]
    for name, code in _inner(analysis, own.nodes, ""):
        function = code.function
        assert function is not None
        annotated = declarations.declaration(function).shaped
        found.append(Body(name, function.node.lineno, annotated, code.seen()))
    return found


def _own_code(analysis: Analysis) -> _Code:
    return _Code(analysis, analysis.module.tree, None)


def _codes(analysis: Analysis, function: Function, name: str) -> Iterator[tuple[str, _Code]]:
    """Yield the code of a function, and of those that are nested in it, with their names."""
    assert is_def(function.node)
    code = _Code(analysis, function.node, function)
    yield name, code
    yield from _inner(analysis, code.nodes, f"{name}.")


def _inner(
    analysis: Analysis, nodes: Sequence[ast.AST], around: str, owner: Class | None = None
) -> Iterator[tuple[str, _Code]]:
    """Yield the code of the functions among nodes, and of the methods of classes, in order."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                function = Function(node, analysis.module, owner)
                yield from _codes(analysis, function, f"{around}{name}")
            case ast.ClassDef(name=name):
                cls = Class(node, analysis.module)
                yield from _inner(analysis, within(node), f"{around}{name}.", cls)


_BINDING: Final = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For)
_PLAIN: Final = frozenset(sys.stdlib_module_names) | frozenset(
    "builtins matplotlib numpy omegaconf pandas PIL seaborn tqdm wandb yaml".split()
)
"""The roots of libraries that hand out no tensors."""
_OF_OPS: Final = frozenset(
    "einops torch torch.fft torch.linalg torch.nn.functional torch.special".split()
)
"""Where functions are ops, so that what they give is most likely a tensor."""
_NO_OP: Final = frozenset(
    "Generator Size autocast compile device empty_cache enable_grad finfo get_default_dtype "
    "grad_fn iinfo inference_mode is_available is_grad_enabled is_tensor layout load manual_seed "
    "names no_grad named_parameters parameters save set_default_dtype set_grad_enabled "
    "set_printoptions state_dict storage synchronize type_as_tuple typename".split()
)
"""What torch has besides ops, so that no signature says that it gives no tensor."""
_AMBIGUOUS: Final = frozenset(dir(dict)) | frozenset(dir(list)) | frozenset(dir(str))


class _Code:
    """The expressions of one function or of a module's own code, and why some aren't known."""

    def __init__(
        self,
        analysis: Analysis,
        definition: Definition,
        function: Function | None,
    ) -> None:
        self.function, self.observed = function, analysis.observed
        self._analysis, self._definition = analysis, definition
        self.table = analysis.module.program.table
        self.spans = Reporter(analysis.module.lines)
        self.likely: set[str] = set()
        self._causes: Causes | None = None

    @property
    def nodes(self) -> Sequence[ast.AST]:
        """What is in it, in order."""
        return within(self._definition)

    @property
    def causes(self) -> Causes:
        """Why some of them aren't known."""
        if self._causes is None:
            self._causes = Causes(self._analysis, self._definition, self.function)
        return self._causes

    def why_result(self) -> Cause | None:
        """Return why what the function gives isn't known, as far as it isn't its parameters."""
        given = [node.value for node in only(self.nodes, ast.Return) if node.value is not None]
        return self.causes.result() if any(map(self._is_lost, given)) else None

    def seen(self) -> tuple[Seen, ...]:
        """Return the expressions that count, in the order in which they stand."""
        return tuple(self._told(node, grade) for node, grade in self._graded())

    def coverage(self) -> Coverage:
        """Return how many expressions count, by what is known of them."""
        grades: Counter[Grade] = Counter()
        reasons: Counter[Cause] = Counter()
        for node, grade in self._graded():
            grades[grade] += 1
            if grade is not Grade.KNOWN:
                reason = self._reason(node)
                reasons[Cause("error", "") if reason.kind == "error" else reason] += 1
        known, partial = grades[Grade.KNOWN], grades[Grade.PARTIAL]
        return Coverage(known, partial, grades.total() - known - partial, reasons)

    def _graded(self) -> Iterator[tuple[ast.expr, Grade]]:
        expressions = only(self.nodes, ast.expr)
        grades = {node: seen.grade for node in expressions if (seen := self.observed.get(node))}
        if not grades:
            yield from ((node, Grade.BLANK) for node in self._unseen(expressions))
        if not any(grades.values()):
            return  # no tensor is in it
        binding = [node for node in self.nodes if isinstance(node, _BINDING)]
        for _ in range(2):
            for one in binding:
                self._bind(one)
        unused = {node.value for node in only(self.nodes, ast.Expr)}
        unused |= {node.func for node in only(self.nodes, ast.Call)}
        for node, grade in grades.items():
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            if grade is Grade.BLANK:
                if node not in unused and self._likely(node):
                    yield node, grade
            elif grade is not Grade.OTHER:
                yield node, grade

    def _unseen(self, expressions: Sequence[ast.expr]) -> list[ast.expr]:
        """Return the uses of parameters with a shape in a body that isn't analysed."""
        if self.function is None:
            return []
        params = declarations.declaration(self.function).params
        shaped = {param.name for param in params if declarations.speaks(param.declared)}
        return [node for node in expressions if name_of(node) in shaped]

    def _told(self, node: ast.expr, grade: Grade) -> Seen:
        observed = self.observed.get(node)
        span, shape = self.spans.span(node), None if observed is None else observed.shape
        if grade is Grade.KNOWN:
            return Seen(span, shape, "known")
        inherited = observed is None or (
            name_of(node) is not None or any(map(self._is_lost, operands(node)))
        )
        kind: Literal["partial", "unknown"] = "partial" if grade is Grade.PARTIAL else "unknown"
        return Seen(span, shape, kind, self._reason(node), begins=not inherited)

    def _reason(self, node: ast.expr) -> Cause:
        """Return why an expression isn't known; one that wasn't come to is in a body too long."""
        if node not in self.observed and self.function is not None:
            return Cause("budget", self.function.name)
        return self.causes.of(node) or fallback(node)

    def _grade(self, node: ast.expr) -> Grade:
        observed = self.observed.get(node)
        return Grade.OTHER if observed is None else observed.grade

    def _target(self, node: ast.expr) -> Value:
        """Return what is called, if that is known."""
        observed = self.observed.get(node)
        return UNKNOWN if observed is None else observed.value

    def _bind(self, node: ast.AST) -> None:
        """Remember that a variable is likely to be a tensor of which something isn't known."""
        match node:
            case ast.Assign(targets=targets, value=value):
                self._bind_to(targets, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.AugAssign(target=target, value=value)
                | ast.For(target=target, iter=value)
            ):
                self._bind_to([target], value)

    def _bind_to(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        if not self._is_lost(value) or not (self._tensor(value) or self._likely(value)):
            return
        key = _key_of(targets[0], value)
        for child in (one for target in targets for one in ast.walk(target)):
            match child:
                case ast.Name(id=name, ctx=ast.Store()) if child is not key:
                    self.likely.add(name)

    def _is_lost(self, node: ast.expr) -> bool:
        observed = self.observed.get(node)
        return observed is not None and observed.is_lost and not isinstance(node, ast.JoinedStr)

    def _likely(self, node: ast.expr) -> bool:
        """Whether what isn't known is likely to be a tensor."""
        match node:
            case ast.Name(id=name):
                return name in self.likely
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=value, attr=name):
                return self._gives_tensors(name) and (
                    self._tensor(value) or self.table.is_property(f"torch.Tensor.{name}")
                )
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn(), *_]):
                return False
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Subscript() | ast.IfExp():
                return any(map(self._may_be_tensor, operands(node)))
        return False

    def _call(self, node: ast.Call) -> bool:
        target = self._target(node.func)
        name = last_word(node.func)
        if not self._gives_tensors(name) or _is_class_name(name):
            return False
        match target, node.func:
            case Class(), _:
                return False
            case Dotted(name=library), _:
                root = library.partition(".")[0]
                if root in _PLAIN or self.table.lookup_class(library) is not None:
                    return False
                if library.rpartition(".")[0] in _OF_OPS:
                    return True
            case Bound(receiver=receiver, function=None), _:
                return isinstance(receiver, Tensor)
            case Unknown(), ast.Attribute(value=owner):
                is_method = self.table.has(f"torch.Tensor.{name}")
                if is_method and self._blank(owner):
                    if self._likely(owner) or name not in _AMBIGUOUS:
                        return True
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return any(map(self._may_be_tensor, arguments))

    def _may_be_tensor(self, node: ast.expr) -> bool:
        """Whether an expression is a tensor, or isn't known and likely to be one."""
        return self._tensor(node) or (self._blank(node) and self._likely(node))

    def _gives_tensors(self, name: str) -> bool:
        """Whether a method, attribute or function of this name may give a tensor."""
        known = (self.table.signature(f"{owner}.{name}") for owner in ("torch.Tensor", "torch"))
        return name not in _NO_OP and all(one is None or one.gives_tensors for one in known)

    def _tensor(self, node: ast.expr) -> bool:
        grade = self._grade(node)
        return Grade.KNOWN <= grade <= Grade.OPAQUE

    def _blank(self, node: ast.expr) -> bool:
        return self._grade(node) is Grade.BLANK


def _key_of(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """Return what the keys of a dict are bound to in `for key, value in held.items()`."""
    match target, value:
        case ast.Tuple(elts=[key, *_]), ast.Call(func=ast.Attribute(attr="items")):
            return key
    return None


def _is_class_name(name: str) -> bool:
    """Whether a library's name is spelled like that of a class: what it makes is no tensor."""
    plain = name.rpartition(".")[2]
    return plain[:1].isupper() and not plain.isupper() and not plain.endswith("Tensor")
