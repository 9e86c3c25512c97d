"""RETURNN's tests of dimensions on plain tensors, with our `Dim` objects as names of their axes.

Each test runs in a decorated call, and so does each run of a model, of which each sequence is
also run alone: what it gives must not depend on the padding.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from systems.originals.frontend import arrays, dims, functions, running, tensors
from systems.originals.inside import in_a_call
from systems.originals.suites import Left, Suite

TENSORS = {
    "Dim": dims.Dim,
    "DimensionTag": dims.Dim,
    "Tensor": tensors.Tensor,
    "Data": tensors.Tensor,
    "TensorDict": tensors.TensorDict,
    "batch_dim": dims.batch_dim,
    "single_step_dim": dims.single_step_dim,
    "SpatialDim": dims.spatial_dim,
    "FeatureDim": dims.feature_dim,
}
PICKLED = (
    "what comes out of a pickle is the same dimension here, so that names hold from one process "
    "to the next"
)
FRONTEND = {**vars(functions), **vars(arrays), "slice": arrays.slice_}
MODULES: dict[str, Mapping[str, Any]] = {
    "_setup_test_env": {},
    "rf_utils": {"run_model": running.run_model, "run_model_torch_train": running.run_model},
    "torch_utils": dict.fromkeys(
        (
            "report_profile",
            "get_remaining_allocs_from_profile",
            "get_allocs_from_profile",
            "get_peak_alloc_from_profile",
        )
    ),
    "tensorflow": {"__version__": "none"},
    "returnn": {},
    "returnn.util": {},
    "returnn.util.better_exchook": {},
    "returnn.util.basic": {"obj_diff_str": lambda one, two: f"{one} {two}"},
    "returnn.tensor": TENSORS,
    "returnn.tensor.utils": {"tensor_dict_fill_random_numpy_": None},
    "returnn.frontend": FRONTEND,
    "returnn.torch": {},
    "returnn.torch.data": {},
    "returnn.torch.data.tensor_utils": {"tensor_dict_numpy_to_torch_": None},
    "returnn.tf": {},
    "returnn.tf.compat": {},
    "returnn.tf.util": {},
    "returnn.tf.util.basic": TENSORS,
    "returnn.tf.util.data": TENSORS,
}


def install(checkout: Path) -> None:
    """Put this in the place of RETURNN's modules, of which only the tests are taken."""
    for name, names in MODULES.items():
        module = ModuleType(name)
        vars(module).update({k: v for k, v in names.items() if not k.startswith("__")})
        vars(module).setdefault("__path__", [])
        sys.modules[name] = module
        home, _, last = name.rpartition(".")
        if home:
            setattr(sys.modules[home], last, module)
    sys.modules["tensorflow"].__version__ = "none"
    sys.modules["returnn.tf.compat"].v1 = _NoGraph


class _NoGraph:
    InteractiveSession = type("InteractiveSession", (), {})


def of_file(file: str, *tests: str) -> tuple[str, ...]:
    """Return the tests of a file that are about dimensions, where others are not."""
    return tuple(f"tests/{file}.py::test_{test}" for test in tests)


SUITE = Suite(
    tests=(
        "tests/test_tensor.py",
        "tests/test_rf_array.py",
        "tests/test_rf_math.py",
        "tests/test_rf_reduce.py",
        *of_file(
            "test_torch_frontend",
            "dot_scalar_multiplication",
            "dot_scalar_product",
            "dot_outer_product",
            "dot_matrix_vector_product",
            "dot_matrix_matrix_product",
            "dot_scale_matrix",
            "dot_batched_scalar_multiplication",
            "dot_batched_scalar_product",
            "dot_batched_outer_product",
            "dot_batched_matrix_vector_product",
            "dot_batched_matrix_matrix_product",
            "dot_batched_scale_matrix",
            "dot_multiple_dims",
            "cross_entropy_no_batch_dim",
            "cross_entropy_no_batch_dim_dense_target",
            "cross_entropy",
            "cross_entropy_dense_target",
            "pack_padded_wrong_grad",
            "Data_copy_compatible_to_match_priority",
            "Data_copy_compatible_to_dims_match_priority",
            "Data_copy_tranpose_match_priority",
        ),
        *of_file(
            "test_rf_base",
            "dim_value",
            "dim_size_after_declare_same_as",
            "dim_mask",
            "num_elements_of_shape",
            "rf_range_over_dim",
            "copy_compatible_to_empty",
            "random_uniform_int",
            "dim_bounded_by_capacity",
            "dim_host_value_guard_static_traceable",
        ),
        *of_file(
            "test_TFUtil",
            "Dim_copy",
            "Dim_pickle",
            "DimType_pickle",
            "Dim_sorted",
            "Dim_find_matching_dim_map_match_priority",
            "dim_math_basics",
            "dim_math_double_neg",
            "dim_math_mul_div",
            "dim_math_div_mul",
            "dim_math_div_div",
            "dim_math_static_self_att_example",
            "dim_math_static_self_att_feat_last",
            "dim_math_static_add_mul",
            "dim_math_feature_type",
            "dim_math_feature_type2",
            "dim_math_pad_stag_description",
            "dim_math_pad_conv_valid",
            "dim_math_pad_dummy_equal",
            "dim_math_feat_declare_same_as_circle",
            "dim_math_derived",
        ),
    ),
    install=install,
    decorate=in_a_call,
    left={"test_TFUtil.test_Dim_pickle": Left(PICKLED, "a != a_copy")},
)
