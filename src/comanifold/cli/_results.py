"""The results folder of a fit, and `comanifold report`, which writes its pages again."""

import json
import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._options import FILE, GroupedCommand, OptionGroup, Output, output_options

if TYPE_CHECKING:
    from .. import CoManifold
    from .._embedding.clusters import Clusters
    from ..model_selection import HeldOutErrors
    from ..preprocessing import Preprocessor
    from ..tables import Table

KIND = "set of results"

# Everything about a fit that is not in the model; written last.
MARKER = "run.json"
MODEL = "model"
REPORT = "report.html"
FIGURE = "overview.png"
TABLES = ("row_embedding.csv", "column_embedding.csv", "filled.csv", "scales.csv", "clusters.csv")

# All files that a fit may write.
FILES = (*TABLES, MARKER, REPORT, FIGURE, f"{MODEL}/model.json", f"{MODEL}/arrays.npz")

# The annotation of the report with the clusters of clusters.csv.
FOUND = "clusters found"

# Rows and columns with less confidence in their cluster are between clusters.
_LEAST_CONFIDENCE = 0.5

# {"rows" or "columns": {name: one value for each row or column}}
Annotations = dict[str, dict[str, list[Any]]]

# Returns the path to which a file of the results is written.
NewFile = Callable[[str], Path]

# Bytes of the results for each entry of the matrix and each distance, and of report and figure.
_PER_ENTRY = 24 + 22
_PER_DISTANCE = 2 * 8
_PAGES = 8_000_000


@dataclass(frozen=True)
class FitResults:
    """A fitted table: the table as read, the fitted steps, and what was found."""

    table: "Table"
    preprocessor: "Preprocessor"
    model: "CoManifold"
    clusters: dict[str, "Clusters"]  # by mode
    held_out: "HeldOutErrors | None"
    warnings: list[str]
    seconds: float

    def findings(self) -> dict[str, Any]:
        """Return what was found, as values that JSON can store."""
        import numpy as np

        eigenvalues = {}
        if hasattr(self.model, "row_eigenvalues_"):  # of diffusion maps
            eigenvalues["eigenvalues"] = {
                "rows": self.model.row_eigenvalues_.tolist(),
                "columns": self.model.column_eigenvalues_.tolist(),
            }
        from .._embedding.structure import structure_summary
        from .._validation import for_both

        p_values = {"rows": self.model.row_p_value_, "columns": self.model.column_p_value_}
        structure = structure_summary(*p_values.values())
        return {
            "shape": list(self.table.values.shape),
            "share_missing": float(np.isnan(self.table.values).mean()),
            "seconds": self.seconds,
            "n_scales": len(self.model.scales_["l"]),
            "clusters": {
                f"{mode}s": {
                    "number": found.n_clusters,
                    "confidence": found.confidence,
                    "evidence": found.evidence,
                    "summary": clusters_text(mode, found, is_given=n_given is not None),
                }
                for (mode, found), n_given in zip(
                    self.clusters.items(), for_both(self.model.n_clusters), strict=True
                )
            },
            "structure": {
                mode: {"p_value": p_value, "summary": structure[mode]}
                for mode, p_value in p_values.items()
            },
            "embedding": self.model.embedding_name_,
            **eigenvalues,
            "held_out": None
            if self.held_out is None
            else {**asdict(self.held_out), "summary": _held_out_text(self.held_out)},
            "warnings": self.warnings,
        }

    def notes(self) -> list[str]:
        """Return how the table was read and preprocessed, in sentences."""
        note = preprocessing_note(self.preprocessor)
        return [*self.table.notes, *self.table.doubts, *([note] if note else [])]


def clusters_text(mode: str, found: "Clusters", *, is_given: bool) -> str:
    """Return how many clusters there are, and how sure they are; `is_given` if as many as asked."""
    given = ", as asked for" if is_given else ""
    if found.n_clusters == 1:
        return f"{mode}s: one cluster{given or ', no groups found'}"
    other = "columns" if mode == "row" else "rows"
    n_between = int((found.point_confidence < _LEAST_CONFIDENCE).sum())
    between = f"; {n_between} {mode}{'s are' if n_between > 1 else ' is'} between clusters"
    return (
        f"{mode}s: {found.n_clusters} clusters{given} ({found.confidence:.0%} of the {mode}s stay "
        f"in theirs if half of the {other} are left out{between if n_between else ''})"
    )


def _held_out_text(errors: "HeldOutErrors") -> str:
    others = ", ".join(f"{name} {error:.2f}" for name, error in errors.others.items())
    return (
        f"error {errors.model:.2f} of a standard deviation on {errors.n_held_out:,} entries; "
        f"{others}"
    )


