"""transformers and diffusers: attention, activations, outputs, models by their configuration."""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.analysis.annotations.classes import instance_fields
from shapecheck.analysis.interpreter.calls import call_at
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute
from shapecheck.analysis.interpreter.registry import Named, stands_for, transparent
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Value
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import as_text
from shapecheck.shapes import Tensor

transparent(
    "transformers.utils.generic",
    "can_return_tuple",
    "check_model_inputs",
    "merge_with_config_defaults",
)
transparent("transformers.utils.output_capturing", "capture_outputs")
transparent("transformers.utils.auto_docstring", "auto_docstring")
transparent("transformers.utils.deprecation", "deprecate_kwarg")

_MODELS: Final = "transformers.modeling_utils"
_AUTO: Final = "transformers.models.auto.modeling_auto"


@stands_for(_MODELS, "AttentionInterface.get_interface")
def _attention(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return the attention that a model's own file has: all of them give the same shape."""
    return bound["default"]


@stands_for("transformers.activations", "ClassInstantier.__getitem__")
def _activation(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return an activation: whichever it is, it keeps shapes."""
    return call_at(frame, Dotted("torch.nn.GELU"), node, "ACT2FN[...]")


@stands_for(
    "transformers.masking_utils",
    "create_causal_mask",
    "create_bidirectional_mask",
    "create_sliding_window_causal_mask",
    "create_bidirectional_sliding_window_mask",
    "create_chunked_causal_mask",
    "create_masks_for_generate",
)
def _mask(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return no mask, as where nothing is masked: with one, shapes are what they are without."""
    return None


@stands_for(_MODELS, "PreTrainedModel.__init__")
def _new_model(frame: Frame, bound: Named, node: ast.expr) -> Value:
    frame.state.set_attribute(bound["self"], "config", bound["config"])
    return None


@stands_for(_MODELS, "PreTrainedModel.post_init")
@stands_for("transformers.utils.generic", "ModelOutput.__post_init__")
@stands_for("diffusers.utils.outputs", "BaseOutput.__post_init__")
def _nothing_to_do(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return None


@stands_for("transformers.utils.logging", "get_logger")
@stands_for("diffusers.utils.logging", "get_logger")
def _logger(frame: Frame, bound: Named, node: ast.expr) -> Value:
    return UNKNOWN


# Outputs ------------------------------------------------------------------------------------------


@stands_for("transformers.utils.generic", "ModelOutput.to_tuple")
@stands_for("diffusers.utils.outputs", "BaseOutput.to_tuple")
def _to_tuple(frame: Frame, bound: Named, node: ast.expr) -> Value:
    found, is_whole = _fields(frame, bound["self"], node)
    return tuple(found) if is_whole else UNKNOWN


@stands_for("transformers.utils.generic", "ModelOutput.__getitem__")
@stands_for("diffusers.utils.outputs", "BaseOutput.__getitem__")
def _output(frame: Frame, bound: Named, node: ast.expr) -> Value:
    index, output = bound["k"], bound["self"]
    name = as_text(index)
    if name is not None:
        return attribute(frame, output, name, node)
    found, is_whole = _fields(frame, output, node)
    match index:
        case int() if 0 <= index < len(found) or (is_whole and -len(found) <= index < 0):
            return found[index]
        case slice() if is_whole:
            return NOTHING
    return UNKNOWN


def _fields(frame: Frame, output: Value, node: ast.expr) -> tuple[list[Value], bool]:
    """Return the fields of an output that aren't None, and whether these are all.

    Those behind one of which that isn't known aren't among them.
    """
    content = frame.state.instance_of(output)
    if content is None:
        return [], False
    found: list[Value] = []
    for name, _, _ in instance_fields(content.cls):
        value = attribute(frame, output, name, node)
        if value is None:
            continue
        if not isinstance(value, (Tensor, tuple)):
            return found, False
        found.append(value)
    return found, True


# Models by their configuration --------------------------------------------------------------------


@stands_for("transformers.models.auto.auto_factory", "_BaseAutoModelClass.from_config")
def _from_config(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Return a model of the class that is listed for the type of its configuration."""
    config = frame.state.instance_of(bound["config"])
    cls = bound["cls"]
    if config is None or not isinstance(cls, Class):
        return UNKNOWN
    kind = as_text(attribute(frame, bound["config"], "model_type", node))
    name = None if kind is None else _listed(frame, cls, kind)
    package = config.cls.module.name.rpartition(".")[0]
    model = UNKNOWN if name is None else frame.program.member(package, name)
    if not isinstance(model, Class):
        return UNKNOWN
    return call_at(frame, model, node, model.name, [bound["config"]])


def _listed(frame: Frame, auto: Class, kind: str) -> str | None:
    """Return the name of the model that an `Auto...` class has for a type of configuration."""
    module = frame.program.module(_AUTO)
    for statement in auto.node.body if module is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name("_model_mapping")], value=ast.Name(id=mapping)):
                table = None if module is None else module.alias(f"{mapping}_NAMES")
                for entry in ast.walk(table) if table is not None else ():
                    match entry:
                        case ast.Tuple(
                            elts=[ast.Constant(value=key), ast.Constant(value=str(name))]
                        ):
                            if key == kind:
                                return name
    return None
