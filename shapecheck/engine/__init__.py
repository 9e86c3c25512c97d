"""Keeps what the analysis has said, definition by definition, and looks again only where it must.

`Engine.check` says of a module what `analysis.analyze_module` does. Each part of a module, a
function or a method or the code outside of them, has an answer that rests on what was read for it:
the texts of single definitions. It holds for as long as these are the same, whatever else is edited
around them, in this process or, with a store, in any later one.

`engine` has the rules of that, `records` what is kept of a module, `store` and `database` where it
is kept. `shared` is what a team keeps, `places` where that lies and `packing` in which form.
`reported` has what others have been told. It knows nothing of mypy, which is one of its hosts; it
uses `analysis` and what is below.
"""

from shapecheck.engine.database import Database
from shapecheck.engine.engine import Engine, Files
from shapecheck.engine.records import ModuleRecord, digest
from shapecheck.engine.reported import Reported
from shapecheck.engine.shared import Shared
from shapecheck.engine.store import Store, Tally, Version, fingerprint

__all__ = [
    "Database",
    "Engine",
    "Files",
    "ModuleRecord",
    "Reported",
    "Shared",
    "Store",
    "Tally",
    "Version",
    "digest",
    "fingerprint",
]
