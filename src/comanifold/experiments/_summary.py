"""Summaries in Markdown: means of the scores, and the claims of the paper against them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from ._figures import MODES, Tables, select
from ._methods import IMPUTATIONS, METHODS, OURS, PAPER

# The tables whose scores are averaged; experiments of the same names make them.
SUMMARISED = ("clustering", "geometry", "filling")

_DM, _NLPCA = "dm-mean", "nlpca"
_OTHERS = [name for name in METHODS if name not in (OURS, PAPER)]

_BOTH = ((PAPER, "settings of the paper"), (OURS, "our defaults"))

# A smaller difference of adjusted Rand indices does not count.
_SMALL = 0.05


def summarise(tables: Tables) -> str:
    """Return means and standard deviations over all masks of the given tables, in Markdown."""
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
            parts.append(_table(title, part, "fraction", "error", _IMPUTATION_LABELS, digits=3))
    return "\n".join(parts)


_METHOD_LABELS = {name: method.label for name, method in METHODS.items()}
_IMPUTATION_LABELS = {name: imputation.label for name, imputation in IMPUTATIONS.items()}


def _table(
    title: str,
    table: pd.DataFrame,
    across: str,
    value: str,
    labels: dict[str, str],
    digits: int = 2,
) -> str:
    """Return a table with one line for each method and one column for each value of `across`."""
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


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether it holds here, and the numbers that decide it."""

    statement: str
    holds: bool
    numbers: str


def as_markdown(claims: list[Claim]) -> str:
    """Return the claims as a table."""
    lines = ["| the paper says | here | our numbers |", "|---|---|---|"]
    for claim in claims:
        lines.append(
            f"| {claim.statement} | {'true' if claim.holds else 'not true'} | {claim.numbers} |"
        )
    return "\n".join(lines) + "\n"


def _means(table: pd.DataFrame, data_set: str) -> pd.DataFrame:
    """Return the mean index by fraction of missing entries (rows) and method (columns)."""
    part = select(table, data_set=data_set, n_components=2)
    return part.pivot_table(index="fraction", columns="method", values="ari")


def _ends(scores: pd.Series) -> str:
    """Return the first and the last score as text."""
    first, last = scores.index[0], scores.index[-1]
    return f"{scores.iloc[0]:.2f} at {first:.0%}, {scores.iloc[-1]:.2f} at {last:.0%} missing"


def _lead(means: pd.DataFrame, method: str, rivals: list[str]) -> tuple[bool, str]:
    """Return whether a method is nowhere behind the best rival, and its lead as text."""
    lead = means[method] - means[rivals].max(axis=1)
    best = means[rivals].mean().idxmax()
    text = (
        f"mean {means[method].mean():.2f}; best rival on average {METHODS[best].label}, "
        f"{means[best].mean():.2f}; lead over the best at each share {lead.min():+.2f} to "
        f"{lead.max():+.2f}"
    )
    return bool(lead.min() > -0.005), text


