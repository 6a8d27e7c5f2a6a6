"""A fitted `CoManifold` from what was saved of it; whatever does not fit is refused."""

from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from .._fit.outliers import find_outliers
from .._fit.sweep import Blocks
from .._validation import expand_to_full
from ..diffusion_map import DiffusionMap
from ..graphs import Graph
from ..solvers import TRAVERSALS, Certificate, Scale
from .model_checks import check_state
from .model_writing import KINDS_OF_VALUES, MODES, PENALTIES, Arrays


def parameters_from_json(saved: Any, known: list[str]) -> dict[str, Any]:
    """The parameters of a model, none of which is unknown.

    A loaded model has no checkpoint: fitting it again must not write where a file says.
    """
    if not isinstance(saved, dict) or not set(saved) <= set(known):
        raise ValueError("the parameters are not those of a CoManifold")
    found = {name: _parameter_from_json(value) for name, value in saved.items()}
    return {**found, "checkpoint": None} if "checkpoint" in known else found


def _parameter_from_json(value: Any) -> Any:
    if isinstance(value, dict):
        settings = dict(value)
        kind = PENALTIES.get(str(settings.pop("penalty", None)))
        if kind is None:
            raise ValueError("the penalty is not one of comanifold.penalties")
        try:
            return kind(**settings)
        except TypeError as error:
            raise ValueError(f"the penalty is damaged: {error}") from error
    return tuple(_parameter_from_json(part) for part in value) if isinstance(value, list) else value


