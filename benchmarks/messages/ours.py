"""What the analysis, `@shapecheck` and torch itself say of a program."""

from __future__ import annotations

import itertools
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402
from mixups.cases import Arguments, module  # noqa: E402

from shapecheck import ShapeAnnotationError, ShapeError  # noqa: E402
from shapecheck.analysis import Options, Source, analyze_module  # noqa: E402

from .cases import IMPORTS, Bug  # noqa: E402

TYPES: Final = "from shapecheck import Bool, Float, Int\n"
SIZES: Final = (4, 6, 10, 12, 14, 16)
"""The sizes of a program's names, in their order: all different, none of them prime."""
OURS: Final = (ShapeError, ShapeAnnotationError)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a call ended: the error, if any, and whether it is ours, or the result."""

    error: str | None
    ours: bool = False
    result: Any = None


class NoSources:
    """A host that has no other module."""

    def source(self, name: str) -> Source | None:
        """There is none."""
        return None


def analysed(text: str, options: Options | None = None) -> list[str]:
    """Return what the analysis says, as mypy prints it but for the file's name.

    The imports stand at the end, so that lines are those of the program.
    """
    source = Source("example", "example.py", text + IMPORTS + TYPES)
    return [
        f"{one.span.line}: {one.severity}: {one.message}"
        + (f"  [{one.code}]" if one.severity == "error" else "")
        for one in analyze_module(source, NoSources(), options or Options())
    ]


def ran(bug: Bug, checked: bool, equal: bool = False, right: bool = False) -> Ran:
    """Call the last function of a bug's program, or the `forward` of its last class.

    The names that may have any size have one size if `equal`, else each has its own.
    """
    sizes = itertools.repeat(SIZES[0]) if equal else itertools.cycle(SIZES)
    arguments = Arguments(lambda name: bug.sizes.get(name) or next(sizes), lambda group: ())
    try:
        made = module(bug.ours.right if right else bug.ours.wrong, decorated=checked)
        last = [v for v in vars(made).values() if getattr(v, "__module__", "") == made.__name__][-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Ran(None, result=call(last, arguments))
    except OURS as error:
        return Ran(str(error), ours=True)
    except Exception as error:  # noqa: BLE001 - what a program raises is what it shows
        return Ran(f"{type(error).__name__}: {error}")


def call(what: Any, arguments: Arguments) -> Any:
    """Call a function, or a class's `forward`; the instance is made first."""
    torch.manual_seed(0)
    if not isinstance(what, type):
        return what(**arguments.of(what))
    instance: Any = what(**(arguments.of(what.__init__) if "__init__" in vars(what) else {}))
    arguments.self = instance
    return instance.forward(**arguments.of(what.forward))
