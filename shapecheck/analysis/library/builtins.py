"""Builtins and the few functions of the standard library that shapes pass through.

Others register theirs here: `numbers`, `functional` and `methods`.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.analysis.annotations.declared import TensorDecl
from shapecheck.analysis.interpreter import fitting
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.instances import replaced
from shapecheck.analysis.interpreter.iteration import Range, first, iterate, length
from shapecheck.analysis.interpreter.registry import Named, family, function
from shapecheck.analysis.interpreter.truth import CONSTANTS, instance_of, truth
from shapecheck.analysis.program.model import NOTHING, Dotted, Value
from shapecheck.analysis.values.model import (
    Argument,
    Context,
    DictContent,
    Instance,
    Items,
    ListContent,
    OneOf,
    Partial,
)
from shapecheck.dims import Size
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Scalar, Sizes
from shapecheck.ops.call import as_size
from shapecheck.ops.shape.first_class import bound_to
from shapecheck.shapes import Free, Run, Shape, Tensor
from shapecheck.spec.objects import is_part, of_objects


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


@family("builtins.list", "builtins.sorted")
def _list(name: str, frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    items, element = iterate(frame, args[0]) if args else ((), UNKNOWN)
    if args and isinstance(args[0], tuple) and any(isinstance(i, Run) for i in args[0]):
        return args[0]
    if name == "sorted":
        items, element = None, frame.state.either(*items) if items else element
    count = length(frame, args[0]) if args and items is None else None
    return frame.state.new(ListContent(items, element, count=count))


@function("builtins.tuple", "builtins.iter")
def _tuple(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return ()
    if isinstance(args[0], tuple):
        return tuple(args[0])
    items, element = iterate(frame, args[0])
    return Items(None, element) if items is None else items


@function("torch.Size")
def _sizes(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    made = _tuple(frame, args, kwargs, node)
    return Sizes(made) if isinstance(made, tuple) else made


@function("builtins.isinstance")
def _isinstance(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _verdict(instance_of(frame, *args) if len(args) == 2 else None)


@function("torch.is_tensor")
def _is_tensor(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _verdict(instance_of(frame, args[0], Dotted("torch.Tensor")) if args else None)


@function("torch.jit.is_scripting")
def _never(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return False  # in Python; TorchScript isn't what is checked


@function("builtins.slice")
def _slice(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return slice(*args) if 1 <= len(args) <= 3 else UNKNOWN


@function("builtins.bool")
def _bool(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return _verdict(truth(frame, args[0]) if args else False)


def _verdict(known: bool | None) -> Value:
    return Scalar(dtypes.BOOL) if known is None else known


@family("builtins.all", "builtins.any")
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
    return frame.state.new(DictContent(dict(frame.state.vars.items())))


@function("builtins.str")
def _str(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return str(args[0]) if args and isinstance(args[0], CONSTANTS) else UNKNOWN


@function("builtins.type")
def _type(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(args[0]) if args else None
    if isinstance(content, Instance) and content.path is None:
        return content.cls
    return UNKNOWN


@function("copy.deepcopy")
def _duplicate(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.duplicate(args[0], {}) if args else UNKNOWN


@function("builtins.print", "builtins.repr", "builtins.id")
def _pure(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return UNKNOWN


@function("functools.partial")
def _partial(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items())) if args else UNKNOWN


@function("dataclasses.replace", "copy.replace", "attrs.evolve")
def _replace(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    nodes = {keyword.arg: keyword.value for keyword in node.keywords}
    changes = {name: Argument(value, nodes.get(name)) for name, value in kwargs.items()}
    return replaced(frame, args[0], changes, node) if len(args) == 1 else UNKNOWN


@function(
    "torch.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "torch.jit.freeze",
    "torch.jit.optimize_for_inference",
    "torch.fx.symbolic_trace",
    "torch.compiler.disable",
    "torch.func.functionalize",
    "torch.func.replace_all_batch_norm_modules_",
    "torch.nn.utils.fuse_conv_bn_eval",
    "torch.autograd.Variable",
    "torch.compiler.allow_in_graph",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper",
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


@function("contextlib.nullcontext", "contextlib.closing")
def _nullcontext(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return Context(args[0] if args else kwargs.get("enter_result"), swallows=False)


@function(
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
)
def _parallel(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Wrap a module, which stays at hand as `module`."""
    value = args[0] if args else kwargs.get("module", UNKNOWN)
    content = frame.state.content(value)
    if isinstance(content, Instance):
        attrs = {"module": value, **content.attrs}
        return frame.state.new(replace(content, attrs=attrs))
    return _wrapped(frame, [value], {}, node)


@function("typing.cast", "typing_extensions.cast", "torch.jit.annotate")
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
        over = "".join(_sized(frame, dim) for dim in value.free)
        frame.note(node, f'Revealed shape is "{shape.text()}"{over.replace(",", " over", 1)}')
    elif isinstance(value, OneOf) and all(
        o is None or isinstance(o, Tensor) for o in value.options
    ):
        shapes = (o.shape if isinstance(o, Tensor) else None for o in value.options)
        texts = (None if s is None else frame.state.facts.shape(s).text() for s in shapes)
        said = " or ".join("None" if text is None else f'"{text}"' for text in texts)
        frame.note(node, f"Revealed shape is {said}")
    else:
        frame.note(node, "Revealed shape is unknown")


def _sized(frame: Frame, dim: Free) -> str:
    """Return a first-class dimension with what it is bound to, after a comma."""
    return f", {dim}={Shape((bound_to(frame.state.facts, dim),)).text()}"


@function("shapecheck.assert_shape", "shapecheck.runtime.assert_shape")
def _assert_shape(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    parts = [one for one in args[1:] if is_part(one)]
    if not parts or len(parts) < len(args) - 1:
        return args[0] if args else UNKNOWN
    try:
        text, objects = of_objects(parts)
        declared = TensorDecl(text, dims=objects)
    except spec.SpecError as error:
        frame.error(node.args[1], Message(str(error), "shape-annotation"))
        return args[0]
    taught = fitting.teach(frame, declared, args[0], node.args[0])
    if isinstance(node.args[0], ast.Name) and isinstance(taught, Tensor):
        name = node.args[0].id
        frame.assign(name, taught, frame.state.since.get(name, node.lineno))
    return taught
