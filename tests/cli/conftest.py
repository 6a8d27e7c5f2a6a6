"""Commands run in this process, and tables for them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from comanifold import report
from comanifold.cli._main import commands
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.tables import Table, write_table


@pytest.fixture
def comanifold(tmp_path, monkeypatch):
    """A function that runs a command in an empty folder; .text is its standard output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        result = CliRunner().invoke(commands, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        is_json = "--json" in arguments and code == 0
        return SimpleNamespace(
            text=result.stdout,
            error=result.stderr,
            json=json.loads(result.stdout) if is_json else None,
        )

    return run


@pytest.fixture(scope="session")
def board():
    """Four groups of rows by three of columns, a third missing, with unusual labels."""
    data = make_checkerboard(40, 30, noise=0.3, random_state=0)
    values = remove_entries(5.0 + data.X, 0.3, random_state=0)
    rows = [f'row "{i}", <b>' for i in range(40)]
    columns = [f"spalte\n{j} é" for j in range(30)]
    return SimpleNamespace(
        table=Table(values, rows, columns, corner="gene"),
        row_labels=data.row_labels,
        column_labels=data.column_labels,
    )


@pytest.fixture
def file(board, tmp_path):
    path = tmp_path / "board.csv"
    write_table(path, board.table)
    return path


@pytest.fixture
def observed(board):
    return ~np.isnan(board.table.values)


@pytest.fixture
def pages(monkeypatch):
    """Replaces the report by a short page; returns the arguments of the last call."""
    given = {}

    def render_report(model, **options):
        given.update(options, model=model)
        return b"<!doctype html>"

    monkeypatch.setattr(report, "render_report", render_report)
    return given
