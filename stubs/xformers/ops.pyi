"""xformers.ops: attention over heads, if there are any, that stand behind the positions."""
from torch import Tensor

@also("xformers.ops.fmha.memory_efficient_attention")
def memory_efficient_attention(query: Num[Tensor, "b m *h k"], key: Num[Tensor, "b n *h k"], value: Num[Tensor, "b n *h v"], attn_bias: Any = None, p: float = 0.0, scale: Any = None, *, op: Any = None, output_dtype: Any = None) -> Num[Tensor, "b m *h v"]: ...
