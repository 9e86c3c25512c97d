"""Annotated local variables of a decorated function: `scores: Float[Tensor, "b n"] = q @ k`.

Python doesn't evaluate the annotations of local variables. So, where it is asked for, the function
is compiled anew from its source, with a call behind each annotated assignment. The lines and
columns of all else stay what they are.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from shapecheck.runtime.annotations.hints import Hint, OtherHint, classify, resolve
from shapecheck.runtime.annotations.plan import Plan, tensor_hints
from shapecheck.runtime.boundary import locals
from shapecheck.runtime.boundary.binding import Binding
from shapecheck.runtime.boundary.checks import bind_names
from shapecheck.runtime.boundary.containers import fit_value
from shapecheck.runtime.errors import Failed, ShapeError, own_fault
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.settings import stands_aside
from shapecheck.runtime.source import FUNCTIONS, function_of, own_syntax, user_place
from shapecheck.tensor_spec import ShapeAnnotationError

_BEGIN: Final = "__shapecheck_begin__"
_LOCAL: Final = "__shapecheck_local__"
_FUTURE: Final = reduce(
    or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


@dataclass(frozen=True, slots=True)
class Variable:
    """One annotated assignment: what its annotation asks for, and the source of the value."""

    hint: Hint
    text: str


@dataclass(frozen=True, slots=True)
class Variables:
    """The annotated assignments of a function, and the function that checks them.

    `annotations` are those that could be read. `plan` is set once there is one.
    """

    function: types.FunctionType
    found: tuple[Variable, ...]
    annotations: Mapping[str, Any]
    plan: list[Plan]


def names_in_variables(function: types.FunctionType) -> frozenset[str] | None:
    """Return the names in the annotations of local variables that are assigned, None if none is."""
    node = _node(function)
    found = [] if node is None else [one.annotation for one in _assignments(node)]
    names = (node for one in found for node in ast.walk(one) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names) if found else None


def with_variables(function: types.FunctionType, namespace: Mapping[str, Any]) -> Variables | None:
    """Return a function with its annotated local variables checked, None if it has none."""
    node = _node(function)
    if node is None:
        warnings.warn(
            f"shapecheck: the local variables of {function.__qualname__} aren't checked: "
            "there is no source of it",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    assignments = _assignments(node)
    texts = {str(i): ast.unparse(one.annotation) for i, one in enumerate(assignments)}
    found, failed = _resolved(function, texts, namespace)
    for index, reason in failed.items():
        assigned = ast.unparse(assignments[int(index)].target)
        warnings.warn(
            f'shapecheck: the annotation of "{assigned}" in {function.__qualname__} isn\'t '
            f"checked: {reason}",
            RuntimeWarning,
            stacklevel=4,
        )
    variables: list[Variable] = []
    checked: dict[tuple[int, int], int] = {}
    for place, one in enumerate(assignments):
        hint = classify(found[str(place)]) if str(place) in found else None
        if hint is not None and not (isinstance(hint, OtherHint) and not hint.tensors):
            checked[one.lineno, one.col_offset] = len(variables)
            variables.append(Variable(hint, ast.unparse(one.value)))  # type: ignore[arg-type]
    if not variables:
        return None
    plan: list[Plan] = []
    begin = _begin(plan, variables)
    made = _compiled(function, node, checked, begin)
    return Variables(made, tuple(variables), found, plan)


def _node(function: types.FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the syntax of a function."""
    tree = function_of(function.__code__)
    nodes = (one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)) if tree else iter(())
    return next((one for one in nodes if one.name == function.__code__.co_name), None)


def _assignments(node: ast.AST) -> list[ast.AnnAssign]:
    """Return the annotated assignments to variables in a function's own body, in their order."""
    found = (one for one in own_syntax(node) if isinstance(one, ast.AnnAssign))
    to_variables = (one for one in found if isinstance(one.target, ast.Name) and one.value)
    return sorted(to_variables, key=lambda one: (one.lineno, one.col_offset))


