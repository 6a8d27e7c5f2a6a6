"""What counts as a missing entry."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ._table import Array

# In any mix of capitals. A dash or a point alone is how many tables leave a cell out.
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
    "?",
    "-",
    "--",
    ".",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NAME?",
    "#NUM!",
    "#NULL!",
)

# What is missing whatever is asked for: it cannot be a number.
_ALWAYS = ("", "nan", "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")


class Missing:
    """The tokens that mean missing, and how many of each were seen.

    Parameters
    ----------
    tokens : str or sequence, optional
        Texts, separated by commas if they come as one, and numbers, which match numerically.
    """

    def __init__(self, tokens: str | Sequence[str | float] | None = None):
        if tokens is None:
            tokens = DEFAULT_MISSING
        elif isinstance(tokens, str):
            tokens = tokens.split(",")
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
