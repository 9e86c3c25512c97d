"""`trace`: runs a program and writes down each op with its shapes and names."""

from __future__ import annotations

import functools
import linecache
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, ParamSpec

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from shapecheck.runtime import settings
from shapecheck.runtime.boundary import frames
from shapecheck.runtime.decorate.following import followed
from shapecheck.runtime.decorate.watching import checked, watch
from shapecheck.runtime.errors import ShapeError, own_fault
from shapecheck.runtime.folders import lies_in
from shapecheck.runtime.internals import DisableTorchFunction, pop_mode, push_mode
from shapecheck.runtime.naming import ops
from shapecheck.runtime.naming.arguments import tensors_in
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.mode import thread_mode
from shapecheck.runtime.naming.records import sizes_of
from shapecheck.runtime.source import is_users
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import ModuleRecord, OpRecord, TensorRecord

P = ParamSpec("P")
_is_ours: Final = lies_in(str(Path(__file__).parents[2]))
_is_command: Final = lies_in(str(Path(__file__).parents[2] / "cli"))


def trace(function: Callable[P, Any], *, catch: bool = False) -> Callable[P, Trace]:
    """Return a function that runs another, or a module, and returns a record of all its torch ops.

        record = shapecheck.trace(model)(tokens)
        print(record)

    Names are those of the annotations: of what is decorated, of the function itself, and of each
    `forward` in a module, which is watched meanwhile (see `watch`); and those that `named` gave to
    tensors before. It works on the meta device, so that no memory and no weights are needed.

    What the function raises goes through, `ShapeError` included; with `catch` it ends the record,
    whose `error` it is, and that of the op that raised it. Under `SHAPECHECK=off` there are shapes
    without names.
    """

    @functools.wraps(function, updated=())
    def traced(*args: P.args, **kwargs: P.kwargs) -> Trace:
        record, error = recorded(function)(*args, **kwargs)
        if error is not None and not catch:
            raise error.with_traceback(_outside(error))
        return record

    return traced


