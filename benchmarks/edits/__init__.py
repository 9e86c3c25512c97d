"""Random edits of programs, after each of which every way to ask shapecheck must say the same.

    python -m edits --help          (from `benchmarks/`; or `make edits EDITS_ARGS="--help"`)

`trees` holds the files of a program, `programs` writes small ones, `changes` are the kinds of
edits, `faces` the ways to ask, `sequences` goes through the edits and compares.
"""
