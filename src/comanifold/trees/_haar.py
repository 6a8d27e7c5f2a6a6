"""Haar bases of partition trees, and matrices in the tensor product of two of them."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._validation import check_matrix
from ._partition_tree import PartitionTree

Array = NDArray[np.float64]

# The median of the absolute values of a standard normal variable.
_NORMAL_MEDIAN = 0.6744897501960817


def haar_basis(tree: PartitionTree) -> Any:
    r"""Return the orthonormal Haar basis of a partition tree.

    The first vector is constant. Every other one is the difference between two parts A and B of a
    folder,

    .. math:: \psi = \sqrt{\tfrac{|A| |B|}{|A| + |B|}} \left( \tfrac{1_A}{|A|} - \tfrac{1_B}{|B|}
              \right) .

    A folder with more than two parts in the tree is divided in two, and these again, so that there
    are as many vectors as points.

    Parameters
    ----------
    tree : PartitionTree

    Returns
    -------
    basis : sparse array of shape (n_points, n_points)
        In CSC format, with the vectors in columns, those of large folders first. The size of the
        support of each is ``np.diff(basis.indptr)``.

    References
    ----------
    Gavish, Nadler and Coifman (2010), Multiscale wavelets on trees, graphs and high dimensional
    data. Coifman and Gavish (2011), Harmonic analysis of digital data bases.

    Examples
    --------
    >>> from comanifold.trees import PartitionTree, haar_basis
    >>> basis = haar_basis(PartitionTree.from_labels([[0, 0, 1, 1]]))
    >>> basis.toarray().round(2)
    array([[ 0.5 ,  0.5 ,  0.71,  0.  ],
           [ 0.5 ,  0.5 , -0.71,  0.  ],
           [ 0.5 , -0.5 ,  0.  ,  0.71],
           [ 0.5 , -0.5 ,  0.  , -0.71]])
    """
    _check_tree(tree, "tree")
    n_points = tree.n_points
    everything = np.arange(n_points)
    vectors = [(everything, np.full(n_points, 1.0 / np.sqrt(n_points)))]
    members = [folder.members for folder in tree.folders]
    waiting = [[members[child] for child in tree.children(i)] for i in range(len(members))]
    waiting = [parts for parts in waiting if parts]
    for parts in waiting:  # grows: the halves of a folder with many parts follow
        middle = (len(parts) + 1) // 2
        halves = parts[:middle], parts[middle:]
        A, B = (np.concatenate(half) for half in halves)
        height = np.sqrt(len(A) * len(B) / (len(A) + len(B)))
        values = np.concatenate(
            [np.full(len(A), height / len(A)), np.full(len(B), -height / len(B))]
        )
        vectors.append((np.concatenate([A, B]), values))
        waiting.extend(list(half) for half in halves if len(half) > 1)
    # Large supports first; equal ones as they were found.
    vectors[1:] = sorted(vectors[1:], key=lambda vector: -len(vector[0]))
    starts = np.cumsum([0, *(len(points) for points, _ in vectors)])
    points, values = (np.concatenate(parts) for parts in zip(*vectors, strict=True))
    basis = sparse.csc_array((values, points, starts), shape=(n_points, n_points))
    basis.sort_indices()
    return basis


def bi_haar_transform(X: ArrayLike, row_tree: PartitionTree, column_tree: PartitionTree) -> Array:
    r"""Return the coefficients of a matrix in the product of two Haar bases.

    .. math:: C = \Phi^T X \Psi

    with the Haar bases :math:`\Phi` of the rows and :math:`\Psi` of the columns. The coefficients
    of a matrix that varies slowly along both trees are small where the product of the sizes
    :math:`|I| |J|` of the supports is, faster than this product falls.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Without missing entries.
    row_tree, column_tree : PartitionTree
        Of the rows and of the columns.

    Returns
    -------
    coefficients : ndarray of shape (n_rows, n_columns)
        In the order of `haar_basis`; ``coefficients[0, 0]`` is the mean times the square root of
        the number of entries.

    References
    ----------
    Coifman and Gavish (2011), Harmonic analysis of digital data bases. Gavish and Coifman (2012),
    Sampling, denoising and compression of matrices by coherent matrix organization.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.trees import (
    ...     PartitionTree,
    ...     bi_haar_transform,
    ...     inverse_bi_haar_transform,
    ... )
    >>> tree = PartitionTree.from_labels([[0, 0, 1, 1]])
    >>> X = np.arange(16.0).reshape(4, 4)
    >>> coefficients = bi_haar_transform(X, tree, tree)
    >>> bool(np.allclose(inverse_bi_haar_transform(coefficients, tree, tree), X))
    True
    """
    X = _check_complete(X, row_tree, column_tree, "X")
    return _product(haar_basis(row_tree).T, X, haar_basis(column_tree))


def inverse_bi_haar_transform(
    coefficients: ArrayLike, row_tree: PartitionTree, column_tree: PartitionTree
) -> Array:
    r"""Return the matrix with these coefficients, :math:`\Phi C \Psi^T`; see `bi_haar_transform`.

    Parameters
    ----------
    coefficients : array-like of shape (n_rows, n_columns)
    row_tree, column_tree : PartitionTree
    """
    C = _check_complete(coefficients, row_tree, column_tree, "coefficients")
    return _product(haar_basis(row_tree), C, haar_basis(column_tree).T)


def denoise(
    X: ArrayLike,
    row_tree: PartitionTree,
    column_tree: PartitionTree,
    *,
    threshold: float | None = None,
    min_support: float = 0.0,
) -> Array:
    r"""Return a matrix without its small coefficients in the product of two Haar bases.

    Coefficients of at most the threshold in absolute value become zero, except that of the mean.
    By default it is the universal one, :math:`\sigma \sqrt{2 \log(m n)}`, and :math:`\sigma` the
    median of the absolute coefficients of the smaller half of the supports, over that of a
    standard normal variable.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Without missing entries.
    row_tree, column_tree : PartitionTree
        Of the rows and of the columns. Trees that were built from the same matrix follow its
        noise, and keep a part of it.
    threshold : float, optional
        In the units of X, at least 0; an orthonormal basis leaves noise as large as it is.
    min_support : float, default=0.0
        Coefficients with :math:`|I| |J|` below this share of all entries become zero as well.

    References
    ----------
    Gavish and Coifman (2012), Sampling, denoising and compression of matrices by coherent matrix
    organization. Donoho and Johnstone (1994), Ideal spatial adaptation by wavelet shrinkage.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.trees import PartitionTree, denoise
    >>> half = np.repeat([0, 1], 16)
    >>> tree = PartitionTree.from_labels([half])
    >>> truth = np.where(half[:, None] == half, 1.0, -1.0)
    >>> noisy = truth + np.random.default_rng(0).normal(size=truth.shape)
    >>> bool(np.std(denoise(noisy, tree, tree) - truth) < 0.3 * np.std(noisy - truth))
    True
    """
    X = _check_complete(X, row_tree, column_tree, "X")
    if threshold is not None:
        _check_at_least_zero("threshold", threshold)
    _check_at_least_zero("min_support", min_support)
    row_basis, column_basis = haar_basis(row_tree), haar_basis(column_tree)
    C = _product(row_basis.T, X, column_basis)
    support = np.outer(np.diff(row_basis.indptr), np.diff(column_basis.indptr))
    if threshold is None:
        small = np.abs(C[support <= np.median(support)])
        threshold = np.median(small) / _NORMAL_MEDIAN * np.sqrt(2.0 * np.log(C.size))
    kept = (np.abs(C) > threshold) & (support >= min_support * C.size)
    kept[0, 0] = True
    return _product(row_basis, np.where(kept, C, 0.0), column_basis.T)


def _product(left: Any, X: Array, right: Any) -> Array:
    """Return left X right, for sparse matrices on both sides."""
    return np.asarray((right.T @ (left @ X).T).T)


def _check_at_least_zero(name: str, value: Any) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0.0 <= value < np.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r:.60}")


def _check_tree(tree: Any, name: str) -> None:
    if not isinstance(tree, PartitionTree):
        raise ValueError(f"{name} must be a PartitionTree, got {type(tree).__name__}")


def _check_complete(X: ArrayLike, row_tree: Any, column_tree: Any, name: str) -> Array:
    """Validate a complete matrix and the trees of its rows and columns; return it as floats."""
    X = check_matrix(X, name=name)
    if np.isnan(X).any():
        raise ValueError(f"{name} must be complete, but has NaN: fill in missing entries first")
    for mode, tree, n_points in zip(
        ("row", "column"), (row_tree, column_tree), X.shape, strict=True
    ):
        _check_tree(tree, f"{mode}_tree")
        if tree.n_points != n_points:
            raise ValueError(
                f"{mode}_tree must have the {n_points} {mode}s of {name} for its points, got "
                f"{tree.n_points}"
            )
    return X
