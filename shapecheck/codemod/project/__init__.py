"""The files of a project: found, read to the byte, seen by the analysis, replaced whole.

`files` has `PythonFile`, `find`, `read` and `write`; `project` a `Project` of `Function`s, on disk
or as they are to become; `replacing` puts a file in the place of another.

Imports the analysis, and no other room: of annotations nothing is known here.
"""
