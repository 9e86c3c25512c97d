"""torch.distributions: what is drawn, scored and said of a distribution."""
import torch

@also("torch.distributions.distribution.Distribution")
class Distribution(Module):
    mean: Rule["statistic", "event"]
    mode: Rule["statistic", "event"]
    variance: Rule["statistic", "event"]
    stddev: Rule["statistic", "event"]
    batch_shape: Rule["extent", "batch"]
    event_shape: Rule["extent", "event"]
    def sample(self, sample_shape: Any = ()) -> Rule["drawn"]: ...
    def rsample(self, sample_shape: Any = ()) -> Rule["drawn"]: ...
    def sample_n(self, n: int) -> Rule["drawn"]: ...
    def expand(self, batch_shape: Any) -> Rule["expanded"]: ...
    def log_prob(self, value: Any) -> Rule["scored"]: ...
    def cdf(self, value: Any) -> Rule["scored"]: ...
    def icdf(self, value: Any) -> Rule["scored"]: ...
    def entropy(self) -> Rule["statistic", "batch"]: ...
    def perplexity(self) -> Rule["statistic", "batch"]: ...

class _Probabilities(Distribution):
    probs: Rule["statistic", "parameter"]
    logits: Rule["statistic", "parameter"]

class _OfVectors(Distribution):
    """An event is a vector, the last axis of the parameters."""
    _last_axes: int = 1

@also("torch.distributions.independent.Independent")
class Independent(Distribution):
    _form: str = "distribution.independent"
    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.mixture_same_family.MixtureSameFamily")
class MixtureSameFamily(Distribution):
    _form: str = "distribution.mixture"
    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.transformed_distribution.TransformedDistribution")
class TransformedDistribution(Distribution):
    _form: str = "distribution.transformed"
    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.normal.Normal")
class Normal(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.log_normal.LogNormal")
class LogNormal(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.laplace.Laplace")
class Laplace(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.cauchy.Cauchy")
class Cauchy(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.gumbel.Gumbel")
class Gumbel(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.uniform.Uniform")
class Uniform(Distribution):
    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.beta.Beta")
class Beta(Distribution):
    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.kumaraswamy.Kumaraswamy")
class Kumaraswamy(Distribution):
    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.gamma.Gamma")
class Gamma(Distribution):
    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.inverse_gamma.InverseGamma")
class InverseGamma(Distribution):
    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.exponential.Exponential")
class Exponential(Distribution):
    def __init__(self, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.poisson.Poisson")
class Poisson(Distribution):
    def __init__(self, rate: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.half_normal.HalfNormal")
class HalfNormal(Distribution):
    def __init__(self, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.half_cauchy.HalfCauchy")
class HalfCauchy(Distribution):
    def __init__(self, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.chi2.Chi2")
class Chi2(Distribution):
    def __init__(self, df: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.studentT.StudentT")
class StudentT(Distribution):
    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.fishersnedecor.FisherSnedecor")
class FisherSnedecor(Distribution):
    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.pareto.Pareto")
class Pareto(Distribution):
    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.weibull.Weibull")
class Weibull(Distribution):
    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.von_mises.VonMises")
class VonMises(Distribution):
    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.generalized_pareto.GeneralizedPareto")
class GeneralizedPareto(Distribution):
    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.bernoulli.Bernoulli")
class Bernoulli(_Probabilities):
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.geometric.Geometric")
class Geometric(_Probabilities):
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.continuous_bernoulli.ContinuousBernoulli")
class ContinuousBernoulli(_Probabilities):
    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None) -> None: ...

@also("torch.distributions.binomial.Binomial")
class Binomial(_Probabilities):
    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.negative_binomial.NegativeBinomial")
class NegativeBinomial(_Probabilities):
    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.relaxed_bernoulli.RelaxedBernoulli")
class RelaxedBernoulli(_Probabilities):
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.categorical.Categorical")
class Categorical(_Probabilities):
    _last_axes: int = 1
    _draws_indices: bool = True
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.one_hot_categorical.OneHotCategorical")
class OneHotCategorical(_Probabilities, _OfVectors):
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.one_hot_categorical.OneHotCategoricalStraightThrough")
class OneHotCategoricalStraightThrough(_Probabilities, _OfVectors):
    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.relaxed_categorical.RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(_Probabilities, _OfVectors):
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.multinomial.Multinomial")
class Multinomial(_Probabilities, _OfVectors):
    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.dirichlet.Dirichlet")
class Dirichlet(_OfVectors):
    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.multivariate_normal.MultivariateNormal")
class MultivariateNormal(_OfVectors):
    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.lowrank_multivariate_normal.LowRankMultivariateNormal")
class LowRankMultivariateNormal(_OfVectors):
    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.logistic_normal.LogisticNormal")
class LogisticNormal(_OfVectors):
    """An event has one element more than the parameters."""
    _adds_one: bool = True
    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.lkj_cholesky.LKJCholesky")
class LKJCholesky(Distribution):
    """An event is a matrix of `dim` rows and columns."""
    _draws_squares: bool = True
    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.wishart.Wishart")
class Wishart(Distribution):
    """An event is a matrix such as its last parameter."""
    _draws_matrices: bool = True
    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None, validate_args: bool | None = None) -> None: ...

@also("torch.distributions.kl.kl_divergence")
def kl_divergence(p: Any, q: Any) -> Rule["divergence"]: ...

# Changes of samples ------------------------------------------------------------------------------

class _Elementwise(Module):
    _is_elementwise: bool = True
    def forward(self, x: F[Tensor, "*s"]) -> F[Tensor, "*s"]: ...
    def inv(self, y: F[Tensor, "*s"]) -> F[Tensor, "*s"]: ...
    def log_abs_det_jacobian(self, x: F[Tensor, "*s"], y: F[Tensor, "*s"]) -> F[Tensor, "*s"]: ...

@also("torch.distributions.transforms.ExpTransform")
class ExpTransform(_Elementwise):
    def __init__(self, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.SigmoidTransform")
class SigmoidTransform(_Elementwise):
    def __init__(self, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.TanhTransform")
class TanhTransform(_Elementwise):
    def __init__(self, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.SoftplusTransform")
class SoftplusTransform(_Elementwise):
    def __init__(self, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.AbsTransform")
class AbsTransform(_Elementwise):
    def __init__(self, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.PowerTransform")
class PowerTransform(_Elementwise):
    def __init__(self, exponent: Any, cache_size: int = 0) -> None: ...

@also("torch.distributions.transforms.AffineTransform")
class AffineTransform(Module):
    _is_elementwise: bool = True
    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None: ...
    def forward(self, x: F[Tensor, "*#s"]) -> Is[torch.add(self.loc, torch.mul(self.scale, x))]: ...
