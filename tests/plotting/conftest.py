import matplotlib.pyplot as plt
import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(autouse=True)
def figures():
    """No windows, and no figures left behind."""
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def board():
    return make_checkerboard(30, 24, noise=0.3, random_state=0)


@pytest.fixture(scope="session")
def model(board):
    """A model of half a checkerboard that has kept its scales."""
    X = remove_entries(board.X, 0.5, random_state=0)
    return CoManifold(3, keep_scales=True).fit(X)


@pytest.fixture(scope="session")
def model_with_gaps(board):
    """A model with two rows and a column of which nothing is known."""
    X = remove_entries(board.X, 0.3, random_state=0)
    X[[3, 7]] = np.nan
    X[:, 5] = np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold(keep_scales=True).fit(X)


@pytest.fixture(scope="session")
def scale(model):
    """The exponents of a scale with several clusters of both modes."""
    chosen = next(s for s in model.scales_ if 1 < s.n_row_clusters < 10 and s.n_column_clusters > 1)
    return chosen.l, chosen.k


@pytest.fixture
def legend():
    """Reads the names in the legend of axes."""

    def read(ax):
        return [text.get_text() for text in ax.get_legend().get_texts()]

    return read
