"""Checks of what a user hands in. Every error names the argument and what is wrong with it."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


def check_matrix(
    X: ArrayLike,
    *,
    name: str = "X",
    need_observed: bool = True,
    need_observed_rows: bool = False,
) -> NDArray[np.float64]:
    """X as a new float64 array of two dimensions, if needed with something observed."""
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
    """Refuse infinite values, and those whose squares are."""
    infinite = np.isinf(X)
    if infinite.any():
        i, j = np.argwhere(infinite)[0]
        raise ValueError(
            f"{name} has an infinite value (inf) in row {i}, column {j}: remove it, or mark it "
            "missing with NaN"
        )
    _refuse_large(X[~np.isnan(X)], name)


def check_estimate(U: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    """U as a new float64 array of the given shape, with nothing missing."""
    U = read_floats(U, name)
    if U.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {U.shape}")
    if not np.isfinite(U).all():
        raise ValueError(f"{name} must be complete and finite, but has NaN or inf")
    _refuse_large(U, name)
    return U


def masked_to_nan(X: Any) -> Any:
    """A masked array of numbers as a plain one with NaN where it is masked; else X itself."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biufO":
        return X.astype(object if X.dtype.kind == "O" else float).filled(np.nan)
    return X


def missing_to_nan(X: Any, absent: str | None) -> Any:
    """NaN for all that is missing in a sparse matrix, masked array, DataFrame or array."""
    return _na_to_nan(sparse_to_nan(masked_to_nan(X), absent))


def _na_to_nan(X: Any) -> Any:
    """None and pandas' NA, in a DataFrame or an array of objects, as NaN; else X itself."""
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
    """A DataFrame of floats with NaN for what is missing; as it is if it holds anything else.

    Columns are converted one at a time: only those of Python objects are ever objects.
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
        if floats is None:  # text, dates, complex numbers: refused later, by what they are
            known = frame.notna()
            return frame if known.all(axis=None) else frame.astype(object).where(known, np.nan)
        values[:, place] = floats
    return type(frame)(values, index=frame.index, columns=frame.columns, copy=False)


def _objects_to_floats(column: Any) -> NDArray[np.float64] | None:
    """A column of objects as floats; None if some are no numbers."""
    try:
        return column.to_numpy(dtype=object, na_value=np.nan).astype(float)
    except (TypeError, ValueError):
        return None


def row_names(X: Any) -> NDArray[Any] | None:
    """The labels of the rows of a DataFrame."""
    return np.asarray(X.index) if hasattr(X, "iloc") else None


def sparse_to_nan(X: Any, absent: str | None) -> Any:
    """A sparse matrix as a dense one, its absent entries read as told; else X itself."""
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
    """X as a new array of floats, row by row; text and complex numbers are refused."""
    if hasattr(X, "toarray"):
        raise ValueError(
            f"{name} is a sparse matrix, whose absent entries may mean zero or missing: pass "
            f"{name}.toarray(), or a dense array with NaN for missing entries"
        )
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
    """Numbers out of an array of objects; None and pandas' NA are missing."""
    numbers_only = np.full(X.shape, np.nan)
    for index, entry in np.ndenumerate(X):
        if entry is None or type(entry).__name__ == "NAType":
            continue
        if isinstance(entry, numbers.Complex) and not isinstance(entry, numbers.Real):
            raise ValueError(f"{name} must hold real numbers: complex data not supported")
        try:
            numbers_only[index] = float(entry + 0)  # adding refuses text, which float() reads
        except (TypeError, ValueError, ArithmeticError) as error:
            where = ", ".join(map(str, index))
            raise ValueError(f"{name} must hold numbers, got {entry!r:.40} at ({where})") from error
    return numbers_only


def _refuse_large(values: NDArray[np.float64], name: str) -> None:
    """Refuse values whose squares do not add up to a finite number."""
    peak = float(np.abs(values).max(initial=0.0))
    if peak > np.sqrt(1e307 / max(values.size, 1)):
        raise ValueError(
            f"{name} has values up to {peak:.3g}, whose squares overflow: divide it by a constant"
        )


def check_problem(
    shape: tuple[int, int], row_graph: Any, column_graph: Any, row_cost: float, column_cost: float
) -> dict[str, float]:
    """Refuse graphs and costs that do not fit; the costs as floats, by name."""
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
    """One number for the rows and one for the columns."""
    both = for_both(n_neighbors)
    if len(both) != 2:
        raise ValueError(
            "n_neighbors must be a number, or one for the rows and one for the columns, got "
            f"{n_neighbors!r}"
        )
    for_rows, for_columns = (check_count("n_neighbors", number) for number in both)
    return for_rows, for_columns


def for_both(value: Any) -> tuple[Any, ...]:
    """Several values as they are; a single one for the rows and for the columns."""
    is_several = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim)
    return tuple(value) if is_several else (value, value)


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number; a truth value is none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any) -> int:
    """The value as an int, if it is a positive integer."""
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r:.60}")
    return int(value)


def check_stopping(max_iter: int, tol: float) -> tuple[int, float]:
    """When to stop: after how many iterations, and at which tolerance."""
    max_iter = check_count("max_iter", max_iter)
    if isinstance(tol, bool) or not isinstance(tol, numbers.Real) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}")
    return max_iter, float(tol)


def check_choice(name: str, value: Any, choices: list[str], also: str = "") -> None:
    """Refuse what is none of the choices; `also` says what else may be given."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices) + (f" or {also}" if also else "")
        raise ValueError(f"{name} must be one of {listed}, got {value!r:.60}")


def listing(indices: NDArray[np.intp]) -> str:
    shown = ", ".join(str(i) for i in indices[:10])
    return shown + (f" and {indices.size - 10} more" if indices.size > 10 else "")


def expand_to_full(values: Any, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Any:
    """A matrix of the chosen rows and columns in its place among the others, which are NaN.

    In a sparse matrix the others have no entry.
    """
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
    """A square matrix without the rows and columns of what is not known."""
    if not sparse.issparse(values):
        return values[np.ix_(known, known)]
    chosen = np.flatnonzero(known)
    return values[chosen][:, chosen].tocsr()
