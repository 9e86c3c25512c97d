"""Pages that stand alone: style and script are in them, and they ask no network for anything."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from shapecheck.codemod.project.replacing import replace
from shapecheck.markup import escaped

_HERE = Path(__file__).resolve().parent


def save(path: Path, text: str) -> None:
    """Write a report in one step: what was there before stays until the new one is whole.

    Raises OSError where that can't be.
    """
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_text(text, encoding="utf-8")
        return
    replace(Path(os.path.realpath(path)), text.encode("utf-8"), durable=False)


def page(title: str, body: str, script: str | None = None, style: str | None = None) -> str:
    """Return a whole HTML page; `script` is the name of a file beside this one.

    A browser runs nothing in it but that script, and takes no style but that of the page and
    `style`, which stands in a drawing in the body.
    """
    own = f"\n{(_HERE / 'style.css').read_text('utf-8')}"
    run = "" if script is None else f"\n{(_HERE / script).read_text('utf-8')}"
    styles = " ".join(_hashed(text) for text in (own, style) if text is not None)
    scripts = _hashed(run) if run else "'none'"
    policy = (
        f"default-src 'none'; style-src {styles}; script-src {scripts}; base-uri 'none'; "
        "form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escaped(title)}</title>\n<style>{own}</style>\n</head>\n<body>\n{body}\n"
        f"{f'<script>{run}</script>' if run else ''}\n</body>\n</html>\n"
    )


def _hashed(text: str) -> str:
    """Return by what a policy knows a style or a script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
