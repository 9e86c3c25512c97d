"""Lightning: a trainer gives the batches of its loaders to the steps of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.classes import LIGHTNING, find_method
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import attribute, special
from shapecheck.analysis.interpreter.registry import (
    LibraryCall,
    MethodCall,
    Named,
    caller,
    function,
    on,
    stands_for,
)
from shapecheck.analysis.program.model import NOTHING, Dotted, Function, Value
from shapecheck.analysis.program.syntax import is_def, kept_by_node
from shapecheck.analysis.values.model import Instance, Items, Namespace, Ref
from shapecheck.ops import UNKNOWN

_BY_LOADER: Final = {
    "fit": (("train_dataloader", "training_step"), ("val_dataloader", "validation_step")),
    "validate": (("val_dataloader", "validation_step"),),
    "test": (("test_dataloader", "test_step"),),
    "predict": (("predict_dataloader", "predict_step"),),
}
"""By the methods of a trainer: the loaders that it goes over, and the step that takes a batch."""
_OTHER_BATCHES: Final = (
    "on_before_batch_transfer",
    "transfer_batch_to_device",
    "on_after_batch_transfer",
)
"""The methods of a module by which its steps are given something else than a loader has."""
_TRAINERS: Final = (
    *(f"{root}.Trainer" for root in LIGHTNING),
    *(f"{root}.trainer.Trainer" for root in LIGHTNING),
)
_ANY_INDEX: Final = "(index)"


@function(*_TRAINERS)
def _trainer(frame: Frame, call: LibraryCall) -> Value:
    """Return the class in the place of a trainer, of which only the methods are of use."""
    return Dotted(_TRAINERS[0])


@caller(*(f"{trainer}.{name}" for trainer in _TRAINERS for name in _BY_LOADER))
def _run(frame: Frame, call: LibraryCall) -> Value:
    names = (*_LOADERS[call.name], "datamodule")
    given = {name: call.get(at, name) for at, name in enumerate(names, start=1)}
    _go_through(frame, call.name, call.get(0, "model"), given, call.node)
    return UNKNOWN


_LOADERS: Final = {
    "fit": ("train_dataloaders", "val_dataloaders"),
    **dict.fromkeys(("validate", "test", "predict"), ("dataloaders",)),
}
"""The parameters of a trainer's methods that are given loaders, in their order."""


@stands_for("lightning.pytorch.trainer.trainer", *(f"Trainer.{name}" for name in _BY_LOADER))
@stands_for("pytorch_lightning.trainer.trainer", *(f"Trainer.{name}" for name in _BY_LOADER))
def _run_installed(frame: Frame, bound: Named, node: ast.expr) -> Value:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return UNKNOWN
    _go_through(frame, node.func.attr, bound["model"], bound, node)
    return UNKNOWN


def _go_through(
    frame: Frame, method: str, model: Value, bound: Mapping[str, Value], node: ast.Call
) -> None:
    """Give the batches of each loader to its step; loaders that aren't given are asked for."""
    given = [bound.get(name) for name in _LOADERS[method]]
    owner: Value = model
    for one in (*given, bound.get("datamodule")):
        content = frame.state.instance_of(one)
        if content is not None and find_method(content.cls, "setup") is not None:
            owner, given = one, []
    for name in ("prepare_data", "setup"):
        special(frame, owner, name, [method] if name == "setup" else [], node)
    for at, (source, step) in enumerate(_BY_LOADER[method]):
        loader = given[at] if at < len(given) else None
        if loader is None:
            loader = special(frame, owner, source, [], node)
        _steps(frame, model, step, loader, node)


def _steps(frame: Frame, model: Value, step: str, loader: Value, node: ast.Call) -> None:
    """Do what the loop of a trainer does: give a step each batch, and the number of it."""
    content = frame.state.instance_of(model)
    batches = frame.state.content(loader) if isinstance(loader, Ref) else loader
    if content is None or not isinstance(batches, Items) or not frame.alive:
        return
    found = find_method(content.cls, step)
    if found is None or any(find_method(content.cls, name) for name in _OTHER_BATCHES):
        return
    held = {
        _BATCHES: loader,
        _STEP: attribute(frame, model, step, node),
        _ANY_INDEX: dims.unknown(),
    }
    before = {name: frame.state.vars.get(name, NOTHING) for name in (*held, _BATCH)}
    frame.state.vars.update(held)
    frame.run([_loops(node)[_takes(found) - 2]])
    for name, value in before.items():
        frame.state.vars.pop(name, None)
        if value is not NOTHING:
            frame.state.vars[name] = value


def _takes(step: Function) -> int:
    """Return how many arguments a step is given, itself and a batch among them: two or three."""
    return min(max(len(step.node.args.args), 2), 3) if is_def(step.node) else 2


_BATCHES: Final = "(batches)"
_BATCH: Final = "(batch)"
_STEP: Final = "(step)"


@kept_by_node(256)
def _loops(node: ast.AST) -> tuple[ast.For, ast.For]:
    """Return the loops of a trainer that is called somewhere, without and with an index."""
    return _loop(node, _BATCH), _loop(node, _BATCH, _ANY_INDEX)


def _loop(node: ast.AST, *given: str) -> ast.For:
    args: list[ast.expr] = [ast.Name(name, ast.Load()) for name in given]
    call = ast.Expr(ast.Call(ast.Name(_STEP, ast.Load()), args, []))
    loop = ast.For(ast.Name(_BATCH, ast.Store()), ast.Name(_BATCHES, ast.Load()), [call], [])
    for one in ast.walk(loop):
        ast.copy_location(one, node)
    return loop


# Hyperparameters ----------------------------------------------------------------------------------


@on(Instance, "save_hyperparameters")
def _save(frame: Frame, call: MethodCall[Instance]) -> Value:
    _keep(frame, call.owner, call.args)
    return None


@stands_for(
    "lightning.pytorch.core.mixins.hparams_mixin", "HyperparametersMixin.save_hyperparameters"
)
@stands_for(
    "pytorch_lightning.core.mixins.hparams_mixin", "HyperparametersMixin.save_hyperparameters"
)
def _save_installed(frame: Frame, bound: Named, node: ast.expr) -> Value:
    given = bound["args"]
    _keep(frame, bound["self"], given if isinstance(given, tuple) else (UNKNOWN,))
    return None


def _keep(frame: Frame, owner: Value, given: Iterable[Value]) -> None:
    """Hold the arguments of the constructor as `hparams`, or the one thing that is given."""
    here = frame.function
    if here is None or not all(isinstance(one, str) for one in given):
        return
    names = {arg.arg for arg in (*here.node.args.args[1:], *here.node.args.kwonlyargs)}
    kept = {name: value for name, value in frame.state.vars.items() if name in names}
    if isinstance(owner, Ref):
        frame.state.set_attribute(owner, "hparams", frame.state.new(Namespace(kept, whole=False)))
