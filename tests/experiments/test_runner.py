"""Units of work: run once, written atomically, failing on their own."""

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
from comanifold.experiments._units import Unit, collect, run_units


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
        "import sys; from test_runner import *\n"
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
