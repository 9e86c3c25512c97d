"""torch.autograd: a gradient is like what it is taken by."""

@also("torch.autograd.grad")
@example("loss: ; weight: n d | loss, weight")
def _grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: bool = False, allow_unused: Any = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> Rule["gradients"]: ...
