"""Where commands print with rich: plain text, unless colours are wanted."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


def console_on(stream: TextIO | None, *, color: bool, width: int | None = None) -> Console:
    """Return a console that prints text as it stands; without a stream, on standard output.

    Lines aren't wrapped, or (`width`) laid out on so many columns.
    """
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
