"""Counts what `benchmarks/structure.py` prints; its docstring says what each figure is of."""
