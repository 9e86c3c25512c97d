"""The boundary of a call, where what was declared meets what is passed and returned.

`binding` holds what the names of one call are bound to (`Binding`) and names its tensors by it
(`Namer`); `containers.fit_value` fits any value to any annotation. On these stand `checks` (all
arguments, or the result), `frames` (a call whose ops are named: `enter`, `exit`, `leave`),
`generators`, `locals` (`fit`, in the middle of a call), `variables` (annotated ones), and
`other_checkers` (typeguard, beartype and jaxtyping ask it).

What is plain and fits never comes here: the code that `decorate` writes says so by itself. Imports
`annotations` and `naming`.
"""
