"""Operations by name, on ordinary tensors that carry the names of their dimensions.

    from shapecheck import named

    x = named(torch.rand(8, 28, 28, 3), "b h w c")
    named.softmax(named.order(x, "b c h w"), "c")

A tensor has names from `named(x, "b h w c")`, from the annotations of a `@shapecheck` function
inside of it, and as the result of an operation on tensors that have some. Each function is what
the positional op does to the axes that the names mean. Every name can also be a `Dim` object.
"""

from __future__ import annotations

import sys
from types import ModuleType

import shapecheck.runtime  # noqa: F401 - says how to get torch where there is none
from shapecheck.named import distributions
from shapecheck.named.axes import (
    chunk,
    get,
    index,
    narrow,
    order,
    put,
    split,
    stack,
    transpose,
    unbind,
)
from shapecheck.named.functions import (
    augment,
    op,
    reduce,
)
from shapecheck.named.joining import (
    align,
    align_as,
    align_to,
    cat,
    contract,
    dot,
    expand_as,
    masked_fill,
    stack_new,
)
from shapecheck.named.making import (
    arange,
    empty,
    full,
    ones,
    rand,
    randint,
    randn,
    zeros,
)
from shapecheck.named.names import (
    assert_size,
    flatten,
    refine_names,
    rename,
    unflatten,
)
from shapecheck.named.picking import (
    gather,
    index_add,
    index_copy,
    index_fill,
    masked_select,
    nonzero,
    scatter,
    tril,
    triu,
    unique,
)
from shapecheck.named.ragged import mask, pack, unpack
from shapecheck.named.reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    argsort,
    cumprod,
    cumsum,
    flip,
    log_softmax,
    logsumexp,
    max,
    mean,
    median,
    min,
    norm,
    prod,
    roll,
    softmax,
    sort,
    std,
    sum,
    topk,
    var,
)
from shapecheck.named.tensor import NamedTensor
from shapecheck.runtime.asking.claims import named
from shapecheck.runtime.errors import hide_frames

__all__ = [
    "Named",
    "NamedTensor",
    "align",
    "align_as",
    "align_to",
    "all",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "assert_size",
    "augment",
    "cat",
    "chunk",
    "contract",
    "cumprod",
    "cumsum",
    "dot",
    "empty",
    "expand_as",
    "flatten",
    "flip",
    "full",
    "gather",
    "get",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "log_softmax",
    "logsumexp",
    "mask",
    "masked_fill",
    "masked_select",
    "max",
    "mean",
    "median",
    "min",
    "narrow",
    "nonzero",
    "norm",
    "ones",
    "op",
    "order",
    "pack",
    "prod",
    "put",
    "rand",
    "randint",
    "randn",
    "reduce",
    "refine_names",
    "rename",
    "roll",
    "scatter",
    "softmax",
    "sort",
    "split",
    "stack",
    "stack_new",
    "std",
    "sum",
    "topk",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unflatten",
    "unique",
    "unpack",
    "var",
    "zeros",
]


class Named:
    """What `shapecheck.named` is: the function that gives names, with the operations in it."""

    __call__ = staticmethod(named)
    NamedTensor = NamedTensor
    distributions = distributions
    align = staticmethod(align)
    align_as = staticmethod(align_as)
    align_to = staticmethod(align_to)
    all = staticmethod(all)
    amax = staticmethod(amax)
    amin = staticmethod(amin)
    any = staticmethod(any)
    arange = staticmethod(arange)
    argmax = staticmethod(argmax)
    argmin = staticmethod(argmin)
    argsort = staticmethod(argsort)
    assert_size = staticmethod(assert_size)
    augment = staticmethod(augment)
    cat = staticmethod(cat)
    chunk = staticmethod(chunk)
    contract = staticmethod(contract)
    cumprod = staticmethod(cumprod)
    cumsum = staticmethod(cumsum)
    dot = staticmethod(dot)
    empty = staticmethod(empty)
    expand_as = staticmethod(expand_as)
    flatten = staticmethod(flatten)
    flip = staticmethod(flip)
    full = staticmethod(full)
    gather = staticmethod(gather)
    get = staticmethod(get)
    index = staticmethod(index)
    index_add = staticmethod(index_add)
    index_copy = staticmethod(index_copy)
    index_fill = staticmethod(index_fill)
    log_softmax = staticmethod(log_softmax)
    logsumexp = staticmethod(logsumexp)
    mask = staticmethod(mask)
    masked_fill = staticmethod(masked_fill)
    masked_select = staticmethod(masked_select)
    max = staticmethod(max)
    mean = staticmethod(mean)
    median = staticmethod(median)
    min = staticmethod(min)
    named = staticmethod(named)
    narrow = staticmethod(narrow)
    nonzero = staticmethod(nonzero)
    norm = staticmethod(norm)
    ones = staticmethod(ones)
    op = staticmethod(op)
    order = staticmethod(order)
    pack = staticmethod(pack)
    prod = staticmethod(prod)
    put = staticmethod(put)
    rand = staticmethod(rand)
    randint = staticmethod(randint)
    randn = staticmethod(randn)
    reduce = staticmethod(reduce)
    refine_names = staticmethod(refine_names)
    rename = staticmethod(rename)
    roll = staticmethod(roll)
    scatter = staticmethod(scatter)
    softmax = staticmethod(softmax)
    sort = staticmethod(sort)
    split = staticmethod(split)
    stack = staticmethod(stack)
    stack_new = staticmethod(stack_new)
    std = staticmethod(std)
    sum = staticmethod(sum)
    topk = staticmethod(topk)
    transpose = staticmethod(transpose)
    tril = staticmethod(tril)
    triu = staticmethod(triu)
    unbind = staticmethod(unbind)
    unflatten = staticmethod(unflatten)
    unique = staticmethod(unique)
    unpack = staticmethod(unpack)
    var = staticmethod(var)
    zeros = staticmethod(zeros)


class _Module(ModuleType):
    """This module, which is also the function."""

    __call__ = staticmethod(named)


sys.modules[__name__].__class__ = _Module
hide_frames()
