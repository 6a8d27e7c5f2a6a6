"""A small network from scores to data: its error, its gradient, and the scores of given rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Damped Gauss-Newton steps for the scores of a row, and the step at which they stop.
_STEPS = 200
_STEADY = 1e-10


class Network(NamedTuple):
    """f(z) = tanh(z W + b) V + c."""

    W: Array
    b: Array
    V: Array
    c: Array

    def __call__(self, scores: Array) -> Array:
        """The rows at given scores. Components past those given are zero."""
        return np.tanh(scores @ self.W[: scores.shape[1]] + self.b) @ self.V + self.c


class Problem:
    r"""Squared error of the rows of X, and what it costs to use large numbers.

    .. math:: \tfrac12 \sum_k \| P_\Theta(X - f(Z_{1:k})) \|_F^2
              + \tfrac{\nu}{2} (\| Z \|_F^2 + \| W \|_F^2 + \| V \|_F^2)

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    levels : sequence of int
        The numbers k of leading components whose errors are added up.
    weight_decay : float
        :math:`\nu`.
    """

    def __init__(self, X: Array, levels: tuple[int, ...], weight_decay: float):
        self.observed = ~np.isnan(X)
        self.X = np.where(self.observed, X, 0.0)
        self.levels = levels
        self.weight_decay = weight_decay

    def value_and_gradient(self, flat: Array, n_hidden: int) -> tuple[float, Array]:
        """The objective and its gradient in all scores and weights, by backpropagation."""
        scores, network = unpack(flat, self.X.shape, self.levels[-1], n_hidden)
        decayed = (scores, network.W, network.V)
        value = 0.5 * self.weight_decay * sum(float(np.vdot(P, P)) for P in decayed)
        in_scores, in_W, in_V = (self.weight_decay * P for P in decayed)
        in_b, in_c = np.zeros_like(network.b), np.zeros_like(network.c)
        for k in self.levels:
            hidden = np.tanh(scores[:, :k] @ network.W[:k] + network.b)
            residual = (hidden @ network.V + network.c - self.X) * self.observed
            value += 0.5 * float(np.vdot(residual, residual))
            in_V += hidden.T @ residual
            in_c += residual.sum(axis=0)
            back = (residual @ network.V.T) * (1.0 - hidden**2)
            in_W[:k] += scores[:, :k].T @ back
            in_b += back.sum(axis=0)
            in_scores[:, :k] += back @ network.W[:k].T
        return value, pack(in_scores, Network(in_W, in_b, in_V, in_c))

    def values_by_row(self, scores: Array, network: Network) -> Array:
        """What of the objective depends on the scores of each row."""
        values = 0.5 * self.weight_decay * (scores**2).sum(axis=1)
        for k in self.levels:
            residual = (network(scores[:, :k]) - self.X) * self.observed
            values += 0.5 * (residual**2).sum(axis=1)
        return values

    def best_of(self, candidates: Array, network: Network) -> Array:
        """For each row the scores, out of those given, with the least error."""
        values = np.tile(0.5 * self.weight_decay * (candidates**2).sum(axis=1), (len(self.X), 1))
        for k in self.levels:
            rows = network(candidates[:, :k])
            values += 0.5 * self.observed @ (rows**2).T - self.X @ rows.T
        return candidates[values.argmin(axis=1)]

    def place(self, scores: Array, network: Network) -> Array:
        """The scores with the least error for each row, by damped Gauss-Newton from those given.

        Every row has a damping of its own, so that its scores do not depend on the others.
        """
        scores = scores.copy()
        # Nothing is known of an empty row: the decay alone would pull it here.
        scores[~self.observed.any(axis=1)] = 0.0
        damping = np.full(len(scores), 1e-3)
        active = np.arange(len(scores))
        for _ in range(_STEPS):
            part = self._rows(active)
            here = scores[active]
            gradient, curvature = part._normal_equations(here, network)
            diagonal = np.einsum("ikk->ik", curvature)
            diagonal += damping[active, None] * (1.0 + diagonal)
            step = np.linalg.solve(curvature, -gradient[..., None])[..., 0]
            better = part.values_by_row(here + step, network) <= part.values_by_row(here, network)
            scores[active[better]] += step[better]
            damping[active] *= np.where(better, 0.2, 5.0)
            small = np.abs(step).max(axis=1) <= _STEADY * (1.0 + np.abs(here).max(axis=1))
            active = active[~small]
            if not active.size:
                break
        return scores

    def _rows(self, rows: NDArray[np.intp]) -> "Problem":
        part = object.__new__(Problem)
        part.observed, part.X = self.observed[rows], self.X[rows]
        part.levels, part.weight_decay = self.levels, self.weight_decay
        return part

    def _normal_equations(self, scores: Array, network: Network) -> tuple[Array, Array]:
        n_components = scores.shape[1]
        gradient = self.weight_decay * scores
        curvature = np.zeros((len(scores), n_components, n_components))
        curvature += self.weight_decay * np.eye(n_components)
        for k in self.levels:
            hidden = np.tanh(scores[:, :k] @ network.W[:k] + network.b)
            residual = (hidden @ network.V + network.c - self.X) * self.observed
            slopes = (network.W[:k] * (1.0 - hidden**2)[:, None, :]) @ network.V
            slopes *= self.observed[:, None, :]
            gradient[:, :k] += (slopes @ residual[..., None])[..., 0]
            curvature[:, :k, :k] += slopes @ slopes.transpose(0, 2, 1)
        return gradient, curvature


def pack(scores: Array, network: Network) -> Array:
    """All scores and weights in one vector."""
    return np.concatenate([scores.ravel(), *(part.ravel() for part in network)])


def unpack(
    flat: Array, shape: tuple[int, int], n_components: int, n_hidden: int
) -> tuple[Array, Network]:
    """The inverse of `pack`."""
    n_rows, n_columns = shape
    shapes = (
        (n_rows, n_components),
        (n_components, n_hidden),
        (n_hidden,),
        (n_hidden, n_columns),
        (n_columns,),
    )
    ends = np.cumsum([int(np.prod(s)) for s in shapes])
    scores, *weights = (
        part.reshape(s) for part, s in zip(np.split(flat, ends[:-1]), shapes, strict=True)
    )
    return scores, Network(*weights)
