"""opt_einsum: contractions in a good order."""

@also("opt_einsum.contract.contract")
@example('x: b i; y: b j | "bi,bj->ij", x, y')
def contract(equation: str, *operands: Any, **kwargs: Any) -> Rule["einsum"]: ...