def recorded(function: Callable[P, Any]) -> Callable[P, tuple[Trace, Exception | None]]:
    """Return a function that runs another, and gives the record of it and what it raised."""

    def run_recorded(*args: P.args, **kwargs: P.kwargs) -> tuple[Trace, Exception | None]:
        recorder = _Recorder(function)
        try:
            with ExitStack() as stack:
                run = _named(function, stack)
                stack.enter_context(_names_below())
                stack.enter_context(recorder.modules())
                stack.enter_context(recorder)
                run(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the record
            recorder.record.error = _said(error)
            _leave_out_failed(recorder.record, recorder.record.error)
            return recorder.record, error
        _leave_out_failed(recorder.record, "")
        return recorder.record, None

    return run_recorded


def _leave_out_failed(record: ModuleRecord, error: str) -> None:
    """Leave out the ops that raised something else: the program has caught that, and went on."""
    record.calls = [
        call for call in record.calls if isinstance(call, ModuleRecord) or call.error in ("", error)
    ]
    for call in record.calls:
        if isinstance(call, ModuleRecord):
            _leave_out_failed(call, error)


def _said(error: Exception) -> str:
    """Return what is told of an error: of ours, without its name."""
    return str(error) if isinstance(error, ShapeError) else f"{type(error).__name__}: {error}"


def _outside(error: Exception) -> types.TracebackType | None:
    """Return the traceback of an error from the function on that was called."""
    return None if error.__traceback__ is None else error.__traceback__.tb_next


def _named(function: Callable[..., Any], stack: ExitStack) -> Callable[..., Any]:
    """Return what to call so that names are carried through a function."""
    owner = getattr(function, "__self__", function)
    if isinstance(owner, nn.Module):
        stack.enter_context(watch(owner))
    mode = settings.mode()
    if isinstance(function, nn.Module) or mode is settings.Mode.OFF:
        return function
    full = mode is settings.Mode.FULL
    written = getattr(function, "__func__", function)
    inner = checked(written, full, {}) if isinstance(written, types.FunctionType) else None
    if inner is not None:
        function = inner if written is function else types.MethodType(inner, owner)
    return followed(function) if full else function


@contextmanager
def _names_below() -> Iterator[None]:
    """Have the mode that carries names called by ours, so that ops are named when we look."""
    mode = thread_mode()
    if frames.is_active(mode):
        yield
        return
    push_mode(mode)
    try:
        yield
    finally:
        pop_mode()


class _Recorder(TorchFunctionMode):
    """Writes down the ops and the module calls of one thread."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        kind = type(function) if isinstance(function, nn.Module) else function
        self.record = Trace("", str(getattr(kind, "__qualname__", type(function).__qualname__)))
        self.open: list[ModuleRecord] = [self.record]
        self.paths: dict[int, str] = {}
        self.counted: dict[int, torch.Tensor] = {}
        self.buffers: dict[int, torch.Tensor] = {}
        self.numbers = WeakIdKeyDictionary()
        self.last = 0
        self.raised: Exception | None = None
        self.thread = threading.get_ident()
        if isinstance(function, nn.Module):
            self.paths = {id(module): path for path, module in function.named_modules()}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        try:
            result = func(*args, **(kwargs or {}))
        except Exception as error:
            self.fail(func, args, kwargs or {}, error)
            raise
        if func not in _SILENT:
            with DisableTorchFunction():
                try:
                    self.op(func, args, kwargs or {}, result)
                except Exception as error:  # noqa: BLE001 - a defect here must not break the call
                    own_fault("to record an op", error)
        return result

    def fail(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
    ) -> None:
        """Write down an op that raises, unless one inside of it has."""
        if self.raised is error:
            return
        self.raised = error
        with DisableTorchFunction():
            try:
                given = [self.tensor(one, False) for one in tensors_in((*args, *kwargs.values()))]
                self.add(func, given, [], _said(error))
            except Exception as fault:  # noqa: BLE001 - a defect here must not hide the error
                own_fault("to record an op", fault)

    def op(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Write down an op whose result, or what it writes into, is a tensor."""
        made = list(tensors_in(result if result is not None else args[:1]))
        if not made:
            return
        given = list(tensors_in((*args, *kwargs.values())))
        held = {_storage(tensor) for tensor in given}
        self.add(
            func,
            [self.tensor(tensor, allocated=False) for tensor in given],
            [self.tensor(tensor, _storage(tensor) not in held) for tensor in made],
        )

    def add(
        self, func: Any, given: list[TensorRecord], made: list[TensorRecord], error: str = ""
    ) -> None:
        """Write down an op with what it was given and what it made, or raised."""
        dotted = ops.dotted_names().get(func) or _spelled(func)
        name = dotted.rpartition(".")[2].strip("_")
        inside = self.open[-1]
        inside.calls.append(
            OpRecord(inside.path, name, dotted, tuple(given), tuple(made), *_line(), error)
        )

    def tensor(self, tensor: torch.Tensor, allocated: bool) -> TensorRecord:
        """Write down a tensor."""
        parameter = isinstance(tensor, nn.Parameter) or id(tensor) in self.buffers
        return _tensor(tensor, allocated, self.number(tensor), parameter)

    def number(self, tensor: torch.Tensor) -> int:
        """Return the number of a tensor, a new one where it is new."""
        found: int | None = self.numbers.get(tensor)
        if found is None:
            self.last = found = self.last + 1
            self.numbers[tensor] = found
        return found

    @contextmanager
    def modules(self) -> Iterator[None]:
        """Write down the calls of modules, too."""
        before = register_module_forward_pre_hook(self.enter)
        after = register_module_forward_hook(self.leave, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def enter(self, module: nn.Module, args: Any) -> None:
        """Open the record of a module."""
        if threading.get_ident() != self.thread:
            return
        with DisableTorchFunction():
            found = ModuleRecord(self.path(module), type(module).__qualname__)
            self.buffers.update((id(buffer), buffer) for buffer in module.buffers())
            for parameter in module.parameters():
                found.parameters += parameter.numel()
                found.parameter_bytes += parameter.numel() * parameter.element_size()
                if id(parameter) not in self.counted:
                    self.counted[id(parameter)] = parameter
                    self.record.parameters += parameter.numel()
                    self.record.parameter_bytes += parameter.numel() * parameter.element_size()
        self.open[-1].calls.append(found)
        self.open.append(found)

    def leave(self, module: nn.Module, args: Any, result: Any) -> None:
        """Close the record of a module."""
        if threading.get_ident() == self.thread:
            self.open.pop()

    def path(self, module: nn.Module) -> str:
        """Return a module's path from what is traced; one from elsewhere begins with its class."""
        if id(module) not in self.paths:
            kind = type(module).__qualname__.rpartition(".")[2]
            for path, inner in module.named_modules():
                self.paths.setdefault(id(inner), f"{kind}.{path}" if path else kind)
        return self.paths[id(module)]


_SILENT: Final[frozenset[Any]] = frozenset(
    getattr(torch.Tensor, name).__get__ for name in ("grad", "data", "_base")
)
"""What gives a tensor but is no op."""


def _tensor(tensor: torch.Tensor, allocated: bool, number: int, parameter: bool) -> TensorRecord:
    sizes = sizes_of(tensor) or ()
    known = None if state.frame is None else state.frame.of(tensor)
    names: tuple[str | None, ...] = (None,) * len(sizes)
    if known is not None and known.sizes == sizes:
        names = tuple(None if isinstance(dim, int) else str(dim) for dim in known.dims)
    size = tensor.numel() * tensor.element_size()
    dtype = str(tensor.dtype).removeprefix("torch.")
    device = str(tensor.device)
    return TensorRecord(sizes, names, dtype, device, size, size * allocated, number, parameter)


def _storage(tensor: torch.Tensor) -> object:
    """Return what two tensors have in common that share their memory."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse tensors have none
        return id(tensor)


def _spelled(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") == "__get__" and owner is not None:
        function = owner
    return str(getattr(function, "__name__", function))


def _is_outside(code: types.CodeType) -> bool:
    """Whether code isn't that of a command of ours, which runs a model that has no code itself."""
    return not _is_ours(code.co_filename)


def _line() -> tuple[str, int, str]:
    """Return the innermost line of the user's: file, line, text; empty where there is none.

    What began a command of ours isn't the user's code.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not (is_users(frame.f_code) and _is_outside(frame.f_code)):
        frame = None if _is_command(frame.f_code.co_filename) else frame.f_back
    if frame is None:
        return "", 0, ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    return file, line, linecache.getline(file, line).strip()
