"""timm and segmentation_models_pytorch: models by their name, and what is made of their tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from shapecheck.analysis.interpreter import body
from shapecheck.analysis.interpreter.calls import call_at
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.registry import Named, stands_for, transparent
from shapecheck.analysis.program.model import NOTHING, Class, Function, Value, dotted
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.values.model import Partial
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import as_text

transparent("timm.models._registry", "register_model")

_NOT_THE_MODELS: Final = frozenset(
    "pruned out_indices feature_cls pretrained_cfg_priority device dtype".split()
)


def _made(frame: Frame, maker: Value, given: Mapping[str, Value], node: ast.expr) -> Value:
    """Return what calling something gives, with arguments by name."""
    return call_at(frame, maker, node, "create_model", named=given)


def _known(frame: Frame, value: Value) -> dict[str, Value] | None:
    """Return the entries of a dict with texts as keys, None where they aren't known."""
    content = frame.state.dict_of(value)
    if content is None or content.items is None:
        return None
    return {str(key): held for key, held in content.items.items()}


@stands_for("timm.models._factory", "create_model")
def _create(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return what the function makes that is called as the model, with its tag for the rest."""
    name, given = as_text(bound["model_name"]), _known(frame, bound["kwargs"])
    if name is None or given is None or bound["pretrained_cfg"] is not None:
        return UNKNOWN
    architecture, _, tag = name.partition(".")
    maker = frame.program.member("timm.models", architecture)
    if not isinstance(maker, Function):
        return UNKNOWN
    kept = {key: value for key, value in given.items() if value is not None}
    return _made(frame, maker, {"pretrained_cfg": tag or None, **kept}, node)


@stands_for("timm.models._builder", "build_model_with_cfg")
def _build(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return a model with the sizes that its pretrained configuration has where none is given."""
    given, variant = _known(frame, bound["kwargs"]), as_text(bound["variant"])
    cls = bound["model_cls"]
    if given is None or variant is None or not isinstance(cls, Class):
        return UNKNOWN
    if given.pop("features_only", False) is not False:
        return UNKNOWN
    configuration = _configuration(frame, cls.module, variant, bound["pretrained_cfg"])
    found = {**_defaults(configuration), **given}
    left_out = frame.state.items_of(bound["kwargs_filter"]) or ()
    found = {k: v for k, v in found.items() if k not in _NOT_THE_MODELS and k not in left_out}
    if bound["model_cfg"] is not None:
        found["cfg"] = bound["model_cfg"]
    return _made(frame, cls, found, node)


def _defaults(configuration: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return what a model is made with by its pretrained configuration."""
    if configuration is None:
        return {"num_classes": UNKNOWN}
    found: dict[str, Value] = {}
    classes, pool = configuration.get("num_classes", 1000), configuration.get("global_pool")
    if not (isinstance(classes, int) and classes < 0):
        found["num_classes"] = classes
    if pool is not None:
        found["global_pool"] = pool
    match configuration.get("input_size"):
        case (channels, height, width):
            found["in_chans"] = channels
            if configuration.get("fixed_input_size", False) is not False:
                found["img_size"] = (height, width)
    return found


def _configuration(
    frame: Frame, module: Module, variant: str, tag: Value
) -> dict[str, Value] | None:
    """Return the pretrained configuration of a model that stands in a module's table of them.

    Without a tag that is the one that is marked as the default, else the first with weights.
    """
    entries = [
        (name.partition(".")[2], _known(frame, body.default(frame, module, value)))
        for name, value in _table(module)
        if name.partition(".")[0] == variant
    ]
    if tag is not None:
        return next((one for name, one in entries if name.strip("*") == tag), None)
    found = None
    for name, one in entries:
        has_weights = one is not None and any(map(one.get, ("url", "hf_hub_id", "file")))
        if one is None:
            return None
        if (has_weights and not name) or name.endswith("*"):
            return one
        found = one if found is None and has_weights else found
    return found or (entries[0][1] if entries else None)


def _table(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of pretrained configurations in a module, and what makes each."""
    match module.alias("default_cfgs"):
        case ast.Call(args=[ast.Dict() as table]) | (ast.Dict() as table):
            for key, value in zip(table.keys, table.values, strict=True):
                match key:
                    case ast.Constant(value=str(name)):
                        yield name, value


@stands_for("timm.layers.create_norm_act", "get_norm_act_layer")
def _norm_act(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return the layer that normalizes over a batch, and applies a function, for its names."""
    norm = bound["norm_layer"]
    rest: tuple[tuple[str, Value], ...] = ()
    match norm:
        case Partial(function=inner, args=(), kwargs=given):
            norm, rest = inner, given
    name = dotted(norm) or as_text(norm)
    if name not in ("torch.nn.BatchNorm2d", "batchnorm", "batchnorm2d"):
        return NOTHING
    made = frame.program.member("timm.layers.norm_act", "BatchNormAct2d")
    return Partial(made, (), (("act_layer", bound["act_layer"]), *rest))


@stands_for("timm.models._manipulate", "named_apply")
def _named_apply(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return the module, of which only the weights are other ones."""
    return bound["module"]


@stands_for("timm.layers.weight_init", "trunc_normal_", "trunc_normal_tf_", "lecun_normal_")
def _filled(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return bound["tensor"]


@stands_for(
    "timm.layers.fast_norm",
    "fast_group_norm",
    "fast_layer_norm",
    "fast_rms_norm",
    "fast_rms_norm2d",
    "fast_simple_norm",
    "rms_norm2d",
    "simple_norm",
)
def _normalized(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return bound["x"]


# segmentation_models_pytorch ----------------------------------------------------------------------

_ENCODERS: Final = "segmentation_models_pytorch.encoders"


@stands_for(_ENCODERS, "get_encoder")
def _encoder(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return the encoder of which the class and the parameters stand in one of the tables."""
    name, module = as_text(bound["name"]), frame.program.module(_ENCODERS)
    if name is None or module is None:
        return UNKNOWN
    entry = next(filter(None, (_entry(frame, one, name) for one in _tables(module))), None)
    given = None if entry is None else _known(frame, entry.get("params"))
    if entry is None or given is None:
        return UNKNOWN
    for key in ("depth", "output_stride"):
        given[key] = bound[key]
    encoder = _made(frame, entry.get("encoder", UNKNOWN), given, node)
    change = attribute(frame, encoder, "set_in_channels", node)
    _made(frame, change, {"in_channels": bound["in_channels"], "pretrained": False}, node)
    if bound["output_stride"] != 32:
        frame.state.forget(encoder)
    return encoder


def _tables(module: Module) -> Iterator[Value]:
    """Yield the tables that are put together to the one of all encoders."""
    for statement in module.tree.body:
        match statement:
            case ast.Expr(value=ast.Call(args=[ast.Name(id=name)])):
                yield module.resolve(name)


def _entry(frame: Frame, table: Value, name: str) -> dict[str, Value] | None:
    entries = _known(frame, table)
    return None if entries is None else _known(frame, entries.get(name))
