"""`shapecheck` as a program: the installed script, and `python -m shapecheck`."""

from __future__ import annotations

import os
import sys

from shapecheck.cli import main


def run() -> int:
    """Run the command line, and end the process at once where nothing of the user's ran in it.

    To take down the trees and tables of a large program by hand takes as long as to check a tenth
    of it. Where torch was imported the user's code may have, which has to end as always.
    """
    code = main()
    if "torch" in sys.modules:
        return code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(run())
