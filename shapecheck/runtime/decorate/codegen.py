"""Writes the code that checks a function's calls: straight-line Python, one program per function.

    def attend(q, k, v):
        ...
        b, n, d = q.shape
        t0, m, t2 = k.shape
        if not isinstance(q, Tensor) or q.dtype not in D0 or ... or t0 != b or t2 != d: raise no
        ...
        r = function(q, k, v)

It has the signature of the function itself, so that Python binds the arguments. It only says that
a call fits; whatever doesn't is looked at again by `checks.bind`, which finds the words. What is
too unusual for such code is remembered instead, by the shapes that were found to fit.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import torch

from shapecheck.runtime.annotations.hints import Hint, MaybeHint, OtherHint, TensorHint
from shapecheck.runtime.annotations.plan import Plan, is_wrapper, says_names
from shapecheck.runtime.boundary import checks, frames, generators
from shapecheck.runtime.compiling import compiled, names_in_trace
from shapecheck.runtime.decorate.codegen_values import Unusual, Writer, parameters
from shapecheck.runtime.internals import (
    FX,
    FX_TRACING,
    HAS_COMPTIME,
    IMPORT_COMPTIME,
    DisableTorchFunction,
    tracing_state,
)
from shapecheck.runtime.settings import paused
from shapecheck.runtime.source import filename_for, told_at_users_line

_NAME: Final = "checked"
_REMEMBERED: Final = 4096
_ARGS: Final = inspect.Parameter.VAR_POSITIONAL
_KWARGS: Final = inspect.Parameter.VAR_KEYWORD


def compile_checks(plan: Plan, full: bool, kind: str) -> types.FunctionType:
    """Return a function that checks a call, makes it, and checks its result.

    `full`: with names carried through the ops. `kind`: `plain`, `async`, `generator` or `async
    generator`; of the last two each item is checked.
    """
    writer = _Program(plan, full and kind == "plain" and says_names(plan), kind)
    writer.write()
    made = _made(plan, writer.lines, _NAME, writer.space)
    made.__code__ = made.__code__.replace(co_name=plan.function.__name__)
    return made


def _made(plan: Plan, lines: Sequence[str], name: str, space: dict[str, Any]) -> types.FunctionType:
    source = "\n".join(lines) + "\n"
    exec(compile(source, filename_for(plan.label), "exec"), space)
    made: types.FunctionType = space[name]
    return made


class _Program(Writer):
    """The code of one function: arguments, the call itself, the result."""

    def __init__(self, plan: Plan, full: bool, kind: str) -> None:
        super().__init__(plan)
        self.full = full
        self.kind = kind
        self.values = "(" + "".join(f"{param.name}, " for param in plan.params) + ")"
        self.binding = f"{self.mark}binding"

    # The whole ---------------------------------------------------------------------------------

    def write(self) -> None:
        plan = self.plan
        head, passed, defaults = parameters(plan.function, self.mark)
        self.space.update(defaults)
        arrange = ""
        if is_wrapper(plan.function):  # which may take other arguments: they go on as they came
            arrange = self.give(self.arranged(head), "arrange")
            head = passed = f"*{self.mark}args, **{self.mark}kwargs"
        function = self.give(plan.function, "function")
        call = f"{function}({passed})"
        if self.kind == "async":
            call = f"await {call}"
        compiling = self.give(torch.compiler.is_compiling, "compiling")
        skip = self.give(paused.get, "paused")
        fx_tracing = FX_TRACING.format(fx=self.give(FX, "fx"))
        jit = self.give(tracing_state, "jit")
        define = "async def" if self.kind.startswith("async") else "def"
        with self.block(f"{define} {_NAME}({head}):"):
            if arrange:
                with self.block("try:"):
                    self.emit(f"{self.values} = {arrange}({passed})")
                with self.block("except TypeError:"):
                    self.deliver(call)
            names = self.full and names_in_trace.uses_names(plan.function)
            with self.block(f"if {compiling}():"):
                held = self.give(names_in_trace.wrapper(plan), "with_names") if names else function
                self.traced(call.replace(function, held, 1))
            pass_by = f"{fx_tracing} or {jit}() is not None"
            with self.block(f"if {pass_by if names else f'{skip}() or {pass_by}'}:"):
                self.deliver(call)
            with self.block("try:"):
                self.arguments()
                self.body(call)
            with self.block(f"except Exception as {self.mark}error:"):
                told = self.give(told_at_users_line, "told")
                self.emit(f"raise {told}({self.mark}error)")

    def arranged(self, head: str) -> types.FunctionType:
        """Return a function that gives the values of the parameters, in order."""
        line = f"def arranged({head}): return {self.values}"
        return _made(self.plan, [line], "arranged", dict(self.space))

    def deliver(self, call: str) -> None:
        """Make the call, and do nothing else."""
        if self.kind == "async generator":
            self.emit(f"{self.mark}checks = None")
            self.emit(f"{self.mark}made = {call}")
            self.delegate()
        elif self.kind == "generator":
            self.emit(f"return (yield from {call})")
        else:
            self.emit(f"return {call}")

    def delegate(self) -> None:
        """Yield what an async generator yields."""
        names = {"made": f"{self.mark}made", "checks": f"{self.mark}checks"}
        names |= {name: f"{self.mark}{name}" for name in ("step", "item", "sent", "thrown")}
        names["partial"] = self.give(partial, "partial")
        for line in generators.DELEGATE.format(**names).strip().splitlines():
            self.emit(line)
        self.emit("return")

    def traced(self, call: str) -> None:
        """Make the call inside of `torch.compile` or `torch.export`."""
        if self.kind != "plain":
            self.deliver(call)
            return
        result, comptime = f"{self.mark}result", f"{self.mark}comptime"
        before, after = compiled.steps(self.plan, result)
        dynamo = self.give(torch.compiler.is_dynamo_compiling, "dynamo")
        with self.block(f"if {dynamo}():"):
            if not HAS_COMPTIME:
                self.deliver(call)
            else:
                self.emit(IMPORT_COMPTIME.format(name=comptime))
                self.emit(f"{comptime}({self.give(before, 'before')})")
                self.emit(f"{result} = {call}")
                self.emit(f"{comptime}({self.give(after, 'after')})")
                self.emit(f"return {result}")
        check, plan = self.give(compiled.check, "check"), self.give(self.plan, "plan")
        self.emit(f"{check}({plan}, {self.values})")
        self.emit(f"{result} = {call}")
        self.emit(f"{check}({plan}, {self.values}, {result})")
        self.emit(f"return {result}")

    def body(self, call: str) -> None:
        result = f"{self.mark}result"
        if not self.full:
            if self.kind.endswith("generator"):
                self.generator(call)
                return
            if self.plan.result is None:
                self.emit(f"return {call}")
                return
            self.emit(f"{result} = {call}")
            self.result(result)
            self.emit(f"return {result}")
            return
        frame = f"{self.mark}frame"
        disable = self.give(DisableTorchFunction, "Disable")
        with self.block(f"with {disable}():"):
            direct = ", ".join(
                param.name
                for param in self.plan.params
                if isinstance(param.hint, TensorHint | MaybeHint)
                and param.kind not in (_ARGS, _KWARGS)
            )
            enter = self.give(frames.enter, "enter")
            plan = self.give(self.plan, "plan")
            self.emit(f"{frame} = {enter}({plan}, {self.values}, [{direct}])")
        with self.block("try:"):
            self.emit(f"{result} = {call}")
        with self.block("finally:"):
            self.emit(f"{self.give(frames.exit, 'exit')}({frame})")
        if self.plan.result is not None:
            with self.block(f"with {disable}():"):
                self.result(result)
                if not isinstance(self.plan.result, OtherHint) or self.plan.result.tensors:
                    leave = self.give(frames.leave, "leave")
                    self.emit(f"{leave}({frame}, {self.values}, {result})")
        self.emit(f"return {result}")

    def generator(self, call: str) -> None:
        """Yield the items of a generator, each checked as it comes."""
        asked = generators.parts(self.plan.result)
        if asked is None:
            self.deliver(call)
            return
        plan, parts = self.give(self.plan, "plan"), self.give(asked, "parts")
        made, checks = f"{self.mark}made", f"{self.mark}checks"
        start = self.give(generators.Checks, "Checks")
        self.emit(f"{made} = {call}")
        self.emit(
            f"{checks} = {start}({plan}, {parts}, {self.values}, {self.bound_code()}, {made})"
        )
        if self.kind == "async generator":
            self.delegate()
        else:
            checked = self.give(generators.checked, "checked_items")
            self.emit(f"return (yield from {checked}({made}, {checks}))")

    def bound_code(self) -> str:
        """Return Python for what the arguments bound."""
        names = ", ".join(f"{self.key(name)}: {self.var(name)}" for name in self.bound)
        groups = ", ".join(f"{name!r}: {self.group(name)}" for name in sorted(self.groups))
        return f"{self.binding} or ({{{names}}}, {{{groups}}})"

    # Arguments ---------------------------------------------------------------------------------

    def arguments(self) -> None:
        """Check all arguments, and bind the names to local variables."""
        hints = [param.hint for param in self.plan.params]
        if all(hint is None for hint in hints) and not self.plan.own:
            self.emit(f"{self.binding} = None")
            return
        start, depth = len(self.lines), self.depth
        if self.full:
            self.emit(f"with {self.give(DisableTorchFunction, 'Disable')}():")
            self.depth += 1
        try:
            if not self.plan.steady or self.plan.own:
                raise Unusual
            self.straight_arguments()
        except Unusual:
            del self.lines[start + self.full :]
            self.depth = depth + self.full
            self.bound.clear()
            self.groups.clear()
            self.pending.clear()
            self.remembered_arguments()
        self.other_arguments()
        self.depth -= self.full

    def straight_arguments(self) -> None:
        fits = f"{self.mark}fits"
        self.emit(f"{fits} = False")
        for name, size in self.plan.fixed.items():
            self.emit(f"{self.var(name)} = {size}")
            self.bound[name] = True
        opening = len(self.lines)
        with self.block("try:"):
            body = len(self.lines)
            hints = [
                (param.name, param.hint)
                for param in self.plan.params
                if isinstance(param.hint, TensorHint | MaybeHint)
            ]
            for name, hint in sorted(hints, key=lambda pair: isinstance(pair[1], MaybeHint)):
                self.value(name, hint)
            self.finish()
            if len(self.lines) == body:
                self.emit("pass")
            self.emit(f"{fits} = True")
        with self.block("except Exception:"):
            self.emit("pass")
        maybe = [name for name, certain in self.bound.items() if not certain]
        for name in maybe:
            self.lines.insert(opening, "    " * self.depth + f"{self.var(name)} = None")
        bind = self.give(checks.bind, "bind")
        plan = self.give(self.plan, "plan")
        self.emit(f"{self.binding} = None if {fits} else {bind}({plan}, {self.values})")

    def remembered_arguments(self) -> None:
        """Look the call up by its shapes, or check it thoroughly."""
        bind = f"{self.give(checks.bind, 'bind')}({self.give(self.plan, 'plan')}, {self.values})"
        key = self.key_of([(param.name, param.hint) for param in self.plan.params])
        if not self.plan.steady or self.plan.own or key is None:
            self.emit(f"{self.binding} = {bind}")
            return
        known = self.give(Remembered(), "known")
        with self.block("try:"):
            self.emit(f"{self.mark}key = {key}")
            self.emit(f"{self.binding} = {known}.get({self.mark}key)")
        with self.block("except Exception:"):
            self.emit(f"{self.binding} = {self.mark}key = None")
        with self.block(f"if {self.binding} is None:"):
            self.emit(f"{self.binding} = {bind}")
            with self.block(f"if {self.mark}key is not None:"):
                self.emit(f"{known}.put({self.mark}key, {self.binding})")

    def other_arguments(self) -> None:
        """Check what is no tensor and has none inside."""
        for param in self.plan.params:
            hint = param.hint
            if not isinstance(hint, OtherHint) or param.kind in (_ARGS, _KWARGS):
                continue
            if hint.tensors or not self.plan.steady or self.plan.own:
                continue
            check = self.give(checks.check_other, "other")
            quick = self.give(hint.quick, "quick")
            plan = self.give(self.plan, "plan")
            with self.block(f"if not isinstance({param.name}, {quick}):"):
                self.emit(f"{check}({plan}, {param.name!r}, {param.name})")

    # Results -----------------------------------------------------------------------------------

    def result(self, result: str) -> None:
        """Check the result, with the names that the arguments bound."""
        hint = self.plan.result
        check = self.give(checks.check_result, "check_result")
        plan = self.give(self.plan, "plan")
        thorough = f"{check}({plan}, {self.values}, {self.bound_code()}, {result})"
        before = dict(self.bound), set(self.groups)
        start, depth = len(self.lines), self.depth
        try:
            if self.plan.own or (isinstance(hint, OtherHint) and hint.tensors):
                raise Unusual
            with self.block(f"if {self.binding} is None:"):
                with self.block("try:"):
                    self.value(result, hint)
                    self.finish()
                    self.emit(f"{self.mark}fits = True")
                with self.block("except Exception:"):
                    self.emit(f"{self.mark}fits = False")
            with self.block("else:"):
                self.emit(f"{self.mark}fits = False")
            with self.block(f"if not {self.mark}fits:"):
                if self.full:  # finds the words, with names
                    leave = self.give(frames.leave, "leave")
                    self.emit(f"{leave}({self.mark}frame, {self.values}, {result})")
                self.emit(thorough)
            for name in self.bound.keys() - before[0].keys():
                if not self.bound[name]:
                    self.lines.insert(start, "    " * depth + f"{self.var(name)} = None")
        except Unusual:
            del self.lines[start:]
            self.depth = depth
            self.pending.clear()
            self.bound, self.groups = before
            self.remembered_result(result, hint, thorough)

    def remembered_result(self, result: str, hint: Hint, thorough: str) -> None:
        is_other = isinstance(hint, OtherHint)
        key = None if self.plan.own or is_other else self.key_of([(result, hint)])
        if key is None:
            self.emit(thorough)
            return
        known = self.give(Remembered(), "results")
        values = [self.var(name) for name in self.bound] + [self.group(g) for g in self.groups]
        with self.block("try:"):
            self.emit(
                f"{self.mark}key = ({self.binding}, {''.join(v + ', ' for v in values)}{key})"
            )
            self.emit(f"{self.mark}seen = {known}.get({self.mark}key)")
        with self.block("except Exception:"):
            self.emit(f"{self.mark}seen = {self.mark}key = None")
        with self.block(f"if {self.mark}seen is None:"):
            self.emit(thorough)
            with self.block(f"if {self.mark}key is not None:"):
                self.emit(f"{known}.put({self.mark}key, True)")


class Remembered:
    """Calls that were found to fit, a bounded number of them."""

    def __init__(self) -> None:
        self.found: dict[object, Any] = {}
        self.get = self.found.get

    def put(self, key: object, value: Any) -> None:
        """Remember a call."""
        if len(self.found) >= _REMEMBERED:
            self.found.clear()
        self.found[key] = value
