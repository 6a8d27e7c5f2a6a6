"""What a fitted `CoManifold` is made of, as arrays and as plain values."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..diffusion_map import DiffusionMap
from ..penalties import MCP, Linear, Log, Penalty, Snowflake

Arrays = dict[str, NDArray[Any]]

PENALTIES = {kind.__name__: kind for kind in (Snowflake, Linear, Log, MCP)}

MODES = ("row", "column")

# Values that are kept as they are, and what they must be.
KINDS_OF_VALUES = {
    "n_features_in_": int,
    "n_iter_": int,
    "low_rank_weight_": float,
    "_mean": float,
    "_scale": float,
    "_total_weight": float,
    "_traversal": str,
    "_n_features_out": int,
}

_OF_A_MAP = ("affinity_", "_density", "_degree", "eigenvalues_", "_eigenvectors", "embedding_")


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a model; those that are neither text nor numbers are refused."""
    return {name: _parameter_to_json(name, value) for name, value in parameters.items()}


def _parameter_to_json(name: str, value: Any) -> Any:
    if name == "embedding" and value != "diffusion":
        raise ValueError(
            'only models with embedding="diffusion" can be saved: another estimator may hold '
            f"anything, and {type(value).__name__} would need its own format"
        )
    if isinstance(value, Penalty):
        if type(value) not in PENALTIES.values():
            raise ValueError(
                f"only models with a penalty of comanifold.penalties can be saved, and "
                f"{type(value).__name__} is none: its functions are not data"
            )
        return {"penalty": type(value).__name__, **vars(value)}
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_parameter_to_json(name, part) for part in value]
    if name == "checkpoint":
        return None  # the place where one fit was kept is no part of the model
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{name}={value!r:.60} cannot be saved: it must be text or a number")


def state_to_json(model: Any, arrays: Arrays) -> dict[str, Any]:
    """The plain values of a fitted model; its arrays are put into `arrays`."""
    for name in ("_X", "_rows", "_columns", "_filled", "filled_"):
        arrays[name] = getattr(model, name)
    state = {
        "values": {name: kind(getattr(model, name)) for name, kind in KINDS_OF_VALUES.items()},
        "scales": [asdict(scale) for scale in model.scales_],
        "names": {
            name: _names_to_json(name, getattr(model, name, None), arrays)
            for name in ("row_names_in_", "feature_names_in_")
        },
        **{mode: _mode_to_json(model, mode, arrays) for mode in MODES},
        "has_blocks": model._blocks is not None,
    }
    if model._blocks is not None:
        blocks = list(model._blocks.values())
        arrays["block_values"] = np.concatenate([block.values.ravel() for block in blocks])
        arrays["block_row_labels"] = np.stack([block.row_labels for block in blocks])
        arrays["block_column_labels"] = np.stack([block.column_labels for block in blocks])
    return state


def _names_to_json(name: str, names: Any, arrays: Arrays) -> Any:
    if names is None:
        return None
    if all(isinstance(label, str) for label in names):
        return [str(label) for label in names]
    if names.dtype.hasobject:
        raise ValueError(f"{name} cannot be saved: labels must be text or numbers")
    arrays[name] = names
    return "array"


def _mode_to_json(model: Any, mode: str, arrays: Arrays) -> dict[str, Any]:
    graph, embedding = getattr(model, f"{mode}_graph_"), model._maps[mode]
    if not isinstance(embedding, DiffusionMap):
        raise ValueError("only models that were fitted with diffusion maps can be saved")
    arrays[f"{mode}_edges"], arrays[f"{mode}_weights"] = graph.edges, graph.weights
    arrays[f"{mode}_order_"] = getattr(model, f"{mode}_order_")
    is_sparse = []
    matrices = {f"{mode}_distances_": getattr(model, f"{mode}_distances_")}
    matrices |= {f"{mode}_map_{name}": getattr(embedding, name) for name in _OF_A_MAP}
    if np.ndim(embedding.bandwidth_):
        matrices[f"{mode}_map_bandwidth_"] = embedding.bandwidth_
    for name, matrix in matrices.items():
        if sparse.issparse(matrix):
            is_sparse.append(name)
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}.{part}"] = getattr(matrix, part)
        else:
            arrays[name] = matrix
    bandwidth = None if np.ndim(embedding.bandwidth_) else float(embedding.bandwidth_)
    return {
        "n_added_links": int(graph.n_added_links),
        "sparse": is_sparse,
        "map": parameters_to_json(embedding.get_params()),
        "bandwidth_": bandwidth,
    }
