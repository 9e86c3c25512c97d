"""Reductions, sorts, running sums and norms: ops that walk along axes."""
import torch

@reduces
@also("nansum")
@method
@shared("sum")
def sum(input: A[Tensor, "*s"], dim: Axes["*s"] = None, keepdim: bool = False, *, dtype: DType = None) -> A[Tensor, Without["*s", dim, keepdim]]: ...

@reduces
@method
def prod(input: A[Tensor, "*s"], dim: Axis["*s"] = None, keepdim: bool = False, *, dtype: DType = None) -> A[Tensor, Without["*s", dim, keepdim]]: ...

@reduces
@also("nanmean")
@method
@shared("mean")
@by_axis("mean")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType = None) -> Rule["mean"]: ...

@reduces
@also("var")
@method
@shared
@levels
def std(input: Inexact[Tensor, "*s"], dim: Axes["*s"] = None, unbiased: bool = True, keepdim: bool = False, *, correction: Number = 1) -> R[Tensor, Without["*s", dim, keepdim]]: ...
@reduces
@also("var")
@method
@shared
@levels
def std(input: Inexact[Tensor, "*s"], unbiased: bool) -> R[Tensor, ""]: ...

@reduces
@also("var_mean")
@levels
def std_mean(input: Inexact[Tensor, "*s"], dim: Axes["*s"] = None, unbiased: bool = True, keepdim: bool = False, *, correction: Number = 1) -> tuple[R[Tensor, Without["*s", dim, keepdim]], T[Tensor, Without["*s", dim, keepdim]]]: ...
@reduces
@also("var_mean")
@levels
def std_mean(input: Inexact[Tensor, "*s"], unbiased: bool) -> tuple[R[Tensor, ""], T[Tensor, ""]]: ...

@also("any")
@method
def all(input: Shaped[Tensor, "*s"], dim: Axes["*s"] = None, keepdim: bool = False) -> Bool[Tensor, Without["*s", dim, keepdim]]: ...

@reduces
@also("argmin")
@method
@levels
def argmax(input: Shaped[Tensor, "*s"], dim: Axis["*s"] = None, keepdim: bool = False) -> Int64[Tensor, Without["*s", dim, keepdim]]: ...

@reduces
@also("amin")
@method
def amax(input: T[Tensor, "*s"], dim: Axes["*s"] = None, keepdim: bool = False) -> T[Tensor, Without["*s", dim, keepdim]]: ...

@method
def aminmax(input: T[Tensor, "*s"], *, dim: Axis["*s"] = None, keepdim: bool = False) -> Fields["min max", tuple[T[Tensor, Without["*s", dim, keepdim]], T[Tensor, Without["*s", dim, keepdim]]]]: ...

@reduces
@also("min")
@method
@shared
@by_axis
@example("x: b t d | x, dim=1")
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Fields["values indices", Rule["extremum"]]: ...

@reduces("median")
@also("nanmedian")
@method
def median(input: T[Tensor, "*s"]) -> T[Tensor, ""]: ...
@reduces("median")
@also("nanmedian")
@method
def median(input: T[Tensor, "*s"], dim: Axis["*s"], keepdim: bool = False) -> Fields["values indices", tuple[T[Tensor, Without["*s", dim, keepdim]], Int64[Tensor, Without["*s", dim, keepdim]]]]: ...

@method
def mode(input: T[Tensor, "*s"], dim: Axis["*s"] = -1, keepdim: bool = False) -> Fields["values indices", tuple[T[Tensor, Without["*s", dim, keepdim]], Int64[Tensor, Without["*s", dim, keepdim]]]]: ...

@method
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Fields["values indices", Rule["kthvalue"]]: ...

@reduces
@also("torch.special.logsumexp")
@method
def logsumexp(input: F[Tensor, "*s"], dim: Axes["*s"], keepdim: bool = False) -> F[Tensor, Without["*s", dim, keepdim]]: ...

@method
def count_nonzero(input: Shaped[Tensor, "*s"], dim: Axes["*s"] = None) -> Int64[Tensor, Without["*s", dim]]: ...

