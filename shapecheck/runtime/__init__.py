"""The run time: `@shapecheck` and what belongs to it.

    asking, tracing -> decorate -> compiling -> boundary -> naming -> annotations -> source

`annotations` reads what functions declare, `boundary` compares it with what they are given and
return, `naming` carries names through torch's ops in between. `decorate` puts all that on a
function by code that it writes for it, `compiling` on one that `torch.compile` traces, and
`tracing` shows what a program does. `asking` is what a program asks and says of names itself. Each
room imports only those behind it; `settings` and `errors`, which import none, are free to all.
"""

from __future__ import annotations

import re

from shapecheck.extras import needs

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(needs("shapecheck at run time", "torch"), name="torch") from None


def _check_torch(version: str) -> None:
    """Refuse a torch that is too old, before anything of it is used."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if numbers < [2, 4]:
        raise ImportError(f"shapecheck needs torch 2.4 or newer; this is torch {version}")


_check_torch(torch.__version__)

from shapecheck.runtime.asking.claims import assert_shape, named  # noqa: E402
from shapecheck.runtime.asking.outside import names  # noqa: E402
from shapecheck.runtime.asking.questions import dims_of, reveal_shape  # noqa: E402
from shapecheck.runtime.decorate.decorator import shapecheck  # noqa: E402
from shapecheck.runtime.decorate.hook import install_import_hook  # noqa: E402
from shapecheck.runtime.decorate.watching import watch  # noqa: E402
from shapecheck.runtime.errors import (  # noqa: E402
    RaggedWarning,
    ShapeError,
    hide_frames,
)
from shapecheck.runtime.settings import disabled  # noqa: E402
from shapecheck.runtime.tracing.recorder import trace  # noqa: E402

hide_frames()

__all__ = [
    "RaggedWarning",
    "ShapeError",
    "assert_shape",
    "dims_of",
    "disabled",
    "install_import_hook",
    "named",
    "names",
    "reveal_shape",
    "shapecheck",
    "trace",
    "watch",
]