def _resolved(
    function: types.FunctionType, texts: Mapping[str, str], namespace: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    holder = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, None, function.__closure__
    )
    holder.__annotations__ = dict(texts)
    found, failed = resolve(holder, namespace)
    return found, failed


# The function, compiled anew --------------------------------------------------------------------


def _compiled(
    function: types.FunctionType,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    checked: Mapping[tuple[int, int], int],
    begin: Callable[[Sequence[Any]], Callable[[Any, int], None]],
) -> types.FunctionType:
    """Compile a function with a call behind each assignment that is checked.

    It stands in a function that has the variables of its closure, and a class of the name of its
    own, so that `self.__private` means the same.
    """
    code = function.__code__
    made = copy.deepcopy(node)
    made.decorator_list = []
    made.returns = None
    arguments = made.args
    for one in ast.walk(arguments):
        if isinstance(one, ast.arg):
            one.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [
        None if one is None else ast.Constant(None) for one in arguments.kw_defaults
    ]
    if hasattr(made, "type_params"):
        made.type_params = []
    _Adding(checked).visit_body(made)
    made.body.insert(*_opening(made, inspect.signature(function, follow_wrapped=False)))
    outer: ast.stmt = made
    owner = code.co_qualname.split(".")[-2:-1] if hasattr(code, "co_qualname") else []
    owner = owner or function.__qualname__.split(".")[-2:-1]
    if owner and owner[0].isidentifier():
        outer = ast.ClassDef(name=owner[0], bases=[], keywords=[], body=[made], decorator_list=[])
        if hasattr(made, "type_params"):
            outer.type_params = []  # type: ignore[attr-defined]
    free = [ast.arg(arg=name) for name in (*code.co_freevars, _BEGIN) if name != "__class__"]
    around = ast.FunctionDef(
        name="around",
        args=ast.arguments([], free, None, [], [], None, []),
        body=[outer],
        decorator_list=[],
    )
    if hasattr(made, "type_params"):
        around.type_params = []  # type: ignore[attr-defined]
    tree = ast.fix_missing_locations(ast.Module([around], []))
    whole = compile(
        tree, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
    )
    new = _code_in(whole, code.co_name, made.lineno)
    if hasattr(code, "co_qualname"):
        new = new.replace(co_qualname=code.co_qualname)  # type: ignore[call-arg]  # from 3.11 on
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[_BEGIN] = types.CellType(begin)
    closure = tuple(cells[name] for name in new.co_freevars)
    result = types.FunctionType(
        new, function.__globals__, function.__name__, function.__defaults__, closure
    )
    result.__kwdefaults__ = function.__kwdefaults__
    result.__dict__.update(function.__dict__)
    result.__qualname__, result.__module__ = function.__qualname__, function.__module__
    result.__doc__, result.__annotations__ = function.__doc__, function.__annotations__
    return result


def _code_in(whole: types.CodeType, name: str, line: int) -> types.CodeType:
    waiting = [whole]
    while waiting:
        code = waiting.pop(0)
        if code.co_name == name and code.co_firstlineno == line:
            return code
        waiting += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    raise LookupError(name)


def _opening(
    node: ast.FunctionDef | ast.AsyncFunctionDef, signature: inspect.Signature
) -> tuple[int, ast.stmt]:
    """Return the statement that begins a function's body, and where it goes."""
    values = ast.Tuple([ast.Name(name, ast.Load()) for name in signature.parameters], ast.Load())
    call = ast.Call(ast.Name(_BEGIN, ast.Load()), [values], [])
    begins = ast.Assign([ast.Name(_LOCAL, ast.Store())], call)
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return int(documented), _located(begins, first)


