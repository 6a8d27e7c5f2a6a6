"""`comanifold fit` and `comanifold demo`: from a table to a folder of results."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._annotations import annotations_of_figures, merge_annotations, read_all_annotations
from ._config import config_option, given_options
from ._figures import figure_option
from ._inspect import describe
from ._options import (
    EMBEDDINGS,
    FILE,
    FOLDER,
    GroupedCommand,
    Names,
    OptionGroup,
    model_options,
    output_options,
    preprocessing_options,
    reading_options,
)
from ._output import Output
from ._pages import ANNOTATIONS
from ._run import FitOptions, fit_table

if TYPE_CHECKING:
    from .. import CoManifold
    from ..preprocessing import Preprocessor
    from ..tables import Table

# Rows and columns of the demonstration, and the fraction of its entries that is missing.
DEMO_SHAPE = (200, 150)
_DEMO_MISSING = 0.5


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "options",
            "Results",
            FitOptions,
            [
                click.Option(
                    ["--out", "-o"],
                    type=FOLDER,
                    required=True,
                    metavar="DIR",
                    help="Folder for the results, new or empty.",
                ),
                click.Option(
                    ["--force"],
                    is_flag=True,
                    help="Replace the results of an earlier fit in DIR. Other files there stay.",
                ),
                ANNOTATIONS,
                click.Option(
                    ["--title"], help="Title of the report; by default the name of the file."
                ),
                figure_option(
                    " With --annotations as bars; embeddings in the colours of the first."
                ),
                click.Option(
                    ["--layouts"],
                    type=Names("layout", EMBEDDINGS),
                    default=(),
                    metavar="LIST",
                    help="Further layouts of rows and columns to switch to in the report, such as "
                    "umap,tsne; the coordinates are written, too.",
                ),
                click.Option(
                    ["--check/--no-check"],
                    default=True,
                    help="Whether to measure the error on held-out entries, and that of simple "
                    "methods. A complete table, or --scale-weights cost, needs a second fit for "
                    "it.",
                ),
                click.Option(
                    ["--checkpoint"],
                    type=FOLDER,
                    metavar="DIR",
                    help="Save finished parts of the fit to this folder, so that the same command "
                    "resumes after an interruption.",
                ),
                click.Option(
                    ["--checkpoint-after"],
                    type=float,
                    default=FitOptions.checkpoint_after,
                    show_default=True,
                    metavar="SECONDS",
                    help="Without --checkpoint, fits that are expected to take longer save "
                    "finished parts in the results folder, and delete them at the end.",
                ),
                click.Option(
                    ["--resume"],
                    is_flag=True,
                    help="Refuse to start at the beginning: an error if there are no finished "
                    "parts of this fit. Without it, they are used if there are any.",
                ),
                config_option(),
            ],
        ),
        preprocessing_options,
        reading_options,
        model_options,
        output_options,
    ],
    short_help="Embed, cluster and fill in a table, with a report.",
    examples=[
        "comanifold fit genes.csv --out results",
        "comanifold fit counts.tsv.gz --log1p --standardize --out results",
        'comanifold fit survey.csv --missing "99,refused" --columns 3-58 --out results',
        "comanifold fit cells.h5ad --layer counts --absent missing --out results",
        "comanifold fit genes.csv --clusters 4 --figures svg,pdf --layouts umap --out results",
        "comanifold fit --config results/run.json --clusters 5 --out other",
    ],
)
@click.argument("file", type=FILE)
def fit(
    file: Path,
    options: FitOptions,
    preprocessor: "Preprocessor",
    reading: dict[str, Any],
    model: "CoManifold",
    output: Output,
) -> None:
    """Embed, cluster and fill in the table in FILE, its rows and its columns.

    FILE is CSV, TSV, XLSX, Parquet, NPY, NPZ, H5AD or Matrix Market (MTX); text and MTX also
    compressed with gzip. Empty cells are missing entries; text columns colour the report. Labels
    of a 10x Genomics matrix.mtx are read from features.tsv and barcodes.tsv beside it. See
    `comanifold inspect` for how a file is read.

    The results are an interactive report (report.html), the embeddings of rows and columns, the
    matrix with missing entries filled in, clusters and what distinguishes them, all scales, and
    the model for `comanifold transform` and for Python.

    Ctrl-C keeps the finished parts of a long fit; the same command resumes.
    """
    from ..tables import read_table

    options.refuse_taken_folder()
    table = read_table(file, **reading)
    describe(output, file, table, preprocessor)
    added, notes = read_all_annotations(options.annotations, table.row_names, table.column_names)
    table = replace(table, annotations=merge_annotations(table.annotations, added))
    for note in notes:
        output.say(f"  {note}")
    options = replace(options, title=options.title or file.name)
    result = fit_table(
        table,
        options,
        preprocessor,
        model,
        output,
        in_figures=annotations_of_figures(added),
        given=given_options(),
    )
    output.result({"file": file.name, "out": str(options.out), **result})


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "out",
            "Results",
            lambda *, out: out,
            [
                click.Option(
                    ["--out", "-o"],
                    type=FOLDER,
                    default=Path("results") / "demo",
                    show_default=True,
                    metavar="DIR",
                    help="Folder for the results. Those of an earlier demo are replaced.",
                )
            ],
        ),
        output_options,
    ],
    short_help="Fit built-in data and write all results.",
    examples=["comanifold demo", "comanifold demo --out my_demo"],
)
def demo(out: Path, output: Output) -> None:
    """Fit a built-in matrix with half of its entries missing, and write all results.

    Each entry is the distance, with noise, between a point on a helix (row) and a point on a bent
    sheet inside it (column). Rows and columns are shuffled and half of the entries removed. From
    the rest, the helix is recovered as a curve and the sheet as a surface, and the matrix is
    organised and filled in.
    """
    from .. import CoManifold
    from ..preprocessing import Preprocessor

    title = "Demonstration: a helix and a sheet, half missing"
    options = FitOptions(out, force=True, title=title)
    options.refuse_taken_folder()
    output.say(
        f"Distances between {DEMO_SHAPE[0]} points of a helix (rows) and {DEMO_SHAPE[1]} of a bent "
        f"sheet (columns), shuffled, {_DEMO_MISSING:.0%} missing"
    )
    model = CoManifold(n_jobs=os.cpu_count())
    result = fit_table(_demo_table(), options, Preprocessor(), model, output)
    output.result({"file": "demo", "out": str(out), **result})


def _demo_table() -> "Table":
    """Return the table of the demonstration, annotated with the true positions."""
    from ..datasets import make_linkage, remove_entries
    from ..tables import Table

    data = make_linkage(*DEMO_SHAPE, noise=0.1, random_state=0)
    along, across = data.column_position.T
    return Table(
        remove_entries(data.X, _DEMO_MISSING, random_state=0),
        [f"helix {i}" for i in range(1, DEMO_SHAPE[0] + 1)],
        [f"sheet {j}" for j in range(1, DEMO_SHAPE[1] + 1)],
        annotations={
            "rows": {"position on the helix": data.row_position[:, 0].tolist()},
            "columns": {
                "position along the sheet": along.tolist(),
                "position across the sheet": across.tolist(),
            },
        },
    )
