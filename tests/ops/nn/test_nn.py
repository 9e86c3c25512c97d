"""Linear layers, norms, attention, recurrent layers, losses, against torch."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from op_oracle import agrees, apply, compatible, forward, parse, refusal, show
from torch import nn

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import DType
from shapecheck.signatures import table

FN = "torch.nn.functional."


def check(name: str, *args: Any, **kwargs: Any) -> None:
    agrees(lambda *a, **k: apply(FN + name, *a, **k), getattr(F, name), *args, **kwargs)


def check_module(name: str, init: dict[str, Any], *inputs: Any, **kwargs: Any) -> None:
    def real(*values: Any, **more: Any) -> Any:
        return getattr(nn, name)(**init)(*values, **more)

    agrees(
        lambda *a, **k: forward(f"torch.nn.{name}", ((), init), *a, **k), real, *inputs, **kwargs
    )


@pytest.mark.parametrize("seed", range(40))
def test_linear_and_embedding(seed: int) -> None:
    rng = random.Random(seed)
    x = torch.zeros([rng.choice((2, 3, 4)) for _ in range(rng.randrange(0, 4))])
    check_module("Linear", {"in_features": 3, "out_features": 5}, x)
    check("linear", x, torch.zeros(5, rng.choice((3, 4))))
    check("linear", x, torch.zeros(3))
    check_module("Embedding", {"num_embeddings": 9, "embedding_dim": 6}, x.long())
    check("embedding", x.long(), torch.zeros(9, 6))
    check("one_hot", x.long(), 7)
    check_module("Identity", {}, x)
    y = torch.zeros([*x.shape[:-1], 4])
    check_module("Bilinear", {"in1_features": 3, "in2_features": 4, "out_features": 2}, x, y)
    check("bilinear", x, y, torch.zeros(2, 3, 4), strict=False)
    check("glu", x, rng.randrange(-3, 3))
    check("cosine_similarity", x, x, rng.randrange(-3, 3))
    check("pairwise_distance", x, x, keepdim=rng.random() < 0.5)
    check("gumbel_softmax", x, dim=rng.randrange(-2, 2))


@pytest.mark.parametrize("name", [n for n in dir(nn) if hasattr(getattr(nn, n), "forward")])
def test_activations_and_dropout_keep_the_shape(name: str) -> None:
    cls = getattr(nn, name)
    if cls.__module__ not in ("torch.nn.modules.activation", "torch.nn.modules.dropout"):
        return
    special = {
        "Threshold": {"threshold": 1.0, "value": 0.0},
        "Softmax": {"dim": -1},
        "LogSoftmax": {"dim": 1},
        "Softmin": {"dim": 0},
        "MultiheadAttention": None,
    }
    init = special.get(name, {})
    if init is None:
        return
    for shape in ((2, 4, 4, 4), (2, 4, 4)):
        check_module(name, init, torch.zeros(shape), strict=False)


@pytest.mark.parametrize("seed", range(30))
def test_norms(seed: int) -> None:
    rng = random.Random(seed)
    x = torch.rand([rng.choice((2, 3, 4)) for _ in range(rng.randrange(1, 6))])
    wanted = rng.choice(([*x.shape[-rng.randrange(1, 3) :]], 3, [4], [3, 4]))
    check_module("LayerNorm", {"normalized_shape": wanted}, x)
    check_module("RMSNorm", {"normalized_shape": wanted}, x)
    check("layer_norm", x, wanted if isinstance(wanted, list) else [wanted])
    for count in (1, 2, 3):
        check_module(f"BatchNorm{count}d", {"num_features": 3}, x)
        affine = rng.random() < 0.5
        check_module(f"InstanceNorm{count}d", {"num_features": 3, "affine": affine}, x)
    groups = rng.choice((1, 2, 3))
    check("group_norm", x, groups)
    check("group_norm", x, 1, torch.zeros(3))
    check_module("GroupNorm", {"num_groups": groups, "num_channels": rng.choice((3, 4))}, x)
    check("batch_norm", x, torch.zeros(3), torch.ones(3))


@pytest.mark.parametrize("seed", range(40))
def test_attention(seed: int) -> None:
    rng = random.Random(seed)
    lead = rng.choice(([], [2], [2, 4]))
    q, k = torch.zeros(*lead, 5, 8), torch.zeros(*lead, 6, rng.choice((8, 8, 8, 7)))
    v = torch.zeros(*lead, rng.choice((6, 6, 6, 5)), 9)
    mask = rng.choice(
        (
            None,
            torch.zeros(5, 6),
            torch.zeros(6, 6),
            torch.zeros(*lead, 1, 6),
            torch.zeros(5, 6, dtype=torch.bool),
        )
    )
    check("scaled_dot_product_attention", q, k, v, mask)
    if len(lead) == 2:
        fewer = torch.zeros(2, rng.choice((2, 3)), 6, 8)
        agrees(
            lambda *a: apply(FN + "scaled_dot_product_attention", *a, enable_gqa=True),
            lambda *a: F.scaled_dot_product_attention(*a, enable_gqa=True),
            q,
            fewer,
            fewer,
        )
    first = rng.random() < 0.5
    init = {
        "embed_dim": 8,
        "num_heads": rng.choice((2, 4, 3)),
        "batch_first": first,
        "kdim": rng.choice((None, 8, 7)),
        "vdim": rng.choice((None, 9)),
    }
    q = torch.zeros(*lead, 5, rng.choice((8, 8, 9)))
    check_module("MultiheadAttention", init, q, k, v)
    init.update(kdim=None, vdim=None)
    options = {"need_weights": rng.random() < 0.5, "average_attn_weights": rng.random() < 0.5}
    check_module("MultiheadAttention", init, q, q, q, **options)
    rows = 2 * lead[0] if lead else 2
    for shape in ((5, 5), (4, 5), (rows, 5, 5), (rows + 1, 5, 5), (rows, 5, 4), (5,)):
        check_module("MultiheadAttention", init, q, q, q, attn_mask=torch.zeros(shape))
    batch = q.shape[0 if first else 1] if lead else 1
    for shape in ((batch, 5), (5, batch), (5,), (4,), (batch, 5, 5)):
        check_module("MultiheadAttention", init, q, q, q, key_padding_mask=torch.zeros(shape))
    batch = q.shape[0 if first else 1] if lead else 1
    for shape in ((batch, 5), (5, batch), (5,), (4,), (batch, 5, 5)):
        check_module("MultiheadAttention", init, q, q, q, key_padding_mask=torch.zeros(shape))


def test_attention_with_an_output_of_another_size() -> None:
    q, weight = torch.zeros(5, 2, 8), torch.zeros(24, 8)
    options = {
        "in_proj_weight": weight,
        "in_proj_bias": None,
        "bias_k": None,
        "bias_v": None,
        "add_zero_attn": False,
        "dropout_p": 0.0,
        "out_proj_weight": torch.zeros(6, 8),
        "out_proj_bias": None,
    }
    made, _ = F.multi_head_attention_forward(q, q, q, 8, 2, **options)
    x, wide = parse("l n 8"), {**options, "out_proj_weight": parse("6 8")}
    found, _ = apply(FN + "multi_head_attention_forward", x, x, x, 8, 2, **wide)
    assert show(found) == "l n 6"
    assert made.shape == (5, 2, 6)


def test_transformers() -> None:
    x, y = torch.zeros(5, 2, 8), torch.zeros(6, 2, 8)
    init = {"d_model": 8, "nhead": 2, "dim_feedforward": 4}
    check_module("TransformerEncoderLayer", init, x)
    check_module("TransformerDecoderLayer", init, x, y)
    check_module("TransformerEncoderLayer", init, torch.zeros(5, 2, 9))
    small = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    check_module("Transformer", {**init, **small}, x, y)


@pytest.mark.parametrize("seed", range(30))
def test_masks_of_transformers(seed: int) -> None:
    rng = random.Random(seed)
    first = rng.random() < 0.5
    batch, t, s, heads = rng.choice(((), (3,))), 4, 5, 2

    def rows(length: int) -> torch.Tensor:
        one = torch.zeros(*batch, length, 8)
        return one if first or not batch else one.transpose(0, 1)

    def masks(prefix: str, length: int, keys: int) -> dict[str, Any]:
        rank = rng.choice((2, 2, 3))
        many = heads * (batch[0] if batch else 1)
        pairs = (many, length, keys) if rank == 3 else (length, keys)
        padding = (*batch, keys)
        if rng.random() < 0.2:
            pairs = rng.choice(((1, *pairs[-2:]), (keys + 1, *pairs[1:]), (length,)))
        if rng.random() < 0.2:
            padding = rng.choice(((keys, *batch), (*batch, keys + 1), (1, *batch, keys)))
        made = {
            f"{prefix}mask": torch.zeros(pairs),
            f"{prefix}key_padding_mask": torch.zeros(padding),
        }
        return {name: mask for name, mask in made.items() if rng.random() < 0.5}

    init = {"d_model": 8, "nhead": heads, "dim_feedforward": 4, "batch_first": first}
    src, tgt = rows(s), rows(t)
    of_src, of_tgt, of_memory = masks("src_", s, s), masks("tgt_", t, t), masks("memory_", t, s)
    check_module("TransformerEncoderLayer", init, src, **of_src)
    check_module("TransformerDecoderLayer", init, tgt, src, **of_tgt, **of_memory)
    small = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    check_module("Transformer", {**init, **small}, src, tgt, **of_src, **of_tgt, **of_memory)


@pytest.mark.parametrize("seed", range(40))
def test_recurrent(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(("RNN", "LSTM", "GRU"))
    init: dict[str, Any] = {
        "input_size": 3,
        "hidden_size": 4,
        "num_layers": rng.choice((1, 2)),
        "batch_first": rng.random() < 0.5,
        "bidirectional": rng.random() < 0.5,
    }
    if name == "LSTM" and rng.random() < 0.3:
        init["proj_size"] = 2
    x = torch.zeros([rng.choice((5, 6)), 2, rng.choice((3, 3, 4))][rng.choice((0, 0, 1)) :])
    check_module(name, init, x)
    cell = {"input_size": 3, "hidden_size": 4}
    check_module(f"{name}Cell", cell, x)
    count = init["num_layers"] * (2 if init["bidirectional"] else 1)
    state = torch.zeros([count, rng.choice((2, 5)), init.get("proj_size", 4)])
    memory = torch.zeros([count, state.shape[1], 4])
    check_module(name, init, x, (state, memory) if name == "LSTM" else state)


@pytest.mark.parametrize("seed", range(40))
def test_losses(seed: int) -> None:
    rng = random.Random(seed)
    shape = [rng.choice((2, 3, 4)) for _ in range(rng.randrange(1, 4))]
    x = torch.rand(shape)
    y = torch.rand(shape)
    if rng.random() < 0.2:
        y = torch.rand([*shape[:-1], rng.choice((2, 3, 4))])
    if rng.random() < 0.1:
        y = torch.rand(shape[1:])
    reduction = rng.choice(("none", "mean", "sum"))
    for name in (
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "kl_div",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "poisson_nll_loss",
    ):
        check(name, x, y, reduction=reduction)
    for name in ("MSELoss", "L1Loss", "BCELoss", "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss"):
        check_module(name, {"reduction": reduction}, x, y)
    target = torch.zeros([*shape[:1], *shape[2:]] if len(shape) > 1 else [], dtype=torch.long)
    if rng.random() < 0.2:
        target = torch.zeros(shape[: rng.randrange(4)], dtype=torch.long)
    for function in ("cross_entropy", "nll_loss"):
        check(function, x, target, reduction=reduction)
    check("cross_entropy", x, y, reduction=reduction)
    check("cross_entropy", x, target.float(), reduction=reduction)
    weight = torch.zeros(shape[min(len(shape) - 1, 1)])
    check("cross_entropy", x, target, weight, reduction=reduction)
    check_module("CrossEntropyLoss", {"reduction": reduction}, x, target)
    check_module("NLLLoss", {"reduction": reduction}, x, target)
    check("triplet_margin_loss", x, y, x, reduction=reduction, strict=False)
    pairs = torch.ones(shape[:-1])
    check("cosine_embedding_loss", x, x, pairs, reduction=reduction, strict=False)
    check("margin_ranking_loss", x, x, torch.ones(shape), reduction=reduction, strict=False)
    check("multilabel_soft_margin_loss", x, y, reduction=reduction, strict=False)


def test_ctc() -> None:
    lengths = torch.tensor([5, 5]), torch.tensor([2, 2])
    for reduction in ("none", "mean"):
        check(
            "ctc_loss",
            torch.zeros(5, 2, 4),
            torch.ones(2, 2, dtype=torch.long),
            *lengths,
            reduction=reduction,
        )


def test_bags() -> None:
    init = {"num_embeddings": 9, "embedding_dim": 6}
    check_module("EmbeddingBag", init, torch.zeros(3, 4, dtype=torch.long))
    check_module("EmbeddingBag", init, torch.zeros(7, dtype=torch.long), torch.tensor([0, 2, 5]))


FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("Linear", {"in_features": 3, "out_features": 5}),
    ("Linear", {"in_features": 3, "out_features": 5, "bias": False}),
    ("Bilinear", {"in1_features": 3, "in2_features": 4, "out_features": 2}),
    ("Embedding", {"num_embeddings": 9, "embedding_dim": 6}),
    ("Conv2d", {"in_channels": 4, "out_channels": 6, "kernel_size": (3, 5), "groups": 2}),
    ("ConvTranspose1d", {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "groups": 2}),
    ("LayerNorm", {"normalized_shape": 7}),
    ("LayerNorm", {"normalized_shape": (7, 8)}),
    ("LayerNorm", {"normalized_shape": 7, "elementwise_affine": False}),
    ("LayerNorm", {"normalized_shape": 7, "bias": False}),
    ("GroupNorm", {"num_groups": 2, "num_channels": 8}),
    ("BatchNorm2d", {"num_features": 8}),
    ("PReLU", {"num_parameters": 3}),
    ("LSTMCell", {"input_size": 3, "hidden_size": 4}),
    ("GRUCell", {"input_size": 3, "hidden_size": 4}),
    ("MultiheadAttention", {"embed_dim": 8, "num_heads": 2}),
]


@pytest.mark.parametrize(("name", "init"), FIELDS)
def test_fields_have_the_shapes_of_torchs(name: str, init: dict[str, Any]) -> None:
    cls = table().lookup_class(f"torch.nn.{name}")
    assert cls is not None
    attrs = cls.construct((), init)
    assert attrs is not None
    module = getattr(nn, name)(**init)
    seen = 0
    fields = {
        f for c in (cls, *(table().lookup_class(b) for b in cls.bases)) if c for f in c.fields
    }
    for field in fields:
        real = getattr(module, field)
        seen += 1
        found = cls.attribute(field, attrs)
        wrong = compatible(found, real.detach() if real is not None else None, exact=True)
        assert wrong is None, f"{name}.{field}: {wrong}"
    assert seen


def test_parameters_and_initializers_keep_their_tensor() -> None:
    x = parse("o i")
    assert show(apply("torch.nn.Parameter", x)) == "o i"
    assert show(apply("torch.nn.Buffer", x)) == "o i"
    assert show(apply("torch.nn.init.trunc_normal_", x, std=0.02)) == "o i"
    assert show(apply("torch.nn.init.zeros_", x)) == "o i"


@pytest.mark.parametrize(
    ("name", "init", "shapes", "expected"),
    [
        ("Linear", (64, 10), ("*batch d",), "*batch 10"),
        ("Linear", (64, 10), ("...",), "... 10"),
        ("Embedding", (100, 64), ("b t",), "b t 64"),
        ("LayerNorm", (64,), ("b t d",), "b t d"),
        ("GroupNorm", (8, 64), ("b c h w",), "b c h w"),
        ("LSTM", (3, 4, 2, True, True, 0.0, True), ("b t 3",), ("b t 8", ("4 b 4", "4 b 4"))),
        ("GRU", (3, 4), ("t b i",), ("t b 4", "1 b 4")),
        ("LSTMCell", (3, 4), ("b i",), ("b 4", "b 4")),
        ("MultiheadAttention", (64, 8), ("l b e", "s b e", "s b e"), ("l b e", "b l s")),
        ("CrossEntropyLoss", (), ("b c", "b"), ""),
        ("GLU", (), ("b 2*d",), "b d"),
        ("GLU", (1,), ("b c t",), "b c//2 t"),
        ("TransformerEncoderLayer", (64, 8), ("b t d",), "b t 64"),
    ],
)
def test_names(name: str, init: tuple[Any, ...], shapes: tuple[str, ...], expected: Any) -> None:
    found = forward(f"torch.nn.{name}", (init, {}), *map(parse, shapes))
    assert show(found) == expected


def test_unpacked_results_of_what_is_not_known() -> None:
    output, (state, cell) = forward("torch.nn.LSTM", ((3, 4), {}), UNKNOWN)
    assert output is UNKNOWN
    assert state.shape.dims[0] == 1
    assert cell.shape.dims[-1] == 4


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        (
            "linear",
            ("b t d", "o e"),
            "can't multiply (b t d) by a weight of (o e): "
            'axis -1 is d in "input" and e in "weight"',
        ),
        (
            "scaled_dot_product_attention",
            ("b h t d", "b h s e", "b h s e"),
            "can't attend from (b h t d) to (b h s e) and (b h s e): "
            'axis -1 is d in "query" and e in "key"',
        ),
        (
            "scaled_dot_product_attention",
            ("b h t d", "b h s d", "b h t d"),
            "can't attend from (b h t d) to (b h s d) and (b h t d): "
            'axis -2 is s in "key" and t in "value"',
        ),
        (
            "scaled_dot_product_attention",
            ("b h t d", "b h s d", "b h s d", "s t"),
            "can't mask scores of (b h t s) by (s t): "
            'axis -1 of "attn_mask" is t, where s is expected',
        ),
        (
            "cross_entropy",
            ("b t v", "b t"),
            'can\'t score (b t v) against (b t): the classes are axis 1 of "input" (t), '
            'so "target" is expected to be (b v)',
        ),
        (
            "cross_entropy",
            ("n c", "n"),
            None,
        ),
        (
            "cross_entropy",
            ("n c", "n 1"),
            'can\'t score (n c) against (n 1): the classes are axis 1 of "input" (c), '
            'so "target" is expected to be (n c)',
        ),
        (
            "cross_entropy",
            ("b c h w", "b c"),
            'can\'t score (b c h w) against (b c): the classes are axis 1 of "input" (c), '
            'so class indices have 3 axes (b h w), "target" has 2',
        ),
        (
            "mse_loss",
            ("b 1", "b"),
            "can't compare (b 1) with (b): b is axis -2 on the left and axis -1 on the right, "
            "so every b would meet every b",
        ),
        (
            "binary_cross_entropy",
            ("b 1", "b"),
            'can\'t compare (b 1) with (b): "input" has 2 axes and "target" 1',
        ),
        (
            "binary_cross_entropy",
            ("b c", "b d"),
            'can\'t compare (b c) with (b d): axis 1 is c in "input" and d in "target"',
        ),
        (
            "layer_norm",
            ("b t d", [dims.name("e")]),
            'can\'t normalize (b t d) over (e): axis -1 of "input" is d, where e is expected',
        ),
        (
            "group_norm",
            ("b 10 h w", 4),
            "can't normalize (b 10 h w) in 4 groups: 10 channels (axis 1) aren't divisible by 4",
        ),
        ("glu", ("b 7",), "can't halve (b 7): axis -1 is 7, which 2 doesn't divide"),
    ],
)
def test_errors(name: str, args: tuple[Any, ...], text: str | None) -> None:
    given = [parse(arg) if isinstance(arg, str) else arg for arg in args]
    if text is None:
        apply(FN + name, *given)
        return
    assert refusal(apply, FN + name, *given) == text


@pytest.mark.parametrize(
    ("name", "init", "shapes", "text"),
    [
        (
            "Linear",
            (64, 10),
            ("b 32",),
            'can\'t take (b 32): axis -1 of "input" is 32, where 64 (in_features) is expected',
        ),
        (
            "BatchNorm2d",
            (64,),
            ("b 32 h w",),
            'can\'t take (b 32 h w): axis 1 of "input" is 32, where 64 (num_features) is expected',
        ),
        (
            "BatchNorm2d",
            (64,),
            ("b 64 t",),
            'can\'t take (b 64 t): "input" has 3 axes, where 4 are expected',
        ),
        (
            "LSTM",
            (3, 4),
            ("t b 5",),
            'can\'t take (t b 5): axis -1 of "input" is 5, where 3 (input_size) is expected',
        ),
        (
            "MultiheadAttention",
            (10, 4),
            ("l b e", "l b e", "l b e"),
            "can't attend from (l b e) to (l b e) and (l b e): embed_dim 10 isn't divisible by "
            "4 heads",
        ),
    ],
)
def test_module_errors(
    name: str, init: tuple[Any, ...], shapes: tuple[str, ...], text: str
) -> None:
    assert refusal(forward, f"torch.nn.{name}", (init, {}), *map(parse, shapes)) == text


def test_dtypes() -> None:
    ids = parse("b t", dtypes.INT64)
    assert refusal(forward, "torch.nn.Linear", ((3, 4), {}), ids).endswith(
        'doesn\'t take int64: "input" must be Float or Complex'
    )
    assert refusal(forward, "torch.nn.Conv2d", ((3, 4, 3), {}), parse("b 3 h w", dtypes.INT64)) == (
        'doesn\'t take int64: "input" must be Float'
    )
    floats = parse("b t", dtypes.of("float32"))
    assert refusal(forward, "torch.nn.Embedding", ((9, 4), {}), floats).endswith(
        'doesn\'t take float32: "input" must be Int'
    )
    assert refusal(apply, FN + "cross_entropy", parse("b c"), parse("b", dtypes.of("float32"))) == (
        'can\'t score (b c) against (b): "target" is float32, class indices are Int'
    )
    half = parse("b 3", dtypes.of("bfloat16"))
    assert forward("torch.nn.Linear", ((3, 4), {}), half).dtype == dtypes.of("bfloat16")


@pytest.mark.parametrize(
    ("name", "real", "others", "reason"),
    [
        ("torch.softmax", torch.softmax, (-1,), '"input" must be Float or Complex'),
        ("torch.linalg.inv", torch.linalg.inv, (), '"input" must be Float or Complex'),
        ("torch.linalg.svd", torch.linalg.svd, (), '"input" must be Float or Complex'),
        ("torch.std", torch.std, (), '"input" must be Float or Complex'),
        ("torch.norm", torch.norm, (), '"input" must be Float'),
        (FN + "normalize", F.normalize, (), '"input" must be Float or Complex'),
        (FN + "layer_norm", F.layer_norm, ((3,),), '"input" must be Float'),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_integers_are_refused_where_torch_refuses_them(
    name: str, real: Any, others: tuple[Any, ...], reason: str, dtype: str
) -> None:
    said = refusal(apply, name, parse("3 3", dtypes.of(dtype)), *others)
    assert said == f"doesn't take {dtypes.describe(dtypes.of(dtype))}: {reason}"
    with pytest.raises(RuntimeError):
        real(torch.eye(3, dtype=getattr(torch, dtype)), *others)


def test_a_dtype_that_is_asked_for_makes_integers_floats() -> None:
    ids = parse("b t", dtypes.INT64)
    float64 = DType(dtypes.of("float64"))
    assert apply("torch.softmax", ids, -1, dtype=float64) == parse("b t", dtypes.of("float64"))


def test_a_loss_of_integers_needs_floats_beside_them() -> None:
    ids = parse("b t", dtypes.INT64)
    assert refusal(apply, FN + "mse_loss", ids, ids) == (
        "can't compare (b t) with (b t): neither holds floating elements: they are int64"
    )
    assert apply(FN + "mse_loss", parse("b t"), ids).shape.dims == ()
    apply(FN + "poisson_nll_loss", ids, ids)


def test_a_product_of_integers_and_floats_is_refused() -> None:
    ids, floats = parse("b d", dtypes.INT64), parse("d e", dtypes.of("float32"))
    reason = "the elements are int64 and float32"
    assert refusal(apply, FN + "linear", ids, parse("e d", dtypes.of("float32"))) == (
        f"can't multiply (b d) by a weight of (e d): {reason}"
    )
    assert refusal(apply, "torch.einsum", "bd,de->be", ids, floats) == (
        f'can\'t sum "bd,de->be": {reason}'
    )
    apply("torch.einsum", "bd,de->bde", ids, floats)
