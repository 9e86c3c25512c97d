"""Ops that regroup, reorder, add or drop axes."""

import torch

class Tensor:
    @telling
    @sized
    @example("x: b t d | x, b, t, 8, d // 8")
    def view(input: Any, *shape: int, dtype: DType = None) -> Rule["reshape"]: ...
    @also("view_as")
    @telling("view_as")
    @example("x: (h d); y: h d | x, y")
    def reshape_as(input: Any, other: Any) -> Rule["reshape_as"]: ...
    @shared
    @arraylike
    @sized
    @example("x: b t d | x, b * t, -1")
    def reshape(input: Any, *shape: int) -> Rule["reshape"]: ...
    @telling
    @by_axis
    @example("x: b h t d | x, 0, 2, 1, 3")
    def permute(input: Any, *dims: int) -> Rule["permute"]: ...
    @telling
    @sized
    @example("x: b 1 d | x, -1, 8, -1")
    def expand(input: Any, *size: int, implicit: bool = False) -> Rule["expand"]: ...
    @telling
    @example("x: b 1; y: b n | x, y")
    def expand_as(input: Any, other: Any) -> Rule["expand_as"]: ...
    @shared
    @sized
    @example("x: n d | x, 2, 1")
    def repeat(input: Any, *repeats: int) -> Rule["repeat"]: ...
    def tile(input: Any, *repeats: int) -> Rule["repeat", "tile"]: ...
    @example("x: b t d | x, 1, 3, 1")
    def unfold(input: Any, dimension: int, size: int, step: int) -> Rule["unfold"]: ...
    @reshapes
    @also("torch.resize_as_")
    def resize_as_(input: T[Tensor, ...], the_template: Shaped[Tensor, "*t"]) -> T[Tensor, "*t"]: ...
    @reshapes
    @example("x: b t | x, t, b")
    def resize_(input: T[Tensor, ...], *size: int) -> T[Tensor, Sizes[size]]: ...
    @example("x: b t d | x, 1, d")
    def sum_to_size(input: Any, *size: int) -> Rule["sum_to_size"]: ...
    @telling
    def flip(input: T[Tensor, "*s"], *dims: Axes["*s"]) -> T[Tensor, "*s"]: ...
    @telling
    def unflatten(input: Any, dim: int, *sizes: int) -> Rule["unflatten"]: ...
    def ravel(input: Any) -> Rule["flatten"]: ...
    @property
    @shared
    @example("x: n m | x")
    def T(input: Any) -> Rule["reverse_axes"]: ...
    @property
    @example("x: n m | x")
    def H(input: Any) -> Rule["matrix_transpose"]: ...
    @property
    @telling
    def mT(input: Any) -> Rule["matrix_transpose"]: ...
    @property
    def mH(input: Any) -> Rule["matrix_transpose"]: ...

@also("view_copy")
@example("x: b t d | x, (b, t, 8, d // 8)")
def reshape(input: Any, shape: Any) -> Rule["reshape"]: ...
@also("permute_copy")
@by_axis("permute")
@example("x: b h t d | x, (0, 2, 1, 3)")
def permute(input: Any, dims: Any) -> Rule["permute"]: ...
@example("x: n d | x, (2, 1)")
def tile(input: Any, repeats: Any) -> Rule["repeat", "tile"]: ...
@example("x: b t d | x, (1,)")
def flip(input: T[Tensor, "*s"], dims: Axes["*s"]) -> T[Tensor, "*s"]: ...
@example("x: b t d | x, 2, (8, -1)")
def unflatten(input: Any, dim: int, sizes: Any) -> Rule["unflatten"]: ...
def ravel(input: Any) -> Rule["flatten"]: ...

@method
@shared
@by_axis
@example("x: b c h w | x, 1")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Rule["flatten"]: ...

