"""Diagnostics of the analysis -> messages of mypy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy import errorcodes

from shapecheck.mypy_plugin._codes import CODES, SHAPE

if TYPE_CHECKING:
    from mypy.errors import ErrorInfo, Errors
    from mypy.nodes import MypyFile
    from mypy.options import Options

    from shapecheck.analysis.host import Diagnostic, Span

# A note that stands alone has the code of mypy's `reveal_type`, so that it hides when that does.
_LONE_NOTE: Final = errorcodes.MISC
_ABOUT_IGNORES: Final = frozenset({errorcodes.UNUSED_IGNORE, errorcodes.IGNORE_WITHOUT_CODE})


class _Place(NamedTuple):
    """Where a message stands; mypy makes it one character long without an end."""

    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None


class Reporter:
    """Reports to mypy's list of errors, so that its options and comments apply to ours too."""

    def __init__(self, errors: Errors, options: Options, *, suspicions: bool = False) -> None:
        self.errors = errors
        self._suspicions = suspicions
        self._options = options
        self._infos = errors.error_info_map
        self._reported: set[str] = set()
        self._places: dict[str, dict[Span, _Place]] = {}
        self._used: dict[str, dict[int, list[str]]] = {}
        self._contexts: dict[str, list[tuple[str, int]]] = {}

    def is_silent(self, file: MypyFile) -> bool:
        """Would mypy drop whatever is reported in this module (a library, `ignore_errors`)?"""
        return file.path in self.errors.ignored_files

    def has_reported(self, file: MypyFile) -> bool:
        """Has this module been reported since mypy's daemon last dropped all errors?"""
        self._forget_if_reset()
        return file.fullname in self._reported

    def has_reported_any(self) -> bool:
        """Has any module been reported since mypy's daemon last dropped all errors?"""
        self._forget_if_reset()
        return bool(self._reported)

    def _forget_if_reset(self) -> None:
        if self._infos is not self.errors.error_info_map:
            self._infos = self.errors.error_info_map
            self._reported.clear()

    def report(
        self, file: MypyFile, diagnostics: Iterable[Diagnostic], options: Options | None = None
    ) -> None:
        """Report what was found in one module, each error followed by its notes.

        `options` are those of a module that isn't the one that mypy has just checked.
        """
        errors = self.errors
        self._forget_if_reset()
        self._reported.add(file.fullname)
        before = errors.file, errors.target_module, errors.options, errors.scope
        imported_by = errors.import_context()
        if options is None:
            used = errors.used_ignored_lines.get(file.path, {})
            self._used[file.path] = {line: list(codes) for line, codes in used.items()}
            self._places[file.path] = {}
            self._contexts[file.path] = imported_by
        else:
            self._restore_ignores(file)
            # mypy sorts those messages of a file that have the same one.
            errors.set_import_context(self._contexts.get(file.path, []))
        # Not a word on which function or module it is: where the daemon checks one of these again,
        # it drops the errors that belong there.
        is_update = options is None
        options = options or self.module_options(file)
        errors.set_file(file.path, None, options)
        known = len(errors.error_info_map.get(file.path, ()))
        try:
            parent: ErrorInfo | None = None
            span: Span | None = None
            told: Diagnostic | None = None
            for diagnostic in diagnostics:
                if diagnostic.severity == "error":
                    parent, span, told = self._error(diagnostic), diagnostic.span, None
                    continue
                if diagnostic.severity == "warning":
                    parent, span = None, diagnostic.span
                    told = diagnostic
                    if self._suspicions:
                        self._suspicion(diagnostic)
                    continue
                if told is not None and diagnostic.span == told.span:
                    continue  # mypy knows no notes of a note
                told = None
                if diagnostic.span != span:
                    parent = None
                self._note(diagnostic, parent)
            self._put_first(file, known)
            self._use_ignores_of_parents(file)
            if self._options.fine_grained_incremental:
                self._renew_errors_about_ignores(file, options, is_update=is_update)
        finally:
            errors.set_file(before[0], before[1], before[2], before[3])
            errors.set_import_context(imported_by)

    def join(self) -> None:
        """Have mypy sort all messages of a file together, by their places.

        It sorts those together that came when their module was reached by the same imports, and its
        daemon reaches by none what it checks again at the end of an update.
        """
        if self._options.show_error_context:
            return  # there it shows by which imports
        for infos in self.errors.error_info_map.values():
            for info in infos:
                info.import_ctx = []

    def _put_first(self, file: MypyFile, known: int) -> None:
        """Put what has just been reported in front of the `known` first messages of a file.

        Of messages at the same place mypy shows that first which was reported first, and its daemon
        reports some of its own again when ours are there.
        """
        infos = self.errors.error_info_map.get(file.path, [])
        infos[:] = infos[known:] + infos[:known]

    def _error(self, diagnostic: Diagnostic) -> ErrorInfo:
        """An error can be ignored on any line of its expression, as mypy's own."""
        span = diagnostic.span
        return self.errors.report(
            span.line,
            span.column,
            diagnostic.message,
            CODES.get(diagnostic.code, SHAPE),
            end_line=span.end_line,
            end_column=span.end_column,
            origin_span=range(span.line, max(span.end_line, span.line) + 1),
        )

    def _suspicion(self, diagnostic: Diagnostic) -> None:
        """Report what can't be proved: a note with a code, which leaves mypy's exit code alone."""
        span = diagnostic.span
        self.errors.report(
            span.line,
            span.column,
            diagnostic.message,
            CODES.get(diagnostic.code, SHAPE),
            severity="note",
            end_line=span.end_line,
            end_column=span.end_column,
            origin_span=range(span.line, max(span.end_line, span.line) + 1),
        )

    def _use_ignores_of_parents(self, file: MypyFile) -> None:
        """Count `ignore[shape]` as used where it hides a sub-code that it doesn't name.

        mypy would hide the error, and ask for the sub-code in its place.
        """
        ignored = self.errors.ignored_lines.get(file.path, {})
        for line, used in self.errors.used_ignored_lines.get(file.path, {}).items():
            named = ignored.get(line, ())
            codes = [CODES[name] for name in used if name in CODES and name not in named]
            parents = {code.sub_code_of.code for code in codes if code.sub_code_of is not None}
            used.extend(parent for parent in parents if parent in named)

    def _note(self, diagnostic: Diagnostic, parent: ErrorInfo | None) -> None:
        """A note with the span of the error before it is that error's, and is ignored with it."""
        if parent is None:
            self._lone_note(diagnostic)
            return
        self.errors.report(
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

    def _lone_note(self, diagnostic: Diagnostic) -> None:
        place = self._after_own_note(diagnostic.span)
        note = self.errors.report(
            place.line,
            place.column,
            diagnostic.message,
            _LONE_NOTE if diagnostic.code == SHAPE.code else CODES[diagnostic.code],
            severity="note",
            end_line=place.end_line,
            end_column=place.end_column,
        )
        note.priority = 1

    def _after_own_note(self, span: Span) -> _Place:
        """Return where mypy's own note on `reveal_type(x)` is (at the `x`), else the span's start.

        Messages are sorted by position, and those with the same one by priority. Where the daemon
        has forgotten mypy's note too, and comes to it later, the place is where it was.
        """
        places = self._places.setdefault(self.errors.file, {})
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        own = [
            _Place(info.line, info.column, info.end_line, info.end_column)
            for info in self.errors.error_info_map.get(self.errors.file, ())
            if info.severity == "note" and start <= (info.line, info.column) < end
        ]
        if own or span not in places:
            places[span] = max(own, default=_Place(span.line, span.column))
        return places[span]

    def module_options(self, file: MypyFile) -> Options:
        """Return the options of a module, comments (`# mypy: ...`) included.

        mypy has just checked this very module, so that they are the current ones.
        """
        if self.errors.target_module == file.fullname:
            return self.errors.options
        return self._options.clone_for_module(file.fullname)

    def _restore_ignores(self, file: MypyFile) -> None:
        """Put back which `type: ignore` comments a module has, and which of them mypy needs."""
        errors = self.errors
        errors.set_file_ignored_lines(file.path, file.ignored_lines)
        errors.set_skipped_lines(file.path, file.skipped_lines)
        for line, used in self._used.get(file.path, {}).items():
            errors.used_ignored_lines[file.path][line].extend(used)

    def _renew_errors_about_ignores(
        self, file: MypyFile, options: Options, *, is_update: bool
    ) -> None:
        """Report again the `type: ignore` comments that are unused or have no code.

        The daemon looks for them before the analysis of a module has run, and doesn't look again
        where it has dropped the errors of a module that it doesn't update.
        """
        infos = self.errors.error_info_map.get(file.path, [])
        others = [info for info in infos if info.code not in _ABOUT_IGNORES]
        if len(others) != len(infos):
            self.errors.error_info_map[file.path] = others
        elif is_update:
            return
        enabled, disabled = options.enabled_error_codes, options.disabled_error_codes
        warns = options.warn_unused_ignores or errorcodes.UNUSED_IGNORE in enabled
        if warns and errorcodes.UNUSED_IGNORE not in disabled:
            self.errors.generate_unused_ignore_errors(file.path)
        if errorcodes.IGNORE_WITHOUT_CODE in enabled:
            self.errors.generate_ignore_without_code_errors(file.path, options.warn_unused_ignores)
