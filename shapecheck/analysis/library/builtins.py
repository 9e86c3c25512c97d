"""Builtins and the few functions of the standard library that shapes pass through.

Others register theirs here: `numbers`, `functional` and `methods`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck import dtypes, spec
from shapecheck.analysis.interpreter import fitting
from shapecheck.analysis.interpreter.decorators import CHECKERS
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import as_list, first, iterate, last, length, listed
from shapecheck.analysis.interpreter.kinds import held_by, special
from shapecheck.analysis.interpreter.registry import (
    MANY,
    LibraryCall,
    MethodCall,
    function,
    on,
    spreads,
)
from shapecheck.analysis.interpreter.truth import CONSTANTS, instance_of, is_constant, truth
from shapecheck.analysis.kinds.construct import replaced
from shapecheck.analysis.kinds.module_children import WRAPPED
from shapecheck.analysis.program.declared import TensorDecl
from shapecheck.analysis.program.model import NOTHING, Dotted, Function, Value
from shapecheck.analysis.relevance import is_installed
from shapecheck.analysis.values.model import (
    Argument,
    Array,
    Bound,
    ByName,
    Context,
    DictContent,
    Items,
    ListContent,
    OneOf,
    Partial,
    Path,
    Range,
)
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Scalar, Sizes
from shapecheck.ops.call import are, as_int, as_size, is_whole
from shapecheck.ops.named.naming import arranged
from shapecheck.ops.shape.first_class import bound_to
from shapecheck.shapes import Free, Shape, Tensor
from shapecheck.spec.objects import is_part, of_objects


@function("builtins.len", takes=1)
def _len(frame: Frame, call: LibraryCall) -> Value:
    made = special(frame, call.args[0], "__len__", [], call.node)
    if made is not NOTHING:
        return len(made) if isinstance(made, tuple) else made
    found = length(frame, call.args[0])
    return dims.unknown() if found is None else found


@function("builtins.range", takes=(1, 3))
def _range(frame: Frame, call: LibraryCall) -> Value:
    sizes = [as_size(arg.size if isinstance(arg, Path) else arg) for arg in call.args]
    if len(sizes) == 1:
        return Range(0, sizes[0], 1)
    step = as_int(sizes[2]) if len(sizes) == 3 else 1
    if step:
        return Range(sizes[0], sizes[1], step)
    return Items(None, dims.unknown())


@function("builtins.enumerate", takes=(1, 2))
def _enumerate(frame: Frame, call: LibraryCall) -> Value:
    start = call.get(1, "start", 0)
    items, element = iterate(frame, call.args[0])
    if items is None:
        head, end = (start, first(frame, call.args[0], element)), last(frame, call.args[0])
        ended = None if end is None else (dims.unknown(), end)
        return Items(None, (dims.unknown(), element), length(frame, call.args[0]), head, ended)
    if not isinstance(start, int):
        return Items(None, (dims.unknown(), UNKNOWN))
    return Items(tuple((start + index, item) for index, item in enumerate(items)))


@function("builtins.zip")
def _zip(frame: Frame, call: LibraryCall) -> Value:
    parts = [iterate(frame, arg) for arg in call.args]
    known = [items for items, _ in parts if items is not None]
    if len(known) == len(parts):
        return Items(tuple(zip(*known, strict=False)))
    each = tuple(frame.state.either(*i) if i else e for i, e in parts)
    heads = zip(call.args, parts, strict=True)
    start = tuple(i[0] if i else first(frame, arg, e) for arg, (i, e) in heads)
    counts = [length(frame, arg) for arg in call.args]
    same = counts and all(count is not None and count == counts[0] for count in counts)
    return Items(None, each, counts[0] if same else None, start)


@spreads("builtins.zip")
def _zip_of_rows(frame: Frame, rows: Value) -> Value:
    """Return what is at each place in the rows, of which it isn't known how many there are."""
    row = iterate(frame, rows)[1]
    items = None if row is UNKNOWN else iterate(frame, row)[0]
    if items is None:
        return Items(None)
    count = length(frame, rows)
    return Items(tuple(Items(None, item, count) for item in items))


@function("builtins.reversed", takes=1)
def _reversed(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[0])
    return Items(None if items is None else items[::-1], element)


@function("builtins.list", "builtins.sorted", takes=(0, 1))
def _list(frame: Frame, call: LibraryCall) -> Value:
    if not call.args:
        return frame.state.new(ListContent(()))
    if call.name != "sorted":
        return frame.state.new(as_list(frame, call.args[0]))
    items, element = iterate(frame, call.args[0])
    in_order = None if call.kwargs else _in_order(items)
    element = frame.state.either(*items) if items and in_order is None else element
    count = length(frame, call.args[0]) if in_order is None else None
    return frame.state.new(ListContent(in_order, element, count=count))


def _in_order(items: Sequence[Value] | None) -> tuple[Value, ...] | None:
    """Return items in their order; None where they aren't all texts, or all numbers, and known."""
    if are(items, str):
        return tuple(sorted(items))
    numbers = [one for one in items or () if isinstance(one, (int, float))]
    return None if items is None or len(numbers) < len(items) else tuple(sorted(numbers))


