"""The abstract interpreter: finds shape errors in source text without running it.

`analyze_module` is all that hosts call. The analysis knows nothing of mypy; see `host`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from shapecheck.late_names import homes_of, late_names

if TYPE_CHECKING:
    from shapecheck.analysis.check.module import Checking
    from shapecheck.analysis.findings import NO_TENSORS, Findings, Led, covered, merged
    from shapecheck.analysis.host import (
        CAUSES,
        Asked,
        Body,
        Cause,
        Coverage,
        Diagnostic,
        Host,
        Key,
        Look,
        OpCalled,
        Recall,
        RestsOn,
        Seen,
        Shown,
        Source,
        Span,
        Unread,
    )
    from shapecheck.analysis.options import Options
    from shapecheck.analysis.pace import UNBOUND, Pace
    from shapecheck.analysis.relevance import TENSORS, TEXT, is_installed, mentions_tensors
else:
    __getattr__ = late_names(
        __name__,
        homes_of(
            {
                "shapecheck.analysis.findings": "NO_TENSORS Findings Led covered merged",
                "shapecheck.analysis.host": (
                    "CAUSES Asked Body Cause Coverage Diagnostic Host Key Look OpCalled "
                    "Recall RestsOn Seen Shown Source Span Unread"
                ),
                "shapecheck.analysis.options": "Options",
                "shapecheck.analysis.pace": "UNBOUND Pace",
                "shapecheck.analysis.relevance": "TENSORS TEXT is_installed mentions_tensors",
            }
        ),
    )

__all__ = [
    "CAUSES",
    "NO_TENSORS",
    "TENSORS",
    "TEXT",
    "UNBOUND",
    "Asked",
    "Body",
    "Cause",
    "Coverage",
    "Diagnostic",
    "Findings",
    "Host",
    "Key",
    "Led",
    "Look",
    "OpCalled",
    "Options",
    "Pace",
    "Recall",
    "RestsOn",
    "Seen",
    "Shown",
    "Source",
    "Span",
    "Unread",
    "analyze_module",
    "ask_again",
    "begin",
    "covered",
    "digest_of",
    "follows",
    "get_ready",
    "inspect",
    "is_installed",
    "mentions_tensors",
    "merged",
    "renew",
    "still_said",
    "unread",
]


def get_ready() -> None:
    """Import what analyses a module, before copies of the process would each do so."""
    from shapecheck.analysis.check import module  # noqa: F401 - late, as below


def analyze_module(source: Source, host: Host, options: Options) -> list[Diagnostic]:
    """Analyse one module; return its diagnostics by position, each error followed by its notes.

    Raises SyntaxError where the text is newer than the Python that runs this.
    """
    # Imported late: who only hands results on needs the types above, not the interpreter.
    from shapecheck.analysis.check.module import check_module

    return check_module(source, host, options)


def begin(
    source: Source,
    host: Host,
    options: Options,
    *,
    stays: bool = False,
    counts: bool = False,
    keeps: bool = False,
    recalls: Recall | None = None,
) -> Checking:
    """Begin to check a module part by part: together they say what `analyze_module` does.

    What is said of a part rests on what stands in pieces of source, each known by a key. It is the
    same as long as `digest_of` is the same for all of these. Where the program `stays` to be
    edited, more is kept, so that less is done then. `counts`: what is known of tensors is counted.
    `keeps`: it is for other processes, too. Then they are told of each piece, and, by a program
    that doesn't stay, which questions were asked; see `ask_again`. What `recalls` knows of these
    isn't found out anew. Raises what `analyze_module` does.
    """
    from shapecheck.analysis.check import module  # late, as above

    return module.begin(
        source, host, options, stays=stays, counts=counts, keeps=keeps, recalls=recalls
    )


def still_said(
    host: Host, options: Options, module: str, parts: Iterable[tuple[str, bool]]
) -> RestsOn | None:
    """Return what a module rests on of which the same is to be said as when it was checked last.

    That is of its text, and of others. `parts` are the keys of its parts, and whether they got few
    steps. None where anything else is to be said, or where the program doesn't stay.
    """
    from shapecheck.analysis.check import module as checking  # late, as above

    return checking.still_said(host, options, module, parts)


def ask_again(
    host: Host, options: Options, module: str, question: str, recalls: Recall | None = None
) -> RestsOn | None:
    """Ask a question again that the check of a module asked; return what the answer rests on.

    It is the only one that is asked there. None where it can't be told any more. `recalls` is as
    for `begin`, of those that it asks in turn.
    """
    from shapecheck.analysis.check import module as checking  # late, as above

    return checking.ask_again(host, options, module, question, recalls)


def digest_of(source: Source | None, key: str) -> str:
    """Return what stands in a piece of a module, as a digest; None is for no such module."""
    from shapecheck.analysis.check import module  # late, as above

    return module.digest_of(source, key)


def renew(host: Host, modules: Collection[str]) -> None:
    """Take note that some modules of a host aren't what they were when it was asked for them."""
    from shapecheck.analysis.check import module  # late, as above

    module.renew(host, modules)


def inspect(source: Source, host: Host, options: Options) -> list[Body]:
    """Return what is known of each tensor-valued expression of a module, function by function.

    The functions come in the order of their lines, and the module's own code first. Raises
    SyntaxError where the text is newer than the Python that runs this.
    """
    from shapecheck.analysis.check import inspection  # late, as above

    return inspection.look(source, host, options)


def unread(source: Source, host: Host, options: Options) -> list[Unread]:
    """Return the annotations of a module that say a shape in a form that isn't read.

    Raises what `inspect` does.
    """
    from shapecheck.analysis.check import inspection  # late, as above

    return inspection.unread(source, host, options)


def follows(name: str) -> bool:
    """Whether the analysis knows by itself what calling something of a library gives.

    That is what follows from what it is given: `torch.nn.Sequential` calls its modules in turn.
    """
    from shapecheck.analysis.check import module  # late, as above

    return module.follows(name)
