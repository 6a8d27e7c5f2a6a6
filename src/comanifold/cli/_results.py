"""The results folder of a fit: what is written to it, and how it is read again."""

import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._annotations import Annotations, merge_annotations

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
TABLES = (
    "row_embedding.csv",
    "column_embedding.csv",
    "filled.csv",
    "scales.csv",
    "clusters.csv",
    "row_distinguishing.csv",
    "column_distinguishing.csv",
)

# All files that every fit may write; layouts and figures come on top.
FILES = (*TABLES, MARKER, REPORT, FIGURE, f"{MODEL}/model.json", f"{MODEL}/arrays.npz")

# The annotation of the report with the clusters of clusters.csv.
FOUND = "clusters found"

# Returns the path to which a file of the results is written.
NewFile = Callable[[str], Path]

# Further layouts: coordinates of rows and of columns, by name.
Layouts = dict[str, tuple[Any, Any]]

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
    findings: dict[str, Any]
    layouts: Layouts = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return how the table was read and preprocessed, in sentences."""
        note = preprocessing_note(self.preprocessor)
        return [*self.table.notes, *self.table.doubts, *([note] if note else [])]


def preprocessing_note(preprocessor: "Preprocessor") -> str:
    """Return the preprocessing as a sentence; empty if there is none."""
    steps = ["the logarithm of 1 + x was taken"] if preprocessor.log1p else []
    if preprocessor.standardize:
        steps.append("columns were standardised to mean 0 and standard deviation 1")
    return f"Before the fit, {' and '.join(steps)}." if steps else ""


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
    # The names of the annotations that figures show, by mode.
    in_figures: dict[str, list[str]] = field(default_factory=dict)
    # The names of further layouts, whose coordinates are in tables of their own.
    layouts: list[str] = field(default_factory=list)
    # Options of the command, from which it can be repeated.
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        results: FitResults,
        title: str,
        in_figures: dict[str, list[str]],
        options: dict[str, Any],
    ) -> "Run":
        """Return the description of a fit."""
        found = {
            f"{mode}s": {FOUND: clusters.as_text()} for mode, clusters in results.clusters.items()
        }
        return cls(
            title,
            results.table.row_names,
            results.table.column_names,
            [*results.notes(), *results.findings["warnings"]],
            results.preprocessor,
            merge_annotations(found, results.table.annotations),
            results.findings,
            in_figures,
            list(results.layouts),
            options,
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
                {mode: list(some) for mode, some in content.get("in_figures", {}).items()},
                [str(name) for name in content.get("layouts", [])],
                dict(content.get("options", {})),
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
    for mode in names:
        rows = _distinguishing_rows(model, mode)
        write_rows(new_file(f"{mode}_distinguishing.csv"), rows, atomic=False)
    for name, layout in results.layouts.items():
        for mode, points in zip(names, layout, strict=True):
            write_table(
                new_file(layout_file(name, mode)),
                Table(points, names[mode], coordinate_names(points), corner=mode),
                atomic=False,
            )
    write_model_files(model, lambda file: new_file(f"{MODEL}/{file}"))
    run.write(new_file(MARKER))
    further = [layout_file(name, mode) for name in results.layouts for mode in names]
    return [*TABLES, *further, MODEL, MARKER]


def layout_file(layout: str, mode: str) -> str:
    """Return the name of the table with a further layout of the rows or columns."""
    return f"{mode}_embedding_{layout}.csv"


def read_layouts(folder: Path, run: Run) -> Layouts:
    """Return the further layouts of a results folder; ValueError if one is damaged."""
    import numpy as np

    from ..tables import read_cells

    layouts = {}
    for name in run.layouts:
        both = []
        for mode, names in (("row", run.row_names), ("column", run.column_names)):
            path = folder / layout_file(name, mode)
            _, *records = read_cells(path)
            try:
                points = np.array([[float(cell or "nan") for cell in row[1:]] for row in records])
            except ValueError as error:
                raise ValueError(f"{path} is damaged: {error}") from error
            if len(points) != len(names) or points.ndim != 2:
                raise ValueError(f"{path} is damaged: it must have a line for each {mode}")
            both.append(points)
        layouts[name] = (both[0], both[1])
    return layouts


def _distinguishing_rows(model: "CoManifold", mode: str) -> Iterable[tuple[Any, ...]]:
    """Yield the header and the rows of row_distinguishing.csv or column_distinguishing.csv."""
    table = model.distinguishing(mode)
    del table["index"]
    # As in clusters.csv.
    table["cluster"] = table["cluster"] + 1
    yield tuple(table)
    yield from zip(*(values.tolist() for values in table.values()), strict=True)


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
