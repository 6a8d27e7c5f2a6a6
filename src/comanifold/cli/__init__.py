"""The command line: `comanifold`."""

from ._main import main

__all__ = ["main"]
