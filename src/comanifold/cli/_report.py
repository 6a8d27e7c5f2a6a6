"""`comanifold report`: the page of a fit, made again."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ._help import SectionedCommand, examples, option
from ._output import Output, output_options, plain_errors


@click.command(
    cls=SectionedCommand,
    short_help="Make the report of a fit again.",
    epilog=examples(
        "comanifold report results",
        "comanifold report results --annotations patients.csv --title 'All patients'",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@option(
    "--annotations",
    type=click.Path(path_type=Path),
    metavar="FILE",
    section="Options",
    help="A table with what is known of rows or columns, by label, to colour the report by.",
)
@option("--title", section="Options", help="Of the report. By default the one it had.")
@output_options
def report(folder: Path, **given: Any) -> None:
    """Make report.html and overview.png again from the results of a fit in DIR.

    If one of the two was changed since it was written, it is not replaced: move it away first.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    with plain_errors():
        from .. import CoManifold
        from .._io import OwnedFolder
        from ._annotations import read_annotations
        from ._results import (
            FIGURE,
            KIND,
            MARKER,
            MODEL,
            REPORT,
            Run,
            complete_results,
            write_pages,
        )

        complete_results(folder)
        if not (folder / MARKER).is_file():
            raise FileNotFoundError(
                f"{folder} holds no results of comanifold fit: there is no {MARKER} in it"
            )
        run = Run.read(folder)
        model = CoManifold.load(folder / MODEL)
        if given["title"]:
            run = replace(run, title=given["title"])
        if given["annotations"]:
            found, note = read_annotations(given["annotations"], run.row_names, run.column_names)
            output.say(note)
            run = replace(run, annotations={**run.annotations, **found})
        with OwnedFolder(folder, KIND) as owned, ExitStack() as files:
            owned.refuse_taken([REPORT, FIGURE])
            made, lacking = write_pages(
                lambda name: files.enter_context(owned.write(name)), model, run
            )
        if not made:
            raise ImportError("\n".join(lacking))
        for message in lacking:
            output.say(message)
        for name in made:
            output.say(str(folder / name))
        output.end({"out": str(folder), "files": made, "lacking": lacking})
