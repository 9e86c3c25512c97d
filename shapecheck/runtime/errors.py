"""What the run time raises, and how a defect of its own is kept away from the user's program."""

from __future__ import annotations

import copyreg
import os
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType
from typing import Any, Final

from shapecheck import distributed, ipython
from shapecheck.distributed import Rank
from shapecheck.explain import Message
from shapecheck.markup import escaped
from shapecheck.ops.saying import a_function, one_of_kind
from shapecheck.runtime.folders import lies_in


class ShapeError(TypeError):
    """A tensor, an argument or an op that doesn't fit the dimensions that were declared.

    The first line of the text is what the static side says too. `message` has the parts: the text,
    the error code and the notes. `names` holds the sizes of the names that were bound, `words` what
    torch says of the op, where it fails too. `rank` is that of the process it was made in, where
    the program is distributed; it stays the same where the error goes to another process.

    Made from a text alone, as who passes exceptions between processes does, it says that text.

    One that stands in the place of an error of torch's own is of that error's class too, so that
    `except RuntimeError` or `except IndexError` catches it as before.
    """

    __module__ = "shapecheck"

    def __init__(
        self,
        message: Message | str,
        names: Mapping[str, int] | None = None,
        place: str | None = None,
        words: str = "",
        rank: Rank | EllipsisType | None = ...,
    ) -> None:
        self.message = Message(message) if isinstance(message, str) else message
        self.names = dict(names or {})
        self.place = place
        self.words = words
        self.rank = distributed.here() if isinstance(rank, EllipsisType) else rank
        super().__init__(message if isinstance(message, str) else self.told(place))

    def told(self, place: str | None) -> str:
        """Return the text with a place, or without one."""
        message = self.message
        if self.args == (message.text,):  # it is made from a text alone
            return message.text
        lines = [f"{message.text}  [{message.code}]"]
        if place is not None:
            lines.append(f"  at {place}")
        if self.rank is not None:
            lines.append(distributed.line([self.rank]))
        lines += [f"  note: {note}" for note in message.notes]
        if self.names:
            lines.append("  here " + ", ".join(f"{k}={v}" for k, v in self.names.items()))
        if self.words:
            lines.append("  torch says: " + "\n    ".join(self.words.strip().splitlines()))
        return "\n".join(lines)

    @property
    def code(self) -> str:
        """The error code, `shape` or one of its sub-codes."""
        return self.message.code

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it where it was caught, and is what a cell gives."""
        head, _, rest = str(self).partition("\n")
        style = "font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap"
        return f'<pre style="{style}"><b>{escaped(head)}</b>\n{escaped(rest)}</pre>'

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows of it, which asks for it by this name."""
        return ipython.traceback_lines(self, (lambda _: False) if debugging() else _is_ours)

    def __reduce__(self) -> tuple[type[ShapeError], tuple[object, ...]]:
        return type(self), (self.message, self.names, self.place, self.words, self.rank)


class RaggedWarning(UserWarning):
    """An op counts the padding of sequences, and nothing in the function is about lengths.

    warnings.filterwarnings("ignore", category=RaggedWarning)
    """

    __module__ = "shapecheck"


class _Kind(type):
    """The class of a `ShapeError` that is something else besides; `carried`: and no TypeError."""

    likeness: type[Exception] | None = None
    carried = False

    def mro(cls) -> list[type]:
        """Return the order of the bases."""
        return [base for base in super().mro() if base is not TypeError or not cls.carried]


class _Carried(_Kind):
    carried = True


class CarriedError(ShapeError, metaclass=_Carried):
    """A `ShapeError` on its way through an operator; the decorated call around it unpacks it.

    torch's operators take any TypeError for "unsupported operand" and drop it, so this is none.
    Who catches it on the way finds all that `error` has, and its name where nothing unpacks it.
    """

    __module__ = "shapecheck"
    __qualname__ = "ShapeError"

    def __init__(self, error: ShapeError) -> None:
        super().__init__(error.message, error.names, error.place, error.words, error.rank)
        self.error = error

    def __reduce__(self) -> Any:
        return self.error.__reduce__()

    def unpacked(self) -> ShapeError:
        """Return the error, which this one becomes the context of: it keeps another like it.

        Two errors that know each other would keep the tensors of all frames that they went through.
        """
        found = self.error
        self.error = type(found)(found.message, found.names, found.place, found.words, found.rank)
        return found


