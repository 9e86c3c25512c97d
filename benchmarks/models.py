"""Runs models that nobody here wrote, with names and without, and says what differs.

    python benchmarks/models.py FAMILY ... [--only WORD ...] [--most N] [--json PATH] [--device D]

FAMILY is transformers, timm or vit_pytorch, each of which has to be installed. Its models are made
small and at random, as far as they can be. Each is called and differentiated twice without names:
where that gives the same, once more with the names of what it is given, `batch`, `time`, `height`.
What it gives, its gradients, what it raises and its warnings must be the same then. Two traces, of
other sizes, say which axes keep a name of the input's, and whether any gets another one where
sizes are others. The ratio is that of the processor time of a call, with names and without, warm.

The exit status is 1 where the names change anything.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import importlib
import importlib.util
import inspect
import json
import multiprocessing
import os
import pkgutil
import re
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import shapecheck
from shapecheck.runtime.tracing.model import Trace

SIZES: Final = ({"batch": 11, "time": 17}, {"batch": 6, "time": 23})
"""Sizes that no model here has of its own, and others."""
SIDE: Final = 64
ROUNDS: Final = 5
LONGEST: Final = 180.0
"""Seconds that a model may take."""

Inputs = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what it is called, and what makes it."""

    name: str
    make: Callable[[], nn.Module]


