"""Builtins and the few functions of the standard library that shapes pass through."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.analysis import boundary
from shapecheck.analysis.annotations import TensorDecl
from shapecheck.analysis.frame import Frame
from shapecheck.analysis.iteration import Range, another, as_list, first, iterate, length
from shapecheck.analysis.operators import integers, is_size, operate
from shapecheck.analysis.values import (
    NOTHING,
    Argument,
    Bound,
    Content,
    Dict,
    Items,
    Object,
    OpInstance,
    Partial,
    Ref,
    Sequence,
    Union,
)
from shapecheck.analysis.verdicts import CONSTANTS, instance_of, truth
from shapecheck.dims import Size, size_of
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Scalar, Value
from shapecheck.ops.call import as_size
from shapecheck.shapes import Run, Tensor

Function: TypeAlias = Callable[[Frame, list[Value], Mapping[str, Value], ast.Call], Value]
Family: TypeAlias = Callable[[str, Frame, list[Value], Mapping[str, Value], ast.Call], Value]
Method: TypeAlias = Callable[[Frame, Value, list[Value], Mapping[str, Value], ast.Call], Value]

ITSELF: Final = frozenset(
    "train eval to cuda cpu float half double bfloat16 type requires_grad_ apply".split()
)
"""Methods of modules that return the module."""
FUNCTIONS: Final[dict[str, Function]] = {}
_METHODS: Final[dict[tuple[str, str], Method]] = {}


def function(*names: str) -> Callable[[Function], Function]:
    """Register what calling a library's function, by its dotted names, gives."""

    def register(handler: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = handler
        return handler

    return register


def _family(*names: str) -> Callable[[Family], Family]:
    """Register a handler of several functions, which is told the last name of the one called."""

    def register(handler: Family) -> Family:
        for name in names:
            FUNCTIONS[name] = partial(handler, name.rpartition(".")[2])
        return handler

    return register


def _on(kind: str, *names: str) -> Callable[[Method], Method]:
    def register(handler: Method) -> Method:
        for name in names:
            _METHODS[kind, name] = handler
        return handler

    return register


def method(frame: Frame, receiver: Value, name: str) -> Method | None:
    """Return what a method of a builtin value, a list, a dict or a module does."""
    content = frame.state.content(receiver)
    same = _METHODS.get(("itself", name))
    if same is not None and _holds_parameters(receiver, content):
        return same
    if isinstance(content, Sequence):
        return _METHODS.get(("list", name))
    if isinstance(content, Dict):
        return _METHODS.get(("dict", name))
    if isinstance(content, Object):
        return _METHODS.get(("module", name))
    if isinstance(receiver, tuple):
        return _METHODS.get(("tuple", name))
    if isinstance(receiver, Bound) and receiver.name == "__dict__":
        return _METHODS.get(("attributes", name))
    if isinstance(receiver, str) and name in _TEXT:
        return partial(_text, name)
    return _METHODS.get(("str", name)) if isinstance(receiver, str) else None


_TEXT: Final = frozenset(
    "startswith endswith split rsplit lower upper replace strip lstrip rstrip removeprefix "
    "removesuffix partition rpartition isdigit find index count title capitalize".split()
)


def _text(
    name: str, frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    """Call a method of a text whose arguments are known."""
    if not all(isinstance(arg, (*CONSTANTS, tuple)) for arg in (*args, *kwargs.values())):
        handler = _METHODS.get(("str", name))
        return UNKNOWN if handler is None else handler(frame, owner, args, kwargs, node)
    try:
        found = getattr(owner, name)(*args, **kwargs)
    except (TypeError, ValueError):
        return UNKNOWN
    return frame.state.new(Sequence(tuple(found))) if isinstance(found, list) else found


def _holds_parameters(value: Value, content: Content) -> bool:
    """Whether a value is a module, of which `to`, `eval` and so on return the module itself."""
    if isinstance(content, (Sequence, Dict)):
        return content.kind.startswith("nn.")
    return isinstance(content, Object) or isinstance(value, OpInstance)


Named: TypeAlias = Mapping[str, Value]


@function("builtins.len")
def _len(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    made = frame.special(args[0], "__len__", [], node) if len(args) == 1 else NOTHING
    if made is not NOTHING:
        return len(made) if isinstance(made, tuple) else made
    found = length(frame, args[0]) if len(args) == 1 else None
    return dims.unknown() if found is None else found


@function("builtins.range")
def _range(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    sizes = [as_size(arg) for arg in args]
    if len(sizes) == 1:
        return Range(0, sizes[0], 1)
    if len(sizes) in (2, 3):
        step = sizes[2] if len(sizes) == 3 else 1
        if isinstance(step, int) and step:
            return Range(sizes[0], sizes[1], step)
    return Items(None, dims.unknown())


@function("builtins.enumerate")
def _enumerate(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return UNKNOWN
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    items, element = iterate(frame, args[0])
    if items is None or not isinstance(start, int):
        if items is not None:
            return Items(None, (dims.unknown(), UNKNOWN))
        head = (start, first(frame, args[0], element))
        return Items(None, (dims.unknown(), element), length(frame, args[0]), head)
    return Items(tuple((start + index, item) for index, item in enumerate(items)))


@function("builtins.zip")
def _zip(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    parts = [iterate(frame, arg) for arg in args]
    known = [items for items, _ in parts if items is not None]
    if len(known) == len(parts):
        return Items(tuple(zip(*known, strict=False)))
    each = tuple(frame.state.either(*i) if i else e for i, e in parts)
    heads = zip(args, parts, strict=True)
    start = tuple(i[0] if i else first(frame, arg, e) for arg, (i, e) in heads)
    counts = [length(frame, arg) for arg in args]
    same = counts and all(count is not None and count == counts[0] for count in counts)
    return Items(None, each, counts[0] if same else None, start)


@function("builtins.reversed")
def _reversed(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    items, element = iterate(frame, args[0]) if args else (None, UNKNOWN)
    return Items(None if items is None else items[::-1], element)


@_family("builtins.list", "builtins.sorted")
def _list(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    items, element = iterate(frame, args[0]) if args else ((), UNKNOWN)
    if args and isinstance(args[0], tuple) and any(isinstance(i, Run) for i in args[0]):
        return args[0]
    if name == "sorted":
        items, element = None, frame.state.either(*items) if items else element
    count = length(frame, args[0]) if args and items is None else None
    return frame.state.new(Sequence(items, element, count=count))


@function("builtins.tuple", "torch.Size", "builtins.iter")
def _tuple(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return ()
    if isinstance(args[0], tuple):
        return args[0]
    items, element = iterate(frame, args[0])
    return Items(None, element) if items is None else items


@_family("builtins.min", "builtins.max")
def _extreme(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    values = args if len(args) > 1 else list(iterate(frame, args[0])[0] or ()) if args else []
    if values and all(isinstance(v, (int, Size)) and not isinstance(v, bool) for v in values):
        return dims.extreme(name, values)
    if values and all(isinstance(v, (int, float)) for v in values):
        return min(values) if name == "min" else max(values)
    return UNKNOWN


@function("builtins.int", "operator.index")
def _int(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[0] if args else 0
    if isinstance(value, (int, Size)):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    return dims.unknown()


@function("builtins.float")
def _float(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[0] if args else 0.0
    return float(value) if isinstance(value, (int, float)) else Scalar(dtypes.DEFAULT_FLOAT)


_REAL: Final = (
    "sqrt log log2 log10 log1p exp expm1 sin cos tan asin acos atan atan2 sinh cosh tanh pow hypot "
    "radians degrees fabs fmod"
).split()
_ARRAYS: Final = "arcsin arccos arctan arctan2 power deg2rad rad2deg floor ceil clip".split()


@_family(*(f"math.{name}" for name in _REAL))
def _math(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if all(isinstance(arg, (int, float)) for arg in args) and hasattr(math, name):
        try:
            return float(getattr(math, name)(*args))
        except (ValueError, TypeError, ArithmeticError):
            return UNKNOWN
    return Scalar(dtypes.DEFAULT_FLOAT)


@function(*(f"numpy.{name}" for name in (*_REAL, *_ARRAYS)))
def _numpy(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    numbers = bool(args) and all(isinstance(arg, (int, float, Size, Scalar)) for arg in args)
    return Scalar(dtypes.DEFAULT_FLOAT) if numbers else UNKNOWN


@function("builtins.round")
def _round(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[0] if args else UNKNOWN
    if len(args) > 1 or kwargs or not isinstance(value, (int, float, Size, Scalar)):
        return UNKNOWN
    if isinstance(value, float) and math.isfinite(value):
        return round(value)
    return value if isinstance(value, (int, Size)) else dims.unknown()


@_family("math.ceil", "math.floor")
def _whole(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, (int, Size)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return math.ceil(value) if name == "ceil" else math.floor(value)
    return dims.unknown()


@function("math.prod", "numpy.prod")
def _prod(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    items = iterate(frame, args[0])[0] if args else None
    if items is None or not all(isinstance(item, (int, Size)) for item in items):
        return dims.unknown()
    return math.prod(map(size_of, items), start=1)


@function("builtins.sum")
def _sum(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return UNKNOWN
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    items, element = iterate(frame, args[0])
    count = length(frame, args[0]) if items is None else len(items)
    total = start
    for item in (element, element) if items is None else items:
        total = item if total == 0 and item is not UNKNOWN else _plus(frame, total, item, node)
    if items is None and is_size(total):
        return dims.unknown()
    return total if items is not None or count != 0 else start


def _plus(frame: Frame, left: Value, right: Value, node: ast.Call) -> Value:
    source = node.args[0]
    nodes = (source, source)
    return operate(frame, node, ast.Add(), left, right, nodes, label="sum")


@function("builtins.next")
def _next(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return UNKNOWN
    items, element = iterate(frame, args[0])
    found = frame.state.either(*items) if items else element
    return frame.state.either(found, args[1]) if len(args) > 1 else found


@function("builtins.divmod")
def _divmod(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) == 2 and all(map(is_size, args)):
        return integers(ast.FloorDiv(), *args), integers(ast.Mod(), *args)
    return UNKNOWN


@function("random.randrange", "random.randint", "random.getrandbits", "os.cpu_count")
def _some_int(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return dims.unknown()


@function("random.random", "random.uniform", "random.gauss", "time.time", "time.perf_counter")
def _some_float(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return Scalar(dtypes.DEFAULT_FLOAT)


@function("random.choice")
def _choice(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.element(as_list(frame, args[0])) if args else UNKNOWN


@function("random.sample")
def _sample(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return UNKNOWN
    count = args[1] if len(args) > 1 else kwargs.get("k")
    element = frame.state.element(as_list(frame, args[0]))
    return frame.state.new(Sequence(None, element, count=as_size(count)))


@function("builtins.pow")
def _pow(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) == 2 and all(map(is_size, args)):
        return integers(ast.Pow(), *args)
    return UNKNOWN


@function("math.isqrt")
def _isqrt(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) == 1 and isinstance(args[0], int) and args[0] >= 0:
        return math.isqrt(args[0])
    return dims.unknown()


@function("builtins.abs")
def _abs(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, Tensor):
        signature = frame.program.table.signature("torch.abs")
        return UNKNOWN if signature is None else signature.apply(frame.state.facts, args, {})
    return abs(value) if isinstance(value, (int, float)) else UNKNOWN


@function("builtins.isinstance")
def _isinstance(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _verdict(instance_of(frame, *args) if len(args) == 2 else None)


@function("builtins.bool")
def _bool(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _verdict(truth(frame, args[0]) if args else False)


def _verdict(known: bool | None) -> Value:
    return Scalar(dtypes.BOOL) if known is None else known


@_family("builtins.all", "builtins.any")
def _every(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Decide `all` and `any` where one item, or every one, is known to be true or false."""
    items = iterate(frame, args[0])[0] if args else None
    decisive = name == "any"
    if items is None:
        return Scalar(dtypes.BOOL)
    found = [truth(frame, item) for item in items]
    if decisive in found:
        return decisive
    return Scalar(dtypes.BOOL) if None in found else not decisive


@function("builtins.locals")
def _locals(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(Dict(dict(frame.state.vars)))


@function("builtins.str")
def _str(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return str(args[0]) if args and isinstance(args[0], CONSTANTS) else UNKNOWN


@function("builtins.type")
def _type(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(args[0]) if args else None
    if isinstance(content, Object) and content.path is None:
        return content.cls
    return UNKNOWN


@function("copy.deepcopy")
def _duplicate(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.duplicate(args[0], {}) if args else UNKNOWN


@function("builtins.print", "builtins.repr", "builtins.id")
def _pure(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return UNKNOWN


@function("builtins.dict", "collections.OrderedDict")
def _dict(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return as_dict(frame, args, kwargs)


def as_dict(frame: Frame, args: list[Value], kwargs: Named) -> Value:
    """Return a new dict of what `dict(...)` is called with."""
    if not args:
        return frame.state.new(Dict(dict(kwargs)))
    content = frame.state.content(args[0])
    if isinstance(content, Dict) and content.items is not None:
        return frame.state.new(Dict({**content.items, **kwargs}))
    items = iterate(frame, args[0])[0]
    items = None if items is None else tuple(_pair(frame, item) for item in items)
    pairs = items is not None and all(
        isinstance(i, tuple) and len(i) == 2 and isinstance(i[0], (str, int)) for i in items
    )
    return frame.state.new(Dict({**dict(items), **kwargs} if pairs and items is not None else None))


def _pair(frame: Frame, value: Value) -> Value:
    content = frame.state.content(value)
    return content.items if isinstance(content, Sequence) and content.items else value


@function("functools.partial")
def _partial(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items())) if args else UNKNOWN


@function("dataclasses.replace", "copy.replace", "attrs.evolve")
def _replace(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    from shapecheck.analysis.objects import replaced

    nodes = {keyword.arg: keyword.value for keyword in node.keywords}
    changes = {name: Argument(value, nodes.get(name)) for name, value in kwargs.items()}
    return replaced(frame, args[0], changes, node) if len(args) == 1 else UNKNOWN


@function(
    "torch.compile",
    "torch.jit.script",
    "torch.nn.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.weight_norm",
    "torch.nn.utils.remove_weight_norm",
    "torch.nn.utils.remove_spectral_norm",
    "torch.nn.utils.parametrizations.spectral_norm",
    "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.orthogonal",
    "copy.copy",
)
def _wrapped(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """A wrapper of a module holds and does what the module does; so does a shallow copy."""
    value = args[0] if args else UNKNOWN
    content = frame.state.content(value)
    return frame.state.new(content) if content is not None else value


@function("typing.cast", "typing_extensions.cast")
def _cast(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return args[1] if len(args) == 2 else UNKNOWN


@function("builtins.reveal_type", "typing.reveal_type", "typing_extensions.reveal_type")
def _reveal_type(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if args and isinstance(args[0], Tensor):
        _reveal(frame, args[0], node)
    return args[0] if args else UNKNOWN


@function("shapecheck.reveal_shape", "shapecheck.runtime.reveal_shape")
def _reveal_shape(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if args and isinstance(args[0], (int, Size)):
        frame.note(node, f'Revealed size is "{frame.state.facts.dim(args[0])}"')
    elif args:
        _reveal(frame, args[0], node)
    return args[0] if args else UNKNOWN


def _reveal(frame: Frame, value: Value, node: ast.Call) -> None:
    if isinstance(value, Tensor):
        shape = frame.state.facts.shape(value.shape)
        frame.note(node, f'Revealed shape is "{shape.text()}"')
    elif isinstance(value, Union) and all(
        o is None or isinstance(o, Tensor) for o in value.options
    ):
        shapes = (None if o is None else frame.state.facts.shape(o.shape) for o in value.options)
        said = " or ".join("None" if s is None else f'"{s.text()}"' for s in shapes)
        frame.note(node, f"Revealed shape is {said}")
    else:
        frame.note(node, "Revealed shape is unknown")


@function(
    "shapecheck.assert_shape",
    "shapecheck.runtime.assert_shape",
    "shapecheck.named",
    "shapecheck.runtime.named",
)
def _assert_shape(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if len(args) != 2 or not isinstance(args[1], str):
        return args[0] if args else UNKNOWN
    try:
        declared = TensorDecl(spec.parse(args[1]))
    except spec.SpecError as error:
        frame.error(node.args[1], Message(str(error), "shape-annotation"))
        return args[0]
    taught = boundary.teach(frame, declared, args[0], node.args[0])
    if isinstance(node.args[0], ast.Name) and isinstance(taught, Tensor):
        name = node.args[0].id
        frame.assign(name, taught, frame.state.since.get(name, node.lineno))
    return taught


@_on("list", "add_module", "register_module")
def _add_module(
    frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    content = frame.state.content(owner)
    given = [*args, *(kwargs[key] for key in ("name", "module") if key in kwargs)]
    if isinstance(content, Sequence) and len(given) == 2:
        longer = frame.state.extended(content, Sequence((given[1],)))
        called = isinstance(given[0], str) and len(content.names) == len(content.items or ())
        names = (*content.names, given[0]) if called else content.names
        frame.state.heap[owner] = replace(longer, names=names)
    return None


@_on("list", "append")
def _append(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, Sequence) and len(args) == 1:
        frame.state.heap[owner] = frame.state.extended(content, Sequence((args[0],)))
    return None


@_on("list", "extend")
def _extend(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, Sequence) and args:
        frame.state.heap[owner] = frame.state.extended(content, as_list(frame, args[0]))
    return None


@_on("list", "pop", "popleft")
def _pop(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    index = args[0] if args else -1
    if not isinstance(content, Sequence):
        return UNKNOWN
    if (
        content.items
        and isinstance(index, int)
        and -len(content.items) <= index < len(content.items)
    ):
        rest = list(content.items)
        item = rest.pop(index)
        frame.state.heap[owner] = Sequence(tuple(rest), kind=content.kind)
        return item
    element = frame.state.element(content)
    count = content.length
    left = None if count is None else count - 1
    frame.state.heap[owner] = Sequence(None, element, content.kind, left)
    return another(frame, element)


@_on("list", "insert", "reverse", "clear", "appendleft")
def _changed(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    frame.state.heap[owner] = None
    if isinstance(content, Sequence) and content.items is not None:
        items = [] if name == "clear" else list(content.items)
        if name == "reverse":
            items.reverse()
        elif name == "insert" and len(args) == 2 and isinstance(args[0], int):
            items.insert(args[0], args[1])
        elif name == "appendleft" and len(args) == 1:
            items.insert(0, args[0])
        elif name != "clear":
            return None
        frame.state.heap[owner] = Sequence(tuple(items), kind=content.kind)
    return None


@_on("list", "remove", "sort", "extendleft")
def _shuffled(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = None
    return None


@_on("list", "index", "count")
@_on("tuple", "index", "count")
@_on("str", "index", "count", "find", "rfind", "rindex")
def _place(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return dims.unknown()


@_on("list", "copy")
def _copy(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@_on("dict", "items")
def _items(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    if content.items is None:
        return Items(None, (UNKNOWN, content.element))
    return Items(tuple(content.items.items()))


@_on("dict", "values")
def _values(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    return Items(None if content.items is None else tuple(content.items.values()), content.element)


@_on("dict", "keys")
def _keys(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    return Items(None if content.items is None else tuple(content.items))


@_on("dict", "get")
def _get(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    if not args:
        return UNKNOWN
    missing = args[1] if len(args) > 1 else None
    if content.items is None:
        return frame.state.either(content.element, missing)
    return content.items.get(args[0], missing) if isinstance(args[0], (str, int)) else UNKNOWN


@_on("dict", "update")
def _update(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    other = frame.state.content(args[0]) if args else Dict({})
    frame.state.heap[owner] = None
    if isinstance(content, Dict) and isinstance(other, Dict) and len(args) < 2:
        if content.items is not None and other.items is not None:
            items = {**content.items, **other.items, **kwargs}
            frame.state.heap[owner] = Dict(items, kind=content.kind)
    return None


@_on("attributes", "update")
def _set_all(frame: Frame, owner: Bound, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Assign the attributes of an instance, by `instance.__dict__.update(...)`."""
    made = owner.receiver
    content = frame.state.content(made)
    other = frame.state.content(args[0]) if args else Dict({})
    if isinstance(content, Object) and isinstance(other, Dict) and other.items is not None:
        attrs = {**content.attrs, **{str(k): v for k, v in other.items.items()}, **kwargs}
        frame.state.heap[made] = Object(content.cls, attrs, content.path)
    else:
        frame.state.heap[made] = None
    return None


@_on("dict", "pop", "setdefault")
def _take(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if not isinstance(content, Dict) or content.items is None or not args:
        frame.state.heap[owner] = None
        return UNKNOWN
    key, missing = args[0], args[1] if len(args) > 1 else None
    if not isinstance(key, (str, int)):
        frame.state.heap[owner] = None
        return UNKNOWN
    items = dict(content.items)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
        found = items.pop(key, missing)
    else:
        found = items.setdefault(key, missing)
    frame.state.heap[owner] = Dict(items, kind=content.kind)
    return found


@_on("dict", "copy")
def _copied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@_on("dict", "clear", "popitem")
def _emptied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = None
    return UNKNOWN


@_on("tuple", "numel")
def _numel(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _prod(frame, [owner], {}, node)


@_on("module", "register_buffer", "register_parameter", "add_module", "register_module")
def _register(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    from shapecheck.analysis.objects import set_attribute

    values = [
        *args,
        *(kwargs[key] for key in ("name", "tensor", "param", "module") if key in kwargs),
    ]
    if len(values) >= 2 and isinstance(values[0], str):
        set_attribute(frame, owner, values[0], values[1])
    return None


@_on("itself", *ITSELF)
def _itself(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return owner
