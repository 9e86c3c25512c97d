"""The plugin class: which hook answers for which name. Tables, and little else."""

from __future__ import annotations

import os
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mypy.errors import CompileError
from mypy.nodes import TypeInfo
from mypy.plugin import Plugin
from mypy.types import AnyType, TypeOfAny

from shapecheck.engine import Database, Reported
from shapecheck.mypy_plugin import _buffers as buffers
from shapecheck.mypy_plugin import _forgotten as forgotten
from shapecheck.mypy_plugin import _names as names
from shapecheck.mypy_plugin._cached import Cached
from shapecheck.mypy_plugin._engines import Engines
from shapecheck.mypy_plugin._first_class import indexed
from shapecheck.mypy_plugin._isinstance import IsInstance
from shapecheck.mypy_plugin._keeping import store_in, tell
from shapecheck.mypy_plugin._module_call import call_as_forward, result_as_expected
from shapecheck.mypy_plugin._project import read_project
from shapecheck.mypy_plugin._reporting import Reporter
from shapecheck.mypy_plugin._sources import ModuleFinder, SourceReader
from shapecheck.mypy_plugin._views import given_views, takes_views
from shapecheck.project.relevance import is_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import MypyFile
    from mypy.options import Options
    from mypy.plugin import (
        AnalyzeTypeContext,
        AttributeContext,
        ClassDefContext,
        FunctionContext,
        FunctionSigContext,
        MethodContext,
        MethodSigContext,
        ReportConfigContext,
    )
    from mypy.semanal import SemanticAnalyzer
    from mypy.typeanal import TypeAnalyser
    from mypy.types import FunctionLike, Type

    from shapecheck.mypy_plugin._analysis import ModuleAnalysis

# How the daemon that this process is has begun; empty in any other.
_BEGAN: list[forgotten.Beginning] = []


