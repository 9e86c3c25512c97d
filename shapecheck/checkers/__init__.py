"""Has other checkers check our types: typeguard, beartype, pydantic.

Each module here imports its checker, and does its work when it is imported, once that checker is
there: a program that has neither doesn't load them for us.
"""

from __future__ import annotations
