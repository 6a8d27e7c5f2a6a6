"""Pieces of work: done once, written whole, and failures on their own."""

import pandas as pd
import pytest

from comanifold._io import OwnedFolder
from comanifold.experiments._runner import Unit, collect, run_units


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


def test_units_are_done_once(folder):
    units = [Unit("t", table, ("a", n)) for n in range(3)]
    assert len(list(run_units(units[:2], folder))) == 2
    (third,) = run_units(units, folder)
    assert third == (units[2], None)
    assert collect(units, folder)["number"].tolist() == [0, 1, 2]


def test_processes_give_the_same_tables(folder):
    units = [Unit("t", table, ("a", n)) for n in range(4)]
    assert {unit for unit, _ in run_units(units, folder, n_jobs=2)} == set(units)
    assert collect(units, folder)["number"].tolist() == [0, 1, 2, 3]


def test_a_failure_is_told_and_costs_nothing_else(folder):
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