class StateReader:
    """The attributes of a fitted model, from what was saved; whatever does not fit is refused."""

    def __init__(self, state: Any, arrays: Arrays):
        self._state, self._arrays = state, arrays

    def attributes(self) -> dict[str, Any]:
        rows, columns = self._array("_rows", "b"), self._array("_columns", "b")
        sizes = rows.size, columns.size
        known = int(rows.sum()), int(columns.sum())
        self._known = {"row": rows, "column": columns}
        own = {
            "_rows": rows,
            "_columns": columns,
            "_X": self._array("_X", "f", sizes),
            "_filled": self._array("_filled", "f", known),
            "filled_": self._array("filled_", "f", sizes),
            "ignored_entries_": np.argwhere(find_outliers(self._array("_X", "f", sizes))),
            "unobserved_rows_": np.flatnonzero(~rows),
            "unobserved_columns_": np.flatnonzero(~columns),
            "scales_": [_scale_from_json(record) for record in self._part("scales", list)],
            "_maps": {},
        }
        values = self._part("values", dict)
        for name, kind in KINDS_OF_VALUES.items():
            own[name] = _checked(values.get(name), kind, name)
        if own["n_features_in_"] != sizes[1] or own["_traversal"] not in TRAVERSALS:
            raise ValueError("n_features_in_ or the traversal do not fit the rest")
        own |= self._names(*sizes)
        for mode in MODES:
            own |= self._mode(mode, own["_maps"])
        own["_blocks"] = self._blocks(own["scales_"], known)
        check_state(own)
        return own

    def _part(self, name: str, kind: type) -> Any:
        return _checked(self._state.get(name), kind, name)

    def _array(self, name: str, kinds: str, shape: tuple[int | None, ...] = (None,)) -> Any:
        """An array of that kind and shape, None where any size will do."""
        if name not in self._arrays:
            raise ValueError(f"the array {name!r} is not there")
        array = self._arrays[name]
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
        )
        if array.dtype.kind not in kinds or not fits:
            raise ValueError(f"the array {name!r} has dtype {array.dtype} and shape {array.shape}")
        return array

    def _matrix(self, name: str, size: int, is_sparse: bool) -> Any:
        if not is_sparse:
            return self._array(name, "f", (size, size))
        data, indices, indptr = (
            self._array(f"{name}.{part}", kinds)
            for part, kinds in (("data", "f"), ("indices", "i"), ("indptr", "i"))
        )
        matrix = sparse.csr_array((data, indices, indptr), shape=(size, size))
        matrix.check_format(full_check=True)
        return matrix

    def _names(self, n_rows: int, n_columns: int) -> dict[str, Any]:
        saved = self._part("names", dict)
        found: dict[str, Any] = {"row_names_in_": None}
        for name, size in (("row_names_in_", n_rows), ("feature_names_in_", n_columns)):
            names = saved.get(name)
            if names is None:
                continue
            if names == "array":
                found[name] = self._array(name, "biufMm", (size,))
            elif isinstance(names, list) and all(isinstance(label, str) for label in names):
                found[name] = np.array(names, dtype=object)
            else:
                raise ValueError(f"{name} is neither text nor numbers")
            if len(found[name]) != size:
                raise ValueError(f"{name} has {len(found[name])} labels for {size}")
        return found

    def _mode(self, mode: str, maps: dict[str, DiffusionMap]) -> dict[str, Any]:
        saved, known = self._part(mode, dict), self._known[mode]
        is_sparse = _checked(saved.get("sparse"), list, "sparse")
        n_known = int(known.sum())
        graph = Graph(
            n_known,
            self._array(f"{mode}_edges", "i", (None, 2)),
            self._array(f"{mode}_weights", "f"),
        )
        graph.n_added_links = _checked(saved.get("n_added_links"), int, "n_added_links")
        embedding = maps[mode] = self._map(mode, saved, n_known)
        coordinates = np.full((len(known), embedding.embedding_.shape[1]), np.nan)
        coordinates[known] = embedding.embedding_
        name = f"{mode}_distances_"
        order = self._array(f"{mode}_order_", "iu", (len(known),))
        if not np.array_equal(np.sort(order), np.arange(len(known))):
            raise ValueError(f"{mode}_order_ is not a permutation of 0..n-1")
        return {
            f"{mode}_graph_": graph,
            f"{mode}_order_": order,
            name: self._matrix(name, len(known), name in is_sparse),
            f"{mode}_embedding_": coordinates,
            f"{mode}_affinity_": expand_to_full(embedding.affinity_, known, known),
            f"{mode}_eigenvalues_": embedding.eigenvalues_,
        }

    def _map(self, mode: str, saved: dict[str, Any], n_known: int) -> DiffusionMap:
        known = list(DiffusionMap().get_params())
        embedding = DiffusionMap(**parameters_from_json(saved.get("map"), known))
        name = f"{mode}_map_"
        embedding.affinity_ = self._matrix(
            f"{name}affinity_", n_known, f"{name}affinity_" in saved["sparse"]
        )
        for part in ("_density", "_degree"):
            setattr(embedding, part, self._array(name + part, "f", (n_known,)))
        embedding.eigenvalues_ = self._array(f"{name}eigenvalues_", "f")
        n_components = embedding.eigenvalues_.size
        for part in ("_eigenvectors", "embedding_"):
            setattr(embedding, part, self._array(name + part, "f", (n_known, n_components)))
        embedding.bandwidth_ = (
            self._array(f"{name}bandwidth_", "f", (n_known,))
            if saved.get("bandwidth_") is None
            else _checked(saved["bandwidth_"], float, "bandwidth_")
        )
        embedding.n_features_in_ = n_known
        embedding._n_features_out = n_components
        return embedding

    def _blocks(
        self, scales: list[Scale], known: tuple[int, int]
    ) -> dict[tuple[int, int], Blocks] | None:
        if not self._part("has_blocks", bool):
            return None
        values = self._array("block_values", "f")
        row_labels = self._array("block_row_labels", "i", (len(scales), known[0]))
        column_labels = self._array("block_column_labels", "i", (len(scales), known[1]))
        shapes = [(scale.n_row_clusters, scale.n_column_clusters) for scale in scales]
        ends = np.cumsum([n_rows * n_columns for n_rows, n_columns in shapes])
        if not scales or ends[-1] != values.size:
            raise ValueError("the blocks of the scales do not fit their number of clusters")
        parts = np.split(values, ends[:-1])
        for labels, sizes in zip(
            (row_labels, column_labels), zip(*shapes, strict=True), strict=True
        ):
            if (labels < 0).any() or (labels >= np.array(sizes)[:, None]).any():
                raise ValueError("labels of clusters are out of range")
        return {
            (scale.l, scale.k): Blocks(part.reshape(shape), rows, columns)
            for scale, part, shape, rows, columns in zip(
                scales, parts, shapes, row_labels, column_labels, strict=True
            )
        }


def _scale_from_json(record: Any) -> Scale:
    record = dict(_checked(record, dict, "a scale"))
    certificate = _checked(record.pop("certificate", None), dict, "a certificate")
    kinds = {field.name: field.type for field in fields(Scale) if field.name != "certificate"}
    if set(record) != set(kinds):
        raise ValueError("a scale has other fields than it should")
    for name, kind in kinds.items():
        value = _checked(record[name], kind, name)
        if kind is float and not np.isfinite(value):
            raise ValueError(f"{name} of a scale is {value}")
    for name, value in certificate.items():
        if value is not None or name == "stationarity":
            _checked(value, float, name)
    try:
        return Scale(**record, certificate=Certificate(**certificate))
    except TypeError as error:
        raise ValueError(f"a certificate is damaged: {error}") from error


def _checked(value: Any, kind: type, name: str) -> Any:
    """A value if it is of a kind; whole numbers are numbers, truth values are not."""
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} should be {kind.__name__}, and is {value!r:.40}")
    try:
        return float(value) if kind is float else value
    except OverflowError as error:
        raise ValueError(f"{name} is too large: {error}") from error
