"""Data made ready for a fit, and estimates brought back to the units of the file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._help import option, together

_SECTION = "Preparing the data"

preparing_options: Callable = together(
    option(
        "--log1p",
        is_flag=True,
        section=_SECTION,
        help="Take the logarithm of 1 + x, as for counts.",
    ),
    option(
        "--standardize",
        is_flag=True,
        section=_SECTION,
        help="Give every column mean 0 and deviation 1, over what is observed. Filled-in values "
        "are written in the units of the file all the same.",
    ),
)


@dataclass(frozen=True)
class Preparation:
    """What is done to the data before a fit.

    Attributes
    ----------
    log1p : bool
    means, deviations : list of float or None
        Of the columns, if these are standardised.
    """

    log1p: bool = False
    means: list[float] | None = None
    deviations: list[float] | None = None

    @classmethod
    def of(cls, values: Any, *, log1p: bool, standardize: bool) -> "Preparation":
        """The preparation that is asked for, of these data."""
        if not standardize:
            return cls(log1p)
        return cls(log1p, *_moments(cls(log1p).apply(values)))

    def apply(self, values: Any) -> Any:
        import numpy as np

        if self.log1p:
            lowest = np.nanmin(values)
            if lowest <= -1:
                raise ValueError(
                    f"--log1p needs values above -1, and the smallest is {lowest:g}: leave it out"
                )
            values = np.log1p(values)
        if self.means is not None:
            values = (values - np.array(self.means)) / np.array(self.deviations)
        return values

    def apply_to_columns(self, values: Any) -> Any:
        """The same for new columns, which have their own means and deviations."""
        if self.means is None:
            return self.apply(values)
        logged = Preparation(self.log1p).apply(values)
        return Preparation(False, *_moments(logged)).apply(logged)

    def undo(self, values: Any) -> Any:
        import numpy as np

        if self.means is not None:
            values = values * np.array(self.deviations) + np.array(self.means)
        return np.expm1(values) if self.log1p else values

    def fill_in(self, values: Any, filled: Any) -> Any:
        """The data as they are, and estimates in their units where they are missing."""
        import numpy as np

        return np.where(np.isnan(values), self.undo(filled), values)

    @property
    def note(self) -> str:
        """What was done, in a sentence; nothing if nothing was."""
        done = ["the logarithm of 1 + x was taken"] if self.log1p else []
        if self.means is not None:
            done.append("columns were given mean 0 and deviation 1")
        return f"Before the fit, {' and '.join(done)}." if done else ""


def _moments(values: Any) -> tuple[list[float], list[float]]:
    """Means and deviations of the columns; a constant or empty one is only shifted."""
    import numpy as np

    observed = ~np.isnan(values)
    n_observed = np.maximum(observed.sum(axis=0), 1)
    means = np.where(observed, values, 0.0).sum(axis=0) / n_observed
    squares = np.where(observed, values - means, 0.0) ** 2
    deviations = np.sqrt(squares.sum(axis=0) / n_observed)
    # What is left of a constant column is rounding.
    constant = deviations <= 1e-12 * np.abs(means)
    return means.tolist(), np.where(constant, 1.0, deviations).tolist()
