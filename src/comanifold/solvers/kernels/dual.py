"""Dual vectors of the edges, one of the length of a row for each edge."""

import numpy as np

from . import kernel


@kernel
def divergence(vectors, factors, pairs, adjacency, out):
    """out[i] = sum of factors[e] vectors[e] over the edges that start at i, less those that end."""
    start, _, edge = adjacency
    n = vectors.shape[1]
    for i in range(out.shape[0]):
        o = out[i]
        for b in range(n):
            o[b] = 0.0
        for k in range(start[i], start[i + 1]):
            e = edge[k]
            factor = factors[e] if pairs[e, 0] == i else -factors[e]
            vector = vectors[e]
            for b in range(n):
                o[b] += factor * vector[b]


@kernel
def shrink_factors(V, vectors, pairs, caps, rho):
    """min(1, caps[e] / ||vectors[e] + rho (V_i - V_j)||) for e = (i, j)."""
    factors = np.empty(pairs.shape[0])
    for e in range(pairs.shape[0]):
        vi, vj, vector = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e]
        total = 0.0
        for b in range(V.shape[1]):
            x = vector[b] + rho * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        factors[e] = 1.0 if length <= caps[e] else caps[e] / length
    return factors


@kernel
def advance_multipliers(V, vectors, leading, pairs, caps, rho, momentum):
    """One accelerated step of the multipliers, in place.

    vectors[e] becomes leading[e] + rho (V_i - V_j), shortened to caps[e]; leading[e] goes
    past it by `momentum` times its change. Returns the squared length of the step from leading
    to vectors, and which edges needed no shortening.
    """
    n = V.shape[1]
    moved = 0.0
    inside = np.empty(pairs.shape[0], dtype=np.bool_)
    for e in range(pairs.shape[0]):
        vi, vj, vector, lead = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e], leading[e]
        total = 0.0
        for b in range(n):
            x = lead[b] + rho * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        inside[e] = length <= caps[e]
        factor = 1.0 if inside[e] else caps[e] / length
        for b in range(n):
            x = factor * (lead[b] + rho * (vi[b] - vj[b]))
            moved += (x - lead[b]) * (x - lead[b])
            lead[b] = x + momentum * (x - vector[b])
            vector[b] = x
    return moved, inside


@kernel
def ascend_dual(V, vectors, leading, pairs, caps, steps, momentum):
    """One accelerated step of projected dual ascent, in place, as `advance_multipliers`.

    Returns the inner product of the step back from leading with the last change of vectors, in
    the metric of the steps: positive when the momentum points the wrong way.
    """
    n = V.shape[1]
    wrong_way = 0.0
    for e in range(pairs.shape[0]):
        vi, vj, vector, lead = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e], leading[e]
        total = 0.0
        for b in range(n):
            x = lead[b] + steps[e] * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        factor = 1.0 if length <= caps[e] else caps[e] / length
        product = 0.0
        for b in range(n):
            x = factor * (lead[b] + steps[e] * (vi[b] - vj[b]))
            change = x - vector[b]
            product += (lead[b] - x) * change
            lead[b] = x + momentum * change
            vector[b] = x
        wrong_way += product / steps[e]
    return wrong_way
