"""Records the shapes that functions are called with, while a program or its tests run.

`watch` wraps functions, `store` keeps what was seen in a file of `rows`, `hook` finds the functions
of the modules that are imported, and `script` those of a script. `ranks` has the errors that ended
the processes of a distributed program. `site` begins all of it in a process that was asked to by
its environment.
"""

from __future__ import annotations

from typing import Final

RECORD: Final = ".shapecheck-record.sqlite"
"""The file of a record for which no other is named."""