def preprocessing_note(preprocessor: "Preprocessor") -> str:
    """Return the preprocessing as a sentence; empty if there is none."""
    steps = ["the logarithm of 1 + x was taken"] if preprocessor.log1p else []
    if preprocessor.standardize:
        steps.append("columns were standardised to mean 0 and standard deviation 1")
    return f"Before the fit, {' and '.join(steps)}." if steps else ""


def merge_annotations(first: Annotations, second: Annotations) -> Annotations:
    """Return the annotations of both; `second` takes precedence."""
    return {
        mode: {**first.get(mode, {}), **second.get(mode, {})}
        for mode in ("rows", "columns")
        if mode in first or mode in second
    }


@dataclass(frozen=True)
class Run:
    """The content of run.json."""

    title: str
    row_names: list[str]
    column_names: list[str]
    notes: list[str]
    preprocessor: "Preprocessor"
    annotations: Annotations
    findings: dict[str, Any]

    @classmethod
    def of(cls, results: FitResults, title: str) -> "Run":
        """Return the description of a fit."""
        found = {
            f"{mode}s": {FOUND: clusters.as_text()} for mode, clusters in results.clusters.items()
        }
        return cls(
            title,
            results.table.row_names,
            results.table.column_names,
            [*results.notes(), *results.warnings],
            results.preprocessor,
            merge_annotations(found, results.table.annotations),
            results.findings(),
        )

    def held_out(self) -> "HeldOutErrors | None":
        """Return the errors on held-out entries, if they were measured."""
        from ..model_selection import HeldOutErrors

        found = self.findings["held_out"]
        if found is None:
            return None
        errors = {field.name: found.get(field.name) for field in fields(HeldOutErrors)}
        for name, error in errors.items():
            is_number = isinstance(error, int | float) and not isinstance(error, bool)
            if not is_number and (error is not None or name not in ("knn", "soft_impute")):
                raise ValueError(f"{name} must be a number, got {error!r:.40}")
        return HeldOutErrors(**errors)

    def write(self, path: Path) -> None:
        """Write run.json."""
        from .. import __version__

        content = {
            "comanifold": __version__,
            **vars(self),
            "preprocessor": {
                **self.preprocessor.get_params(),
                "mean": self.preprocessor.mean_.tolist(),
                "scale": self.preprocessor.scale_.tolist(),
            },
        }
        text = json.dumps(_nan_to_none(content), indent=1, allow_nan=False)
        path.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Run":
        """Read run.json; ValueError if it is damaged."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            names = [content["row_names"], content["column_names"]]
            if not all(isinstance(name, str) for some in names for name in some):
                raise TypeError("labels must be text")
            run = cls(
                str(content["title"]),
                *names,
                [str(note) for note in content["notes"]],
                _read_preprocessor(len(names[1]), **content["preprocessor"]),
                {
                    mode: {
                        name: [math.nan if value is None else value for value in values]
                        for name, values in columns.items()
                    }
                    for mode, columns in content["annotations"].items()
                },
                dict(content["findings"]),
            )
            run.held_out()
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from error
        return run


def _read_preprocessor(
    n_columns: int, *, mean: list[float], scale: list[float], **parameters: bool
) -> "Preprocessor":
    """Return a fitted preprocessor; ValueError unless its values are possible."""
    import numpy as np

    from ..preprocessing import Preprocessor

    for name, value in parameters.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {value!r:.40}")
    learned = {"mean": np.array(mean), "scale": np.array(scale)}
    for name, values in learned.items():
        is_number = values.dtype.kind in "if" and np.isfinite(values).all()
        if values.shape != (n_columns,) or not is_number:
            raise ValueError(f"{name} must have {n_columns} finite numbers, one for each column")
    if not (learned["scale"] > 0).all():
        raise ValueError("scale must be positive")
    preprocessor = Preprocessor(**parameters)
    preprocessor.mean_, preprocessor.scale_ = learned["mean"], learned["scale"]
    preprocessor.n_features_in_ = n_columns
    return preprocessor


def _nan_to_none(value: Any) -> Any:
    """Return a nested value with None for NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _nan_to_none(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_nan_to_none(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_results(folder: Path) -> "tuple[CoManifold, Run] | None":
    """Return the model and the description in a results folder; None if there is no run.json."""
    from .. import CoManifold
    from .._io import complete_publication

    # A fit may have been killed while it moved its results into place.
    with suppress(OSError, RuntimeError):
        complete_publication(folder, KIND)
    if not (folder / MARKER).is_file():
        return None
    # The model first: it names the version that wrote the results if it is another one.
    model = CoManifold.load(folder / MODEL)
    run = Run.read(folder / MARKER)
    shape = len(run.row_names), len(run.column_names)
    if shape != model.data_.shape:
        raise ValueError(
            f"{folder / MARKER} is damaged: it has names of {shape[0]} rows and {shape[1]} "
            f"columns, and the model has {model.data_.shape[0]} and {model.data_.shape[1]}"
        )
    return model, run


def expected_bytes(model: "CoManifold", shape: tuple[int, int]) -> int:
    """Return about how many bytes the results of a fit will take."""
    from .._fit.settings import check_settings

    n_distances = sum(
        size * (size if n_near is None else min(2 * n_near + 60, size))
        for size, n_near in zip(shape, check_settings(model).n_candidates(shape), strict=True)
    )
    return shape[0] * shape[1] * _PER_ENTRY + n_distances * _PER_DISTANCE + _PAGES


def write_results(new_file: NewFile, results: FitResults, run: Run) -> list[str]:
    """Write tables, model and run.json; return their names."""
    import numpy as np

    from .._io.model_format import write_model_files
    from ..tables import Table, write_rows, write_table

    table, model = results.table, results.model
    names = {"row": table.row_names, "column": table.column_names}
    for mode in names:
        points = getattr(model, f"{mode}_embedding_")
        write_table(
            new_file(f"{mode}_embedding.csv"),
            Table(points, names[mode], coordinate_names(points), corner=mode),
            atomic=False,
        )
    filled = results.preprocessor.inverse_transform(model.filled_)
    filled = np.where(np.isnan(table.values), filled, table.values)
    write_table(new_file("filled.csv"), replace(table, values=filled), atomic=False)
    write_rows(new_file("scales.csv"), _scale_rows(model), atomic=False)
    write_rows(new_file("clusters.csv"), _cluster_rows(names, results.clusters), atomic=False)
    write_model_files(model, lambda file: new_file(f"{MODEL}/{file}"))
    run.write(new_file(MARKER))
    return [*TABLES, MODEL, MARKER]


def coordinate_names(points: Any) -> list[str]:
    """Return the column names of an embedding."""
    return [f"coordinate_{i}" for i in range(1, points.shape[1] + 1)]


def _cluster_rows(
    names: dict[str, list[str]], clusters: dict[str, "Clusters"]
) -> Iterable[tuple[str, ...]]:
    """Yield the header and the rows of clusters.csv; both take names and clusters by mode."""
    yield "mode", "label", "cluster", "confidence"
    for mode, found in clusters.items():
        shares = ["" if math.isnan(x) else f"{x:g}" for x in found.point_confidence.tolist()]
        for name, label, share in zip(names[mode], found.as_text(), shares, strict=True):
            yield mode, name, label, share


def _scale_rows(model: "CoManifold") -> Iterable[tuple[Any, ...]]:
    """Yield the header and the rows of scales.csv."""
    scales = {name: values.tolist() for name, values in model.scales_.items()}
    last = {name: scales.pop(name, [""] * len(scales["l"])) for name in ("stationarity", "gap")}
    scales.update(last)
    yield tuple(scales)
    yield from zip(*scales.values(), strict=True)


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
        errors=run.held_out(),
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


def read_annotations(
    path: Path, row_names: list[str], column_names: list[str]
) -> tuple[Annotations, str]:
    """Read annotations of rows or columns by label; return them, and a sentence about them.

    The first column of the table has the labels, each other one an annotation. A column of
    numbers is numeric, any other is text; values that are not there are empty.
    """
    from ..tables import TableError, read_cells

    header, *records = read_cells(path)
    if len(header) < 2 or not records:
        raise TableError(
            f"{path}: needs a header, a first column with labels, and a column for each annotation"
        )
    by_label: dict[str, list[str]] = {}
    for number, record in enumerate(records, start=2):
        if record[0] in by_label:
            raise TableError(f"{path}: record {number}: duplicate label {record[0]!r}")
        by_label[record[0]] = record[1:]
    n_found = {
        mode: sum(name in by_label for name in names)
        for mode, names in (("rows", row_names), ("columns", column_names))
    }
    if not any(n_found.values()):
        raise TableError(
            f"{path}: none of its labels, such as {records[0][0]!r}, names a row "
            f"({row_names[0]!r}, ...) or a column ({column_names[0]!r}, ...) of the data"
        )
    mode = "rows" if n_found["rows"] >= n_found["columns"] else "columns"
    names = row_names if mode == "rows" else column_names
    columns = {
        title: _numbers_or_texts([by_label[name][i] if name in by_label else "" for name in names])
        for i, title in enumerate(header[1:])
    }
    note = f"Annotations of {n_found[mode]:,} of {len(names):,} {mode}: {', '.join(header[1:])}."
    return {mode: columns}, note


def _numbers_or_texts(cells: list[str]) -> list[Any]:
    """Return cells as numbers (NaN for missing ones) if all others are numbers, else as text."""
    from ..tables import number_or_none

    numbers = [number_or_none(cell) for cell in cells]
    present = [cell.strip().lower() not in ("", "na", "nan") for cell in cells]
    if any(present) and all(
        number is not None for number, is_there in zip(numbers, present, strict=True) if is_there
    ):
        return [float("nan") if number is None else number for number in numbers]
    return cells
