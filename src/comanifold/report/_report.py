"""Write a fitted model as one HTML page that loads nothing from elsewhere, and its values."""

import base64
import hashlib
import json
import numbers
import os
import re
import sys
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._embedding.layouts import TITLES
from .._embedding.structure import structure_summary, structure_warnings
from .._io import atomic_file
from .._validation import is_missing_value, listing
from ..model_selection import HeldOutErrors, compare_held_out

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# In order of dependence.
_SCRIPTS = ("data", "colours", "matrix", "embedding", "scales", "tables", "page")

# Plotly adds an empty style sheet and fills it rule by rule,
_EMPTY = ""
# and adds style sheets of its geographical maps unless elements with their ids exist.
_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')

# Separates the group in a name from the rest, as in Colon_12.
_SEPARATOR = re.compile(r"[_.:|\s]")
_MAX_GROUPS = 20

# Estimates are rounded to this many steps between the minimum and the maximum of their scale.
_STEPS = 65_534
_NO_VALUE = 65_535

# NumPy types by the names of the JavaScript typed arrays.
_TYPES = {
    "Float64Array": "<f8",
    "Float32Array": "<f4",
    "Int32Array": "<i4",
    "Uint16Array": "<u2",
    "Uint8Array": "u1",
}

# More points than this make a browser slow: only every second, third and so on is drawn.
_MAX_POINTS = 5000
# The page opens at a scale with at most as many clusters as there are colours.
_MAX_CLUSTERS = 7


def write_report(
    model: "CoManifold",
    path: str | os.PathLike,
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
    errors: HeldOutErrors | None = None,
) -> None:
    """Write a fitted model as one self-contained HTML page.

    The page shows the organised matrix linked to both embeddings and, if the model was fitted
    with ``keep_scales=True``, the matrix and the clusters at every scale. With more than 500 rows
    or columns, neighbours in the organised order are averaged in the picture of the matrix, and
    the page says so.

    Parameters
    ----------
    model : CoManifold
        Fitted.
    path : path
        The file to write, usually ``.html``. An existing file is replaced once the new one is
        complete.
    row_names, column_names : sequence, optional
        By default the labels of the DataFrame that the model was fitted to, else numbers. Shown
        as plain text.
    title : str, optional
        The heading of the page.
    notes : sequence of str
        Further remarks, such as warnings or the source of the data.
    annotations : dict, optional
        Text or numbers to colour by, ``{"rows": {name: values}, "columns": {name: values}}``,
        one value for each row or column; None or NaN where missing.
    errors : HeldOutErrors, optional
        The errors on held-out entries to show, such as those of
        `comanifold.model_selection.compare_held_out`. By default those of the model and of means,
        if the fit has held out any entries.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from comanifold import CoManifold
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> from comanifold.report import write_report
    >>> data = make_checkerboard(30, 20, random_state=0)
    >>> X = remove_entries(data.X, 0.3, random_state=0)
    >>> model = CoManifold(keep_scales=True).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder) / "report.html", title="A checkerboard")
    ...     (Path(folder) / "report.html").exists()
    True
    """
    html = render_report(
        model,
        row_names=row_names,
        column_names=column_names,
        title=title,
        notes=notes,
        annotations=annotations,
        errors=errors,
    )
    with atomic_file(path) as part:
        part.write_bytes(html)


def render_report(model: "CoManifold", **content: Any) -> bytes:
    """Return the page that `write_report` writes; takes the same keywords."""
    # The arguments are validated before missing packages are reported.
    data = page_data(model, **content)
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f"the report needs {error.name}: pip install 'comanifold[report]'"
        ) from error
    script = "".join(_read(f"{name}.js") for name in _SCRIPTS)
    scripts = {"plotly": get_plotlyjs(), "page": script}
    style = _read("page.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    page = environment.from_string(_read("page.html")).render(
        data=data,
        json=json_for_html(data),
        style=style,
        scripts=scripts,
        taken_names=_MAP_STYLES.findall(scripts["plotly"]),
        policy=_policy(list(scripts.values()), [style, _EMPTY]),
    )
    # A lone surrogate in a name is not valid UTF-8: it becomes a character reference.
    return page.encode("utf-8", "xmlcharrefreplace")


def json_for_html(data: Any) -> str:
    """Return data as ASCII JSON without <, > and &, safe inside any HTML element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a content security policy that allows only these scripts and styles."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src-elem {_hashes(styles)}",
            # Plotly positions text with style attributes.
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: list[str]) -> str:
    """Return the hashes of texts as a source list of the policy."""
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


def _read(name: str) -> str:
    """Return the text of a file of the page."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


