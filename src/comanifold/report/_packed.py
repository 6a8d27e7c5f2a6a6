"""Arrays as short text that a browser can read."""

import base64
import zlib
from typing import Any

import numpy as np

# NumPy's types, by the names of the typed arrays that they are on the page.
_TYPES = {
    "Float64Array": "<f8",
    "Float32Array": "<f4",
    "Int32Array": "<i4",
    "Uint16Array": "<u2",
    "Uint8Array": "u1",
}


def pack(values: Any, kind: str) -> dict[str, str]:
    """An array as compressed bytes in base 64, rows one after the other."""
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(zlib.compress(raw, 9)).decode("ascii")}
