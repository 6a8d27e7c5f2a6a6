"""What every solver hands back."""

from dataclasses import dataclass

from ._dual import Dual
from ._fusion import Iterate


@dataclass(frozen=True)
class Outcome:
    """The estimate that a solver ends with, in standard units.

    `history` holds the objective at the start and from then on; `dual` is None where the
    penalty is steep enough to hold anything that has fused.
    """

    iterate: Iterate
    history: list[float]
    n_iter: int
    dual: Dual | None = None
