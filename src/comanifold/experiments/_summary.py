"""Summaries in Markdown: means of the scores, and the claims of the paper against them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
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


@dataclass(frozen=True)
class _Score:
    """A column of scores in a table, and how it is shown."""

    column: str
    labels: dict[str, str]
    digits: int
    less_is_better: bool = False

    def is_best(self, mean: str, means: list[str]) -> bool:
        """Return whether no other of the means is better, to the digits that are shown."""
        best = min if self.less_is_better else max
        return float(mean) == best(map(float, means))


_METHOD_LABELS = {name: method.label for name, method in METHODS.items()}
_IMPUTATION_LABELS = {name: imputation.label for name, imputation in IMPUTATIONS.items()}

_INDEX = _Score("ari", _METHOD_LABELS, 2)
_GEOMETRY = _Score("value", _METHOD_LABELS, 3)
_ERROR = _Score("error", _IMPUTATION_LABELS, 3, less_is_better=True)


def summarise(tables: Tables) -> str:
    """Return the best methods, then means and standard deviations over masks, in Markdown."""
    best, parts = [], []
    if "clustering" in tables:
        table = tables["clustering"]
        table = table.sort_values(["data_set", "n_components", "fraction"], kind="stable")
        dimension = table["n_components"].astype(str) + " coordinates"
        table = table.assign(setting=_settings(table["data_set"], dimension, table["fraction"]))
        best.append(best_methods("Best methods, adjusted Rand index", table, _INDEX))
        for (data_set, n_components), part in table.groupby(
            ["data_set", "n_components"], sort=False
        ):
            title = f"Adjusted Rand index, {data_set}, {n_components} coordinates"
            parts.append(_table(title, part, "fraction", _INDEX))
    if "geometry" in tables:
        table = tables["geometry"]
        where = [MODES[key] for key in zip(table["data_set"], table["mode"], strict=True)]
        table = table.assign(what=pd.Series(where, index=table.index) + ", " + table["metric"])
        table = table.assign(setting=table["what"])
        best.append(best_methods("Best methods, embeddings, half missing", table, _GEOMETRY))
        for data_set, part in table.groupby("data_set", sort=False):
            title = f"Embeddings against what is known, {data_set}, half missing"
            parts.append(_table(title, part, "what", _GEOMETRY))
    if "filling" in tables:
        table = tables["filling"]
        table = table.assign(setting=_settings(table["data_set"], table["fraction"]))
        best.append(best_methods("Best methods, error of filled-in entries", table, _ERROR))
        for data_set, part in table.groupby("data_set", sort=False):
            title = f"Error of filled-in entries in standard deviations, {data_set}"
            parts.append(_table(title, part, "fraction", _ERROR))
    return "\n".join([*best, *parts])


def _settings(*columns: pd.Series) -> list[str]:
    """Return the setting of each line of a table: its cells of these columns, as one text."""
    return [", ".join(_head(cell) for cell in row) for row in zip(*columns, strict=True)]


def best_methods(title: str, table: pd.DataFrame, score: _Score) -> str:
    """Return a table with the best other method of each setting, and how far ours is from it.

    `table` has the columns setting, realization and method besides that of the score. Settings
    without ours, or without any other method, are left out.
    """
    grouped = table.groupby(["setting", "realization", "method"], sort=False)[score.column]
    by_mask = grouped.mean().unstack("method")
    lines, verdicts = [], []
    for setting in dict.fromkeys(table["setting"]):
        if OURS not in by_mask:
            break
        part = by_mask.loc[setting].dropna(subset=[OURS]).dropna(axis="columns", how="all")
        others = [name for name in score.labels if name in part and name != OURS]
        if not others:
            continue
        means = part[others].mean()
        best = means.min() if score.less_is_better else means.max()
        winners = [name for name in others if np.isclose(means[name], best, rtol=0, atol=1e-12)]
        difference = (part[OURS] - part[winners[0]]).dropna().to_numpy()
        verdict = _verdict(difference, score.less_is_better)
        verdicts.append(verdict)
        names = score.labels[winners[0]]
        if len(winners) > 1:
            names += f" and {len(winners) - 1} more"
        lines.append(
            f"| {setting} | {names} | {_number(best, score.digits)} "
            f"| {_number(part[OURS].mean(), score.digits)} "
            f"| {_paired(difference, score.digits)} | {verdict} |"
        )
    counts = ", ".join(
        f"{verdict} in {verdicts.count(verdict)}" for verdict in _VERDICTS if verdict in verdicts
    )
    return "\n".join(
        [
            f"### {title}",
            "",
            f"{'Lower' if score.less_is_better else 'Higher'} scores are better. The best other "
            "method is the one with the best mean over these masks, which favours it. The "
            "difference is the score of comanifold minus that of the other method on the same "
            "masks, mean ± standard error; it counts if a paired t-test at 5% says so.",
            "",
            "| setting | best other method | its mean | comanifold | difference | comanifold is |",
            "|---|---|---|---|---|---|",
            *lines,
            "",
            f"Of {len(lines)} settings, comanifold is {counts}.",
            "",
        ]
    )


_VERDICTS = ("better", "within noise", "worse", "not tested (one mask)")


def _number(value: float, digits: int, sign: str = "") -> str:
    """Return a number with so many digits after the point, or as a power of ten if too small."""
    tiny = 1e-12 < abs(value) < 10.0**-digits
    return f"{value:{sign}.0e}" if tiny else f"{value:{sign}.{digits}f}"


def _paired(difference: np.ndarray, digits: int) -> str:
    """Return the mean of paired differences and, of more than one, its standard error as text."""
    mean = _number(difference.mean(), digits, "+")
    if len(difference) < 2:
        return mean
    return f"{mean} ± {_number(stats.sem(difference), digits)}"


def _verdict(difference: np.ndarray, less_is_better: bool) -> str:
    """Return which of `_VERDICTS` holds for differences of ours to another method."""
    better, even, worse, untested = _VERDICTS
    if len(difference) < 2:
        return untested
    mean = difference.mean()
    # Differences may be zero but for rounding.
    limit = stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference) + 1e-12
    if abs(mean) <= limit:
        return even
    return better if (mean < 0) == less_is_better else worse


def _table(title: str, table: pd.DataFrame, across: str, score: _Score) -> str:
    """Return a table with one line for each method and one column for each value of `across`."""
    grouped = table.groupby(["method", across], sort=False)[score.column]
    mean, spread = grouped.mean(), grouped.std(ddof=0)
    heads = list(dict.fromkeys(table[across]))
    count = table["realization"].nunique()
    shown = mean.map(f"{{:.{score.digits}f}}".format)

    def cell(name: str, head: str | float) -> str:
        if (name, head) not in mean.index:
            return ""
        text = shown[name, head]
        if count > 1:
            text += f" ± {spread[name, head]:.{score.digits}f}"
        is_best = score.is_best(shown[name, head], list(shown.xs(head, level=across)))
        return f"**{text}**" if is_best else text

    lines = [
        f"### {title}",
        "",
        ("One mask" if count == 1 else f"Mean ± standard deviation of {count} masks")
        + "; the best of each column is bold.",
        "",
        "| method | " + " | ".join(_head(head) for head in heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for name, label in score.labels.items():
        cells = [cell(name, head) for head in heads]
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
