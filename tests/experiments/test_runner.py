"""Pieces of work: done once, written whole, and failures on their own."""

import pandas as pd

from comanifold.experiments._runner import Unit, collect, run_units


def table(name, number):
    return pd.DataFrame({"name": [name], "number": [number]})


def failing(name):
    raise ValueError(f"no {name} today")


def test_the_file_is_named_after_the_arguments():
    assert Unit("ari", table, ("lung500", 5)).name == "lung500-05"


def test_units_are_done_once(tmp_path):
    units = [Unit("t", table, ("a", n)) for n in range(3)]
    assert len(list(run_units(units[:2], tmp_path))) == 2
    (third,) = run_units(units, tmp_path)
    assert third == (units[2], None)
    assert collect(units, tmp_path)["number"].tolist() == [0, 1, 2]


def test_processes_give_the_same_tables(tmp_path):
    units = [Unit("t", table, ("a", n)) for n in range(4)]
    assert {unit for unit, _ in run_units(units, tmp_path, n_jobs=2)} == set(units)
    assert collect(units, tmp_path)["number"].tolist() == [0, 1, 2, 3]


def test_a_failure_is_told_and_costs_nothing_else(tmp_path):
    units = [Unit("t", failing, ("x",)), Unit("t", table, ("a", 1))]
    outcomes = dict(run_units(units, tmp_path))
    assert outcomes[units[0]].reason == "ValueError: no x today"
    assert outcomes[units[1]] is None
    assert not units[0].is_done(tmp_path)
