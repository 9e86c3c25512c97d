"""What decorators make of the functions under them."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.declarations import decorator_names
from shapecheck.analysis.interpreter import escaping, functions
from shapecheck.analysis.interpreter.calls import call_at
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import CALLERS, TRANSPARENT
from shapecheck.analysis.program.model import NOTHING, Dotted, Function, Value
from shapecheck.analysis.program.syntax import Def, is_def, name_of, names_in
from shapecheck.analysis.values.model import Argument, Context, Partial, Ref, options
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN

KINDS: Final = frozenset(("builtins.staticmethod", "builtins.classmethod"))
PROPERTIES: Final = frozenset(
    "builtins.property functools.cached_property abc.abstractproperty "
    "torch.distributions.utils.lazy_property".split()
)
CHECKERS: Final = frozenset(
    "beartype.beartype functools.cache functools.lru_cache jaxtyping.jaxtyped "
    "typeguard.typechecked".split()
)
"""Those that are called with options, too, and give the function or one of their kind."""
_KEEP: Final = (
    KINDS
    | CHECKERS
    | frozenset(
        "torch.no_grad torch.inference_mode torch.enable_grad torch.set_grad_enabled torch.compile "
        "torch.autocast torch.amp.autocast torch.cuda.amp.autocast torch.amp.custom_fwd "
        "torch.amp.custom_bwd torch.cuda.amp.custom_fwd torch.cuda.amp.custom_bwd "
        "torch.autograd.function.once_differentiable torch.compiler.disable torch._dynamo.disable "
        "torch.profiler.record_function torch.autograd.profiler.record_function "
        "torch.cuda.nvtx.range torch.func.functionalize "
        "torch.library.custom_op torch.library.triton_op "
        "torch.fx.wrap torch.jit.script torch.jit.script_method torch.jit.script_if_tracing "
        "torch.jit.ignore torch.jit.unused torch.jit.export functools.wraps "
        "typing.override typing_extensions.override typing.no_type_check typing.final "
        "typing_extensions.final typing.overload abc.abstractmethod "
        "dltype.dltyped shape_extensions.static_jaxtyping shape_extensions.shape_vars "
        "shapecheck.shapecheck shapecheck.runtime.shapecheck".split()
    )
)
"""Decorators that leave what a function takes and returns as it was."""
_MANAGERS: Final = frozenset(("contextlib.contextmanager", "contextlib.asynccontextmanager"))
_CHANGE: Final = frozenset(("torch", "contextlib", "functools", "functorch"))
"""Packages whose other decorators don't."""


def decorated(function: Function, frame: Frame | None = None) -> Value:
    """Return what a function's name is bound to: what its decorators make of it.

    `frame` is where they are evaluated, for a function in a function. Those that make a method
    a property, a static method or a class method are left to its owner.
    """
    node = function.node
    if not is_def(node) or not node.decorator_list:
        return function
    if function.home is not None:
        return _made(function, node, frame)
    return function.module.recall(
        ("decorated", node), lambda: _made(function, node, None), function
    )


def defined(function: Function) -> Function | None:
    """Return what decorators make of a function where that is a function of the program's."""
    made = decorated(function)
    return made if isinstance(made, Function) else None


def are_followed(frame: Frame, node: Def) -> bool:
    """Whether it is known who calls a function under its decorators: nobody keeps it."""
    known = zip(node.decorator_list, decorator_names(frame.module, node), strict=True)
    return all(
        name in _KEEP
        or name in _MANAGERS
        or name in PROPERTIES
        or isinstance(frame.hush(Frame.eval, decorator), (Function, Partial))
        for decorator, name in known
    )


def _made(function: Function, node: Def, frame: Frame | None) -> Value:
    value: Value = function
    known = list(decorator_names(function.module, node))
    for decorator, name in zip(reversed(node.decorator_list), reversed(known), strict=True):
        if name in _KEEP or name in PROPERTIES:
            continue
        if not isinstance(value, Function):
            return UNKNOWN
        if name in _MANAGERS:
            value = value.managing(True)
        else:
            value = _apply(frame or Frame(function.module, State()), decorator, name, value)
    if frame is None and isinstance(value, Function):
        _keep_around(value, set())
    return value


def _keep_around(wrapper: Function, seen: set[Function]) -> None:
    """Have what a function of a module finds around it be there wherever it is called.

    That is lists and dicts that no code of its module changes. `seen`: done already.
    """
    home = wrapper.home
    if wrapper in seen or not isinstance(home, Frame):
        return
    seen.add(wrapper)
    names = names_in(wrapper.node)
    while isinstance(home, Frame):
        for name in names.intersection(home.state.vars):
            held = home.state.vars[name]
            content = home.state.container_of(held)
            if isinstance(held, Function):
                _keep_around(held, seen)
            elif isinstance(held, Ref) and content and name not in home.module.survey.changed:
                held.origin = content
        home = None if home.function is None else home.function.home


