"""Products of matrices and vectors, and torch.linalg's basics."""
import torch

@also("torch.Tensor.__matmul__", "torch.linalg.matmul")
@method
@telling("matmul")
@example("x: b n d; y: b d m | x, y")
@reduces
def matmul(input: Any, other: Any) -> Rule["matmul"]: ...

class Tensor:
    def __rmatmul__(other: Any, input: Any) -> Rule["matmul"]: ...

@also("torch.spmm", "torch.sparse.mm")
@method
@example("x: n d; y: d m | x, y", "torch.mm")
@reduces
def mm(input: E[Tensor, "n m"], mat2: E[Tensor, "m p"]) -> E[Tensor, "n p"]: ...

@method
@telling
@example("x: b n d; y: b d m | x, y")
@reduces
def bmm(input: E[Tensor, "b n m"], mat2: E[Tensor, "b m p"]) -> E[Tensor, "b n p"]: ...

@method
@example("x: n d; y: d | x, y")
@reduces
def mv(input: E[Tensor, "n m"], vec: E[Tensor, "m"]) -> E[Tensor, "n"]: ...

@also("vdot")
@method
@reduces
def dot(input: E[Tensor, "n"], tensor: E[Tensor, "n"]) -> E[Tensor, ""]: ...

@also("ger")
@method
@example("x: n; y: m | x, y", "outer")
def outer(input: T[Tensor, "n"], vec2: T[Tensor, "m"]) -> T[Tensor, "n m"]: ...

@method
def inner(input: Any, other: Any) -> Rule["inner"]: ...

