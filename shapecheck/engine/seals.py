"""Puts before what is kept what tells whether it is still the same."""

from __future__ import annotations

from shapecheck.engine.versions import digest


def sealed(text: str) -> str:
    """Return a text behind its seal."""
    return sealed_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def opened(text: object) -> str:
    """Return a text that was sealed; raises ValueError where it isn't the same any more."""
    found = opened_bytes(str(text).encode(errors="surrogatepass"))
    return found.decode(errors="surrogatepass")


def sealed_bytes(content: bytes) -> bytes:
    """Return bytes behind their seal."""
    return digest(content).encode() + b" " + content


def opened_bytes(found: object) -> bytes:
    """Return bytes that were sealed; raises ValueError where they aren't the same any more."""
    seal, _, content = found.partition(b" ") if isinstance(found, bytes) else (b"", b"", b"")
    if seal != digest(content).encode():
        raise ValueError("damaged")
    return content