def carried(error: ShapeError) -> CarriedError:
    """Return what takes an error through an operator."""
    kind: type[CarriedError] = _kind(CarriedError, getattr(type(error), "likeness", None))
    return kind(error)


def error_like(cause: BaseException | None) -> type[ShapeError]:
    """Return the class of an error that is raised in the place of one of torch's."""
    found = (base for base in type(cause).__mro__ if base.__module__ == "builtins")
    likeness = next(found, None)
    plain = likeness is None or not issubclass(likeness, Exception)
    kind: type[ShapeError] = _kind(ShapeError, None if plain else likeness)
    return kind


def _kind(base: Any, likeness: Any) -> Any:
    """Return a class that is called like `base`, and is of another class besides."""
    if likeness is None or issubclass(base, likeness) or likeness is TypeError:
        return base
    found = _kinds.get((base, likeness))
    if found is None:
        names = {"__module__": base.__module__, "__qualname__": base.__qualname__}
        kind = _Carried if base is CarriedError else _Kind
        try:
            found = kind(base.__name__, (base, likeness), names)
        except TypeError:  # instances of the two have nothing in common
            return base
        found.likeness = likeness
        _kinds[base, likeness] = found
    return found


_kinds: Final[dict[object, _Kind]] = {}


def _reduce(kind: _Kind) -> Any:
    if kind.likeness is None:
        return kind.__qualname__
    return _kind, (kind.__bases__[0], kind.likeness)


copyreg.pickle(_Kind, _reduce)
copyreg.pickle(_Carried, _reduce)


class Failed(Exception):
    """Something doesn't fit; carries the message to where the place is known."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(message.text)


LOCK: Final = threading.RLock()
"""Held while rules are asked and code is compiled: parsing isn't safe in several threads."""

if hasattr(os, "register_at_fork"):  # else a fork while another thread has it waits for ever
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )


def debugging() -> bool:
    """Whether `SHAPECHECK_DEBUG=1` asks for shapecheck's own errors."""
    return os.environ.get("SHAPECHECK_DEBUG", "0") not in ("", "0")


def hidden(excinfo: object) -> bool:
    """Tell pytest, which asks each frame's `__tracebackhide__`, to leave ours out of its report."""
    return not debugging()


def hide_frames() -> None:
    """Have pytest leave out the frames of all our modules that are loaded by now."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "shapecheck":
            vars(module)["__tracebackhide__"] = hidden


_is_ours: Final = lies_in(str(Path(__file__).parents[1]), also="<shapecheck")
_warned: set[str] = set()


def own_fault(where: str, error: Exception) -> None:
    """Report a defect of shapecheck's own: one warning at the user's line, the check is skipped.

    With `SHAPECHECK_DEBUG=1` the error itself goes through.
    """
    if debugging():
        raise error
    kind = f"{where}: {type(error).__name__}"
    if kind not in _warned:
        _warned.add(kind)
        rank = distributed.here()
        on_rank = "" if rank is None else distributed.line([rank])[1:]
        text = (
            f"shapecheck failed {where}{on_rank} and skipped the check "
            f"({type(error).__name__}: {error}); "
            "please report it. SHAPECHECK_DEBUG=1 shows the traceback."
        )
        frame = sys._getframe(1)
        while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
            frame = frame.f_back
        warnings.warn_explicit(text, RuntimeWarning, frame.f_code.co_filename, frame.f_lineno)


_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodType)


def kind_of(value: object) -> str:
    """Return what a user calls a value that can't be used: `the function f`, `the class Net`."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None:
        return "None"
    if isinstance(value, _FUNCTIONS):
        return a_function(value.__name__)
    names = [one.__name__ for one in type(value).__mro__]
    return one_of_kind("tensor" if "TensorBase" in names else names[0])
