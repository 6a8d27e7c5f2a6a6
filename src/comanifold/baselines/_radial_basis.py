"""Gaussian radial basis networks: ridge regression, values and slopes."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

Array = NDArray[np.float64]

# Directions of the weights whose part of G is less than this share of the largest are left out:
# they are rounding errors, and hardly change the network.
_LEAST_EIGENVALUE = 1e-10

# The least penalty, relative to the sum of the squared functions, and without any.
_LEAST_PENALTY, _TINY = 1e-14, 1e-300

# Centres at less than this part of the largest distance of two are equal up to rounding errors.
_EQUAL = 1e-8


@dataclass(frozen=True)
class RadialMap:
    r"""The network :math:`f(x) = W \phi(x)`.

    `weights` holds W transposed, one row for each centre, and `roughness` is
    :math:`\operatorname{tr}(W G W')`.
    """

    basis: "RadialBasis"
    weights: Array
    roughness: float

    def __call__(self, points: Array) -> Array:
        """Return the values at points, one row for each."""
        return self.basis.features(points) @ self.weights

    def with_slopes(self, points: Array) -> tuple[Array, Array]:
        """Return the values at points and their derivatives, (n_points, n_outputs, n_inputs)."""
        centers, features = self.basis.centers, self.basis.features(points)
        if points.shape[1] < self.weights.shape[1]:
            towards = centers.T - points[:, :, None]
            slopes = _product(features[:, None, :] * towards, self.weights).transpose(0, 2, 1)
        else:  # the differences of points and centres would be a large array
            weighted = features[:, None, :] * self.weights.T
            slopes = _product(weighted, centers)
            slopes -= weighted.sum(axis=2)[..., None] * points[:, None, :]
        slopes /= self.basis.width**2
        return features @ self.weights, slopes


class RadialBasis:
    r"""The functions :math:`\phi_m(x) = \exp(-\| x - c_m \|^2 / (2 s^2))`.

    Parameters
    ----------
    centers : ndarray of shape (n_centers, n_inputs)
        :math:`c_m`.
    width : float
        s.
    """

    def __init__(self, centers: Array, width: float):
        self.centers, self.width = centers, width
        values, vectors = np.linalg.eigh(self.features(centers))
        kept = values > _LEAST_EIGENVALUE * values[-1]
        self._whitening = vectors[:, kept] / np.sqrt(values[kept])

    @classmethod
    def of_points(
        cls, points: Array, n_centers: int, width: float, random_state: np.random.RandomState
    ) -> "RadialBasis":
        """Return a basis with centres from k-means; `width` in median distances of centres.

        Centres that are equal have no distance.
        """
        if n_centers < len(points):
            means = KMeans(n_centers, n_init=1, random_state=random_state)
            with warnings.catch_warnings():
                # Fewer points are distinct, and some centres are equal.
                warnings.simplefilter("ignore", ConvergenceWarning)
                centers = means.fit(points).cluster_centers_
        else:
            centers = points.copy()
        distances = pdist(centers)
        distances = distances[distances > _EQUAL * distances.max(initial=0.0)]
        return cls(centers, width * (float(np.median(distances)) if distances.size else 1.0))

    def features(self, points: Array) -> Array:
        """Return the functions at points, (n_points, n_centers)."""
        squares = (points**2).sum(axis=1)[:, None] + (self.centers**2).sum(axis=1)
        squares -= 2.0 * points @ self.centers.T
        return np.exp(-0.5 * np.maximum(squares, 0.0) / self.width**2)

    def regress(self, points: Array, values: Array, penalty: float) -> RadialMap:
        r"""Return the network that minimises :math:`\| Y - W \Phi \|^2 + \lambda tr(W G W')`.

        :math:`G_{lm} = \phi_l(c_m)`. With :math:`G = B^{-T} B^{-1}` the weights
        :math:`V = W B^{-T}` have the penalty :math:`\lambda \| V \|^2`: the solution
        :math:`W = Y \Phi' (\Phi \Phi' + \lambda G)^{-1}` without solving with G, which is nearly
        singular if the functions are wide.
        """
        whitened = self.features(points) @ self._whitening
        gram = whitened.T @ whitened
        # A smaller penalty would be lost in rounding, and fewer points than functions have none.
        gram.flat[:: len(gram) + 1] += max(penalty, _LEAST_PENALTY * float(np.trace(gram)), _TINY)
        V = np.linalg.solve(gram, whitened.T @ values)
        return RadialMap(self, self._whitening @ V, float(np.vdot(V, V)))


def _product(stack: Array, matrix: Array) -> Array:
    """Return the product of each matrix of a stack with one matrix, by a single large product."""
    return (stack.reshape(-1, len(matrix)) @ matrix).reshape(*stack.shape[:2], -1)
