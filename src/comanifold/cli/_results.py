"""The folder that a fit leaves: tables, the model, a report and a figure."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._annotations import Annotations
from ._preparation import Preparation

if TYPE_CHECKING:
    from .. import CoManifold
    from ..tables import Table
    from ._summary import Clusters

KIND = "set of results"

# What is known of a fit besides the model; written last.
MARKER = "run.json"
MODEL = "model"
REPORT = "report.html"
FIGURE = "overview.png"
TABLES = ("row_embedding.csv", "column_embedding.csv", "filled.csv", "scales.csv", "clusters.csv")

# All that a fit may write.
FILES = (*TABLES, MARKER, REPORT, FIGURE, f"{MODEL}/model.json", f"{MODEL}/arrays.npz")

# Gives a path to write to for the name of a result.
NewFile = Callable[[str], Path]

# Bytes of the results for each entry of the matrix and each distance, and of the pages.
_PER_ENTRY = 24 + 22
_PER_DISTANCE = 2 * 8
_PAGES = 8_000_000


@dataclass(frozen=True)
class Run:
    """What is known of a fit besides the model."""

    title: str
    row_names: list[str]
    column_names: list[str]
    notes: list[str] = field(default_factory=list)
    preparation: Preparation = field(default_factory=Preparation)
    annotations: Annotations = field(default_factory=dict)
    findings: dict[str, Any] = field(default_factory=dict)

    def write(self, new_file: NewFile) -> None:
        from .. import __version__

        content = {"comanifold": __version__, **asdict(self)}
        text = json.dumps(_plain(content), indent=1, allow_nan=False)
        new_file(MARKER).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """The description in a folder; what is not one is refused."""
        try:
            content = json.loads((folder / MARKER).read_text(encoding="utf-8"))
            preparation = Preparation(**content["preparation"])
            annotations = {
                mode: {name: _with_nan(values) for name, values in columns.items()}
                for mode, columns in content["annotations"].items()
            }
            names = [content["row_names"], content["column_names"]]
            if not all(isinstance(name, str) for some in names for name in some):
                raise TypeError("labels must be text")
            return cls(
                str(content["title"]),
                *names,
                [str(note) for note in content["notes"]],
                preparation,
                annotations,
                dict(content["findings"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{folder / MARKER} is damaged: {error!r}") from error


def _plain(value: Any) -> Any:
    """The same without NaN, which JSON has not."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_nan(values: list[Any]) -> list[Any]:
    return [math.nan if value is None else value for value in values]


def complete_results(folder: Path) -> None:
    """Finish what a fit that was killed while it moved its results has left to do."""
    from .._io import complete_publication

    with suppress(OSError, RuntimeError):
        complete_publication(folder, KIND)


def expected_bytes(shape: tuple[int, int], n_candidates: tuple[int | None, int | None]) -> int:
    """Return about how much room the results of a fit will take."""
    distances = sum(
        size * (size if few is None else min(2 * few + 60, size))
        for size, few in zip(shape, n_candidates, strict=True)
    )
    return shape[0] * shape[1] * _PER_ENTRY + distances * _PER_DISTANCE + _PAGES


def write_tables(
    new_file: NewFile, model: "CoManifold", table: "Table", clusters: dict[str, "Clusters"]
) -> list[str]:
    """Write the tables of a fit, `table` being the data, filled in; return their names."""
    from ..tables import Table, write_rows, write_table

    names = {"row": table.row_names, "column": table.column_names}
    for mode in ("row", "column"):
        points = getattr(model, f"{mode}_embedding_")
        titles = [f"coordinate_{i}" for i in range(1, points.shape[1] + 1)]
        coordinates = Table(points, names[mode], titles, corner=mode)
        write_table(new_file(f"{mode}_embedding.csv"), coordinates, atomic=False)
    write_table(new_file("filled.csv"), table, atomic=False)
    write_rows(new_file("scales.csv"), _rows_of_scales(model), atomic=False)
    write_rows(
        new_file("clusters.csv"),
        [
            ("mode", "label", "cluster"),
            *(
                (mode, name, label)
                for mode in ("row", "column")
                for name, label in zip(names[mode], clusters[mode].as_text(), strict=True)
            ),
        ],
        atomic=False,
    )
    return list(TABLES)


def _rows_of_scales(model: "CoManifold") -> Iterator[tuple[Any, ...]]:
    own = (
        "l",
        "k",
        "row_cost",
        "column_cost",
        "n_row_clusters",
        "n_column_clusters",
        "objective",
        "n_iter",
        "status",
        "seconds",
        "weight",
    )
    yield (*own, "stationarity", "gap")
    for scale in model.scales_:
        gap = scale.certificate.gap
        yield (
            *(getattr(scale, name) for name in own),
            scale.certificate.stationarity,
            "" if gap is None else gap,
        )


def write_pages(new_file: NewFile, model: "CoManifold", run: Run) -> tuple[list[str], list[str]]:
    """Write the report and the figure; return the names of those made, and what is lacking."""
    made, lacking = [], []
    for name, render in ((REPORT, _report), (FIGURE, _figure)):
        try:
            content = render(model, run)
        except ImportError as error:
            way = "" if "pip install" in str(error) else ": pip install 'comanifold[report]'"
            lacking.append(f"{name} was not made, because {error}{way}")
        else:
            new_file(name).write_bytes(content)
            made.append(name)
    return made, lacking


def _report(model: "CoManifold", run: Run) -> bytes:
    from ..report import render_report

    return render_report(
        model,
        row_names=run.row_names,
        column_names=run.column_names,
        title=run.title,
        notes=run.notes,
        annotations=run.annotations or None,
    )


def _figure(model: "CoManifold", _run: Run) -> bytes:
    import io

    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        figure = model.plot()
        content = io.BytesIO()
        figure.savefig(content, dpi=150, format="png")
        plt.close(figure)
    return content.getvalue()
