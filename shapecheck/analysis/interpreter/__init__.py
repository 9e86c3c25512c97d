"""Runs a body on values of which only shapes are known.

A `Frame` is one activation: it looks up in `registry` what each kind of statement and expression
does. `calls` says what calling a value does and `inlining` runs functions without annotations,
`op_calls` asks the op rules, `fitting` holds values against annotations, `instances` is about
attributes, `narrowing` and `truth` are about conditions. Parts that call each other go through
`frame.PARTS`. Uses `annotations` and what is below it; libraries register themselves from above.
`registry` names the frame in the types of what is registered, and nothing more.
"""
