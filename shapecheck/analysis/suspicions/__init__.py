"""What can't be proved to be wrong, and most often is: each file knows one kind of it.

A suspicion is a warning, which never fails a run; docs/suspicions.md has a section for each kind.
What is suspected here is right as far as the rules of ops can tell. The modules use `interpreter`
and all below it; nothing below `check` imports them.
"""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
