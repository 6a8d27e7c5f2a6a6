"""The data of the experiments: complete, permuted, and with entries removed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ..datasets import load_lung500, make_linkage, make_linkage2, remove_entries

Array = NDArray[np.float64]

# How each complete data set is made; it is the same in every experiment.
DATA_SETS: dict[str, Callable[[], Bunch]] = {
    "linkage": lambda: make_linkage(random_state=0),
    "linkage2": lambda: make_linkage2(random_state=0),
    "lung500": load_lung500,
}

# The mode that has groups, and the attribute with their labels.
GROUPED = {"linkage2": ("row", "row_labels"), "lung500": ("column", "column_labels")}


@dataclass(frozen=True)
class Case:
    """A data set with permuted rows and columns, `data`, and `X`, its matrix with entries removed.

    The mask depends on the data set, the fraction of missing entries and the realization alone.
    """

    data_set: str
    fraction: float
    realization: int
    seed: int
    data: Bunch
    X: Array

    @property
    def labels(self) -> NDArray[np.int_]:
        """The labels of the mode that has groups."""
        return self.data[GROUPED[self.data_set][1]]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where entries were removed."""
        return np.isnan(self.X)

    def tags(self) -> dict[str, str | float | int]:
        """Return the columns that identify the case in a table."""
        return {
            "data_set": self.data_set,
            "fraction": self.fraction,
            "realization": self.realization,
            "seed": self.seed,
        }


def make_case(data_set: str, fraction: float, realization: int) -> Case:
    """Return the data set with rows and columns permuted and a fraction of entries removed."""
    seed = 1000 * realization + round(100 * fraction)
    data = _permuted(DATA_SETS[data_set](), seed)
    X = remove_entries(data.X, fraction, random_state=seed)
    return Case(data_set, fraction, realization, seed, data, X)


def _permuted(data: Bunch, seed: int) -> Bunch:
    """Return the data with rows and columns, and everything known of them, in random order."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) for size in data.X.shape)
    permuted = {"X": data.X[np.ix_(rows, columns)]}
    for name, values in data.items():
        if name.startswith("row_"):
            permuted[name] = values[rows]
        elif name.startswith("column_"):
            permuted[name] = values[columns]
        elif name != "X":
            permuted[name] = values
    return Bunch(**permuted)
