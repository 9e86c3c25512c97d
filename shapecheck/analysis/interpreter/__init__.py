"""Runs a body on values of which only shapes are known.

A `Frame` is one activation: it looks up in `registry` what each kind of statement and expression
does, and asks what a value is of its `Kind`. `calls` says what is called with what, `functions` and
`inlining` run those of the program, `op_calls` asks the op rules, `fitting` holds values against
annotations, `narrowing` and `truth` are about conditions. Uses `annotations` and what is below it;
kinds of values and libraries register themselves from above. `registry` names the frame in the
types of what is registered, and nothing more.
"""
