"""Annotates modules: proposals from all sources, written, and verified before anything is kept."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import libcst as cst

from shapecheck import spec
from shapecheck.analysis import Options, Source
from shapecheck.analysis.declarations import declaration, speaks
from shapecheck.analysis.inference import Study, study
from shapecheck.analysis.values import Union
from shapecheck.codemod import docstrings, verify
from shapecheck.codemod.comments import Claim, Claims, Comments, given
from shapecheck.codemod.edit import Slot, annotate
from shapecheck.codemod.files import FileProblem, PythonFile, read
from shapecheck.codemod.fitting import contradiction
from shapecheck.codemod.kinds import NONE, TensorType, Type, either, tensors
from shapecheck.codemod.naming import Names, category, proposals
from shapecheck.codemod.project import ProjectHost, module_of
from shapecheck.codemod.recorded import known, propose
from shapecheck.codemod.static import has_tensor, studies, wanted
from shapecheck.codemod.torchtyping import convert
from shapecheck.ops import UNKNOWN, Value
from shapecheck.record.store import Key, Recorded
from shapecheck.shapes import Tensor

SOURCES: Final = ("torchtyping", "comments", "docstrings", "record", "static")
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Proposal:
    """An annotation for a slot, where it comes from, and the line that says so."""

    slot: Slot
    kind: Type
    origin: str
    line: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function whose annotations aren't written, and why."""

    path: Path
    line: int
    function: str
    reason: str


@dataclass(slots=True)
class Changed:
    """A file, its text as it is to become, and the proposals that are in it."""

    file: PythonFile
    text: str
    proposals: list[Proposal]


