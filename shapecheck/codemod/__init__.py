"""Changes source files: `annotate` writes annotations into them, `strip` takes them out.

    annotate, strip -> verify -> propose -> sources -> write -> project

Each room says in its `__init__.py` what it is for; each imports only those behind it.
"""
