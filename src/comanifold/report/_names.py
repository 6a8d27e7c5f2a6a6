"""Names and annotations of rows and columns, checked and in a form for the page."""

import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What ends the part of a name that says of which kind something is, as in Colon_12.
_SEPARATOR = re.compile(r"[_.:|\s]")
_MOST_KINDS = 20


def checked_names(given: Any, known: Any, *, mode: str, size: int) -> list[str]:
    """Names as given, else as known from the data, else numbers from 1."""
    if given is None:
        given = known
    if given is None:
        return [f"{mode} {number}" for number in range(1, size + 1)]
    return [str(name) for name in _checked_length(given, f"{mode}_names", mode=mode, size=size)]


def checked_annotations(given: Any, sizes: dict[str, int]) -> dict[str, dict[str, list[Any]]]:
    """Annotations by mode and name, of the right lengths."""
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
            str(name): _checked_length(
                values, f'annotations["{mode}"][{str(name)!r}]', mode=mode[:-1], size=size
            )
            for name, values in named.items()
        }
    return checked


def colourings(names: list[str], annotations: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """What points can be coloured by beside their clusters: annotations, and kinds of names."""
    found = [_colouring(name, values) for name, values in annotations.items()]
    kinds = _kinds(names)
    if kinds:
        found.append(_colouring("first part of the name", kinds))
    elif 1 < len(set(names)) <= min(_MOST_KINDS, len(names) // 2):
        found.append(_colouring("name", list(names)))
    return found


def _checked_length(values: Any, what: str, *, mode: str, size: int) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        values = values.tolist() if hasattr(values, "tolist") else values
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(f"{what} must be a list of {size} values, got {values!r}")
    if len(values) != size:
        raise ValueError(f"{what} must have one value for each {mode}, {size}; got {len(values)}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _kinds(names: list[str]) -> list[str] | None:
    """What names begin with, where that sorts them into a few kinds."""
    kinds = [_SEPARATOR.split(name, maxsplit=1)[0] for name in names]
    n_kinds = len(set(kinds))
    is_of_use = 1 < n_kinds <= min(_MOST_KINDS, len(names) // 2) and n_kinds < len(set(names))
    return kinds if is_of_use else None


def _colouring(name: str, values: list[Any]) -> dict[str, Any]:
    """Numbers as they are; text by its distinct values, the most frequent first."""
    is_missing = [_is_missing(value) for value in values]
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


def _is_missing(value: Any) -> bool:
    # NaN, and what pandas has for missing values, differ from themselves or will not say.
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def in_order(colouring: dict[str, Any], order: NDArray[np.intp]) -> dict[str, Any]:
    """The same, for points in another order."""
    return {**colouring, "values": [colouring["values"][i] for i in order]}
