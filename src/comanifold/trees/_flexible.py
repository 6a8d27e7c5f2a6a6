"""Flexible trees: partition trees built bottom-up from affinities between points."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans

from .._embedding.affinities import refuse_asymmetric, row_sums, scaled
from .._embedding.eigenvectors import leading_eigenvectors
from .._validation import check_count
from ..solvers.kernels import kernel
from ._partition_tree import PartitionTree

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# At each level at least this share of the folders joins another, so that the number of levels is
# bounded by the logarithm of the number of points.
_LEAST_JOINED = 0.1

# Of more points than this, so many groups are joined: distances between all pairs of points would
# need memory that grows with the square of their number.
_MOST_PAIRWISE = 3000
_N_GROUPS = 1500

# The standard deviation of the logarithm of factors by which distances are perturbed.
_PERTURBATION = 0.3


def flexible_tree(
    affinity: Any,
    *,
    n_eigenvectors: int = 12,
    constant: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> PartitionTree:
    r"""Return a partition tree of points with these affinities, built bottom-up.

    The level above a partition is made by the diffusion distances

    .. math:: D(I, J) = \operatorname{mean}_{i \in I,\, j \in J} \Bigl( \sum_k \lambda_k^{2t}
              (\psi_k(i) - \psi_k(j))^2 \Bigr)^{1/2}

    between its folders. Pairs are visited from near to far, up to the median m of all D, and the
    two groups a and b in which the folders are by then are joined if both are single folders or
    :math:`D < (m / c)\, 2^{1 - |a| |b|}`, so that large groups are joined only if they are very
    near. t doubles from level to level, from 1. At least a tenth of the folders joins another at
    each level, if necessary beyond the median: the tree is complete after at most
    :math:`1 + 10 \log n` levels. More than 3,000 points are first divided into 1,500 groups by
    k-means of their diffusion coordinates, and the means of these are joined in their place.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n_points, n_points)
        Symmetric and at least 0.
    n_eigenvectors : int, default=12
        Number of eigenvectors of the random walk; at most all are used.
    constant : float, default=1.0
        c. A larger one gives smaller folders and more levels.
    random_state : int, Generator or None, default=None
        If given, all distances are multiplied by random factors, which gives another tree for
        every seed: distances can be averaged over several.

    Returns
    -------
    tree : PartitionTree

    References
    ----------
    Ankenman (2014), Geometry and analysis of dual networks on questionnaires. Mishne et al.
    (2017), Data-driven tree transforms and metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.trees import flexible_tree
    >>> x = np.array([0.0, 0.1, 0.2, 2.0, 2.1, 2.2])
    >>> tree = flexible_tree(np.exp(-((x[:, None] - x) ** 2)))
    >>> tree.labels[-2]
    array([0, 0, 0, 1, 1, 1])
    """
    affinity = _check_affinity(affinity)
    check_count("n_eigenvectors", n_eigenvectors)
    is_number = isinstance(constant, numbers.Real) and not isinstance(constant, bool)
    if not is_number or not 0 < constant < np.inf:
        raise ValueError(f"constant must be a positive finite number, got {constant!r:.60}")
    constant = float(constant)
    rng = None if random_state is None else _generator(random_state)
    n_points = affinity.shape[0]
    if n_points == 1:
        return PartitionTree([[0]])
    values, vectors = _diffusion_coordinates(affinity, min(n_eigenvectors, n_points - 1))
    first = np.arange(n_points)
    if n_points > _MOST_PAIRWISE:
        first, vectors = _groups(values, vectors)
    factors = None if rng is None else _random_factors(len(vectors), rng)
    labels = np.arange(len(vectors))
    levels = [first]
    time = 1.0
    while labels.max() > 0:
        distances = pdist(vectors * np.abs(values) ** time)
        if factors is not None:
            distances *= factors
        labels = _next_level(_folder_distances(distances, labels), constant)[labels]
        levels.append(labels[first])
        time *= 2.0
    return PartitionTree.from_labels(levels)


def _check_affinity(affinity: Any) -> Any:
    """Validate affinities; return them as floats of at most 1, scaled by a power of two."""
    affinity = affinity.tocsr() if sparse.issparse(affinity) else np.asarray(affinity)
    shape = affinity.shape
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ValueError(f"affinity must be a square matrix, got shape {shape}")
    if affinity.dtype.kind not in "biuf":
        raise ValueError(f"affinity must hold numbers, got dtype {affinity.dtype}")
    # A new array in C order: rounding errors, which decide between ties, depend on the order.
    affinity = affinity.astype(float, **({} if sparse.issparse(affinity) else {"order": "C"}))
    values = affinity.data if sparse.issparse(affinity) else affinity
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError("affinity must not be negative, NaN or infinite")
    try:
        refuse_asymmetric(affinity)
    except ValueError as error:
        raise ValueError("affinity must be symmetric") from error
    exponent = int(np.frexp(values.max(initial=0.0))[1])
    np.ldexp(values, -exponent, out=values)  # sums of large affinities would overflow
    return affinity


def _diffusion_coordinates(affinity: Any, n_vectors: int) -> tuple[Array, Array]:
    """Return eigenvalues and right eigenvectors of the random walk, without the constant one."""
    degree = row_sums(affinity)
    alone = np.flatnonzero(degree == 0.0)
    if alone.size:  # a point without any affinity stays where it is
        n_points = len(degree)
        own = sparse.csr_array((np.ones(alone.size), (alone, alone)), shape=(n_points, n_points))
        affinity = affinity + (own if sparse.issparse(affinity) else own.toarray())
        degree[alone] = 1.0
    root = np.sqrt(degree)
    walk = scaled(affinity, 1.0 / root, 1.0 / root)
    values, vectors = leading_eigenvectors(walk, n_vectors, root / np.linalg.norm(root))
    return values, vectors * np.sqrt(degree.sum()) / root[:, None]


def _groups(values: Array, vectors: Array) -> tuple[Labels, Array]:
    """Return groups of many points that are near each other at t = 1, and their mean vectors."""
    coordinates = vectors * values
    order = np.lexsort(coordinates.T[::-1])  # k-means depends on the order of the points
    found = np.empty(len(order), dtype=np.intp)
    found[order] = KMeans(_N_GROUPS, n_init=1, random_state=0).fit_predict(coordinates[order])
    groups = np.unique(found, return_inverse=True)[1]
    sums = np.zeros((groups.max() + 1, vectors.shape[1]))
    np.add.at(sums, groups, vectors)
    return groups, sums / np.bincount(groups)[:, None]


def _generator(random_state: Any) -> np.random.Generator:
    """Validate a random state; return the generator of random numbers."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be an integer of at least 0, a Generator or None, got "
            f"{random_state!r:.60}"
        ) from error


