"""Where commands print: plain text, unless colours are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def lines_on(stream: TextIO, *, color: bool) -> Callable[..., None]:
    """Return what prints a line, of pieces of text with their styles: `("error: ", "bold red")`.

    Spaces at the end of it aren't printed. Without colours it does without rich, which takes longer
    to import than a check to find out that nothing has changed.
    """
    if not color:

        def plain(*pieces: tuple[str, str]) -> None:
            stream.write("".join(text for text, _ in pieces).rstrip(" ") + "\n")

        return plain

    from rich.text import Text

    console = console_on(stream, color=True)

    def styled(*pieces: tuple[str, str]) -> None:
        line = Text.assemble(*pieces)
        line.rstrip()
        console.print(line)

    return styled


def console_on(stream: TextIO | None, *, color: bool, width: int | None = None) -> Console:
    """Return a console that prints text as it stands; without a stream, on standard output.

    Lines aren't wrapped, or (`width`) laid out on so many columns.
    """
    from rich.console import Console

    return Console(
        file=stream,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=width is None,
        width=width,
    )
