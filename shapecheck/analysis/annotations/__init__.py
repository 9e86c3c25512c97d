"""From the syntax of a type to what it declares.

`reader` reads types, `dialects` those of other libraries, `declarations` the `def` of functions,
`classes` what classes inherit and define, `class_fields` the fields that their bodies write,
`slips` what looks like a slip of the pen in any of it. Nothing is run here but what an
annotation has to be told by. Uses `values` and `program`.
"""
