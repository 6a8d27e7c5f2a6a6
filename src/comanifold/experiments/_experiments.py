"""Which pieces of work an experiment consists of, and which figures its tables give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from . import _units as work
from ._cases import DATA_SETS, GROUPED
from ._figures import (
    Figures,
    Tables,
    draw_appendix,
    draw_clustering,
    draw_embeddings,
    draw_filling,
    draw_geometry,
    draw_workflow,
)
from ._methods import METHODS, PAPER
from ._runner import Unit

_IN_SPACE = ("linkage", "linkage2")  # made from points in space
_HALF = 50  # percent missing, where the paper has no more to say


@dataclass(frozen=True)
class Plan:
    """How much to do: masks for each share of missing entries, and these shares in percent."""

    realizations: int = 30
    percents: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90)

    def with_realizations(self, realizations: int) -> "Plan":
        return replace(self, realizations=realizations)

    @property
    def fewer(self) -> range:
        """Masks for what takes long or varies little."""
        return range(max(1, self.realizations // 6))


# A look at everything in a few minutes.
QUICK = Plan(realizations=3, percents=(10, 50, 90))


@dataclass(frozen=True)
class Experiment:
    """Part of what is reproduced: its pieces of work, and its figures, drawn from their tables."""

    title: str
    units: Callable[[Plan], Sequence[Unit]]
    draw: Callable[[Tables], Figures]


def _workflow(_plan: Plan) -> Sequence[Unit]:
    return [
        Unit("matrices", work.matrices, ("lung500", _HALF)),
        Unit("metric", work.metric, ("lung500", _HALF)),
        Unit("affinities", work.affinities, ("lung500", _HALF)),
        Unit("embedding", work.embedding, ("lung500", _HALF, PAPER)),
    ]


def _embeddings(_plan: Plan) -> Sequence[Unit]:
    return _points() + [
        Unit("embedding", work.embedding, (data_set, _HALF, method))
        for data_set in DATA_SETS
        for method in METHODS
    ]


def _clustering(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("clustering", work.clustering, (data_set, percent, realization, method))
        for realization in range(plan.realizations)
        for data_set in GROUPED
        for percent in plan.percents
        for method in METHODS
    ]


def _appendix(_plan: Plan) -> Sequence[Unit]:
    return _points() + [Unit("matrices", work.matrices, (name, _HALF)) for name in _IN_SPACE]


def _points() -> list[Unit]:
    return [Unit("points", work.points, (data_set,)) for data_set in _IN_SPACE]


def _geometry(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("geometry", work.geometry, (data_set, _HALF, realization, method))
        for realization in plan.fewer
        for data_set in DATA_SETS
        for method in METHODS
    ]


def _filling(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("filling", work.filling, (data_set, percent, realization, method))
        for realization in plan.fewer
        for data_set in DATA_SETS
        for percent in plan.percents[::2]
        for method in work.FILLING
    ]


EXPERIMENTS = {
    "workflow": Experiment("Figure 1: the three steps of the method", _workflow, draw_workflow),
    "embeddings": Experiment(
        "Figure 2: embeddings of rows and columns, half missing", _embeddings, draw_embeddings
    ),
    "clustering": Experiment(
        "Figure 3: adjusted Rand index for more and more missing", _clustering, draw_clustering
    ),
    "appendix": Experiment("Appendix: points, matrices, filled in", _appendix, draw_appendix),
    "geometry": Experiment("Beyond the paper: Figure 2 in numbers", _geometry, draw_geometry),
    "filling": Experiment("Beyond the paper: error of what is filled in", _filling, draw_filling),
}
