"""From the command line to a model."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn

from shapecheck.cli._commands import CommandError

_COMPILED: Final = "_orig_mod"
"""Where `torch.compile` keeps the module that it was given."""
_LONG: Final = 200


def load(target: str, device: str) -> Callable[..., Any]:
    """Return what `MODULE:EXPRESSION` means, made on a device.

    A class, or a function that isn't a method, is called without arguments for the model.
    Raises CommandError with the reason where there is none.
    """
    name, colon, expression = target.partition(":")
    if not colon or not name or not expression:
        raise CommandError(f'"{target}" should be MODULE:FACTORY, such as my_model:build')
    module = _imported(name)
    first = expression.partition(".")[0].partition("(")[0].strip()
    if first.isidentifier() and not hasattr(module, first):
        raise CommandError(_no_such(module, name, first))
    try:
        made = _made(expression, module, device)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
        hint = ""
        if isinstance(error, TypeError) and "missing" in str(error) and first == expression:
            hint = f'; give it what it needs: "{name}:{expression}(...)"'
        raise CommandError(f"{expression} failed: {said(error)}{hint}") from None
    if isinstance(made, torch.jit.ScriptModule):
        raise CommandError(
            f"{expression} gives TorchScript, whose ops can't be seen; trace what it was made from"
        )
    made = getattr(made, _COMPILED, made)
    if not callable(made):
        raise CommandError(f"{expression} gives {type(made).__name__}, which can't be called")
    result: Callable[..., Any] = made
    return result


def _made(expression: str, module: ModuleType, device: str) -> Any:
    """Evaluate the expression, and call what it gives if that isn't a model yet.

    Many constructors look at values, such as those of `linspace`, which the meta device hasn't:
    these models are made on the CPU, and then go to the meta device.
    """
    try:
        with torch.device(device):
            return _called(eval(expression, vars(module)))
    except (RuntimeError, NotImplementedError) as error:
        if device != "meta" or "meta" not in str(error):
            raise
        made = _called(eval(expression, vars(module)))
        return made.to(device) if isinstance(made, nn.Module) else made


def _called(made: Any) -> Any:
    return made() if callable(made) and not isinstance(made, nn.Module) else made


def _imported(name: str) -> ModuleType:
    """Import a module by its dotted name, or a file by its path."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return _from_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name.partition(".")[0] == (error.name or "").partition(".")[0]:
            raise CommandError(f"there is no module {error.name} here") from None
        raise CommandError(f"importing {name} failed: {said(error)}") from None
    except CommandError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
        raise CommandError(f"importing {name} failed: {said(error)}") from None


def _from_file(path: Path) -> ModuleType:
    """Import a file, without its package if it can do without."""
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    folder = path.absolute().parent
    sys.path.insert(0, str(folder))
    name = path.stem if path.stem not in sys.modules else f"_traced_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        del sys.modules[name]
        if "relative import" not in str(error):
            raise
        names = [path.stem]
        while (folder / "__init__.py").is_file():
            names.insert(0, folder.name)
            folder = folder.parent
        sys.path.insert(0, str(folder))
        return importlib.import_module(".".join(names))
    return module


def _no_such(module: ModuleType, name: str, first: str) -> str:
    import difflib

    close = difflib.get_close_matches(first, vars(module), n=1)
    hint = f'; did you mean "{close[0]}"?' if close else ""
    return f'{name} has no "{first}"{hint}'


def said(error: BaseException) -> str:
    """Return an error as one line, with the line of the user's that raised it."""
    text = str(error).strip().partition("\n")[0]
    if len(text) > _LONG:
        text = text.partition(". ")[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours, pythons = str(Path(__file__).parents[2]), str(Path(importlib.__file__).parent)
    libraries = ("site-packages", "dist-packages", "<", ours, pythons)
    own = [frame for frame in frames if not any(part in frame.filename for part in libraries)]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
