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


def pack(values: Any, kind: str, level: int = 9) -> dict[str, str]:
    """Return an array as a typed array of JavaScript, compressed and in base 64."""
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(zlib.compress(raw, level)).decode("ascii")}


def pack_observed(X: Array, max_entries: int) -> dict[str, Any] | None:
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

    Returns
    -------
    packed : dict or None
        "codes" by rows as Uint8Array or Uint16Array, "low" and "step" for each column.
    """
    if X.size > max_entries:
        return None
    kind, no_value = ("Uint8Array", 255) if X.size > _MAX_TWO_BYTES else ("Uint16Array", 65_535)
    is_there = ~np.isnan(X)
    low = np.where(is_there, X, np.inf).min(axis=0)
    high = np.where(is_there, X, -np.inf).max(axis=0)
    low, high = (np.where(is_there.any(axis=0), ends, 0.0) for ends in (low, high))
    step = (high - low) / (no_value - 1)
    is_whole = (np.where(is_there, X, 0.0) % 1.0 == 0.0).all(axis=0)
    step[is_whole & (high - low < no_value)] = 1.0
    codes = np.full(X.shape, no_value, dtype=_TYPES[kind])
    shares = np.divide(X - low, step, out=np.zeros_like(X), where=is_there & (step > 0.0))
    codes[is_there] = np.clip(np.rint(shares[is_there]), 0, no_value - 1)
    return {
        "codes": pack(codes, kind, level=6),
        "low": pack(low, "Float64Array"),
        "step": pack(step, "Float64Array"),
    }
