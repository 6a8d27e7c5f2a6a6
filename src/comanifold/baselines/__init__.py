"""Baselines: other methods to embed, fill in and cluster incomplete matrices."""

from ._convex_clustering import ConvexClustering
from ._filled_diffusion_map import FilledDiffusionMap, choose_imputer
from ._graph_completion import GraphCompletion
from ._masked_isomap import MaskedIsomap
from ._nlpca import NLPCA
from ._questionnaire import Questionnaire
from ._repaired_distances import RepairedDistances
from ._soft_impute import SoftImpute
from ._sparse_svd import SparseSVD
from ._unsupervised_regression import UnsupervisedRegression

__all__ = [
    "NLPCA",
    "ConvexClustering",
    "FilledDiffusionMap",
    "GraphCompletion",
    "MaskedIsomap",
    "Questionnaire",
    "RepairedDistances",
    "SoftImpute",
    "SparseSVD",
    "UnsupervisedRegression",
    "choose_imputer",
]
