"""transformer_lens: transformers whose activations can be watched and changed."""
from torch.nn import Module

@also("transformer_lens.hook_points.HookPoint")
class HookPoint(Module):
    def __init__(self) -> None: ...
    def forward(self, x: T[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@also("transformer_lens.hook_points.HookedRootModule", "transformer_lens.HookedTransformer.HookedRootModule")
class HookedRootModule(Module):
    def __init__(self, *args: Any) -> None: ...

@also("transformer_lens.HookedTransformer.HookedTransformer")
class HookedTransformer(HookedRootModule):
    W_E: Float[Tensor, "d_vocab d_model"]
    W_pos: Float[Tensor, "n_ctx d_model"]
    W_U: Float[Tensor, "d_model d_vocab"]
    b_U: Float[Tensor, "d_vocab"]
    W_Q: Float[Tensor, "n_layers n_heads d_model d_head"]
    W_K: Float[Tensor, "n_layers n_heads d_model d_head"]
    W_V: Float[Tensor, "n_layers n_heads d_model d_head"]
    W_O: Float[Tensor, "n_layers n_heads d_head d_model"]
    W_in: Float[Tensor, "n_layers d_model d_mlp"]
    W_out: Float[Tensor, "n_layers d_mlp d_model"]
    b_Q: Float[Tensor, "n_layers n_heads d_head"]
    b_K: Float[Tensor, "n_layers n_heads d_head"]
    b_V: Float[Tensor, "n_layers n_heads d_head"]
    b_O: Float[Tensor, "n_layers d_model"]
    b_in: Float[Tensor, "n_layers d_mlp"]
    b_out: Float[Tensor, "n_layers d_model"]
    def __init__(self, cfg: Any, tokenizer: Any = None, move_to_device: bool = True, default_padding_side: Any = None) -> None: ...
    def to_tokens(self, input: Any, prepend_bos: Any = None, padding_side: Any = None, move_to_device: bool = True, truncate: bool = True) -> Int64[Tensor, "batch pos"]: ...
