"""Checks of what a user hands in. Every error names the argument and what is wrong with it."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_matrix(
    X: ArrayLike, *, name: str = "X", need_observed_rows: bool = False
) -> NDArray[np.float64]:
    """X as a new float64 array of two dimensions with at least one observed entry."""
    if hasattr(X, "toarray"):
        raise ValueError(
            f"{name} is a sparse matrix, whose absent entries may mean zero or missing: pass "
            f"{name}.toarray(), or a dense array with NaN for missing entries"
        )
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"{name} must hold real numbers, got dtype {X.dtype}")
        X = X.astype(float).filled(np.nan)
    X = np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers: complex data not supported")
    if X.dtype.kind not in "biuf":
        X = _from_objects(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, rows and columns, got shape {X.shape}. Reshape "
            "your data: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row"
        )
    if X.size == 0:
        raise ValueError(f"{name} is empty: its shape is {X.shape}")
    X = X.astype(float, order="C")
    infinite = np.isinf(X)
    if infinite.any():
        i, j = np.argwhere(infinite)[0]
        raise ValueError(
            f"{name} has an infinite value (inf) in row {i}, column {j}: remove it, or mark it "
            "missing with NaN"
        )
    observed = ~np.isnan(X)
    if not observed.any():
        raise ValueError(f"{name} has no observed entry: every value is NaN")
    if need_observed_rows:
        empty = np.flatnonzero(~observed.any(axis=1))
        if empty.size:
            raise ValueError(
                f"{name} has rows with no observed entry, which have no neighbours: "
                f"{listing(empty)}. Leave them out"
            )
    return X


def _from_objects(X: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Numbers out of an object or string array; text is refused, not parsed."""
    if X.dtype.kind != "O":
        raise ValueError(f"{name} must hold numbers, got dtype {X.dtype} (strings or dates)")
    numbers_only = np.full(X.shape, np.nan)
    for index, entry in np.ndenumerate(X):
        if entry is None or type(entry).__name__ == "NAType":
            continue
        if isinstance(entry, numbers.Complex) and not isinstance(entry, numbers.Real):
            raise ValueError(f"{name} must hold real numbers: complex data not supported")
        try:
            numbers_only[index] = float(entry + 0)  # adding refuses text, which float() reads
        except (TypeError, ValueError) as error:
            where = ", ".join(map(str, index))
            raise ValueError(f"{name} must hold numbers, got {entry!r} at ({where})") from error
    return numbers_only


def check_estimate(U: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    """U as a new float64 array of the given shape, with nothing missing."""
    try:
        U = np.array(U, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if U.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {U.shape}")
    if not np.isfinite(U).all():
        raise ValueError(f"{name} must be complete and finite, but has NaN or inf")
    return U


def check_graph(graph: Any, n_nodes: int, name: str, what: str) -> None:
    if not (hasattr(graph, "edges") and hasattr(graph, "n_nodes")):
        raise ValueError(f"{name} must be a comanifold.Graph, got {type(graph).__name__}")
    if graph.n_nodes != n_nodes:
        raise ValueError(
            f"{name} has {graph.n_nodes} nodes, but X has {n_nodes} {what}: they must agree"
        )


def check_cost(cost: float, name: str) -> float:
    if (
        isinstance(cost, (bool, np.bool_))
        or not isinstance(cost, numbers.Real)
        or not np.isfinite(cost)
        or cost < 0
    ):
        raise ValueError(f"{name} must be a finite number of at least 0, got {cost!r}")
    return float(cost)


def check_n_neighbors(n_neighbors: int | tuple[int, int]) -> tuple[int, int]:
    """One number for the rows and one for the columns."""
    both = (n_neighbors, n_neighbors) if np.ndim(n_neighbors) == 0 else tuple(n_neighbors)
    if len(both) != 2:
        raise ValueError(
            "n_neighbors must be a number, or one for the rows and one for the columns, got "
            f"{n_neighbors!r}"
        )
    return both


def check_stopping(max_iter: int, tol: float) -> tuple[int, float]:
    if isinstance(max_iter, bool) or not isinstance(max_iter, numbers.Integral) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive integer, got {max_iter!r}")
    if isinstance(tol, bool) or not isinstance(tol, numbers.Real) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}")
    return int(max_iter), float(tol)


def listing(indices: NDArray[np.intp]) -> str:
    shown = ", ".join(str(i) for i in indices[:10])
    return shown + (f" and {indices.size - 10} more" if indices.size > 10 else "")
