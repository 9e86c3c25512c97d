"""The fields of what torch gives as a tuple with names: each is the item that torch says it is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from lone_program import said_of

HEAD = """\
import numpy as np
import torch
from shapecheck import reveal_shape

x, s = torch.rand(5, 3), torch.eye(5)
a = np.ones((5, 3))
"""

# A call for each type of result that torch has.
CALLS = [
    "x.aminmax(dim=1)",
    "torch.aminmax(x)",
    "x.cummax(1)",
    "torch.cummin(x, 0)",
    "torch.frexp(x)",
    "x.geqrf()",
    "x.histogram(5)",
    "torch.histogramdd(x, [4, 4, 4])",
    "x.kthvalue(2, 1)",
    "torch.kthvalue(x, 2, 0, True)",
    "torch.linalg.cholesky_ex(s)",
    "torch.linalg.eig(s)",
    "torch.linalg.eigh(s)",
    "torch.linalg.inv_ex(s)",
    "torch.linalg.ldl_factor(s)",
    "torch.linalg.ldl_factor_ex(s)",
    "torch.linalg.lstsq(x, x)",
    "torch.linalg.lu(x)",
    "torch.linalg.lu(x.T)",
    "torch.linalg.lu_factor(x)",
    "torch.linalg.lu_factor_ex(x)",
    "torch.linalg.qr(x)",
    "torch.linalg.slogdet(s)",
    "torch.linalg.solve_ex(s, x)",
    "torch.linalg.svd(x)",
    "torch.linalg.svd(x, full_matrices=False)",
    "torch.lu_unpack(*torch.linalg.lu_factor(x))",
    "x.max(1)",
    "torch.max(x, 0, keepdim=True)",
    "torch.min(x, dim=0)",
    "x.median(1)",
    "x.mode(0)",
    "x.nanmedian(0)",
    "torch.qr(x)",
    "torch.slogdet(s)",
    "torch.sort(x, stable=True, dim=1)",
    "x.svd()",
    "x.topk(2, 1)",
    "torch.triangular_solve(x, s)",
]
OF_NUMPY = [
    "np.linalg.eig(a[:3])",
    "np.linalg.eigh(a[:3])",
    "np.linalg.qr(a)",
    "np.linalg.svd(a)",
    "np.linalg.svd(a, full_matrices=False)",
]

# What depends on the driver, or on more than the shapes: it isn't known.
OPEN = {
    ("torch.linalg.lstsq(x, x)", "residuals"),
    ("torch.linalg.lstsq(x, x)", "rank"),
    ("torch.linalg.lstsq(x, x)", "singular_values"),
    ("torch.histogramdd(x, [4, 4, 4])", "bin_edges"),
}


def computed(call: str) -> tuple[object, tuple[str, ...]]:
    """Return what torch, or numpy, gives, and the names of the fields."""
    names = {"torch": torch, "np": np, "x": torch.rand(5, 3), "s": torch.eye(5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are deprecated
        found = eval(call, names | {"a": np.ones((5, 3))})
    return found, getattr(found, "_fields", None) or type(found).__match_args__


@pytest.mark.parametrize("call", CALLS + OF_NUMPY)
def test_each_field_is_the_item_that_it_names(call: str) -> None:
    found, names = computed(call)
    told = [name for name in names if (call, name) not in OPEN]
    text = HEAD + "".join(f"reveal_shape(({call}).{name})\n" for name in told)
    assert [one.message for one in said_of(text)] == [
        f'Revealed shape is "{" ".join(map(str, getattr(found, name).shape))}"' for name in told
    ]


def test_there_is_a_call_for_each_type_of_result() -> None:
    seen = {type(computed(call)[0]).__name__.rpartition(".")[2] for call in CALLS}
    assert seen == {
        name
        for name, kind in vars(torch.return_types).items()
        if isinstance(kind, type)
        and hasattr(kind, "n_fields")
        and not name.startswith("_")
        and not name.endswith("_out")
    }


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("torch.linalg.lu(x).U @ x.T", "right"),
        ("torch.linalg.lu(x).P @ x", "right"),
        (
            "torch.linalg.lu(x).U @ torch.rand(5, 5)",
            '"@" can\'t multiply (3 3) by (5 5): '
            "the inner dimensions are 3 (axis -1) and 5 (axis -2)",
        ),
        ("top = x.topk(2); x.gather(1, top.indices) + top.values", "right"),
        (
            "x.topk(2).values + x",
            '"+" can\'t broadcast (5 2) with (5 3): axis -1 is 2 on the left and 3 on the right',
        ),
        ("y, z = x.max(1); y.sum(z)", "right"),
        ("found = x.max(1) if len(x) else x.min(1); x - found.values[:, None]", "right"),
        (
            "found = x.max(1) if len(x) else x.min(1); x + found.values",
            '"+" can\'t broadcast (5 3) with (5): axis -1 is 3 on the left and 5 on the right',
        ),
        ("[one.values + x[:, 0] for one in [x.max(1)]]", "right"),
        ("(x, x[0]).values", "right"),
    ],
)
def test_what_is_computed_with_fields(program: str, said: str) -> None:
    errors = [one.message for one in said_of(HEAD + program) if one.severity == "error"]
    assert errors == ([] if said == "right" else [said])
