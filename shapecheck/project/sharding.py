"""Divides a run over machines: which of the modules are this one's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `number`, from 1, of so many parts.

    A module belongs to one of them by its name alone: whatever else changes in a project, and
    wherever it lies, it stays there.
    """

    number: int = 1
    of: int = 1

    def has(self, module: str) -> bool:
        """Whether a module is in this part."""
        digest = hashlib.blake2b(module.encode(errors="surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


def shard(text: str) -> Shard:
    """Read "2/8"; raises ValueError for anything else."""
    number, slash, of = text.partition("/")
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return Shard(int(number), int(of))
    raise ValueError(f'"{text}" is no part of a run; "2/8" is the second of eight')
