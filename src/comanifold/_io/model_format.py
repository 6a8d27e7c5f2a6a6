"""The format of saved models: arrays.npz without pickle, and model.json for all other values.

What is saved of a fit are the fields of `FittedState`, each under its own name; the name of an
array is that of its field with all the fields it is in, such as "row.graph.edges". Nothing in the
files is ever executed, and what no fit could have left is refused (`model_checks`).
"""

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable
from dataclasses import Field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import __version__
from .._embedding.layouts import IsomapLayout, Layout
from .._fit.combination import ErrorModel, HeldOutPredictions
from .._fit.completion import Completion
from .._fit.state import Array, FittedState, Indices, Mask, ModeState
from .._fit.sweep import Blocks
from ..diffusion_map import DiffusionMap
from ..graphs import Graph
from ..penalties import MCP, Linear, Log, Penalty, Snowflake
from ..solvers import Certificate, Scale
from .folders import OwnedFolder, check_folder, checksum, complete_publication
from .model_checks import check_state
from .npz import open_archive

_KIND = "model"
_FORMAT = "comanifold model"
_FORMAT_VERSION = 5
_DESCRIPTION = "model.json"
_ARRAYS = "arrays.npz"

# A model that another process is replacing is read again so many times, with such pauses.
_N_TRIES, _SECONDS_BETWEEN = 20, 0.05

# Labels and scales of the largest matrices take less.
_MAX_JSON_BYTES = 1 << 30

# Larger integers do not fit into the arrays of `scales_`, or into a float.
_MAX_NUMBER = {int: 2**63, float: 2**1024}

# Objects that may be parameters, saved as the name of their class and their own parameters.
_CLASSES = {kind.__name__: kind for kind in (Snowflake, Linear, Log, MCP, DiffusionMap)}

# Kinds of dtype of an array, by the type of its field.
_DTYPE_KINDS = {Array: "f", Mask: "b", Indices: "i"}

# What is saved of objects that are not dataclasses.
_PARTS: dict[type, tuple[str, ...]] = {
    Graph: ("edges", "weights", "n_added_links"),
    DiffusionMap: (
        "affinity_",
        "bandwidth_",
        "eigenvalues_",
        "_density",
        "_degree",
        "_eigenvectors",
    ),
}
_HELD_OUT_PARTS = tuple(field.name for field in fields(HeldOutPredictions))
_CSR_PARTS = {"data": "f", "indices": "i", "indptr": "i"}

_NOT_SAVED = (
    "only models with a named embedding or a comanifold.DiffusionMap can be saved, and not those "
    "with {}"
)

Arrays = dict[str, NDArray[Any]]


def write_model(model: Any, directory: str | os.PathLike, *, overwrite: bool = False) -> None:
    """Save a fitted model to a directory, completely or not at all."""
    description, arrays = _describe(model)
    check_folder(Path(directory), kind=_KIND, overwrite=overwrite)
    with OwnedFolder(directory, _KIND) as folder:
        folder.refuse_taken([_ARRAYS, _DESCRIPTION])
        with folder.publish(last=_DESCRIPTION) as temporary:
            _write(description, arrays, temporary.file)


def write_model_files(model: Any, new_file: Callable[[str], Path]) -> None:
    """Write the files of a fitted model to the paths that `new_file` returns for their names."""
    _write(*_describe(model), new_file)


def read_model(
    directory: str | os.PathLike, check_parameters: Callable[[dict[str, Any]], Any]
) -> tuple[dict[str, Any], FittedState]:
    """Return the parameters and the fitted state of a saved model.

    Parameters
    ----------
    directory : path
    check_parameters : callable
        Called with the parameters, to raise TypeError or ValueError if they are not valid.

    Raises
    ------
    ValueError
        If it is damaged, not a model, or of another version of the format.
    """
    directory = Path(directory)
    for _ in range(_N_TRIES):
        before = _file_identities(directory)
        is_in_use = False
        try:
            complete_publication(directory, _KIND)
        except RuntimeError:
            is_in_use = True
        except OSError:
            pass
        try:
            return _read(directory, check_parameters)
        except (FileNotFoundError, ValueError):
            # Another process may be replacing the model just now.
            if not is_in_use and _file_identities(directory) == before:
                raise
            time.sleep(_SECONDS_BETWEEN)
    return _read(directory, check_parameters)


