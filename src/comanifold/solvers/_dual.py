"""Dual points: one vector per edge, no longer than what the edge may carry.

With fixed caps c_e the problem

    min_U  1/2 ||P(X - U)||^2 + sum_e c_e ||D_e U||

(D_e U the difference of two rows, or of two columns) has a dual vector for every edge, at most
c_e long. Any such vectors bound the minimum from below, and so certify how far an estimate can
be from it.
"""

from dataclasses import dataclass

import numpy as np

from ._dual_kernels import divergence
from ._problem import Array, Problem


@dataclass(frozen=True)
class Dual:
    """Dual vectors: rows of length n_columns for the row edges, of length n_rows for the others."""

    rows: Array
    columns: Array

    @classmethod
    def zeros(cls, problem: Problem) -> "Dual":
        n_rows, n_columns = problem.counts.shape
        return cls(
            np.zeros((len(problem.rows), n_columns)), np.zeros((len(problem.columns), n_rows))
        )

    def lengths(self) -> tuple[Array, Array]:
        return np.linalg.norm(self.rows, axis=1), np.linalg.norm(self.columns, axis=1)

    def project(self, caps: tuple[Array, Array]) -> "Dual":
        """The nearest dual point with vectors no longer than `caps`."""
        shortened = []
        for vectors, lengths, cap in zip(
            (self.rows, self.columns), self.lengths(), caps, strict=True
        ):
            factor = np.divide(cap, lengths, out=np.ones_like(cap), where=lengths > cap)
            shortened.append(vectors * factor[:, None])
        return Dual(*shortened)

    def pull(self, problem: Problem, factors: tuple[Array, Array] | None = None) -> Array:
        """sum_e factor_e D_e' dual_e: what the edges pull at each entry of the estimate."""
        if factors is None:
            factors = np.ones(len(problem.rows)), np.ones(len(problem.columns))
        n_rows, n_columns = problem.counts.shape
        by_rows = np.empty((n_rows, n_columns))
        by_columns = np.empty((n_columns, n_rows))
        divergence(self.rows, factors[0], problem.rows.pairs, problem.rows.adjacency, by_rows)
        divergence(
            self.columns, factors[1], problem.columns.pairs, problem.columns.adjacency, by_columns
        )
        by_rows += by_columns.T
        return by_rows

    def lower_bound(self, problem: Problem) -> float:
        """A lower bound on the minimum of the problem at the head of this module.

        With the pull G of the edges, the minimum over U is at least that of
        1/2 ||P(X - U)||^2 + <G, U>, taken entry by entry: x g - g^2 / 2 where x is observed.
        Where nothing is observed g should vanish, which no iterate does exactly; but the
        minimiser lies within the range of the data, since clipping an estimate to it lowers
        every term, and so the entry costs no more than g times an end of that range.
        """
        G = self.pull(problem)
        observed = problem.counts > 0
        x = problem.means
        low, high = x[observed].min(), x[observed].max()
        return float(np.where(observed, G * x - 0.5 * G**2, np.minimum(G * low, G * high)).sum())


def tangent_objective(
    problem: Problem, U: Array, caps: tuple[Array, Array], norms: tuple[Array, Array] | None = None
) -> float:
    """The objective of the problem at the head of this module."""
    row_norms, column_norms = problem.norms(U) if norms is None else norms
    data = 0.5 * np.vdot(problem.counts, (U - problem.means) ** 2)
    return float(data + caps[0] @ row_norms + caps[1] @ column_norms)
