"""`comanifold transform`: new rows or columns in the embeddings of a fit."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import SectionedCommand, examples, option
from ._impute import file_options, refuse_file, reserve_file, write_file
from ._output import Output, output_options, plain_errors
from ._preparation import Preparation
from ._reading_options import describe, read, reading_options

if TYPE_CHECKING:
    from .. import CoManifold
    from ..tables import Table


@click.command(
    cls=SectionedCommand,
    short_help="Place new rows or columns in an embedding.",
    epilog=examples(
        "comanifold transform results new_genes.csv -o placed.csv",
        "comanifold transform results new_patients.csv --new columns -o placed.csv",
    ),
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@file_options
@option(
    "--new",
    type=click.Choice(["rows", "columns"]),
    default="rows",
    show_default=True,
    section="Results",
    help="What in FILE is new: its rows, for the columns of the fit, or its columns.",
)
@reading_options
@output_options
def transform(model: Path, file: Path, **given: Any) -> None:
    """Place the new rows, or columns, of FILE in an embedding found before.

    MODEL is the folder that `comanifold fit` has left, or one of `CoManifold.save`. Columns of
    FILE are matched with those of the fit by their names (with --new columns, rows by their
    labels); their order does not matter, and those that the fit did not have are left out. What
    was done to the data before the fit is done to the new ones as well.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    out: Path = given["out"]
    with plain_errors():
        from ..tables import Table, check_writable

        check_writable(out)
        refuse_file(out, given["force"])
        fitted, preparation = _load(model)
        table = read(file, given)
        describe(output, file, table)
        new_columns = given["new"] == "columns"
        values = _matched(table, fitted, new_columns, output)
        reserve_file(out, max(table.values.shape) * fitted.row_embedding_.shape[1])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Names have been matched; arrays have none.
            warnings.filterwarnings("ignore", message=".*valid feature names.*")
            points = (
                fitted.transform_columns(preparation.apply_to_columns(values))
                if new_columns
                else fitted.transform(preparation.apply(values))
            )
        messages = list(dict.fromkeys(str(warning.message) for warning in caught))
        titles = [f"coordinate_{i}" for i in range(1, points.shape[1] + 1)]
        names = table.column_names if new_columns else table.row_names
        write_file(output, out, Table(points, names, titles, corner=given["new"][:-1]))
        for message in messages:
            output.say(f"Warning: {message}")
        output.say(f"{len(points):,} {given['new']} placed: {out}")
        output.end(
            {"file": str(file), "out": str(out), "n_placed": len(points), "warnings": messages}
        )


def _load(folder: Path) -> tuple["CoManifold", Preparation]:
    """The model in a folder, and what was done to its data."""
    from .. import CoManifold
    from ._results import MARKER, MODEL, Run, complete_results

    complete_results(folder)
    if (folder / MARKER).is_file():
        return CoManifold.load(folder / MODEL), Run.read(folder).preparation
    if folder.name == MODEL and (folder.parent / MARKER).is_file():
        return _load(folder.parent)
    return CoManifold.load(folder), Preparation()


def _matched(table: "Table", model: "CoManifold", new_columns: bool, output: Output) -> Any:
    """The values, in the order of the fit along the mode that is not new."""
    known, ours = (
        (model.row_names_in_, table.row_names)
        if new_columns
        else (getattr(model, "feature_names_in_", None), table.column_names)
    )
    mode = "row" if new_columns else "column"
    axis = 0 if new_columns else 1
    n_known = len(model._rows) if new_columns else model.n_features_in_
    places = {name: place for place, name in enumerate(ours)}
    wanted = None if known is None else [str(name) for name in known]
    if wanted is None or not any(name in places for name in wanted):
        # Without labels, which tables number then, the order has to do.
        unnamed = wanted is None or all(
            name == f"{mode} {number}" for number, name in enumerate(ours, start=1)
        )
        if unnamed and len(ours) == n_known:
            output.say(f"  No labels of {mode}s to match: taken to be in the order of the fit.")
            return table.values
    absent = [] if wanted is None else [name for name in wanted if name not in places]
    if absent or wanted is None:
        raise ValueError(_complaint(mode, absent, ours, n_known, table))
    n_more = len(ours) - n_known
    if n_more:
        output.say(f"  {n_more:,} {mode}s that the fit did not have are left out.")
    return table.values.take([places[name] for name in wanted], axis=axis)


def _complaint(mode: str, absent: list[str], ours: list[str], n_known: int, table: "Table") -> str:
    if not absent:
        return f"the fit has {n_known} {mode}s and no labels of them, and the file has {len(ours)}"
    shown = ", ".join(repr(name) for name in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    others = table.row_names if mode == "column" else table.column_names
    hint = (
        ". They are in the file the other way round: say --transpose"
        if set(absent) <= set(others)
        else f": leave such {mode}s empty if they are not known"
    )
    return f"the file lacks {len(absent)} of the {n_known} {mode}s of the fit: {shown}{more}{hint}"
