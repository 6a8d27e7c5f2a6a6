"""The results folder of a fit: what is written to it, and what other commands read back."""

import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

        return {
            "shape": list(self.table.values.shape),
            "share_missing": float(np.isnan(self.table.values).mean()),
            "seconds": self.seconds,
            "n_scales": len(self.model.scales_["l"]),
            "clusters": {
                f"{mode}s": {
                    "number": found.n_clusters,
                    "doublings": found.n_doublings,
                    "summary": _clusters_text(mode, found),
                }
                for mode, found in self.clusters.items()
            },
            "eigenvalues": {
                "rows": self.model.row_eigenvalues_.tolist(),
                "columns": self.model.column_eigenvalues_.tolist(),
            },
            "held_out": None
            if self.held_out is None
            else {**asdict(self.held_out), "summary": _held_out_text(self.held_out)},
            "warnings": self.warnings,
        }

    def notes(self) -> list[str]:
        """Return how the table was read and preprocessed, in sentences."""
        note = preprocessing_note(self.preprocessor)
        return [*self.table.notes, *self.table.doubts, *([note] if note else [])]


def _clusters_text(mode: str, found: "Clusters") -> str:
    if found.n_clusters == 1:
        return f"{mode}s: no clear clusters"
    return f"{mode}s: {found.n_clusters}, stable over {found.n_doublings} doublings of the cost"


def _held_out_text(errors: "HeldOutErrors") -> str:
    return (
        f"error {errors.model:.2f} of a standard deviation on {errors.n_held_out:,} held-out "
        f"entries; row means {errors.row_means:.2f}, column means {errors.column_means:.2f}"
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
        held_out = [] if results.held_out is None else [_held_out_text(results.held_out)]
        return cls(
            title,
            results.table.row_names,
            results.table.column_names,
            [*results.notes(), *results.warnings, *held_out],
            results.preprocessor,
            merge_annotations(found, results.table.annotations),
            results.findings(),
        )

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
            return cls(
                str(content["title"]),
                *names,
                [str(note) for note in content["notes"]],
                _read_preprocessor(**content["preprocessor"]),
                {
                    mode: {
                        name: [math.nan if value is None else value for value in values]
                        for name, values in columns.items()
                    }
                    for mode, columns in content["annotations"].items()
                },
                dict(content["findings"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} is damaged: {error!r}") from error


def _read_preprocessor(*, mean: list[float], scale: list[float], **parameters: bool) -> Any:
    """Return a fitted preprocessor."""
    import numpy as np

    from ..preprocessing import Preprocessor

    preprocessor = Preprocessor(**parameters)
    preprocessor.mean_, preprocessor.scale_ = (
        np.array(values, dtype=float) for values in (mean, scale)
    )
    preprocessor.n_features_in_ = len(mean)
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
    run = Run.read(folder / MARKER)
    return CoManifold.load(folder / MODEL), run


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
    clusters = [
        (mode, name, label)
        for mode in names
        for name, label in zip(names[mode], results.clusters[mode].as_text(), strict=True)
    ]
    write_rows(new_file("clusters.csv"), [("mode", "label", "cluster"), *clusters], atomic=False)
    write_model_files(model, lambda file: new_file(f"{MODEL}/{file}"))
    run.write(new_file(MARKER))
    return [*TABLES, MODEL, MARKER]


def coordinate_names(points: Any) -> list[str]:
    """Return the column names of an embedding."""
    return [f"coordinate_{i}" for i in range(1, points.shape[1] + 1)]


def _scale_rows(model: "CoManifold") -> Iterable[tuple[Any, ...]]:
    """Yield the header and the rows of scales.csv."""
    scales = {name: values.tolist() for name, values in model.scales_.items()}
    last = {name: scales.pop(name, [""] * len(scales["l"])) for name in ("stationarity", "gap")}
    scales.update(last)
    yield tuple(scales)
    yield from zip(*scales.values(), strict=True)
