"""Makes docs/messages.md: what is said of common mistakes, here and by other tools.

bugs/*.toml      The mistakes of one kind: each program wrong (`-`) and right (`+`), in our spelling
                 and in pyrefly's; torchtyc reads ours, but where it has a spelling of its own.
measured.json    What the other tools said, once, with their versions; written by `others`.
cases.py         Reads both.
ours.py          What the analysis, the run time and torch say of a program.
others.py        Asks the other tools, where they are installed.
page.py          Writes the page; head.md is its beginning.

`make messages` writes the page anew, with what is measured of the others.
"""
