"""`comanifold compare`: our filled-in values and neighbours beside those of other methods."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._config import config_option
from ._figures import FORMATS, save_figure
from ._inspect import describe
from ._options import (
    COUNT,
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
from ._output import Output, RunBar
from ._run import compile_seconds, say_expected_time

if TYPE_CHECKING:
    from .. import CoManifold
    from ..comparison import Comparison, ComparisonProgress
    from ..preprocessing import Preprocessor

KIND = "comparison"

# Seconds to load and compile UMAP, in its first run.
_LOADING_UMAP = 12.0

_TABLE, _NUMBERS, _PICTURE = "comparison.csv", "comparison.json", "comparison"


@dataclass(frozen=True)
class CompareOptions:
    """What to compare, and where the results go."""

    out: Path | None
    force: bool
    figures: tuple[str, ...]
    repeats: int
    fraction: float
    nearest: int

    def files(self) -> list[str]:
        """Return the names of all files that are written."""
        return [_TABLE, _NUMBERS, *(f"{_PICTURE}.{ending}" for ending in self.figures)]

    def check(self) -> None:
        """Raise FileExistsError if results cannot be written. Nothing is changed."""
        from .._io import check_folder

        if self.out is None:
            return
        try:
            check_folder(self.out, kind=KIND, overwrite=self.force)
        except FileExistsError as error:
            message = str(error).replace("or overwrite it", "or replace its results with --force")
            raise FileExistsError(message) from error


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "options",
            "Comparison",
            CompareOptions,
            [
                click.Option(
                    ["--out", "-o"],
                    type=FOLDER,
                    metavar="DIR",
                    help="Folder for the table (CSV, JSON) and the picture, new or empty. Without "
                    "it, the table is only printed.",
                ),
                click.Option(
                    ["--force"], is_flag=True, help="Replace an earlier comparison in DIR."
                ),
                click.Option(
                    ["--figures"],
                    type=Names("format", FORMATS),
                    default=("png",),
                    metavar="LIST",
                    help="Formats of the picture, such as svg,pdf. [default: png]",
                ),
                click.Option(
                    ["--repeats"],
                    type=click.IntRange(min=2),
                    default=5,
                    show_default=True,
                    metavar="N",
                    help="How often entries are held out.",
                ),
                click.Option(
                    ["--fraction"],
                    type=click.FloatRange(0, 1, min_open=True, max_open=True),
                    default=0.1,
                    show_default=True,
                    metavar="P",
                    help="Part of the observed entries that is held out each time.",
                ),
                click.Option(
                    ["--nearest"],
                    type=COUNT,
                    default=10,
                    show_default=True,
                    metavar="N",
                    help="Neighbours of each row and column that are judged.",
                ),
                config_option(),
            ],
        ),
        preprocessing_options,
        reading_options,
        model_options,
        output_options,
    ],
    short_help="Compare with SoftImpute, KNN, means and UMAP on a table.",
    examples=[
        "comanifold compare genes.csv",
        "comanifold compare genes.csv --out comparison --figures svg,pdf",
        "comanifold compare --config results/run.json",
    ],
)
@click.argument("file", type=FILE)
def compare(
    file: Path,
    options: CompareOptions,
    preprocessor: "Preprocessor",
    reading: dict[str, Any],
    model: "CoManifold",
    output: Output,
) -> None:
    """Compare our method with others on the table in FILE, which may do better on it.

    Some observed entries are held out, several times and the same ones for all methods:
    comanifold, SoftImpute, KNN of rows and of columns, row and column means, and, where it is
    installed, UMAP after SoftImpute. Measured are the error of the filled-in values, and whether
    the nearest rows and columns agree with the held-out entries. One table, one picture, and the
    conclusions in words, with differences that may be chance named as such.
    """
    from .. import comparison
    from ..tables import read_table

    options.check()
    table = read_table(file, **reading)
    describe(output, file, table, preprocessor)
    X = preprocessor.fit_transform(table.values)
    bar = _bar(model, X.shape, options, output)
    with bar:
        found = comparison.compare(
            X,
            model,
            n_repeats=options.repeats,
            fraction=options.fraction,
            n_neighbors=options.nearest,
            progress=lambda at: _update(bar, at),
        )
    files = [] if options.out is None else _write(found, options)
    for line in str(found).splitlines():
        output.say(line)
    if options.out is not None:
        output.say(f"Files in {options.out}: {', '.join(files)}")
    output.result(
        {
            "file": file.name,
            "out": None if options.out is None else str(options.out),
            "files": files,
            **found.as_dict(),
        }
    )


def _part(method: str, repeat: int, n_repeats: int) -> str:
    return f"{method}, {repeat + 1} of {n_repeats}"


def _bar(
    model: "CoManifold", shape: tuple[int, int], options: CompareOptions, output: Output
) -> RunBar:
    """Return the bar of all methods and repeats, after printing how long they take."""
    from .._fit.expected_time import speed_factor
    from ..comparison import OURS, UMAP, choose_methods, expected_seconds

    chosen, _ = choose_methods(shape, n_repeats=options.repeats)
    parts, kinds = {}, {}
    for repeat in range(options.repeats):
        for method in (OURS, *chosen):
            name = _part(method, repeat, options.repeats)
            kinds[name] = method
            parts[name] = (
                model.expected_seconds(shape) if method == OURS else expected_seconds(method, shape)
            )
    parts[_part(OURS, 0, options.repeats)] += compile_seconds()
    if UMAP in chosen:
        parts[_part(UMAP, 0, options.repeats)] += speed_factor() * _LOADING_UMAP
    say_expected_time(output, sum(parts.values()))
    return RunBar(parts, kinds=kinds, quiet=output.quiet)


def _update(bar: RunBar, at: "ComparisonProgress") -> None:
    """Show the progress of a comparison."""
    if at.fraction == 0.0:
        bar.begin(_part(at.method, at.repeat, at.n_repeats))
    else:
        bar.update(at.fraction, "")


def _write(found: "Comparison", options: CompareOptions) -> list[str]:
    """Write table, numbers and picture; return their names."""
    from .._io import OwnedFolder
    from ..tables import write_rows

    table = found.table
    rows = zip(*(values.tolist() for values in table.values()), strict=True)
    content = json.dumps(found.as_dict(), indent=1, allow_nan=False)
    with OwnedFolder(options.out, KIND) as folder:
        folder.refuse_taken(options.files())
        with folder.publish(last=_NUMBERS) as temporary:
            write_rows(
                temporary.file(_TABLE),
                [tuple(table), *([_blank_for_nan(cell) for cell in row] for row in rows)],
                atomic=False,
            )
            save_figure(
                found.plot,
                lambda ending: temporary.file(f"{_PICTURE}.{ending}"),
                options.figures,
            )
            temporary.file(_NUMBERS).write_text(content, encoding="utf-8")
    return options.files()


def _blank_for_nan(cell: Any) -> Any:
    return "" if cell != cell else cell
