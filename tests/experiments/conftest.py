"""Small data in place of those of the paper."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from comanifold.datasets import make_clusters, make_linkage, make_linkage2
from comanifold.experiments import _units
from comanifold.experiments._methods import DATA_SETS


def make_groups():
    """Groups of columns with the names of lung500."""
    data = make_clusters(36, 40, n_groups=4, random_state=0)
    names = np.array(["Carcinoid", "Colon", "Normal", "SmallCell"])
    return Bunch(
        X=data.X.T,
        column_labels=data.row_labels,
        label_names=names,
        column_names=np.array([f"{names[g]}_{i}" for i, g in enumerate(data.row_labels)]),
    )


@pytest.fixture(scope="package")
def small_data():
    small = {
        "linkage": lambda: make_linkage(36, 30, random_state=0),
        "linkage2": lambda: make_linkage2(36, 30, random_state=0),
        "lung500": make_groups,
    }
    with pytest.MonkeyPatch.context() as patch:
        for data_set, make in small.items():
            patch.setitem(DATA_SETS, data_set, make)
            # Scales that a small surface has.
            patch.setitem(_units.SHOWN_SCALES, data_set, ((-5, -5), (-5, -4), (-5, -3)))
        yield
