"""Arrays of the page as typed arrays of JavaScript."""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# NumPy types by the names of the JavaScript typed arrays.
_TYPES = {
    "Float64Array": "<f8",
    "Float32Array": "<f4",
    "Int32Array": "<i4",
    "Uint16Array": "<u2",
    "Uint8Array": "u1",
}

# More observed entries than this are stored in one byte each instead of two: 8 million of them
# take about 20 MB of the page.
_MAX_TWO_BYTES = 8_000_000
# Entries that would take more letters of the page than this are rounded further, so that a page
# stays below 40 MB; and to how many steps of the range of their column.
_MAX_LETTERS = 29_000_000
_FEWER_STEPS = (200, 126, 90, 62, 44, 30)
# Entries that are coded at a time, and rows from which it is judged how far to round.
_CHUNK = 1_000_000
_SAMPLE = 250


def pack(values: Any, kind: str, level: int = 9) -> dict[str, str]:
    """Return an array as a typed array of JavaScript, compressed and in base 64."""
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(zlib.compress(raw, level)).decode("ascii")}


def pack_entries(
    observed: Array, filled: Array, max_entries: int, max_letters: int = _MAX_LETTERS
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the observed and the filled-in entries at full resolution, or None for too many.

    Both are rounded further if they would have more than `max_letters` letters. See
    `pack_observed` and `pack_filled`.
    """
    if observed.size > max_entries:
        return None, None
    n_steps = _fitting_steps(observed, filled, max_letters)
    return pack_observed(observed, max_entries, n_steps), pack_filled(observed, filled, n_steps)


def _fitting_steps(observed: Array, filled: Array, max_letters: int) -> int | None:
    """Return to how many steps entries are rounded, judged from a sample of rows; None for all."""
    bytes_each = 1 if observed.size > _MAX_TWO_BYTES else 2
    if 4 * (bytes_each * observed.size + np.isnan(observed).sum()) / 3 <= max_letters:
        return None
    rows = np.linspace(0, len(observed) - 1, min(_SAMPLE, len(observed))).astype(int)
    # With the extremes of all rows, so that the steps are as wide as they will be.
    sample = [
        np.vstack([X[rows], np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)])
        for X in (observed, filled)
    ]
    share = len(sample[0]) / len(observed)
    for n_steps in (254, *_FEWER_STEPS):
        found = [
            pack_observed(sample[0], observed.size, n_steps),
            pack_filled(*sample, n_steps),
        ]
        if sum(len(packed["codes"]["data"]) for packed in found) <= 0.98 * share * max_letters:
            break
    return n_steps


def pack_filled(observed: Array, filled: Array, n_steps: int | None = None) -> dict[str, Any]:
    """Return what was filled in where nothing was observed, by rows, in one byte for each entry.

    A value of column j is ``low[j] + step[j] * code``, rounded to one of 254 steps of the range of
    what was filled in there, or of `n_steps`. 255 stands for none.
    """
    is_missing = np.isnan(observed)
    codes, low, step = _codes(np.where(is_missing, filled, np.nan), "Uint8Array", n_steps)
    return {
        "codes": pack(codes[is_missing], "Uint8Array", level=6),
        "low": pack(low, "Float64Array"),
        "step": pack(step, "Float64Array"),
        "n_steps": n_steps or 254,
    }


def pack_observed(X: Array, max_entries: int, n_steps: int | None = None) -> dict[str, Any] | None:
    """Return the observed entries at full resolution; None if there are too many entries.

    An entry of column j is ``low[j] + step[j] * code``. The largest possible code, 255 or 65535,
    stands for a missing entry. Columns of integers with a range of fewer steps are exact; others
    are rounded to a 254th of their range, or a 65534th in matrices of up to 8 million entries.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    max_entries : int
        The largest number of entries, missing ones included.
    n_steps : int, optional
        The number of steps of the range of a column, if not 254 or 65534.

    Returns
    -------
    packed : dict or None
        "codes" by rows as Uint8Array or Uint16Array, "low" and "step" for each column, and
        "n_steps".
    """
    if X.size > max_entries:
        return None
    kind = "Uint8Array" if X.size > _MAX_TWO_BYTES or n_steps else "Uint16Array"
    codes, low, step = _codes(X, kind, n_steps)
    return {
        "codes": pack(codes, kind, level=6),
        "low": pack(low, "Float64Array"),
        "step": pack(step, "Float64Array"),
        "n_steps": int(n_steps or np.iinfo(_TYPES[kind]).max - 1),
    }


def _codes(X: Array, kind: str, n_steps: int | None) -> tuple[NDArray[Any], Array, Array]:
    """Return entries as integer steps from the lowest of their column, with low and step."""
    no_value = np.iinfo(_TYPES[kind]).max
    n_steps = no_value - 1 if n_steps is None else n_steps
    low, high = (np.nan_to_num(end.reduce(X, axis=0)) for end in (np.fmin, np.fmax))
    step = (high - low) / n_steps
    may_be_whole = np.flatnonzero(high - low < no_value)
    step[may_be_whole[_are_whole(X[:, may_be_whole])]] = 1.0
    divisor = np.where(step > 0.0, step, 1.0)
    codes = np.empty(X.shape, dtype=_TYPES[kind])
    for rows in np.array_split(np.arange(len(X)), 1 + X.size // _CHUNK):
        steps = np.rint((X[rows] - low) / divisor)
        codes[rows] = np.where(np.isnan(steps), no_value, np.clip(steps, 0, no_value - 1))
    return codes, low, step


def _are_whole(X: Array) -> NDArray[np.bool_]:
    """Return which columns have integers only; missing entries do not count."""
    found = np.ones(X.shape[1], dtype=bool)
    for rows in np.array_split(np.arange(len(X)), 1 + X.size // _CHUNK):
        left = np.flatnonzero(found)
        values = np.nan_to_num(X[np.ix_(rows, left)])
        found[left] = (values == np.rint(values)).all(axis=0)
    return found
