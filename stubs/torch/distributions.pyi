"""torch.distributions: the constants are the axes of an event, and what a sample makes of them."""

class _Elements(Module):
    mean: Rule["statistic", 0, "event"]
    mode: Rule["statistic", 0, "event"]
    variance: Rule["statistic", 0, "event"]
    stddev: Rule["statistic", 0, "event"]
    def sample(self, sample_shape: Any = ()) -> Rule["drawn", 0, "event"]: ...
    def rsample(self, sample_shape: Any = ()) -> Rule["drawn", 0, "event"]: ...
    def log_prob(self, value: Any) -> Rule["scored", 0, "event"]: ...
    def cdf(self, value: Any) -> Rule["scored", 0, "event"]: ...
    def icdf(self, value: Any) -> Rule["scored", 0, "event"]: ...
    def entropy(self) -> Rule["statistic", 0, "batch"]: ...

class _Indices(Module):
    mode: Rule["statistic", 1, "batch"]
    def sample(self, sample_shape: Any = ()) -> Rule["drawn", 1, "index"]: ...
    def rsample(self, sample_shape: Any = ()) -> Rule["drawn", 1, "index"]: ...
    def log_prob(self, value: Any) -> Rule["scored", 1, "index"]: ...
    def entropy(self) -> Rule["statistic", 1, "batch"]: ...

class _Vectors(Module):
    mean: Rule["statistic", 1, "event"]
    mode: Rule["statistic", 1, "event"]
    variance: Rule["statistic", 1, "event"]
    stddev: Rule["statistic", 1, "event"]
    def sample(self, sample_shape: Any = ()) -> Rule["drawn", 1, "event"]: ...
    def rsample(self, sample_shape: Any = ()) -> Rule["drawn", 1, "event"]: ...
    def log_prob(self, value: Any) -> Rule["scored", 1, "event"]: ...
    def entropy(self) -> Rule["statistic", 1, "batch"]: ...

@also("torch.distributions.normal.Normal")
class Normal(_Elements):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.log_normal.LogNormal")
class LogNormal(_Elements):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.laplace.Laplace")
class Laplace(_Elements):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.cauchy.Cauchy")
class Cauchy(_Elements):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.gumbel.Gumbel")
class Gumbel(_Elements):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.uniform.Uniform")
class Uniform(_Elements):
    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.beta.Beta")
class Beta(_Elements):
    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None: ...

class Kumaraswamy(_Elements):
    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.gamma.Gamma")
class Gamma(_Elements):
    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None: ...

class InverseGamma(_Elements):
    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.exponential.Exponential")
class Exponential(_Elements):
    def __init__(self, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.poisson.Poisson")
class Poisson(_Elements):
    def __init__(self, rate: Any, validate_args: bool | None = None) -> None: ...

class HalfNormal(_Elements):
    def __init__(self, scale: Any, validate_args: bool | None = None) -> None: ...

class HalfCauchy(_Elements):
    def __init__(self, scale: Any, validate_args: bool | None = None) -> None: ...

class Chi2(_Elements):
    def __init__(self, df: Any, validate_args: bool | None = None) -> None: ...

class StudentT(_Elements):
    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None: ...

class FisherSnedecor(_Elements):
    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None: ...

class Pareto(_Elements):
    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None: ...

class Weibull(_Elements):
    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

class VonMises(_Elements):
    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

class GeneralizedPareto(_Elements):
    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.bernoulli.Bernoulli")
class Bernoulli(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

class Geometric(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

class ContinuousBernoulli(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None) -> None: ...

class Binomial(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

class NegativeBinomial(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.relaxed_bernoulli.RelaxedBernoulli")
class RelaxedBernoulli(_Elements):
    probs: Rule["statistic", 0, "event"]
    logits: Rule["statistic", 0, "event"]
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.categorical.Categorical")
class Categorical(_Indices):
    probs: Rule["statistic", 1, "event"]
    logits: Rule["statistic", 1, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.one_hot_categorical.OneHotCategorical")
class OneHotCategorical(_Vectors):
    probs: Rule["statistic", 1, "event"]
    logits: Rule["statistic", 1, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

class OneHotCategoricalStraightThrough(_Vectors):
    probs: Rule["statistic", 1, "event"]
    logits: Rule["statistic", 1, "event"]
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.relaxed_categorical.RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(_Vectors):
    probs: Rule["statistic", 1, "event"]
    logits: Rule["statistic", 1, "event"]
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.multinomial.Multinomial")
class Multinomial(_Vectors):
    probs: Rule["statistic", 1, "event"]
    logits: Rule["statistic", 1, "event"]
    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.dirichlet.Dirichlet")
class Dirichlet(_Vectors):
    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.multivariate_normal.MultivariateNormal")
class MultivariateNormal(_Vectors):
    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None, validate_args: bool | None = None) -> None: ...
