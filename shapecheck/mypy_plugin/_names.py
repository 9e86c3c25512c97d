"""Every dotted name that the plugin knows, in one place."""

from __future__ import annotations

from typing import Final

TORCH: Final = "torch"
MODULE: Final = "torch.nn.modules.module.Module"
ATTRIBUTE: Final = f"{MODULE}."
TENSOR: Final = "torch._tensor.Tensor"
# Methods of a module that make a tensor its attribute, and what they call the tensor.
REGISTERING: Final = {"register_buffer": "tensor", "register_parameter": "param"}
LAYERS: Final = "torch.nn.modules."
IDENTITY: Final = "torch.nn.modules.linear.Identity"
# Parameters of `forward` that torch's own modules take more for than their annotations say.
LOOSE_PARAMETERS: Final = frozenset({"output_size", "input_lengths", "target_lengths"})

ANNOTATED: Final = ("typing.Annotated", "typing_extensions.Annotated")
ISINSTANCE: Final = ("builtins.isinstance", "builtins.issubclass")
OBJECT: Final = "builtins.object"
GETITEM: Final = ("torch._tensor.Tensor.__getitem__", "torch._C.TensorBase.__getitem__")
FIRST_CLASS: Final = "functorch.dim"
# Where torch has what is elementwise, as a function and as a method.
OF_ELEMENTS: Final = frozenset(
    ("torch._C._VariableFunctions", "torch.nn.functional", "torch._C.TensorBase", TENSOR)
)
VIEWS: Final = "shapecheck.named.tensor"
VIEW: Final = f"{VIEWS}.NamedTensor"

# A small module of Python's own, and a type of which it has variables.
ALWAYS_CHECKED: Final = "__future__"
ALWAYS_CHECKED_TYPE: Final = "__future__._Feature"

# A method that mypy names after the class of the receiver: my_project.model.Net.__call__
CALL_METHOD: Final = ".__call__"
FORWARD: Final = "forward"
