"""What mypy's daemon checks again, beyond what it knows of itself.

It checks a function again when something changes that it has seen the function use. Of what our
hooks look at for a type it has seen nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.errors import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.checker import TypeChecker
    from mypy.errors import Errors


def when_changed(checker: TypeChecker, names: Iterable[str]) -> None:
    """Have what is being checked checked again when one of these attributes is another.

    That is how mypy keeps of which type aliases a function is, which types no longer tell.
    """
    checker.tree.alias_deps[checker.tscope.current_target()].update(names)


def always(checker: TypeChecker) -> None:
    """Have what is being checked checked again at each update, for what no name stands for."""
    if checker.options.fine_grained_incremental:
        target = checker.tscope.current_target()
        have_checked(checker.errors, checker.path, checker.tree.fullname, target)


def have_checked(errors: Errors, path: str, module: str, target: str) -> None:
    """Have the daemon check a function or module at the end of its next update.

    It does that with each that had an error the last time: so this one has, which nobody sees.
    """
    infos = errors.error_info_map.setdefault(path, [])
    if not any(info.target == target for info in infos):
        infos.append(_unseen(module, target))


def _unseen(module: str, target: str) -> ErrorInfo:
    info = ErrorInfo(
        import_ctx=[],
        local_ctx=(None, None),
        line=1,
        column=0,
        end_line=1,
        end_column=1,
        severity="note",
        message="",
        code=None,
        blocker=False,
        only_once=False,
        module=module,
        target=target,
    )
    info.hidden = True
    return info
