"""torchvision: its models are as large without weights as with the usual ones."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import Named, stands_for
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent
from shapecheck.ops.call import as_text

_LARGER = "swag"
"""In the names of weights for pictures of another size than the default."""


@stands_for("torchvision.models._utils", "inner_wrapper")
def _without_weights(frame: Frame, bound: Named, node: ast.expr) -> Value:
    """Forget which weights a model is made with, and look into what makes it."""
    content = frame.state.dict_of(bound["kwargs"])
    if content is not None and content.items is not None:
        items = {
            name: None if _are_usual(frame, name, value, node) else value
            for name, value in content.items.items()
            if not str(name).startswith("pretrained")
        }
        frame.state.put(bound["kwargs"], DictContent(items))
    return NOTHING


def _are_usual(frame: Frame, name: Value, value: Value, node: ast.expr) -> bool:
    if not str(name).startswith("weights"):
        return False
    content = frame.state.instance_of(value)
    said = as_text(value if content is None else content.attrs.get("url"))
    return said is not None and _LARGER not in said.lower()
