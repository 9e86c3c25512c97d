"""Looks which tensor-valued expressions have a known shape, and why the others haven't.

An expression counts where its value is a tensor, or where it isn't known and is likely to be one:
the result of an op, of a tensor's method, of an operator on tensors, of a call with tensors that
is used for something, or a name bound to one of these. Each use of a variable is an expression.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.check.module import check_module, program_of
from shapecheck.analysis.coverage.causes import Analysis, Causes, fallback, is_named
from shapecheck.analysis.coverage.source_words import operands, within
from shapecheck.analysis.host import Body, Cause, Coverage, Host, Options, Seen, Source
from shapecheck.analysis.interpreter.frame import Frame, observing
from shapecheck.analysis.program.model import Class, Dotted, Function, Value
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.program.syntax import Def, last_word, name_of
from shapecheck.analysis.values.model import Argument, Bound, Content, OneOf
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Unknown, only
from shapecheck.shapes import Facts, Tensor, has_run


class Grade(IntEnum):
    """How much is known of a value, the worst last."""

    OTHER = 0
    KNOWN = 1
    PARTIAL = 2
    OPAQUE = 3
    BLANK = 4


def counted(source: Source, host: Host, options: Options) -> Coverage:
    """Do what `analysis.measure` says."""
    found = Coverage(0, 0, 0, Counter())
    for body in look(source, host, options):
        for seen in body.seen if body.annotated else ():
            found.known += seen.grade == "known"
            found.partial += seen.grade == "partial"
            found.unknown += seen.grade == "unknown"
            if seen.reason is not None:
                found.reasons[seen.reason] += 1
    return found


def look(source: Source, host: Host, options: Options) -> list[Body]:
    """Do what `analysis.inspect` says."""
    apart, watcher = _Apart(host), _Watcher(source.name)
    program = program_of(apart, options, source.name)
    with observing(program, watcher):
        told = check_module(source, apart, options)
    observed = {node: _best(each) for node, each in watcher.seen.items()}
    module = program.module(source.name)
    assert module is not None
    errors = frozenset(one.span for one in told if one.severity == "error")
    analysis = Analysis(module, observed, errors, frozenset(watcher.too_long))
    script = [node for node in module.tree.body if not isinstance(node, _DEFINITIONS)]
    classes: dict[ast.AST, Class] = {
        child: Class(node, module)
        for node in only(ast.walk(module.tree), ast.ClassDef)
        for child in node.body
    }
    bodies = [Body("", 1, False, _Code(analysis, observed, script, None).seen())]
    for name, node in _named_functions(module.tree, ""):
        function = Function(node, module, classes.get(node))
        seen = _Code(analysis, observed, node.body, function).seen()
        annotated = declarations.declaration(function).shaped
        bodies.append(Body(name, node.lineno, annotated, seen))
    return bodies


@dataclass(frozen=True, slots=True)
class Observed:
    """The value that an expression had, how much was known of it, and its shape as text.

    `held` is what the heap held for the value.
    """

    grade: Grade
    value: Value
    shape: str | None
    held: Content = None

    @property
    def is_lost(self) -> bool:
        """Whether it is a tensor of which something isn't known, or isn't known at all."""
        return self.grade >= Grade.PARTIAL

    @property
    def is_known(self) -> bool:
        """Whether it is a tensor of which all is known."""
        return self.grade is Grade.KNOWN


_Checks: TypeAlias = dict[Reporter | None, Observed]
"""What an expression is worth in each check of its function; each has a reporter of its own."""


class _Apart:
    """A host of its own, so that nothing that another analysis found out is taken over."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def source(self, module: str) -> Source | None:
        """Ask the other host."""
        return self._host.source(module)


