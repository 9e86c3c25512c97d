"""`watch`: what the decorator does, for a model whose code can't be edited.

Nothing is put on the model itself, so that it pickles, copies and prints as before. While a model
is watched, the `forward` of its classes looks whether the instance at hand is one of those that
are: they are checked, and all others go on as they were.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import signature
from itertools import islice
from types import MappingProxyType, TracebackType
from typing import Annotated, Any, Final

import torch
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

from shapecheck import dtypes
from shapecheck.runtime import settings
from shapecheck.runtime.decorate.decorator import MARK, Pending, is_checked
from shapecheck.runtime.decorate.following import followed
from shapecheck.runtime.errors import LOCK
from shapecheck.runtime.settings import stands_aside
from shapecheck.tensor_spec import TensorSpec, parse

Forward = Callable[..., Any]


class Watch:
    """A model that is being watched; leaving its `with` block, or `remove()`, ends that.

    `own` are annotations of its `forward`, `others` those of functions without any of their own.
    """

    def __init__(
        self,
        model: nn.Module,
        own: Mapping[str, Any],
        full: bool,
        others: Mapping[types.FunctionType, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        self._undo: list[Callable[[], None]] = []
        made: dict[types.FunctionType, Forward | None] = {}
        with LOCK:
            for module in model.modules():
                given = own if module is model else {}
                for cls, function in _forwards(module):
                    if given:
                        forward = checked(function, full, given)
                    else:
                        if function not in made:
                            made[function] = checked(function, full, others.get(function, {}))
                        forward = made[function]
                    given = {}
                    if forward is not None:
                        self._put(module, cls, forward)
            if full:
                self._follow(model, vars(model).get("forward"))

    def _put(self, module: nn.Module, cls: type, forward: Forward, first: bool = False) -> None:
        patch = _patches.get(cls)
        if patch is None or vars(cls).get("forward") is not patch.forward:
            patch = _patches[cls] = _Patch(cls)
        self._undo.append(patch.add(module, forward, first))

    def _follow(self, model: nn.Module, own: Forward | None) -> None:
        """Carry the names that are there already through a model that has no annotations."""
        if own is not None:  # another tool's, on the instance
            forward = followed(own)
            vars(model)["forward"] = forward

            def put_back() -> None:
                if vars(model).get("forward") is forward:
                    vars(model)["forward"] = own

            self._undo.append(put_back)
            return
        for cls, function in islice(_forwards(model), 1):
            self._put(model, cls, followed(function), first=True)

    def remove(self) -> None:
        """Stop watching; a second time does nothing."""
        with LOCK:
            while self._undo:
                self._undo.pop()()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def watch(model: nn.Module, annotations: Mapping[str, Any] | None = None) -> Watch:
    """Check a model that can't be edited: the shape annotations of each `forward` inside of it.

        with shapecheck.watch(model, {"tokens": "batch time", "return": "batch time vocab"}):
            model(tokens)

    `annotations` are of the model's own `forward`, by parameter, and `return`: a text, or a type
    such as `Float[Tensor, "batch time"]`. They stand in the place of those that it has. The names
    go on through all modules inside, annotated or not, as in a decorated function; so do those that
    `named` gave to tensors before. Only shapes are checked, no other types.

    Nothing is put on the model: it can be pickled, saved and copied, and a copy isn't watched.
    Without `with`, the model is watched until `remove()` of what is returned. `SHAPECHECK` counts
    as it does for the decorator.

    Raises TypeError for what is no module, or is TorchScript; ValueError where `annotations` has
    a name that is no parameter; `ShapeAnnotationError`. The model then raises `ShapeError`.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"watch takes a torch.nn.Module, not {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise TypeError("watch can't see into TorchScript; watch the module that it was made from")
    own = _read(model, annotations or {})
    mode = settings.mode()
    if mode is settings.Mode.OFF:
        model = nn.Module()
    return Watch(model, own, mode is settings.Mode.FULL)


def _read(model: nn.Module, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return annotations as types. Raises ValueError for one of a parameter that isn't there."""
    names = [*signature(model.forward).parameters, "return"]
    found: dict[str, Any] = {}
    for name, annotation in annotations.items():
        if name not in names:
            known = ", ".join(names)
            raise ValueError(f'watch: "{name}" is none of what forward takes and gives: {known}')
        found[name] = annotation
        if isinstance(annotation, str):
            shape = parse(annotation, f'watch(..., {{"{name}": "{annotation}"}})')
            found[name] = Annotated[torch.Tensor, TensorSpec("Shaped", dtypes.ANY, shape)]
    return found


def _forwards(module: nn.Module) -> Iterator[tuple[type, types.FunctionType]]:
    """Yield the classes that say what a module's `forward` is, the instance's own first."""
    for cls in type(module).__mro__:
        function = vars(cls).get("forward")
        if cls is not nn.Module and isinstance(function, types.FunctionType):
            patch = _patches.get(cls)
            yield cls, function if patch is None else patch.under(function)


def checked(function: types.FunctionType, full: bool, given: Mapping[str, Any]) -> Forward | None:
    """Return a function with checks of its shapes; None without any, or if it has them already.

    `given` are annotations that stand in the place of its own.
    """
    if MARK in vars(function) and not given:
        return None
    original = vars(function)[MARK].function if is_checked(function) else function
    pending = Pending(original, frozenset(), full, {}, given)
    return pending.wrapper() if pending.useful else None


class _Patch:
    """The `forward` of a class while instances of it are watched."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.original: types.FunctionType = vars(cls)["forward"]
        self.watched = watched = WeakIdKeyDictionary()
        original = self.original

        def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if stands_aside() or self not in watched:
                return original(self, *args, **kwargs)
            return watched[self][-1](self, *args, **kwargs)

        self.forward = functools.update_wrapper(forward, original)
        setattr(cls, "forward", self.forward)  # noqa: B010 - to mypy it is no attribute of `type`

    def under(self, function: types.FunctionType) -> types.FunctionType:
        """Return the function that is watched, if it is this patch that stands in its place."""
        return self.original if function is vars(self)["forward"] else function

    def add(self, module: nn.Module, forward: Forward, first: bool) -> Callable[[], None]:
        """Watch a module too; return what ends that. The last of several that are added counts."""
        waiting: list[Forward] = self.watched.setdefault(module, [])
        waiting.insert(0 if first else len(waiting), forward)

        def remove() -> None:
            with suppress(ValueError):
                waiting.remove(forward)
            if not waiting:
                self.watched.pop(module, None)
            if not self.watched and vars(self.cls).get("forward") is self.forward:
                setattr(self.cls, "forward", self.original)  # noqa: B010
                _patches.pop(self.cls, None)

        return remove


_patches: Final[dict[type, _Patch]] = {}
