"""An `einsum` that takes a weight's diagonal only, by one letter for both of its axes."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects


@suspects("torch.einsum")
def diagonal_of_a_weight(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `"dd,bd->bd"` where the first operand is something that an instance has."""
    pattern = call.args[0] if call.args else None
    if not isinstance(pattern, str) or not isinstance(call.node, ast.Call):
        return None
    inputs = pattern.replace(" ", "").partition("->")[0].split(",")
    nodes = call.node.args[1:]
    if len(inputs) < 2 or len(nodes) != len(inputs):
        return None
    for letters, node in zip(inputs, nodes, strict=True):
        twice = next((one for one in letters if one.isalpha() and letters.count(one) > 1), None)
        if twice is not None and isinstance(node, ast.Attribute):
            return Suspicion(
                f'"{letters}" takes the diagonal of "{frame.segment(node)}" only, and nothing else '
                "of it",
                (f"another letter for one of its axes than {twice} takes all of it",),
            )
    return None
