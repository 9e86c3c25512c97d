"""What the analysis says of numpy's arrays: numpy itself is the judge.

Expressions over arrays of drawn shapes and dtypes are evaluated by numpy. What it computes the
analysis must not refuse, and of what comes out it must not say another shape or dtype.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lone_program import said_of

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
CATEGORIES = {
    "bool": "Bool",
    **{
        name: name.replace("int", "Int").replace("uInt", "UInt") for name in DTYPES if "int" in name
    },
    **{f"uint{bits}": f"UInt{bits}" for bits in (16, 32, 64)},
    **{f"float{bits}": f"Float{bits}" for bits in (16, 32, 64)},
    **{f"complex{bits}": f"Complex{bits}" for bits in (64, 128)},
}
"""How annotations call numpy's dtypes."""

# `a` and `b` broadcast, `v` is a vector as long as the last axis of `a`, `m` and `n` are matrices
# that can be multiplied, `q` is square; `i` are indices and `k` masks of the first axis of `a`.
EXPRESSIONS = """\
a + b; a - b; a * 2; a / b; a // 2; a ** 2; a % 3; 2.0 * a; 1 / a; 1j * a; a + True; a > b; a == b
a < 0.5; -m; m @ n; a @ v; v @ q; a & b; a | b; ~k; k & k; a != 0; a + [1, 2, 3][:1]
a - a.mean(AXIS); a - a.mean(AXIS, keepdims=True); a / a.sum(); a * a[0]; np.sqrt(a); np.exp(a)
np.abs(a); np.sin(m); np.floor(m); np.sign(m); np.square(m); np.add(a, b); np.maximum(a, 0)
np.minimum(a, b); np.power(m, 2); np.hypot(m, m); np.divide(a, b); np.arctan2(m, m)
np.logical_and(a, b); np.isnan(m); np.isclose(m, m); np.clip(m, 0, 1); m.clip(0, 1)
np.clip(m, 0.0, 1.0); np.round(m); m.round(1); np.where(a > 0, a, b); np.where(a > 0, a, 0.0)
np.where(k)[0]; np.where(a > 0, 1, 0); a.sum(); a.sum(AXIS); a.mean(); a.mean(AXIS); a.std(AXIS)
a.var(axis=AXIS, keepdims=True); np.sum(a, axis=AXIS); np.mean(a, AXIS); np.max(a, AXIS)
a.min(axis=AXIS); a.prod(AXIS); a.max(); np.any(a, AXIS); a.all(); a.argmax(AXIS); np.argmin(a)
np.median(a, axis=AXIS); np.sum(m, (0, 1)); np.mean(m, axis=(0, 1), keepdims=True); np.std(m)
np.ptp(m, AXIS); np.percentile(m, 50); np.percentile(m, [5, 95], axis=AXIS)
np.quantile(m, 0.5, AXIS); np.cumsum(a); np.cumsum(a, AXIS); a.cumsum(axis=AXIS); np.cumprod(m, 0)
np.diff(m, axis=AXIS); np.sort(a, AXIS); np.argsort(a, axis=AXIS); a.argsort()
np.count_nonzero(a, axis=AXIS); np.average(m, axis=AXIS); np.nansum(m, AXIS); np.nanmean(m)
np.sum([m, m], axis=0); a.T; m.T; a.transpose(); m.transpose(1, 0); np.transpose(m)
np.transpose(m, (1, 0)); np.swapaxes(m, 0, 1); m.swapaxes(0, -1); np.moveaxis(a, AXIS, 0)
np.rollaxis(m, 1); a.reshape(-1); a.flatten(); a.ravel(); np.ravel(a); m.reshape(1, -1)
np.reshape(m, (-1, 1)); m.reshape(m.shape[1], m.shape[0]); a.reshape(a.shape)
m.reshape(-1, order="F"); a.reshape(-1, 2); np.expand_dims(a, AXIS); np.expand_dims(m, (0, -1))
np.squeeze(a); a.squeeze(AXIS); a[None].squeeze(0); np.atleast_2d(v); np.atleast_1d(3)
np.atleast_3d(m); np.broadcast_to(v, (4, len(v))); np.flip(a, AXIS); np.flipud(m); np.fliplr(m)
np.roll(a, 1, AXIS); np.rot90(m); np.flip(a); np.tile(m, 2); np.tile(v, (2, 1))
np.repeat(m, 2, axis=AXIS); np.repeat(m, 3); m.repeat(2, 0); np.pad(m, 1); np.pad(m, (1, 2))
np.pad(m, ((1, 0), (0, 2))); np.pad(v, (0, 3), mode="edge"); np.concatenate([a, a])
np.concatenate((a, b), AXIS); np.concatenate([m, n.T], axis=None); np.stack([a, a])
np.stack([a, b], AXIS); np.vstack([v, m]); np.hstack([m, m]); np.dstack([m, m])
np.column_stack([v, v]); np.append(a, a); np.append(m, m, axis=AXIS); np.stack([1.0, 2.0])
np.concatenate([v, [1.5]]); np.concatenate([v, v.astype("float32")]); np.append(v, 1)
np.split(q, 1)[0]; np.split(m, [1], axis=1)[1]; np.array_split(v, 2)[0]; np.hsplit(m, 1)[0]; a[0]
a[-1]; a[..., 0]; a[:, None]; a[::-1]; m[:, ::-1]; m[1:]; m[:-1]; m[:2]; m[::2]; a[i]; m[i[:1], 0]
a[k]; a[a > 0]; m[[0, 0]]; m[:, [0, 0, 0]]; m[np.newaxis, ..., np.newaxis]; m[0, 0]
m[i[:, None] * 0, 0]; m[..., -1:]; a[...]; m[(0, slice(None))]; a[k, 0]
np.take(m, [0, 0], axis=AXIS); m.take([0, 0]); np.diag(v); np.diag(q); np.diagonal(q); np.trace(q)
np.dot(m, n); np.dot(v, v); m.dot(n); np.dot(a, q); np.matmul(m, n); np.inner(v, v); np.outer(v, v)
np.tensordot(m, n, 1); np.tensordot(m, n, ([1], [0])); np.kron(m, v); np.vdot(v, v); np.dot(2, m)
np.einsum("ij,jk->ik", m, n); np.einsum("ii", q); np.einsum("i,j", v, v)
np.cross(np.ones(3), np.ones(3)); np.linalg.norm(m); np.linalg.norm(m, axis=AXIS)
np.linalg.norm(a, axis=AXIS, keepdims=True); np.linalg.inv(q * 0 + np.eye(len(q)))
np.linalg.pinv(np.ones((2, 3))); np.linalg.det(q * 1.0); np.linalg.svd(m * 1.0)[0]
np.linalg.svd(m * 1.0, full_matrices=False)[2]; np.linalg.eigh(q + q.T)[1]
np.linalg.qr(m * 1.0)[1]; np.linalg.solve(np.eye(len(v)), v); np.linalg.matrix_rank(m * 1.0)
np.zeros(3); np.zeros((2, 3)); np.ones((2, 3), dtype=np.float32); np.zeros(a.shape, a.dtype)
np.empty((2, 0)); np.full((2, 3), 7); np.full(3, 0.5); np.full((2,), 1.0, np.float32); np.eye(3)
np.eye(2, 3); np.identity(4); np.zeros_like(a); np.ones_like(a, dtype=int); np.full_like(m, 2)
np.arange(5); np.arange(1, 7, 2); np.arange(0.0, 1.0, 0.25); np.arange(5, 0)
np.arange(3, dtype="float32"); np.arange(5, 0, -2); np.arange(len(v)); np.linspace(0, 1, 5)
np.linspace(0, 1); np.logspace(0, 1, 4); np.array([1, 2, 3]); np.array([[1, 2], [3, 4.0]])
np.array([True]); np.array([]); np.array(3.5); np.array([v, v]); np.array([v, v], dtype="f4")
np.asarray(a); np.array(a, np.int64); np.array((1, 2.5)); np.array([v.sum(), v.max()])
np.array([1j]); np.copy(a); a.copy(); a.astype(np.float32); a.astype("i2"); a.astype(float)
a.astype(int); a.astype(bool); a.astype(m.dtype); np.float32(a); np.int64(v); a.astype("<f8")
np.meshgrid(v, np.arange(4))[0]; np.meshgrid(v, np.arange(4), indexing="ij")[1]; np.tril(m)
np.triu(q, 1); np.random.rand(2, 3); np.random.randn(4); np.random.random((2, 3))
np.random.randint(0, 5, (2, 3)); np.random.uniform(0, 1, 5); np.random.normal(size=(2, 3))
np.random.permutation(5); np.random.permutation(m); np.random.choice(5, 3)
np.random.choice(v, (2, 2)); np.random.randint(5, size=4); np.random.uniform(v, v + 1)
np.random.default_rng(0).normal(size=(2, 3)); np.random.default_rng(0).integers(0, 5, 4)
np.random.RandomState(0).rand(2); np.unique(a); np.nonzero(a)[0]; np.argwhere(m); np.flatnonzero(a)
np.bincount(i); np.histogram(v, 4)[0]; np.histogram(v, bins=[0, 1, 2])[1]; np.searchsorted(v, m)
np.digitize(m, np.arange(3.0)); np.isin(m, [1]); np.unique(v, return_counts=True)[1]
np.interp(m, v, v); np.cov(m); np.nan_to_num(m); np.real(a); np.fft.fft(v)
np.fft.rfft(np.ones((2, 6))); np.fft.fft2(m); np.fft.fftfreq(5); np.fft.rfftfreq(6)
len(m) * np.ones(2); np.zeros(m.size); np.zeros(m.ndim); np.zeros(int(3)); np.zeros((len(a), 2))
[row for row in m][0]; sum([m, m]); next(iter(m)); list(m)[0]; abs(m); sum(m)
np.multiply(v[:, None], v); np.angle(m); np.logaddexp(m, m); m.diagonal(); np.append(v, [v])
np.vstack((m, m[:1])); np.ones(2) * np.float32(3); np.float64(2) * v.astype("float32")
"""
ALL = [one.strip() for line in EXPRESSIONS.splitlines() for one in line.split("; ")]
OPEN = (
    "a > 0]",
    "np.nonzero",
    "np.argwhere",
    "np.flatnonzero",
    "np.unique",
    "np.bincount",
    "[k",
    "(k)",
    "squeeze(a)",
)
"""Parts of expressions whose shape rests on what is in an array, or on whether an axis is 1."""


