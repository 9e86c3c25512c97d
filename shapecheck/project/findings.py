"""What a run has to say, for whoever prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shapecheck.analysis import Coverage

# Each begins a message that is ours although its code isn't.
REVEALED = "Revealed shape is "
SKIPPED = "skipped by shapecheck: "
FAULT = "internal error in shapecheck, please report: "


@dataclass(frozen=True, slots=True)
class Finding:
    """An error, or a note on its own, and the notes that belong to it.

    Lines count from 1 and columns from 0, the end is exclusive; 0 and -1 where it isn't known.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    notes: tuple[str, ...]
    code: str | None
    severity: str

    @property
    def is_error(self) -> bool:
        """Whether it is an error."""
        return self.severity == "error"

    @property
    def is_warning(self) -> bool:
        """Whether it is a suspicion, which can't be proved and never fails a run."""
        return self.severity == "warning"

    @property
    def is_about_shapes(self) -> bool:
        """Whether shapecheck says it: an error or a warning with a code of ours, or our note."""
        if self.code is not None and self.code.partition("-")[0] == "shape":
            return True
        return not self.is_error and self.message.startswith((REVEALED, SKIPPED, FAULT))

    @property
    def stops_all(self) -> bool:
        """Whether there is no going on after it."""
        return self.is_error and self.code in (None, "syntax")


def stop(file: str, message: str, line: int = 0) -> Finding:
    """Return the finding that a file, or one of its lines, can't be used at all."""
    return Finding(file, line, -1, line, -1, message, (), None, "error")


@dataclass(slots=True)
class Outcome:
    """How a run ended.

    `checked`: how many files, or None where it couldn't begin. `unread`: how many besides can't be
    read. `is_complete`: no error kept it from checking all of them. `silent`: how many functions
    there are, where no file says a shape. `hidden`: how many files that have to do with tensors
    hide all that is to be said of them. `descriptions`: what each error code is about.
    `remarks`: all that is to be said besides, line by line. `effort`: in words, what there was to
    do. `covered`: what is known of the tensors, None where that wasn't counted, and `uncounted` of
    how many files it wasn't.
    """

    exit_code: int = 2
    checked: int | None = None
    unread: int = 0
    is_complete: bool = False
    silent: int = 0
    hidden: int = 0
    descriptions: Mapping[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    effort: str = ""
    covered: Coverage | None = None
    uncounted: int = 0

    @property
    def advice(self) -> str | None:
        """What to say where no shape is said, or nothing may be; None where neither is so."""
        said = []
        if self.hidden and self.is_complete:
            said.append(
                f"Nothing is said of {self.hidden} of {self.checked} files: `ignore_errors` in the "
                "settings, or `# type: ignore` on top of them, hides it"
            )
        if self.silent and self.is_complete:
            functions = f"{self.silent} function{'' if self.silent == 1 else 's'}"
            said.append(
                f"0 of {functions} say a shape, so that only what their code shows is checked; "
                "`shapecheck annotate` can find and write them"
            )
        return "\n".join(said) or None
