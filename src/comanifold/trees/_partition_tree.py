"""Partition trees: nested partitions of points, from single points to one folder of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.sparse.csgraph import connected_components

from .._validation import check_choice

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder of a partition tree: points that are together at one or several levels.

    Attributes
    ----------
    members : ndarray of int
        The points in it, ascending.
    parent : int
        The position in `PartitionTree.folders` of the folder that contains it; -1 for the root.
    level : int
        The highest level that it is a folder of; 1 for the root.
    last_level : int
        The lowest such level: it is split below.
    """

    members: Labels
    parent: int
    level: int
    last_level: int

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.members)


@dataclass(frozen=True, eq=False)
class _Folders:
    """All different folders as arrays, the root first, from high to low levels.

    `of_point[i, p]` is the folder of the point p at the i-th level from below.
    """

    parent: Labels
    level: Labels
    last_level: Labels
    size: Labels
    of_point: Labels


class PartitionTree:
    r"""Nested partitions of n points, from n single points to one folder of all.

    The levels :math:`\mathcal P_1 = \{\{1, \dots, n\}\}, \mathcal P_2, \dots, \mathcal P_L` are
    partitions into folders, each a refinement of the one before, and those of :math:`\mathcal P_L`
    are single points. A tree does not change once it is made.

    Parameters
    ----------
    labels : array-like of int of shape (n_levels, n_points)
        The label of each point at each level, from single points (all labels different) to the
        root (all the same), each level coarser than the one before. See also `from_labels`,
        `from_linkage` and `from_model`.

    Attributes
    ----------
    labels : ndarray of int of shape (n_levels, n_points)
        Numbered from 0 in the order of the first points, and read-only.
    n_points, n_levels : int
    folders : tuple of Folder
        All different folders, at most 2 n - 1, the root first.

    References
    ----------
    Ankenman (2014), Geometry and analysis of dual networks on questionnaires. Gavish and Coifman
    (2012), Sampling, denoising and compression of matrices by coherent matrix organization.

    Examples
    --------
    >>> from comanifold.trees import PartitionTree
    >>> tree = PartitionTree.from_labels([[0, 0, 1, 1, 1]])
    >>> tree.labels
    array([[0, 1, 2, 3, 4],
           [0, 0, 1, 1, 1],
           [0, 0, 0, 0, 0]])
    >>> [folder.members.tolist() for folder in tree.folders[:3]]
    [[0, 1, 2, 3, 4], [0, 1], [2, 3, 4]]
    """

    def __init__(self, labels: ArrayLike):
        labels = _check_labels(labels)
        if len(np.unique(labels[0])) < labels.shape[1] or len(np.unique(labels[-1])) > 1:
            raise ValueError(
                "labels must be different for all points at the first level, and the same at the "
                "last: PartitionTree.from_labels adds these levels"
            )
        levels = [_renumbered(level) for level in labels]
        for number, (fine, coarse) in enumerate(pairwise(levels), start=1):
            _refuse_unnested(fine, coarse, number)
            if fine.max() == coarse.max():
                raise ValueError(
                    f"labels must be coarser at each level, got the same clusters at levels "
                    f"{number - 1} and {number}"
                )
        self._set(levels)

    def _set(self, levels: list[Labels]) -> None:
        """Set the validated labels of all levels."""
        labels = np.array(levels, dtype=np.intp)
        labels.flags.writeable = False
        self._labels = labels

    @property
    def labels(self) -> Labels:
        """The label of each point at each level, from single points to the root."""
        return self._labels

    @property
    def n_levels(self) -> int:
        """The number of levels."""
        return len(self._labels)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self._labels.shape[1]

    @classmethod
    def from_labels(cls, levels: Sequence[ArrayLike], *, join: bool = False) -> "PartitionTree":
        """Return the tree of clusters that grow from one array of labels to the next.

        Single points and the root are added, and levels that repeat the one before are left out.

        Parameters
        ----------
        levels : sequence of array-like of int of shape (n_points,)
            From fine to coarse.
        join : bool, default=False
            Where labels are not nested, clusters that have been joined once stay joined; by
            default such labels are refused.
        """
        labels = _check_labels(levels)
        nested = [np.arange(labels.shape[1])]
        for number, level in enumerate(labels):
            coarse = _renumbered(level)
            if join:
                coarse = _joined(nested[-1], coarse)
            else:
                _refuse_unnested(nested[-1], coarse, number)
            if coarse.max() < nested[-1].max():
                nested.append(coarse)
        if nested[-1].max() > 0:
            nested.append(np.zeros_like(nested[0]))
        return cls._of(nested)

    @classmethod
    def _of(cls, levels: list[Labels]) -> "PartitionTree":
        """Return the tree of valid labels, without checking them again."""
        tree = cls.__new__(cls)
        tree._set(levels)
        return tree

    @classmethod
    def from_linkage(cls, Z: ArrayLike, heights: ArrayLike | None = None) -> "PartitionTree":
        """Return the tree with the clusters of a SciPy linkage matrix at some heights.

        Clusters that join at the same height join at the same level. A cluster whose parts joined
        higher than itself, as centroid linkage allows, is at the height of these.

        Parameters
        ----------
        Z : array-like of shape (n_points - 1, 4)
        heights : array-like, optional
            Where the tree is cut. By default there are at most half as many folders at each level
            as at the one below.
        """
        Z = _as_floats("Z", Z)
        if Z.ndim != 2 or Z.shape[1:] != (4,):
            raise ValueError(f"Z must be a linkage matrix of SciPy, got shape {Z.shape}")
        try:
            if len(Z):
                is_valid_linkage(Z, throw=True, name="Z")
        except ValueError as error:
            raise ValueError(f"Z must be a linkage matrix of SciPy: {error}") from error
        if not np.isfinite(Z).all():
            raise ValueError("Z must be a linkage matrix with finite heights")
        n_points = len(Z) + 1
        parent = np.arange(2 * n_points - 1)
        children = Z[:, :2].astype(np.intp)
        if not np.array_equal(np.sort(children, axis=None), parent[:-1]):
            raise ValueError("Z must be a linkage matrix in which every cluster is joined once")
        parent[children] = np.arange(n_points, 2 * n_points - 1)[:, None]
        height = np.concatenate([np.full(n_points, -np.inf), Z[:, 2]])
        for node, (one, other) in enumerate(children, start=n_points):
            height[node] = max(height[node], height[one], height[other])
        if heights is None:
            heights = _halving_heights(height[n_points:])
        at_heights = np.unique(_as_floats("heights", heights))
        if np.isnan(at_heights).any():
            raise ValueError(f"heights must be numbers, got {heights!r:.60}")
        levels = [_roots(parent, height <= at, n_points) for at in at_heights]
        return cls.from_labels(levels or [np.arange(n_points)])

    @classmethod
    def from_model(cls, model: Any, mode: str = "row") -> "PartitionTree":
        """Return the tree of the clusters of a fitted `CoManifold`, a level for each cost.

        Parameters
        ----------
        model : CoManifold
            Fitted with ``keep_scales=True``. Rows and columns without an observed entry join last.
        mode : {"row", "column"}, default="row"
        """
        check_choice("mode", mode, ["row", "column"])
        Z = getattr(model, f"{mode}_linkage_")
        if not len(Z):
            return cls([[0]])
        # Costs are powers of two, and clusters of one scale join between two of them.
        first, last = np.floor(np.log2(Z[0, 2])), np.ceil(np.log2(Z[-1, 2]))
        return cls.from_linkage(Z, 2.0 ** np.arange(first, last + 1))

    def to_linkage(self, heights: ArrayLike | None = None) -> Array:
        """Return the tree as a SciPy linkage matrix.

        Folders with more than two parts are joined part by part, at the same height.

        Parameters
        ----------
        heights : array-like of shape (n_levels,), optional
            The height of each level in `labels`, at least 0 and rising; by default 0, 1, 2, ...
            That of single points, the first, does not appear in the result.
        """
        at = _as_floats("heights", np.arange(self.n_levels) if heights is None else heights)
        is_valid = at.shape == (self.n_levels,) and np.isfinite(at).all() and at[0] >= 0.0
        if not is_valid or (np.diff(at) <= 0.0).any():
            raise ValueError(
                f"heights must be {self.n_levels} rising numbers of at least 0, one for each "
                f"level, got {heights!r:.60}"
            )
        all_folders = self._folders
        node = np.empty(len(all_folders.parent), dtype=np.intp)
        node[all_folders.of_point[0]] = np.arange(self.n_points)
        sizes = np.concatenate([np.ones(self.n_points), np.zeros(self.n_points - 1)])
        rows: list[tuple[float, float, float, float]] = []
        # Parts before what they are parts of; a folder comes into being at its lowest level.
        for folder in np.argsort(-all_folders.last_level, kind="stable"):
            parts = self.children(int(folder))
            if not len(parts):
                continue
            height = at[self.n_levels - all_folders.last_level[folder]]
            whole = node[parts[0]]
            for part in node[parts[1:]]:
                new = self.n_points + len(rows)
                sizes[new] = sizes[whole] + sizes[part]
                rows.append((min(whole, part), max(whole, part), height, sizes[new]))
                whole = new
            node[folder] = whole
        return np.array(rows, dtype=float).reshape(-1, 4)

    @cached_property
    def folders(self) -> tuple[Folder, ...]:
        """All different folders, the root first, from high to low levels."""
        arrays = self._folders
        members = self.membership
        return tuple(
            Folder(
                members.indices[members.indptr[i] : members.indptr[i + 1]].astype(np.intp),
                int(arrays.parent[i]),
                int(arrays.level[i]),
                int(arrays.last_level[i]),
            )
            for i in range(len(arrays.parent))
        )

    def children(self, folder: int) -> Labels:
        """Return the positions in `folders` of the parts of a folder; none for a single point."""
        order, starts = self._children
        return order[starts[folder] : starts[folder + 1]]

    @cached_property
    def _children(self) -> tuple[Labels, Labels]:
        """All folders but the root in the order of their parents, and where those of each start."""
        parent = self._folders.parent
        order = np.argsort(parent, kind="stable")[1:]
        return order, np.searchsorted(parent[order], np.arange(len(parent) + 1))

    @property
    def membership(self) -> Any:
        """The sparse matrix of shape (n_folders, n_points) with ones for members of folders."""
        of_point = self._folders.of_point
        # A folder of several levels is counted at the lowest.
        is_first = np.ones(of_point.shape, dtype=bool)
        is_first[1:] = of_point[1:] != of_point[:-1]
        points = np.nonzero(is_first)[1]
        shape = len(self._folders.parent), self.n_points
        members = sparse.csr_array(
            (np.ones(len(points)), (of_point[is_first], points)), shape=shape
        )
        members.sort_indices()
        return members

    @cached_property
    def _folders(self) -> _Folders:
        """All different folders as arrays."""
        labels, n_levels = self._labels, self.n_levels
        of_point = np.zeros_like(labels)
        parent, level, size = [np.array([-1])], [np.array([1])], [np.array([self.n_points])]
        n_folders = 1
        of_label = np.zeros(1, dtype=np.intp)  # the folder of each label of the level above
        bottom = np.ones(2 * self.n_points - 1, dtype=np.intp)
        for place in range(n_levels - 2, -1, -1):
            here, above = labels[place], labels[place + 1]
            _, first = np.unique(here, return_index=True)
            up = of_label[above[first]]
            is_new = np.bincount(up, minlength=n_folders)[up] > 1
            folder = up.copy()
            folder[is_new] = n_folders + np.arange(is_new.sum())
            number = n_levels - place
            bottom[folder] = number
            parent.append(up[is_new])
            level.append(np.full(is_new.sum(), number))
            size.append(np.bincount(here)[is_new])
            n_folders += int(is_new.sum())
            of_label, of_point[place] = folder, folder[here]
        return _Folders(
            np.concatenate(parent),
            np.concatenate(level),
            bottom[:n_folders],
            np.concatenate(size),
            of_point,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionTree):
            return NotImplemented
        return np.array_equal(self._labels, other._labels)

    def __hash__(self) -> int:
        return hash((self._labels.shape, self._labels.tobytes()))

    def __copy__(self) -> "PartitionTree":
        return self  # nothing in it can be changed

    def __deepcopy__(self, memo: dict) -> "PartitionTree":
        return self

    def __reduce__(self) -> tuple:
        return PartitionTree, (np.array(self._labels),)

    def __repr__(self) -> str:
        counts = ", ".join(str(level.max() + 1) for level in self._labels[::-1])
        return f"PartitionTree({self.n_points} points; folders by level: {counts})"


