"""What puts checks on functions, classes, modules and packages.

`decorator` is `@shapecheck`, `watching` is `watch`, `hook` is `install_import_hook`. They have
`codegen` write the code that checks a function's calls, with `codegen_values` for single values;
`attributes` has the fields of classes checked where they are assigned.

Others use these three, and `checked` and `followed` of `watching`. Imports `boundary`, `compiling`
and `annotations`; what ops do to names is none of its matters.
"""