class ShapecheckPlugin(Plugin):
    """One instance for a run of mypy, for each of its parallel workers, for a daemon."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._project = project = read_project(options)
        # Under `disallow_untyped_calls` the `backward()` of a tensor, which torch hasn't annotated,
        # would be an error in correct code.
        options.untyped_calls_exclude = [*options.untyped_calls_exclude, names.TORCH]
        told = project.settings.typed_calls, project.settings.suspicions
        self._settings = " ".join(map(str, (project.fingerprint, *told)))
        self._folder = folder = _folder(options)
        self._finder = ModuleFinder(
            (*options.mypy_path, *_environment_path()), libraries=project.packages
        )
        is_daemon = options.fine_grained_incremental
        beginning = forgotten.Beginning(self._settings, self._finder)
        forgotten.restart_where_needed(beginning, _BEGAN, is_daemon=is_daemon)
        # The daemon reads mypy's cache and never writes it.
        known = None if folder is None else Database(Path(folder), read_only=is_daemon)
        reported = Reported(known, project.fingerprint)
        self._finder.remembered = {name: file.path for name, file in reported.files.items()}
        self._reader = SourceReader(
            dict(options.shadow_file or ()),
            reported.files.values(),
            show_absolute_path=options.show_absolute_path,
        )
        self._token = reported.token
        store = partial(store_in, folder, project.fingerprint, project.sharing, tell)
        self._engines = Engines(self._reader, self._finder, project.options, store, stays=is_daemon)
        self._cached = Cached(self._engines, reported)
        self._reporter: Reporter | None = None
        self._buffers = buffers.Buffers(self._reader)
        is_instance = IsInstance(self._reader, self._finder)
        self._function_signature_hooks = dict.fromkeys(
            names.ISINSTANCE, is_instance.accept_annotated
        )
        self._function_hooks = dict.fromkeys(names.ISINSTANCE, is_instance.narrow)

    @cached_property
    def _analysis(self) -> ModuleAnalysis:
        """The analysis, which a run in which nothing has changed doesn't need."""
        from shapecheck.mypy_plugin._analysis import ModuleAnalysis
        from shapecheck.mypy_plugin._worker import Start, Worker

        options, project = self.options, self._project
        start = Start(
            options=project.options,
            fingerprint=project.fingerprint,
            folder=self._folder,
            sharing=project.sharing,
            shadows=dict(options.shadow_file or ()),
            show_absolute_path=options.show_absolute_path,
            roots=self._finder.roots,
            packages=project.packages,
        )
        # A daemon's next run, and one of mypy's own parallel workers, has no time to be ahead.
        is_daemon = options.fine_grained_incremental
        is_alone = not (is_daemon or options.num_workers)
        ahead = Worker(start) if is_alone else None
        return ModuleAnalysis(
            self._reader, self._finder, self._engines, self._cached, ahead, is_daemon=is_daemon
        )

    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        """Take mypy's modules; the first call where an error ends the run as mypy's own would."""
        if self._project.problem is not None:
            raise CompileError([self._project.problem])
        super().set_modules(modules)
        self._finder.modules = modules
        self._engines.renew()

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        """Say what else a module's cached result depends on; mypy calls this for every module."""
        if is_library(ctx.path):
            return None
        if ctx.is_check:
            if not self.options.fine_grained_incremental:  # the daemon loads all of them at once
                self._finder.named[ctx.id] = ctx.path
            if not self._cached.is_current(ctx.id, ctx.path):
                return None
        return [self._settings, self._token]

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Have a module analysed ahead; mypy calls this for each that it has parsed."""
        self._analysis.expect(file)
        is_asked = self.options.fine_grained_incremental and not is_library(file.path)
        return forgotten.dependencies() if is_asked else []

    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        """Run the analysis: mypy calls this for each module once its types are checked.

        It adds no dependency. What the analysis has read is looked after by `report_config_data`,
        and mypy would load, in a later run, a module that it has lost sight of since.
        """
        if self._reporter is None or self._reporter.is_silent(file):
            self._analysis.leave(file)
        else:
            self._analysis.run(file, self._reporter)
        return set()

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """Answer for the first type, of every module `__name__: str`, and for declared wrappers.

        And for the types of the module that the daemon checks again at the end of each update.
        """
        if self._reporter is None:
            return self._first_type
        if fullname == names.ALWAYS_CHECKED_TYPE:
            return self._updated
        return _tensor if fullname in self._project.settings.wrappers else None

    def get_customize_class_mro_hook(
        self, fullname: str
    ) -> Callable[[ClassDefContext], None] | None:
        """Answer for each class when it is known what is above it."""
        return self._buffers.keep

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Answer for attributes that mypy finds by `Module.__getattr__` alone."""
        return buffers.attribute if fullname.startswith(names.ATTRIBUTE) else None

    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        """Answer for functions whose parameters mypy knows too narrowly."""
        known = self._function_signature_hooks.get(fullname)
        return given_views if known is None and takes_views(fullname) else known

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Answer for functions whose effect on types mypy doesn't know."""
        return self._function_hooks.get(fullname)

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """Answer for calls of instances, which mypy names after their class, and for tensors'."""
        if not fullname.endswith(names.CALL_METHOD):
            return given_views if takes_views(fullname) else None
        return call_as_forward if self._project.settings.typed_calls else result_as_expected

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Answer for methods whose results torch's annotations don't tell."""
        return indexed if fullname in names.GETITEM else None

    def _first_type(self, ctx: AnalyzeTypeContext) -> Type:
        """Keep mypy's list of errors, which no other hook is sure to get; the type is mypy's."""
        analyzer = cast("TypeAnalyser", ctx.api)
        self._reporter = Reporter(
            cast("SemanticAnalyzer", analyzer.api).errors,
            self.options,
            suspicions=self._project.settings.suspicions,
        )
        return ctx.type.accept(analyzer)

    def _updated(self, ctx: AnalyzeTypeContext) -> Type:
        """Report what the daemon has forgotten; the type is mypy's."""
        if self._reporter is not None:
            self._analysis.report_forgotten(self._reporter)
        return forgotten.same_type(ctx)


def _tensor(ctx: AnalyzeTypeContext) -> Type:
    """Return the type of what `Float["b c"]` annotates; mypy takes such a name for a variable."""
    analyzer = cast("TypeAnalyser", ctx.api)
    found = analyzer.api.lookup_fully_qualified_or_none(names.TENSOR)
    if found is None or not isinstance(found.node, TypeInfo):
        return AnyType(TypeOfAny.special_form)
    return analyzer.named_type(names.TENSOR)


def _environment_path() -> list[str]:
    """Return the folders of the environment variable that mypy reads beside its `mypy_path`."""
    return [folder for folder in os.environ.get("MYPYPATH", "").split(os.pathsep) if folder]


def _folder(options: Options) -> str | None:
    """Return the folder for what is kept beside mypy's cache; None where mypy writes no cache."""
    if options.cache_dir == os.devnull or not options.incremental:
        return None
    version = ".".join(map(str, options.python_version))
    return str(Path(options.cache_dir, version, "shapecheck"))
