"""Initialization in place: each returns its tensor."""

@also("normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "normal", "uniform", "constant")
@example("weight: n d | weight, 0.5", "constant_", "constant")
@example("weight: n d 3 | weight", "dirac_")
@example("weight: n d | weight, 0.1", "sparse_")
def uniform_(tensor: T[Tensor, "*s"], *args: Any, **kwargs: Any) -> T[Tensor, "*s"]: ...
