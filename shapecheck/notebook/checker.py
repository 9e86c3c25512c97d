"""What the process does that checks the cells of a notebook: module after module, as it is asked.

It is one of its own so that nothing of the notebook's is in its way, or it in the notebook's: the
folder, the limits and the memory of its process, and the modules that are loaded there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from typing import IO

from shapecheck import config
from shapecheck.many_objects import many_objects
from shapecheck.notebook.questions import MODULE, Answer, Question
from shapecheck.project.buffers import Buffer
from shapecheck.project.targets import TargetError
from shapecheck.signatures import StubError


class Checker:
    """Answers questions, one after the other, of whatever folder they are."""

    def __init__(self) -> None:
        self._folder = ""
        self._notebook: Buffer | None = None

    def answer(self, question: Question) -> Answer:
        """Check a text; raises nothing."""
        try:
            if self._notebook is None or question.folder != self._folder:
                os.chdir(question.folder)
                self._notebook, self._folder = Buffer(f"{MODULE}.py", ""), question.folder
            self._notebook.write(question.text)
            return Answer(self._notebook.check())
        except config.ConfigError as error:
            return Answer(problem=f"{error.path}: {error.message}")
        except StubError as error:
            return Answer(problem=f"{error.path}:{error.line}: {error.reason}")
        except (OSError, TargetError) as error:
            return Answer(problem=str(error))
        except Exception as error:  # noqa: BLE001 - the next cell may well be checked
            self._notebook = None
            return Answer(problem=f"internal error, please report: {type(error).__name__}: {error}")


def serve() -> None:
    """Be the process: answer on the standard streams, until nobody asks any more."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever is printed is no answer
    with contextlib.suppress(EOFError, BrokenPipeError), many_objects():
        _serve(questions, answers)


def _serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    checker = Checker()
    while True:
        answer = checker.answer(pickle.load(questions))
        pickle.dump(answer, answers)
        answers.flush()
