"""Validation of arguments. Every error names the argument, what was expected and what came."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ._frames import frame_to_floats


def check_matrix(
    X: ArrayLike,
    *,
    name: str = "X",
    need_observed: bool = True,
    need_observed_rows: bool = False,
) -> NDArray[np.float64]:
    """Validate a matrix with NaN for missing entries; return it as a new float64 array.

    By default at least one entry must be observed, with `need_observed_rows` one in every row.
    """
    X = read_floats(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, rows and columns, got shape {X.shape}. Reshape "
            "your data: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row"
        )
    if X.size == 0:
        raise ValueError(f"{name} is empty: its shape is {X.shape}")
    refuse_infinite(X, name)
    observed = ~np.isnan(X)
    if need_observed and not observed.any():
        raise ValueError(f"{name} has no observed entry: every value is NaN")
    if need_observed_rows:
        empty = np.flatnonzero(~observed.any(axis=1))
        if empty.size:
            raise ValueError(
                f"{name} has rows with no observed entry, which have no neighbours: "
                f"{listing(empty)}. Leave them out"
            )
    return X


def refuse_infinite(X: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if X has infinite values, or values whose squares overflow."""
    infinite = np.isinf(X)
    if infinite.any():
        i, j = np.argwhere(infinite)[0]
        raise ValueError(
            f"{name} has an infinite value (inf) in row {i}, column {j}: remove it, or mark it "
            "missing with NaN"
        )
    _refuse_large(X[~np.isnan(X)], name)


