"""Ops that regroup, reorder, add or drop axes."""

import torch

class Tensor:
    @telling
    @sized
    def view(input: Any, *shape: int, dtype: DType = None) -> Rule["reshape"]: ...
    @also("view_as")
    @telling("view_as")
    def reshape_as(input: Any, other: Any) -> Rule["reshape_as"]: ...
    @shared
    @sized
    def reshape(input: Any, *shape: int) -> Rule["reshape"]: ...
    @telling
    @by_axis
    def permute(input: Any, *dims: int) -> Rule["permute"]: ...
    @telling
    @sized
    def expand(input: Any, *size: int, implicit: bool = False) -> Rule["expand"]: ...
    @telling
    def expand_as(input: Any, other: Any) -> Rule["expand_as"]: ...
    @shared
    @sized
    def repeat(input: Any, *repeats: int) -> Rule["repeat"]: ...
    def tile(input: Any, *repeats: int) -> Rule["repeat", "tile"]: ...
    def unfold(input: Any, dimension: int, size: int, step: int) -> Rule["unfold"]: ...
    @reshapes
    @also("torch.resize_as_")
    def resize_as_(input: T[Tensor, ...], the_template: Shaped[Tensor, "*t"]) -> T[Tensor, "*t"]: ...
    @reshapes
    def resize_(input: T[Tensor, ...], *size: int) -> T[Tensor, Sizes[size]]: ...
    def sum_to_size(input: Any, *size: int) -> Rule["sum_to_size"]: ...
    @telling
    def flip(input: T[Tensor, "*s"], *dims: Axes["*s"]) -> T[Tensor, "*s"]: ...
    @telling
    def unflatten(input: Any, dim: int, *sizes: int) -> Rule["unflatten"]: ...
    def ravel(input: Any) -> Rule["flatten"]: ...
    @property
    @shared
    def T(input: Any) -> Rule["reverse_axes"]: ...
    @property
    def H(input: Any) -> Rule["matrix_transpose"]: ...
    @property
    @telling
    def mT(input: Any) -> Rule["matrix_transpose"]: ...
    @property
    def mH(input: Any) -> Rule["matrix_transpose"]: ...

@also("view_copy")
def reshape(input: Any, shape: Any) -> Rule["reshape"]: ...
@also("permute_copy")
@by_axis("permute")
def permute(input: Any, dims: Any) -> Rule["permute"]: ...
def tile(input: Any, repeats: Any) -> Rule["repeat", "tile"]: ...
def flip(input: T[Tensor, "*s"], dims: Axes["*s"]) -> T[Tensor, "*s"]: ...
def unflatten(input: Any, dim: int, sizes: Any) -> Rule["unflatten"]: ...
def ravel(input: Any) -> Rule["flatten"]: ...

@method
@shared
@by_axis
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Rule["flatten"]: ...

@reshapes
@also("swapaxes", "swapdims", "transpose_copy")
@method
@inplace
@shared("transpose")
@by_axis("transpose", "swapaxes", "transpose_", "swapaxes_")
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
def movedim(input: Any, source: Any, destination: Any) -> Rule["movedim"]: ...

@reshapes
@also("squeeze_copy")
@method
@inplace
@shared("squeeze")
@by_axis("squeeze", "squeeze_")
def squeeze(input: Any, dim: Any = None) -> Rule["squeeze"]: ...

@reshapes
@also("unsqueeze_copy")
@method
@inplace
@telling("unsqueeze")
@by_axis("unsqueeze", "unsqueeze_")
def unsqueeze(input: T[Tensor, "*s"], dim: NewAxis["*s"]) -> T[Tensor, Insert["*s", dim, "1"]]: ...

@also("expand_copy")
@method
def broadcast_to(input: Any, size: Any) -> Rule["expand"]: ...

@method
@telling
def repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, *, output_size: int = None) -> Rule["repeat_interleave"]: ...

@method
def fliplr(input: T[Tensor, "r c *s"]) -> T[Tensor, "r c *s"]: ...

@method
def flipud(input: T[Tensor, "r *s"]) -> T[Tensor, "r *s"]: ...

@method
@telling
def roll(input: Any, shifts: Any, dims: Any = None) -> Rule["roll"]: ...

@method
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Rule["rot90"]: ...

@also("select_copy")
@method
@by_axis("select")
def select(input: Any, dim: int, index: int) -> Rule["select"]: ...

@also("narrow_copy")
@method
@telling("narrow")
def narrow(input: Any, dim: int, start: Any, length: int) -> Rule["narrow"]: ...

@also("diagonal_copy")
@method
@by_axis("diagonal")
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Rule["diagonal"]: ...

@method
def diagflat(input: T[Tensor, ...], offset: int = 0) -> Is[torch.diag(torch.flatten(input), offset)]: ...

@method
def diag(input: Any, diagonal: int = 0) -> Rule["diag"]: ...

@method
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Rule["diag_embed"]: ...

@also("triu")
@method
@inplace
def tril(input: T[Tensor, "*n r c"], diagonal: int = 0) -> T[Tensor, "*n r c"]: ...

def unfold_copy(input: Any, dimension: int, size: int, step: int) -> Rule["unfold"]: ...

@reshapes
@also("as_strided_copy")
@method
@inplace
def as_strided(input: T[Tensor, ...], size: Any, stride: Any, storage_offset: int = None) -> T[Tensor, Sizes[size]]: ...
