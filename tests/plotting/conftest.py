import matplotlib.pyplot as plt
import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(autouse=True)
def figures():
    """Draw without windows, and close all figures afterwards."""
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def board():
    return make_checkerboard(30, 24, noise=0.3, random_state=0)


@pytest.fixture(scope="session")
def model(board):
    """A model of a checkerboard with half of its entries missing, with its scales."""
    X = remove_entries(board.X, 0.5, random_state=0)
    return CoManifold(3, keep_scales=True).fit(X)


@pytest.fixture(scope="session")
def model_with_gaps(board):
    """A model with two rows and a column without an observed entry."""
    X = remove_entries(board.X, 0.3, random_state=0)
    X[[3, 7]] = np.nan
    X[:, 5] = np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold(keep_scales=True).fit(X)


@pytest.fixture(scope="session")
def scale(model):
    """The exponents of a scale with several clusters of both modes."""
    n_rows, n_columns = model.scales_["n_row_clusters"], model.scales_["n_column_clusters"]
    chosen = np.flatnonzero((n_rows > 1) & (n_rows < 10) & (n_columns > 1))[0]
    return int(model.scales_["l"][chosen]), int(model.scales_["k"][chosen])


@pytest.fixture
def legend():
    """A function that returns the names in the legend of axes."""

    def read(ax):
        return [text.get_text() for text in ax.get_legend().get_texts()]

    return read
