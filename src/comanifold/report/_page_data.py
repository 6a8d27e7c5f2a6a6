"""The values that the page shows."""

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._embedding.layouts import TITLES
from .._embedding.structure import structure_summary
from .._summary import model_warnings
from ..model_selection import HeldOutErrors, compare_held_out
from ._cluster_data import cluster_data, distinguishing_data
from ._colourings import check_annotations, check_names, colourings, in_order
from ._matrix_data import matrix_data, scale_data
from ._packing import pack, pack_entries
from ._tree_data import tree_data

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

# The page opens at a scale with at most as many clusters as there are colours.
_MAX_CLUSTERS = 7


def page_data(
    model: "CoManifold",
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
    errors: HeldOutErrors | None = None,
    layouts: dict[str, tuple[ArrayLike, ArrayLike]] | None = None,
    max_cells: int = 500,
    max_values: int = 1_000_000,
    max_entries: int = 25_000_000,
) -> dict[str, Any]:
    """Return the contents of the page; see `comanifold.report.write_report`.

    Rows and columns are in the organised order; ``order`` has their indices. `max_cells` is the
    largest number of rows, or columns, of the picture of the matrix, and `max_values` that of
    stored values of the estimates of all scales (about 2 MB).

    ``["values"]`` has the observed entries at full resolution, see
    `comanifold.report._packing.pack_observed`: n_rows * n_columns codes in the organised order, by
    rows. ``["filled_values"]`` has what was filled in where nothing was observed. Both are None if
    there are more than `max_entries` entries, missing ones included; then ``["distinguishing"]``
    has what distinguishes the clusters found, which the page computes otherwise.
    """
    check_is_fitted(model)
    if isinstance(notes, str):
        raise ValueError(f"notes must be a list of texts, got one text, {notes!r}")
    shape = model.filled_.shape
    # Rows, and columns, that share a cell of the picture.
    steps = [-(-size // max_cells) for size in shape]
    annotations = check_annotations(annotations, dict(zip(("rows", "columns"), shape, strict=True)))
    known = [getattr(model, name, None) for name in ("row_names_in_", "feature_names_in_")]
    names = [
        check_names(row_names, known[0], mode="row", size=shape[0]),
        check_names(column_names, known[1], mode="column", size=shape[1]),
    ]
    layouts = check_layouts(layouts, shape)
    # Computed at each access, in seconds for very many rows.
    trees = [getattr(model, f"{mode}_linkage_", None) for mode in ("row", "column")]
    place = np.ix_(model.row_order_, model.column_order_)
    values, filled_values = pack_entries(model.data_[place], model.filled_[place], max_entries)
    return {
        "title": "Co-manifold report" if title is None else str(title),
        "notes": [str(note) for note in notes],
        "warnings": model_warnings(model),
        "structure": "; ".join(
            structure_summary(model.row_p_value_, model.column_p_value_).values()
        ),
        "n_rows": shape[0],
        "n_columns": shape[1],
        "n_missing": int(np.isnan(model.data_).sum()),
        "n_clusters": {
            f"{mode}s": model.find_clusters(mode).n_clusters for mode in ("row", "column")
        },
        "rows": {
            **_mode_data(model, "row", names[0], annotations["rows"], steps[0]),
            "tree": tree_data(trees[0], model.row_order_),
            "clusters": cluster_data(model, "row", trees[0]),
            "layouts": [
                _layout_data(name, coordinates[0][model.row_order_])
                for name, coordinates in layouts.items()
            ],
        },
        "columns": {
            **_mode_data(model, "column", names[1], annotations["columns"], steps[1]),
            "tree": tree_data(trees[1], model.column_order_),
            "clusters": cluster_data(model, "column", trees[1]),
            "layouts": [
                _layout_data(name, coordinates[1][model.column_order_])
                for name, coordinates in layouts.items()
            ],
        },
        "matrix": matrix_data(model, steps, max_cells),
        "values": values,
        "filled_values": filled_values,
        "distinguishing": None
        if values is not None
        else {f"{mode}s": distinguishing_data(model, mode) for mode in ("row", "column")},
        "scales": _scale_records(model),
        "estimates": scale_data(model, steps, max_values) if trees[0] is not None else None,
        "first_scale": _first_scale(model),
        "held_out": _held_out(
            compare_held_out(model, only_means=True) if errors is None else errors
        ),
        "certificates": _certificates(model),
        "parameters": _parameters(model),
        "versions": _versions(),
    }


def _mode_data(
    model: "CoManifold", mode: str, names: list[str], annotations: dict[str, list[Any]], step: int
) -> dict[str, Any]:
    """Return names, embedding and colourings of the rows or columns."""
    order = getattr(model, f"{mode}_order_")
    eigenvalues = getattr(model, f"{mode}_eigenvalues_", None)
    # The page has the clusters found in any case.
    found = model.find_clusters(mode).as_text()
    others = {name: values for name, values in annotations.items() if values != found}
    embedding = model.embedding_name_
    return {
        "names": [names[i] for i in order],
        "order": [int(i) for i in order],
        **_layout_data(
            "diffusion map" if embedding == "diffusion" else TITLES.get(embedding, embedding),
            getattr(model, f"{mode}_embedding_")[order],
        ),
        "axis": TITLES.get(embedding, TITLES["diffusion"]),
        "eigenvalues": None if eigenvalues is None else [float(value) for value in eigenvalues],
        "colourings": [in_order(made, order) for made in colourings(names, others)],
        "cell_size": step,
    }


def _layout_data(name: str, coordinates: NDArray[np.float64]) -> dict[str, Any]:
    """Return the coordinates of one layout, for the page."""
    return {
        "layout": name,
        "axis": name,
        "eigenvalues": None,
        "n_components": coordinates.shape[1],
        "embedding": pack(coordinates, "Float64Array"),
    }


def check_layouts(
    given: Any, shape: tuple[int, int]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Validate further layouts; return coordinates of rows and of columns by name."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ValueError(
            "layouts must be {name: (row coordinates, column coordinates)}, got "
            f"{type(given).__name__}"
        )
    checked = {}
    for name, pair in given.items():
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(
                f"layouts[{name!r}] must be (row coordinates, column coordinates), got {pair!r:.60}"
            )
        checked[str(name)] = tuple(
            _check_coordinates(coordinates, f"{mode} coordinates of layouts[{name!r}]", size)
            for coordinates, mode, size in zip(pair, ("row", "column"), shape, strict=True)
        )
    return checked


def _check_coordinates(given: ArrayLike, what: str, size: int) -> NDArray[np.float64]:
    """Validate that coordinates are one line of numbers for each point; return them."""
    try:
        coordinates = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers: {error}") from error
    if coordinates.ndim != 2 or len(coordinates) != size or not coordinates.shape[1]:
        raise ValueError(
            f"{what} must have one line for each of them, {size}, and one column for each "
            f"coordinate, got shape {coordinates.shape}"
        )
    if np.isinf(coordinates).any():
        raise ValueError(f"{what} must be finite, or NaN for points that are not shown")
    return coordinates


def _scale_records(model: "CoManifold") -> list[dict[str, Any]]:
    """Return one record per scale."""
    scales = model.scales_
    names = ["l", "k", "n_row_clusters", "n_column_clusters", "weight", "objective"]
    columns = {name: scales[name].tolist() for name in [*names, "n_iter", "status"]}
    columns["residual"] = scales["stationarity"].tolist()
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _first_scale(model: "CoManifold") -> int:
    """Return the position of the scale of the largest weight with a few clusters, else 0."""
    counts = np.array([model.scales_["n_row_clusters"], model.scales_["n_column_clusters"]])
    has_few = ((counts > 1) & (counts <= _MAX_CLUSTERS)).all(axis=0)
    return int(np.argmax(np.where(has_few, model.scales_["weight"], -1.0))) if has_few.any() else 0


def _held_out(errors: HeldOutErrors | None) -> dict[str, Any] | None:
    """Return the errors on held-out entries, by method."""
    if errors is None:
        return None
    return {
        "n_entries": errors.n_held_out,
        "errors": [["this fit", errors.model], *map(list, errors.others.items())],
    }


def _certificates(model: "CoManifold") -> dict[str, Any]:
    """Return how well the scales were solved."""
    scales = model.scales_
    return {
        "n_scales": len(scales["l"]),
        "n_converged": int((scales["status"] == "converged").sum()),
        "tol": float(model.tol),
        "largest_residual": float(scales["stationarity"].max()),
        "largest_gap": float(scales["gap"].max()) if "gap" in scales else None,
    }


def _parameters(model: "CoManifold") -> dict[str, str]:
    """Return the parameters that the result depends on."""
    parameters = sorted(model.get_params().items())
    return {
        name: repr(value)
        for name, value in parameters
        if name not in ("checkpoint", "n_jobs", "verbose")
    }


def _versions() -> dict[str, str]:
    """Return the versions of the packages that the result depends on."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "comanifold": __version__,
        "Python": sys.version.split()[0],
        **{package: version(package) for package in packages},
    }
