"""The folder that a fit leaves: tables, the model, a report and a figure."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._annotations import Annotations
from ._preparation import Preparation

if TYPE_CHECKING:
    from .. import CoManifold
    from ..tables import Table
    from ._findings import Clusters

# Its description, by which a folder of ours is known.
MARKER = "run.json"
MODEL = "model"
REPORT = "report.html"
FIGURE = "overview.png"


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

    def write(self, folder: Path) -> None:
        from .. import __version__

        content = {"comanifold": __version__, **asdict(self)}
        text = json.dumps(_plain(content), indent=1, allow_nan=False)
        (folder / MARKER).write_text(text, encoding="utf-8")

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


def write_tables(
    folder: Path, model: "CoManifold", table: "Table", clusters: dict[str, "Clusters"]
) -> list[str]:
    """The tables of a fit, `table` being the data, filled in; their names."""
    from ..tables import Table, write_rows, write_table

    names = {"row": table.row_names, "column": table.column_names}
    files = []
    for mode in ("row", "column"):
        points = getattr(model, f"{mode}_embedding_")
        titles = [f"coordinate_{i}" for i in range(1, points.shape[1] + 1)]
        files.append(f"{mode}_embedding.csv")
        write_table(folder / files[-1], Table(points, names[mode], titles, corner=mode))
    write_table(folder / "filled.csv", table)
    write_rows(folder / "scales.csv", _rows_of_scales(model))
    write_rows(
        folder / "clusters.csv",
        [
            ("mode", "label", "cluster"),
            *(
                (mode, name, label or "")
                for mode in ("row", "column")
                for name, label in zip(names[mode], clusters[mode].labels, strict=True)
            ),
        ],
    )
    return [*files, "filled.csv", "scales.csv", "clusters.csv"]


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


def write_pages(folder: Path, model: "CoManifold", run: Run) -> tuple[list[str], list[str]]:
    """The report and the figure: the names of those that could be made, and what is lacking."""
    made, lacking = [], []
    for name, write in (
        (REPORT, lambda path: _write_report(path, model, run)),
        (FIGURE, lambda path: _write_figure(path, model)),
    ):
        try:
            write(folder / name)
        except ImportError as error:
            way = "" if "pip install" in str(error) else ": pip install 'comanifold[report]'"
            lacking.append(f"{name} was not made, because {error}{way}")
        else:
            made.append(name)
    return made, lacking


def _write_report(path: Path, model: "CoManifold", run: Run) -> None:
    from ..report import write_report

    write_report(
        model,
        path,
        row_names=run.row_names,
        column_names=run.column_names,
        title=run.title,
        notes=run.notes,
        annotations=run.annotations or None,
    )


def _write_figure(path: Path, model: "CoManifold") -> None:
    import matplotlib as mpl

    from .._files import whole_file

    with mpl.rc_context({"backend": "agg"}), whole_file(path) as part:
        import matplotlib.pyplot as plt

        figure = model.plot()
        figure.savefig(part, dpi=150)
        plt.close(figure)
