"""Transformers, and the layers and stacks of layers that they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from shapecheck.ops.agree import counted, fits_axis, rank_of, size, spell
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, rule
from shapecheck.ops.nn.attention_masks import Masks, Rows
from shapecheck.shapes import Shape, Tensor, mismatch

Attributes = Mapping[str, Value]


@rule("transformer encoder")
def encoder(
    call: Call,
    self: Attributes,
    src: Value,
    src_key_padding_mask: Value = None,
    is_causal: Value = None,
    **rest: Value,
) -> Value:
    """Judge an encoder or a layer of one: the result is as its input, `s b d` or `b s d`."""
    tensor = _learned(call, src)
    name = call.word()
    masks = Masks(
        rest.get(name),
        src_key_padding_mask,
        is_causal,
        pairs_name=name,
        padding_name="src_key_padding_mask",
    )
    layer = _layer(self, "encoder_layer")
    if layer is not None:
        headline = f"can't take {tensor.shape}"
        _fits(call, layer, {"src": tensor.shape}, headline)
        rows = Rows.of(tensor.shape, layer.get("batch_first"))
        masks.check(call, rows, rows, layer.get("nhead"), headline)
    return _like(call, tensor, layer)


@rule("transformer decoder")
def decoder(
    call: Call,
    self: Attributes,
    tgt: Value,
    memory: Value,
    **given: Value,
) -> Value:
    """Judge a decoder or a layer of one: the result is as `tgt`, `t b d` or `b t d`."""
    target, source = _learned(call, tgt), _learned(call, memory)
    layer = _layer(self, "decoder_layer")
    if layer is not None:
        headline = f"can't take {target.shape} with {source.shape}"
        shapes = {"tgt": target.shape, "memory": source.shape}
        _fits(call, layer, shapes, headline)
        both = _rows(call, shapes, layer.get("batch_first"), headline)
        _decoder_masks(call, given, both, layer.get("nhead"), headline)
    return _like(call, target, layer)


@rule("transformer")
def transformer(
    call: Call,
    self: Attributes,
    src: Value,
    tgt: Value,
    **given: Value,
) -> Value:
    """Judge both halves: `src` is encoded, and is the memory that `tgt` is decoded with."""
    source, target = _learned(call, src), _learned(call, tgt)
    headline = f"can't take {source.shape} with {target.shape}"
    shapes = {"src": source.shape, "tgt": target.shape}
    _fits(call, self, shapes, headline)
    rows, queries = _rows(call, shapes, self.get("batch_first"), headline)
    heads = self.get("nhead")
    if self.get("custom_encoder") is None:
        _masks(given, "src_").check(call, rows, rows, heads, headline)
    if self.get("custom_decoder") is None:
        _decoder_masks(call, given, (queries, rows), heads, headline)
    return _like(call, target, self)


def _learned(call: Call, value: Value) -> Tensor:
    tensor = as_tensor(value)
    return tensor.with_shape(call.facts.shape(tensor.shape))


def _like(call: Call, tensor: Tensor, layer: Attributes | None) -> Tensor:
    """Return a result that is as an input, as wide as a layer says that it is."""
    found = _learned(call, tensor)
    width = None if layer is None else layer.get("d_model")
    if found.shape.at(-1) is None or width is None or width is UNKNOWN:
        return found
    return found.with_shape(Shape((*found.shape.dims[:-1], size(width))))


def _layer(self: Attributes, made_of: str) -> Attributes | None:
    """Return what a layer, or those that a stack is made of, are told; None where that is open."""
    if "nhead" in self:
        return self
    layer = self.get(made_of)
    return layer if isinstance(layer, Mapping) and "nhead" in layer else None


def _fits(call: Call, layer: Attributes, shapes: Mapping[str, Shape], headline: str) -> None:
    """Refuse inputs of another rank or width than a layer takes."""
    for name, shape in shapes.items():
        if shape.rank is not None and shape.rank not in (2, 3):
            raise mismatch(
                f'"{name}" has {counted(shape.rank, "axis")}, where 2 or 3 are expected', headline
            )
        wanted = size(layer.get("d_model", UNKNOWN))
        fits_axis(call, name, -1, shape.at(-1), wanted, headline, "transpose")


def _rows(
    call: Call, shapes: Mapping[str, Shape], batch_first: Value, headline: str
) -> tuple[Rows, Rows]:
    """Return the rows of two inputs, as many batch rows in one as in the other."""
    rank = rank_of(list(shapes.values()))
    if rank is None:
        return Rows(), Rows()
    one, other = (Rows.of(spell(shape, rank) or shape, batch_first) for shape in shapes.values())
    axis = 0 if batch_first is True else 1
    names = tuple(shapes)
    if one.rank != other.rank:
        raise mismatch(
            f'"{names[1]}" has {counted(shapes[names[1]].rank or 0, "axis")}, where {rank} are '
            "expected",
            headline,
        )
    if other.batch is not None and one.batch is not None:
        fits_axis(call, names[1], axis, other.batch, one.batch, headline, "transpose")
    return one, other


def _decoder_masks(
    call: Call, given: Attributes, rows: tuple[Rows, Rows], heads: Value, headline: str
) -> None:
    """Refuse masks of targets that don't fit, and of what the targets attend to."""
    queries, keys = rows
    _masks(given, "tgt_").check(call, queries, queries, heads, headline)
    _masks(given, "memory_").check(call, queries, keys, heads, headline)


def _masks(given: Attributes, prefix: str) -> Masks:
    """Return the masks of one attention: `src_mask`, `src_key_padding_mask`, `src_is_causal`."""
    pairs, padding, causal = (
        given.get(prefix + name) for name in ("mask", "key_padding_mask", "is_causal")
    )
    return Masks(pairs, padding, causal, prefix, "mask")