@reshapes
@also("swapaxes", "swapdims", "transpose_copy")
@method
@inplace
@shared("transpose")
@arraylike("transpose")
@by_axis("transpose", "swapaxes", "transpose_", "swapaxes_")
@example("x: b t d | x, 1, 2")
def transpose(input: Any, dim0: int, dim1: int) -> Rule["transpose"]: ...

@reshapes
@also("t_copy")
@method
@inplace
@by_axis("t", "t_")
def t(input: Any) -> Rule["reverse_axes", 2]: ...

@method
def adjoint(input: Any) -> Rule["matrix_transpose"]: ...

@also("moveaxis")
@method
@telling("movedim")
@by_axis("movedim")
@example("x: b c h w | x, 1, -1")
def movedim(input: Any, source: Any, destination: Any) -> Rule["movedim"]: ...

@reshapes
@also("squeeze_copy")
@method
@inplace
@shared("squeeze")
@arraylike("squeeze")
@by_axis("squeeze", "squeeze_")
@example("x: b 1 d | x, 1")
def squeeze(input: Any, dim: Any = None) -> Rule["squeeze"]: ...

@reshapes
@also("unsqueeze_copy")
@method
@inplace
@telling("unsqueeze")
@by_axis("unsqueeze", "unsqueeze_")
@example("x: b d | x, 1", "unsqueeze")
def unsqueeze(input: T[Tensor, "*s"], dim: NewAxis["*s"]) -> T[Tensor, Insert["*s", dim, "1"]]: ...

@also("expand_copy")
@method
@example("x: 1 d | x, (n, d)")
def broadcast_to(input: Any, size: Any) -> Rule["expand"]: ...

@method
@telling
@example("x: b h d | x, 4, dim=1")
def repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, *, output_size: int = None) -> Rule["repeat_interleave"]: ...

@method
def fliplr(input: T[Tensor, "r c *s"]) -> T[Tensor, "r c *s"]: ...

@method
def flipud(input: T[Tensor, "r *s"]) -> T[Tensor, "r *s"]: ...

@method
@telling
@example("x: b h w | x, (1, 1), (1, 2)")
def roll(input: Any, shifts: Any, dims: Any = None) -> Rule["roll"]: ...

@method
@example("x: b h w | x, 1, (1, 2)")
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Rule["rot90"]: ...

@also("select_copy")
@method
@by_axis("select")
def select(input: Any, dim: int, index: int) -> Rule["select"]: ...

@also("narrow_copy")
@method
@telling("narrow")
@example("x: b t d | x, 1, 0, 3")
def narrow(input: Any, dim: int, start: Any, length: int) -> Rule["narrow"]: ...

@also("diagonal_copy")
@method
@by_axis("diagonal")
@example("x: b n n | x, 0, 1, 2")
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Rule["diagonal"]: ...

@method
def diagflat(input: T[Tensor, ...], offset: int = 0) -> Is[torch.diag(torch.flatten(input), offset)]: ...

@method
@example("x: n | x")
def diag(input: Any, diagonal: int = 0) -> Rule["diag"]: ...

@method
@example("x: b n | x")
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Rule["diag_embed"]: ...

@also("triu")
@method
@inplace
@example("x: t t | x")
def tril(input: T[Tensor, "*n r c"], diagonal: int = 0) -> T[Tensor, "*n r c"]: ...

@example("x: b t d | x, 1, 3, 1")
def unfold_copy(input: Any, dimension: int, size: int, step: int) -> Rule["unfold"]: ...

@reshapes
@also("as_strided_copy")
@method
@inplace
@example("x: 12 | x, (3, 4), (4, 1)", "as_strided")
def as_strided(input: T[Tensor, ...], size: Any, stride: Any, storage_offset: int = None) -> T[Tensor, Sizes[size]]: ...

# Real and imaginary parts as an axis ------------------------------------------------------------------

@method
@example("x: Complex b t | x")
def view_as_real(input: Any) -> Rule["view_as_real"]: ...

@method
@example("x: b t 2 | x")
def view_as_complex(input: Any) -> Rule["view_as_complex"]: ...
