"""Annotated data with half of their entries missing."""

import pytest

from comanifold.annotated import co_manifold
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(40, 30, noise=0.4, random_state=0)


@pytest.fixture(scope="module")
def X(board):
    """Half of a checkerboard."""
    return remove_entries(board.X, 0.5, random_state=0)


@pytest.fixture
def adata(X, board):
    from oracles.annotated import annotated

    return annotated(X.copy(), board.row_labels)


@pytest.fixture(scope="module")
def fitted(X, board):
    from oracles.annotated import annotated

    adata = annotated(X.copy(), board.row_labels)
    co_manifold(adata)
    return adata
