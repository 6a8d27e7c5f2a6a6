"""All that the result of a fit depends on: data, settings, code of the penalty, versions."""

import hashlib
import numbers
import platform
import re
from collections.abc import Callable
from dataclasses import fields
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from .. import __version__

if TYPE_CHECKING:
    from .passes import Settings

Array = NDArray[np.float64]

_FORMAT = "3"

# Settings that the result does not depend on.
_WITHOUT_EFFECT = ("n_jobs", "checkpoint", "progress")


def describe_fit(X: Array, settings: "Settings", *, keep_scales: bool) -> dict[str, str]:
    """Return all that the result of a fit depends on, as text by name."""
    data = hashlib.sha256(str(X.shape).encode() + np.ascontiguousarray(X).tobytes())
    parameters = {
        field.name: "auto" if value is None else _canonical(value)
        for field in fields(settings)
        if field.name not in _WITHOUT_EFFECT
        for value in [getattr(settings, field.name)]
    }
    return {
        "format": _FORMAT,
        "data (sha256)": data.hexdigest(),
        **parameters,
        "keep_scales": str(keep_scales),
        "comanifold": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def _canonical(value: Any) -> str:
    """Return a text that is the same for equal values, in every process."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_canonical, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_canonical(value[key])}' for key in value)}}}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if hasattr(value, "derivative"):  # a penalty
        kind = type(value)
        return f"{kind.__name__}({_canonical(vars(value))}), code {_code_digest(kind)[:16]}"
    if callable(value):
        return f"code {_code_digest(value)[:16]}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _code_digest(function: Callable | type) -> str:
    """Return a checksum of what a function or class computes, and the functions it calls.

    Functions of other packages are known by their names alone.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()

    def add(value: Any, home: str) -> None:
        value = getattr(value, "py_func", value)  # of a compiled function
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset):
                add(part, home)
        elif isinstance(value, CodeType):
            add_code(value, {}, home)
        elif hasattr(value, "__code__"):
            if id(value) in seen:
                return
            seen.add(id(value))
            add((value.__defaults__, value.__kwdefaults__), home)
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            for inner in cells:
                add(inner, home)
            add_code(value.__code__, value.__globals__, home)
        elif isinstance(value, type):
            if id(value) in seen or value is object:
                return
            seen.add(id(value))
            for kind in value.__mro__[:-1]:
                for name, attribute in sorted(vars(kind).items()):
                    if hasattr(_unwrapped(attribute), "__code__") or not name.startswith("__"):
                        digest.update(name.encode())
                        add(attribute, kind.__module__)
        elif isinstance(value, ModuleType):
            digest.update(value.__name__.encode())
        elif isinstance(value, (str, bytes, type(None), numbers.Number, tuple, list, frozenset)):
            digest.update(_canonical(value).encode())

    def add_code(code: CodeType, known: dict[str, Any], home: str) -> None:
        digest.update(code.co_code)
        for constant in code.co_consts:
            add(constant, home)
        for name in code.co_names:
            digest.update(name.encode())
            value = known.get(name)
            if value is not None and getattr(value, "__module__", home) == home:
                add(value, home)

    add(function, getattr(function, "__module__", ""))
    return digest.hexdigest()


def _unwrapped(attribute: Any) -> Any:
    if isinstance(attribute, property):
        return attribute.fget
    return getattr(attribute, "__func__", attribute)
