"""Products of matrices and vectors, and torch.linalg's basics."""

@also("torch.Tensor.__matmul__", "torch.linalg.matmul")
@method
def matmul(input: Any, other: Any) -> Rule["matmul"]: ...

class Tensor:
    def __rmatmul__(other: Any, input: Any) -> Rule["matmul"]: ...

@method
def mm(input: T[Tensor, "n m"], mat2: T[Tensor, "m p"]) -> T[Tensor, "n p"]: ...

@method
def bmm(input: T[Tensor, "b n m"], mat2: T[Tensor, "b m p"]) -> T[Tensor, "b n p"]: ...

@method
def mv(input: T[Tensor, "n m"], vec: T[Tensor, "m"]) -> T[Tensor, "n"]: ...

@also("vdot")
@method
def dot(input: T[Tensor, "n"], tensor: T[Tensor, "n"]) -> T[Tensor, ""]: ...

@also("ger")
@method
def outer(input: T[Tensor, "n"], vec2: T[Tensor, "m"]) -> T[Tensor, "n m"]: ...

@method
def inner(input: Any, other: Any) -> Rule["inner"]: ...

@method
def addmm(input: Any, left: T[Tensor, "n m"], right: T[Tensor, "m p"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
def addmv(input: Any, left: T[Tensor, "n m"], right: T[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
def baddbmm(input: Any, left: T[Tensor, "b n m"], right: T[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> Rule["addmm"]: ...

@method
def addbmm(input: Any, batch1: T[Tensor, "b n m"], batch2: T[Tensor, "b m p"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n p"]: ...

@method
def addr(input: Any, vec1: T[Tensor, "n"], vec2: T[Tensor, "m"], *, beta: Number = 1, alpha: Number = 1) -> T[Tensor, "n m"]: ...

def tensordot(input: Any, other: Any, dims: Any = 2) -> Rule["tensordot"]: ...

def cdist(x1: F[Tensor, "*#b p m"], x2: F[Tensor, "*#b r m"], p: float = 2.0, compute_mode: str = "") -> F[Tensor, "*b p r"]: ...

@also("torch.nn.functional.pdist")
def pdist(input: F[Tensor, "n m"], p: float = 2.0) -> F[Tensor, "n*(n-1)//2"]: ...

@method
def cross(input: Any, other: Any, dim: Any = None) -> Rule["along", 3]: ...

@also("torch.linalg.vecdot")
def vecdot(input: Any, other: Any, *, dim: int = -1) -> Rule["along"]: ...

@method
def kron(input: Any, other: Any) -> Rule["kron"]: ...

@method
def trace(input: A[Tensor, "n m"]) -> A[Tensor, ""]: ...

def chain_matmul(*matrices: Any) -> Tensor: ...

# Square matrices ---------------------------------------------------------------------------------

@also("torch.linalg.det", "logdet", "torch.linalg.logdet")
@method
def det(input: T[Tensor, "*b n n"]) -> T[Tensor, "*b"]: ...

@also("torch.linalg.slogdet")
@method
def slogdet(input: T[Tensor, "*b n n"]) -> tuple[T[Tensor, "*b"], R[Tensor, "*b"]]: ...

@also("torch.linalg.inv", "torch.linalg.matrix_exp", "matrix_exp")
@method
def inverse(input: T[Tensor, "*b n n"]) -> T[Tensor, "*b n n"]: ...

@also("torch.linalg.matrix_power")
@method
def matrix_power(input: T[Tensor, "*b n n"], n: int) -> T[Tensor, "*b n n"]: ...

@also("torch.linalg.cholesky")
@method
def cholesky(input: T[Tensor, "*b n n"], upper: bool = False) -> T[Tensor, "*b n n"]: ...

@method
def cholesky_inverse(input: T[Tensor, "*b n n"], upper: bool = False) -> T[Tensor, "*b n n"]: ...

@method
def cholesky_solve(input: T[Tensor, "*#b n k"], input2: T[Tensor, "*#b n n"], upper: bool = False) -> T[Tensor, "*b n k"]: ...

# Factorisations ----------------------------------------------------------------------------------

@also("torch.linalg.pinv")
@method
def pinverse(input: T[Tensor, "*b n m"], *args: Any, **kwargs: Any) -> T[Tensor, "*b m n"]: ...

@method
def svd(input: T[Tensor, "*b n m"], some: bool = True, compute_uv: bool = True) -> Rule["svd", "some"]: ...

@method
def qr(input: T[Tensor, "*b n m"], mode: Any = "reduced") -> Rule["qr"]: ...
