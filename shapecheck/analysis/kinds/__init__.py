"""What each kind of value answers: one class for each kind, in a file for those that are alike.

`interpreter.kinds` says what is asked. To add a kind of value, write the class of its values in
`values.model`, its parts in `values.parts`, and its `Kind` here; a test says which is missing. Uses
`interpreter` and all below it, and nothing there imports it.
"""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
