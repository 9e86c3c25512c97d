"""`[tool.shapecheck] wrappers`: a project's own names for annotations, `Float["b c"]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

FILES = {
    "pyproject.toml": '[tool.shapecheck]\nwrappers = ["lib.typing.Float", "lib.typing.Int"]\n',
    "lib/__init__.py": "from lib.typing import Int as Int\n",
    "lib/typing.py": """\
from typing import Any
from jaxtyping import Float as F, Int as I
from torch import Tensor

class Wrapper:
    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __getitem__(self, shape: str) -> Any:
        return self.kind[Tensor, shape]

Float = Wrapper(F)
Int = Wrapper(I)
""",
    "use.py": """\
import torch
from lib import Int
from lib.typing import Float

def scores(x: Float['b n d'], y: Float['b m d']) -> Float['b n m']:
    return x @ y

def count(x: Float['b n d'], i: Int['b n'] | None = None) -> Float['b d n']:
    if i is not None:
        x = x * i[..., None]
    return x.mT
""",
}


def test_wrappers_are_tensors_to_mypy_and_shapes_to_the_analysis(
    new_project: Callable[..., Project],
) -> None:
    """mypy takes such a name for a variable, which no type can be."""
    project = new_project(FILES, fake=False)
    for _ in range(2):
        (error, *notes) = project.check("use.py")["use.py"]
        assert error.startswith('6: error: "@" can\'t multiply (b n d) by (b m d)')
        assert all(": note: " in note for note in notes)
