"""The models that are run, and what each is given.

A family is what makes a list of models; they are made small and at random, as far as they can be:

- transformers: the classes that it registers for text, pictures and sound, each with its own
  configuration, shrunk by what the sizes in it are called;
- timm: five architectures of each of its files, the smallest first;
- torchvision: two of each of its files, which classify, segment, detect, or take films or the two
  pictures of a flow;
- vit_pytorch: the vision transformers that take pictures or films.
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
FRAMES: Final = 8

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
    "input": "batch channels height width",
    "image1": "batch channels height width",
    "image2": "batch channels height width",
}
FILM: Final = "batch channels frames height width"


def axes_of(given: Inputs) -> dict[str, str]:
    """Return the names of the axes of what a model is given."""
    return {name: FILM if one.dim() == 5 else AXES[name] for name, one in given.items()}


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
    area = int(height * sizes.higher), int(width * sizes.wider)
    channels = getattr(config, "num_channels", None) or getattr(config, "in_channels", None) or 3
    picture = numbers(batch, channels, *area)
    long = int(FRAMES * sizes.higher)
    bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", None) or 80
    positions = getattr(config, "max_source_positions", None)
    frames = 2 * positions if positions else sizes.frames
    tried: list[tuple[tuple[str, int], ...]] = []
    for found in (
        only(input_ids=ids()),
        only(input_ids=ids(), decoder_input_ids=ids()),
        only(pixel_values=picture),
        only(input_ids=ids(), pixel_values=picture),
        only(x=picture),
        only(img=picture),
        only(input=picture),
        only(x=numbers(batch, channels, long, *area)),
        only(video=numbers(batch, channels, long, *area)),
        only(video=numbers(batch, channels, FRAMES, *area)),
        only(image1=picture, image2=numbers(batch, channels, *area)),
        only(input_values=numbers(batch, sizes.samples)),
        only(input_features=numbers(batch, bins, frames)),
        only(input_features=numbers(batch, bins, frames), decoder_input_ids=ids()),
        only(input_features=numbers(batch, frames, bins)),
    ):
        kind = tuple((name, one.dim()) for name, one in found.items())
        if found and (kind not in tried or {"input_features", "video"} & found.keys()):
            tried.append(kind)
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
    """A few architectures of each file of timm, the smallest by what they are called."""
    _stand_in("torchvision")
    import timm

    files: dict[str, list[str]] = {}
    for name in timm.list_models():
        files.setdefault(timm.models._registry._model_to_module[name], []).append(name)
    return [Model(name, _Timm(name)) for name in _smallest(files, 5)]


def _smallest(files: Mapping[str, Sequence[str]], most: int) -> Iterator[str]:
    """Yield so many models of each file."""
    for names in files.values():
        yield from sorted(names, key=_largeness)[:most]


_SMALL: Final = ("test", "nano", "atto", "femto", "pico", "tiny", "small", "mini", "mobilenet")
_LARGE: Final = ("large", "xlarge", "huge", "giant", "enormous", "gigantic")


def _largeness(name: str) -> tuple[int, int, str]:
    """Say how large a model is, by its name."""
    small = next((at for at, word in enumerate(_SMALL) if word in name), len(_SMALL))
    large = max((at for at, word in enumerate(_LARGE, 1) if word in name), default=0)
    digits = [int(one) for one in re.findall(r"\d+", name)]
    return small + large, sum(digits), name


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


def of_torchvision() -> list[Model]:
    """Two architectures of each file of torchvision, the smallest by what they are called."""
    from torchvision import models

    files: dict[str, list[str]] = {}
    for name in models.list_models():
        if not name.startswith("quantized"):
            files.setdefault(models.get_model_builder(name).__module__, []).append(name)
    return [Model(name, _Torchvision(name)) for name in _smallest(files, 2)]


_DETECTOR: Final = {"min_size": SIDE, "max_size": 2 * SIDE}
_OF_REGIONS: Final = {
    **_DETECTOR,
    "rpn_pre_nms_top_n_train": 30, "rpn_pre_nms_top_n_test": 30,
    "rpn_post_nms_top_n_train": 10, "rpn_post_nms_top_n_test": 10,
    "box_batch_size_per_image": 8, "box_detections_per_img": 4,
}  # fmt: skip
_TORCHVISION: Final[Mapping[str, Mapping[str, Any]]] = {
    "fasterrcnn": _OF_REGIONS,
    "fcos": _DETECTOR,
    "inception": {"aux_logits": False, "init_weights": False},
    "keypointrcnn": _OF_REGIONS,
    "maskrcnn": _OF_REGIONS,
    "retinanet": _DETECTOR,
    "vit": {"image_size": SIDE},
}
"""What models of torchvision are made with, by what their names begin with."""

_SIDES: Final = {"inception": 96, "raft": 128, "video": 32}
"""Sides of pictures, where a model takes none so small, or too long for more."""


@dataclass(frozen=True, slots=True)
class _Torchvision:
    """Makes a model of torchvision."""

    name: str

    def __call__(self) -> nn.Module:
        from torchvision import models

        own = next((o for start, o in _TORCHVISION.items() if self.name.startswith(start)), {})
        builder = models.get_model_builder(self.name)
        backbone = "weights_backbone" in inspect.signature(builder).parameters
        none = {"weights": None} | ({"weights_backbone": None} if backbone else {})
        made: nn.Module = builder(**none, **own)
        kind = builder.__module__.split(".")[2]
        if kind in _AROUND:
            made = _AROUND[kind](made)
        sides = (
            side for word, side in _SIDES.items() if self.name.startswith(word) or word == kind
        )
        made.side = next(sides, SIDE)  # type: ignore[assignment]  # of pictures that it takes
        return made


class Flow(nn.Module):
    """Has a model make the flow between two pictures better twice, and not twelve times."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, image1: Tensor, image2: Tensor) -> Any:
        """Return the flow after each round."""
        return self.inner(image1, image2, num_flow_updates=2)