def _file_identities(directory: Path) -> list[tuple[int, int, int] | None]:
    """Return numbers that change when a file of a model is replaced."""
    found: list[tuple[int, int, int] | None] = []
    for name in (_DESCRIPTION, _ARRAYS):
        try:
            status = os.stat(directory / name)
            found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        except OSError:
            found.append(None)
    return found


def _describe(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the content of model.json and the arrays of a fitted model."""
    arrays: Arrays = {}
    parameters = {**model.get_params(deep=False), "checkpoint": None}
    description = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "comanifold": __version__,
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "parameters": {name: _encode_parameter(name, value) for name, value in parameters.items()},
        "state": _encode(model._state, "", arrays),
    }
    return description, arrays


def _write(description: dict[str, Any], arrays: Arrays, new_file: Callable[[str], Path]) -> None:
    file = new_file(_ARRAYS)
    # Not compressed: then no array can claim to be larger than the file.
    np.savez(file, **arrays)
    content = {**description, "arrays (sha256)": checksum(file)}
    new_file(_DESCRIPTION).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _encode_parameter(name: str, value: Any) -> Any:
    """Return a parameter as JSON; ValueError if it is not data."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode_parameter(name, part) for part in value]
    if type(value) in _CLASSES.values():
        own = inspect.signature(type(value)).parameters
        encoded = {part: _encode_parameter(part, getattr(value, part)) for part in own}
        return {"class": type(value).__name__, **encoded}
    if isinstance(value, Penalty):
        raise ValueError(
            "only models with a penalty of comanifold.penalties can be saved: the functions of "
            f"{type(value).__name__} are not data"
        )
    if name == "embedding":
        raise ValueError(_NOT_SAVED.format(type(value).__name__))
    raise ValueError(f"{name}={value!r:.60} cannot be saved: it must be text or a number")


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Return a part of the fitted state as JSON, and put its arrays into `arrays`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [_encode(part, f"{name}.{i}", arrays) for i, part in enumerate(value)]
    if sparse.issparse(value):
        arrays |= {f"{name}.{part}": getattr(value, part) for part in _CSR_PARTS}
        return "csr"
    if isinstance(value, np.ndarray):
        if name.endswith(".names") and all(isinstance(label, str) for label in value):
            return value.tolist()
        if value.dtype.hasobject:
            raise ValueError(f"{name} cannot be saved: labels must be text or numbers")
        arrays[name] = value
        return "array"
    if isinstance(value, Layout):  # its coordinates are those of the mode
        seed = _encode_parameter("random_state", value.random_state)
        encoded = {"name": value.name, "random_state": seed}
        if isinstance(value, IsomapLayout):
            encoded["graph"] = _encode(value.graph, f"{name}.graph", arrays)
        return encoded
    if name.endswith(".embedding") and type(value) is not DiffusionMap:
        raise ValueError(_NOT_SAVED.format(type(value).__name__))
    parts = _PARTS.get(type(value)) or [field.name for field in fields(value)]
    encoded = {
        part: _encode(getattr(value, part), f"{name}.{part}".lstrip("."), arrays) for part in parts
    }
    if isinstance(value, DiffusionMap):
        encoded["parameters"] = _encode_parameter("embedding", value)
    return encoded


def _read(
    directory: Path, check_parameters: Callable[[dict[str, Any]], Any]
) -> tuple[dict[str, Any], FittedState]:
    description = _read_description(directory)
    try:
        arrays = _read_arrays(directory / _ARRAYS, description.get("arrays (sha256)"))
        saved = _checked(description.get("parameters"), dict, "parameters")
        # Fitting a loaded model again must not write where a file says.
        parameters = {
            **{name: _decode_parameter(value) for name, value in saved.items()},
            "checkpoint": None,
        }
        try:
            check_parameters(parameters)
        except TypeError as error:
            raise ValueError(f"the parameters are not those of the model: {error}") from error
        state = _decode_state(_Part(description.get("state"), arrays))
        check_state(state)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot read the model in {str(directory)!r}: {error}") from error
    return parameters, state


def _read_description(directory: Path) -> dict[str, Any]:
    path = directory / _DESCRIPTION
    for file in (path, directory / _ARRAYS):
        if not file.is_file():
            raise FileNotFoundError(f"there is no saved model: {file} is missing")
    if path.stat().st_size > _MAX_JSON_BYTES:
        raise ValueError(f"{path} is {path.stat().st_size} bytes long: not a saved model")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise ValueError(f"{path} does not describe a saved model")
    found = description.get("format_version")
    if not isinstance(found, int) or found < 1:
        raise ValueError(f"{path} has no version of the format")
    if found != _FORMAT_VERSION:
        writer = f"comanifold {str(description.get('comanifold'))[:40]}"
        advice = "update comanifold"
        if found < _FORMAT_VERSION:
            advice = f"fit the model again, or load it with {writer}"
        raise ValueError(
            f"the model in {str(directory)!r} was saved by {writer} in version {found} of the "
            f"format; this is comanifold {__version__}, which reads version {_FORMAT_VERSION}: "
            f"{advice}"
        )
    return description


def _read_arrays(path: Path, digest: Any) -> Arrays:
    # Opened once: another process may replace the file.
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise ValueError(f"{path.name} is damaged: its checksum differs from {_DESCRIPTION}")
        with open_archive(file) as archive:
            if archive.is_compressed:
                raise ValueError(f"{path.name} is compressed, which no saved model is")
            return {name: archive.read(name) for name in archive.names}


def _decode_parameter(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode_parameter(part) for part in value)
    if not isinstance(value, dict):
        return value
    own = {name: _decode_parameter(part) for name, part in value.items()}
    name = str(own.pop("class", None))
    if name not in _CLASSES:
        raise ValueError(f"{name!r:.40} is not a penalty of comanifold.penalties or DiffusionMap")
    try:
        return _CLASSES[name](**own)
    except TypeError as error:
        raise ValueError(f"the parameters of {name} are damaged: {error}") from error


class _Part:
    """A part of a saved state: its values in JSON, and its arrays by their full names."""

    def __init__(self, values: Any, arrays: Arrays, name: str = ""):
        self._values = _checked(values, dict, name or "state")
        self._arrays = arrays
        self._name = name

    def _full_name(self, name: str) -> str:
        return f"{self._name}.{name}".lstrip(".")

    def get(self, name: str) -> Any:
        return self._values.get(name)

    def fields(self, kind: type) -> list[Field]:
        """Return the fields of a dataclass; ValueError if those of the part are others."""
        if set(self._values) != {field.name for field in fields(kind)}:
            raise ValueError(f"{self._name or 'state'} does not have the fields of {kind.__name__}")
        return list(fields(kind))

    def value(self, name: str, kind: type) -> Any:
        return _checked(self.get(name), kind, self._full_name(name))

    def part(self, name: str) -> "_Part":
        return _Part(self.get(name), self._arrays, self._full_name(name))

    def parts(self, name: str) -> list["_Part"]:
        full = self._full_name(name)
        return [
            _Part(values, self._arrays, f"{full}.{i}")
            for i, values in enumerate(self.value(name, list))
        ]

    def array(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array of one of the kinds of dtype; None in `shape` stands for any size."""
        name = self._full_name(name)
        if name not in self._arrays:
            raise ValueError(f"the array {name!r} is missing")
        array = self._arrays[name]
        fits = len(array.shape) == len(shape) and all(
            expected in (None, size) for size, expected in zip(array.shape, shape, strict=True)
        )
        if array.dtype.kind not in kinds or not fits:
            raise ValueError(f"the array {name!r} has dtype {array.dtype} and shape {array.shape}")
        return array

    def matrix(self, name: str, size: int) -> Any:
        """Return a square matrix, dense or sparse."""
        if self.get(name) != "csr":
            return self.array(name, "f", (size, size))
        parts = [self.array(f"{name}.{part}", kind, (None,)) for part, kind in _CSR_PARTS.items()]
        matrix = sparse.csr_array(tuple(parts), shape=(size, size))
        matrix.check_format(full_check=True)
        return matrix


def _decode_state(saved: _Part) -> FittedState:
    rows, columns = (saved.array(f"observed_{mode}s", "b", (None,)) for mode in ("row", "column"))
    shape, observed = (rows.size, columns.size), (int(rows.sum()), int(columns.sum()))
    shapes: dict[str, tuple[int | None, ...]] = {
        "data": shape,
        "observed_rows": rows.shape,
        "observed_columns": columns.shape,
        "filled": observed,
        "ignored_entries": (None, 2),
    }
    decoded = _plain_fields(saved, FittedState, shapes)
    scales = [_decode_scale(part) for part in saved.parts("scales")]
    blocks = None
    if saved.get("blocks") is not None:
        parts = saved.parts("blocks")
        if len(parts) != len(scales):
            raise ValueError(f"there are blocks of {len(parts)} scales, and {len(scales)} scales")
        blocks = [
            Blocks(
                part.array("values", "f", (scale.n_row_clusters, scale.n_column_clusters)),
                part.array("row_labels", "i", observed[:1]),
                part.array("column_labels", "i", observed[1:]),
            )
            for part, scale in zip(parts, scales, strict=True)
        ]
    return FittedState(
        **decoded,
        scales=scales,
        completions=[_decode_fields(part, Completion, {}) for part in saved.parts("completions")],
        held_out=_decode_fields(
            saved.part("held_out"), HeldOutPredictions, dict.fromkeys(_HELD_OUT_PARTS, (None,))
        ),
        errors=_decode_fields(
            saved.part("errors"),
            ErrorModel,
            {"row_factors": observed[:1], "column_factors": observed[1:], "scores": (None,)},
        ),
        blocks=blocks,
        row=_decode_mode(saved.part("row"), *shape[:1], *observed[:1]),
        column=_decode_mode(saved.part("column"), *shape[1:], *observed[1:]),
    )


def _plain_fields(
    saved: _Part, kind: type, shapes: dict[str, tuple[int | None, ...]]
) -> dict[str, Any]:
    """Return the numbers, texts and arrays among the fields of a dataclass."""
    decoded: dict[str, Any] = {}
    for field in saved.fields(kind):
        if field.type in (int, float, str, bool):
            decoded[field.name] = saved.value(field.name, field.type)
        elif field.type in _DTYPE_KINDS:
            kinds = _DTYPE_KINDS[field.type]
            decoded[field.name] = saved.array(field.name, kinds, shapes[field.name])
    return decoded


def _decode_fields(saved: _Part, kind: type, shapes: dict[str, tuple[int | None, ...]]) -> Any:
    """Return a dataclass all of whose fields are numbers, texts or arrays."""
    return kind(**_plain_fields(saved, kind, shapes))


def _decode_mode(saved: _Part, n_points: int, n_observed: int) -> ModeState:
    saved.fields(ModeState)
    graph = _decode_graph(saved.part("graph"), n_observed)
    distances = saved.matrix("distances", n_observed)
    coordinates = saved.array("coordinates", "f", (n_observed, None))
    return ModeState(
        graph=graph,
        distances=distances,
        embedding=_decode_embedding(saved.part("embedding"), distances, coordinates),
        coordinates=coordinates,
        order=saved.array("order", "i", (n_points,)),
        variances=saved.array("variances", "f", (n_observed,)),
        p_value=saved.value("p_value", float),
        labels=saved.array("labels", "i", (n_observed,)),
        evidence=saved.value("evidence", float),
        confidence=saved.array("confidence", "f", (n_observed,)),
        names=_decode_names(saved, n_points),
        tree=None if saved.get("tree") is None else saved.array("tree", "i", (None, n_observed)),
    )


def _decode_graph(saved: _Part, n_nodes: int) -> Graph:
    edges, weights = saved.array("edges", "i", (None, 2)), saved.array("weights", "f", (None,))
    graph = Graph(n_nodes, edges, weights)
    graph.n_added_links = saved.value("n_added_links", int)
    return graph


def _decode_names(saved: _Part, n_points: int) -> NDArray[Any] | None:
    names = saved.get("names")
    if names is None:
        return None
    if names == "array":
        return saved.array("names", "biufMm", (n_points,))
    if not isinstance(names, list) or not all(isinstance(label, str) for label in names):
        raise ValueError("names are neither text nor numbers")
    if len(names) != n_points:
        raise ValueError(f"there are {len(names)} names for {n_points} rows or columns")
    return np.array(names, dtype=object)


def _decode_embedding(saved: _Part, distances: Any, coordinates: Array) -> DiffusionMap | Layout:
    if saved.get("name") is not None:
        return _decode_layout(saved, distances, coordinates)
    embedding = _decode_parameter(saved.value("parameters", dict))
    if not isinstance(embedding, DiffusionMap):
        raise ValueError("the embedding is not a DiffusionMap")
    n_points, n_components = coordinates.shape
    per_point = (n_points,)
    embedding.embedding_ = coordinates
    embedding.affinity_ = saved.matrix("affinity_", n_points)
    embedding.bandwidth_ = (
        saved.array("bandwidth_", "f", per_point)
        if saved.get("bandwidth_") == "array"
        else saved.value("bandwidth_", float)
    )
    embedding.eigenvalues_ = saved.array("eigenvalues_", "f", (n_components,))
    embedding._density = saved.array("_density", "f", per_point)
    embedding._degree = saved.array("_degree", "f", per_point)
    embedding._eigenvectors = saved.array("_eigenvectors", "f", coordinates.shape)
    embedding.n_features_in_, embedding._n_features_out = n_points, n_components
    return embedding


def _decode_layout(saved: _Part, distances: Any, coordinates: Array) -> Layout:
    name, seed = saved.value("name", str), saved.get("random_state")
    if name not in ("umap", "tsne", "isomap", "mds"):
        raise ValueError(f"{name!r:.40} is not the name of an embedding")
    if seed is not None:
        saved.value("random_state", int)
    if name != "isomap":
        return Layout(name, coordinates.shape[1], seed)
    isomap = IsomapLayout(name, coordinates.shape[1], seed)
    isomap.restore(distances, _decode_graph(saved.part("graph"), len(coordinates)), coordinates)
    return isomap


def _decode_scale(saved: _Part) -> Scale:
    values = {
        field.name: saved.value(field.name, field.type)
        for field in saved.fields(Scale)
        if field.name != "certificate"
    }
    certificate = saved.part("certificate")
    found = {
        field.name: certificate.value(field.name, float)
        for field in certificate.fields(Certificate)
        if field.name == "stationarity" or certificate.get(field.name) is not None
    }
    return Scale(**values, certificate=Certificate(**found))


def _checked(value: Any, kind: type, name: str) -> Any:
    """Return a value of a type; integers are floats too, booleans are not numbers."""
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} must be of type {kind.__name__}, got {value!r:.40}")
    if kind in (int, float) and abs(value) >= _MAX_NUMBER[kind]:
        raise ValueError(f"{name} is too large")
    return float(value) if kind is float else value
