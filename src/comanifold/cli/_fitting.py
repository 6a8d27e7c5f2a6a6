"""A fit with a bar, and the time that it will take."""

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._output import Output
from ._progress import ProgressBar

if TYPE_CHECKING:
    from .. import CoManifold

# Seconds of a fit of m x n entries with learned weights: what solving takes, and what a product
# of the matrix with itself does for the dense distances of a mode. Measured from 250 x 125 to
# 4,000 x 500 (`benchmarks/growth.py`); other machines and data differ by a few times.
_LEAST = 0.3
_SOLVING, _GROWTH = 7e-6, 1.1
_PRODUCTS = 5e-9
# To load what is compiled.
_SECONDS_TO_START = 2.0

# How much longer other penalties take, from a fit each to a checkerboard of 150 x 100 entries.
_SLOWER_PENALTIES = {"linear": 20.0, "log": 40.0, "mcp": 15.0}

# Arms of a surface, before any has been seen.
_USUAL_ARMS = 24


@dataclass(frozen=True)
class Fitted:
    """A model with what it said while it was fitted."""

    model: "CoManifold"
    warnings: list[str]
    seconds: float


def expected_seconds(model: "CoManifold", shape: tuple[int, int]) -> float:
    """About how long a fit will take once everything is compiled."""
    from .._fit.settings import choose_candidates

    entries = shape[0] * shape[1]
    n_candidates = choose_candidates(model, shape)
    dense = sum(size for size, few in zip(shape, n_candidates, strict=True) if few is None)
    seconds = _LEAST + _SOLVING * entries**_GROWTH + _PRODUCTS * entries * dense
    surfaces = model.n_passes * (1.0 if model.alpha == "auto" else 0.5)
    return _SECONDS_TO_START + seconds * surfaces * _SLOWER_PENALTIES.get(str(model.penalty), 1.0)


def is_compiled() -> bool:
    """Whether the kernels have been compiled before."""
    return any(_cache_folder().glob("descent.*.nbi"))


def _cache_folder() -> Path:
    from ..solvers.kernels import descent

    kernels = (value for value in vars(descent).values() if hasattr(value, "stats"))
    return Path(next(kernels).stats.cache_path)


class _Listener:
    """Turns passes and arms into the state of a bar."""

    def __init__(self, bar: ProgressBar, n_surfaces: int):
        self._bar, self._n_surfaces = bar, n_surfaces
        self._arms: list[int] = []
        self._what = ""

    def begin_pass(self, name: str) -> None:
        self._arms.append(0)
        self._what = "learning weights" if "hidden" in name else "solving"
        self._show()

    def arm_done(self) -> None:
        self._arms[-1] += 1
        self._show()

    def _show(self) -> None:
        # A surface has about as many arms as the one before.
        usual = self._arms[-2] if len(self._arms) > 1 else _USUAL_ARMS
        current = max(usual, self._arms[-1] + 1)
        done = sum(self._arms)
        left = current - self._arms[-1]
        others = max(self._n_surfaces - len(self._arms), 0) * current
        self._bar.update(done, done + left + others, self._what)


class Fitter:
    """Fits models one after the other, under one bar each."""

    def __init__(self, output: Output):
        self._output = output

    def fit(self, model: "CoManifold", values: Any, what: str = "") -> Fitted:
        """Fit a model; what it warns of is kept."""
        n_surfaces = model.n_passes * (2 if model.alpha == "auto" else 1)
        began = time.perf_counter()
        with (
            warnings.catch_warnings(record=True) as caught,
            ProgressBar(what, brief=True, quiet=self._output.quiet) as bar,
        ):
            warnings.simplefilter("always")
            model._listener = _Listener(bar, n_surfaces)
            try:
                model.fit(values)
            finally:
                with suppress(AttributeError):
                    del model._listener
        messages = list(dict.fromkeys(str(warning.message) for warning in caught))
        return Fitted(model, messages, time.perf_counter() - began)