class Detector(nn.Module):
    """Gives a detector its pictures one by one, and while it learns what is to be found in them."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        """Return what is found in pictures, or what it costs that it isn't."""
        one = {
            "boxes": x.new_tensor([[8.0, 8.0, 40.0, 40.0]]),
            "labels": torch.ones(1, dtype=torch.long, device=x.device),
            "masks": torch.ones((1, *x.shape[-2:]), dtype=torch.uint8, device=x.device),
            "keypoints": x.new_full((1, 17, 3), 20.0),
        }
        return self.inner([*x], [one for _ in x] if self.training else None)


_AROUND: Final[Mapping[str, Callable[[nn.Module], nn.Module]]] = {
    "detection": Detector,
    "optical_flow": Flow,
}
"""What gives models what they want, by the folder of torchvision that they are in."""


def of_vit_pytorch() -> list[Model]:
    """The vision transformers of vit-pytorch that take pictures or films."""
    _stand_in("torchvision")
    import vit_pytorch

    found = []
    for module in pkgutil.iter_modules(vit_pytorch.__path__):
        with contextlib.suppress(ImportError):
            names = vars(importlib.import_module(f"vit_pytorch.{module.name}"))
            for name, cls in names.items():
                if isinstance(cls, type) and issubclass(cls, nn.Module) and name[:1].isupper():
                    is_known = f"{module.name}.{name}" in _VITS
                    if is_known or "image_size" in inspect.signature(cls.__init__).parameters:
                        found.append(Model(f"{module.name}.{name}", _Vit(module.name, name)))
    return found


_USUAL: Final[Mapping[str, Any]] = {
    "image_size": SIDE, "img_size": SIDE, "patch_size": 16, "image_patch_size": 16,
    "channels": 3, "num_classes": 10, "frames": FRAMES, "frame_patch_size": 2,
    "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64, "dim_head": 8, "mlp_mult": 2,
    "cls_depth": 1, "spatial_depth": 1, "temporal_depth": 1, "num_residual_streams": 2,
    "max_tokens_per_depth": (8, 4), "freq_patch_size": 8, "num_slots": 4,
}  # fmt: skip
"""What the transformers of vit-pytorch are made with, by what the parameters are called."""

_ONE_EACH: Final = (1, 1, 1, 1)
_CCT: Final = {
    "embedding_dim": 32, "num_layers": 2, "num_heads": 4, "mlp_ratio": 2, "num_classes": 10,
    "positional_embedding": "learnable",
}  # fmt: skip
_VITS: Final[Mapping[str, Mapping[str, Any]]] = {
    "cct.CCT": _CCT,
    "cct_3d.CCT": {"num_frames": FRAMES, **_CCT},
    "cross_vit.CrossViT": {"sm_dim": 32, "lg_dim": 48, "sm_patch_size": 8},
    "crossformer.CrossFormer": {
        "dim": (32, 48, 64, 96), "depth": _ONE_EACH,
        "global_window_size": (4, 2, 2, 1), "local_window_size": 2,
    },
    "cvt.CvT": {"s3_depth": 2},
    "levit.LeViT": {"depth": 1, "stages": 3, "dim_key": 8, "dim_value": 8},
    "look_vit.LookViT": {"highres_patch_size": 8, "mlp_factor": 2, "cross_attn_heads": 4},
    "max_vit.MaxViT": {"depth": (1, 1), "window_size": 4},
    "max_vit_with_registers.MaxViT": {"depth": (1, 1), "window_size": 4},
    "mobile_vit.MobileViT": {
        "image_size": (SIDE, SIDE), "dims": (32, 40, 48), "channels": [8] * 10 + [16],
        "patch_size": (2, 2), "depths": (1, 1, 1),
    },
    "nest.NesT": {"patch_size": 4, "num_hierarchies": 3, "block_repeats": (1, 1, 1)},
    "pit.PiT": {"depth": (1, 1, 1)},
    "regionvit.RegionViT": {"dim": (32, 48, 64, 96), "depth": _ONE_EACH, "window_size": 2},
    "scalable_vit.ScalableViT": {
        "depth": _ONE_EACH, "heads": (2, 2, 2, 2), "reduction_factor": (8, 4, 2, 1),
        "window_size": (8, 4, None, None),
    },
    "twins_svt.TwinsSVT": {
        f"s{at}_{name}": value
        for at in (1, 2, 3, 4)
        for name, value in (("local_patch_size", 2), ("global_k", 2), ("depth", 1))
    },
}  # fmt: skip
"""What some of them need beside that."""


@dataclass(frozen=True, slots=True)
class _Vit:
    """Makes a model of vit-pytorch."""

    module: str
    name: str

    def __call__(self) -> nn.Module:
        _stand_in("torchvision")
        cls = getattr(importlib.import_module(f"vit_pytorch.{self.module}"), self.name)
        wanted = inspect.signature(cls.__init__).parameters
        usual = {name: value for name, value in _USUAL.items() if name in wanted}
        made: nn.Module = cls(**{**usual, **_VITS.get(f"{self.module}.{self.name}", {})})
        return made


FAMILIES: Final[Mapping[str, Callable[[], list[Model]]]] = {
    "transformers": of_transformers,
    "timm": of_timm,
    "torchvision": of_torchvision,
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
