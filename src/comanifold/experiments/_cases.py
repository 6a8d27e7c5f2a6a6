"""The matrices of the experiments: complete, permuted, and with entries removed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ..datasets import load_lung500, make_linkage, make_linkage2, remove_entries

Array = NDArray[np.float64]

DATA_SETS = ("linkage", "linkage2", "lung500")

# The mode that has groups, and which attribute names them.
GROUPED = {"linkage2": ("row", "row_labels"), "lung500": ("column", "column_labels")}


@dataclass(frozen=True)
class Case:
    """One matrix with entries missing, and what is known of it.

    `data` is what the loader gave, its rows and columns permuted; `X` is ``data.X`` without the
    removed entries.
    """

    data_set: str
    fraction: float
    realization: int
    seed: int
    data: Bunch
    X: Array

    @property
    def labels(self) -> NDArray[np.int_]:
        return self.data[GROUPED[self.data_set][1]]

    @property
    def missing(self) -> NDArray[np.bool_]:
        return np.isnan(self.X)

    def tags(self) -> dict[str, str | float | int]:
        """What every row of a table says about where it comes from."""
        return {
            "data_set": self.data_set,
            "fraction": self.fraction,
            "realization": self.realization,
            "seed": self.seed,
        }


def complete(data_set: str) -> Bunch:
    """The complete data, the same in every experiment."""
    if data_set == "linkage":
        return make_linkage(random_state=0)
    if data_set == "linkage2":
        return make_linkage2(random_state=0)
    return load_lung500()


def make_case(data_set: str, fraction: float, realization: int) -> Case:
    """The data with their rows and columns permuted and a part of the entries removed."""
    seed = 1000 * realization + round(100 * fraction)
    data = _permuted(complete(data_set), seed)
    X = remove_entries(data.X, fraction, random_state=seed)
    return Case(data_set, fraction, realization, seed, data, X)


def _permuted(data: Bunch, seed: int) -> Bunch:
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
