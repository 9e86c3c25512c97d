"""Decorated functions under `torch.compile` and `torch.export`.

`compiled` checks the boundary of calls while they are traced (`steps`, `check`); `names_in_trace`
has names on the tensors that are traced, for operations by name. Nothing of either is left in what
is compiled.

Imports `boundary`, `naming` and `annotations`.
"""
