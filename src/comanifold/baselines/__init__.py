"""Baselines: other methods to embed, fill in and cluster incomplete matrices."""

from ._convex_clustering import ConvexClustering
from ._filled_diffusion_map import FilledDiffusionMap, choose_imputer
from ._masked_isomap import MaskedIsomap
from ._nlpca import NLPCA
from ._questionnaire import Questionnaire
from ._soft_impute import SoftImpute

__all__ = [
    "NLPCA",
    "ConvexClustering",
    "FilledDiffusionMap",
    "MaskedIsomap",
    "Questionnaire",
    "SoftImpute",
    "choose_imputer",
]
