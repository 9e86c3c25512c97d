"""Counts how many tensor-valued expressions in annotated functions have a known shape.

An expression counts where its value is a tensor, or where it isn't known and is likely to be one:
the result of an op, of a tensor's method, of an operator on tensors, of a call with tensors that
is used for something, or a name bound to one of these. Each use of a variable is an expression.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from operator import itemgetter
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck.analysis import declarations, interpreter
from shapecheck.analysis.frame import EXPRESSIONS, Frame
from shapecheck.analysis.host import Coverage, Host, Options, Source
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
    checks: dict[ast.AST, _Checks] = {}
    apart = _Apart(host)
    with _observed(source.name, checks):
        interpreter.check_module(source, apart, options)
    seen = {node: _best(each) for node, each in checks.items()}
    module = interpreter.program_of(apart, options, source.name).module(source.name)
    assert module is not None
    found = Coverage(0, 0, 0, Counter())
    for function in _annotated(module):
        _Body(module, function, seen, found).count()
    return found


_Checks: TypeAlias = dict[Reporter | None, tuple[Grade, Value]]
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
                now = _grade(value, frame.state.facts)
                each = seen.setdefault(node, {})
                before = each.get(frame.module.reporter, (Grade.OTHER, value))[0]
                each[frame.module.reporter] = max(now, before), value
            return value

        return observed

    before = dict(EXPRESSIONS)
    EXPRESSIONS.update({kind: observe(handler) for kind, handler in before.items()})
    try:
        yield
    finally:
        EXPRESSIONS.update(before)


def _best(each: _Checks) -> tuple[Grade, Value]:
    """Return what is known of an expression: as it stands, or with the groups spelled out."""
    first, *spelled_out = each.values()
    return min(first, max(spelled_out, key=_GRADE, default=first), key=_GRADE)


_GRADE: Final = itemgetter(0)


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


def _annotated(module: Module) -> Iterator[Function]:
    """Yield the functions with a shape in their signature, nested ones included."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = Function(node, module)
            if declarations.declaration(function).shaped:
                yield function


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


class _Body:
    """The expressions of one function, and why the shapes of some aren't known."""

    def __init__(
        self,
        module: Module,
        function: Function,
        seen: dict[ast.AST, tuple[Grade, Value]],
        found: Coverage,
    ) -> None:
        self.module, self.function, self.seen, self.found = module, function, seen, found
        self.table = module.program.table
        self.reasons: dict[str, str] = {}
        self.likely: set[str] = set()

    def count(self) -> None:
        """Add the function's expressions to what was found."""
        body: list[ast.AST] = list(self.function.node.body)  # type: ignore[arg-type]  # no lambda
        nodes = [node for part in body for node in _within(part)]
        expressions = [node for node in nodes if isinstance(node, ast.expr)]
        shaped = self._parameters()
        if not any(node in self.seen for node in expressions):
            names = [node for node in expressions if isinstance(node, ast.Name)]
            for name in names:
                if name.id in shaped:
                    self._add(Grade.BLANK, "function that isn't analysed")
            return
        for _ in range(2):
            for node in nodes:
                self._bind(node)
        unused = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in expressions:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            grade = self.seen.get(node, (Grade.OTHER, None))[0]
            if grade is Grade.BLANK:
                reason = None if node in unused else self._likely(node)
                if reason is not None:
                    self._add(grade, reason)
            elif grade is not Grade.OTHER:
                self._add(grade, self._why(node))

    def _add(self, grade: Grade, reason: str) -> None:
        if grade is Grade.KNOWN:
            self.found.known += 1
            return
        if grade is Grade.PARTIAL:
            self.found.partial += 1
        else:
            self.found.unknown += 1
        self.found.reasons[reason] += 1

    def _parameters(self) -> set[str]:
        names = set()
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
        grade = self.seen.get(node, (Grade.OTHER, None))[0]
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
        target = self.seen.get(node.func, (Grade.BLANK, UNKNOWN))[1]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _words(node.func)
        if name in _NO_TENSOR or isinstance(target, Class) or _is_class_name(name):
            return None
        if isinstance(target, Dotted):
            root = target.name.partition(".")[0]
            if root in _PLAIN or self.table.lookup_class(target.name) is not None:
                return None
            if root in ("torch", "einops") and target.name.count(".") < 3:
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
        return f"call of {_words(node.func)}" if given else None

    def _tensor(self, node: ast.expr) -> bool:
        grade = self.seen.get(node, (Grade.OTHER, None))[0]
        return Grade.KNOWN <= grade <= Grade.OPAQUE

    def _blank(self, node: ast.expr) -> bool:
        return self.seen.get(node, (Grade.OTHER, None))[0] is Grade.BLANK

    def _label(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            target = self.seen.get(node.func, (Grade.BLANK, UNKNOWN))[1]
            if isinstance(target, Dotted):
                return target.name
            if isinstance(target, Function):
                return f"call of {target.name}()"
            if isinstance(target, Bound) and isinstance(target.receiver, Tensor):
                return f".{target.name}()"
            return f"call of {_words(node.func)}"
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
