"""einx: named axes in patterns."""

@also("id")
@example('x: b (h d) | "b (h d) -> b h d", x, h=8')
def rearrange(description: str, *tensors: Any, **kwargs: Any) -> Rule["einx"]: ...
@also("subtract", "multiply", "maximum", "minimum", "logaddexp", "dot", "get_at", "softmax", "log_softmax", "flip", "roll", "sort", "divide", "true_divide", "floor_divide", "where", "set_at", "add_at", "subtract_at")
@example('x: b t d; weight: d e | "b t [d], [d] e -> b t e", x, weight', "dot")
@example('x: b d; y: d | "b d, d", x, y', "add")
@example('x: b n d; i: Int b k | "b [n] d, b k -> b k d", x, i', "get_at")
def add(description: str, *tensors: Any, **kwargs: Any) -> Rule["einx", "any"]: ...
@also("less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or")
@example('x: b d; y: d | "b d, d", x, y')
def less(description: str, *tensors: Any, **kwargs: Any) -> Rule["einx", "bool"]: ...
@reduces("sum", "mean", "prod", "max", "min", "var", "std", "logsumexp")
@also("mean", "prod", "max", "min", "var", "std", "count_nonzero", "logsumexp")
@example('x: b t d | "b [t] d", x')
def sum(description: str, *tensors: Any, **kwargs: Any) -> Rule["einx", "any", "reduce"]: ...
@also("all")
def any(description: str, *tensors: Any, **kwargs: Any) -> Rule["einx", "bool", "reduce"]: ...