def _check_clustering(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about clustering."""
    lung, clouds = _means(table, "lung500"), _means(table, "linkage2")
    for data_set, means in (("lung500", lung), ("linkage2", clouds)):
        for method, words in _BOTH:
            yield Claim(
                f"{data_set}: clusters best, against diffusion maps and NLPCA ({words})",
                *_lead(means, method, [_DM, _NLPCA]),
            )
        yield Claim(
            f"{data_set}: the same against all baselines, not in the paper (our defaults)",
            *_lead(means, OURS, _OTHERS),
        )
    for method, words in _BOTH:
        loss = lung[method].iloc[0] - lung[method].min()
        yield Claim(
            f"lung500: only slightly degraded by missing values ({words})",
            bool(loss <= 2 * _SMALL),
            _ends(lung[method]),
        )
    for method, words in _BOTH:
        yield Claim(
            f"linkage2: unaffected by missing values ({words})",
            bool(np.ptp(clouds[method]) <= _SMALL),
            f"{_ends(clouds[method])}, lowest {clouds[method].min():.2f}",
        )
    for data_set, means in (("lung500", lung), ("linkage2", clouds)):
        yield Claim(
            f"{data_set}: diffusion maps (mean filled) degrade",
            bool(means[_DM].iloc[0] - means[_DM].iloc[-1] > 2 * _SMALL),
            _ends(means[_DM]),
        )
    masked = lung["dm-masked"]
    yield Claim(
        "the same of diffusion maps on masked distances, lung500 (not in the paper)",
        bool(masked.iloc[0] - masked.iloc[-1] > 2 * _SMALL),
        _ends(masked),
    )
    compared = [OURS, PAPER, _DM, _NLPCA]
    worst = lung[compared].idxmin(axis=1)
    yield Claim(
        "lung500: NLPCA performs worst of the methods in the paper",
        bool((worst == _NLPCA).all()),
        f"worst at {(worst == _NLPCA).sum()} of {len(worst)} shares; {_ends(lung[_NLPCA])}",
    )
    yield Claim(
        "linkage2: NLPCA decreases with missing values",
        bool(clouds[_NLPCA].iloc[0] - clouds[_NLPCA].iloc[-1] > _SMALL),
        _ends(clouds[_NLPCA]),
    )


def _check_geometry(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about the geometry of embeddings."""
    means = table.groupby(["data_set", "mode", "metric", "method"])["value"].mean()

    def score(method: str, data_set: str, mode: str, metric: str) -> float:
        return float(means[data_set, mode, metric, method])

    def surface(method: str) -> list[float]:
        return [
            score(method, data_set, "column", "trustworthiness")
            for data_set in ("linkage", "linkage2")
        ]

    for method, words in _BOTH:
        found = surface(method)
        yield Claim(
            f"the surface is revealed in both linkage data sets ({words})",
            min(found) > 0.95,
            "trustworthiness {:.3f} and {:.3f}".format(*found),
        )
    for method in (_DM, _NLPCA):
        found = surface(method)
        yield Claim(
            f"{METHODS[method].label} reveals it in only one of the two",
            min(found) <= 0.95 < max(found),
            "trustworthiness {:.3f} and {:.3f}".format(*found),
        )
    helix = {
        method: score(method, "linkage", "row", "geodesic distances")
        for method in (PAPER, OURS, _DM, _NLPCA)
    }
    yield Claim(
        "linkage: the path of the rows is cleaner than that of diffusion maps and of NLPCA",
        min(helix[PAPER], helix[OURS]) > max(helix[_DM], helix[_NLPCA]),
        "correlation with the geodesics: "
        + ", ".join(f"{METHODS[name].label} {value:.3f}" for name, value in helix.items()),
    )
    apart = {
        method: score(method, "lung500", "column", "silhouette of Normal") for method in METHODS
    }
    best = max(_OTHERS, key=apart.__getitem__)
    yield Claim(
        "lung500: normal subjects are apart from the cancers, more than with diffusion maps and "
        "NLPCA",
        min(apart[PAPER], apart[OURS]) > max(apart[_DM], apart[_NLPCA]),
        "silhouette of Normal: "
        + ", ".join(
            f"{METHODS[name].label} {apart[name]:.2f}"
            for name in dict.fromkeys((PAPER, OURS, _DM, _NLPCA, best))
        ),
    )


def _check_embeddings(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about the embedded points."""
    genes = select(table, data_set="lung500", mode="row")
    gaps = {
        method: _widest_gap(select(genes, method=method)[["first", "second"]].to_numpy())
        for method in (PAPER, OURS, _DM, _NLPCA)
    }
    yield Claim(
        "lung500: the genes lie on a smooth manifold rather than in clusters, by all methods",
        max(gaps.values()) < 0.2,
        "widest gap between genes, in parts of the diameter: "
        + ", ".join(f"{METHODS[name].label} {value:.2f}" for name, value in gaps.items()),
    )


def _widest_gap(points: np.ndarray) -> float:
    """Return the longest link of the minimum spanning tree, relative to the diameter.

    Links to a twentieth of the points or fewer are those of outliers and do not count.
    """
    distances = pdist(points)
    tree = linkage(distances, "single")
    sizes = np.concatenate([np.ones(len(points)), tree[:, 3]])
    smaller = sizes[tree[:, :2].astype(int)].min(axis=1)
    counted = tree[smaller > len(points) / 20, 2]
    return float(counted.max(initial=0.0) / distances.max())


# By experiment: the table that decides its claims, and the function that checks them.
CHECKS: dict[str, tuple[str, Callable[[pd.DataFrame], Iterator[Claim]]]] = {
    "embeddings": ("embedding", _check_embeddings),
    "geometry": ("geometry", _check_geometry),
    "clustering": ("clustering", _check_clustering),
}
