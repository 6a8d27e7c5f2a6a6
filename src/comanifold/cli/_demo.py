"""`comanifold demo`: everything on built-in data."""

from pathlib import Path
from typing import Any

import click

from ._fit import fit, run_fit
from ._help import SectionedCommand, examples, option
from ._output import Output, output_options, plain_errors

_N_ROWS, _N_COLUMNS = 200, 150
_SHARE_MISSING = 0.5


@click.command(
    cls=SectionedCommand,
    short_help="Show it all on built-in data.",
    epilog=examples("comanifold demo", "comanifold demo --out my_demo"),
)
@option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results") / "demo",
    show_default=True,
    metavar="DIR",
    section="Options",
    help="Folder for the results. Those of an earlier demo are replaced.",
)
@output_options
def demo(**given: Any) -> None:
    """Show what there is to see, on a matrix with half of its entries missing.

    Every entry is the distance between a point of a helix (a row) and a point of a bent sheet
    inside of it (a column), with noise. Rows and columns are shuffled and half of the entries
    removed. From what is left, the helix is found again as a curve, the sheet as a surface, and
    the matrix is put in order and filled in.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    with plain_errors():
        table, annotations = _data()
        output.say(
            f"Distances between {_N_ROWS} points of a helix (rows) and {_N_COLUMNS} of a bent "
            f"sheet (columns), shuffled, {_SHARE_MISSING:.0%} missing"
        )
        # What `comanifold fit` would have without options.
        settings = fit.make_context("fit", ["demo", "--out", str(given["out"])]).params
        title = "Demonstration: a helix and a sheet, half missing"
        settings = {**settings, **given, "force": True, "title": title}
        run_fit(table, "demo", annotations, settings, output)


def _data() -> tuple[Any, dict[str, dict[str, list[float]]]]:
    """The table, and where on the helix and the sheet its rows and columns are."""
    from ..datasets import make_linkage, remove_entries
    from ..tables import Table

    data = make_linkage(_N_ROWS, _N_COLUMNS, noise=0.1, random_state=0)
    values = remove_entries(data.X, _SHARE_MISSING, random_state=0)
    table = Table(
        values,
        [f"helix {i}" for i in range(1, _N_ROWS + 1)],
        [f"sheet {j}" for j in range(1, _N_COLUMNS + 1)],
    )
    along, across = data.column_position.T
    annotations = {
        "rows": {"position on the helix": data.row_position[:, 0].tolist()},
        "columns": {
            "position along the sheet": along.tolist(),
            "position across the sheet": across.tolist(),
        },
    }
    return table, annotations
