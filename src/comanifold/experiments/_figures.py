"""The figures of the paper and some more, drawn from the tables of the experiments."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..plotting._style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    new_figure,
    show_matrix,
    usual_limits,
    with_equal_axes,
)
from ._methods import (
    DATA_SETS,
    FAMILIES,
    IMPUTATIONS,
    METHODS,
    OURS,
    PAPER,
    Imputation,
    Method,
)

Tables = dict[str, pd.DataFrame]
Figures = dict[str, Figure]

MODES = {
    ("linkage", "row"): "linkage: rows (helix)",
    ("linkage", "column"): "linkage: columns (surface)",
    ("linkage2", "row"): "linkage2: rows (clouds)",
    ("linkage2", "column"): "linkage2: columns (surface)",
    ("lung500", "row"): "lung500: genes",
    ("lung500", "column"): "lung500: subjects",
}

# Colours of groups, by name or number.
GROUPS = {
    "Normal": ORANGE,
    "Colon": SKY,
    "Carcinoid": BLUE,
    "SmallCell": BLACK,
    "0": BLUE,
    "1": ORANGE,
    "2": BLACK,
}

_CURVE = mpl.colormaps["viridis"]

# The corners of the colours of a surface: hue goes from blue to yellow along it, and lightness
# grows across it.
_CORNERS = np.array(
    [[to_rgb("#08306B"), to_rgb("#6BAED6")], [to_rgb("#7A4A00"), to_rgb("#FFD54A")]]
)

# Ours are drawn alike everywhere, all others with these colours and markers, one after the other
# in each family. Those of Okabe and Ito, and of Tol, which the colour-blind can tell apart.
_STYLES_OF_OURS = {OURS: (BLUE, "o"), PAPER: (SKY, "s")}
_STYLES = (
    (VERMILION, "^"),
    (ORANGE, "v"),
    (GREEN, "D"),
    (PURPLE, "P"),
    (BLACK, "X"),
    ("#882255", "*"),
    ("#332288", "d"),
    ("#8C6D1F", ">"),
    ("#777777", "<"),
)

# The two subjects that Figure 1 marks: one normal, one with colon metastases.
_PAIR_COLOURS = (VERMILION, PURPLE)


def draw_workflow(tables: Tables) -> Figures:
    """Draw Figure 1: matrices at three scales, the metric, and both embeddings."""
    matrices = select(tables["matrices"], data_set="lung500")
    subjects, metric = tables["affinities"], tables["metric"]
    genes = select(tables["embedding"], data_set="lung500", mode="row", method=PAPER)
    names = [name for name in matrices["matrix"].unique() if name.startswith("(")]
    figure = new_figure(11, 6.4)
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.0, 1.0])
    top.suptitle("1. smooth estimates at many scales (three of them; (l, k) are the exponents)")
    axes = top.subplots(1, len(names))
    limits = usual_limits(_values(select(matrices, matrix="given")))
    marked = np.flatnonzero(subjects["in_pair"])
    for ax, name in zip(axes, names, strict=True):
        part = select(matrices, matrix=name)
        image = show_matrix(ax, _values(part), limits, f"{name}: {_clusters(part)}")
        for column, colour in zip(marked, _PAIR_COLOURS, strict=True):
            ax.axvline(column, color=colour, lw=1.6)
        ax.set(xlabel="subjects")
    axes[0].set_ylabel("genes")
    top.colorbar(image, ax=axes, label="expression", shrink=0.9)

    middle, right = bottom.subfigures(1, 2, width_ratios=[1.0, 1.1])
    middle.suptitle("2. a metric over all scales")
    left_ax, right_ax = middle.subplots(1, 2)
    parts = metric.assign(part=metric["weight"] * metric["distance"])
    surface = parts.pivot(index="l", columns="k", values="part")
    share = surface / surface.to_numpy().sum()
    shown = left_ax.imshow(share, origin="lower", aspect="auto", cmap="cividis")
    left_ax.set(
        title="distance of the two marked\nsubjects: share of each scale",
        xlabel="k (column cost $2^k$)",
        ylabel="l (row cost $2^l$)",
    )
    left_ax.set_xticks(range(0, len(surface.columns), 3), surface.columns[::3])
    left_ax.set_yticks(range(len(surface.index)), surface.index)
    middle.colorbar(shown, ax=left_ax, orientation="horizontal")
    affinity = subjects[subjects["column"]].to_numpy()
    shown = right_ax.imshow(affinity, cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
    right_ax.set(title="affinities of\nall subjects", xticks=[], yticks=[], xlabel="subjects")
    middle.colorbar(shown, ax=right_ax, orientation="horizontal")

    right.suptitle("3. embeddings of both modes")
    left_ax, right_ax = right.subplots(1, 2)
    scatter(left_ax, genes)
    left_ax.set(title="genes")
    scatter(right_ax, subjects, size=18)
    pair = subjects[subjects["in_pair"]]
    right_ax.scatter(
        pair["first"], pair["second"], s=70, facecolors="none", edgecolors=_PAIR_COLOURS, lw=1.6
    )
    labels = [group for group in GROUPS if group in set(subjects["label"])]
    group_legend(right_ax, labels, loc="best")
    right_ax.set(title="subjects")
    return {"figure-1-workflow": figure}


def draw_embeddings(tables: Tables) -> Figures:
    """Draw Figure 2: embeddings of both modes by the methods of the paper; and by the others."""
    return {
        "figure-2-embeddings" + ("" if family == "paper" else f"-{family}"): _embedding_grid(
            tables, members
        )
        for family, members in families(METHODS).items()
    }


def families(methods: Mapping[str, Method | Imputation]) -> dict[str, list[str]]:
    """Return the names of the methods of each family that has any."""
    members = {
        family: [name for name, method in methods.items() if method.family == family]
        for family in FAMILIES
    }
    return {family: names for family, names in members.items() if names}


def _style(methods: Mapping[str, Method | Imputation], name: str) -> dict[str, Any]:
    """Return the colour and the marker of a method."""
    if name in _STYLES_OF_OURS:
        colour, marker = _STYLES_OF_OURS[name]
    else:
        others = [n for n in families(methods)[methods[name].family] if n not in _STYLES_OF_OURS]
        colour, marker = _STYLES[others.index(name)]
    return {"color": colour, "marker": marker}


def _embedding_grid(tables: Tables, methods: Sequence[str]) -> Figure:
    """Draw the truth above a row for each method, and a column for each mode."""
    figure = new_figure(11.5, 1.9 * (len(methods) + 1) + 0.4)
    grid = figure.add_gridspec(len(methods) + 1, len(MODES))
    for column, ((data_set, mode), title) in enumerate(MODES.items()):
        if data_set == "lung500":
            ax = figure.add_subplot(grid[0, column])
            _explain_colours(ax, tables["embedding"], mode)
        else:
            ax = figure.add_subplot(grid[0, column], projection="3d")
            _show_points(ax, select(tables["points"], data_set=data_set, mode=mode))
        ax.set_title(title)
        for line, method in enumerate(methods, start=1):
            ax = figure.add_subplot(grid[line, column])
            part = select(tables["embedding"], data_set=data_set, mode=mode, method=method)
            scatter(ax, part, size=12 if len(part) < 100 else 6)
            if not column:
                label = METHODS[method].label
                ax.set_ylabel(label.replace(", ", ",\n").replace(" as ", "\nas "))
    return figure


def _explain_colours(ax: Axes, table: pd.DataFrame, mode: str) -> None:
    """Draw the legend of lung500 in place of its points in space."""
    ax.axis("off")
    if mode == "column":
        known = set(select(table, data_set="lung500", mode="column")["label"])
        group_legend(ax, [group for group in GROUPS if group in known], loc="center")
    else:
        text = "colour: place along the\ndiffusion map of the\ncomplete matrix"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)


def draw_clustering(tables: Tables) -> Figures:
    """Draw Figure 3: adjusted Rand index against the fraction of missing entries."""
    table = tables["clustering"]
    figures = {}
    for n_components, part in table.groupby("n_components"):
        name = "figure-3-ari" + ("" if n_components == 2 else f"-{n_components}-coordinates")
        figures[name] = _index_figure(part)
    return figures


def _index_figure(table: pd.DataFrame) -> Figure:
    """Return the figure of the adjusted Rand index for one number of coordinates."""
    titles = {"lung500": "lung500: four diagnoses", "linkage2": "linkage2: three clouds"}
    figure = _family_figure(METHODS, table, "ari", titles)
    count = table["realization"].nunique()
    figure.supylabel(f"adjusted Rand index: mean (and standard deviation) of {count} masks")
    for ax in figure.axes:
        ax.set(ylim=(-0.02, 1.02))
    return figure


def _family_figure(
    methods: Mapping[str, Method | Imputation],
    table: pd.DataFrame,
    value: str,
    titles: dict[str, str],
) -> Figure:
    """Draw a score against the fraction of missing entries.

    A line of panels for each family, with ours for comparison, and a panel for each data set.
    """
    scored = set(table["method"])  # with three coordinates, only nested methods
    shown = {
        family: [OURS, *(name for name in names if name in scored and name != OURS)]
        for family, names in families(methods).items()
    }
    shown = {family: names for family, names in shown.items() if len(names) > 1}
    figure = new_figure(11, 0.4 + 2.5 * len(shown))
    axes = figure.subplots(len(shown), len(titles), sharex=True, sharey="col", squeeze=False)
    for line, (family, names) in zip(axes, shown.items(), strict=True):
        for ax, data_set in zip(line, titles, strict=True):
            part = select(table, data_set=data_set)
            for name in names:
                _line(ax, select(part, method=name).groupby("fraction")[value], methods, name)
            ax.grid(axis="y", lw=0.3)
        line[-1].legend(title=FAMILIES[family], loc="center left", bbox_to_anchor=(1.0, 0.5))
    for ax, title in zip(axes[0], titles.values(), strict=True):
        ax.set_title(title)
    for ax in axes[-1]:
        ax.set_xlabel("missing entries (%)")
    return figure


def _line(
    ax: Axes,
    scores: pd.core.groupby.SeriesGroupBy,
    methods: Mapping[str, Method | Imputation],
    name: str,
) -> None:
    """Draw the mean scores of a method, and for ours their standard deviation."""
    mean, spread = scores.mean(), scores.std(ddof=0)
    x = 100 * mean.index.to_numpy()
    style = _style(methods, name)
    is_ours = name == OURS
    ax.plot(x, mean, **style, ms=4, lw=2.2 if is_ours else 1.1, label=methods[name].label)
    if is_ours:
        low, high = mean - spread, mean + spread
        ax.fill_between(x, low, high, color=style["color"], alpha=0.15, lw=0)


def draw_appendix(tables: Tables) -> Figures:
    """Draw the points in space, the matrix complete and as given, and filled in at three scales."""
    figures = {}
    for data_set in ("linkage", "linkage2"):
        points = select(tables["points"], data_set=data_set)
        matrices = select(tables["matrices"], data_set=data_set)
        figures[f"appendix-{data_set}-points"] = _points_figure(points, data_set)
        figures[f"appendix-{data_set}-data"] = _matrices_figure(
            matrices,
            {"complete": "complete, ordered", "given": "as given: permuted, 50% removed"},
        )
        scales = [name for name in matrices["matrix"].unique() if name.startswith("(")]
        titles = {
            name: f"(l, k) = {name}: {_clusters(select(matrices, matrix=name))}" for name in scales
        }
        figures[f"appendix-{data_set}-filled"] = _matrices_figure(matrices, titles)
    return figures


def _points_figure(points: pd.DataFrame, data_set: str) -> Figure:
    """Return the figure of the points in space."""
    figure = new_figure(5.5, 4.8)
    ax = figure.add_subplot(projection="3d")
    _show_points(ax, points)
    rows = "helix" if data_set == "linkage" else "three clouds"
    ax.set(title=f"{data_set}: rows are the {rows} (circles),\ncolumns the surface (squares)")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True))
    return figure


def _show_points(ax: Any, points: pd.DataFrame) -> None:
    """Draw points in space with equal axes."""
    for mode, marker in (("row", "o"), ("column", "s")):
        part = select(points, mode=mode)
        if len(part):
            place = (part[axis] for axis in "xyz")
            ax.scatter(*place, c=colours(part), s=8, marker=marker, depthshade=False, lw=0)
    ax.set_box_aspect(np.ptp(points[["x", "y", "z"]].to_numpy(), axis=0))
    ax.set(xticklabels=[], yticklabels=[], zticklabels=[])


def _matrices_figure(matrices: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """Return the figure of some matrices side by side."""
    figure = new_figure(4.0 * len(titles) + 0.6, 3.2)
    axes = figure.subplots(1, len(titles))
    limits = usual_limits(_values(select(matrices, matrix="complete")))
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        image = show_matrix(ax, _values(select(matrices, matrix=name)), limits, title)
        ax.set(xlabel="columns")
    axes[0].set_ylabel("rows")
    figure.colorbar(
        image, ax=axes, label="distance (white: missing)" if "given" in titles else "distance"
    )
    return figure


def _values(matrix: pd.DataFrame) -> np.ndarray:
    """Return the matrix of a table."""
    values = matrix.filter(regex=r"^c\d+$").to_numpy()
    return values[:, ~np.isnan(values).all(axis=0)]  # tables of wider matrices add columns


def _clusters(matrix: pd.DataFrame) -> str:
    """Return the numbers of clusters of a matrix as text."""
    first = matrix.iloc[0]
    return f"{first['n_row_clusters']:.0f} × {first['n_column_clusters']:.0f} clusters"


def draw_geometry(tables: Tables) -> Figures:
    """Draw the scores of embeddings against the points in space."""
    table = tables["geometry"]
    panels = list(table.groupby(["data_set", "mode", "metric"], sort=True).groups)
    n_lines = -(-len(panels) // 4)
    figure = new_figure(11.5, n_lines * (0.62 + 0.14 * len(METHODS)))
    axes = figure.subplots(n_lines, 4, sharey=True).ravel()
    order = list(reversed(METHODS))
    for ax, (data_set, mode, metric) in zip(axes, panels, strict=False):
        part = select(table, data_set=data_set, mode=mode, metric=metric)
        ours = select(part, method=OURS)["value"].mean()
        ax.axvline(ours, color=_STYLES_OF_OURS[OURS][0], lw=0.8)  # better ones are to the right
        for height, name in enumerate(order):
            scores = select(part, method=name)["value"]
            ax.plot(scores, np.full(len(scores), height), ".", color="#BBBBBB", ms=4)
            ax.plot(scores.mean(), height, **_style(METHODS, name), ms=6)
        ax.set(title=f"{MODES[data_set, mode]}\n{metric}")
        ax.set_yticks(range(len(order)), [METHODS[name].label for name in order])
        ax.grid(axis="x", lw=0.3)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    figure.suptitle("means of all masks (single masks in grey); higher is better; line: comanifold")
    return {"figure-2-in-numbers": figure}


def draw_filling(tables: Tables) -> Figures:
    """Draw the error of filled-in entries against the fraction of missing entries."""
    table = tables["filling"]
    figure = _family_figure(IMPUTATIONS, table, "error", {name: name for name in DATA_SETS})
    figure.supylabel("root mean square error (standard deviations)")
    for ax, data_set in zip(figure.axes, DATA_SETS, strict=False):
        part = select(table, data_set=data_set)
        errors = part.groupby(["method", "fraction"])["error"].mean()
        if errors.max() > 10 * errors.min():
            ax.set_yscale("log")  # also of the panels below, which share it
    return {"filling-error": figure}


def select(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows of a table that have these values in these columns."""
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def colours(frame: pd.DataFrame) -> Any:
    """Return the colour of each point, by its group or its position on the curve or surface."""
    if "label" in frame and frame["label"].notna().all():
        return [GROUPS[_group(label)] for label in frame["label"]]
    first = frame["position_1"].to_numpy(dtype=float)
    if "position_2" in frame and frame["position_2"].notna().all():
        along, across = first[:, None], frame["position_2"].to_numpy(dtype=float)[:, None]
        (a, b), (c, d) = _CORNERS
        return (1 - along) * ((1 - across) * a + across * b) + along * (
            (1 - across) * c + across * d
        )
    return _CURVE(np.argsort(np.argsort(first)) / max(len(first) - 1, 1))


def _group(label: Any) -> str:
    """Return the name of a group, as in `GROUPS`."""
    return label if isinstance(label, str) else str(int(label))


def scatter(ax: Axes, frame: pd.DataFrame, *, size: float = 7.0) -> None:
    """Draw the points of an embedding with equal axes."""
    ax.scatter(frame["first"], frame["second"], c=colours(frame), s=size, linewidths=0)
    with_equal_axes(ax)


def group_legend(ax: Axes, labels: Iterable[Any], **options: Any) -> None:
    """Draw a legend of groups."""
    for label in labels:
        ax.scatter([], [], c=GROUPS[_group(label)], s=16, label=_group(label))
    ax.legend(**options)
