"""Looks which tensor-valued expressions have a known shape, and why the others haven't.

An expression counts where its value is a tensor, or where it isn't known and is likely to be one:
the result of an op, of a tensor's method, of an operator on tensors, of a call with tensors that
is used for something, or a name bound to one of these. Each use of a variable is an expression.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Final, Literal, TypeAlias

import shapecheck.dims as dims
from shapecheck.analysis import declarations, interpreter
from shapecheck.analysis.frame import EXPRESSIONS, Frame
from shapecheck.analysis.host import Body, Coverage, Host, Options, Seen, Source
from shapecheck.analysis.modules import Module
from shapecheck.analysis.report import Reporter
from shapecheck.analysis.values import Bound, Class, Dotted, Function, Union
from shapecheck.ops import UNKNOWN, Value
from shapecheck.shapes import Facts, Run, Tensor


class Grade(IntEnum):
    """How much is known of a value, the worst last."""

    OTHER = 0
    KNOWN = 1
    PARTIAL = 2
    OPAQUE = 3
    BLANK = 4


def measure(source: Source, host: Host, options: Options) -> Coverage:
    """Do what `analysis.coverage` says."""
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
    checks: dict[ast.AST, _Checks] = {}
    apart = _Apart(host)
    with _observed(source.name, checks):
        interpreter.check_module(source, apart, options)
    observed = {node: _best(each) for node, each in checks.items()}
    module = interpreter.program_of(apart, options, source.name).module(source.name)
    assert module is not None
    script = [node for node in module.tree.body if not isinstance(node, _DEFINITIONS)]
    bodies = [Body("", 1, False, _Code(module, script, None, observed).seen())]
    for name, node in _named_functions(module.tree, ""):
        function = Function(node, module)
        seen = _Code(module, list(node.body), function, observed).seen()
        annotated = declarations.declaration(function).shaped
        bodies.append(Body(name, node.lineno, annotated, seen))
    return bodies


@dataclass(frozen=True, slots=True)
class Observed:
    """The value that an expression had, how much was known of it, and its shape as text."""

    grade: Grade
    value: Value
    shape: str | None


_Checks: TypeAlias = dict[Reporter | None, Observed]
"""What an expression is worth in each check of its function; each has a reporter of its own."""


class _Apart:
    """A host of its own, so that nothing that another analysis found out is taken over."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def source(self, module: str) -> Source | None:
        """Ask the other host."""
        return self._host.source(module)


@contextmanager
def _observed(name: str, seen: dict[ast.AST, _Checks]) -> Iterator[None]:
    """Note what each expression of a module is worth where it is reported on."""

    def observe(handler: Callable[..., Value]) -> Callable[..., Value]:
        def observed(frame: Frame, node: ast.AST) -> Value:
            value = handler(frame, node)
            if not frame.quiet and frame.faults is None and frame.module.name == name:
                facts, each = frame.state.facts, seen.setdefault(node, {})
                now, before = _grade(value, facts), each.get(frame.module.reporter)
                if before is None or now >= before.grade:
                    found = Observed(now, value, _shape(value, facts))
                else:
                    found = Observed(before.grade, value, before.shape)
                each[frame.module.reporter] = found
            return value

        return observed

    before = dict(EXPRESSIONS)
    EXPRESSIONS.update({kind: observe(handler) for kind, handler in before.items()})
    try:
        yield
    finally:
        EXPRESSIONS.update(before)


def _best(each: _Checks) -> Observed:
    """Return what is known of an expression: as it stands, or with the groups spelled out."""
    first, *spelled_out = each.values()
    best = min(first, max(spelled_out, key=_GRADE, default=first), key=_GRADE)
    return Observed(best.grade, best.value, first.shape or best.shape)


_GRADE: Final = attrgetter("grade")


def _grade(value: Value, facts: Facts) -> Grade:
    if isinstance(value, Union):
        tensors = [option for option in value.options if isinstance(option, Tensor)]
        return max((_grade(tensor, facts) for tensor in tensors), default=Grade.OTHER)
    if value is UNKNOWN:
        return Grade.BLANK
    if not isinstance(value, Tensor):
        return Grade.OTHER
    items = facts.items(value.shape.dims)
    if all(map(_named, items)):
        return Grade.KNOWN
    opaque = not any(map(_named, items)) and any(isinstance(item, Run) for item in items)
    return Grade.OPAQUE if opaque else Grade.PARTIAL


def _named(item: object) -> bool:
    """Whether a dimension is made of numbers and of symbols that have a name."""
    if isinstance(item, Run):
        return item.symbol.telling
    return all(symbol.telling for symbol in dims.symbols(item))  # type: ignore[arg-type]  # no run


