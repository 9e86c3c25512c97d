"""What the run time raises, and how a defect of its own is kept away from the user's program."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from typing import Final

from shapecheck.explain import Message


class ShapeError(TypeError):
    """A tensor, an argument or an op that doesn't fit the dimensions that were declared.

    The first line of the text is what the static side says too. `message` has the parts: the text,
    the error code and the notes. `names` holds the sizes of the names that were bound.

    Made from a text alone, as who passes exceptions between processes does, it says that text.
    """

    def __init__(
        self,
        message: Message | str,
        names: Mapping[str, int] | None = None,
        place: str | None = None,
    ) -> None:
        self.message = Message(message) if isinstance(message, str) else message
        self.names = dict(names or {})
        self.place = place
        if isinstance(message, str):
            super().__init__(message)
            return
        lines = [f"{message.text}  [{message.code}]"]
        if place is not None:
            lines.append(f"  at {place}")
        lines += [f"  note: {note}" for note in message.notes]
        if self.names:
            lines.append("  here " + ", ".join(f"{k}={v}" for k, v in self.names.items()))
        super().__init__("\n".join(lines))

    @property
    def code(self) -> str:
        """The error code, `shape` or one of its sub-codes."""
        return self.message.code

    def __reduce__(self) -> tuple[type[ShapeError], tuple[object, ...]]:
        return ShapeError, (self.message, self.names, self.place)


class RaggedWarning(UserWarning):
    """An op counts the padding of sequences, and nothing in the function is about lengths.

    warnings.filterwarnings("ignore", category=RaggedWarning)
    """


class CarriedError(Exception):
    """A `ShapeError` on its way through an operator; the decorated call around it unpacks it.

    torch's operators take any TypeError for "unsupported operand" and drop it.
    """

    def __init__(self, error: ShapeError) -> None:
        self.error = error
        super().__init__(str(error))


class Failed(Exception):
    """Something doesn't fit; carries the message to where the place is known."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(message.text)


LOCK: Final = threading.RLock()
"""Held while rules are asked and code is compiled: parsing isn't safe in several threads."""


def debugging() -> bool:
    """Whether `SHAPECHECK_DEBUG=1` asks for shapecheck's own errors."""
    return os.environ.get("SHAPECHECK_DEBUG", "0") not in ("", "0")


_warned: set[str] = set()


def own_fault(where: str, error: Exception) -> None:
    """Report a defect of shapecheck's own: one warning, then the check is skipped.

    With `SHAPECHECK_DEBUG=1` the error itself goes through.
    """
    if debugging():
        raise error
    kind = f"{where}: {type(error).__name__}"
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(
            f"shapecheck failed {where} and skipped the check ({type(error).__name__}: {error}); "
            "please report it. SHAPECHECK_DEBUG=1 shows the traceback.",
            RuntimeWarning,
            stacklevel=3,
        )
