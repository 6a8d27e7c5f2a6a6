"""Tables in files: what people have, read with its holes; and what we found, written."""

from ._cells import number_or_none
from ._doubts import find_doubts
from ._missing import DEFAULT_MISSING
from ._reading import READABLE, read_table
from ._table import Table, TableError
from ._text import read_cells
from ._writing import HOLDS_TEXT, WRITABLE, check_writable, write_rows, write_table

__all__ = [
    "DEFAULT_MISSING",
    "HOLDS_TEXT",
    "READABLE",
    "WRITABLE",
    "Table",
    "TableError",
    "check_writable",
    "find_doubts",
    "number_or_none",
    "read_cells",
    "read_table",
    "write_rows",
    "write_table",
]
