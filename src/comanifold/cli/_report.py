"""`comanifold report`: the report and the figure of a fit."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._inspect import read_annotations
from ._options import FILE, GroupedCommand, OptionGroup, output_options
from ._output import Output
from ._results import (
    FIGURE,
    KIND,
    MARKER,
    REPORT,
    NewFile,
    Run,
    merge_annotations,
    read_results,
)

if TYPE_CHECKING:
    from .. import CoManifold


@dataclass(frozen=True)
class ReportOptions:
    """What to change in the report; None for what stays."""

    annotations: Path | None
    title: str | None


ANNOTATIONS = click.Option(
    ["--annotations"],
    type=FILE,
    metavar="FILE",
    help="Table of annotations by row or column label, to colour the report by.",
)


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "options",
            "Report",
            ReportOptions,
            [
                ANNOTATIONS,
                click.Option(["--title"], help="Title of the report; unchanged by default."),
            ],
        ),
        output_options,
    ],
    short_help="Write the report of a fit again.",
    examples=[
        "comanifold report results",
        "comanifold report results --annotations patients.csv --title 'All patients'",
    ],
)
@click.argument("folder", metavar="DIR", type=FILE)
def report(folder: Path, options: ReportOptions, output: Output) -> None:
    """Write report.html and overview.png again from the results of a fit in DIR.

    A file that was edited since it was written is not replaced: move it away first.
    """
    from .._io import OwnedFolder

    found = read_results(folder)
    if found is None:
        raise FileNotFoundError(
            f"{folder} contains no results of comanifold fit: there is no {MARKER} in it"
        )
    model, run = found
    if options.title:
        run = replace(run, title=options.title)
    if options.annotations:
        added, note = read_annotations(options.annotations, run.row_names, run.column_names)
        output.say(note)
        run = replace(run, annotations=merge_annotations(run.annotations, added))
    with OwnedFolder(folder, KIND) as owned, ExitStack() as files:
        owned.refuse_taken([REPORT, FIGURE])
        written, skipped = write_pages(
            lambda name: files.enter_context(owned.write(name)), model, run
        )
    if not written:
        raise ImportError("\n".join(skipped))
    for line in [*skipped, *(str(folder / name) for name in written)]:
        output.say(line)
    output.result({"out": str(folder), "files": written, "skipped": skipped})


def write_pages(new_file: NewFile, model: "CoManifold", run: Run) -> tuple[list[str], list[str]]:
    """Write report and figure; return the names of those written, and why others were not."""
    written, skipped = [], []
    for name, render in ((REPORT, render_page), (FIGURE, render_figure)):
        try:
            content = render(model, run)
        except ImportError as error:
            advice = "" if "pip install" in str(error) else ": pip install 'comanifold[report]'"
            skipped.append(f"{name} was not written, because {error}{advice}")
        else:
            new_file(name).write_bytes(content)
            written.append(name)
    return written, skipped


def render_page(model: "CoManifold", run: Run) -> bytes:
    """Return the report as HTML."""
    from ..report import render_report

    return render_report(
        model,
        row_names=run.row_names,
        column_names=run.column_names,
        title=run.title,
        notes=run.notes,
        annotations=run.annotations or None,
    )


def render_figure(model: "CoManifold", _run: Run) -> bytes:
    """Return the overview figure as PNG."""
    import io

    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        figure = model.plot()
        content = io.BytesIO()
        figure.savefig(content, dpi=150, format="png")
        plt.close(figure)
    return content.getvalue()
