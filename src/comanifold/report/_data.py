"""What the page shows, as plain text, numbers, lists and dictionaries."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._validation import listing
from ._matrix import cell_size, matrix_data, scale_data
from ._names import checked_annotations, checked_names, colourings, in_order
from ._packed import pack

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

# Points past this many make a browser slow: of more, every second, third and so on is drawn.
_MOST_POINTS = 5000
# The page opens at a scale with no more clusters than it has colours for.
_MOST_COLOURS = 7


def page_data(
    model: "CoManifold",
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
) -> dict[str, Any]:
    """All that the page is made of; see `comanifold.report.write_report`.

    Rows and columns come in the organised order; ``order`` says which ones they are.
    """
    check_is_fitted(model)
    n_rows, n_columns = model.filled_.shape
    annotations = checked_annotations(annotations, {"rows": n_rows, "columns": n_columns})
    names = {
        "rows": checked_names(row_names, model.row_names_in_, mode="row", size=n_rows),
        "columns": checked_names(
            column_names, getattr(model, "feature_names_in_", None), mode="column", size=n_columns
        ),
    }
    if isinstance(notes, str):
        raise ValueError(f"notes must be a list of texts, got one text, {notes!r}")
    has_scales = model._blocks is not None
    return {
        "title": "Co-manifold report" if title is None else str(title),
        "notes": [str(note) for note in notes],
        "warnings": _warnings(model),
        "n_rows": n_rows,
        "n_columns": n_columns,
        "n_missing": int(np.isnan(model._X).sum()),
        "rows": _mode_data(model, "row", names["rows"], annotations["rows"]),
        "columns": _mode_data(model, "column", names["columns"], annotations["columns"]),
        "matrix": matrix_data(model),
        "scales": _scale_list(model),
        "estimates": scale_data(model) if has_scales else None,
        "first_scale": _first_scale(model),
        "certificates": _certificates(model),
        "parameters": _parameters(model),
        "versions": _versions(),
    }


def _mode_data(
    model: "CoManifold", mode: str, names: list[str], annotations: dict[str, list[Any]]
) -> dict[str, Any]:
    order = getattr(model, f"{mode}_order_")
    embedding = getattr(model, f"{mode}_embedding_")
    eigenvalues = getattr(model, f"{mode}_eigenvalues_")
    return {
        "names": [names[i] for i in order],
        "order": [int(i) for i in order],
        "n_components": embedding.shape[1],
        "embedding": pack(embedding[order], "Float64Array"),
        "eigenvalues": None if eigenvalues is None else [float(value) for value in eigenvalues],
        "colourings": [in_order(found, order) for found in colourings(names, annotations)],
        "cell_size": cell_size(len(order)),
        "point_step": -(-len(order) // _MOST_POINTS),
    }


def _scale_list(model: "CoManifold") -> list[dict[str, Any]]:
    return [
        {
            "l": int(scale.l),
            "k": int(scale.k),
            "n_row_clusters": int(scale.n_row_clusters),
            "n_column_clusters": int(scale.n_column_clusters),
            "weight": float(scale.weight),
            "objective": float(scale.objective),
            "residual": float(scale.certificate.stationarity),
            "n_iter": int(scale.n_iter),
            "status": scale.status,
        }
        for scale in model.scales_
    ]


def _first_scale(model: "CoManifold") -> int:
    """The weightiest scale with a few clusters of both modes, else the first."""

    def has_a_few(scale: Any) -> bool:
        return all(1 < n <= _MOST_COLOURS for n in (scale.n_row_clusters, scale.n_column_clusters))

    few = [i for i, scale in enumerate(model.scales_) if has_a_few(scale)]
    return max(few, key=lambda i: model.scales_[i].weight, default=0)


def _certificates(model: "CoManifold") -> dict[str, Any]:
    certificates = [scale.certificate for scale in model.scales_]
    gaps = [certificate.gap for certificate in certificates if certificate.gap is not None]
    return {
        "n_scales": len(certificates),
        "n_converged": sum(scale.status == "converged" for scale in model.scales_),
        "tol": float(model.tol),
        "largest_residual": max(float(certificate.stationarity) for certificate in certificates),
        "largest_gap": float(max(gaps)) if gaps else None,
    }


def _warnings(model: "CoManifold") -> list[str]:
    """What the fit warned of, as far as the model tells."""
    found = []
    for mode in ("row", "column"):
        unobserved = getattr(model, f"unobserved_{mode}s_")
        if unobserved.size:
            found.append(
                f"{unobserved.size} {mode}s have no observed entry and so no coordinates, no "
                f"cluster and no filled-in values. Counted from 0: {listing(unobserved)}."
            )
    unfinished = [scale for scale in model.scales_ if scale.status != "converged"]
    if unfinished:
        found.append(
            f"{len(unfinished)} of {len(model.scales_)} scales stopped before they reached the "
            f"tolerance of {model.tol:g}: raise max_iter, or tol."
        )
    return found


def _parameters(model: "CoManifold") -> dict[str, str]:
    """All that the result depends on; not how it was computed, nor a path of this machine."""
    parameters = sorted(model.get_params().items())
    return {
        name: repr(value)
        for name, value in parameters
        if name not in ("checkpoint", "n_jobs", "verbose")
    }


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "comanifold": __version__,
        "Python": sys.version.split()[0],
        **{package: version(package) for package in packages},
    }
