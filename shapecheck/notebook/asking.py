"""How the process is asked that checks cells: nobody waits for it longer than they want to."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import threading
import weakref
from queue import Empty, SimpleQueue
from typing import Final

from shapecheck.notebook.questions import PROGRAM, Answer, Question

_ENDED: Final = Answer(problem="the process that checks cells has ended; %shapecheck on starts it")


class Asking:
    """The process, as the notebook sees it. One thread passes questions on and takes answers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for the cell that runs
        )
        self._questions: SimpleQueue[tuple[int, Question]] = SimpleQueue()
        self._answers: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
        self._number = 0
        weakref.finalize(self, stop, self._process)
        thread = threading.Thread(
            target=_pass_on, args=(self._process, self._questions, self._answers), daemon=True
        )
        thread.start()

    def ask(self, question: Question, seconds: float) -> Answer | None:
        """Ask, and return the answer; None where it takes longer: `late` has it then."""
        self._number += 1
        self._questions.put((self._number, question))
        return self.late(seconds)

    def late(self, seconds: float = 0) -> Answer | None:
        """Return the answer to the last question once it is there."""
        with contextlib.suppress(Empty):
            while True:
                number, answer = self._answers.get(timeout=seconds or None, block=seconds > 0)
                if number == self._number:
                    return answer
        return None

    def stop(self) -> None:
        """End the process."""
        stop(self._process)


def _pass_on(
    process: subprocess.Popen[bytes],
    questions: SimpleQueue[tuple[int, Question]],
    answers: SimpleQueue[tuple[int, Answer]],
) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    while True:
        number, question = questions.get()
        with contextlib.suppress(Empty):
            while True:  # only the last one is of interest
                number, question = questions.get_nowait()
        try:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            answers.put((number, _ENDED))
            return
        answers.put((number, answer))


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, and wait until it has ended."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