def check_estimate(U: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    """Validate a complete matrix of the given shape; return it as a new float64 array."""
    U = read_floats(U, name)
    if U.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {U.shape}")
    if not np.isfinite(U).all():
        raise ValueError(f"{name} must be complete and finite, but has NaN or inf")
    _refuse_large(U, name)
    return U


def masked_to_nan(X: Any) -> Any:
    """Return a masked array of numbers as an array with NaN for masked entries; else X itself."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biufO":
        return X.astype(object if X.dtype.kind == "O" else float).filled(np.nan)
    return X


def missing_to_nan(X: Any, absent: str | None) -> Any:
    """Return X with NaN for the missing entries of a sparse matrix, masked array or DataFrame."""
    return _na_to_nan(sparse_to_nan(masked_to_nan(X), absent))


def _na_to_nan(X: Any) -> Any:
    """Return a DataFrame or an array of objects with NaN for None and NA; else X itself."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return _frame_to_nan(X)
    if hasattr(X, "notna"):
        return X if X.notna().all(axis=None) else X.astype(object).where(X.notna(), np.nan)
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        missing = [entry is None or type(entry).__name__ == "NAType" for entry in X.ravel()]
        X = X.copy()
        X[np.reshape(missing, X.shape)] = np.nan
    return X


def _frame_to_nan(frame: Any) -> Any:
    """Return a DataFrame as floats with NaN for missing entries; unchanged if not all numeric.

    Columns are converted one at a time, to save memory.
    """
    if all(isinstance(kind, np.dtype) and kind.kind == "f" for kind in frame.dtypes):
        return frame
    values = np.empty(frame.shape)
    for place, kind in enumerate(frame.dtypes):
        column = frame.iloc[:, place]
        if getattr(kind, "kind", "O") in "biuf":
            values[:, place] = column.to_numpy(dtype=float, na_value=np.nan)
            continue
        floats = _objects_to_floats(column) if kind == np.dtype(object) else None
        if floats is None:  # text, dates, complex numbers: a later check names them
            known = frame.notna()
            return frame if known.all(axis=None) else frame.astype(object).where(known, np.nan)
        values[:, place] = floats
    return type(frame)(values, index=frame.index, columns=frame.columns, copy=False)


def _objects_to_floats(column: Any) -> NDArray[np.float64] | None:
    """Return a column of objects as floats; None if some are not numbers."""
    try:
        return column.to_numpy(dtype=object, na_value=np.nan).astype(float)
    except (TypeError, ValueError):
        return None


def row_names(X: Any) -> NDArray[Any] | None:
    """Return the row labels of a DataFrame; None for other input."""
    return np.asarray(X.index) if hasattr(X, "iloc") else None


def sparse_to_nan(X: Any, absent: str | None) -> Any:
    """Return a sparse matrix as a dense array, absent entries as zero or NaN; else X itself."""
    if not sparse.issparse(X):
        return X
    if absent not in ("missing", "zero"):
        raise ValueError(
            "X is a sparse matrix, whose absent entries may mean zero or missing: set "
            f'absent="zero" or absent="missing", got {absent!r}'
        )
    if absent == "zero":
        return X.toarray()
    entries = X.tocoo(copy=True)
    entries.sum_duplicates()
    dense = np.full(X.shape, np.nan)
    dense[entries.row, entries.col] = entries.data
    return dense


def read_floats(X: Any, name: str) -> NDArray[np.float64]:
    """Return X as a new C-ordered array of floats; raise ValueError for text or complex numbers."""
    if hasattr(X, "toarray"):
        raise ValueError(
            f"{name} is a sparse matrix, whose absent entries may mean zero or missing: pass "
            f"{name}.toarray(), or a dense array with NaN for missing entries"
        )
    X = frame_to_floats(X, name)
    try:
        X = np.asarray(masked_to_nan(X))
    except ValueError as error:
        raise ValueError(f"{name} must be a matrix with rows of one length: {error}") from error
    if X.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers: complex data not supported")
    if X.dtype.kind == "O":
        return _from_objects(X, name)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got dtype {X.dtype} (strings or dates)")
    return X.astype(float, order="C")


def _from_objects(X: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return an array of objects as floats, NaN for None and NA."""
    numbers_only = np.full(X.shape, np.nan)
    for index, entry in np.ndenumerate(X):
        if entry is None or type(entry).__name__ == "NAType":
            continue
        if isinstance(entry, numbers.Complex) and not isinstance(entry, numbers.Real):
            raise ValueError(f"{name} must hold real numbers: complex data not supported")
        try:
            numbers_only[index] = float(entry + 0)  # + 0 raises for text, which float() would parse
        except (TypeError, ValueError, ArithmeticError) as error:
            where = ", ".join(map(str, index))
            raise ValueError(f"{name} must hold numbers, got {entry!r:.40} at ({where})") from error
    return numbers_only


def _refuse_large(values: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if the sum of the squared values overflows."""
    peak = float(np.abs(values).max(initial=0.0))
    if peak > np.sqrt(1e307 / max(values.size, 1)):
        raise ValueError(
            f"{name} has values up to {peak:.3g}, whose squares overflow: divide it by a constant"
        )


def check_problem(
    shape: tuple[int, int], row_graph: Any, column_graph: Any, row_cost: float, column_cost: float
) -> dict[str, float]:
    """Validate graphs and costs; return the costs as a dict of keyword arguments."""
    costs = {}
    for mode, n_nodes, graph, cost in (
        ("row", shape[0], row_graph, row_cost),
        ("column", shape[1], column_graph, column_cost),
    ):
        _check_graph(graph, n_nodes, mode)
        costs[f"{mode}_cost"] = check_cost(cost, f"{mode}_cost")
        heaviest = float(graph.weights.max(initial=0.0))
        if not np.isfinite(costs[f"{mode}_cost"] * heaviest):
            raise ValueError(
                f"{mode}_cost times the largest weight of {mode}_graph overflows: make one of them "
                "smaller"
            )
    return costs


def _check_graph(graph: Any, n_nodes: int, mode: str) -> None:
    if not all(hasattr(graph, attribute) for attribute in ("n_nodes", "edges", "weights")):
        raise ValueError(f"{mode}_graph must be a comanifold.Graph, got {type(graph).__name__}")
    if graph.n_nodes != n_nodes:
        raise ValueError(
            f"{mode}_graph has {graph.n_nodes} nodes, but X has {n_nodes} {mode}s: they must agree"
        )


def check_cost(cost: float, name: str) -> float:
    """Validate a cost; return it as a float."""
    try:
        if isinstance(cost, (bool, np.bool_)) or not isinstance(cost, numbers.Real):
            raise TypeError
        value = float(cost)
    except (TypeError, ValueError, ArithmeticError):
        value = np.nan
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, got {cost!r:.40}")
    return value


def check_n_neighbors(n_neighbors: int | tuple[int, int]) -> tuple[int, int]:
    """Validate n_neighbors; return it as a pair, for the rows and for the columns."""
    both = for_both(n_neighbors)
    if len(both) != 2:
        raise ValueError(
            "n_neighbors must be a number, or one for the rows and one for the columns, got "
            f"{n_neighbors!r}"
        )
    for_rows, for_columns = (check_count("n_neighbors", number) for number in both)
    return for_rows, for_columns


def for_both(value: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple; a single value as a pair, for the rows and for the columns."""
    is_several = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim)
    return tuple(value) if is_several else (value, value)


def is_integer(value: Any) -> bool:
    """Return True for an integer, but not for a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN, or another that does not equal itself."""
    # NaN differs from itself; the truth value of pandas' NA is an error.
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def check_count(name: str, value: Any) -> int:
    """Validate a positive integer; return it as an int."""
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r:.60}")
    return int(value)


def check_stopping(max_iter: int, tol: float) -> tuple[int, float]:
    """Validate max_iter and tol; return them as an int and a float."""
    max_iter = check_count("max_iter", max_iter)
    if isinstance(tol, bool) or not isinstance(tol, numbers.Real) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}")
    return max_iter, float(tol)


def check_choice(name: str, value: Any, choices: list[str], also: str = "") -> None:
    """Raise ValueError unless `value` is one of `choices`; the message also offers `also`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices) + (f" or {also}" if also else "")
        raise ValueError(f"{name} must be one of {listed}, got {value!r:.60}")


def listing(indices: NDArray[np.intp]) -> str:
    """Return the first ten indices as text, and how many there are beyond."""
    shown = ", ".join(str(i) for i in indices[:10])
    return shown + (f" and {indices.size - 10} more" if indices.size > 10 else "")


def expand_to_full(values: Any, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Any:
    """Return a matrix of selected rows and columns at full size, NaN (sparse: absent) elsewhere."""
    if rows.all() and columns.all():
        return values
    if sparse.issparse(values):
        entries = values.tocoo()
        places = np.flatnonzero(rows)[entries.row], np.flatnonzero(columns)[entries.col]
        return sparse.csr_array((entries.data, places), shape=(len(rows), len(columns)))
    everything = np.full((len(rows), len(columns)), np.nan)
    everything[np.ix_(rows, columns)] = values
    return everything


def restrict_to_observed(values: Any, known: NDArray[np.bool_]) -> Any:
    """Return a square matrix restricted to the rows and columns of observed points."""
    if not sparse.issparse(values):
        return values[np.ix_(known, known)]
    chosen = np.flatnonzero(known)
    return values[chosen][:, chosen].tocsr()
