"""What functions take and give where no annotation says it, from their bodies and their callers.

`study` runs bodies and watches them through an observer, `model` is what that finds,
`tensor_evidence` tells which parameters are tensors, `dtypes` of which elements. Uses `check`
and what is below it.
"""