@method
@example("c: n m; x: n d; y: d m | c, x, y")
def addmm(input: Any, mat1: E[Tensor, "n m"], mat2: E[Tensor, "m p"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
def addmv(input: Any, mat: E[Tensor, "n m"], vec: E[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
@example("c: b n m; x: b n d; y: b d m | c, x, y")
def baddbmm(input: Any, batch1: E[Tensor, "b n m"], batch2: E[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
@example("c: n m; x: b n d; y: b d m | c, x, y")
def addbmm(input: Any, batch1: E[Tensor, "b n m"], batch2: E[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> E[Tensor, "n p"]: ...

@method
@example("c: n m; x: n; y: m | c, x, y")
def addr(input: T[Tensor, ...], vec1: T[Tensor, "n"], vec2: T[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n m"]: ...

@example("x: b i j; y: i j k | x, y, dims=2")
@reduces
def tensordot(input: Any, other: Any, dims: Any = 2) -> Rule["tensordot"]: ...

@example("x: b n d; y: b m d | x, y")
def cdist(x1: Inexact[Tensor, "*#b p m"], x2: Inexact[Tensor, "*#b r m"], p: float = 2.0, compute_mode: str = "") -> T[Tensor, "*b p r"]: ...

@also("torch.nn.functional.pdist")
def pdist(input: Inexact[Tensor, "n m"], p: float = 2.0) -> T[Tensor, "n*(n-1)//2"]: ...

@method
@example("x: b 3; y: b 3 | x, y")
def cross(input: Any, other: Any, dim: Any = None) -> Rule["along", 3]: ...

@also("torch.linalg.vecdot")
def vecdot(input: Any, other: Any, *, dim: int = -1) -> Rule["along"]: ...

@method
@example("x: n m; y: k l | x, y")
def kron(input: Any, other: Any) -> Rule["kron"]: ...

@method
def trace(input: A[Tensor, "n m"]) -> A[Tensor, ""]: ...

@example("x: n d; y: d k; z: k m | x, y, z")
def chain_matmul(*tensors: Any) -> Rule["chain"]: ...

# Square matrices ---------------------------------------------------------------------------------

@also("torch.linalg.det", "logdet")
@method
def det(input: Inexact[Tensor, "*b n n"]) -> T[Tensor, "*b"]: ...

@also("torch.linalg.slogdet")
@method
def slogdet(input: Inexact[Tensor, "*b n n"]) -> Fields["sign logabsdet", tuple[T[Tensor, "*b"], R[Tensor, "*b"]]]: ...

@also("torch.linalg.inv", "torch.linalg.matrix_exp", "matrix_exp")
@method
def inverse(input: Inexact[Tensor, "*b n n"]) -> T[Tensor, "*b n n"]: ...

@also("torch.linalg.matrix_power")
@method
def matrix_power(input: T[Tensor, "*b n n"], n: int) -> T[Tensor, "*b n n"]: ...

@also("torch.linalg.cholesky")
@method
def cholesky(input: Inexact[Tensor, "*b n n"], upper: bool = False) -> T[Tensor, "*b n n"]: ...

@method
def cholesky_inverse(input: T[Tensor, "*b n n"], upper: bool = False) -> T[Tensor, "*b n n"]: ...

@method
def cholesky_solve(input: T[Tensor, "*#b n k"], input2: T[Tensor, "*#b n n"], upper: bool = False) -> T[Tensor, "*b n k"]: ...

class Tensor:
    def addmm_(input: T[Tensor, "n p"], mat1: T[Tensor, "n m"], mat2: T[Tensor, "m p"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n p"]: ...
    def addmv_(input: T[Tensor, "n"], mat: T[Tensor, "n m"], vec: T[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n"]: ...
    def addr_(input: T[Tensor, "n m"], vec1: T[Tensor, "n"], vec2: T[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n m"]: ...
    def addbmm_(input: T[Tensor, "n p"], batch1: T[Tensor, "b n m"], batch2: T[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n p"]: ...
    def baddbmm_(input: T[Tensor, "b n p"], batch1: T[Tensor, "b n m"], batch2: T[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "b n p"]: ...

# Factorisations ----------------------------------------------------------------------------------

@also("torch.linalg.pinv")
@method
def pinverse(input: Inexact[Tensor, "*b n m"], *args: Any, **kwargs: Any) -> T[Tensor, "*b m n"]: ...

@method
def svd(input: Inexact[Tensor, "*b n m"], some: bool = True, compute_uv: bool = True) -> Fields["U S V", Rule["svd", "some"]]: ...

@method
def qr(input: Inexact[Tensor, "*b n m"], mode: Any = "reduced") -> Fields["Q R", Rule["qr"]]: ...

@method
def geqrf(input: T[Tensor, "*b n m"]) -> Fields["a tau", tuple[T[Tensor, "*b n m"], T[Tensor, "*b min(n,m)"]]]: ...

@method
def ormqr(input: T[Tensor, "*b n m"], tau: T[Tensor, "*b k"], other: T[Tensor, "*b r c"], left: bool = True, transpose: bool = False) -> T[Tensor, "*b r c"]: ...

@also("torch.linalg.householder_product")
@method
def orgqr(input: T[Tensor, "*b n m"], tau: T[Tensor, "*b k"]) -> T[Tensor, "*b n m"]: ...

@also("torch.Tensor.lu", "torch.functional.lu")
def lu(A: T[Tensor, "*b n m"], pivot: bool = True, get_infos: bool = False) -> Is[torch.linalg.lu_factor_ex(A) if get_infos else torch.linalg.lu_factor(A)]: ...

def lu_unpack(LU_data: T[Tensor, "*b n m"], LU_pivots: Int[Tensor, "*b k"], unpack_data: bool = True, unpack_pivots: bool = True) -> Is[torch.linalg.lu(LU_data) if unpack_data and unpack_pivots else _]: ...

@method
def lu_solve(b: T[Tensor, "*#n m k"], LU_data: T[Tensor, "*#n m m"], LU_pivots: Int[Tensor, "*#n m"]) -> T[Tensor, "*n m k"]: ...

@method
def triangular_solve(b: T[Tensor, "*#n m k"], A: T[Tensor, "*#n m m"], upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Fields["solution cloned_coefficient", tuple[T[Tensor, "*n m k"], T[Tensor, "*n m m"]]]: ...

@example("x: 1000 200 | x")
def svd_lowrank(A: Inexact[Tensor, "*b n m"], q: int = 6, niter: int = 2, M: Any = None) -> tuple[T[Tensor, "*b n min({q},min(n,m))"], R[Tensor, "*b min({q},min(n,m))"], T[Tensor, "*b m min({q},min(n,m))"]]: ...

def pca_lowrank(A: T[Tensor, "*b n m"], q: int = None, center: bool = True, niter: int = 2) -> Is[torch.svd_lowrank(A, q if q is not None else min(6, A.shape[-2], A.shape[-1]))]: ...

# Sparse matrices ---------------------------------------------------------------------------------

@also("torch.sparse.mm")
def _sparse_mm(input: T[Tensor, "n m"], mat2: T[Tensor, "m p"], reduce: str = None) -> T[Tensor, "n p"]: ...

@also("torch.sparse.sampled_addmm")
def _sampled_addmm(input: T[Tensor, "n p"], mat1: T[Tensor, "n m"], mat2: T[Tensor, "m p"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n p"]: ...
