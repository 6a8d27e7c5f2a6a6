"""Tables in files: reading matrices with missing entries as people keep them, and writing results.

A file goes one way: `_text` or `_excel` gives records of cells, `_layout` finds header and labels,
`_parsing` and `_records` make a `Table` of them with the number formats of `_numbers`. `_parquet`,
`_hdf5` and `_matrices` read formats that store numbers. `_files` chooses among them, and writes.
"""

from ._doubts import find_doubts
from ._files import (
    HOLDS_TEXT,
    READABLE,
    WRITABLE,
    check_writable,
    read_cells,
    read_table,
    write_rows,
    write_table,
)
from ._numbers import DEFAULT_MISSING, number_or_none
from ._table import Table, TableError

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