def _shape(value: Value, facts: Facts) -> str | None:
    """Return what is known of a tensor's shape, None where nothing is or it is no tensor."""
    if isinstance(value, Union):
        shapes = (_shape(option, facts) for option in value.options if isinstance(option, Tensor))
        return " | ".join(dict.fromkeys("..." if shape is None else shape for shape in shapes))
    if not isinstance(value, Tensor):
        return None
    shape = facts.shape(value.shape)
    return None if shape.opaque else shape.text()


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _named_functions(
    node: ast.AST, around: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions in a node with their names, nested ones included, in order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _DEFINITIONS):
            name = f"{around}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _named_functions(child, f"{name}.")
        else:
            yield from _named_functions(child, around)


_PLAIN: Final = frozenset(sys.stdlib_module_names) | {"builtins", "numpy"}
_NO_TENSOR: Final = frozenset(
    "item tolist numpy size dim ndimension numel nelement element_size backward stride data_ptr "
    "storage is_contiguous is_floating_point is_complex get_device register_hook retain_grad "
    "type_as_tuple untyped_storage data_ptr __len__ allclose equal is_tensor is_grad_enabled "
    "device dtype manual_seed no_grad enable_grad inference_mode autocast compile set_grad_enabled "
    "save load finfo iinfo Generator Size get_default_dtype set_default_dtype parameters "
    "named_parameters state_dict empty_cache synchronize is_available typename "
    "set_printoptions device dtype shape ndim layout requires_grad is_cuda is_leaf is_sparse "
    "grad_fn itemsize nbytes names broadcast_shapes".split()
)
_AMBIGUOUS: Final = frozenset(dir(dict)) | frozenset(dir(list)) | frozenset(dir(str))
_PROPERTIES: Final = frozenset("T mT H mH real imag data grad".split())


