"""What a fit of a table has found, in the words of the command line."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._figures import FIGURES
from ._output import Output, duration
from ._results import FIGURE, REPORT

if TYPE_CHECKING:
    from .. import CoManifold
    from .._summary import Summary
    from ..model_selection import HeldOutErrors

# Errors that differ by less, as a part, are called equal.
_EQUAL = 0.005
# Clusters whose points stay in them less often are not certain.
_SURE = 0.8


def find(
    model: "CoManifold", errors: "HeldOutErrors | None", warnings: list[str], seconds: float
) -> dict[str, Any]:
    """Return what a fit has found, as values that JSON can store."""
    from .._summary import summarise

    summary = summarise(model, compare=False, errors=errors)
    held_out = None
    if errors is not None:
        held_out = {**(summary.held_out or {}), "best": best_prediction(errors)}
    summary = replace(summary, warnings=warnings, held_out=held_out, next_steps=[])
    found = {**summary.as_dict(), "seconds": seconds}
    if hasattr(model, "row_eigenvalues_"):  # of diffusion maps
        found["eigenvalues"] = {
            "rows": model.row_eigenvalues_.tolist(),
            "columns": model.column_eigenvalues_.tolist(),
        }
    found["differences"] = _differences(summary)
    found["next_steps"] = next_steps(found)
    return found


def best_prediction(errors: "HeldOutErrors") -> str:
    """Return which method predicts the held-out entries best, as a sentence."""
    best = min(errors.others, key=errors.others.__getitem__)
    error, ours = errors.others[best], errors.model
    if abs(error - ours) <= _EQUAL * ours:
        return f"{best} predicts them equally well"
    if error < ours:
        return f"{best} predicts them better, by {1.0 - error / ours:.1%}"
    return f"no other method that was tried predicts them better; the next is {best}"


def _differences(summary: "Summary") -> list[str]:
    """Return what distinguishes each cluster, a line for each; empty if there are none."""
    return summary.sections().get("differences", [])[1:]


def next_steps(found: dict[str, Any]) -> list[str]:
    """Return what to do with the results, most important first."""
    from .._embedding.structure import LEVEL

    steps = []
    has_structure = {mode: of["p_value"] <= LEVEL for mode, of in found["structure"].items()}
    if not any(has_structure.values()):
        steps.append(
            "do not interpret positions or groups yet: try --standardize if columns are in "
            "different units, --log1p for counts, or add rows"
        )
    tables = []
    for mode, clusters in found["clusters"].items():
        one = mode.removesuffix("s")
        if clusters["number"] > 1:
            tables.append(f"{one}_distinguishing.csv")
            if clusters["confidence"] < _SURE:
                steps.append(
                    f"the groups of {mode} are not certain: check them against what you know, or "
                    f"set their number with --{one}-clusters"
                )
        elif has_structure[mode]:
            steps.append(
                f"the {mode} differ by degrees rather than in groups: look at their order in the "
                f"report; --{one}-clusters divides them anyway"
            )
    if tables:
        steps.append(f"{' and '.join(tables)}: all that tells the groups apart")
    if any("better (error" in warning for warning in found["warnings"]):
        steps.append(
            "comanifold compare FILE: measure the methods several times, and see what is chance"
        )
    return steps


def figures_step(files: list[str], out: Path) -> list[str]:
    """Return how to get figures for a paper; nothing if there are some, or cannot be any."""
    if FIGURE not in files or any(name.startswith(f"{FIGURES}/") for name in files):
        return []
    return [f"comanifold report {out} --figures svg,pdf: figures for a paper"]


def _listed(files: list[str]) -> str:
    """Return the names of files, with those of figures as one."""
    figures = [name for name in files if name.startswith(f"{FIGURES}/")]
    others = [name for name in files if name not in figures]
    return ", ".join([*others, *([f"{FIGURES} ({len(figures)})"] if figures else [])])


def say_summary(output: Output, found: dict[str, Any], out: Path) -> None:
    """Print what was found, a section for each kind of finding, and where the files are."""
    clusters, structure, held_out = found["clusters"], found["structure"], found["held_out"]
    output.say(f"Fitted in {duration(found['seconds'])}, {found['n_scales']} scales:")
    output.section("clusters", [clusters[mode]["summary"] for mode in ("rows", "columns")])
    if found["differences"]:
        explained = "difference of the means inside and outside, in standard deviations:"
        output.section("marked by", [explained, *found["differences"]])
    output.section("structure", ["; ".join(of["summary"] for of in structure.values())])
    measured = [held_out["summary"], held_out["best"]] if held_out else ["not measured"]
    output.section("held out", measured)
    output.section("warnings", found["warnings"] or ["none"])
    output.section("files", [f"in {out}: {_listed(found['files'])}"])
    if found["next_steps"]:
        output.section("what next", found["next_steps"])
    for message in found["skipped"]:
        output.say(message)
    if REPORT in found["files"]:
        output.say(f"Open {out / REPORT} in a browser.")
