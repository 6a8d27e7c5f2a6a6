"""Scores of embeddings against cases with a known answer."""

import numpy as np
import pytest

from comanifold.experiments._units import (
    distance_correlation,
    geodesic_correlation,
    rand_index,
    separation,
    trustworthiness_score,
)

RNG = np.random.default_rng(0)
PLANE = RNG.uniform(size=(150, 2))
GROUPS = np.repeat([0, 1, 2], 20)
APART = np.eye(3)[GROUPS] * 10 + RNG.normal(size=(60, 3))


def test_rand_index_ignores_the_numbers_of_groups():
    assert rand_index(APART, GROUPS) == 1.0
    assert rand_index(APART, (GROUPS + 1) % 3) == 1.0
    assert abs(rand_index(RNG.normal(size=(60, 3)), GROUPS)) < 0.2


def test_separation_of_one_group_from_all_others():
    assert separation(APART, GROUPS, 0) > 0.4
    assert separation(RNG.normal(size=(60, 3)), GROUPS, 0) < 0.2


def test_a_similar_copy_scores_one():
    angle = 0.3
    turned = 5 * PLANE @ [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]] + 2
    assert trustworthiness_score(turned, PLANE) == 1.0
    assert distance_correlation(turned, PLANE) == pytest.approx(1.0)
    assert geodesic_correlation(turned, PLANE) == pytest.approx(1.0)


def test_shuffled_points_score_near_zero():
    shuffled = PLANE[RNG.permutation(len(PLANE))]
    assert trustworthiness_score(shuffled, PLANE) < 0.6
    assert abs(distance_correlation(shuffled, PLANE)) < 0.1
    assert abs(geodesic_correlation(shuffled, PLANE)) < 0.1


def test_geodesics_of_a_rolled_up_curve():
    t = np.sort(RNG.uniform(0, 1, size=200))
    roll = np.column_stack([t * np.cos(9 * t), t * np.sin(9 * t)])
    line = np.cumsum(np.r_[0, np.linalg.norm(np.diff(roll, axis=0), axis=1)])[:, None]
    assert geodesic_correlation(roll, line) > 0.999
    assert distance_correlation(roll, line) < 0.9


def test_duplicated_points():
    doubled = np.vstack([PLANE[:50], PLANE[:50]])
    assert geodesic_correlation(doubled, doubled) == pytest.approx(1.0)
