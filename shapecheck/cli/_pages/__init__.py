"""Pages that stand alone: style and script are in them, and they ask no network for anything."""

from __future__ import annotations

import hashlib
import html
import os
from base64 import b64encode
from pathlib import Path

from shapecheck.codemod.project.replacing import replace

_HERE = Path(__file__).resolve().parent


def save(path: Path, text: str) -> None:
    """Write a report in one step: what was there before stays until the new one is whole.

    Raises OSError where that can't be.
    """
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_text(text, encoding="utf-8")
        return
    replace(Path(os.path.realpath(path)), text.encode("utf-8"), durable=False)


def page(title: str, body: str, script: str | None = None) -> str:
    """Return a whole HTML page; `script` is the name of a file beside this one.

    It runs that script and no other, and asks for nothing, whatever is in its body.
    """
    style = (_HERE / "style.css").read_text("utf-8")
    run, allowed = "", "'none'"
    if script is not None:
        code = f"\n{(_HERE / script).read_text('utf-8')}"
        run = f"<script>{code}</script>\n"
        digest = b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii")
        allowed = f"'sha256-{digest}'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n"
        f"{run}</body>\n</html>\n"
    )
