"""Units of work: scores against cases with a known answer, and how units are run and resumed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info

from comanifold import DiffusionMap
from comanifold._io import OwnedFolder
from comanifold.baselines import SoftImpute
from comanifold.experiments._units import (
    Unit,
    collect,
    distance_correlation,
    geodesic_correlation,
    rand_index,
    run_units,
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


@pytest.fixture
def folder(tmp_path):
    with OwnedFolder(tmp_path, "set of experiments") as owned:
        yield owned


def table(name, number):
    return pd.DataFrame({"name": [name], "number": [number]})


def failing(name):
    raise ValueError(f"no {name} today")


def test_the_file_is_named_after_the_arguments():
    assert Unit("ari", table, ("lung500", 5)).name == "lung500-05"


def test_finished_units_are_not_run_again(folder):
    units = [Unit("t", table, ("a", n)) for n in range(3)]
    assert len(list(run_units(units[:2], folder))) == 2
    (third,) = run_units(units, folder)
    assert third == (units[2], None)
    assert collect(units, folder)["number"].tolist() == [0, 1, 2]


def test_processes_give_the_same_tables(folder):
    units = [Unit("t", table, ("a", n)) for n in range(4)]
    assert {unit for unit, _ in run_units(units, folder, n_jobs=2)} == set(units)
    assert collect(units, folder)["number"].tolist() == [0, 1, 2, 3]


def test_a_failed_unit_is_reported_and_spares_the_others(folder):
    units = [Unit("t", failing, ("x",)), Unit("t", table, ("a", 1))]
    outcomes = dict(run_units(units, folder))
    assert outcomes[units[0]].reason == "ValueError: no x today"
    assert outcomes[units[1]] is None
    assert not units[0].is_done(folder)


def test_a_table_that_is_not_ours_is_neither_used_nor_replaced(folder):
    unit = Unit("t", table, ("a", 1))
    (folder.path / unit.file).parent.mkdir(parents=True)
    (folder.path / unit.file).write_text("name,number\nmine,7\n")
    with pytest.raises(FileExistsError, match="not replaced"):
        list(run_units([unit], folder))
    assert (folder.path / unit.file).read_text() == "name,number\nmine,7\n"


def threads(name):  # noqa: ARG001
    return pd.DataFrame({"n": [pool["num_threads"] for pool in threadpool_info()]})


def test_a_unit_runs_on_one_thread(folder):
    units = [Unit("t", threads, (f"{n}",)) for n in range(3)]
    list(run_units(units, folder))
    assert (collect(units, folder)["n"] == 1).all()


def embedded(seed):
    X = np.random.default_rng(seed).normal(size=(260, 120))
    X[X > 1.0] = np.nan
    filled = SoftImpute(penalty=5.0, tol=0.1).fit_transform(X)
    return pd.DataFrame(np.hstack([DiffusionMap(2).fit_transform(Z) for Z in (X, filled)]))


def contents(folder):
    return [file.read_bytes() for file in sorted(Path(folder).rglob("*.csv"))]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_tables_do_not_depend_on_processes_nor_on_threads_of_blas(tmp_path, n_threads):
    units = [Unit("t", embedded, (seed,)) for seed in range(2)]
    for name, n_jobs in (("here", 1), ("jobs", 2)):
        with OwnedFolder(tmp_path / name, "test") as folder:
            list(run_units(units, folder, n_jobs=n_jobs))
    code = (
        "import sys; from test_units import *\n"
        "with OwnedFolder(sys.argv[1], 'test') as folder:\n"
        "    list(run_units([Unit('t', embedded, (s,)) for s in range(2)], folder))"
    )
    with (
        OwnedFolder(tmp_path / "threads", "test") as folder,
        parallel_config("threading", n_jobs=2),
    ):
        list(run_units(units, folder))
    count = str(n_threads)
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "other")],
        check=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count},
    )
    expected = contents(tmp_path / "here")
    assert len(expected) == 2
    assert contents(tmp_path / "jobs") == contents(tmp_path / "other") == expected
    assert contents(tmp_path / "threads") == expected
