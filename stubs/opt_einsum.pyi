"""opt_einsum: contractions in a good order."""

@also("opt_einsum.contract.contract")
def contract(equation: str, *operands: Any, **kwargs: Any) -> Rule["einsum"]: ...
