"""What a value can be, and the state of the program at a point.

`model` has the kinds of values beyond those that op rules see, `state` the variables, the heap and
what is known of sizes, and what holds where paths meet; `heap`, `parts` and `paths` take values
apart. The heap changes through the methods of the state. Uses `program`.
"""