@dataclass(slots=True)
class Outcome:
    """What annotating has come to: the files that change, what was refused, what can't be read."""

    changed: list[Changed] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    functions: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to annotate: where from, in which style, and whether in spite of complaints."""

    origins: tuple[str, ...] = SOURCES
    style: str = "shapecheck"
    despite_complaints: bool = False
    record: Mapping[Key, Recorded] | None = None
    options: Options = field(default_factory=Options)


def annotate_files(
    paths: Iterable[Path], settings: Settings, advance: Callable[[str], None] = lambda text: None
) -> Outcome:
    """Return what annotating these files comes to; nothing is written.

    `advance` is told of each step.
    """
    outcome = Outcome()
    roots: defaultdict[Path, dict[Path, PythonFile]] = defaultdict(dict)
    for path in paths:
        file = _parsable(path, outcome)
        if file is not None and ("torch" in file.text or "einops" in file.text):
            roots[module_of(path)[1]][path.absolute()] = file
    for root, files in roots.items():
        _Tree(root, files, settings, outcome, advance).annotate()
    return outcome


def _parsable(path: Path, outcome: Outcome) -> PythonFile | None:
    """Read a file; what is wrong with it is added to the outcome."""
    try:
        file = read(path)
        ast.parse(file.text)
    except FileProblem as error:
        outcome.problems.append(str(error))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else 1
        text = error.msg if isinstance(error, SyntaxError) else error
        outcome.problems.append(f"{path}:{line}: can't be parsed: {text}")
    else:
        return file
    return None


class _Tree:
    """The files below one source root."""

    def __init__(
        self,
        root: Path,
        files: dict[Path, PythonFile],
        settings: Settings,
        outcome: Outcome,
        advance: Callable[[str], None],
    ) -> None:
        self.root, self.files, self.settings, self.outcome = root, files, settings, outcome
        self.advance = advance
        self.converts = "torchtyping" in settings.origins
        self.found: dict[Path, dict[Slot, Proposal]] = {}
        self.identifiers: dict[Path, set[str]] = {}
        self.by_name: defaultdict[str, list[tuple[Key, Recorded]]] = defaultdict(list)
        for key, seen in (settings.record or {}).items():
            self.by_name[key.name].append((key, seen))

    def annotate(self) -> None:
        """Propose, write and verify; add what comes of it to the outcome."""
        self.advance(f"reading {self.root.name}")
        self._propose()
        self.advance(f"verifying {self.root.name}")
        texts = self._verified() if not self.settings.despite_complaints else self._texts()
        for path, text in texts.items():
            file = self.files[path]
            if text != file.text:
                kept = list(self.found.get(path, {}).values())
                self.outcome.changed.append(Changed(file, text, kept))

    def _propose(self) -> None:
        host = ProjectHost(self.root)
        sources = {path: self._source(path, file.text) for path, file in self.files.items()}
        options = self.settings.options
        comments = {path: Comments(file.text) for path, file in self.files.items()}
        said: dict[ast.AST, dict[str, Value]] = {}
        first: dict[Path, list[Study]] = {}
        told: dict[ast.AST, dict[str, tuple[Claim, str]]] = {}
        if {"comments", "docstrings"} & set(self.settings.origins) or self.settings.record:
            for path, source in sources.items():
                first[path] = study(source, host, options)
                for one in first[path]:
                    seen = self._recorded(path, one)
                    if seen is not None:
                        open_ = _open_parameters(one)
                        shapes = {n: v for n, v in known(seen, one).items() if n in open_}
                        if shapes:
                            said[one.function.node] = shapes
                    claimed = self._said(comments[path], one)
                    if claimed:
                        told[one.function.node] = claimed
                        claims = {name: claim for name, (claim, _) in claimed.items()}
                        said.setdefault(one.function.node, {}).update(given(claims, one))
        for path, found in studies(sources, host, options, said, first).items():
            self.outcome.functions += len(found)
            nth = _ordinals(found)
            for one in found:
                place = path, one, nth[id(one)]
                self._tell(place, comments[path], told.get(one.function.node, {}))

    def _said(self, comments: Comments, one: Study) -> dict[str, tuple[Claim, str]]:
        """Return what comments and the docstring say of parameters that may be annotated."""
        found: dict[str, tuple[Claim, str]] = {}
        open_ = _open_parameters(one)
        if "comments" in self.settings.origins:
            found |= {n: (c, "comments") for n, c in comments.of(one).params.items() if n in open_}
        if "docstrings" in self.settings.origins:
            for name, claim in docstrings.claims(one).params.items():
                if name in open_:
                    found.setdefault(name, (claim, "docstrings"))
        return found

    def _tell(
        self,
        place: tuple[Path, Study, int],
        comments: Comments,
        told: Mapping[str, tuple[Claim, str]],
    ) -> None:
        """Propose annotations for one function: what is said of it, then what is inferred."""
        path, one, nth = place
        origins = self.settings.origins
        claimed = comments.of(one) if "comments" in origins else Claims()
        code = self._identifiers(path)
        names = Names(one.sizes, claimed.hints, code)

        def add(name: str, kind: Type, origin: str, line: int, local: int = 0) -> None:
            slot = Slot(one.qualname, nth, name, local)
            self.found.setdefault(path, {}).setdefault(slot, Proposal(slot, kind, origin, line))

        for name, (claim, origin) in told.items():
            add(name, _typed(claim.text, one.params[name]), origin, claim.line)
        results = [(claimed.result, "comments")]
        if "docstrings" in origins:
            results.append((docstrings.claims(one).result, "docstrings"))
        allowed = wanted(one)
        seen = self._recorded(path, one)
        for result, origin in results:
            if result is not None and "return" in allowed:
                add("return", _typed(result.text, one.result), origin, result.line)
        for name, (claim, value) in claimed.locals.items():
            kind = _typed(claim.text, one.values.get(value, UNKNOWN))
            add(name, kind, "comments", claim.line, local=1)
        if seen is not None and seen.kinds:
            self._check(path, one, nth, seen)
            open_ = _open_parameters(one)
            some = [*(name for name in one.params if name in open_), *({"return"} & allowed)]
            for name, kind in propose(seen, one, some, code).items():
                add(name, kind, "record", one.function.node.lineno)
        if "static" in origins:
            for name, kind in proposals(one, names, allowed).items():
                add(name, kind, "static", one.function.node.lineno)
            if seen is not None:
                self._check(path, one, nth, seen)

    def _identifiers(self, path: Path) -> set[str]:
        """Return the names in a file: those of dimensions that don't come from its comments."""
        if path not in self.identifiers:
            self.identifiers[path] = set(re.findall(r"[^\W\d]\w*", self.files[path].text))
        return self.identifiers[path]

    def _recorded(self, path: Path, one: Study) -> Recorded | None:
        """Return what is recorded of a function, None if nothing is."""
        if not self.settings.record:
            return None
        file = path.resolve()
        node = one.function.node
        lines = range(node.lineno - 2 * len(getattr(node, "decorator_list", ())), node.lineno + 1)
        for key, seen in self.by_name.get(one.qualname, ()):
            if key.line in lines and file.as_posix().endswith(f"/{key.file.lstrip('/')}"):
                return seen
        return None

    def _check(self, path: Path, one: Study, nth: int, seen: Recorded) -> None:
        """Take back what is proposed for a function if a recorded call doesn't fit it."""
        found = self.found.get(path, {})
        mine = {
            slot.name: proposal.kind
            for slot, proposal in found.items()
            if (slot.function, slot.nth, slot.local) == (one.qualname, nth, 0)
        }
        reason = contradiction(seen, mine)
        if reason is not None:
            self._drop(path, one.qualname, reason)

    def _source(self, path: Path, text: str) -> Source:
        return Source(module_of(path)[0], str(path), text)

    # Verification

    def _verified(self) -> dict[Path, str]:
        """Return the texts with those annotations that draw no complaint."""
        options = self.settings.options
        plain = [(path, self._source(path, file.text)) for path, file in self.files.items()]
        texts = self._texts()
        if all(texts[path] == self.files[path].text for path in texts):
            return texts
        before = verify.complaints(plain, ProjectHost(self.root), options)
        asked = set(self.files)
        for _ in range(_ROUNDS):
            after = [
                (path, self._source(path, texts.get(path, file.text)))
                for path, file in self.files.items()
                if path in asked
            ]
            host = ProjectHost(self.root, texts)
            complaints = verify.new(before, verify.complaints(after, host, options))
            if not complaints:
                if asked == set(self.files):
                    return texts
                asked = set(self.files)  # what was taken back may have kept others quiet
                continue
            dropped = self._refuse(complaints, texts)
            asked = dropped | {one.path for one in complaints}
            texts.update(self._texts(dropped))
        self.found.clear()
        return {}

    def _refuse(self, complaints: Sequence[verify.Complaint], texts: dict[Path, str]) -> set[Path]:
        """Take back the annotations of the functions that complaints are about; return where."""
        dropped = set()
        annotated = {p: {slot.function for slot in found} for p, found in self.found.items()}
        for one in complaints:
            lines = texts.get(one.path, self.files[one.path].text).split("\n")
            around = "\n".join(lines[one.line - 1 - one.offset : one.line])
            for path, function in verify.blamed(one, annotated, (lines[one.line - 1], around)):
                self._drop(path, function, one.message)
                dropped.add(path)
        return dropped

    def _drop(self, path: Path, function: str, reason: str) -> None:
        """Take back what is proposed for a function: first what was inferred for any rank.

        A body may need more axes than the analysis has found out; the rest may hold without.
        """
        slots = [slot for slot in self.found[path] if slot.function == function]
        loose = [slot for slot in slots if _is_loose(self.found[path][slot])]
        if loose and len(loose) < len(slots):
            slots = loose
        elif slots:
            line = self.found[path][slots[0]].line
            shown = self.files[path].path
            self.outcome.refused.append(Refusal(shown, line, function, reason))
        for slot in slots:
            del self.found[path][slot]

    def _texts(self, paths: Collection[Path] | None = None) -> dict[Path, str]:
        """Return the texts of files with all that is proposed at the moment; of all by default."""
        texts = {}
        for path in self.files:
            found = self.found.get(path, {})
            is_old = self.converts and "torchtyping" in self.files[path].text
            if (path not in paths) if paths is not None else not (found or is_old):
                continue
            file = self.files[path]
            kinds = {slot: proposal.kind for slot, proposal in found.items()}
            try:
                text = annotate(file.text, kinds, self.settings.style)
                texts[path] = convert(text, self.settings.style) if self.converts else text
            except cst.ParserSyntaxError as error:
                self.outcome.problems.append(f"{file.path}:{error.raw_line}: can't be parsed")
        return texts


