"""Doubts about the values of a table."""

from ._table import Table


def find_doubts(table: Table) -> list[str]:  # noqa: ARG001
    """What in the values may not be meant as it is, with the option that settles it."""
    return []