class _Code:
    """The expressions of one function or of a module's own code, and why some aren't known."""

    def __init__(
        self,
        module: Module,
        body: Sequence[ast.AST],
        function: Function | None,
        observed: Mapping[ast.AST, Observed],
    ) -> None:
        self.module, self.body, self.function = module, body, function
        self.observed = observed
        self.table = module.program.table
        self.spans = Reporter(module.lines)
        self.reasons: dict[str, str] = {}
        self.likely: set[str] = set()

    def seen(self) -> tuple[Seen, ...]:
        """Return the expressions that count, in the order in which they stand."""
        return tuple(self._seen())

    def _seen(self) -> Iterator[Seen]:
        nodes = [node for part in self.body for node in _within(part)]
        expressions = [node for node in nodes if isinstance(node, ast.expr)]
        shaped = self._parameters()
        if not any(node in self.observed for node in expressions):
            for node in expressions:
                if isinstance(node, ast.Name) and node.id in shaped:
                    yield self._told(node, Grade.BLANK, "function that isn't analysed")
            return
        for _ in range(2):
            for one in nodes:
                self._bind(one)
        unused = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in expressions:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            grade = self._grade(node)
            if grade is Grade.BLANK:
                reason = None if node in unused else self._likely(node)
                if reason is not None:
                    yield self._told(node, grade, reason)
            elif grade is not Grade.OTHER:
                yield self._told(node, grade, self._why(node))

    def _told(self, node: ast.expr, grade: Grade, reason: str) -> Seen:
        observed = self.observed.get(node)
        span, shape = self.spans.span(node), None if observed is None else observed.shape
        if grade is Grade.KNOWN:
            return Seen(span, shape, "known")
        inherited = isinstance(node, ast.Name) or any(
            self._origin(part) is not None for part in _operands(node)
        )
        kind: Literal["partial", "unknown"] = "partial" if grade is Grade.PARTIAL else "unknown"
        return Seen(span, shape, kind, reason, begins=not inherited)

    def _grade(self, node: ast.expr) -> Grade:
        observed = self.observed.get(node)
        return Grade.OTHER if observed is None else observed.grade

    def _target(self, node: ast.expr) -> Value:
        """Return what is called, if that is known."""
        observed = self.observed.get(node)
        return UNKNOWN if observed is None else observed.value

    def _parameters(self) -> set[str]:
        names: set[str] = set()
        if self.function is None:
            return names
        for param in declarations.declaration(self.function).params:
            if declarations.speaks(param.declared):
                names.add(param.name)
                self.reasons[param.name] = "open annotation"
            else:
                self.reasons.setdefault(param.name, "parameter without a shape")
        return names

    def _bind(self, node: ast.AST) -> None:
        """Remember why a variable isn't known."""
        value = getattr(node, "value", None) or getattr(node, "iter", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For)):
            if not isinstance(value, ast.expr):
                return
            reason = self._origin(value)
            if reason is None:  # one of several results, or nothing that is of interest
                reason = self._why(value) if isinstance(value, ast.Call) else self._label(value)
                likely = False
            else:
                likely = self._tensor(value) or self._likely(value) is not None
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            key = _key_of(targets[0], value)
            for target in targets:
                for child in ast.walk(target):
                    if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                        self.reasons[child.id] = reason
                        if likely and child is not key:
                            self.likely.add(child.id)

    def _origin(self, node: ast.expr) -> str | None:
        grade = self._grade(node)
        if grade in (Grade.PARTIAL, Grade.OPAQUE):
            return self._why(node)
        if grade is Grade.BLANK and not isinstance(node, ast.JoinedStr):
            return self._likely(node) or self._label(node)
        return None

    def _why(self, node: ast.expr) -> str:
        """Return the construct because of which a tensor's shape isn't known."""
        if isinstance(node, ast.Name):
            return self.reasons.get(node.id, f"name {node.id}")
        for part in _operands(node):
            reason = self._origin(part)
            if reason is not None:
                return reason
        return self._label(node)

    def _likely(self, node: ast.expr) -> str | None:
        """Return why a value isn't known if it is likely to be a tensor."""
        if isinstance(node, ast.Name):
            return self.reasons.get(node.id) if node.id in self.likely else None
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            if node.attr in _PROPERTIES:
                return self._likely(node.value) or self._label(node)
            tensor = self._tensor(node.value) and node.attr not in _NO_TENSOR
            return self._label(node) if tensor else None
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.IfExp)):
            if isinstance(node, ast.Compare) and isinstance(
                node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            ):
                return None
            if any(self._tensor(part) for part in _operands(node)):
                return self._why(node)
            likely = (self._likely(part) for part in _operands(node) if self._blank(part))
            return next((reason for reason in likely if reason is not None), None)
        return None

    def _call(self, node: ast.Call) -> str | None:
        target = self._target(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _words(node.func)
        if name in _NO_TENSOR or isinstance(target, Class) or _is_class_name(name):
            return None
        if isinstance(target, Dotted):
            root = target.name.partition(".")[0]
            if root in _PLAIN or self.table.lookup_class(target.name) is not None:
                return None
            of_a_class = name[:1].isupper() and not name.endswith("Tensor")
            if root in ("torch", "einops") and target.name.count(".") < 3 and not of_a_class:
                return target.name
        elif isinstance(target, Bound) and target.function is None:
            return f".{name}()" if isinstance(target.receiver, Tensor) else None
        elif isinstance(node.func, ast.Attribute) and target is UNKNOWN:
            method = self.table.signature(f"torch.Tensor.{name}") is not None
            owner = self._likely(node.func.value) if self._blank(node.func.value) else None
            blank = self._blank(node.func.value) and name not in _AMBIGUOUS
            if method and (owner is not None or blank):
                return owner or _words(node.func.value)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        given = any(
            self._tensor(one) or (self._blank(one) and self._likely(one)) for one in arguments
        )
        return self._label(node) if given else None

    def _tensor(self, node: ast.expr) -> bool:
        grade = self._grade(node)
        return Grade.KNOWN <= grade <= Grade.OPAQUE

    def _blank(self, node: ast.expr) -> bool:
        return self._grade(node) is Grade.BLANK

    def _label(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            target = self._target(node.func)
            if isinstance(target, Dotted):
                return target.name
            if isinstance(target, Function):
                return f"call of {target.name}()"
            if isinstance(target, Bound) and isinstance(target.receiver, Tensor):
                return f".{target.name}()"
            return f"call of {_words(node.func)}"
        if isinstance(node, ast.Name):
            return self.reasons.get(node.id, node.id)
        return _words(node)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those inside of it, in order, without the functions and classes there."""
    yield node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def _key_of(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """Return what the keys of a dict are bound to in `for key, value in held.items()`."""
    called = value.func if isinstance(value, ast.Call) else None
    items = isinstance(called, ast.Attribute) and called.attr == "items"
    return target.elts[0] if items and isinstance(target, ast.Tuple) else None


def _is_class_name(name: str) -> bool:
    """Whether a library's name is spelled like that of a class: what it makes is no tensor."""
    plain = name.rpartition(".")[2]
    return plain[:1].isupper() and not plain.isupper() and not plain.endswith("Tensor")


def _operands(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that an expression gets its shape from."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            receiver = [func.value] if isinstance(func, ast.Attribute) else []
            named = (k.value for k in keywords if k.arg not in ("device", "dtype"))
            given = [*receiver, *args, *named]
            lists = [part.elts for part in given if isinstance(part, (ast.List, ast.Tuple))]
            return [*given, *(item for items in lists for item in items)]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=comparators):
            return [left, *comparators]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=elts)):
            return [value, *elts]
        case ast.Subscript(value=value, slice=index):
            return [value, index]
        case ast.Attribute(value=value):
            return [value]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
    return []


def _words(node: ast.expr) -> str:
    """Return what an expression is, without its operands."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}"
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Call(func=func):
            return f"call of {_words(func)}"
        case ast.Subscript(value=value):
            return f"{_words(value)}[]"
    return type(node).__name__
