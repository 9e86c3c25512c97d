"""RETURNN's tensors, dimensions and functions, each made of ours by name.

`dims` has the dimensions, `tensors` the tensors, `functions` what is done to these, and `running`
what runs a model as RETURNN's tests do.
"""