def arrays(draw: Any) -> str:
    """Return the source of a program's arrays."""
    sizes = st.integers(1, 4)
    shape = draw(st.lists(sizes, min_size=1, max_size=4))
    other = [draw(st.sampled_from((size, 1))) for size in shape][draw(st.integers(0, 1)) :]
    rows, inner, columns = draw(sizes), draw(sizes), draw(sizes)
    made = {
        "a": shape,
        "b": other,
        "v": shape[-1:],
        "m": [rows, inner],
        "n": [inner, columns],
        "q": [shape[-1], shape[-1]],
    }
    kinds = {name: draw(st.sampled_from(DTYPES)) for name in made}
    lines = [f'{n} = np.ones({tuple(shape)}, "{kinds[n]}")' for n, shape in made.items()]
    length = shape[0]
    lines += [f"i = np.zeros({length}, dtype=np.int64)", f"k = np.ones({length}, dtype=bool)"]
    return "import numpy as np\n" + "\n".join(lines) + "\n"


@st.composite
def programs(draw: Any) -> tuple[str, list[str]]:
    """Draw arrays, and expressions over them."""
    axis = str(draw(st.integers(-2, 1)))
    chosen = draw(st.lists(st.sampled_from(ALL), min_size=20, max_size=20, unique=True))
    return arrays(draw), [expression.replace("AXIS", axis) for expression in chosen]


