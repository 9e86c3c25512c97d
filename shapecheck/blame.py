"""What an error is about, for those who act on it: who reads the words is a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Blame:
    """Of what kind an error is, and which annotation it is about.

    `kind`: something can't be done (`operation`), because sizes don't broadcast (`broadcast`), a
    value isn't what its annotation says (`unfit`), or no annotation says that a size is another one
    (`equal`) or a number (`number`), as it has to be. `part` says what the annotation is of, None
    where it is about no one annotation. It is one of `function`, which is called as the program
    calls it there; a class, where it is a field. `name`: of the parameter, field or local, "" where
    it may be any of them. `through`: the lines of the calls in the same module that lead to where
    it goes wrong, innermost first. `names`: the two that would have to be one, where it is about a
    name on either side. `of_rank`: a tensor has another number of axes than its annotation says.
    `inside`: the functions in which it goes wrong and from which calls lead there, in any module:
    the path and the line of each.
    """

    kind: Literal["operation", "broadcast", "unfit", "equal", "number"] = "operation"
    part: Literal["parameter", "result", "yielded", "field", "local"] | None = None
    function: str = ""
    name: str = ""
    through: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    of_rank: bool = False
    inside: tuple[tuple[str, int], ...] = ()


OPERATION: Final = Blame()
"""Of what can't be done, whatever the annotations say."""

BROADCAST: Final = Blame("broadcast")
"""Of sizes that don't broadcast, whatever the annotations say."""

UNFIT: Final = Blame("unfit")
"""Of a value that isn't what is declared, where no one annotation is to blame."""
