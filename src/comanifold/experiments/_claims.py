"""What the paper says about its experiments, held against our numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from ._methods import METHODS, OURS, PAPER
from ._style import select

_DM, _NLPCA = "dm-mean", "nlpca"
_OTHERS = [name for name in METHODS if name not in (OURS, PAPER)]

_BOTH = ((PAPER, "settings of the paper"), (OURS, "our defaults"))

# Of the adjusted Rand index: less than this is no difference to speak of.
_LITTLE = 0.05


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether it holds here, and by what numbers."""

    statement: str
    holds: bool
    numbers: str


def as_markdown(claims: list[Claim]) -> str:
    lines = ["| the paper says | here | our numbers |", "|---|---|---|"]
    for claim in claims:
        lines.append(
            f"| {claim.statement} | {'true' if claim.holds else 'not true'} | {claim.numbers} |"
        )
    return "\n".join(lines) + "\n"


def _means(table: pd.DataFrame, data_set: str) -> pd.DataFrame:
    """Mean index, with one line for each share of missing entries and a column for each method."""
    part = select(table, data_set=data_set, n_components=2)
    return part.pivot_table(index="fraction", columns="method", values="ari")


def _ends(scores: pd.Series) -> str:
    first, last = scores.index[0], scores.index[-1]
    return f"{scores.iloc[0]:.2f} at {first:.0%}, {scores.iloc[-1]:.2f} at {last:.0%} missing"


def _lead(means: pd.DataFrame, method: str, rivals: list[str]) -> tuple[bool, str]:
    """Whether a method is nowhere behind the best rival, and by how much it leads."""
    lead = means[method] - means[rivals].max(axis=1)
    best = means[rivals].mean().idxmax()
    text = (
        f"mean {means[method].mean():.2f}; best rival on average {METHODS[best].label}, "
        f"{means[best].mean():.2f}; lead over the best at each share {lead.min():+.2f} to "
        f"{lead.max():+.2f}"
    )
    return bool(lead.min() > -0.005), text


def _check_clustering(table: pd.DataFrame) -> Iterator[Claim]:
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
            bool(loss <= 2 * _LITTLE),
            _ends(lung[method]),
        )
    for method, words in _BOTH:
        yield Claim(
            f"linkage2: unaffected by missing values ({words})",
            bool(np.ptp(clouds[method]) <= _LITTLE),
            f"{_ends(clouds[method])}, lowest {clouds[method].min():.2f}",
        )
    for data_set, means in (("lung500", lung), ("linkage2", clouds)):
        yield Claim(
            f"{data_set}: diffusion maps (mean filled) degrade",
            bool(means[_DM].iloc[0] - means[_DM].iloc[-1] > 2 * _LITTLE),
            _ends(means[_DM]),
        )
    masked = lung["dm-masked"]
    yield Claim(
        "the same of diffusion maps on masked distances, lung500 (not in the paper)",
        bool(masked.iloc[0] - masked.iloc[-1] > 2 * _LITTLE),
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
        bool(clouds[_NLPCA].iloc[0] - clouds[_NLPCA].iloc[-1] > _LITTLE),
        _ends(clouds[_NLPCA]),
    )


def _check_geometry(table: pd.DataFrame) -> Iterator[Claim]:
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
    """The longest link that it takes to join all points, relative to their diameter.

    Links to a twentieth of the points or fewer are those of outliers and do not count.
    """
    distances = pdist(points)
    tree = linkage(distances, "single")
    sizes = np.concatenate([np.ones(len(points)), tree[:, 3]])
    smaller = sizes[tree[:, :2].astype(int)].min(axis=1)
    counted = tree[smaller > len(points) / 20, 2]
    return float(counted.max(initial=0.0) / distances.max())


# By experiment: the table that is looked at, and how.
CHECKS: dict[str, tuple[str, Callable[[pd.DataFrame], Iterator[Claim]]]] = {
    "embeddings": ("embedding", _check_embeddings),
    "geometry": ("geometry", _check_geometry),
    "clustering": ("clustering", _check_clustering),
}
