"""Tables in files: reading matrices with missing entries as people keep them, and writing results.

A file goes one way: `_text` or `_excel` gives records of cells, `_layout` finds header and labels,
`_parsing` and `_records` make a `Table` of them with the number formats of `_numbers`. `_parquet`,
`_npy`, `_hdf5` and `_sparse` read formats that store numbers. `_reading` chooses among them.
"""

from ._doubts import find_doubts
from ._numbers import DEFAULT_MISSING, number_or_none
from ._reading import READABLE, read_cells, read_table
from ._table import Table, TableError
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
