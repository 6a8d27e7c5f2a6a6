"""A comparison of methods in words: the table as text or for JSON, and the conclusions."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Comparison

_OURS = "comanifold"

# Heads of the columns of the table.
_HEADS = {
    "error": "held-out error",
    "row_agreement": "rows agree",
    "column_agreement": "columns agree",
}


def table_lines(found: "Comparison") -> list[str]:
    """Return the table as aligned lines, with standard errors, and what it means."""
    table = found.table
    lines = [["", *_HEADS.values(), "seconds"]]
    for place, name in enumerate(table["method"].tolist()):
        cells = [
            _with_error(table[measure][place], table[f"{measure}_se"][place]) for measure in _HEADS
        ]
        lines.append([name, *cells, f"{table['seconds'][place]:.1f}"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    aligned = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rows, columns = found.n_neighbors["row"], found.n_neighbors["column"]
    return [
        *aligned,
        "",
        f"Means of {found.n_repeats} repeats, each without {found.fraction:.0%} of the observed "
        f"entries, the same for all; +- is a standard error.",
        "held-out error: of the filled-in values, in standard deviations; 0 is perfect, 1 is the "
        "mean of all. Less is better.",
        f"agree: correlation of the held-out entries with those of the {rows} nearest rows "
        f"({columns} nearest columns), which were found without them; 0 is chance. More is better.",
        *(f"{name}: not measured, because {reason}." for name, reason in found.skipped.items()),
    ]


def as_dict(found: "Comparison") -> dict[str, Any]:
    """Return all numbers and sentences as values that JSON can store; None for NaN."""
    names = list(found.table)
    lines = zip(*(values.tolist() for values in found.table.values()), strict=True)
    return {
        "methods": [dict(zip(names, map(_none_for_nan, line), strict=True)) for line in lines],
        "repeats": {
            name: [list(map(_none_for_nan, line)) for line in values.tolist()]
            for name, values in found.repeats.items()
        },
        "n_held_out": found.n_held_out.tolist(),
        "n_neighbors": found.n_neighbors,
        "fraction": found.fraction,
        "skipped": found.skipped,
        "conclusions": conclusions(found),
    }


def _none_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_error(mean: float, error: float) -> str:
    return "" if math.isnan(mean) else f"{mean:.3f} +- {error:.3f}"


def conclusions(found: "Comparison") -> list[str]:
    """Return a sentence about filling in, and about the neighbours of rows and of columns."""
    return [
        _about_error(found),
        _about_agreement(found, "row"),
        _about_agreement(found, "column"),
    ]


def _measured(found: "Comparison", measure: str) -> dict[str, float]:
    """Return the means of a measure, by method, without those that have none."""
    lines = zip(found.table["method"].tolist(), found.table[measure].tolist(), strict=True)
    return {name: value for name, value in lines if not math.isnan(value)}


def _about_error(found: "Comparison") -> str:
    errors = _measured(found, "error")
    ours = errors.pop(_OURS)
    if not errors:
        return f"Filling in: {_OURS} has an error of {ours:.3g}; no other method was measured."
    best = min(errors, key=errors.__getitem__)
    difference, noise = errors[best] - ours, found.noise("error", _OURS, best)
    against = f"(error {ours:.3g} against {errors[best]:.3g})"
    if abs(difference) <= noise:
        sentence = (
            f"{_OURS} and {best} do equally well here {against}: differences below "
            f"{_percent(noise / ours)} are noise."
        )
    elif difference > 0:
        better, least = _percent(difference / errors[best]), _percent(noise / errors[best])
        sentence = (
            f"{_OURS} fills in best here, better than {best} by {better} {against}; differences "
            f"below {least} are noise."
        )
    else:
        better, least = _percent(-difference / ours), _percent(noise / ours)
        sentence = (
            f"{best} fills in better here than {_OURS}, by {better} {against}; differences below "
            f"{least} are noise. Take filled-in values from it."
        )
    lowest = min(ours, *errors.values())
    if lowest >= 1.0:
        sentence += " No method predicts better than the mean of all entries."
    return f"Filling in: {sentence}"


def _about_agreement(found: "Comparison", mode: str) -> str:
    measure, start = f"{mode}_agreement", f"Neighbours among {mode}s: "
    values = _measured(found, measure)
    if _OURS not in values:
        return f"{start}too few entries are shared to measure them."
    ours = values.pop(_OURS)
    if not values:
        return f"{start}{_OURS} agrees by {ours:.2f}; no other method was measured."
    best = max(values, key=values.__getitem__)
    difference, noise = ours - values[best], found.noise(measure, _OURS, best)
    against = f"({ours:.3f} against {values[best]:.3f}); differences below {noise:.2g} are noise."
    if max(ours, values[best]) <= 0.0:
        return f"{start}those of no method agree more than by chance."
    if abs(difference) <= noise:
        return f"{start}{_OURS} and {best} do equally well {against}"
    if difference > 0:
        return f"{start}{_OURS} finds those that agree best, then {best} {against}"
    return f"{start}{best} finds some that agree better than those of {_OURS} {against}"


def _percent(part: float) -> str:
    """Return a part as a percentage with one or two digits."""
    return f"{100.0 * part:.1f}%" if part < 0.095 else f"{part:.0%}"
