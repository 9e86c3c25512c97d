"""Initialization in place: each returns its tensor."""

@also("normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "normal", "uniform", "constant")
def uniform_(tensor: T[Tensor, "*s"], *args: Any, **kwargs: Any) -> T[Tensor, "*s"]: ...
