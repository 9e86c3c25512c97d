"""Diagnostics of the analysis -> messages of mypy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mypy import errorcodes

from shapecheck.mypy_plugin._codes import CODES, SHAPE

if TYPE_CHECKING:
    from mypy.errors import ErrorInfo, Errors
    from mypy.nodes import MypyFile
    from mypy.options import Options

    from shapecheck.analysis.host import Diagnostic, Span

# A note that stands alone has the code of mypy's `reveal_type`, so that it hides when that does.
_LONE_NOTE: Final = errorcodes.MISC


class Reporter:
    """Reports to mypy's list of errors, so that its options and comments apply to ours too."""

    def __init__(self, errors: Errors, options: Options) -> None:
        self._errors = errors
        self._options = options
        self._infos = errors.error_info_map

    def is_silent(self, file: MypyFile) -> bool:
        """Would mypy drop whatever is reported in this module (a library, `ignore_errors`)?"""
        return file.path in self._errors.ignored_files

    def has_been_reset(self) -> bool:
        """Has mypy's daemon dropped all errors since this was last asked?"""
        was, self._infos = self._infos, self._errors.error_info_map
        return was is not self._infos

    def report(
        self, file: MypyFile, diagnostics: Iterable[Diagnostic], options: Options | None = None
    ) -> None:
        """Report what was found in one module, each error followed by its notes.

        `options` are those of a module that isn't the one that mypy has just checked.
        """
        errors = self._errors
        before = errors.file, errors.target_module, errors.options, errors.scope
        if options is not None:
            errors.set_file_ignored_lines(file.path, file.ignored_lines)
        # Not a word on which function or module it is: where the daemon checks one of these again,
        # it drops the errors that belong there.
        errors.set_file(file.path, None, options or self.module_options(file))
        try:
            parent: ErrorInfo | None = None
            span: Span | None = None
            for diagnostic in diagnostics:
                if diagnostic.severity == "error":
                    parent, span = self._error(diagnostic), diagnostic.span
                    continue
                if diagnostic.span != span:
                    parent = None
                self._note(diagnostic, parent)
            self._use_ignores_of_parents(file)
        finally:
            errors.set_file(before[0], before[1], before[2], before[3])
        if self._options.fine_grained_incremental and options is None:
            self._renew_unused_ignores(file)

    def _error(self, diagnostic: Diagnostic) -> ErrorInfo:
        """An error can be ignored on any line of its expression, as mypy's own."""
        span = diagnostic.span
        return self._errors.report(
            span.line,
            span.column,
            diagnostic.message,
            CODES.get(diagnostic.code, SHAPE),
            end_line=span.end_line,
            end_column=span.end_column,
            origin_span=range(span.line, max(span.end_line, span.line) + 1),
        )

    def _use_ignores_of_parents(self, file: MypyFile) -> None:
        """Count `ignore[shape]` as used where it hides a sub-code that it doesn't name.

        mypy would hide the error, and ask for the sub-code in its place.
        """
        ignored = self._errors.ignored_lines.get(file.path, {})
        for line, used in self._errors.used_ignored_lines.get(file.path, {}).items():
            named = ignored.get(line, ())
            codes = [CODES[name] for name in used if name in CODES and name not in named]
            parents = {code.sub_code_of.code for code in codes if code.sub_code_of is not None}
            used.extend(parent for parent in parents if parent in named)

    def _note(self, diagnostic: Diagnostic, parent: ErrorInfo | None) -> None:
        """A note with the span of the error before it is that error's, and is ignored with it."""
        if parent is None:
            line, column = self._after_own_note(diagnostic.span)
            self._errors.report(line, column, diagnostic.message, _LONE_NOTE, severity="note")
            return
        self._errors.report(
            parent.line,
            parent.column,
            diagnostic.message,
            parent.code,
            severity="note",
            end_line=parent.end_line,
            end_column=parent.end_column,
            origin_span=parent.origin_span,
            parent_error=parent,
        )

    def _after_own_note(self, span: Span) -> tuple[int, int]:
        """Return where mypy's own note on `reveal_type(x)` is (at the `x`), else the span's start.

        Messages are sorted by position, and those with the same one stay in the order of reports.
        """
        own = [
            (info.line, info.column)
            for info in self._errors.error_info_map.get(self._errors.file, ())
            if info.severity == "note"
        ]
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        return max((place for place in own if start <= place < end), default=start)

    def module_options(self, file: MypyFile) -> Options:
        """Return the options of a module, comments (`# mypy: ...`) included.

        mypy has just checked this very module, so that they are the current ones.
        """
        if self._errors.target_module == file.fullname:
            return self._errors.options
        return self._options.clone_for_module(file.fullname)

    def _renew_unused_ignores(self, file: MypyFile) -> None:
        """The daemon looks for unused `type: ignore` comments before the analysis has run."""
        infos = self._errors.error_info_map.get(file.path, [])
        others = [info for info in infos if info.code is not errorcodes.UNUSED_IGNORE]
        if len(others) == len(infos):
            return
        self._errors.error_info_map[file.path] = others
        self._errors.generate_unused_ignore_errors(file.path)
