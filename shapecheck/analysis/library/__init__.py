"""Libraries that mean something by themselves: each file registers what one library's names do.

A library whose functions take tensors and give tensors needs no file here but a signature file in
`stubs/`. Here is what can't be said there: functions that work on lists, dicts, instances and
functions (`builtins`, `itertools`, `torch_func`), or that change the state (`functorch_dim`).
The modules use `interpreter` and all below it; nothing below `check` imports them.
"""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
