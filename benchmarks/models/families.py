"""The models that are run, and what each is given.

A family is what makes a list of models; they are made small and at random, as far as they can be.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import Any, Final

import torch
from torch import Tensor, nn

SIDE: Final = 64

Inputs = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what it is called, and what makes it."""

    name: str
    make: Callable[[], nn.Module]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of what models are given; a picture is as many times as high and as wide."""

    batch: int
    time: int
    samples: int
    frames: int
    higher: float = 1
    wider: float = 1
    seed: int = 2


FIRST: Final = Sizes(batch=11, time=19, samples=1000, frames=128)
ANOTHER: Final = Sizes(batch=11, time=19, samples=1000, frames=128, seed=3)
"""The same sizes, with other numbers."""
OTHERS: Final = (
    Sizes(batch=7, time=29, samples=1240, frames=160, higher=1.5, wider=2),
    Sizes(batch=7, time=29, samples=1240, frames=160, higher=2, wider=2),
    Sizes(batch=7, time=29, samples=1000, frames=128),
)
"""What is given to see which axes follow it: as much of it is other as a model takes."""

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


def inputs_of(model: nn.Module, sizes: Sizes, device: str) -> Iterator[Inputs]:
    """Yield what a model may want to be given, what is likeliest first."""
    batch, length = sizes.batch, sizes.time
    chance = torch.Generator().manual_seed(sizes.seed)
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
    picture = numbers(batch, channels, int(height * sizes.higher), int(width * sizes.wider))
    bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", None) or 80
    positions = getattr(config, "max_source_positions", None)
    frames = 2 * positions if positions else sizes.frames
    tried: list[tuple[str, ...]] = []
    for found in (
        only(input_ids=ids()),
        only(input_ids=ids(), decoder_input_ids=ids()),
        only(pixel_values=picture),
        only(input_ids=ids(), pixel_values=picture),
        only(x=picture),
        only(img=picture),
        only(input_values=numbers(batch, sizes.samples)),
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
    import transformers.generation  # here once, and not in each process
    import transformers.modeling_utils
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
    if library in sys.modules or importlib.util.find_spec(library) is not None:
        return
    from calling import Absent

    class Only(Absent):
        def find_spec(self, fullname: str, *about: Any) -> ModuleSpec | None:
            is_its = fullname.partition(".")[0] == library
            return super().find_spec(fullname, *about) if is_its else None

    sys.meta_path.append(Only())
