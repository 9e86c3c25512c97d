"""`python -m shapecheck`: the command line, also where scripts aren't on the path."""

from __future__ import annotations

import sys

from shapecheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