# The values that the page shows.


def page_data(
    model: "CoManifold",
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
    errors: HeldOutErrors | None = None,
    max_cells: int = 500,
    max_values: int = 1_000_000,
) -> dict[str, Any]:
    """Return the contents of the page; see `comanifold.report.write_report`.

    Rows and columns are in the organised order; ``order`` has their indices. `max_cells` is the
    largest number of rows, or columns, of the picture of the matrix, and `max_values` that of
    stored values of the estimates of all scales (about 2 MB).
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
    has_scales = hasattr(model, "row_linkage_")
    return {
        "title": "Co-manifold report" if title is None else str(title),
        "notes": [str(note) for note in notes],
        "warnings": _warnings(model),
        "structure": "; ".join(
            structure_summary(model.row_p_value_, model.column_p_value_).values()
        ),
        "n_rows": shape[0],
        "n_columns": shape[1],
        "n_missing": int(np.isnan(model.data_).sum()),
        "n_clusters": {
            f"{mode}s": model.find_clusters(mode).n_clusters for mode in ("row", "column")
        },
        "rows": _mode_data(model, "row", names[0], annotations["rows"], steps[0]),
        "columns": _mode_data(model, "column", names[1], annotations["columns"], steps[1]),
        "matrix": matrix_data(model, steps),
        "scales": _scale_records(model),
        "estimates": scale_data(model, steps, max_values) if has_scales else None,
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
    embedding = getattr(model, f"{mode}_embedding_")
    eigenvalues = getattr(model, f"{mode}_eigenvalues_", None)
    return {
        "names": [names[i] for i in order],
        "order": [int(i) for i in order],
        "n_components": embedding.shape[1],
        "axis": TITLES.get(model.embedding_name_, TITLES["diffusion"]),
        "embedding": pack(embedding[order], "Float64Array"),
        "eigenvalues": None if eigenvalues is None else [float(value) for value in eigenvalues],
        "colourings": [in_order(found, order) for found in colourings(names, annotations)],
        "cell_size": step,
        "point_step": -(-len(order) // _MAX_POINTS),
    }


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


def _warnings(model: "CoManifold") -> list[str]:
    """Return the warnings of the fit that the fitted attributes show."""
    found = structure_warnings(model.row_p_value_, model.column_p_value_)
    for mode in ("row", "column"):
        unobserved = getattr(model, f"unobserved_{mode}s_")
        if unobserved.size:
            found.append(
                f"{unobserved.size} {mode}s have no observed entry and so no coordinates, no "
                f"cluster and no filled-in values. Counted from 0: {listing(unobserved)}."
            )
    n_unfinished = int((model.scales_["status"] != "converged").sum())
    if n_unfinished:
        found.append(
            f"{n_unfinished} of {len(model.scales_['l'])} scales stopped before they reached the "
            f"tolerance of {model.tol:g}: raise max_iter, or tol."
        )
    return found


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


# Names, annotations and colourings.


def check_names(given: Any, known: Any, *, mode: str, size: int) -> list[str]:
    """Validate names; by default return those known from the data, else numbers from 1."""
    if given is None:
        given = known
    if given is None:
        return [f"{mode} {number}" for number in range(1, size + 1)]
    return [str(name) for name in _check_length(given, f"{mode}_names", mode=mode, size=size)]


def check_annotations(given: Any, sizes: dict[str, int]) -> dict[str, dict[str, list[Any]]]:
    """Validate annotations; return lists by mode and name."""
    given = {} if given is None else given
    if not isinstance(given, dict) or not set(given) <= set(sizes):
        raise ValueError(
            'annotations must be {"rows": {name: values}, "columns": {name: values}}, got '
            f"{sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__}"
        )
    checked = {}
    for mode, size in sizes.items():
        named = given.get(mode) or {}
        if not hasattr(named, "items"):
            raise ValueError(
                f'annotations["{mode}"] must be {{name: values}}, got {type(named).__name__}'
            )
        checked[mode] = {
            str(name): _check_length(
                values, f'annotations["{mode}"][{str(name)!r}]', mode=mode[:-1], size=size
            )
            for name, values in named.items()
        }
    return checked


def colourings(names: list[str], annotations: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return what points can be coloured by: annotations, and groups in their names."""
    found = [_colouring(name, values) for name, values in annotations.items()]
    groups = _groups(names)
    if groups:
        found.append(_colouring("first part of the name", groups))
    elif 1 < len(set(names)) <= min(_MAX_GROUPS, len(names) // 2):
        found.append(_colouring("name", list(names)))
    return found


def _check_length(values: Any, what: str, *, mode: str, size: int) -> list[Any]:
    """Validate that values is a sequence of this size; return it as a list."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        values = values.tolist() if hasattr(values, "tolist") else values
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(f"{what} must be a list of {size} values, got {values!r}")
    if len(values) != size:
        raise ValueError(f"{what} must have one value for each {mode}, {size}; got {len(values)}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _groups(names: list[str]) -> list[str] | None:
    """Return the first part of each name, if there are a few distinct ones; else None."""
    groups = [_SEPARATOR.split(name, maxsplit=1)[0] for name in names]
    n_groups = len(set(groups))
    is_useful = 1 < n_groups <= min(_MAX_GROUPS, len(names) // 2) and n_groups < len(set(names))
    return groups if is_useful else None


def _colouring(name: str, values: list[Any]) -> dict[str, Any]:
    """Return values as numbers, or as codes of their distinct texts, most frequent first."""
    is_missing = [is_missing_value(value) for value in values]
    there = [value for value, gone in zip(values, is_missing, strict=True) if not gone]
    if there and all(_is_number(value) for value in there):
        numbers_ = [
            None if gone else float(value) for value, gone in zip(values, is_missing, strict=True)
        ]
        return {"name": name, "kind": "number", "values": numbers_}
    texts = np.array([str(value) for value in there], dtype=object)
    levels, counts = np.unique(texts.astype(str), return_counts=True)
    ranked = [str(level) for level in levels[np.argsort(-counts, kind="stable")]]
    code = {level: number for number, level in enumerate(ranked)}
    codes = [
        -1 if gone else code[str(value)] for value, gone in zip(values, is_missing, strict=True)
    ]
    return {"name": name, "kind": "text", "levels": ranked, "values": codes}


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and np.isfinite(value)


def in_order(colouring: dict[str, Any], order: NDArray[np.intp]) -> dict[str, Any]:
    """Return a colouring with its points in another order."""
    return {**colouring, "values": [colouring["values"][i] for i in order]}


# The matrix and its estimates, averaged over cells.


def pack(values: Any, kind: str) -> dict[str, str]:
    """Return an array as a typed array of JavaScript, compressed and in base 64."""
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(zlib.compress(raw, 9)).decode("ascii")}


def matrix_data(model: "CoManifold", steps: list[int]) -> dict[str, Any]:
    """Return the observed and the filled-in matrix, averaged over cells, in standard units.

    A cell has ``steps[0]`` rows and ``steps[1]`` columns that are neighbours in the organised
    order.
    """
    place = np.ix_(model.row_order_, model.column_order_)
    observed, filled = model.data_[place], model.filled_[place]
    is_there = ~np.isnan(observed)
    sizes = _cell_sums(np.ones_like(filled), steps)
    counts = _cell_sums(is_there.astype(float), steps)
    known = _cell_sums((~np.isnan(filled)).astype(float), steps)
    in_units = (np.nan_to_num(filled) - model.mean_) / model.scale_
    filled_cells = _divide(_cell_sums(np.where(np.isnan(filled), 0.0, in_units), steps), known)
    limits = np.nanquantile(filled_cells, [0.01, 0.99]) * model.scale_ + model.mean_
    data = {
        "size": list(sizes.shape),
        "mean": float(model.mean_),
        "unit": float(model.scale_),
        "limits": [float(limit) for limit in limits],
        "share_observed": pack(np.ceil(255.0 * counts / sizes), "Uint8Array"),
        "filled": pack(filled_cells, "Float32Array"),
    }
    if max(steps) > 1:
        seen = np.where(is_there, in_units, 0.0)
        data["observed"] = pack(_divide(_cell_sums(seen, steps), counts), "Float32Array")
    return data


def scale_data(model: "CoManifold", steps: list[int], max_values: int) -> dict[str, Any]:
    """Return the clusters and the estimates of all scales, concatenated.

    Clusters are numbered from 0 in the organised order, -1 where nothing is observed. An estimate
    is constant on blocks, so it is stored as a table of block values and the group of each row
    and column of cells. If the tables of all scales have more than `max_values` values, the
    largest are averaged over neighbours.
    """
    blocks = [model.blocks_at(index=i) for i in range(len(model.scales_["l"]))]
    own = [  # the labels of each scale, by mode, in the organised order
        [scale.row_labels[model.row_order_] for scale in blocks],
        [scale.column_labels[model.column_order_] for scale in blocks],
    ]
    labels = [[_renumbered(label) for label in of_mode] for of_mode in own]
    groups = [
        [_cell_groups(label, step) for label in of_mode]
        for of_mode, step in zip(labels, steps, strict=True)
    ]
    sizes = [[int(group.max()) + 1 for group in of_mode] for of_mode in groups]
    max_groups = _max_groups(sizes, max_values)
    tables, limits, shapes = [], [], []
    for i, scale in enumerate(blocks):
        values = (scale.values - model.mean_) / model.scale_
        means = np.pad(values, ((0, 1), (0, 1)), constant_values=np.nan)
        for mode in (0, 1):
            groups[mode][i] = _limit_groups(groups[mode][i], max_groups)
            means = _group_means(means, own[mode][i], groups[mode][i], steps[mode], axis=mode)
        codes, low, high = _rounded(means)
        tables.append(codes.ravel())
        limits.append([low, high])
        shapes.append(list(codes.shape))
    return {
        "row_labels": pack(labels[0], "Int32Array"),
        "column_labels": pack(labels[1], "Int32Array"),
        "row_groups": pack(groups[0], "Int32Array"),
        "column_groups": pack(groups[1], "Int32Array"),
        "shapes": shapes,
        "limits": limits,
        "values": pack(np.concatenate(tables), "Uint16Array"),
        "is_averaged": max_groups < max(map(max, sizes)),
    }


def _cell_sums(values: Array, steps: list[int]) -> Array:
    """Return the sums over cells of steps[0] rows and steps[1] columns."""
    for axis, step in enumerate(steps):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)
    return values


def _divide(sums: Array, counts: Array) -> Array:
    """Return sums / counts, NaN where the count is zero."""
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _renumbered(labels: Labels) -> Labels:
    """Return the labels numbered in order of first appearance; -1 stays."""
    names, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    first = np.where(names < 0, len(labels), first)
    rank = np.argsort(np.argsort(first))
    return np.where(labels < 0, -1, rank[inverse])


def _cell_groups(labels: Labels, step: int) -> Labels:
    """Return the group of each cell; cells with the same multiset of labels form a group."""
    n_lost = -len(labels) % step
    cells = np.sort(np.append(labels, np.full(n_lost, -2)).reshape(-1, step), axis=1)
    return _renumbered(np.unique(cells, axis=0, return_inverse=True)[1].ravel())


def _limit_groups(groups: Labels, max_groups: int) -> Labels:
    """Return the groups, or runs of neighbouring cells if there are too many groups."""
    if groups.max() < max_groups:
        return groups
    return np.arange(len(groups)) // -(-len(groups) // max_groups)


def _max_groups(sizes: list[list[int]], max_values: int) -> int:
    """Return the largest number of groups per mode for which all tables fit in max_values."""
    rows, columns = np.array(sizes)
    for most in range(int(max(rows.max(), columns.max())), 1, -1):
        if (np.minimum(rows, most) * np.minimum(columns, most)).sum() <= max_values:
            return most
    return 1


def _group_means(means: Array, labels: Labels, groups: Labels, step: int, *, axis: int) -> Array:
    """Return the mean of each group over its members; members without a label are ignored."""
    n_groups = int(groups.max()) + 1
    members = np.zeros((n_groups, means.shape[axis]))
    np.add.at(members, (groups[np.arange(len(labels)) // step], labels), 1.0)
    members[:, -1] = 0.0  # label -1: no value
    known = np.moveaxis(np.nan_to_num(means), axis, 0)
    sums = np.moveaxis(np.tensordot(members, known, axes=1), 0, axis)
    totals = np.expand_dims(members.sum(axis=1), 1 - axis)
    has_values = np.broadcast_to(totals, sums.shape)
    lost = np.isnan(means).all(axis=axis, keepdims=True)
    return np.where(lost, np.nan, _divide(sums, has_values))


def _rounded(values: Array) -> tuple[NDArray[np.uint16], float, float]:
    """Return values rounded to integer steps, with their minimum and maximum."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    shares = (values - low) / (high - low or 1.0)
    codes = np.where(np.isnan(shares), _NO_VALUE, np.rint(_STEPS * np.nan_to_num(shares)))
    return codes.astype(np.uint16), low, high
