"""Functions of each element, or of elements that meet by broadcasting."""
import numpy

@also("numpy.ndarray.__neg__", "numpy.ndarray.__pos__", "positive", "conj", "conjugate", "numpy.ndarray.conj", "numpy.ndarray.conjugate", "sign", "reciprocal")
@example("x: b t | x")
def negative(x: T[ndarray, "*s"] | Number, *, dtype: DType = None) -> T[ndarray, "*s"]: ...

@also("absolute", "fabs", "numpy.ndarray.__abs__")
def abs(x: R[ndarray, "*s"] | Number, *, dtype: DType = None) -> R[ndarray, "*s"]: ...
@also("imag")
def real(val: R[ndarray, "*s"]) -> R[ndarray, "*s"]: ...

@also("numpy.ndarray.__invert__", "bitwise_not")
@example("x: Int b t | x")
def invert(x: T[ndarray, "*s"]) -> T[ndarray, "*s"]: ...

@also("rint", "trunc", "floor", "fix")
@example("x: b t | x")
def ceil(x: Any, *, dtype: DType = None) -> ndarray[Rule["array each", "whole"]]: ...
@also("around", "numpy.ndarray.round", "round_")
@example("x: b t | x")
def round(x: Any, decimals: int = 0) -> ndarray[Rule["array each", "float16"]]: ...
@example("x: b t | x")
def square(x: Any, *, dtype: DType = None) -> ndarray[Rule["array each", "int8"]]: ...

@also(
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh",
    "tan", "tanh", "deg2rad", "rad2deg", "degrees", "radians", "exp2", "expm1", "log", "log10", "log1p", "log2", "sqrt", "cbrt",
)
def exp(x: F[ndarray, "*s"] | Number, *, dtype: DType = None) -> F[ndarray, "*s"]: ...
@also("unwrap", "i0")
def sinc(x: Shaped[ndarray, "*s"]) -> Float[ndarray, "*s"]: ...

@also("isinf", "isfinite", "isneginf", "isposinf", "signbit", "logical_not", "isreal", "iscomplex")
def isnan(x: Shaped[ndarray, "*s"] | Number) -> Bool[ndarray, "*s"]: ...
def nan_to_num(x: T[ndarray, "*s"] | Number, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> T[ndarray, "*s"]: ...
def angle(z: Shaped[ndarray, "*s"], deg: bool = False) -> Float[ndarray, "*s"]: ...

# Two operands ------------------------------------------------------------------------------------

@also(
    "subtract", "multiply", "mod", "remainder", "fmod", "floor_divide", "maximum", "minimum", "fmax", "fmin",
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm",
    "numpy.ndarray.__add__", "numpy.ndarray.__sub__", "numpy.ndarray.__mul__", "numpy.ndarray.__floordiv__",
    "numpy.ndarray.__mod__", "numpy.ndarray.__and__", "numpy.ndarray.__or__", "numpy.ndarray.__xor__",
    "numpy.ndarray.__lshift__", "numpy.ndarray.__rshift__",
)
@example("x: b t; y: b t | x, y")
def add(x1: T[ndarray, "*#s"] | Number, x2: T[ndarray, "*#s"] | Number, *, dtype: DType = None) -> T[ndarray, "*s"]: ...

@also("pow", "numpy.ndarray.__pow__")
@example("x: b t | x, 2")
def power(x1: Any, x2: Any, *, dtype: DType = None) -> ndarray[Rule["array power"]]: ...

@also("true_divide", "numpy.ndarray.__truediv__")
@example("x: b t; y: b t | x, y")
def divide(x1: D[ndarray, "*#s"] | Number, x2: D[ndarray, "*#s"] | Number, *, dtype: DType = None) -> D[ndarray, "*s"]: ...

@also("atan2", "hypot", "copysign", "logaddexp", "logaddexp2", "nextafter", "heaviside", "ldexp")
@example("x: b t; y: b t | x, y")
def arctan2(x1: F[ndarray, "*#s"] | Number, x2: F[ndarray, "*#s"] | Number) -> F[ndarray, "*s"]: ...
@example("x: b t; y: b t | x, y")
def float_power(x1: Shaped[ndarray, "*#s"] | Number, x2: Shaped[ndarray, "*#s"] | Number) -> Inexact[ndarray, "*s"]: ...

@also(
    "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
    "numpy.ndarray.__eq__", "numpy.ndarray.__ne__", "numpy.ndarray.__lt__", "numpy.ndarray.__le__", "numpy.ndarray.__gt__", "numpy.ndarray.__ge__",
)
@example("x: b t; y: b t | x, y")
def equal(x1: Shaped[ndarray, "*#s"] | Number, x2: Shaped[ndarray, "*#s"] | Number) -> Bool[ndarray, "*s"]: ...
@example("x: b t; y: b t | x, y")
def isclose(a: Shaped[ndarray, "*#s"] | Number, b: Shaped[ndarray, "*#s"] | Number, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Bool[ndarray, "*s"]: ...
@also("array_equiv")
def array_equal(a1: ndarray, a2: ndarray, equal_nan: bool = False) -> bool: ...
def allclose(a: ndarray, b: ndarray, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool: ...

@also("numpy.ndarray.clip")
@example("x: b t | x, 0, 1")
def clip(a: T[ndarray, "*#s"] | Number, a_min: T[ndarray, "*#s"] | Number = None, a_max: T[ndarray, "*#s"] | Number = None, *, min: Any = None, max: Any = None, dtype: DType = None) -> T[ndarray, "*s"]: ...

@example("c: Bool b n; x: b n; y: n | c, x, y")
def where(condition: ndarray, x: Any, y: Any) -> ndarray[Rule["array where"]]: ...
def where(condition: ndarray) -> ndarray[Is[numpy.nonzero(condition)]]: ...

@example("x: n; y: m; z: m | x, y, z")
def interp(x: Shaped[ndarray, "*s"] | Number, xp: Shaped[ndarray, "n"], fp: Shaped[ndarray, "n"], left: Any = None, right: Any = None, period: Any = None) -> Float64[ndarray, "*s"]: ...
