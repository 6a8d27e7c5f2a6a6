"""What counts as a missing entry."""

import csv
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ._table import Array

# In any mix of capitals. A dash or a point alone is how many tables leave a cell out; two points
# and a colon are how statistical offices do, and \N is how databases do.
DEFAULT_MISSING = (
    "NA",
    "N/A",
    "#N/A",
    "n.a.",
    "<NA>",
    "NaN",
    "null",
    "None",
    "missing",
    "not available",
    "(null)",
    "\\N",
    "?",
    "-",
    "--",
    "\u2013",
    "\u2014",
    ".",
    "..",
    "...",
    "\u2026",
    ":",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NAME?",
    "#NUM!",
    "#NULL!",
)

# Error cells of spreadsheets are missing among texts, too, in any mix of capitals.
_ALWAYS = ("", "nan", "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")


class Missing:
    """The tokens that mean missing, and how many of each were seen.

    Parameters
    ----------
    tokens : str or sequence, optional
        Besides `DEFAULT_MISSING`: texts, separated by commas if they come as one (one with a
        comma in it has to be quoted), and numbers, which match numerically.
    """

    def __init__(self, tokens: str | Sequence[str | float] | None = None):
        if tokens is None:
            tokens = ()
        elif isinstance(tokens, str):
            tokens = next(csv.reader([tokens], skipinitialspace=True), [])
        tokens = [*DEFAULT_MISSING, *tokens]
        self._texts, self._codes = set(_ALWAYS), set(_ALWAYS)
        self._numbers: list[float] = []
        for token in tokens:
            text = str(token).strip()
            try:
                number = float(text)
            except ValueError:
                self._texts.add(text.lower())
                self._codes.add(text)
            else:
                if not np.isnan(number):
                    self._numbers.append(number)
        self.seen: Counter[str] = Counter()

    def is_missing(self, cell: str) -> bool:
        """Whether a cell that is no number is missing."""
        return cell.strip().lower() in self._texts

    def is_code(self, cell: str) -> bool:
        """Whether a cell among texts is missing: only in the usual capitals, as Na is sodium."""
        return cell.strip() in self._codes

    def count(self, cell: str) -> None:
        self.seen[cell.strip()] += 1

    def blank_numbers(self, values: Array) -> Array:
        """Values, with NaN in place of numbers that mean missing."""
        for number in self._numbers:
            same = values == number
            if same.any():
                self.seen[f"{number:g}"] += int(same.sum())
                values[same] = np.nan
        return values

    def note(self, n_missing: int) -> str:
        """What was seen, in a sentence."""
        if not n_missing:
            return "Nothing is missing."
        kinds = [
            f"{count:,} {'empty' if not token else repr(token)}"
            for token, count in self.seen.most_common(6)
        ]
        others = len(self.seen) - len(kinds)
        if others:
            kinds.append(f"{others} other kinds")
        return f"Missing: {', '.join(kinds)}." if kinds else f"Missing: {n_missing:,} entries."
