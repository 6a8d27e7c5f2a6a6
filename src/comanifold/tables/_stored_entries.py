"""Entries of a sparse matrix, put into a dense one block by block."""

import numpy as np
from numpy.typing import NDArray

from ._table import Array, TableError

# Entries that are in memory at one time besides the matrix.
BLOCK = 1 << 20


def meaning_of_absent(absent: str | None, n_absent: int) -> str:
    """What absent entries of a sparse matrix are; it has to be told where there are any."""
    if absent is None and n_absent > 0:
        raise TableError(
            f"{n_absent:,} entries are not stored, and may mean missing or zero: say which with "
            "absent (--absent missing or --absent zero)"
        )
    return absent or "missing"


def check_stored(n_stored: int, n_rows: int, n_columns: int) -> None:
    """Refuse more stored entries than the matrix has."""
    if n_stored > n_rows * n_columns:
        raise TableError(
            f"it stores {n_stored:,} entries, and a matrix of {n_rows} x {n_columns} has "
            f"{n_rows * n_columns:,}"
        )


def empty_matrix(n_rows: int, n_columns: int, absent: str) -> Array:
    """A matrix with nothing but absent entries."""
    return np.full((n_rows, n_columns), 0.0 if absent == "zero" else np.nan)


def add_entries(
    dense: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], values: Array
) -> None:
    """Put entries into a matrix of `empty_matrix`; those at the same place are added up."""
    places = rows * dense.shape[1] + columns
    flat = dense.reshape(-1)
    first = places[np.isnan(flat[places])]
    flat[first] = 0.0
    np.add.at(flat, places, values)
