"""What functions of numpy do where they differ from torch's: in dtypes, in arguments, in rules.

To a rule an array is a `Tensor`, too; signatures that speak of `ndarray` say which are arrays.
"""
