"""Elementwise ops: a function of each element, or of elements that meet by broadcasting."""
import torch

# One operand -------------------------------------------------------------------------------------

@also("negative", "torch.Tensor.__neg__")
@method
@inplace
def neg(input: Num[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@also("relu", "sign", "sgn", "conj", "conj_physical", "resolve_conj", "resolve_neg", "ceil", "floor", "trunc", "fix", "frac", "torch.Tensor.__pos__")
@method
@inplace
@telling("relu")
def positive(input: T[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@also("torch.Tensor.__invert__")
@method
@inplace
def bitwise_not(input: Whole[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@also("torch.special.round")
@method
@inplace
def round(input: T[Tensor, "*s"], *, decimals: int = 0) -> T[Tensor, "*s"]: ...

@also("detach", "torch.Tensor.contiguous", "torch.Tensor.__copy__", "torch.Tensor.__deepcopy__", "torch.Tensor.share_memory", "torch.Tensor.cuda", "torch.Tensor.cpu", "torch.Tensor.mps", "torch.Tensor.xpu", "torch.Tensor.pin_memory", "torch.Tensor.to_dense", "torch.Tensor.to_sparse", "torch.Tensor.coalesce", "alias_copy", "detach_copy")
@method
@inplace
@telling("contiguous", "cuda", "cpu", "detach")
@shared("clone")
def clone(input: T[Tensor, "*s"], *args: Any, **kwargs: Any) -> T[Tensor, "*s"]: ...

@method
@inplace
def nan_to_num(input: T[Tensor, "*s"], nan: float = None, posinf: float = None, neginf: float = None) -> T[Tensor, "*s"]: ...

@also("absolute", "torch.Tensor.__abs__")
@method
@inplace
@shared("abs")
def abs(input: R[Tensor, "*s"]) -> R[Tensor, "*s"]: ...

def real(input: R[Tensor, "*s"]) -> R[Tensor, "*s"]: ...
@example("x: Complex b t | x")
def imag(input: R[Tensor, "*s"]) -> R[Tensor, "*s"]: ...

@also(
    "acos", "arccos", "acosh", "arccosh", "asin", "arcsin", "asinh", "arcsinh", "atan", "arctan", "atanh", "arctanh",
    "cos", "cosh", "sin", "sinh", "tan", "tanh", "deg2rad", "rad2deg", "erf", "erfc", "erfinv", "exp2", "expm1",
    "digamma", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt", "sigmoid", "sinc", "i0",
    "torch.special.erf", "torch.special.erfc", "torch.special.erfinv", "torch.special.exp2", "torch.special.expm1", "torch.special.log1p", "torch.special.sinc",
    "torch.special.expit", "torch.special.entr", "torch.special.gammaln", "torch.special.digamma", "torch.special.psi", "torch.special.i0", "torch.special.i0e",
    "torch.special.i1", "torch.special.i1e", "torch.special.ndtr", "torch.special.ndtri", "torch.special.log_ndtr", "torch.special.erfcx",
    "torch.special.airy_ai", "torch.special.spherical_bessel_j0", "torch.special.modified_bessel_i0", "torch.special.modified_bessel_i1",
    "torch.special.modified_bessel_k0", "torch.special.modified_bessel_k1", "torch.special.scaled_modified_bessel_k0",
    "torch.special.scaled_modified_bessel_k1", "torch.special.bessel_j0", "torch.special.bessel_j1", "torch.special.bessel_y0", "torch.special.bessel_y1",
)
@method
@inplace
@telling("tanh", "sigmoid")
@shared("exp", "cos", "sin", "log", "sqrt")
def exp(input: F[Tensor, "*s"]) -> F[Tensor, "*s"]: ...

@method
def angle(input: Shaped[Tensor, "*s"]) -> Float[Tensor, "*s"]: ...

@method
@inplace
def square(input: T[Tensor, "*s"]) -> Is[torch.pow(input, 2)]: ...

@also("torch.special.logit")
@method
@inplace
def logit(input: F[Tensor, "*s"], eps: float = None) -> F[Tensor, "*s"]: ...

@also("torch.special.multigammaln")
@method
@inplace
def mvlgamma(input: F[Tensor, "*s"], p: int) -> F[Tensor, "*s"]: ...

@also("torch.special.polygamma")
def polygamma(n: int, input: F[Tensor, "*s"]) -> F[Tensor, "*s"]: ...

class Tensor:
    @inplace
    def polygamma(input: F[Tensor, "*s"], n: int) -> F[Tensor, "*s"]: ...

@method
def frexp(input: T[Tensor, "*s"]) -> Fields["mantissa exponent", tuple[T[Tensor, "*s"], Int32[Tensor, "*s"]]]: ...

@also("isinf", "isfinite", "isneginf", "isposinf", "isreal", "signbit")
@method
def isnan(input: T[Tensor, "*s"]) -> Bool[Tensor, "*s"]: ...

@method
def logical_not(input: T[Tensor, "*s"]) -> Bool[Tensor, "*s"]: ...

class Tensor:
    def logical_not_(input: T[Tensor, "*s"]) -> T[Tensor, "*s"]: ...

@inplace
def threshold(input: T[Tensor, "*s"], threshold: Any, value: Any) -> T[Tensor, "*s"]: ...

@method
@inplace
def renorm(input: T[Tensor, "*s"], p: Number, dim: Axis["*s"], maxnorm: Number) -> T[Tensor, "*s"]: ...

# Two operands ------------------------------------------------------------------------------------

@also(
    "multiply", "remainder", "fmod", "floor_divide", "pow", "maximum", "minimum", "fmax",
    "fmin", "hypot", "nextafter", "heaviside", "logaddexp", "logaddexp2",
    "torch.Tensor.__mul__", "torch.Tensor.__rmul__", "torch.Tensor.__floordiv__", "torch.Tensor.__rfloordiv__",
    "torch.Tensor.__mod__", "torch.Tensor.__rmod__", "torch.Tensor.__pow__", "torch.Tensor.__rpow__",
)
@method
@shared("pow")
def mul(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

@also(
    "sub", "subtract", "rsub",
    "torch.Tensor.__add__", "torch.Tensor.__radd__", "torch.Tensor.__sub__", "torch.Tensor.__rsub__",
)
@method
@example("x: b t; y: b t | x, y", "add")
def add(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number, *, alpha: Number = 1) -> T[Tensor, "*s"]: ...

@also(
    "bitwise_or", "bitwise_xor", "gcd", "lcm",
    "torch.Tensor.__and__", "torch.Tensor.__rand__", "torch.Tensor.__or__", "torch.Tensor.__ror__",
    "torch.Tensor.__xor__", "torch.Tensor.__rxor__",
)
@method
@example("x: Int b t; y: Int b t | x, y", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")
def bitwise_and(input: Whole[Tensor, "*#s"] | Number, other: Whole[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

@also(
    "bitwise_right_shift", "torch.Tensor.__lshift__", "torch.Tensor.__rlshift__", "torch.Tensor.__rshift__",
    "torch.Tensor.__rrshift__",
)
@method
@example("x: Int b t; y: Int b t | x, y", "bitwise_left_shift", "bitwise_right_shift")
def bitwise_left_shift(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

def pow(input: T[Tensor, "*#s"] | Number, exponent: T[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

@also(
    "arctan2", "true_divide", "copysign", "ldexp", "xlogy", "igamma", "igammac", "torch.special.gammainc", "torch.special.gammaincc", "torch.special.xlogy", "torch.special.xlog1py",
    "torch.special.zeta", "torch.Tensor.__truediv__", "torch.Tensor.__rtruediv__", "torch.Tensor.__rdiv__", "torch.Tensor.__div__",
)
@method
def atan2(input: F[Tensor, "*#s"] | Number, other: F[Tensor, "*#s"] | Number) -> F[Tensor, "*s"]: ...

@also("divide")
@method
def div(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number, *, rounding_mode: str = None) -> Is[torch.true_divide(input, other) if rounding_mode is None else torch.floor_divide(input, other)]: ...

@method
def float_power(input: D[Tensor, "*#s"] | Number, other: D[Tensor, "*#s"] | Number) -> D[Tensor, "*s"]: ...

@also(
    "ne", "not_equal", "gt", "greater", "ge", "greater_equal", "lt", "less", "le", "less_equal",
    "logical_and", "logical_or", "logical_xor", "torch.Tensor.__eq__", "torch.Tensor.__ne__", "torch.Tensor.__lt__",
    "torch.Tensor.__le__", "torch.Tensor.__gt__", "torch.Tensor.__ge__",
)
@method
def eq(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number) -> Bool[Tensor, "*s"]: ...

@method
def isclose(input: T[Tensor, "*#s"] | Number, other: T[Tensor, "*#s"] | Number, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Bool[Tensor, "*s"]: ...

@also(
    "torch.special.chebyshev_polynomial_t", "torch.special.chebyshev_polynomial_u", "torch.special.chebyshev_polynomial_v",
    "torch.special.chebyshev_polynomial_w", "torch.special.hermite_polynomial_h", "torch.special.hermite_polynomial_he",
    "torch.special.laguerre_polynomial_l", "torch.special.legendre_polynomial_p", "torch.special.shifted_chebyshev_polynomial_t",
    "torch.special.shifted_chebyshev_polynomial_u", "torch.special.shifted_chebyshev_polynomial_v", "torch.special.shifted_chebyshev_polynomial_w",
)
def _polynomial(input: F[Tensor, "*#s"] | Number, other: F[Tensor, "*#s"] | Number) -> F[Tensor, "*s"]: ...

def polar(abs: Float[Tensor, "*#s"], angle: Float[Tensor, "*#s"]) -> Complex[Tensor, "*s"]: ...
def complex(real: Float[Tensor, "*#s"], imag: Float[Tensor, "*#s"]) -> Complex[Tensor, "*s"]: ...

# In place: the left operand keeps its shape and its dtype -------------------------------------------

class Tensor:
    @also(
        "sub_", "subtract_", "mul_", "multiply_", "pow_", "remainder_", "fmod_", "floor_divide_", "bitwise_and_",
        "bitwise_or_", "bitwise_xor_", "gcd_", "lcm_", "hypot_", "nextafter_", "heaviside_", "ldexp_", "__iadd__",
        "__isub__", "__imul__", "__ipow__", "__imod__", "__ifloordiv__", "__iand__", "__ior__", "__ixor__",
        "__ilshift__", "__irshift__", "bitwise_left_shift_", "bitwise_right_shift_",
        "torch.gcd_", "torch.lcm_", "torch.ldexp_",
    )
    @telling("add_", "mul_")
    def add_(input: Any, other: Any, *, alpha: Number = 1) -> Rule["inplace", "same"]: ...
    @also("divide_", "true_divide_", "torch.xlogy_", "atan2_", "arctan2_", "copysign_", "xlogy_", "igamma_", "igammac_", "__itruediv__")
    @telling("div_")
    def div_(input: Any, other: Any, *, rounding_mode: str = None) -> Rule["inplace", "float"]: ...
    @also(
        "ne_", "not_equal_", "gt_", "greater_", "ge_", "greater_equal_", "lt_", "less_", "le_", "less_equal_",
        "logical_and_", "logical_or_", "logical_xor_",
    )
    def eq_(input: Any, other: Any) -> Rule["inplace"]: ...
    @telling
    def copy_(input: Any, other: Any, non_blocking: bool = False) -> Rule["inplace"]: ...
    @also("normal_", "random_", "bernoulli_", "exponential_", "geometric_", "log_normal_", "cauchy_", "fill_", "zero_", "fill_diagonal_", "requires_grad_", "torch.zero_", "torch.fill_", "torch.fill", "torch.resize_as_sparse_")
    @telling("normal_", "fill_", "zero_", "requires_grad_")
    @example("x: b t | x, 0.5", "fill", "geometric_", "fill_")
    @example("x: n n | x, 1.0", "fill_diagonal_")
    def uniform_(input: T[Tensor, "*s"], *args: Any, **kwargs: Any) -> T[Tensor, "*s"]: ...
    @example("x: b n; c: Bool b n; y: n | x, c, y")
    def where(input: Any, condition: Any, other: Any) -> Rule["where"]: ...
    @telling
    def masked_fill(input: Any, mask: Any, value: Any) -> Rule["masked_fill"]: ...
    @telling
    def masked_fill_(input: Any, mask: Any, value: Any) -> Rule["masked_fill", "inplace"]: ...
    @also("torch.clamp_")
    def clamp_(input: Any, min: Any = None, max: Any = None) -> Rule["several_inplace"]: ...
    @also("torch.clip_")
    def clip_(input: Any, min: Any = None, max: Any = None) -> Rule["several_inplace"]: ...
    def lerp_(input: Any, end: Any, weight: Any) -> Rule["several_inplace"]: ...
    def addcmul_(input: Any, tensor1: Any, tensor2: Any, *, value: Number = 1) -> Rule["several_inplace"]: ...
    def addcdiv_(input: Any, tensor1: Any, tensor2: Any, *, value: Number = 1) -> Rule["several_inplace"]: ...

# More operands -----------------------------------------------------------------------------------

@example("c: Bool b n; x: b n; y: n | c, x, y")
def where(condition: Any, input: Any, other: Any) -> Rule["where"]: ...
def where(condition: Any) -> Rule["nonzero", "tuple"]: ...

@example("x: b h t s; m: Bool t s | x, m, 0.0")
def masked_fill(input: Any, mask: Any, value: Any) -> Rule["masked_fill"]: ...

@also("clip")
@method
@shared("clamp")
@example("x: b t | x, 0, 1")
def clamp(input: T[Tensor, "*#s"], min: T[Tensor, "*#s"] | Number = None, max: T[Tensor, "*#s"] | Number = None) -> T[Tensor, "*s"]: ...

@method
@telling
def clamp_min(input: T[Tensor, "*#s"], min: T[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

@method
def clamp_max(input: T[Tensor, "*#s"], max: T[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

class Tensor:
    @also("torch.clamp_min_")
    def clamp_min_(input: Any, min: Any) -> Rule["several_inplace"]: ...
    @also("torch.clamp_max_")
    def clamp_max_(input: Any, max: Any) -> Rule["several_inplace"]: ...

@method
@example("x: b t; y: b t | x, y, 0.5")
def lerp(input: Inexact[Tensor, "*#s"], end: Inexact[Tensor, "*#s"], weight: Inexact[Tensor, "*#s"] | Number) -> T[Tensor, "*s"]: ...

@also("addcdiv")
@method
def addcmul(input: T[Tensor, "*#s"], tensor1: T[Tensor, "*#s"], tensor2: T[Tensor, "*#s"], *, value: Number = 1) -> T[Tensor, "*s"]: ...

@method
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool: ...

@method
def equal(input: Any, other: Any) -> bool: ...

@method
def dist(input: Any, other: Any, p: Number = 2) -> Rule["dist"]: ...

# Dtypes ------------------------------------------------------------------------------------------

class Tensor:
    @shared
    @uncast
    @example("x: b t | x, torch.float16")
    def to(input: Any, *args: Any, dtype: DType = None, other: Any = None, **kwargs: Any) -> Rule["convert"]: ...
    @shared
    @uncast
    @example("x: b t | x, torch.int64")
    def type(input: Any, *args: Any, dtype: DType = None, **kwargs: Any) -> Rule["convert", "type"]: ...
    @telling
    @uncast
    def type_as(input: Any, other: Any) -> Rule["type_as"]: ...
    @shared
    def float(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Float32[Tensor, "*s"]: ...
    @shared
    def double(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Float64[Tensor, "*s"]: ...
    @shared
    def half(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Float16[Tensor, "*s"]: ...
    def bfloat16(input: Shaped[Tensor, "*s"], **kwargs: Any) -> BFloat16[Tensor, "*s"]: ...
    @shared
    def long(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Int64[Tensor, "*s"]: ...
    @shared
    def int(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Int32[Tensor, "*s"]: ...
    def short(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Int16[Tensor, "*s"]: ...
    def char(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Int8[Tensor, "*s"]: ...
    def byte(input: Shaped[Tensor, "*s"], **kwargs: Any) -> UInt8[Tensor, "*s"]: ...
    @shared
    def bool(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Bool[Tensor, "*s"]: ...
    def chalf(input: Any, **kwargs: Any) -> Rule["astype", "complex32"]: ...
    def cfloat(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Complex64[Tensor, "*s"]: ...
    def cdouble(input: Shaped[Tensor, "*s"], **kwargs: Any) -> Complex128[Tensor, "*s"]: ...