@also("nanquantile")
@method
@example("x: b t | x, 0.5, dim=1")
def quantile(input: Inexact[Tensor, ...], q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Rule["quantile"]: ...

# Along an axis, shape kept -----------------------------------------------------------------------

@normalizes
@also("log_softmax", "torch.special.softmax", "torch.special.log_softmax")
@method
@telling
@levels
def softmax(input: T[Tensor, "*s"], dim: Axis["*s"], dtype: DType) -> T[Tensor, "*s"]: ...
@normalizes
@also("log_softmax", "torch.special.softmax", "torch.special.log_softmax")
@method
@telling
@levels
def softmax(input: Inexact[Tensor, "*s"], dim: Axis["*s"]) -> T[Tensor, "*s"]: ...

@also("cumprod")
@method
@inplace
@shared("cumsum")
@arraylike("cumsum")
def cumsum(input: A[Tensor, "*s"], dim: Axis["*s"], *, dtype: DType = None) -> A[Tensor, "*s"]: ...

@method
def logcumsumexp(input: F[Tensor, "*s"], dim: Axis["*s"]) -> F[Tensor, "*s"]: ...

@also("cummin")
@method
def cummax(input: T[Tensor, "*s"], dim: Axis["*s"]) -> Fields["values indices", tuple[T[Tensor, "*s"], Int64[Tensor, "*s"]]]: ...

@method
def sort(input: T[Tensor, "*s"], dim: Axis["*s"] = -1, descending: bool = False, stable: bool = False) -> Fields["values indices", tuple[T[Tensor, "*s"], Int64[Tensor, "*s"]]]: ...

@method
def argsort(input: Shaped[Tensor, "*s"], dim: Axis["*s"] = -1, descending: bool = False, stable: bool = False) -> Int64[Tensor, "*s"]: ...

@method
def msort(input: T[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@method
@telling
@example("x: b classes | x, 5")
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Fields["values indices", Rule["topk"]]: ...

@method
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Rule["diff"]: ...

# Norms -------------------------------------------------------------------------------------------

@reduces
@method
@shared
@by_axis
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: DType = None) -> Rule["tensor_norm"]: ...

# Counts and sets ---------------------------------------------------------------------------------

@method
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Rule["unique"]: ...

@method
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Rule["unique"]: ...

@method
def histogram(input: F[Tensor, ...], bins: Ints[1], *, range: Any = None, weight: Any = None, density: bool = False) -> Fields["hist bin_edges", tuple[F[Tensor, "{bins[0]}"], F[Tensor, "{bins[0]}+1"]]]: ...
@method
def histogram(input: F[Tensor, ...], bins: F[Tensor, "k"], *, range: Any = None, weight: Any = None, density: bool = False) -> Fields["hist bin_edges", tuple[F[Tensor, "k-1"], F[Tensor, "k"]]]: ...

@method
@example("x: n 2 | x, [4, 5]")
def histogramdd(input: F[Tensor, ...], bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Fields["hist bin_edges", Rule["histogramdd"]]: ...

@method
def hash_tensor(input: Shaped[Tensor, "*s"], dim: Axes["*s"] = None, *, keepdim: bool = False, mode: int = 0) -> UInt64[Tensor, Without["*s", dim, keepdim]]: ...

def gradient(input: F[Tensor, "*s"], *, spacing: Any = None, dim: Axes["*s"] = None, edge_order: int = 1) -> Rule["gradient"]: ...

def unravel_index(indices: Integer[Tensor, "*s"], shape: Any) -> Rule["unravel_index"]: ...

@method
def bincount(input: Integer[Tensor, "n"], weights: Shaped[Tensor, "n"] | None = None, minlength: int = 0) -> Num[Tensor, "bins"]: ...

@method
def histc(input: T[Tensor, "*s"], bins: int = 100, min: Number = 0, max: Number = 0) -> T[Tensor, "{bins}"]: ...

@example("x: Int b t; y: Int n | x, y")
def isin(elements: Shaped[Tensor, "*s"], test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Bool[Tensor, "*s"]: ...

@method
@example("p: b classes | p, 3")
def multinomial(input: Any, num_samples: int, replacement: bool = False) -> Rule["multinomial"]: ...

@method
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Rule["covariance"]: ...

@method
def corrcoef(input: Any) -> Rule["covariance"]: ...

@also("trapezoid")
def trapz(y: F[Tensor, "*s"], x: F[Tensor, ...] | None = None, *, dx: Number = 1, dim: Axis["*s"] = -1) -> F[Tensor, Without["*s", dim]]: ...

def cumulative_trapezoid(y: F[Tensor, ...], x: Any = None, *, dx: Number = 1, dim: int = -1) -> Is[torch.true_divide(torch.diff(y, 1, dim), 2)]: ...
