"""What to annotate in a module, from all the sources that say something of it.

`proposals` makes the `Proposal` of each function, with a `Refusal` where there is none; `studies`
has functions studied in an order in which each helps the next, `callers` and `overrides` say what
other functions know, `fields` annotates classes, `compiled` leaves alone what a compiler reads.

Imports `sources`, `write` and `project`.
"""
