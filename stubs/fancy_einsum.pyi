"""fancy_einsum: einsum with whole words for axes."""

@example('q: b i d; k: b j d | "b i d, b j d -> b i j", q, k')
def einsum(equation: str, *operands: Any) -> Rule["einops.einsum, equation first"]: ...