def _as_floats(name: str, values: Any) -> Array:
    """Return an array of floats; ValueError that names the argument if these are not numbers."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {values!r:.60}") from error


def _check_labels(labels: Any) -> Labels:
    """Validate labels of several levels; return them as an array of integers."""
    try:
        labels = np.asarray(labels)
    except ValueError as error:
        raise ValueError(f"labels must have one length at all levels: {error}") from error
    if labels.ndim != 2 or not labels.size:
        raise ValueError(
            f"labels must have shape (n_levels, n_points), with a point and a level at least, got "
            f"shape {labels.shape}"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be integers, got dtype {labels.dtype}")
    return labels


def _renumbered(labels: Labels) -> Labels:
    """Return labels numbered from 0 in the order of their first points."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _refuse_unnested(fine: Labels, coarse: Labels, number: int) -> None:
    """Raise ValueError if points that are together at a fine level are not at a coarser one."""
    of_fine = np.empty(fine.max() + 1, dtype=np.intp)
    of_fine[fine] = coarse
    if (of_fine[fine] != coarse).any():
        raise ValueError(
            f"labels must be nested, each level coarser than the one before: clusters are split "
            f"at level {number}"
        )


def _joined(fine: Labels, coarse: Labels) -> Labels:
    """Return the finest labels that are coarser than both."""
    n_fine, n_coarse = fine.max() + 1, coarse.max() + 1
    links = sparse.coo_array(
        (np.ones(len(fine)), (fine, n_fine + coarse)), shape=(n_fine + n_coarse,) * 2
    )
    return _renumbered(connected_components(links, directed=False)[1][fine])


def _halving_heights(height: Array) -> Array:
    """Return heights of joins at which at most half as many clusters remain as at the last."""
    n_clusters = len(height) + 1
    ordered, heights = np.sort(height), []
    while n_clusters > 1:
        # After the join number j there are n - 1 - j clusters; ties are joined as well.
        at = ordered[len(ordered) - n_clusters // 2]
        n_clusters = len(ordered) + 1 - int(np.searchsorted(ordered, at, side="right"))
        heights.append(at)
    return np.array(heights)


def _roots(parent: Labels, is_joined: NDArray[np.bool_], n_points: int) -> Labels:
    """Return for each point the highest node above it that is joined, or itself."""
    up = np.where(is_joined[parent], parent, np.arange(len(parent)))
    while True:
        higher = up[up]
        if np.array_equal(higher, up):
            return up[:n_points]
        up = higher
