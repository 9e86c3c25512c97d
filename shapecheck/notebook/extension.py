"""Joins the checks to IPython: a cell is checked before it runs, and belongs to the past then."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from typing import Any, Final

from IPython.core.error import InputRejected, UsageError

from shapecheck.ipython import cell_of
from shapecheck.notebook.asking import Asking
from shapecheck.notebook.cells import Cell, plain
from shapecheck.notebook.past import Past
from shapecheck.notebook.questions import Answer, Question
from shapecheck.notebook.shown import Panel, Places, Shown, in_cell
from shapecheck.project.findings import FAULT

_LONGEST_WAIT: Final = 2.0
_FIRST_WAIT: Final = 6.0
"""Seconds that a cell waits for its check; what comes later is shown below its output."""
_LONGEST_PAST: Final = 400
_WARM_UP: Final = "import torch\nfrom torch import nn\nnn.Linear(1, 1)(torch.zeros(1, 1))\n"
_STATES: Final = ("on", "off", "hold")
_SAID: Final = {
    "on": "each cell is checked before it runs",
    "off": "cells aren't checked",
    "hold": "each cell is checked, and one with an error isn't run",
}
_HELD: Final = "The cell wasn't run. %shapecheck on runs cells with errors, too."


class HeldBack(InputRejected):
    """A cell isn't run, for it has an error."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Extension:
    """The checks of one notebook."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._state = "on"
        self._asking: Asking | None = None
        self._wait = _FIRST_WAIT
        self._past = Past()
        self._cell: Cell | None = None
        self._number = 0
        self._values: dict[str, tuple[int, object]] = {}
        self._before: Past | None = None
        self._is_late = self._is_held = False
        self._depth = 0
        self._told: set[str] = set()

    def join(self) -> None:
        """Have IPython call what is here, and begin to read what every check needs."""
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)
        self._shell.ast_transformers.append(self)
        self._shell.register_magic_function(self.magic, "line", "shapecheck")
        self._recall()
        self._start()

    def leave(self) -> None:
        """Leave nothing behind."""
        self._shell.events.unregister("pre_run_cell", self.before)
        self._shell.events.unregister("post_run_cell", self.after)
        self._shell.ast_transformers.remove(self)
        self._shell.magics_manager.magics["line"].pop("shapecheck", None)
        self._stop()

    def magic(self, line: str) -> None:
        """Say whether cells are checked, or change it.

        %shapecheck       what is so
        %shapecheck on    each cell is checked before it runs
        %shapecheck hold  and one with an error isn't run
        %shapecheck off   none is checked
        """
        wanted = line.strip()
        if wanted and wanted not in _STATES:
            raise UsageError(f"%shapecheck takes {', '.join(_STATES)} or nothing, not {wanted!r}")
        if wanted == "off":
            self._stop()
        elif wanted:
            self._start()
        self._state = wanted or self._state
        print(f"shapecheck {self._state}: {_SAID[self._state]}")  # noqa: T201

    def _recall(self) -> None:
        """Take what the cells before this one define and import; what they bind besides is unknown.

        One of them may have failed, or have been run in another way.
        """
        for number, raw in enumerate(self._shell.user_ns.get("_ih", ())[:-1]):
            cell = plain(self._shell.transform_cell(raw), self._shell.transform_cell)
            if cell is not None:
                self._past.add(number, cell.text)
        self._past.shorten(0)

    def _start(self) -> None:
        if self._asking is None:
            self._asking, self._wait = Asking(), _FIRST_WAIT
            self._asking.ask(Question(_WARM_UP, os.getcwd()), 0)  # noqa: PTH109

    def _stop(self) -> None:
        if self._asking is not None:
            self._asking.stop()
        self._asking = None

    # What IPython calls --------------------------------------------------------------------------

    def before(self, info: Any) -> None:
        """Check a cell that is about to run, and show what is found."""
        self._depth += 1
        if self._depth > 1:  # a cell that a cell runs: what it binds is seen afterwards
            return
        self._is_held = self._is_late = False
        self._cell = None
        try:
            self._check(info)
        except Exception as error:  # noqa: BLE001 - the cell runs, whatever is wrong here
            self._fail(error)

    def after(self, result: Any) -> None:
        """Take note of what a cell has done."""
        is_first = self._depth == 0  # the one that loads this extension
        self._depth = max(self._depth - 1, 0)
        if self._depth:
            return
        try:
            if is_first:
                self._see(result.info, result.execution_count or 0)
            if self._is_late and self._asking is not None:
                answer = self._asking.late()
                if answer is not None:
                    self._show(answer)
            self._note(result)
        except Exception as error:  # noqa: BLE001 - the next cell runs, whatever is wrong here
            self._fail(error)

    def visit(self, tree: ast.AST) -> ast.AST:
        """Keep a cell from running that is to be held back, as a transformer of syntax may."""
        if self._is_held and self._depth == 1:
            raise HeldBack(_HELD)
        return tree

    # What there is to do -------------------------------------------------------------------------

    def _see(self, info: Any, number: int) -> None:
        """Take a cell for the one that runs."""
        transformed = info.transformed_cell
        if transformed is None:
            transformed = self._shell.transform_cell(info.raw_cell)
        self._number = number
        self._cell = plain(transformed, self._shell.transform_cell)
        self._values = self._seen()

    def _check(self, info: Any) -> None:
        history = self._shell.history_manager
        # This cell isn't among them yet.
        number = self._shell.execution_count if history is None else len(history.input_hist_raw)
        self._see(info, number)
        if self._cell is None or self._asking is None:
            return
        self._before = self._past.before(self._cell.text)
        question = Question(self._before.text() + self._cell.text, os.getcwd())  # noqa: PTH109
        answer = self._asking.ask(question, self._wait)
        self._wait = _LONGEST_WAIT
        self._is_late = answer is None
        if answer is not None:
            shown = self._show(answer)
            self._is_held = self._state == "hold" and any(one.finding.is_error for one in shown)

    def _show(self, answer: Answer) -> list[Shown]:
        assert self._cell is not None
        assert self._before is not None
        lines = self._cell.text.split("\n")
        here = [(self._number, at) for at in range(1, len(lines) + 1)]
        places = Places([*self._before.places(), *here])
        text = [*self._before.text().split("\n")[:-1], *lines]
        faults = [one.message for one in answer.findings if one.message.startswith(FAULT)]
        reached = self._before.reached(self._cell.text)
        shown = in_cell(answer.findings, places, self._number, text, reached)
        shown = [one for one in shown if one.finding.message not in faults and self._is_new(one)]
        remark = self._once(answer.problem or next(iter(faults), None))
        if shown or remark:
            panel = Panel(shown, remark)
            data = {"text/plain": str(panel), "text/html": panel.markup()}
            self._shell.display_pub.publish(data)
        return shown

    def _is_new(self, shown: Shown) -> bool:
        """Whether something is of this cell, or wasn't said yet of the earlier one that has it."""
        if shown.cell == self._number or any("called" in note for note in shown.finding.notes):
            return True
        key = f"{shown.place}: {shown.finding.message}"
        is_new = key not in self._told
        self._told.add(key)
        return is_new

    def _once(self, problem: str | None) -> str:
        """Return what is to be said of a problem; nothing where it was said before."""
        if problem is None or problem in self._told:
            return ""
        self._told.add(problem)
        return f"shapecheck: cells aren't checked: {problem}"

    def _note(self, result: Any) -> None:
        if self._cell is None or result.error_before_exec is not None:
            return
        before, now = self._values, self._seen()
        same = {name for name, value in now.items() if before.get(name) == value}
        shaped = {name for name in same if now[name][1] is not None}
        failed_at = self._failed_at(result)
        self._past.add(self._number, self._cell.text, failed_at, unaltered=shaped)
        self._past.forget(self._past.names - same - self._past.bound_by(self._number))
        if self._past.length > _LONGEST_PAST:
            self._past.shorten(_LONGEST_PAST // 2)

    def _seen(self) -> dict[str, tuple[int, object]]:
        """Return which values the past's names stand for; of a tensor, its shape besides."""
        values: dict[str, Any] = self._shell.user_ns
        torch = sys.modules.get("torch")
        tensor = () if torch is None else torch.Tensor
        return {
            name: (
                id(values[name]),
                values[name].shape if isinstance(values[name], tensor) else None,
            )
            for name in self._past.names
            if name in values
        }

    def _failed_at(self, result: Any) -> int | None:
        """Return the line of the cell that raised; 0 where it can't be told, None where none."""
        error = result.error_in_exec
        if error is None:
            return None
        entry = error.__traceback__
        while entry is not None:
            if cell_of(entry.tb_frame.f_code.co_filename) == self._number:
                is_as_run = self._cell is not None and self._cell.is_as_run
                return entry.tb_lineno if is_as_run else 0
            entry = entry.tb_next
        return 0

    def _fail(self, error: Exception) -> None:
        kind = f"{type(error).__name__}: {error}"
        if kind not in self._told:
            self._told.add(kind)
            warnings.warn(
                f"shapecheck failed to check a cell ({kind}); please report it", stacklevel=2
            )
