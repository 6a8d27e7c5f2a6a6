"""Tables in files: what people have, read with its holes; and what we found, written."""

from ._missing import DEFAULT_MISSING
from ._reading import READABLE, read_table
from ._table import Table, TableError
from ._writing import WRITABLE, check_writable, write_table

__all__ = [
    "DEFAULT_MISSING",
    "READABLE",
    "WRITABLE",
    "Table",
    "TableError",
    "check_writable",
    "read_table",
    "write_table",
]
