"""Data frames of polars and tables of pyarrow, as matrices of floats; and coordinates as frames.

Neither package is imported to read: where one of their objects is passed, it is loaded already.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_frame(X: Any) -> bool:
    """Return whether X is a DataFrame of polars or a Table or RecordBatch of pyarrow."""
    return _is_polars(X) or _is_arrow(X)


def frame_to_floats(X: Any, name: str) -> NDArray[np.float64]:
    """Return a polars or pyarrow frame as floats, NaN for null; anything else unchanged.

    Columns are converted one at a time. Raise ValueError for columns that are not numeric: text is
    never read as numbers.
    """
    if _is_polars(X, "LazyFrame"):
        raise ValueError(f"{name} is a polars LazyFrame: pass {name}.collect()")
    if not is_frame(X):
        return X
    read = _polars_column if _is_polars(X) else _arrow_column
    values = np.empty(X.shape)
    for place, column in enumerate(frame_columns(X)):
        floats = read(X, place)
        if floats is None:
            kind = X.dtypes[place] if _is_polars(X) else X.schema.field(place).type
            raise ValueError(
                f"{name} must hold numbers, got {kind} in column {column!r:.60}: leave the column "
                "out; if it has the labels of the rows, give these to set_names after the fit"
            )
        values[:, place] = floats
    return values


def frame_columns(X: Any) -> list[str]:
    """Return the names of the columns of a polars or pyarrow frame."""
    return list(X.columns) if _is_polars(X) else [field.name for field in X.schema]


def with_names(X: Any) -> Any:
    """Return a RecordBatch of pyarrow as a Table, whose names scikit-learn reads; else X itself."""
    arrow = sys.modules.get("pyarrow")
    is_batch = _is_arrow(X) and isinstance(X, arrow.RecordBatch)
    return arrow.Table.from_batches([X]) if is_batch else X


def column_labels(X: Any) -> NDArray[Any] | None:
    """Return the labels of the columns of a frame of any kind; None for other input."""
    if is_frame(X):
        return np.asarray(frame_columns(X), dtype=object)
    return np.asarray(X.columns) if hasattr(X, "columns") else None


def in_container(
    coordinates: NDArray[np.float64],
    container: str,
    names: NDArray[Any],
    labels: NDArray[Any] | None,
) -> Any:
    """Return coordinates as a frame of the package that `set_output` names, or as they are."""
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(coordinates, index=labels, columns=names)
    if container == "polars":
        import polars as pl

        return pl.DataFrame(coordinates, schema=list(names), orient="row")
    return coordinates


def _is_polars(X: Any, kind: str = "DataFrame") -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, getattr(polars, kind, ()))


def _is_arrow(X: Any) -> bool:
    arrow = sys.modules.get("pyarrow")
    return hasattr(arrow, "Table") and isinstance(X, (arrow.Table, arrow.RecordBatch))


def _polars_column(frame: Any, place: int) -> NDArray[np.float64] | None:
    """Return a column as floats, NaN for null; None if it is not numeric."""
    import polars as pl

    column = frame.to_series(place)
    kind = column.dtype
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
        return None
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _arrow_column(table: Any, place: int) -> NDArray[np.float64] | None:
    """Return a column as floats, NaN for null; None if it is not numeric."""
    import pyarrow as pa

    column, types = table.column(place), pa.types
    kind = column.type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_boolean(kind) or types.is_null(kind)):
        return None
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    floats = column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    return np.asarray(floats)
