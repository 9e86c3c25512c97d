"""Projects that are checked both ways, through mypy and without it."""

from __future__ import annotations

from typing import Final

from mypy_plugin import conftest as mypy_projects

# `new_project`, a fixture of the tests of the plugin, and all that it needs.
_FIXTURE: Final = type(mypy_projects.new_project)
globals().update({k: v for k, v in vars(mypy_projects).items() if isinstance(v, _FIXTURE)})
