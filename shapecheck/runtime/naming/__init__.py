"""Which names tensors have inside of decorated calls, and what ops make of them.

`records` says what is known of one tensor (`Record`), `call_names` what one call knows
(`CallNames`) and what this thread is doing (`state`). `mode` is the function mode that sees every
op: it looks the outcome up (`keys`, `lookup`), asks the op's rule where it is new (`ops`,
`op_calls`), keeps what it said (`outcomes`), and says what a rule refuses (`op_errors`). `facts`
decides whether dimensions are equal. The others are for one matter each: `int_origins` and
`size_expressions` for the names of plain ints, `einops_recipes` and `einops_packing` for those that
einops gives to torch, `regroup` for views, `outer_products`, `transforms`
for `torch.vmap`, `first_class` and `batched` for `functorch.dim`, `between_calls` and `lasting` for
what a call and its caller call each other's tensors, `arguments` for what rules take, `fast_paths`
for torch's attention.

Others use `state`, `CallNames`, `Record`, `record`, `sizes_of`, `plain_shape`, `thread_mode`, and
`value_of` and `ValueFacts` of `facts`. Imports `annotations`, the op rules, and nothing of the
boundary: what a declared shape is compared with there isn't known here.
"""
