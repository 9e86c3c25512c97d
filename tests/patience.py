"""How long a test waits for what ought to end: what takes longer hangs, on any machine."""

SECONDS = 1800
