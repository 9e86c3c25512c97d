"""Attention with a user's own scores."""

@example("q: b h t d; k: b h s d; v: b h s d | q, k, v")
def flex_attention(query: T[Tensor, ...], key: T[Tensor, ...], value: T[Tensor, ...], score_mod: Any = None, block_mask: Any = None, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *, return_aux: Any = None) -> Rule["attention"]: ...