def _random_factors(n_points: int, rng: np.random.Generator) -> Array:
    """Return a random factor for each pair of points."""
    return np.exp(_PERTURBATION * rng.normal(size=n_points * (n_points - 1) // 2))


def _folder_distances(distances: Array, labels: Labels) -> Array:
    """Return the mean distances between the points of folders, from those of all pairs."""
    n_folders = int(labels.max()) + 1
    square = squareform(distances, checks=False)
    if n_folders == len(labels):
        return square
    members = sparse.csr_array(
        (1.0 / np.bincount(labels)[labels], (labels, np.arange(len(labels)))),
        shape=(n_folders, len(labels)),
    )
    means = members @ (members @ square).T
    return 0.5 * (means + means.T)


def _next_level(distances: Array, constant: float) -> Labels:
    """Return the group of each folder at the next level, from the distances between folders."""
    one, other = np.triu_indices(len(distances), 1)
    between = distances[one, other]
    median = float(np.median(between))
    order = np.argsort(between, kind="stable")
    least = int(np.ceil(_LEAST_JOINED * len(distances)))
    pairs = one[order], other[order]
    group = _join(*pairs, between[order], median, median / constant, least, len(distances))
    return np.unique(group, return_inverse=True)[1]


@kernel
def _join(one, other, distances, median, scale, least, n_folders):
    """Join folders pair by pair, from near to far; return the group of each.

    The groups a and b of a pair at distance d are joined if |a| = |b| = 1 or
    d < scale 2^(1 - |a| |b|); beyond the median only until `least` have been joined.
    """
    group = np.arange(n_folders)
    size = np.ones(n_folders)
    n_joined = 0
    for p in range(one.shape[0]):
        if distances[p] >= median and n_joined >= least:
            break
        a, b = group[one[p]], group[other[p]]
        if a == b:
            continue
        product = size[a] * size[b]
        if product == 1.0 or distances[p] < scale * 2.0 ** (1.0 - product):
            for i in range(n_folders):
                if group[i] == b:
                    group[i] = a
            size[a] += size[b]
            n_joined += 1
    return group
