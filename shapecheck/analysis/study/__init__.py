"""What functions take and give where no annotation says it, from their bodies and their callers.

`study` runs bodies and watches them through an observer, `model` is what that finds, `dtypes` tells
of which elements tensors are. Uses `check`, which tells which parameters are tensors, and what is
below it.
"""
