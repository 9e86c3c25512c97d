"""What a function's annotations ask for, read once when it is decorated.

`hints` makes a `Hint` of each annotation (`TensorHint`, `MaybeHint`, `TupleHint`, `OtherHint`),
with what `parts` finds inside of it; `plan` puts those of a function together in a `Plan`, with a
`Param` for each parameter. `braced` has the dimensions that `{self.d}` stands for, `instance_dims`
the names that belong to an instance.

Imports `tensor_spec` and what is below it, and no other room: nothing is known of calls here.
"""
