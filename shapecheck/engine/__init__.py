"""Keeps what the analysis has said, definition by definition, and looks again only where it must.

`Engine.check` says of a module what `analysis.analyze_module` does. Each part of a module, a
function or a method or the code outside of them, has an answer that rests on what was read for it:
the texts of single definitions. It holds for as long as these are the same, whatever else is edited
around them, in this process or, with a store, in any later one.

`engine` has the rules of that, `records` what is kept of a module and `versions` of which text,
`store` and `database` where it is kept, behind `seals`, and `maker` by which analysis. `shared` is
what a team keeps, `places` where that lies and `packing` in which form. `reported` has what others
have been told: a run in which nothing has changed needs no more than that. It knows nothing of
mypy, which is one of its hosts; it uses `analysis` and what is below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapecheck.late_names import homes_of, late_names

if TYPE_CHECKING:
    from shapecheck.engine.database import Database
    from shapecheck.engine.engine import Engine, Files
    from shapecheck.engine.maker import fingerprint
    from shapecheck.engine.records import ModuleRecord
    from shapecheck.engine.reported import File, Reported, Told
    from shapecheck.engine.shared import Shared
    from shapecheck.engine.store import Store, Tally, Version
    from shapecheck.engine.versions import digest
else:
    __getattr__ = late_names(
        __name__,
        homes_of(
            {
                "shapecheck.engine.database": "Database",
                "shapecheck.engine.engine": "Engine Files",
                "shapecheck.engine.maker": "fingerprint",
                "shapecheck.engine.records": "ModuleRecord",
                "shapecheck.engine.reported": "File Reported Told",
                "shapecheck.engine.shared": "Shared",
                "shapecheck.engine.store": "Store Tally Version",
                "shapecheck.engine.versions": "digest",
            }
        ),
    )

__all__ = [
    "Database",
    "Engine",
    "File",
    "Files",
    "ModuleRecord",
    "Reported",
    "Shared",
    "Store",
    "Tally",
    "Told",
    "Version",
    "digest",
    "fingerprint",
]
