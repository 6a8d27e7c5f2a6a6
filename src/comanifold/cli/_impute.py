"""`comanifold impute`: a table with its holes filled in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ._fit import refuse_unwritable, say_expected
from ._help import SectionedCommand, examples, option, together
from ._model_options import make_model, model_options
from ._preparation import Preparation, preparing_options
from ._reading_options import describe, read, reading_options
from ._talk import Talk, duration, plain_errors, talk_options

file_options: Callable = together(
    option(
        "--out",
        "-o",
        type=click.Path(path_type=Path),
        required=True,
        metavar="FILE2",
        section="Results",
        help="The table to write; its ending says how: .csv, .tsv (also .gz), .parquet, .npy, "
        ".npz or .h5ad.",
    ),
    option("--force", is_flag=True, section="Results", help="Replace FILE2 if it is there."),
)


@click.command(
    cls=SectionedCommand,
    short_help="Fill in the missing entries of a table.",
    epilog=examples(
        "comanifold impute genes.csv -o complete.csv",
        "comanifold impute counts.tsv.gz --log1p -o complete.parquet",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@file_options
@preparing_options
@reading_options
@model_options
@talk_options
def impute(file: Path, **given: Any) -> None:
    """Fill in the missing entries of the table in FILE.

    Entries that are there are written as they are. Rows and columns without any entry cannot be
    filled in, and stay empty.
    """
    talk = Talk(as_json=given["as_json"], quiet=given["quiet"])
    out: Path = given["out"]
    with plain_errors():
        from dataclasses import replace

        import numpy as np

        from ..tables import check_writable, write_table
        from ._fitting import Fitter, expected_seconds

        check_writable(out)
        refuse_file(out, given["force"])
        table = read(file, given)
        describe(talk, file, table)
        preparation = Preparation.of(
            table.values, log1p=given["log1p"], standardize=given["standardize"]
        )
        model = make_model(given)
        say_expected(talk, expected_seconds(model, table.values.shape))
        fitted = Fitter(talk).fit(model, preparation.apply(table.values), "filling in")
        values = preparation.fill_in(table.values, model.filled_)
        filled = replace(table, values=values)
        # As the file has it.
        write_table(out, filled.transposed() if given["transpose"] else filled)
        n_filled = int(np.isnan(table.values).sum() - np.isnan(values).sum())
        for message in fitted.warnings:
            talk.say(f"Warning: {message}")
        talk.say(f"{n_filled:,} entries filled in, in {duration(fitted.seconds)}: {out}")
        talk.end(
            {
                "file": str(file),
                "out": str(out),
                "n_filled": n_filled,
                "n_left": int(np.isnan(values).sum()),
                "seconds": fitted.seconds,
                "warnings": fitted.warnings,
            }
        )


def refuse_file(out: Path, force: bool) -> None:
    """Refuse to write over something, unless told to, or into a folder."""
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder: name a file")
    if out.exists() and not force:
        raise FileExistsError(f"{out} is there already: name another file, or say --force")
    refuse_unwritable(out)
