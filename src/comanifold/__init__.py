"""Co-manifold learning with missing data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Where each public name lives. Imported when first used, so that `import comanifold` is quick.
_HOMES = {
    "Certificate": "solvers",
    "CoCluster": "co_clustering",
    "CoClustering": "solvers",
    "CoManifold": "co_manifold",
    "Comparison": "comparison",
    "ComparisonProgress": "comparison",
    "DiffusionMap": "diffusion_map",
    "FitProgress": "_fit.progress",
    "Graph": "graphs",
    "Scale": "solvers",
    "Summary": "_summary",
    "co_cluster": "co_clustering",
    "compare": "comparison",
    "dual_bound": "solvers",
    "masked_distances": "graphs",
    "objective": "solvers",
}
_MODULES = (
    "annotated",
    "baselines",
    "datasets",
    "model_selection",
    "penalties",
    "plotting",
    "preprocessing",
    "report",
    "tables",
    "trees",
)

__all__ = [
    "Certificate",
    "CoCluster",
    "CoClustering",
    "CoManifold",
    "Comparison",
    "ComparisonProgress",
    "DiffusionMap",
    "FitProgress",
    "Graph",
    "Scale",
    "Summary",
    "annotated",
    "baselines",
    "co_cluster",
    "compare",
    "datasets",
    "dual_bound",
    "masked_distances",
    "model_selection",
    "objective",
    "penalties",
    "plotting",
    "preprocessing",
    "report",
    "tables",
    "trees",
]

if TYPE_CHECKING:
    from . import (
        annotated,
        baselines,
        datasets,
        model_selection,
        penalties,
        plotting,
        preprocessing,
        report,
        tables,
        trees,
    )
    from ._fit.progress import FitProgress
    from ._summary import Summary
    from .co_clustering import CoCluster, co_cluster
    from .co_manifold import CoManifold
    from .comparison import Comparison, ComparisonProgress, compare
    from .diffusion_map import DiffusionMap
    from .graphs import Graph, masked_distances
    from .solvers import Certificate, CoClustering, Scale, dual_bound, objective


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