class _Watcher:
    """Notes what each expression of a module is worth where it is reported on.

    And which functions took too many steps to be looked into to their ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.seen: dict[ast.AST, _Checks] = {}
        self.too_long: set[ast.AST] = set()

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Take note of what an expression is worth, where that is better than before."""
        self.too_long.update(frame.budget.failed)
        if frame.quiet or frame.faults is not None or frame.module.name != self._name:
            return
        facts, each = frame.state.facts, self.seen.setdefault(node, {})
        now, before = _grade(value, facts), each.get(frame.module.reporter)
        if before is None or now >= before.grade:
            found = Observed(now, value, _shape(value, facts), frame.state.content(value))
        else:
            found = Observed(before.grade, value, before.shape, frame.state.content(value))
        each[frame.module.reporter] = found

    def called(self, frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
        """Calls don't matter here."""


def _best(each: _Checks) -> Observed:
    """Return what is known of an expression: as it stands, or with the groups spelled out."""
    # decisions.md, "What counts as a known shape"
    first, *spelled_out = each.values()
    best = min(first, max(spelled_out, key=_GRADE, default=first), key=_GRADE)
    return Observed(best.grade, best.value, first.shape or best.shape, best.held)


_GRADE: Final = attrgetter("grade")


def _grade(value: Value, facts: Facts) -> Grade:
    match value:
        case OneOf(options=options):
            grades = (_grade(tensor, facts) for tensor in only(options, Tensor))
            return max(grades, default=Grade.OTHER)
        case Tensor(shape=shape):
            items = facts.items(shape.dims)
            if all(map(is_named, items)):
                return Grade.KNOWN
            opaque = not any(map(is_named, items)) and has_run(items)
            return Grade.OPAQUE if opaque else Grade.PARTIAL
    return Grade.BLANK if value is UNKNOWN else Grade.OTHER


def _shape(value: Value, facts: Facts) -> str | None:
    """Return what is known of a tensor's shape, None where nothing is or it is no tensor."""
    match value:
        case OneOf(options=options):
            shapes = (_shape(tensor, facts) for tensor in only(options, Tensor))
            return " | ".join(dict.fromkeys("..." if one is None else one for one in shapes))
        case Tensor():
            shape = facts.shape(value.shape)
            return None if shape.opaque else shape.text()
    return None


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _named_functions(node: ast.AST, around: str) -> Iterator[tuple[str, Def]]:
    """Yield the functions in a node with their names, nested ones included, in order."""
    for child in ast.iter_child_nodes(node):
        inner = around
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{around}{name}", child
                inner = f"{around}{name}."
            case ast.ClassDef(name=name):
                inner = f"{around}{name}."
        yield from _named_functions(child, inner)


_PLAIN: Final = frozenset(sys.stdlib_module_names) | frozenset(
    "builtins matplotlib numpy omegaconf pandas PIL seaborn tqdm wandb yaml".split()
)
"""The roots of libraries that hand out no tensors."""
_OF_OPS: Final = frozenset(
    "einops torch torch.fft torch.linalg torch.nn.functional torch.special".split()
)
"""Where functions are ops, so that what they give is most likely a tensor."""
_NO_OP: Final = frozenset(
    "Generator Size autocast compile empty_cache enable_grad finfo get_default_dtype grad_fn iinfo "
    "inference_mode is_available is_grad_enabled is_tensor layout load manual_seed names no_grad "
    "named_parameters parameters save set_default_dtype set_grad_enabled set_printoptions "
    "state_dict storage synchronize type_as_tuple typename".split()
)
"""What torch has besides ops, so that no signature says that it gives no tensor."""
_AMBIGUOUS: Final = frozenset(dir(dict)) | frozenset(dir(list)) | frozenset(dir(str))


class _Code:
    """The expressions of one function or of a module's own code, and why some aren't known."""

    def __init__(
        self,
        analysis: Analysis,
        observed: Mapping[ast.AST, Observed],
        body: Sequence[ast.AST],
        function: Function | None,
    ) -> None:
        self.body, self.function, self.observed = body, function, observed
        self.causes = Causes(analysis, body, function)
        self.table = analysis.module.program.table
        self.spans = Reporter(analysis.module.lines)
        self.likely: set[str] = set()

    def seen(self) -> tuple[Seen, ...]:
        """Return the expressions that count, in the order in which they stand."""
        return tuple(self._seen())

    def _seen(self) -> Iterator[Seen]:
        nodes = [node for part in self.body for node in within(part)]
        expressions = only(nodes, ast.expr)
        if not any(node in self.observed for node in expressions):
            yield from self._unseen(expressions)
            return
        for _ in range(2):
            for one in nodes:
                self._bind(one)
        unused = {node.value for node in only(nodes, ast.Expr)}
        unused |= {node.func for node in only(nodes, ast.Call)}
        for node in expressions:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            grade = self._grade(node)
            if grade is Grade.BLANK:
                if node not in unused and self._likely(node):
                    yield self._told(node, grade)
            elif grade is not Grade.OTHER:
                yield self._told(node, grade)

    def _unseen(self, expressions: Sequence[ast.expr]) -> Iterator[Seen]:
        """Yield the uses of parameters with a shape in a body that isn't analysed."""
        if self.function is None:
            return
        params = declarations.declaration(self.function).params
        shaped = {param.name for param in params if declarations.speaks(param.declared)}
        cause = Cause("budget", self.function.name)
        for node in expressions:
            if name_of(node) in shaped:
                yield Seen(self.spans.span(node), None, "unknown", cause)

    def _told(self, node: ast.expr, grade: Grade) -> Seen:
        observed = self.observed.get(node)
        span, shape = self.spans.span(node), None if observed is None else observed.shape
        if grade is Grade.KNOWN:
            return Seen(span, shape, "known")
        inherited = name_of(node) is not None or any(map(self._is_lost, operands(node)))
        kind: Literal["partial", "unknown"] = "partial" if grade is Grade.PARTIAL else "unknown"
        reason = self.causes.of(node) or fallback(node)
        return Seen(span, shape, kind, reason, begins=not inherited)

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