def _is_loose(proposal: Proposal) -> bool:
    """Whether the analysis alone says so, and leaves open how many axes there are."""
    texts = (spec.parse(one.text) for one in tensors(proposal.kind))
    return proposal.origin == "static" and any(text.groups for text in texts)


def _open_parameters(one: Study) -> set[str]:
    """Return the parameters that may be annotated if a text says that they have a shape.

    Where there is numpy, a shape alone doesn't make a tensor.
    """
    says = declaration(one.function)
    arrays = any(root in one.function.module.bindings for root in ("np", "numpy", "jnp", "tf"))
    arguments = one.function.node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    bare = {argument.arg for argument in every if argument.annotation is None} - {"self", "cls"}
    return {
        param.name
        for param in says.params
        if not speaks(param.declared)
        and (
            has_tensor(param.declared)
            or (param.name in bare and (not arrays or param.name in one.bare))
        )
    }


def _typed(text: spec.Spec, value: Value) -> Type:
    """Return the annotation of this shape for a value, which may be None."""
    options = value.options if isinstance(value, Union) else (value,)
    tensor = next((option for option in options if isinstance(option, Tensor)), Tensor.unknown())
    kind = TensorType(category(tensor), str(text))
    return either(kind, NONE) if None in options else kind


def _ordinals(found: Collection[Study]) -> dict[int, int]:
    """Return which one of the functions of its qualified name each is."""
    counts: defaultdict[str, int] = defaultdict(int)
    nth = {}
    for one in found:
        nth[id(one)] = counts[one.qualname]
        counts[one.qualname] += 1
    return nth
