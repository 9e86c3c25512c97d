"""Whether the package under test is compiled, and what can't be tested then."""

import pytest

from shapecheck.dims import algebra

IS_COMPILED = not str(algebra.__file__).endswith(".py")

interpreted = pytest.mark.skipif(
    IS_COMPILED, reason="it replaces something in a module: compiled code has what it had before"
)
