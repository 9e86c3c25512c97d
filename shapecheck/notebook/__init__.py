"""`%load_ext shapecheck`: each cell of a notebook is checked before it runs.

`cells` makes plain Python of what a cell holds besides, `past` has what the cells so far have done,
as the text of one module. A process of its own checks that: `checker` is what it does, `asking`
how it is asked, `questions` what the two say to each other. `shown` is what a person sees of the
findings, and `extension` joins all that to IPython, which only it imports. Nothing here stops a
cell or changes what it does, but where a person asks for cells with an error to be held back.
"""

from __future__ import annotations

from typing import Any

_KEY = "_shapecheck_extension"


def load_ipython_extension(shell: Any) -> None:
    """Check each cell from here on; `%load_ext shapecheck` calls this."""
    from shapecheck.notebook.extension import Extension

    if getattr(shell, _KEY, None) is None:
        extension = Extension(shell)
        setattr(shell, _KEY, extension)
        extension.join()


def unload_ipython_extension(shell: Any) -> None:
    """Leave cells alone; `%unload_ext shapecheck` calls this."""
    extension = getattr(shell, _KEY, None)
    if extension is not None:
        setattr(shell, _KEY, None)
        extension.leave()
