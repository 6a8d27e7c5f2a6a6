"""The numbers behind the figures, as tables to read."""

import pandas as pd

from ._figures import FILLERS, Tables
from ._methods import METHODS
from ._style import MODES

# The tables that have something to take means of; experiments of the same names make them.
SUMMARISED = ("clustering", "geometry", "filling")


def summarise(tables: Tables) -> str:
    """Means over all masks (and standard deviations) of what there is, in Markdown."""
    parts = []
    if "clustering" in tables:
        for (data_set, n_components), part in tables["clustering"].groupby(
            ["data_set", "n_components"], sort=False
        ):
            title = f"Adjusted Rand index, {data_set}, {n_components} coordinates"
            parts.append(_table(title, part, "fraction", "ari", _METHOD_LABELS))
    if "geometry" in tables:
        table = tables["geometry"]
        where = [MODES[key] for key in zip(table["data_set"], table["mode"], strict=True)]
        table = table.assign(what=pd.Series(where, index=table.index) + ", " + table["metric"])
        for data_set, part in table.groupby("data_set", sort=False):
            title = f"Embeddings against what is known, {data_set}, half missing"
            parts.append(_table(title, part, "what", "value", _METHOD_LABELS, digits=3))
    if "filling" in tables:
        for data_set, part in tables["filling"].groupby("data_set", sort=False):
            title = f"Error of filled-in entries in standard deviations, {data_set}"
            parts.append(_table(title, part, "fraction", "error", _FILLER_LABELS, digits=3))
    return "\n".join(parts)


_METHOD_LABELS = {name: method.label for name, method in METHODS.items()}
_FILLER_LABELS = {name: label for name, (label, _) in FILLERS.items()}


def _table(
    title: str,
    table: pd.DataFrame,
    across: str,
    value: str,
    labels: dict[str, str],
    digits: int = 2,
) -> str:
    """One line for each method, one column for each value of `across`."""
    grouped = table.groupby(["method", across], sort=False)[value]
    mean, spread = grouped.mean(), grouped.std(ddof=0)
    heads = list(dict.fromkeys(table[across]))
    count = table["realization"].nunique()
    lines = [
        f"### {title}",
        "",
        f"Mean ± standard deviation of {count} masks.",
        "",
        "| method | " + " | ".join(_head(head) for head in heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for name, label in labels.items():
        cells = [
            f"{mean[name, head]:.{digits}f} ± {spread[name, head]:.{digits}f}"
            if (name, head) in mean.index
            else ""
            for head in heads
        ]
        if any(cells):
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _head(head: str | float) -> str:
    return head if isinstance(head, str) else f"{head:.0%}"
