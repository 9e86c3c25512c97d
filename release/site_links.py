"""Sends links that lead out of docs/ to the repository, where the site is built (`make docs`).

In the repository such a link is relative, so that it works there, and tests can follow it.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any, Final

_LINK: Final = re.compile(r"(?<=\]\()(\.\./[^)\s]*)(?=\))")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page's text as the site has it; mkdocs calls this for each."""
    root = f"{config['repo_url']}/blob/main"
    return with_links(markdown, page.file.src_uri, root)


def with_links(markdown: str, page: str, root: str) -> str:
    """Return the text of a page, a path below docs/; links that leave lead below `root`."""

    def target(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[1]))
        return link[1] if path.startswith("docs/") else f"{root}/{path}"

    return _LINK.sub(target, markdown)
