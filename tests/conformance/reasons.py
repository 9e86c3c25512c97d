"""What torch refuses for other reasons than shapes, and which ops have no rule, with why."""

from __future__ import annotations

from typing import Final

NOT_SHAPES: Final = {
    "a value": (
        "approximate argument must be either",
        "lambda must be in range",
        "Lower bound should be",
        "margin must be greater than 0",
        "min_val cannot be greater",
        "non-positive values for delta",
        "divisor must be not zero",
        "only p == 1 and p == 2",
        "unsupported range",
        "step must be nonzero",
        "expects sigma > 0.0",
        "expects lambda > 0.0",
        "expects p to be in",
        "expects std",
        "expects to return a",
        "cannot be negative",
        "must be greater than or equal to zero",
        "ignore_index cannot be specified",
        "without overflow",
        "out of bounds for",
        "number of categories cannot exceed",
        "probability tensor contains",
        "invalid multinomial distribution",
        "Tau must be positive",
        "Center must be None",
        "Standard deviation must be positive",
        "beta must be non-negative",
        "Coefficients",
        "valid value for reduction",
        "eps must be positive",
        "delta must be a float",
        "index out of range in self",
        "must be greater than zero",
        "ignore_index is not supported",
        "must be between 0.0 and 1.0",
        "to be in range [[]0, 1[]]",
    ),
    "an argument of another type, mypy's own business": (
        "must be tuple of Tensors",
        "got None",
        "invalid combination of arguments",
        "must be Tensor, not",
        "should be of type",
    ),
    "a floating dtype where another one is, which autocast allows": (
        "should be the same",
        "Expected object of scalar type",
        "expected aweights to have floating point dtype",
        "Expected self.dtype to be equal to src.dtype",
        "expects float32 or float64 dtypes",
        "does not match weight dtype",
    ),
    "a dtype of a seldom argument": (
        "expected scalar type",
        "expected fweights to have integral dtype",
    ),
    "the dtype or the memory of out=": (
        "unsupported operation",
        "single memory location",
        "Expected out tensor to have dtype",
        "expects Long tensor out",
        "input and out to match",
    ),
    "the device or the layout": ("on the same device", "strided tensors only"),
    "an empty input": (
        "non-empty vector or matrix",
        "positive length",
        "optional 0 dim batch size",
        "has no identity",
        "reduction",
    ),
    "arguments of a constructor, which are judged where the module is called": (
        "must be divisible by num_groups",
        "Trying to create tensor with negative dimension",
    ),
    "more axes than any program has": ("up to 64 dims",),
}
"""What refusals that aren't about shapes are about, and parts of torch's messages for them."""


def not_about_shapes(error: str) -> str | None:
    """Return why a refusal of torch's isn't ours to make, None if it is about shapes."""
    if not error:
        return "whether a Python number may stand for a tensor"
    return next((why for why, parts in NOT_SHAPES.items() if any(p in error for p in parts)), None)


_INTERNAL: Final = "internal: no public function, called by autograd or the compiler"
_GPU: Final = "runs on a GPU only"

WITHOUT_RULE: Final = {
    "_batch_norm_with_update": _INTERNAL,
    "_chunk_cat": _INTERNAL,
    "_segment_reduce": _INTERNAL,
    "_softmax_backward_data": _INTERNAL,
    "_unsafe_masked_index": _INTERNAL,
    "_unsafe_masked_index_put_accumulate": _INTERNAL,
    "_upsample_bilinear2d_aa": _INTERNAL,
    "max_pool2d_with_indices_backward": _INTERNAL,
    "native_dropout_backward": _INTERNAL,
    "slice": _INTERNAL,
    "torch._scaled_mm": _INTERNAL,
    "torch._scaled_mm_v2": _INTERNAL,
    "torch.ops.aten._efficient_attention_forward": _GPU,
    "torch.ops.aten._flash_attention_forward": _GPU,
    "nn.functional.batch_norm (without_cudnn)": _GPU,
    "jiterator_2inputs_2outputs": _GPU,
    "jiterator_4inputs_with_extra_args": _GPU,
    "jiterator_binary": _GPU,
    "jiterator_binary_return_by_ref": _GPU,
    "jiterator_unary": _GPU,
    "combinations": "docs/developers/adding_an_op.md adds it, as its worked example",
}
"""Ops of the database that have no rule, and why."""

NOT_REFUSED: Final = {
    "nn.functional.linear_cross_entropy": "a weight with several class axes isn't followed",
    "ormqr": "how many reflections are needed depends on which side they are on",
    "renorm": "a 0-d tensor",
}
"""Ops some of whose erroneous inputs aren't refused, though they are about shapes, and why."""

OTHER_DTYPE: Final = {
    **dict.fromkeys(
        (
            "nn.functional.local_response_norm",
            "masked.softmax",
            "masked.softmin",
            "masked.log_softmax",
        ),
        "an empty tensor of integers stays one",
    ),
    "cdist": "between no rows it is of the first one's, not promoted",
    "cumulative_trapezoid": "what it is integrated over isn't followed, but for its values",
    "linalg.solve_triangular": "of two dtypes, which `linalg.solve` refuses, it takes the first",
    "nn.functional.binary_cross_entropy_with_logits": "it calculates in what the target is made of",
    "nn.functional.embedding_bag": "the table before the indices, of which torch warns",
    "nn.functional.linear_cross_entropy": "of two dtypes, which `linear` refuses, it takes either",
}
"""Ops whose result has another dtype than their rule says in some sample, and why."""

_BASE: Final = "a base class, without a forward"
_CONTAINER: Final = "a container, without a forward"
_RUNS: Final = "runs the modules that it is given, which the analysis follows"

NOT_JUDGED: Final = {
    "Module": _BASE,
    "Container": _BASE,
    "RNNBase": _BASE,
    "RNNCellBase": _BASE,
    "ModuleList": _CONTAINER,
    "ModuleDict": _CONTAINER,
    "ParameterList": _CONTAINER,
    "ParameterDict": _CONTAINER,
    "Sequential": _RUNS,
    "DataParallel": _RUNS,
    "SyncBatchNorm": "has the rule of BatchNorm, and runs on a GPU only",
}
"""Public classes of `torch.nn` that have no row in the table of modules, and why."""
