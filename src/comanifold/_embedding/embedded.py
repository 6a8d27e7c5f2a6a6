"""From the distances of a mode to its attributes on a fitted `CoManifold`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import sort_graph_by_row_values

from .._validation import expand_to_full
from ..diffusion_map import DiffusionMap
from .ordering import embedding_order


def as_read_by(embedding: Any, distances: Any) -> Any:
    """Distances in the order in which the neighbour graphs of scikit-learn have them."""
    if not sparse.issparse(distances) or isinstance(embedding, DiffusionMap):
        return distances
    return sort_graph_by_row_values(distances, copy=True, warn_when_not_sorted=False)


class EmbeddingMixin:
    """Embeds what `CoManifold.fit` has found."""

    def _publish(self, mode: str, distances: Any, known: NDArray[np.bool_]) -> None:
        """Embed one mode and set its attributes, in the places of the data."""
        if isinstance(self.embedding, str):
            embedding = DiffusionMap(
                self.n_components, metric="precomputed", bandwidth=self.bandwidth
            )
        else:
            embedding = clone(self.embedding)
            if embedding.get_params().get("random_state", 0) is None:
                embedding.set_params(random_state=self.random_state)
        distances = self._scale * distances
        points = np.asarray(embedding.fit_transform(as_read_by(embedding, distances)))
        coordinates = np.full((len(known), points.shape[1]), np.nan)
        coordinates[known] = points
        self._maps = {**getattr(self, "_maps", {}), mode: embedding}
        setattr(self, f"{mode}_embedding_", coordinates)
        setattr(self, f"{mode}_order_", embedding_order(coordinates))
        setattr(self, f"{mode}_distances_", expand_to_full(distances, known, known))
        is_diffusion = isinstance(embedding, DiffusionMap)
        affinity = expand_to_full(embedding.affinity_, known, known) if is_diffusion else None
        setattr(self, f"{mode}_affinity_", affinity)
        setattr(self, f"{mode}_eigenvalues_", embedding.eigenvalues_ if is_diffusion else None)