class _Adding(ast.NodeTransformer):
    """Puts a call behind the assignments that are checked, in a function's own body."""

    def __init__(self, checked: Mapping[tuple[int, int], int]) -> None:
        self.checked = checked

    def visit_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Change the statements of a function, but not of functions in it."""
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        index = self.checked.get((node.lineno, node.col_offset))
        if index is None or not isinstance(node.target, ast.Name) or node.value is None:
            return node
        given = [ast.Name(node.target.id, ast.Load()), ast.Constant(index)]
        call = ast.Call(ast.Name(_LOCAL, ast.Load()), given, [])
        return [node, _located(ast.Expr(call), node.value)]


def _located(made: ast.stmt, at: ast.AST) -> ast.stmt:
    for one in ast.walk(made):
        if "lineno" in one._attributes:
            ast.copy_location(one, at)
    return made


# The checks -------------------------------------------------------------------------------------


def _nothing(value: Any, index: int) -> None:
    """Check nothing."""


def _begin(
    plan: list[Plan], variables: Sequence[Variable]
) -> Callable[[Sequence[Any]], Callable[[Any, int], None]]:
    """Return what a call of the function begins with: it gives what checks its variables."""
    scoped = any("{" in str(_annotation(variable.hint)) for variable in variables)

    def begin(values: Sequence[Any]) -> Callable[[Any, int], None]:
        if stands_aside() or not plan:
            return _nothing
        return _Activation(plan[0], values, scoped).checking(variables)

    return begin


def _annotation(hint: Hint) -> object:
    """Return what shows the `{...}` in a hint."""
    shapes = tensor_hints(hint)
    return [str(one.spec.shape) for one in shapes] if shapes else hint


class _Activation:
    """One call: its frame where it has one, else what its names are bound to.

    `scoped`: the arguments are needed for `{...}`; else they aren't kept alive. `first` says of the
    names that the arguments don't have which variable they were bound by: assigned once more, as in
    a loop, it binds them anew.
    """

    def __init__(self, plan: Plan, values: Sequence[Any], scoped: bool) -> None:
        self.plan = plan
        self.frame: CallNames | None = None
        self.first: dict[str, int] = {}
        self.scope: dict[str, Any] = {}
        if scoped:
            self.scope = {p.name: value for p, value in zip(plan.params, values, strict=True)}
        frame = state.frame
        if frame is not None and frame.plan is plan:
            self.frame = frame
            return
        try:
            with DisableTorchFunction():
                binding = bind_names(plan, values)
                self.names, self.runs = binding.sizes(), binding.group_sizes()
        except ShapeError:  # told at the boundary
            self.names, self.runs = {}, {}

    def checking(self, variables: Sequence[Variable]) -> Callable[[Any, int], None]:
        """Return what checks the value of a variable. It raises `ShapeError`."""

        def check(value: Any, index: int) -> None:
            if stands_aside():
                return
            variable = variables[index]
            subject = f'"{variable.text}"' if len(variable.text) <= 40 else "value"
            try:
                with DisableTorchFunction():
                    self.release(index)
                    known = self.bound()
                    self.fit(variable.hint, value, subject)
                    self.first.update(dict.fromkeys(self.bound() - known, index))
            except Failed as failed:
                place = user_place()
                names = self.names if self.frame is None else self.frame.names
                raise ShapeError(
                    failed.message, names, None if place is None else str(place)
                ) from None
            except ShapeAnnotationError:
                return  # a `{...}` over variables that are no arguments
            except Exception as error:  # noqa: BLE001 - a defect here must not break the call
                own_fault(f"to check a variable of {self.plan.label}", error)

        return check

    def bound(self) -> set[str]:
        """Return the names and groups that are bound."""
        at = self if self.frame is None else self.frame
        return {*at.names, *at.runs}

    def release(self, index: int) -> None:
        """Let a variable bind those names anew that it was the first to have."""
        for name in [name for name, first in self.first.items() if first == index]:
            del self.first[name]
            if self.frame is not None:
                locals.forget(self.frame, name)
            else:
                self.names.pop(name, None)
                self.runs.pop(name, None)

    def fit(self, hint: Hint, value: Any, subject: str) -> None:
        """Fit a value to an annotation. Raises `Failed`."""
        if self.frame is not None and state.frame is self.frame:
            locals.fit(self.frame, hint, value, subject, self.scope)
            return
        if self.frame is not None:
            return
        binding = Binding(self.plan, self.scope, names=dict(self.names), runs=dict(self.runs))
        fit_value(binding, hint, value, subject)
        binding.settle()
        self.names |= binding.sizes()
        self.runs |= binding.group_sizes()
