"""What figures need of a fitted model, or errors that say what it lacks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice

Array = NDArray[np.float64]

MODES = {"rows": "row", "columns": "column"}


def check_model(model: Any) -> None:
    """Refuse all but a fitted `CoManifold`."""
    from ..co_manifold import CoManifold

    if not isinstance(model, CoManifold):
        raise ValueError(f"model must be a CoManifold, got {type(model).__name__}")
    check_is_fitted(model)


def of_mode(model: Any, mode: str, attribute: str) -> Any:
    """`row_{attribute}_` or `column_{attribute}_` of a model."""
    check_choice("mode", mode, list(MODES))
    return getattr(model, f"{MODES[mode]}_{attribute}_")


def named_scale(l: int | None, k: int | None) -> tuple[int, int] | None:
    """The scale that was named, if one was; both its exponents are needed."""
    if l is None and k is None:
        return None
    if l is None or k is None:
        raise ValueError(f"a scale has two exponents: give both l and k, got l={l!r} and k={k!r}")
    return l, k


def clusters_at(model: Any, mode: str, l: int, k: int) -> list[int]:
    """The clusters of a mode at a scale; -1 where nothing is observed."""
    at = model.row_labels_at if mode == "rows" else model.column_labels_at
    return at(l, k).tolist()
