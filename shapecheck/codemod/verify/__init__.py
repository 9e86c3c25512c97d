"""Whether annotations are right: what the analysis says of the files with them in place.

`complaints` compares what it says before and after, `blame` finds the annotations that a complaint
is about, and `doubts` are those that were taken back, as the user is told of them.

Imports `propose`, `write` and `project`.
"""
