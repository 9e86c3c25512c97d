"""Indexing, and ops that pick or put elements by index tensors."""

class Tensor:
    @example("x: b t d | x, (slice(None), 0)")
    def __getitem__(input: Any, index: Any) -> Rule["getitem"]: ...
    def __setitem__(input: Any, index: Any, value: Any) -> Rule["setitem"]: ...
    @also("scatter_add_", "scatter_reduce_")
    @telling("scatter_")
    @example("x: b t; i: Int b k; y: b k | x, 1, i, y", "scatter_")
    def scatter_(input: Any, dim: int, index: Shaped[Tensor, ...], src: Any = None, reduce: str = None, *, value: Any = None, include_self: bool = True) -> Rule["scatter"]: ...
    @also("index_copy_", "index_reduce_")
    def index_add_(input: Any, dim: int, index: Any, source: Any, reduce: str = None, *, alpha: Number = 1, include_self: bool = True) -> Rule["index_add"]: ...
    def index_fill_(input: Any, dim: int, index: Any, value: Any) -> Rule["index_add"]: ...
    def masked_scatter_(input: Any, mask: Any, source: Any) -> Rule["masked_scatter", "inplace"]: ...
    @also("torch.index_put_")
    def index_put_(input: T[Tensor, "*s"], indices: Any, values: Any, accumulate: bool = False) -> T[Tensor, "*s"]: ...
    def put_(input: T[Tensor, "*s"], index: Any, source: Any, accumulate: bool = False) -> T[Tensor, "*s"]: ...

@method
@telling
@example("x: b t d; i: Int b k d | x, 1, i")
def gather(input: Any, dim: int, index: Shaped[Tensor, ...], *, sparse_grad: bool = False) -> Rule["gather"]: ...

@also("scatter_add", "scatter_reduce")
@method
@telling("scatter")
@example("x: b t; i: Int b k; y: b k | x, 1, i, y", "scatter", "scatter_add")
@example('x: b t; i: Int b k; y: b k | x, 1, i, y, "sum"', "scatter_reduce")
def scatter(input: Any, dim: int, index: Shaped[Tensor, ...], src: Any = None, reduce: str = None, *, value: Any = None, include_self: bool = True) -> Rule["scatter"]: ...

@also("index_copy", "index_reduce")
@method
@example("x: b t d; i: Int k; y: b k d | x, 1, i, y", "index_add", "index_copy")
@example('x: b t d; i: Int k; y: b k d | x, 1, i, y, "mean"', "index_reduce")
def index_add(input: Any, dim: int, index: Any, source: Any, reduce: str = None, *, alpha: Number = 1, include_self: bool = True) -> Rule["index_add"]: ...

@method
@example("x: b t d; i: Int k | x, 1, i, 0.0")
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Rule["index_add"]: ...

@method
def index_put(input: T[Tensor, "*s"], indices: Any, values: Any, accumulate: bool = False) -> T[Tensor, "*s"]: ...

@method
@example("x: b t; i: Int k; y: k | x, i, y")
def put(input: T[Tensor, "*s"], index: Any, source: Any, accumulate: bool = False) -> T[Tensor, "*s"]: ...

@method
@telling
@example("x: b t d; i: Int k | x, 1, i")
def index_select(input: Any, dim: int, index: Shaped[Tensor, ...]) -> Rule["index_select"]: ...

@method
@example("x: b t; i: Int k | x, i")
def take(input: Any, index: Any) -> Rule["take"]: ...

@method
@example("x: b t d; i: Int b k d | x, i, dim=1")
def take_along_dim(input: Any, indices: Any, dim: Any = None) -> Rule["take_along_dim"]: ...

@method
@telling
@example("x: b t; m: Bool b t | x, m")
def masked_select(input: Any, mask: Any) -> Rule["masked_select"]: ...

@method
@example("x: b t; m: Bool b t; y: n | x, m, y")
def masked_scatter(input: Any, mask: Any, source: Any) -> Rule["masked_scatter"]: ...

@method
@example("x: b t d | x, size=10")
def nonzero_static(input: T[Tensor, ...], *, size: int, fill_value: int = -1) -> Int64[Tensor, "{size} {len(input.shape)}"]: ...

@method
@example("x: b t d; y: b d | x, y, 1, 0")
def select_scatter(input: T[Tensor, "*s"], src: Shaped[Tensor, ...], dim: Axis["*s"], index: int) -> T[Tensor, "*s"]: ...

@method
@example("x: b 8 d; y: b 3 d | x, y, 1, 0, 3")
def slice_scatter(input: T[Tensor, "*s"], src: Shaped[Tensor, ...], dim: Axis["*s"] = 0, start: Any = None, end: Any = None, step: Any = 1) -> T[Tensor, "*s"]: ...

@method
@example("x: n n; y: n | x, y")
def diagonal_scatter(input: T[Tensor, "*s"], src: Shaped[Tensor, ...], offset: int = 0, dim1: Axis["*s"] = 0, dim2: Axis["*s"] = 1) -> T[Tensor, "*s"]: ...

@method
def as_strided_scatter(input: T[Tensor, "*s"], src: Shaped[Tensor, ...], size: Any, stride: Any, storage_offset: int = None) -> T[Tensor, "*s"]: ...

@method
def nonzero(input: Any, *, as_tuple: bool = False) -> Rule["nonzero"]: ...

@method
def argwhere(input: Any) -> Rule["nonzero"]: ...

@example("edges: b n; x: b m | edges, x")
def searchsorted(sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str = None, sorter: Any = None) -> Rule["searchsorted"]: ...

def bucketize(input: Shaped[Tensor, "*s"], boundaries: Shaped[Tensor, "n"], *, out_int32: bool = False, right: bool = False) -> Integer[Tensor, "*s"]: ...
