"""Records the shapes that functions are called with, while a program or its tests run.

`watch` wraps functions, `store` keeps what was seen in a file, `hook` finds the functions of the
packages that are imported, `start` begins all of it in a process that was asked to by its
environment.
"""