@function("builtins.set", "builtins.frozenset", takes=(0, 1))
def _set(frame: Frame, call: LibraryCall) -> Value:
    """Return a set: the texts in it where they are known, else how many constants there are."""
    items, element = iterate(frame, call.args[0]) if call.args else ((), UNKNOWN)
    once = (*dict.fromkeys(items),) if items is not None and all(map(is_constant, items)) else None
    if once is not None and all(isinstance(item, str) for item in once):
        return frame.state.new(ListContent(once, kind="set"))
    element = frame.state.either(*items) if items else element
    count = None if once is None else len(once)
    return frame.state.new(ListContent(None, element, "set", count))


@function("builtins.tuple", "builtins.iter", takes=(0, 2))
def _tuple(frame: Frame, call: LibraryCall) -> Value:
    match call.args:
        case []:
            return ()
        case [tuple() as given, *_]:
            return tuple(given)
    items, element = iterate(frame, call.args[0])
    items = listed(frame, call.args[0]) if items is None else items
    return Items(None, element) if items is None else items


@function("torch.Size")
def _sizes(frame: Frame, call: LibraryCall) -> Value:
    made = _tuple(frame, call)
    return Sizes(made) if isinstance(made, tuple) else made


@function("builtins.isinstance", takes=2)
def _isinstance(frame: Frame, call: LibraryCall) -> Value:
    return _verdict(instance_of(frame, *call.args))


@function("torch.is_tensor", takes=1)
def _is_tensor(frame: Frame, call: LibraryCall) -> Value:
    return _verdict(instance_of(frame, call.args[0], Dotted("torch.Tensor")))


@function("torch.jit.is_scripting")
def _never(frame: Frame, call: LibraryCall) -> Value:
    return False  # in Python; TorchScript isn't what is checked


@function("builtins.slice", takes=(1, 3))
def _slice(frame: Frame, call: LibraryCall) -> Value:
    return slice(*call.args)


@function("builtins.bool", takes=(0, 1))
def _bool(frame: Frame, call: LibraryCall) -> Value:
    return _verdict(truth(frame, call.args[0]) if call.args else False)


def _verdict(known: bool | None) -> Value:
    return Scalar(dtypes.BOOL) if known is None else known


@function("builtins.all", "builtins.any", takes=1)
def _every(frame: Frame, call: LibraryCall) -> Value:
    """Decide `all` and `any` where one item, or every one, is known to be true or false."""
    items = iterate(frame, call.args[0])[0]
    decisive = call.name == "any"
    if items is None:
        return Scalar(dtypes.BOOL)
    found = [truth(frame, item) for item in items]
    if decisive in found:
        return decisive
    return Scalar(dtypes.BOOL) if None in found else not decisive


