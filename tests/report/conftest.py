import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(scope="session")
def holes():
    """A checkerboard of 40 rows and 25 columns with holes, one row and one column of them only."""
    X = remove_entries(make_checkerboard(40, 25, random_state=0).X, 0.3, random_state=0)
    X[7], X[:, 3] = np.nan, np.nan
    return X


@pytest.fixture(scope="session")
def model(holes):
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold(3, keep_scales=True).fit(holes)


@pytest.fixture(scope="session")
def model_without_scales(holes):
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold().fit(holes)
