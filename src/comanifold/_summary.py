"""What a fit has found: in plain words, and as values that JSON can store."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._embedding.clusters import Clusters
from ._embedding.structure import LEVEL, structure_summary, structure_warnings
from ._validation import check_count, for_both, listing
from .model_selection import HeldOutErrors, compare_held_out

if TYPE_CHECKING:
    from .co_manifold import CoManifold

# Rows and columns with less confidence in their cluster are between clusters.
_LEAST_CONFIDENCE = 0.5
# Clusters whose points stay in them less often are called uncertain.
_SURE = 0.8

# The smallest number of held-out entries on which an error is measured.
_MIN_HELD_OUT = 20

# A method with an error that is lower by more than this part is recommended instead.
_CLEARLY_BETTER = 0.02
_IMPLEMENTED_BY = {
    "KNN": "sklearn.impute.KNNImputer",
    "SoftImpute": "comanifold.baselines.SoftImpute",
}

# Characters of a line of the text.
_WIDTH = 100
# Clusters of a mode that are described in the text, and characters of a name.
_MAX_DESCRIBED = 12
_MAX_CHARACTERS = 28
# Larger effects are those of columns that hardly vary: their size means nothing.
_LARGEST_EFFECT = 99.0


@dataclass(frozen=True)
class Summary:
    """What a fit has found; its text is what `print` shows.

    Attributes
    ----------
    shape : list of int
        Number of rows and of columns.
    share_missing : float
        From 0 to 1.
    n_scales : int
    embedding : str
        The name of the embedding.
    clusters : dict
        Of "rows" and "columns": "number", "sizes", "confidence" and "evidence" (see
        `CoManifold.find_clusters`), and a sentence, "summary".
    structure : dict
        Of "rows" and "columns": "p_value", and a sentence, "summary".
    distinguishing : dict
        Of "rows" and "columns": one dict for each cluster, with "cluster" (from 1), "label" (from
        0, as in `row_labels_`), "size" and "features", the columns (or rows) that distinguish it
        best: "name", "index", "effect", "standard_error", "inside" and "outside" of each, as in
        `CoManifold.distinguishing`. Empty lists if there is one cluster.
    held_out : dict or None
        Errors on held-out entries, as in `comanifold.model_selection.HeldOutErrors`, and a
        sentence, "summary". None if they were not measured.
    warnings : list of str
    next_steps : list of str
        What to do with the result.
    """

    shape: list[int]
    share_missing: float
    n_scales: int
    embedding: str
    clusters: dict[str, dict[str, Any]]
    structure: dict[str, dict[str, Any]]
    distinguishing: dict[str, list[dict[str, Any]]]
    held_out: dict[str, Any] | None
    warnings: list[str]
    next_steps: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a nested dict of numbers, texts and lists, for JSON."""
        return asdict(self)

    def sections(self) -> dict[str, list[str]]:
        """Return the lines of the text by heading."""
        differences = [line for mode in ("rows", "columns") for line in self._differences(mode)]
        if differences:
            differences.insert(0, "of means inside and outside, in standard deviations:")
        sections = {
            "clusters": [self.clusters[mode]["summary"] for mode in ("rows", "columns")],
            "structure": ["; ".join(found["summary"] for found in self.structure.values())],
            "differences": differences,
            "held out": [self.held_out["summary"] if self.held_out else "not measured"],
            "warnings": self.warnings or ["none"],
            "what next": self.next_steps,
        }
        return {name: lines for name, lines in sections.items() if lines}

    @property
    def title(self) -> str:
        """The size of the matrix, and the share of its entries that is missing."""
        n_rows, n_columns = self.shape
        return f"{n_rows:,} rows × {n_columns:,} columns, {self._missing()} missing"

    def __str__(self) -> str:
        sections = self.sections()
        indent = max(map(len, sections)) + 4
        lines = [self.title]
        for name, texts in sections.items():
            wrapped = [line for text in texts for line in _wrapped(text, _WIDTH - indent)]
            headings = [f"  {name}", *[""] * (len(wrapped) - 1)]
            lines += [
                f"{heading:{indent}}{line}" for heading, line in zip(headings, wrapped, strict=True)
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._display import summary_html

        return summary_html(self)

    def _missing(self) -> str:
        share = self.share_missing
        return "nothing" if share == 0 else "less than 1%" if share < 0.01 else f"{share:.0%}"

    def _differences(self, mode: str) -> list[str]:
        """Return a line for each cluster, with what distinguishes it."""
        found = self.distinguishing[mode]
        lines = [_difference_text(mode, cluster) for cluster in found[:_MAX_DESCRIBED]]
        n_more = len(found) - _MAX_DESCRIBED
        return [*lines, f"and {n_more} more clusters of {mode}"] if n_more > 0 else lines


def summarise(
    model: "CoManifold",
    *,
    n_features: int = 3,
    compare: bool = True,
    errors: HeldOutErrors | None = None,
    warnings: Sequence[str] = (),
) -> Summary:
    """Return what a fitted model has found.

    Parameters
    ----------
    model : CoManifold
    n_features : int, default=3
        Columns (or rows) that are named for each cluster.
    compare : bool, default=True
        Compare the error on held-out entries with those of KNN and SoftImpute, unless the matrix
        is too large; else with those of means only, which takes no time.
    errors : HeldOutErrors, optional
        Errors that have been measured already.
    warnings : sequence of str
        Further warnings, such as those about the file that was read.
    """
    check_count("n_features", n_features)
    clusters = {mode: model.find_clusters(mode) for mode in ("row", "column")}
    if errors is None and len(model.held_out_["value"]) >= _MIN_HELD_OUT:
        errors = compare_held_out(model, only_means=not compare)
    p_values = {"rows": model.row_p_value_, "columns": model.column_p_value_}
    sentences = structure_summary(*p_values.values())
    is_given = dict(zip(clusters, (n is not None for n in for_both(model.n_clusters)), strict=True))
    return Summary(
        shape=list(model.data_.shape),
        share_missing=float(np.isnan(model.data_).mean()),
        n_scales=len(model.scales_["l"]),
        embedding=model.embedding_name_,
        clusters={
            f"{mode}s": {
                "number": found.n_clusters,
                "sizes": np.bincount(found.labels[found.labels >= 0]).tolist(),
                "confidence": found.confidence,
                "evidence": float(found.evidence),
                "summary": clusters_text(mode, found, is_given=is_given[mode]),
            }
            for mode, found in clusters.items()
        },
        structure={
            mode: {"p_value": float(p_value), "summary": sentences[mode]}
            for mode, p_value in p_values.items()
        },
        distinguishing={
            f"{mode}s": _distinguishing(model, mode, found, n_features)
            for mode, found in clusters.items()
        },
        held_out=None if errors is None else {**asdict(errors), "summary": held_out_text(errors)},
        warnings=[*model_warnings(model), *unreliable_estimates(errors), *warnings],
        next_steps=_next_steps(clusters, is_given, p_values),
    )


def clusters_text(mode: str, found: Clusters, *, is_given: bool) -> str:
    """Return how many clusters there are, and how sure they are; `is_given` if as many as asked."""
    given = ", as asked for" if is_given else ""
    if found.n_clusters == 1:
        return f"{mode}s: one cluster{given or ', no groups found'}"
    other = _other(mode)
    n_between = int((found.point_confidence < _LEAST_CONFIDENCE).sum())
    between = f"; {n_between} {mode}{'s are' if n_between > 1 else ' is'} between clusters"
    return (
        f"{mode}s: {found.n_clusters} clusters{given} ({found.confidence:.0%} of the {mode}s stay "
        f"in theirs if half of the {other}s are left out{between if n_between else ''})"
    )


def held_out_text(errors: HeldOutErrors) -> str:
    """Return the errors on held-out entries as a sentence."""
    others = ", ".join(f"{name} {error:.2f}" for name, error in errors.others.items())
    return (
        f"error {errors.model:.2f} of a standard deviation on {errors.n_held_out:,} entries; "
        f"{others}"
    )


def unreliable_estimates(errors: HeldOutErrors | None, neighbors: str = "n_neighbors") -> list[str]:
    """Return a warning if the filled-in values are no better than means, or others clearly are.

    `neighbors` is what the parameter of that name is called where the warning is shown.
    """
    if errors is None:
        return []
    found = []
    means = {"column": errors.column_means, "row": errors.row_means}
    mode = min(means, key=means.__getitem__)
    if errors.model >= means[mode]:
        found.append(
            f"the filled-in values are no better than {mode} means (error {errors.model:.2f} "
            f"against {means[mode]:.2f}): do not rely on them"
        )
    best = min(errors.others, key=errors.others.__getitem__)
    error = errors.others[best]
    if best in _IMPLEMENTED_BY and error < (1.0 - _CLEARLY_BETTER) * errors.model:
        found.append(
            f"{best} fills in this table better (error {error:.3g} against {errors.model:.3g}): "
            f"take filled-in values from {_IMPLEMENTED_BY[best]}, or try other parameters, such as "
            f"{neighbors}"
        )
    return found


def model_warnings(model: "CoManifold") -> list[str]:
    """Return the warnings of the fit that the fitted attributes show."""
    found = structure_warnings(model.row_p_value_, model.column_p_value_)
    for mode in ("row", "column"):
        unobserved = getattr(model, f"unobserved_{mode}s_")
        if unobserved.size:
            found.append(
                f"{mode}s without an observed entry, and so without coordinates, cluster and "
                f"filled-in values: {unobserved.size}. Counted from 0: {listing(unobserved)}"
            )
    n_ignored = len(model.ignored_entries_)
    if n_ignored:
        row, column = model.ignored_entries_[0]
        found.append(
            f"outliers that the fit has left out, as if they were missing: {n_ignored}, such as "
            f"{model.data_[row, column]:.6g} in row {row}, column {column}, counted from 0 "
            "(ignored_entries_)"
        )
    n_unfinished = int((model.scales_["status"] != "converged").sum())
    if n_unfinished:
        found.append(
            f"{n_unfinished} of {len(model.scales_['l'])} scales stopped before they reached the "
            f"tolerance of {model.tol:g}: raise max_iter, or tol"
        )
    return found


def _other(mode: str) -> str:
    return "column" if mode == "row" else "row"


def _distinguishing(
    model: "CoManifold", mode: str, found: Clusters, n_features: int
) -> list[dict[str, Any]]:
    """Return the clusters of a mode, with the features that distinguish each for certain."""
    if found.n_clusters == 1:
        return []
    table = model.distinguishing(mode)
    # Texts, and numbers from 1 where there are no names.
    attribute = "feature_names_in_" if mode == "row" else "row_names_in_"
    if hasattr(model, attribute):
        names = [str(name) for name in table["name"]]
    else:
        names = [f"{_other(mode)} {index + 1}" for index in table["index"]]
    clusters = []
    for label in range(found.n_clusters):
        lines = np.flatnonzero((table["cluster"] == label) & (table["certain"] > 0.0))
        clusters.append(
            {
                "cluster": label + 1,
                "label": label,
                "size": int((found.labels == label).sum()),
                "features": [
                    {
                        "name": names[line],
                        "index": int(table["index"][line]),
                        **{
                            name: float(table[name][line])
                            for name in ("effect", "standard_error", "inside", "outside")
                        },
                    }
                    for line in lines[:n_features]
                ],
            }
        )
    return clusters


def _difference_text(mode: str, cluster: dict[str, Any]) -> str:
    """Return what distinguishes a cluster: where it is higher and where it is lower."""
    one = mode.removesuffix("s")
    size = f"{cluster['size']:,} {mode if cluster['size'] > 1 else one}"
    parts = []
    for word, sign in (("higher", 1.0), ("lower", -1.0)):
        named = [
            f"{_shown(feature['name'])} ({_effect_text(feature['effect'])})"
            for feature in cluster["features"]
            if feature["effect"] * sign > 0.0
        ]
        if named:
            parts.append(f"{word} in {', '.join(named)}")
    text = "; ".join(parts) or "nothing distinguishes it for certain"
    return f"{one} cluster {cluster['cluster']} ({size}): {text}"


def _effect_text(effect: float) -> str:
    """Return an effect in standard deviations, with its sign."""
    if abs(effect) > _LARGEST_EFFECT:
        return f"{'+' if effect > 0 else '−'}99 or more"
    return f"{effect:+.1f}".replace("-", "−")


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most so many characters; later ones are indented."""
    return textwrap.wrap(
        text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _shown(name: str) -> str:
    """Return a name on one line, truncated."""
    text = " ".join(name.split())
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def _next_steps(
    clusters: dict[str, Clusters], is_given: dict[str, bool], p_values: dict[str, float]
) -> list[str]:
    """Return what to do with the result, most important first."""
    steps = []
    has_structure = {mode: p_values[f"{mode}s"] <= LEVEL for mode in clusters}
    if not any(has_structure.values()):
        steps.append(
            "do not interpret positions or clusters yet: standardise columns in different units "
            "(comanifold.preprocessing), take logarithms of skewed ones, or add rows"
        )
    for mode, found in clusters.items():
        if found.n_clusters == 1 and has_structure[mode] and not is_given[mode]:
            steps.append(
                f"the {mode}s differ by degrees, not in groups: colour them by what you know, "
                f'plotting.embedding(model, mode="{mode}", values=...)'
            )
        if found.n_clusters > 1 and has_structure[mode]:
            check = (
                ", and check the clusters against what you know: they are not certain"
                if found.confidence < _SURE
                else ""
            )
            steps.append(
                f"see what distinguishes the clusters of {mode}s: "
                f'plotting.distinguishing(model, mode="{mode}"){check}'
            )
    return [*steps, "look at matrix, embeddings and clusters together: model.report()"]
