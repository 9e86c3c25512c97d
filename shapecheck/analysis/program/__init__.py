"""What was written: the modules of a program, what their names mean, and what was found out.

`model` has what names mean (functions, classes, names of libraries), `declared` what annotations
say, `modules` the modules and the program, `syntax` their trees; `answers` keeps what was found out
once, `report` and `faults` what is told of it. Knows nothing of the state of a running program;
uses no other room.

`model`, `modules`, `report` and `faults` know each other: a function stands in a module, whose
names mean functions, and which has the reporter that gathers the faults in its functions.
"""