@dataclass(slots=True)
class Outcome:
    """What came of a model.

    `skipped` is why it was left out, `differs` what the names changed. Of `axes` that have the
    size of an input's, `kept` have a name; `renamed` are the ops some of whose names go by sizes,
    `lost` those that drop one. `ratio` is of processor time.
    """

    name: str
    skipped: str = ""
    differs: list[str] = field(default_factory=list)
    axes: int = 0
    kept: int = 0
    renamed: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    ratio: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("families", nargs="+", choices=FAMILIES, metavar="FAMILY")
    parser.add_argument("--only", nargs="+", default=(), help="models with one of these words")
    parser.add_argument("--most", type=int, help="no more models than these of each family")
    parser.add_argument("--json", type=Path, help="write what came of each model there")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # what cuBLAS needs to be deterministic
    failed, told = False, {}
    for family in arguments.families:
        models = [
            model
            for model in FAMILIES[family]()
            if not arguments.only or any(word in model.name for word in arguments.only)
        ]
        outcomes = []
        for outcome in each(models[: arguments.most], arguments.device, arguments.processes):
            outcomes.append(outcome)
            say(outcome)
        summarize(family, outcomes)
        failed |= any(outcome.differs for outcome in outcomes)
        told[family] = [dataclasses.asdict(outcome) for outcome in outcomes]
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(told, indent=1))
    return int(failed)


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keeps the description as it is written."""


def say(outcome: Outcome) -> None:
    if outcome.skipped:
        print(f"{outcome.name}: skipped, {outcome.skipped}", flush=True)
        return
    share = f"{100 * outcome.kept / outcome.axes:.0f} %" if outcome.axes else "none"
    print(f"{outcome.name}: {share} of {outcome.axes} axes, {outcome.ratio:.2f}x", flush=True)
    for line in outcome.differs:
        print(f"  DIFFERS: {line}", flush=True)
    for told, ops in (("named by sizes", outcome.renamed), ("dropped", outcome.lost)):
        if ops:
            print(f"  {told}: {', '.join(f'{n} {c}' for n, c in ops.most_common(6))}", flush=True)


def summarize(family: str, outcomes: Sequence[Outcome]) -> None:
    run = [outcome for outcome in outcomes if not outcome.skipped]
    print(f"\n{family}: {len(run)} models ran, {len(outcomes) - len(run)} were skipped")
    if not run:
        return
    axes, kept = sum(one.axes for one in run), sum(one.kept for one in run)
    ratios = sorted(one.ratio for one in run)
    print(f"  changed by names: {sum(1 for one in run if one.differs)}")
    print(f"  named by sizes: {sum(1 for one in run if one.renamed)}")
    print(f"  axes of an input's size: {axes:,}, with a name {100 * kept / max(axes, 1):.1f} %")
    below = sum(1 for one in run if one.kept < 0.95 * one.axes)
    print(f"  models with less than 95 %: {below}")
    print(
        f"  processor time of a warm call: median {statistics.median(ratios):.2f}x, "
        f"a tenth more than {ratios[len(ratios) * 9 // 10]:.2f}x, most {ratios[-1]:.2f}x"
    )
    for told, ops in (
        ("dropped most by", sum((one.lost for one in run), Counter[str]())),
        ("named by sizes most by", sum((one.renamed for one in run), Counter[str]())),
        ("skipped for", Counter(one.skipped for one in outcomes if one.skipped)),
    ):
        if ops:
            print(f"  {told}: {', '.join(f'{n} ({c})' for n, c in ops.most_common(8))}")
    print(flush=True)


def each(models: Sequence[Model], device: str, processes: int) -> Iterator[Outcome]:
    """Yield what comes of models, each in a process of its own."""
    context = multiprocessing.get_context("fork" if device == "cpu" else "spawn")
    waiting, running = list(reversed(models)), list[_Running]()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                running.append(_Running(waiting.pop(), device, context))
            for one in [*running]:
                outcome = one.outcome()
                if outcome is not None:
                    running.remove(one)
                    yield outcome
            time.sleep(0.01)
    finally:
        for one in running:
            one.process.kill()


class _Running:
    """A process in which a model runs."""

    def __init__(self, model: Model, device: str, context: Any) -> None:
        self.model = model
        self.until = time.monotonic() + LONGEST
        self.connection, there = context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(model, device, there))
        self.process.start()
        there.close()

    def outcome(self) -> Outcome | None:
        """Return what came of it; None while it runs."""
        if self.connection.poll():
            with contextlib.suppress(EOFError):
                found: Outcome = self.connection.recv()
                self.process.join()
                return found
        if self.process.is_alive() and time.monotonic() < self.until:
            return None
        late = self.process.is_alive()
        self.process.kill()
        self.process.join()
        return Outcome(self.model.name, "too long" if late else "its process ended")


def _run(model: Model, device: str, connection: Connection) -> None:
    torch.set_num_threads(1)
    if device != "cpu":  # whose kernels may add up in any order
        torch.use_deterministic_algorithms(True, warn_only=True)
    gc.disable()
    connection.send(judged(model, device))


def judged(model: Model, device: str) -> Outcome:
    """Run a model with names and without."""
    outcome = Outcome(model.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            made = model.make().to(device)
        except Exception as error:  # noqa: BLE001 - it is told
            outcome.skipped = f"can't be made: {type(error).__name__}"
            return outcome
        given = next((one for one in inputs_of(made, SIZES[0], device) if runs(made, one)), None)
    if given is None:
        outcome.skipped = "no inputs fit"
        return outcome
    annotations = {name: AXES[name] for name in given}
    plain, again = step(made, given), step(made, given)
    if plain.differences(again):
        outcome.skipped = "not the same twice"
        return outcome
    with shapecheck.watch(made, annotations):
        outcome.differs = plain.differences(step(made, given))
    if not outcome.differs:
        try:
            look(made, annotations, given, device, outcome)
        except Exception as error:  # noqa: BLE001 - it is told
            outcome.differs = [f"a trace raises {type(error).__name__}: {_short(error)}"]
        outcome.ratio = ratio(made, annotations, given)
    return outcome


@dataclass(slots=True)
class Step:
    """What a call gives: tensors, how they are held, gradients, what it raises, its warnings."""

    tensors: list[Tensor] = field(default_factory=list)
    holding: str = ""
    gradients: dict[str, Tensor] = field(default_factory=dict)
    raised: str = ""
    warned: Counter[str] = field(default_factory=Counter)

    def differences(self, other: Step) -> list[str]:
        found = []
        if self.raised != other.raised:
            found.append(
                f"raises {other.raised or 'nothing'} in place of {self.raised or 'nothing'}"
            )
        elif self.holding != other.holding:
            found.append(f"gives {other.holding[:200]} in place of {self.holding[:200]}")
        elif not all(map(_same, self.tensors, other.tensors)):
            found.append("gives other numbers")
        elif self.gradients.keys() != other.gradients.keys():
            found.append("other parameters get gradients")
        elif not all(_same(one, other.gradients[name]) for name, one in self.gradients.items()):
            found.append("gives other gradients")
        if self.warned != other.warned:
            found.append(f"warns {other.warned - self.warned or 'less'}")
        return found


def _same(one: Tensor, other: Tensor) -> bool:
    alike = type(one) is type(other) and one.shape == other.shape and one.dtype == other.dtype
    return alike and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def step(model: nn.Module, inputs: Inputs) -> Step:
    """Call a model and differentiate what it gives."""
    found = Step()
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = model(**inputs)
            leaves, holding = pytree.tree_flatten(_plain(result))
            found.tensors = [one for one in leaves if isinstance(one, Tensor)]
            others = [one for one in leaves if not isinstance(one, Tensor)]
            found.holding = f"{type(result).__name__} {holding} {_described(others)}"
            loss = [one.float().mean() for one in found.tensors if one.requires_grad]
            if loss:
                torch.stack(loss).sum().backward()
            named = model.named_parameters()
            found.gradients = {n: p.grad.clone() for n, p in named if p.grad is not None}
            found.tensors = [one.detach().clone() for one in found.tensors]
        except Exception as error:  # noqa: BLE001 - it is told
            found.raised = f"{type(error).__name__}: {_short(error)}"
    found.warned = Counter(f"{one.category.__name__}: {one.message}"[:200] for one in warned)
    return found


def _plain(result: Any) -> Any:
    return dict(result) if isinstance(result, Mapping) else result


def _described(others: Sequence[Any]) -> str:
    numbers = (int, float, str, bool, type(None))
    return str([one if isinstance(one, numbers) else type(one).__name__ for one in others])


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def look(
    model: nn.Module,
    annotations: Mapping[str, str],
    given: Inputs,
    device: str,
    outcome: Outcome,
) -> None:
    """See which axes keep names, and whether they are the same for other sizes."""
    model.eval()
    first = traced(model, annotations, given)
    sizes = {size for name in given for size in given[name].shape} & {*SIZES[0].values()}
    for op in first.ops():
        for result in op.results:
            for size, name in zip(result.shape, result.names, strict=True):
                if size in sizes:
                    outcome.axes += 1
                    outcome.kept += name is not None
                    if name is None:
                        outcome.lost[op.name] += 1
    others = [one for one in inputs_of(model, SIZES[1], device) if one.keys() == given.keys()]
    other = next((one for one in others if runs(model, one)), None)
    if other is None:
        return
    second = traced(model, annotations, other)
    pairs = list(zip(first.ops(), second.ops(), strict=False))
    if [one.function for one, _ in pairs] != [one.function for _, one in pairs]:
        return
    for one, another in pairs:
        for left, right in zip(one.results, another.results, strict=False):
            if any(a != b for a, b in zip(left.names, right.names, strict=False) if a and b):
                outcome.renamed[one.name] += 1


def traced(model: nn.Module, annotations: Mapping[str, str], given: Inputs) -> Trace:
    torch.manual_seed(1)
    with shapecheck.watch(model, annotations), torch.no_grad():
        return shapecheck.trace(model)(**given)


def ratio(model: nn.Module, annotations: Mapping[str, str], given: Inputs) -> float:
    """Return the processor time of a warm call with names, by that of one without."""
    model.eval()
    watch = shapecheck.watch(model, annotations)
    watch.remove()
    with torch.no_grad():
        pairs = []
        for _ in range(ROUNDS + 1):
            without = _seconds(lambda: model(**given))
            with shapecheck.watch(model, annotations):
                model(**given)
                pairs.append((_seconds(lambda: model(**given)), without))
    return min(one for one, _ in pairs[1:]) / min(one for _, one in pairs[1:])


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.process_time() - start


def runs(model: nn.Module, inputs: Inputs) -> bool:
    """Whether a model takes these inputs, without names."""
    torch.manual_seed(1)
    try:
        with torch.no_grad():
            model(**inputs)
    except Exception:  # noqa: BLE001 - others are tried
        return False
    return True


AXES: Final = {
    "input_ids": "batch time",
    "decoder_input_ids": "batch time",
    "attention_mask": "batch time",
    "pixel_values": "batch channels height width",
    "input_values": "batch samples",
    "input_features": "batch features frames",
    "x": "batch channels height width",
    "img": "batch channels height width",
}
"""The names of the axes of what models are given."""


def inputs_of(model: nn.Module, sizes: Mapping[str, int], device: str) -> Iterator[Inputs]:
    """Yield what a model may want to be given, what is likeliest first."""
    batch, length = sizes["batch"], sizes["time"]
    chance = torch.Generator().manual_seed(2)
    known = inspect.signature(model.forward).parameters
    config = getattr(model, "config", None)
    vocabulary = min(int(getattr(config, "vocab_size", None) or 90), 90)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=chance).to(device)

    def ids() -> Tensor:
        return torch.randint(3, vocabulary, (batch, length), generator=chance).to(device)

    def only(**found: Tensor) -> Inputs:
        return {name: one for name, one in found.items() if name in known}

    side = getattr(config, "image_size", None) or getattr(model, "side", None) or SIDE
    height, width = side if isinstance(side, (tuple, list)) else (side, side)
    channels = getattr(config, "num_channels", None) or getattr(config, "in_channels", None) or 3
    picture = numbers(batch, channels, height, width)
    bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", None) or 80
    frames = 2 * (getattr(config, "max_source_positions", None) or 64)
    tried: list[tuple[str, ...]] = []
    for found in (
        only(input_ids=ids()),
        only(input_ids=ids(), decoder_input_ids=ids()),
        only(pixel_values=picture),
        only(input_ids=ids(), pixel_values=picture),
        only(x=picture),
        only(img=picture),
        only(input_values=numbers(batch, 1000)),
        only(input_features=numbers(batch, bins, frames)),
        only(input_features=numbers(batch, bins, frames), decoder_input_ids=ids()),
        only(input_features=numbers(batch, frames, bins)),
    ):
        if found and (tuple(found) not in tried or "input_features" in found):
            tried.append(tuple(found))
            yield found


SMALL: Final[Sequence[tuple[str, int]]] = (
    (r".*vocab_size", 99),
    (r"(max_|n_|d_)?(position_embeddings|positions|max_position_embeddings)", 128),
    (r"max_.*positions?", 128),
    (r"(num_key_value_heads|.*kv_heads|num_kv_heads)", 2),
    (r".*(num|n)_.*heads|.*attention_heads|heads|n_head|num_head", 4),
    (r".*head_dim|.*head_size|d_kv|key_length|v_head_dim|attention_head_size", 8),
    (r".*(num|n)_?.*layers?|.*_layers|depth|n_layer|num_blocks|.*_depth", 2),
    (r"hidden_size|.*hidden_size|d_model|n_embd|.*embed_dim|.*embedding_size|hidden_dim|dim", 32),
    (r".*intermediate_size|.*ffn_dim|d_ff|n_inner|mlp_dim|.*inner_dim|dim_feedforward", 64),
    (r"(num|n)_(local_|routed_|)experts", 4),
    (r"num_experts_per_tok|moe_k|.*top_k", 2),
    (r"(q|kv)_lora_rank", 16),
    (r"qk_rope_head_dim|qk_nope_head_dim", 8),
    (r"image_size|img_size", SIDE),
)
"""What sizes in a configuration become, by what they are called."""


def shrink(config: Any, depth: int = 3) -> Any:
    """Make a configuration of transformers small, as far as its parts go by common names."""
    for name, value in [*vars(config).items()]:
        if hasattr(value, "to_dict") and depth:
            shrink(value, depth - 1)
        elif isinstance(value, int) and not isinstance(value, bool):
            fits = (small for pattern, small in SMALL if re.fullmatch(pattern, name))
            small = next(fits, None)
            if small is not None and value > small:
                _put(config, name, small)
            elif name.endswith("_token_id") and value >= 90:
                _put(config, name, 2)
        elif name in ("layer_types", "layers_block_type", "mlp_layer_types") and value:
            _put(config, name, [*value][:2] if len({*value[:2]}) > 1 else [value[0], value[-1]])
    return config


def _put(config: Any, name: str, value: Any) -> None:
    with contextlib.suppress(Exception):
        setattr(config, name, value)


def of_transformers() -> list[Model]:
    """The model classes that transformers registers, each with its own configuration."""
    import transformers
    from transformers.models.auto import modeling_auto

    transformers.logging.set_verbosity_error()
    found: dict[str, Model] = {}
    for mapping in (
        modeling_auto.MODEL_MAPPING,
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING,
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING,
        modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
        modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING,
        modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING,
    ):
        for config, names in mapping._model_mapping.items():
            for name in [names] if isinstance(names, str) else names:
                kind = mapping._config_mapping[config]
                found.setdefault(name, Model(name, _Transformer(kind, name)))
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Transformer:
    """Makes a model of transformers, small."""

    config: str
    name: str

    def __call__(self) -> nn.Module:
        import transformers

        config = shrink(getattr(transformers, self.config)())
        config.use_cache = False
        made: nn.Module = getattr(transformers, self.name)(config)
        return made


def of_timm() -> list[Model]:
    """A few architectures of each file of timm, the smallest by what they are called last."""
    _stand_in("torchvision")
    import timm

    files: dict[str, list[str]] = {}
    for name in timm.list_models():
        files.setdefault(timm.models._registry._model_to_module[name], []).append(name)
    chosen = (name for names in files.values() for name in sorted(names, key=_largeness)[:4])
    return [Model(name, _Timm(name)) for name in chosen]


_LARGE: Final = ("nano", "atto", "femto", "pico", "tiny", "small", "mini")


def _largeness(name: str) -> tuple[int, int, str]:
    """Say how large a model is, by its name."""
    at = next((at for at, word in enumerate(_LARGE) if word in name), len(_LARGE))
    digits = [int(one) for one in re.findall(r"\d+", name)]
    return at, sum(digits), name


@dataclass(frozen=True, slots=True)
class _Timm:
    """Makes a model of timm."""

    name: str

    def __call__(self) -> nn.Module:
        _stand_in("torchvision")
        import timm

        try:
            made: nn.Module = timm.create_model(self.name, img_size=SIDE)
            made.side = SIDE  # type: ignore[assignment]  # of pictures that it takes
        except TypeError:
            made = timm.create_model(self.name)
            fixed = made.default_cfg.get("fixed_input_size")
            made.side = made.default_cfg["input_size"][-1] if fixed else 96
        return made


def of_vit_pytorch() -> list[Model]:
    """The vision transformers of vit-pytorch that are made with the usual arguments."""
    _stand_in("torchvision")
    import vit_pytorch

    found = []
    for module in pkgutil.iter_modules(vit_pytorch.__path__):
        with contextlib.suppress(ImportError):
            names = vars(importlib.import_module(f"vit_pytorch.{module.name}"))
            for name, cls in names.items():
                if isinstance(cls, type) and issubclass(cls, nn.Module) and name[:1].isupper():
                    if "image_size" in inspect.signature(cls.__init__).parameters:
                        model = Model(f"{module.name}.{name}", _Vit(module.name, name))
                        found.append(model)
    return found


@dataclass(frozen=True, slots=True)
class _Vit:
    """Makes a model of vit-pytorch."""

    module: str
    name: str

    def __call__(self) -> nn.Module:
        _stand_in("torchvision")
        cls = getattr(importlib.import_module(f"vit_pytorch.{self.module}"), self.name)
        sizes = {"image_size": SIDE, "patch_size": 16, "channels": 3, "num_classes": 10}
        widths = {"dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64, "dim_head": 8}
        usual = {**sizes, **widths}
        wanted = inspect.signature(cls.__init__).parameters
        made: nn.Module = cls(**{name: one for name, one in usual.items() if name in wanted})
        return made


FAMILIES: Final[Mapping[str, Callable[[], list[Model]]]] = {
    "transformers": of_transformers,
    "timm": of_timm,
    "vit_pytorch": of_vit_pytorch,
}


def _stand_in(library: str) -> None:
    """Have something that does nothing in the place of a library that isn't installed."""
    from calling import Absent

    class Only(Absent):
        def find_spec(self, fullname: str, *about: Any) -> ModuleSpec | None:
            is_its = fullname.partition(".")[0] == library
            return super().find_spec(fullname, *about) if is_its else None

    if library not in sys.modules and importlib.util.find_spec(library) is None:
        sys.meta_path.append(Only())


if __name__ == "__main__":
    sys.exit(main())