def _apply(frame: Frame, decorator: ast.expr, name: str, value: Function) -> Value:
    """Return what one decorator makes of a function: each that it may be the same, or unknown."""
    made = frame.hush(Frame.eval, decorator)
    first, *others = (_applied(frame, one, decorator, name, value) for one in options(made))
    return first if all(other == first for other in others) else UNKNOWN


def _applied(frame: Frame, made: Value, decorator: ast.expr, name: str, value: Function) -> Value:
    found: Value = NOTHING
    match made:
        case Context():
            return value
        case Dotted(name=keeper) | Partial(function=Dotted(name=keeper)) if keeper in _KEEP:
            return value
        case Dotted(name=caller) | Partial(function=Dotted(name=caller)) if (
            caller in CALLERS  # `@vmap`, `@partial(vmap, out_dims=1)`
        ):
            return frame.hush(call_at, made, decorator, name, [value])
        case Function() as maker if _is_transparent(maker):
            return value
        case Function() as maker:
            found = _wrapped(frame, maker, decorator, name, value)
    if found is not NOTHING:
        return found
    if name.partition(".")[0] in _CHANGE or not declarations.declaration(value).shaped:
        return UNKNOWN
    return value  # the annotations of what an unknown library decorates


def _is_transparent(maker: Function) -> bool:
    """Whether it is known of a decorator, or of what it is a call of, that it changes nothing."""
    while isinstance(maker.home, Frame) and maker.home.function is not None:
        maker = maker.home.function
    return maker.name in TRANSPARENT.get(maker.module.name, ())


def _wrapped(
    frame: Frame, maker: Function, decorator: ast.expr, name: str, value: Function
) -> Value:
    """Return what a decorator of the program makes of a function; `NOTHING` if that isn't known."""
    same = _same_type(maker)
    if same and declarations.declaration(value).shaped:
        return value
    result = frame.hush(functions.invoke, maker, [Argument(value)], {}, decorator, name)
    if isinstance(result, Function):
        if not _passes_through(result, value):
            return result
        escaping.called_unseen(frame, result)
        return value
    return value if same else NOTHING


def _same_type(decorator: Function) -> bool:
    """Whether a decorator is annotated to return what it takes: `(f: F) -> F`.

    `(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]` says nothing about shapes.
    """
    node = decorator.node
    if not is_def(node) or node.returns is None or not node.args.args:
        return False
    taken = node.args.args[0].annotation
    if taken is None or ast.dump(taken) != ast.dump(node.returns):
        return False
    match taken:
        case ast.Constant():
            return False
        case ast.Subscript(value=head):
            return not _is_bare(head)
    return not _is_bare(taken)


def _is_bare(annotation: ast.expr) -> bool:
    """Whether an annotation, without what is in its brackets, says nothing of what it is given."""
    return ast.unparse(annotation).rpartition(".")[2] in ("Callable", "object", "Any")


def _passes_through(wrapper: Function, wrapped: Function) -> bool:
    """Whether a wrapper returns just what the wrapped function returns for its own arguments."""
    if wrapper == wrapped:
        return True
    node = wrapper.node
    match node:
        case ast.Lambda(body=body):
            return _forwards(body, wrapper, wrapped)
    taken = {argument.arg for argument in declarations.arguments_of(node, stars=True)}
    results: dict[str, list[ast.expr]] = {}
    returned: list[ast.expr] = []
    for child in ast.walk(node):
        if _changed(child) in taken:
            return False  # it hands over something else
        match child:
            case ast.Assign(targets=[target], value=value):
                results.setdefault(ast.unparse(target), []).append(value)
            case ast.Return(value=result):
                returned.append(result or ast.Constant(None))
    return bool(returned) and all(
        _forwards(value, wrapper, wrapped)
        for part in returned
        for value in results.get(name_of(part) or "", [part])
    )


def _changed(node: ast.AST) -> str | None:
    """Return the name of the variable that a piece of source binds anew, or puts something in."""
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.Subscript(value=ast.Name(id=name), ctx=ast.Store())
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update" | "setdefault"))
        ):
            return name
    return None


def _forwards(value: ast.expr, wrapper: Function, wrapped: Function) -> bool:
    """Whether an expression calls the wrapped function with all of the wrapper's arguments."""
    match value:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            if wrapper.home is None or wrapper.home.find(name) != wrapped:
                return False
            declared = wrapper.node.args
            wanted = [ast.unparse(ast.Name(a.arg)) for a in (*declared.posonlyargs, *declared.args)]
            wanted += [f"*{declared.vararg.arg}"] if declared.vararg else []
            given = [ast.unparse(arg) for arg in args]
            double = [name_of(k.value) for k in keywords if k.arg is None]
            kwarg = [declared.kwarg.arg] if declared.kwarg else []
            return given == wanted and double == kwarg and len(keywords) == len(kwarg)
    return False
