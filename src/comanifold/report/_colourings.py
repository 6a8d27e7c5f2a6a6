"""Names of rows and columns, and what their points can be coloured by."""

import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import is_missing_value

# Separates the group in a name from the rest, as in Colon_12.
_SEPARATOR = re.compile(r"[_.:|\s]")
_MAX_GROUPS = 20


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
        found.append({**_colouring("first part of the name", groups), "is_derived": True})
    elif 1 < len(set(names)) <= min(_MAX_GROUPS, len(names) // 2):
        found.append({**_colouring("name", list(names)), "is_derived": True})
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
