"""Names that `from shapecheck import *` brings."""

from __future__ import annotations

import pytest
from named.sides import static

BODY = """
def f(x: Float[Tensor, "b t"], y: Float[Tensor, "b s"]) -> None:
    reveal_shape(relu(x))
    {statement}
"""


@pytest.mark.parametrize(
    "head",
    [
        "from shapecheck import *\nfrom torch import *\n",
        "from torch import *\nfrom shapecheck import *\n",
    ],
)
def test_all_of_ours_by_a_star(head: str) -> None:
    wrong = (
        'error: "+" can\'t broadcast (b t) with (b s): axis -1 is t on the left and s on the right'
    )
    assert static(head + BODY.format(statement="x * 2")) == ["b t"]
    assert static(head + BODY.format(statement="x + y")) == [wrong]
