"""What a recipe that einops makes of a pattern says of the sizes that it gives to torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from shapecheck.runtime.folders import lies_in
from shapecheck.runtime.naming.size_expressions import CallPlace
from shapecheck.runtime.source import EINOPS

_is_of_einops: Final = lies_in(*EINOPS)
_is_layer: Final = lies_in(*(str(Path(folder) / "layers") for folder in EINOPS))
_SPLITTING: Final = "reshape"
_ADDING: Final = "add_axes"


@dataclass(frozen=True, eq=False, slots=True)
class RecipePlace(CallPlace):
    """A call of einops in the source, and which of its axes are in the sizes that torch is given.

    `lengths` are those of the axes that the pattern itself has, or the layer, None elsewhere;
    `words` are the places of those that the call gives by name. `parts` are the axes that each axis
    of the tensor is cut into: those of a given length, and the one that is left. `added` are the
    axes that are put in, by their place. `recipe` is held on to, so that nothing else gets its id.
    """

    recipe: Any = None
    lengths: tuple[int | None, ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    parts: Sequence[tuple[Sequence[int], Sequence[int]]] = ()
    added: Mapping[int, int] = field(default_factory=dict)

    def given(self, axis: int) -> ast.expr | None:
        """Return the expression by which a call gives the length of an axis."""
        names = [name for name, at in self.words.items() if at == axis]
        words = self.call.keywords if isinstance(self.call, ast.Call) else []
        return next((one.value for one in words if one.arg in names), None)


@dataclass(frozen=True, slots=True)
class Applied:
    """A recipe that is just applied: which step of it, and the frame of the user's call."""

    recipe: Any
    step: str
    lengths: Sequence[tuple[str, int]]
    user: FrameType | None

    def place(self, call: CallPlace | None) -> RecipePlace:
        """Return which axes are in the sizes of this step, of a call where it isn't a layer's."""
        recipe, words = self.recipe, self.recipe.axis_name2elementary_axis
        lengths = [one if one >= 0 else None for one in recipe.elementary_axes_lengths]
        if self.user is None:
            for name, length in self.lengths:
                lengths[words[name]] = length
        splits = self.step == _SPLITTING
        shared = () if call is None else (call.call, call.reads, call.index, call.values)
        further = () if call is None else (call.params, call.calls, call.called)
        return RecipePlace(
            *(shared or (None, (), {}, {})),
            *(further or (frozenset[str](), (), {})),
            recipe,
            tuple(lengths),
            {} if self.user is None else words,
            recipe.input_composition_known_unknown if splits else (),
            {} if splits else recipe.added_axes,
        )


def is_of_einops(code: CodeType) -> bool:
    """Whether code is of einops."""
    return _is_of_einops(code.co_filename)


def applied(caller: FrameType) -> Applied | None:
    """Return which recipe is applied, where einops cuts axes or puts some in; else None."""
    step, around = caller.f_code.co_name, caller.f_back
    if around is None or step not in (_SPLITTING, _ADDING):
        return None
    inside = around.f_locals
    recipe, lengths = inside.get("recipe"), inside.get("axes_lengths", inside.get("axes_dims"))
    if not _is_recipe(recipe) or lengths is None:
        return None
    if step == _SPLITTING and caller.f_locals.get("shape") is not inside.get("init_shapes"):
        return None
    frames = [*_of_einops(around)]
    is_layer = any(_is_layer(one.f_code.co_filename) for one in frames)
    return Applied(recipe, step, lengths, None if is_layer else frames[-1].f_back)


def _is_recipe(recipe: Any) -> bool:
    """Whether this is a recipe as it is known here: einops has it for itself."""
    names = "elementary_axes_lengths axis_name2elementary_axis added_axes"
    names += " input_composition_known_unknown"
    return all(hasattr(recipe, name) for name in names.split())


def _of_einops(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and is_of_einops(frame.f_code):
        yield frame
        frame = frame.f_back