def said(program: str) -> list[str]:
    """Return what the analysis says of a program."""
    return [found.message for found in said_of(program)]


def evaluated(setup: str, expressions: list[str]) -> dict[str, Any]:
    """Return what numpy gives, for what it doesn't refuse."""
    scope: dict[str, Any] = {}
    exec(setup, scope)
    found: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for expression in expressions:
            with suppress(ValueError, TypeError, IndexError, np.linalg.LinAlgError):
                found[expression] = eval(expression, dict(scope))
    return found


def revealed(setup: str, found: dict[str, Any]) -> dict[str, str]:
    """Return the shapes that the analysis says that arrays have."""
    head = f"{setup}from shapecheck import reveal_shape\n"
    answers = said(head + "".join(f"reveal_shape({one})\n" for one in found))
    assert len(answers) == len(found), (setup, [one for one in answers if "Revealed" not in one])
    return dict(zip(found, answers, strict=True))


@given(programs())
def test_what_numpy_computes(drawn: tuple[str, list[str]]) -> None:
    """Nothing that it computes is refused, and the shapes are those that it has."""
    setup, expressions = drawn
    found = evaluated(setup, expressions)
    for expression, answer in revealed(setup, found).items():
        shape = " ".join(map(str, np.shape(found[expression])))
        if not any(part in expression for part in OPEN):
            known = (f'Revealed shape is "{shape}"',)
            if not np.shape(found[expression]):
                known += ("Revealed shape is unknown",)  # a number
            assert answer in known, (setup, expression)


@given(programs())
def test_dtypes(drawn: tuple[str, list[str]]) -> None:
    """What has a dtype by numpy may have it by the analysis."""
    setup, expressions = drawn
    found = {
        one: CATEGORIES[value.dtype.name]
        for one, value in evaluated(setup, expressions).items()
        if isinstance(value, np.ndarray)
    }
    names = ", ".join(CATEGORIES.values())
    head = f"{setup}from jaxtyping import {names}\n"
    lines = (
        f'x{at}: {kind}[np.ndarray, "..."] = {one}\n'
        for at, (one, kind) in enumerate(found.items())
    )
    assert said(head + "".join(lines)) == [], setup
