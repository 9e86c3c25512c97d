"""The project that mypy checks, as far as the plugin cares: settings, problems, fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mypy.modulefinder import get_search_dirs

from shapecheck import config
from shapecheck.analysis import Options as AnalysisOptions
from shapecheck.engine import fingerprint
from shapecheck.mypy_plugin._versions import environment_problem

if TYPE_CHECKING:
    from mypy.options import Options


@dataclass(frozen=True, slots=True)
class Project:
    """The settings; why mypy can't go on, as one line of its output; where packages are installed.

    `sharing`: where the team keeps what was found, None for nowhere.

    The fingerprint stands for all that changes verdicts besides the code itself (see
    `engine.fingerprint`). mypy keeps it with each module in its cache, and checks the module again
    when it is another.
    """

    settings: config.Config
    options: AnalysisOptions
    problem: str | None
    packages: tuple[str, ...]
    fingerprint: str
    sharing: config.Sharing | None


def read_project(options: Options) -> Project:
    """Look at the project and its environment, once per mypy run."""
    settings, problem = config.Config(), None
    try:
        settings = config.load(config.find(_home(options)))
    except config.ConfigError as error:
        problem = f"{_relative(error.path)}:{error.line}: error: {error.message}"
    others, site_packages = get_search_dirs(options.python_executable)
    if problem is None:
        found = environment_problem((*site_packages, *others))
        problem = found and f"{options.config_file or 'mypy'}: error: {found}"
    strict, stubs, wrappers = settings.strict, settings.stubs, settings.wrappers
    verdicts = AnalysisOptions(strict=strict, stubs=stubs, wrappers=wrappers)
    return Project(
        settings,
        verdicts,
        problem,
        (*site_packages, *others),
        fingerprint(verdicts),
        config.sharing(settings),
    )


def _home(options: Options) -> Path:
    """Return the folder of mypy's configuration, where the project's own is looked for."""
    return Path(options.config_file).parent if options.config_file else Path()


def _relative(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
