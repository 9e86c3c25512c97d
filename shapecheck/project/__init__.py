"""A project checked by itself, without mypy: which modules, where they lie, what is ignored.

It reads mypy's configuration and finds modules as mypy does, so that `shapecheck check
--only-shapes` and mypy with the plugin say the same; how, is a file for each job:

`configuration` reads the files in which `settings` stand, `targets` finds the files to check and
names their modules, `search` where those lie that are imported, `modules` what a run sees,
`analysing` has one of them analysed, `comments` has what comments ignore, `reporting` what is shown
in the end, and `checking` does all this in all processes. `relevance`, `failures`, `codes` and
`findings` are mypy's plugin's, too, and `grouping`, which divides files that have one module name.

Stands on the engine, and imports neither mypy nor torch. This file imports nothing: mypy's plugin
uses a few small files of the folder.
"""