@function("builtins.locals")
def _locals(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.new(DictContent(dict(frame.state.vars.items())))


@function("builtins.str", takes=1)
def _str(frame: Frame, call: LibraryCall) -> Value:
    return str(call.args[0]) if isinstance(call.args[0], CONSTANTS) else UNKNOWN


@function("builtins.type", takes=(1, 3))
def _type(frame: Frame, call: LibraryCall) -> Value:
    content = frame.state.instance_of(call.args[0])
    if content is not None and content.path is None:
        return content.cls
    return UNKNOWN


@function("copy.deepcopy", takes=(1, 2))
def _duplicate(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.duplicate(call.args[0], {})


@function("builtins.print", "builtins.repr", "builtins.id")
def _pure(frame: Frame, call: LibraryCall) -> Value:
    return UNKNOWN


@function("functools.partial", takes=(1, MANY))
def _partial(frame: Frame, call: LibraryCall) -> Value:
    return Partial(call.args[0], tuple(call.args[1:]), tuple(call.kwargs.items()))


@function("functools.partialmethod", takes=(1, MANY))
def _partial_method(frame: Frame, call: LibraryCall) -> Value:
    """It is bound where an instance is asked for it."""
    return Partial(Dotted("functools.partialmethod"), tuple(call.args), tuple(call.kwargs.items()))


@function("types.MethodType", takes=2)
def _method(frame: Frame, call: LibraryCall) -> Value:
    return _bound(*call.args)


@on(Function, "__get__", takes=(1, 2))
def _get(frame: Frame, call: MethodCall[Function]) -> Value:
    return call.owner if call.args[0] is None else _bound(call.owner, call.args[0])


def _bound(function: Value, receiver: Value) -> Value:
    """Return what calls a function with something before all other arguments."""
    if isinstance(function, Function):
        return Bound(receiver, function.name, function)
    return Partial(function, (receiver,), ())


@function("dataclasses.replace", "copy.replace", "attrs.evolve", takes=1)
def _replace(frame: Frame, call: LibraryCall) -> Value:
    nodes = {keyword.arg: keyword.value for keyword in call.node.keywords}
    changes = {name: Argument(value, nodes.get(name)) for name, value in call.kwargs.items()}
    return replaced(frame, call.args[0], changes, call.node)


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
def _wrapped(frame: Frame, call: LibraryCall) -> Value:
    """A wrapper of a module holds and does what the module does; so does a shallow copy."""
    return _copied(frame, call.args[0] if call.args else UNKNOWN)


def _copied(frame: Frame, value: Value) -> Value:
    """Return a shallow copy."""
    content = frame.state.content(value)
    return frame.state.new(content) if content is not None else value


@function(*CHECKERS)
def _kept(frame: Frame, call: LibraryCall) -> Value:
    """A decorator that changes nothing gives the function; one of its kind, with options alone."""
    has_function = bool(call.args) and type(call.args[0]) is not int
    return call.args[0] if has_function else Partial(Dotted("beartype.beartype"), (), ())


@function("contextlib.nullcontext", "contextlib.closing")
def _nullcontext(frame: Frame, call: LibraryCall) -> Value:
    return Context(call.get(0, "enter_result"), swallows=False)


@function(
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
)
def _parallel(frame: Frame, call: LibraryCall) -> Value:
    """Wrap a module, which stays at hand as `module`."""
    value = call.get(0, "module", UNKNOWN)
    content = frame.state.instance_of(value)
    if content is not None:
        attrs = {WRAPPED: value, **content.attrs}
        return frame.state.new(replace(content, attrs=attrs))
    return _copied(frame, value)


@function("typing.cast", "typing_extensions.cast", "torch.jit.annotate", takes=2)
def _cast(frame: Frame, call: LibraryCall) -> Value:
    return call.args[1]


@function(
    "builtins.reveal_type",
    "typing.reveal_type",
    "typing_extensions.reveal_type",
    takes=1,
)
def _reveal_type(frame: Frame, call: LibraryCall) -> Value:
    if isinstance(call.args[0], Tensor):
        _reveal(frame, call.args[0], call.node)
    return call.args[0]


@function("shapecheck.reveal_shape", "shapecheck.runtime.reveal_shape", takes=1)
def _reveal_shape(frame: Frame, call: LibraryCall) -> Value:
    value = call.args[0]
    if is_whole(value):
        frame.note(call.node, f'Revealed size is "{frame.state.facts.dim(value)}"')
    else:
        _reveal(frame, value, call.node)
    return value


def _reveal(frame: Frame, value: Value, node: ast.Call) -> None:
    said = "unknown"
    match value:
        case Tensor(free=free):
            over = "".join(_sized(frame, dim) for dim in free)
            said = f"{_shown(frame, value)}{over.replace(',', ' over', 1)}"
        case Array():
            said = f"{_shown(frame, value)}"
        case ByName(tensor=tensor):
            said = f"{_shown(frame, tensor)}"
        case OneOf(options=options):
            texts = [_shown(frame, option) for option in options]
            if are(texts, str):
                said = " or ".join(texts)
    frame.note(node, f"Revealed shape is {said}")


def _shown(frame: Frame, value: Value) -> str | None:
    """Return the shape of a tensor as it is revealed, None for what isn't known to be one."""
    match value:
        case None:
            return "None"
        case Tensor(shape=shape) | Array(tensor=Tensor(shape=shape)):
            return f'"{frame.state.facts.shape(shape).text()}"'
    return None


def _sized(frame: Frame, dim: Free) -> str:
    """Return a first-class dimension with what it is bound to, after a comma."""
    return f", {dim}={Shape((bound_to(frame.state.facts, dim),)).text()}"


@function("shapecheck.assert_shape", "shapecheck.runtime.assert_shape", takes=(1, MANY))
def _assert_shape(frame: Frame, call: LibraryCall) -> Value:
    given: Sequence[Value] | None = call.args[1:]
    held = held_by(frame, call.args[1]) if len(call.args) == 2 else None
    if isinstance(held, ListContent) and held.kind == "set":
        given = _as_it_stands(frame, call.args[0], held.items)
    parts = [one for one in given or () if is_part(one)]
    if given is None or not parts or len(parts) < len(given):
        return call.args[0]
    try:
        text, objects = of_objects(parts)
        declared = TensorDecl(text, dims=objects)
    except spec.SpecError as error:
        frame.error(call.node.args[1], Message(str(error), "shape-annotation"))
        return call.args[0]
    taught = fitting.teach(frame, declared, call.args[0], call.node.args[0])
    if isinstance(taught, Tensor):
        frame.renew(call.node.args[0], taught, call.node)
    return taught


def _as_it_stands(
    frame: Frame, value: Value, items: Sequence[Value] | None
) -> Sequence[Value] | None:
    """Return dimensions of a set in the order in which a tensor has them, None where not known."""
    if not isinstance(value, Tensor) or items is None:
        return None
    facts = frame.state.facts
    parts = [one for one in items if is_part(one)]
    known = len(parts) == len(items)
    return arranged(facts, facts.shape(value.shape), parts) if known else None


@function("os.environ.get", "os.getenv", takes=(1, 2))
def _environment(frame: Frame, call: LibraryCall) -> Value:
    """Return the default, for libraries: what somebody sets there is for another program."""
    return call.get(1, "default") if is_installed(frame.module.source.path) else UNKNOWN
