"""The report and the figures of a fit, and `comanifold report`, which writes them again."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._annotations import annotations_of_figures, merge_annotations, read_all_annotations
from ._figures import figure_option, possible_figures, render_overview, write_figures
from ._options import FILE, GroupedCommand, OptionGroup, output_options
from ._output import Output
from ._results import (
    FIGURE,
    KIND,
    MARKER,
    REPORT,
    Layouts,
    NewFile,
    Run,
    read_layouts,
    read_results,
)

if TYPE_CHECKING:
    from .. import CoManifold


@dataclass(frozen=True)
class ReportOptions:
    """What to change in the report; None for what stays."""

    annotations: tuple[Path, ...]
    title: str | None
    figures: tuple[str, ...] = ()


ANNOTATIONS = click.Option(
    ["--annotations"],
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Table of annotations by row or column label, to colour the report and the figures by. "
    "May be repeated, for rows and for columns.",
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
                figure_option(""),
            ],
        ),
        output_options,
    ],
    short_help="Write the report of a fit again, and figures.",
    examples=[
        "comanifold report results",
        "comanifold report results --annotations patients.csv --title 'All patients'",
        "comanifold report results --figures svg,pdf",
    ],
)
@click.argument("folder", metavar="DIR", type=FILE)
def report(folder: Path, options: ReportOptions, output: Output) -> None:
    """Write report.html and overview.png again from the results of a fit in DIR.

    With --figures, figures for papers as well. A file that was edited since it was written is not
    replaced: move it away first.
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
        added, notes = read_all_annotations(options.annotations, run.row_names, run.column_names)
        for note in notes:
            output.say(note)
        run = replace(
            run,
            annotations=merge_annotations(run.annotations, added),
            in_figures={**run.in_figures, **annotations_of_figures(added)},
        )
    layouts = read_layouts(folder, run)
    with OwnedFolder(folder, KIND) as owned, ExitStack() as files:
        owned.refuse_taken([REPORT, FIGURE, *possible_figures(options.figures)])
        written, skipped = write_pages(
            lambda name: files.enter_context(owned.write(name)),
            model,
            run,
            layouts=layouts,
            formats=options.figures,
        )
    if not written:
        raise ImportError("\n".join(skipped))
    for line in [*skipped, *(str(folder / name) for name in written)]:
        output.say(line)
    output.result({"out": str(folder), "files": written, "skipped": skipped})


def write_pages(
    new_file: NewFile,
    model: "CoManifold",
    run: Run,
    *,
    layouts: Layouts,
    formats: tuple[str, ...] = (),
) -> tuple[list[str], list[str]]:
    """Write report and figures; return the names of those written, and why others were not."""
    written: list[str] = []
    skipped: list[str] = []

    def page() -> list[str]:
        content = render_page(model, run, layouts)
        new_file(REPORT).write_bytes(content)
        return [REPORT]

    def overview() -> list[str]:
        content = render_overview(model, run)
        new_file(FIGURE).write_bytes(content)
        return [FIGURE]

    for name, write in (
        (REPORT, page),
        (FIGURE, overview),
        ("--figures", lambda: write_figures(new_file, model, run, formats)),
    ):
        try:
            written += write()
        except ImportError as error:
            advice = "" if "pip install" in str(error) else ": pip install 'comanifold[report]'"
            skipped.append(f"{name} was not written, because {error}{advice}")
    return written, skipped


def render_page(model: "CoManifold", run: Run, layouts: Layouts) -> bytes:
    """Return the report as HTML."""
    from ..report import render_report

    return render_report(
        model,
        row_names=run.row_names,
        column_names=run.column_names,
        title=run.title,
        notes=run.notes,
        annotations=run.annotations or None,
        errors=run.held_out(),
        **({"layouts": layouts} if layouts else {}),
    )
