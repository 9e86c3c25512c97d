"""Opens pages in a real browser without a window."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def run_in(page: Path, script: str, width: int = 1280, height: int = 800) -> Any:
    """Open a page in a frame of this size, run a script there, and return what it returns.

    `script` is the body of a function with the page's `window` and `document`. Errors of the page's
    own scripts, and anything that it asks a network for, fail the test.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no Chromium or Chrome")
    frame = page.with_name(f"_frame_{page.stem}.html")
    frame.write_text(
        f"""<body><iframe src="{page.name}" width="{width}" height="{height}"></iframe>
<pre id="said"></pre><script>
const frame = document.querySelector("iframe"), errors = [];
frame.contentWindow.addEventListener("error", (event) => errors.push(event.message));
frame.addEventListener("load", () => {{
  const window = frame.contentWindow, document = window.document;
  window.onerror = (message) => errors.push(message);
  let said = null;
  try {{ said = (function (window, document) {{ {script} }})(window, document); }}
  catch (error) {{ errors.push(String(error)); }}
  const asked = window.performance.getEntriesByType("resource").map((entry) => entry.name);
  self.document.getElementById("said").textContent = JSON.stringify({{ said, errors, asked }});
}});
</script></body>""",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--allow-file-access-from-files", "--virtual-time-budget=3000"),
            *(f"--user-data-dir={page.parent / '_profile'}", frame.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    found = re.search(r'<pre id="said">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    result = json.loads(html.unescape(found[1]))
    assert result["errors"] == []
    assert result["asked"] == []
    return result["said"]


FITS = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth;"
"""Whether a page needs no scrolling to the side."""
