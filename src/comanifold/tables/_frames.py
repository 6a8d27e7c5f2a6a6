"""Tables in Parquet files."""

from pathlib import Path
from typing import Any

import numpy as np

from ._columns import as_ranges, chosen_columns
from ._table import (
    Options,
    Table,
    TableError,
    check_size,
    listed,
    numbered,
    shortened,
)


def read_parquet(path: Path, options: Options) -> Table:
    """The table in a Parquet file; its index, or its first column of text, are the labels."""
    try:
        import pandas as pd
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"Parquet files need {error.name}: pip install 'comanifold[formats]'"
        ) from error
    try:
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        check_size(max(metadata.num_rows, sum(groups)), metadata.num_columns)
        frame = pq.read_table(path).to_pandas()
    except TableError:
        raise
    except Exception as error:  # whatever its readers stumble over
        raise TableError(f"not a Parquet file that can be read: {error}") from error
    frame, labels, corner = _labels_of(frame, options.labels)
    names = [str(name) for name in frame.columns]
    frame = frame.iloc[:, chosen_columns(names, options.columns, options.exclude)]
    texts = [
        place
        for place, kind in enumerate(frame.dtypes)
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind))
    ]
    if texts:
        numbers = [names.index(str(name)) for name in np.delete(frame.columns, texts)]
        raise TableError(
            f"columns hold text or dates: {listed([str(frame.columns[t]) for t in texts])}. Data "
            f"must be numbers; to read the others: columns {as_ranges(numbers)} (--columns)"
        )
    return Table(
        frame.to_numpy(dtype=float, na_value=np.nan),
        labels if labels is not None else numbered("row", len(frame)),
        [str(name) for name in frame.columns],
        [f"Labels of rows: {corner or 'none'}."],
        corner if labels is not None else "",
    )


def _labels_of(frame: Any, asked: str | int | bool | None) -> tuple[Any, list[str] | None, str]:
    """The frame without its labels, these, and where they were."""
    import pandas as pd

    if asked is False:
        return frame, None, ""
    if asked is not None and asked is not True:
        names = [str(name) for name in frame.columns]
        place = names.index(asked) if asked in names else None
        if place is None and str(asked).isdecimal() and 1 <= int(asked) <= len(names):
            place = int(asked) - 1
        if place is None:
            raise TableError(f"there is no column {shortened(asked)}; there are {listed(names)}")
    elif not isinstance(frame.index, pd.RangeIndex):
        return frame, [str(name) for name in frame.index], str(frame.index.name or "the index")
    elif frame.shape[1] > 1 and not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[0]):
        place = 0
    else:
        return frame, None, ""
    labels = [str(name) for name in frame.iloc[:, place]]
    return frame.drop(columns=frame.columns[place]), labels, str(frame.columns[place])
